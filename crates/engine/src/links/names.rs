//! The names of links: what they are called in tables, and what they join.

use crate::Shard;
use crate::build::{LinkKind, place_of};
use crate::scenario::Scenario;
use wasp_net::topology::Layout;
use wasp_net::{LinkId, Pair};

/// One direction of a link, by its names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct NamedDirection {
    pub(crate) id: LinkId,
    pub(super) link: String,
    pub(super) direction: &'static str,
    pub(super) kind: LinkKind,
    pub(super) from_node: String,
    pub(super) to_node: String,
    /// The number of the client whose access link it is, and of its group.
    pub(super) client: Option<(u32, usize)>,
}

/// Both directions of every link: of that before the server, those between routers, and the access links.
pub(super) fn directions<'a>(
    scenario: &'a Scenario,
    layout: &'a Layout,
) -> impl Iterator<Item = NamedDirection> + 'a {
    let shared = shared_directions(scenario, layout);
    let routers = scenario.network.router_names();
    let groups = scenario.clients.iter().zip(0..).flat_map(move |(group, place)| {
        let router = routers[place_of(&routers, group.at.as_ref())].clone();
        (0..group.count).map(move |_| (group, place, router.clone()))
    });
    let clients = groups.zip(layout.hosts()).zip(0_u32..);
    let access = clients.flat_map(|(((group, place, router), port), index)| {
        let name = format!("{}/{index}", group.name);
        let direction = |id, direction, from_node: &str, to_node: &str| NamedDirection {
            id,
            link: name.clone(),
            direction,
            kind: LinkKind::Access,
            from_node: from_node.to_owned(),
            to_node: to_node.to_owned(),
            client: Some((index, place)),
        };
        [direction(port.out, "up", &name, &router), direction(port.into, "down", &router, &name)]
    });
    shared.into_iter().chain(access)
}

/// Both directions of the links that clients share.
fn shared_directions(scenario: &Scenario, layout: &Layout) -> Vec<NamedDirection> {
    let routers = scenario.network.router_names();
    let both = |kind, link: &str, pair: Pair<LinkId>, names: [&'static str; 2], ends: [&str; 2]| {
        let direction = |id, direction, from: &str, to: &str| NamedDirection {
            id,
            link: link.to_owned(),
            direction,
            kind,
            from_node: from.to_owned(),
            to_node: to.to_owned(),
            client: None,
        };
        let ([there, back], [first, second]) = (names, ends);
        [direction(pair.forward, there, first, second), direction(pair.backward, back, second, first)]
    };
    let at = &routers[place_of(&routers, scenario.server.at.as_ref())];
    let own = Pair { forward: layout.server.into, backward: layout.server.out };
    let server =
        both(LinkKind::Server, scenario.network.server_link_name(), own, ["up", "down"], [at, "server"]);
    let ends = scenario.network.link_ends();
    let names = scenario.network.link_names();
    let between = names.iter().zip(&layout.links).zip(&ends).flat_map(|((name, pair), (from, to))| {
        both(LinkKind::Between, name, *pair, ["forward", "backward"], [from, to])
    });
    server.into_iter().chain(between).collect()
}

/// The links that a shard observes: those that clients share, and the access links of its clients whose groups ask for it.
pub(crate) fn observed(scenario: &Scenario, layout: &Layout, shard: Shard) -> Vec<NamedDirection> {
    if !scenario.clients.iter().any(|group| group.observe) {
        return shared_directions(scenario, layout);
    }
    let is_observed = |(client, group): (u32, usize)| scenario.clients[group].observe && shard.has(client);
    directions(scenario, layout).filter(|link| link.client.is_none_or(is_observed)).collect()
}
