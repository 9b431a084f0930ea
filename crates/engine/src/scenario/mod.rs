//! The resolved scenario of one run, as the Python half hands it over in JSON.
//!
//! Every field is a choice already made: presets are unfolded and defaults filled in (a test holds these structures and the declaration
//! of the experiment file equal). Unknown fields are errors.

mod behaviour;
mod check;
mod check_behaviour;
mod check_network;
mod cross;
mod network;
mod queue;
mod server_model;
mod tcp;
mod trace;

pub use behaviour::{Abort, ArrivalModel, Arrivals, Http, Method, NextAfter, Start, Version, Workload};
pub use check::ScenarioError;
pub(crate) use check::{ensure, prefix};
pub(crate) use check_behaviour::of_option;
pub use cross::CrossTraffic;
pub(crate) use cross::LoadedLink;
pub use network::{
    GraphNode, Internetwork, LinkDirection, LinkDirections, NamedLink, NetworkKind, SharedLink, StaticRoute,
};
pub use queue::{QueueOption, queue_defaults};
pub use server_model::{ConcurrencyModel, ServerModel};
pub(crate) use tcp::resolve;
pub use tcp::tcp_constants;
pub use trace::TraceOption;

use behaviour::check_options;
use serde::Deserialize;
use std::net::Ipv4Addr;
use wasp_net::{Corrupt, Duplicate, Jitter, Loss, Reorder, Scope};
use wasp_units::{Duration, Probability, Rate};
use wasp_workload::Delay;
use wasp_workload::named::RequestFiles;

/// One run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Seed of the experiment.
    pub seed: u64,
    /// Number of the run in the experiment: it enters every random key.
    pub run: u32,
    /// What is attached to the network, and what drives the clock.
    pub mode: Mode,
    /// The server's side.
    pub server: Server,
    /// The network.
    pub network: Internetwork,
    /// What the groups ask for that have no workload of their own; none where every group has one.
    #[serde(default)]
    pub workload: Option<Workload>,
    /// Groups of clients, in the order of their addresses.
    pub clients: Vec<Group>,
    /// Contents of the files that named requests use.
    #[serde(default)]
    pub files: RequestFiles,
    /// What is measured.
    pub measure: Measure,
    /// What the clocks of all clients show at the start, to the millisecond. Unless given, each shows what its key says; a kernel that
    /// remembers the connections of earlier runs takes new ones at once only if the clocks went on (RFC 6191).
    #[serde(default)]
    pub clock: Option<Duration>,
}

/// How a scenario is run.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Emulated clients before a real server, by the wall clock.
    Live,
    /// Real programs before a real server, by the wall clock: both ends of the network are devices, and the addresses of all clients belong to
    /// the second one. What clients would do (TCP, HTTP, workload) has no effect.
    Shim,
    /// Before a modelled server, in virtual time.
    Sim,
}

/// The server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Its address: the first host of the network's prefix, or in a live run any address outside of it.
    pub address: Ipv4Addr,
    /// Its port.
    pub port: u16,
    /// The node of a graph at which it is.
    #[serde(default)]
    pub at: Option<String>,
    /// What clients call it in the `Host` field; its address unless set.
    #[serde(default)]
    pub host: Option<String>,
    /// The TCP of the modelled server.
    #[serde(default)]
    pub tcp: Option<wasp_tcp::Options>,
    /// Congestion control of the server's kernel, of a server that runs.
    #[serde(default)]
    pub congestion: Option<String>,
    /// The modelled server.
    #[serde(default)]
    pub model: Option<ServerModel>,
}

/// A group of like clients.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Its name: it enters the random keys of its clients.
    pub name: String,
    /// How many clients.
    pub count: u32,
    /// Whether its transactions are load beside what is measured: the figures of all clients do not have them, and nothing is judged by them.
    #[serde(default)]
    pub background: bool,
    /// Whether the tables of links observe the access link of each client.
    #[serde(default)]
    pub observe: bool,
    /// The node at which they are, of a backbone or a graph.
    #[serde(default)]
    pub at: Option<String>,
    /// Round-trip time of the access link without queues and serialisation, half of it in each direction.
    pub rtt: Duration,
    /// Random loss on the access link.
    pub loss: GroupLoss,
    /// Rates of the access link.
    pub bandwidth: Directions<Rate>,
    /// Rate traces of the access link.
    #[serde(default)]
    pub trace: Directions<TraceOption>,
    /// Queues of the access link.
    pub queue: Directions<QueueOption>,
    /// Variation of the access link's delay.
    #[serde(default)]
    pub jitter: Directions<Jitter>,
    /// Packets that others overtake on the access link.
    #[serde(default)]
    pub reorder: Directions<Reorder>,
    /// Packets that a copy follows on the access link.
    #[serde(default)]
    pub duplicate: Directions<Duplicate>,
    /// Packets in which a bit is flipped on the access link.
    #[serde(default)]
    pub corrupt: Directions<Corrupt>,
    /// MTU of the access link in bytes.
    pub mtu: u16,
    /// What its clients ask for, where that is not the workload of the scenario. Its sequence of requests has keys of its own, and so have its
    /// files unless it gives a seed.
    #[serde(default)]
    pub workload: Option<Workload>,
    /// HTTP behaviour.
    pub http: Http,
    /// Pause of a client between two pages (requests, where a page is one file); the workload's own unless given.
    #[serde(default)]
    pub think: Option<Delay>,
    /// How clients begin.
    #[serde(default)]
    pub start: Start,
    /// When clients ask; none is when they have what they asked for before (closed loop).
    #[serde(default)]
    pub arrivals: Option<Arrivals>,
    /// TCP of the clients.
    pub tcp: wasp_tcp::Options,
}

