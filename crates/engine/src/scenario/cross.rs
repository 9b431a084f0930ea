//! Cross traffic, and what it must satisfy.

use super::check::ensure;
use super::check_network::{names, taken};
use super::{Group, LinkDirection, NetworkKind, Scenario, ScenarioError, of_option};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::num::NonZeroU16;
use wasp_net::CrossSource;
use wasp_units::{Bytes, Rate};
use wasp_workload::PacketModel;

/// What loads one direction of a link beside the clients' traffic, and goes no further: UDP packets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossTraffic {
    /// Its name, which enters its draws.
    pub name: String,
    /// The name of a link that connections share; or that of a group, whose every client has such traffic on its access link.
    pub link: String,
    /// `up` or `down`; of a link between nodes `forward` or `backward`.
    pub direction: String,
    /// Rate of IP packets: their mean rate, and that within bursts if there are any; without one nothing is sent.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// Length of each packet with its headers.
    pub packet: Bytes,
    /// Among how many flows they are dealt at random, which matters to disciplines with a queue for each flow.
    #[serde(default = "one_flow")]
    pub flows: NonZeroU16,
    /// When they come.
    pub model: PacketModel,
}

/// The link that cross traffic of a scenario names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum LoadedLink {
    /// The one before the server.
    Server,
    /// The one between two nodes with this place.
    Between(usize),
    /// The access link of each client of the group with this place.
    Access(usize),
}

impl LoadedLink {
    /// The names of its two directions.
    pub(crate) const fn directions(self) -> [&'static str; 2] {
        match self {
            Self::Server | Self::Access(_) => ["up", "down"],
            Self::Between(_) => ["forward", "backward"],
        }
    }
}

const fn one_flow() -> NonZeroU16 {
    NonZeroU16::MIN
}

impl Scenario {
    /// The link with this name that cross traffic can load.
    pub(crate) fn loaded_link(&self, name: &str) -> Option<LoadedLink> {
        if name == self.network.server_link_name() {
            return Some(LoadedLink::Server);
        }
        let between = self.network.link_names().iter().position(|link| link == name);
        let access = || self.clients.iter().position(|group| group.name == name);
        between.map(LoadedLink::Between).or_else(|| access().map(LoadedLink::Access))
    }

    /// The names of all links that cross traffic can load.
    fn loadable_links(&self) -> Vec<String> {
        let server = self.network.server_link_name().to_owned();
        let groups = self.clients.iter().map(|group| group.name.clone());
        [server].into_iter().chain(self.network.link_names()).chain(groups).collect()
    }

    /// The links of the scenario must have been checked.
    pub(super) fn check_cross_traffic(&self) -> Result<(), ScenarioError> {
        let server_link = self.network.server_link_name();
        for Group { name, .. } in &self.clients {
            let is_clear = self.network.cross_traffic.is_empty() || name != server_link;
            let message = taken(name, "is that of a link that cross traffic can load", "clients");
            ensure(is_clear, format!("clients.{name}.name"), message)?;
        }
        let mut known = BTreeSet::new();
        for traffic in &self.network.cross_traffic {
            let CrossTraffic { name, packet, rate, model, .. } = traffic;
            let parent = format!("network.cross_traffic.{name}");
            ensure(!name.is_empty(), "network.cross_traffic", "one without a name; each needs one")?;
            ensure(known.insert(name), parent.clone(), "two have this name; names must differ")?;
            let direction = self.loaded_direction(traffic, &parent)?;
            let (least, most) =
                (u64::from(CrossSource::LEAST_PACKET), u64::from(direction.mtu.unwrap_or(u16::MAX)));
            let of_link = if direction.mtu.is_some() { ", the MTU of the link" } else { "" };
            ensure(
                (least..=most).contains(&packet.get()),
                format!("{parent}.packet"),
                format!("{packet}; must be from {least}B, the headers of IP and UDP, to {most}B{of_link}"),
            )?;
            model.check(*packet, *rate).map_err(|error| of_option(&parent, &error))?;
        }
        Ok(())
    }

    /// What the direction does that cross traffic loads.
    fn loaded_direction(&self, traffic: &CrossTraffic, parent: &str) -> Result<LinkDirection, ScenarioError> {
        let CrossTraffic { link, direction, .. } = traffic;
        let found = self.loaded_link(link).ok_or_else(|| {
            let message =
                format!("{link:?}; there is no such link; valid here: {}", names(&self.loadable_links()));
            ScenarioError::new(format!("{parent}.link"), message)
        })?;
        let [first, second] = found.directions();
        let message = format!("{direction:?}; must be {first:?} or {second:?}");
        ensure(direction == first || direction == second, format!("{parent}.direction"), message)?;
        Ok(self.direction_of(found, direction == first))
    }

    /// What one direction of a link does, the MTU of the link before the server included.
    fn direction_of(&self, link: LoadedLink, is_first: bool) -> LinkDirection {
        let network = &self.network;
        let (first, second) = match (link, network.kind) {
            (LoadedLink::Access(group), _) => {
                let [(_, up), (_, down)] = self.clients[group].access();
                return if is_first { up } else { down };
            }
            (LoadedLink::Server, NetworkKind::Star) => (&network.shared.up, &network.shared.down),
            (LoadedLink::Server, NetworkKind::Backbone | NetworkKind::Graph) => {
                return LinkDirection { mtu: Some(self.server_mtu()), ..LinkDirection::default() };
            }
            (LoadedLink::Between(place), NetworkKind::Graph) => {
                let link = &network.links[place];
                (&link.forward, &link.backward)
            }
            (LoadedLink::Between(_), NetworkKind::Star | NetworkKind::Backbone) => {
                (&network.link.forward, &network.link.backward)
            }
        };
        let found = if is_first { first } else { second }.clone();
        let mtu = (link == LoadedLink::Server).then(|| self.server_mtu());
        LinkDirection { mtu: found.mtu.or(mtu), ..found }
    }
}