/// Random loss on an access link.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupLoss {
    /// From the client.
    #[serde(default)]
    pub up: Option<Loss>,
    /// To the client.
    #[serde(default)]
    pub down: Option<Loss>,
    /// What shares a chain.
    #[serde(default)]
    pub scope: Scope,
}

/// An option of the access link in each direction, as [`LinkDirection`] has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "T: Deserialize<'de>"))]
pub struct Directions<T> {
    /// From the client.
    #[serde(default)]
    pub up: Option<T>,
    /// To the client.
    #[serde(default)]
    pub down: Option<T>,
}

/// What is measured.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Time before the measured interval.
    pub warmup: Duration,
    /// The measured interval.
    pub duration: Duration,
    /// Share of the transactions that ended in it which may be other than `ok`; none allows any.
    #[serde(default)]
    pub max_errors: Option<Probability>,
}

/// Bytes of IPv4 and TCP headers without options.
const HEADERS: u16 = 40;

/// Where the workload of the group with this name stands.
pub(crate) fn workload_field(group: &str) -> String {
    format!("clients.{group}.workload")
}

const fn largest_mss(mtu: u16) -> u16 {
    mtu.saturating_sub(HEADERS)
}

impl<T> Default for Directions<T> {
    fn default() -> Self {
        Self { up: None, down: None }
    }
}

impl Group {
    /// Both directions of the access link with their names.
    pub(crate) fn access(&self) -> [(&'static str, LinkDirection); 2] {
        // An odd nanosecond goes to the way back.
        let forth = Duration::from_nanos(self.rtt.as_nanos() / 2);
        let up = LinkDirection {
            rate: self.bandwidth.up,
            trace: self.trace.up.clone(),
            queue: self.queue.up,
            delay: forth,
            mtu: Some(self.mtu),
            loss: self.loss.up,
            jitter: self.jitter.up,
            reorder: self.reorder.up,
            duplicate: self.duplicate.up,
            corrupt: self.corrupt.up,
        };
        let down = LinkDirection {
            rate: self.bandwidth.down,
            trace: self.trace.down.clone(),
            queue: self.queue.down,
            delay: self.rtt.saturating_sub(forth),
            mtu: Some(self.mtu),
            loss: self.loss.down,
            jitter: self.jitter.down,
            reorder: self.reorder.down,
            duplicate: self.duplicate.down,
            corrupt: self.corrupt.down,
        };
        [("up", up), ("down", down)]
    }

    /// Where its workload stands.
    pub(crate) fn workload_field(&self) -> String {
        workload_field(&self.name)
    }

    /// The MTU less the headers (RFC 9293 section 3.7.1).
    pub(crate) const fn largest_mss(&self) -> u16 {
        largest_mss(self.mtu)
    }

    /// The clients' TCP. Unless the scenario says otherwise, the MSS follows the MTU.
    pub(crate) fn tcp_config(&self) -> Result<wasp_tcp::Config, wasp_tcp::ConfigError> {
        let mut config = resolve(&self.tcp)?;
        if self.tcp.mss.is_none() {
            config.mss = config.mss.min(self.largest_mss());
        }
        Ok(config)
    }
}

impl Scenario {
    /// Reads a scenario and checks it.
    ///
    /// # Errors
    /// [`ScenarioError`] names the field, its value and what would be valid.
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| ScenarioError::new("scenario", error.to_string()))?;
        check_options(&value)?;
        let scenario: Self = serde_path_to_error::deserialize(value).map_err(|error| {
            let field = error.path().to_string();
            ScenarioError::new(field, error.into_inner().to_string())
        })?;
        scenario.check()?;
        Ok(scenario)
    }

    /// What clients call the server.
    pub(crate) fn host(&self) -> String {
        self.server.host.clone().unwrap_or_else(|| self.server.address.to_string())
    }

    /// The MTU of the server's network device: that of its link, or the largest of a group.
    pub(crate) fn server_mtu(&self) -> u16 {
        let largest = || self.clients.iter().map(|group| group.mtu).max();
        self.network.shared.down.mtu.or_else(largest).unwrap_or(u16::MAX)
    }

    /// TCP of the modelled server. Unless the scenario says otherwise, the MSS follows the MTU that the server's link is given.
    pub(crate) fn server_tcp_config(&self) -> Result<wasp_tcp::Config, wasp_tcp::ConfigError> {
        let options = self.server.tcp.clone().unwrap_or_default();
        let mut config = resolve(&options)?;
        if let (None, Some(mtu)) = (options.mss, self.network.shared.down.mtu) {
            config.mss = config.mss.min(largest_mss(mtu));
        }
        Ok(config)
    }

    /// Whether a group asks for ECN.
    pub(crate) fn asks_for_ecn(&self) -> bool {
        self.clients.iter().any(|group| group.tcp.ecn == Some(true))
    }

    /// How many clients there are in all groups.
    #[must_use]
    pub fn client_count(&self) -> u64 {
        self.clients.iter().map(|group| u64::from(group.count)).sum()
    }
}
