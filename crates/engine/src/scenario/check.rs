//! What a scenario must satisfy beyond its types.

use super::check_behaviour::{check_behaviour, check_workloads};
use super::{Group, LinkDirection, Measure, Mode, Scenario, largest_mss};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use wasp_http::{Method, Request};
use wasp_net::{Loss, OptionError};
use wasp_units::{Duration, Probability};
use wasp_wire::Address;

/// Longest round-trip time and longest phase of a run: a day.
const LONGEST: Duration = Duration::from_secs(86_400);
/// Least MTU: every host must take 576 bytes (RFC 791), but 68 pass unfragmented; TCP options need some room.
const LEAST_MTU: u16 = 128;

/// Most clients whose access links are observed.
const MOST_OBSERVED: u64 = 1_000;
/// Most seconds of the run of all of them together, which bounds the memory that a run takes.
const MOST_SECONDS: u64 = 1_000_000;
/// The same of the links that clients share: 100 of them for half a day.
const MOST_SHARED_SECONDS: u64 = 5_000_000;

/// Why a scenario cannot be run.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct ScenarioError {
    /// The field, as a path.
    pub field: String,
    /// Its value, and what would be valid.
    pub message: String,
}

impl ScenarioError {
    pub(crate) fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}

/// Fails with the field and the message if the condition does not hold.
pub(crate) fn ensure(
    condition: bool,
    field: impl Into<String>,
    message: impl Into<String>,
) -> Result<(), ScenarioError> {
    if condition { Ok(()) } else { Err(ScenarioError::new(field, message)) }
}

impl Scenario {
    /// Checks what the types do not.
    ///
    /// # Errors
    /// The first violation, in the order of the fields.
    pub fn check(&self) -> Result<(), ScenarioError> {
        self.check_server()?;
        self.check_addresses()?;
        check_workloads(self)?;
        for (field, direction) in self.network.directions() {
            let of = |option: &str| format!("{field}.{option}");
            check_limit(direction, of, ["rate", "trace"])?;
            check_loss(&of("loss"), direction.loss)?;
            check_duration(&of("delay"), direction.delay)?;
            check_mtu(&of("mtu"), direction.mtu)?;
            self.check_options_of_link(direction, of)?;
        }
        ensure(!self.clients.is_empty(), "clients", "none; at least one group is needed")?;
        ensure(
            !self.clients.iter().all(|group| group.background),
            "clients",
            "every group has background; nothing would be measured",
        )?;
        let mut names = BTreeSet::new();
        for group in &self.clients {
            let field = format!("clients.{}.name", group.name);
            ensure(names.insert(&group.name), field, "two groups have this name; names must differ")?;
            self.check_group(group)?;
        }
        self.check_network()?;
        check_duration("measure.warmup", self.measure.warmup)?;
        check_duration("measure.duration", self.measure.duration)?;
        ensure(!self.measure.duration.is_zero(), "measure.duration", "0ms; must be above zero")?;
        self.check_observed()
    }

    /// Each second all links that are observed are looked at between two events, and have a row each.
    fn check_observed(&self) -> Result<(), ScenarioError> {
        let groups = || self.clients.iter().filter(|group| group.observe);
        let clients: u64 = groups().map(|group| u64::from(group.count)).sum();
        let seconds = (self.measure.warmup + self.measure.duration).as_secs_f64().ceil() as u64;
        let shared = self.network.link_names().len() as u64 + 1;
        let message = format!(
            "{}; in {seconds} s the {shared} links between nodes and before the server would have more than \
             {MOST_SHARED_SECONDS} seconds together, which take too much memory; a shorter time would be valid",
            self.measure.duration
        );
        ensure(shared * seconds <= MOST_SHARED_SECONDS, "measure.duration", message)?;
        let Some(largest) = groups().max_by_key(|group| group.count) else { return Ok(()) };
        let most = (MOST_SECONDS / seconds.max(1)).clamp(1, MOST_OBSERVED);
        let message = format!(
            "true; groups with observe have {clients} clients, and at most {most} would be valid in runs of {seconds} s"
        );
        ensure(clients <= most, format!("clients.{}.observe", largest.name), message)?;
        // The tables would not tell its links from the shared one.
        let shared = groups().find(|group| group.name == self.network.server_link_name());
        let message =
            "true; the link before the server has the same name; another name of the group would be valid";
        ensure(shared.is_none(), format!("clients.{}.observe", self.network.server_link_name()), message)
    }

    fn check_server(&self) -> Result<(), ScenarioError> {
        ensure(self.server.port > 0, "server.port", "0; must be from 1 to 65535")?;
        Request::new(Method::Get, "/", &self.host())
            .map_err(|error| ScenarioError::new("server.host", error.to_string()))?;
        let tcp =
            self.server_tcp_config().map_err(|error| ScenarioError::new("server.tcp", error.to_string()))?;
        let mtu = self.network.shared.down.mtu.unwrap_or(u16::MAX);
        check_mss("server.tcp.mss".to_owned(), tcp.mss, (mtu, " of the shared link (down)"))?;
        ensure(
            self.server.congestion.is_none() || self.mode != Mode::Sim,
            "server.congestion",
            "is of a server that runs; a modelled one has server.tcp.congestion",
        )?;
        match (&self.server.model, self.mode) {
            (None, Mode::Sim) => {
                Err(ScenarioError::new("server.model", "absent; a simulated run needs a server model"))
            }
            (Some(model), _) => model.check(),
            (None, Mode::Live | Mode::Shim) => Ok(()),
        }
    }

    fn check_addresses(&self) -> Result<(), ScenarioError> {
        let (base, room) = prefix("network.prefix", &self.network.prefix)?;
        let ends =
            [0, room as u32 + 1].map(|place| Address::from(Ipv4Addr::from_bits(base.to_bits() + place)));
        ensure(
            ends.iter().all(|end| end.is_unicast() && !end.is_loopback()),
            "network.prefix",
            format!("{:?}; has addresses of no host; 10.0.0.0/8 would be valid", self.network.prefix),
        )?;
        let place = u64::from(self.server.address.to_bits()).checked_sub(base.to_bits().into());
        let outside = place.is_none_or(|place| place > room + 1);
        ensure(
            place == Some(1) || (outside && self.mode != Mode::Sim),
            "server.address",
            format!("{}; must be the first host of {}", self.server.address, self.network.prefix),
        )?;
        let count = self.client_count();
        let message = format!(
            "{}; has addresses for {} clients, and there are {count}; a larger one, or fewer clients, would be valid",
            self.network.prefix,
            room - 1
        );
        ensure(count < room, "network.prefix", message)
    }
}

impl Scenario {
    fn check_group(&self, group: &Group) -> Result<(), ScenarioError> {
        let field = |name: &str| format!("clients.{}.{name}", group.name);
        ensure(!group.name.is_empty(), "clients.name", "empty; a group needs a name")?;
        ensure(group.count > 0, field("count"), "0; must be at least 1")?;
        check_duration(&field("rtt"), group.rtt)?;
        check_loss(&field("loss.up"), group.loss.up)?;
        check_loss(&field("loss.down"), group.loss.down)?;
        for (name, direction) in group.access() {
            let of = |option: &str| field(&format!("{option}.{name}"));
            let both = ["bandwidth", "trace"].map(|option| format!("{option}.{name}"));
            check_limit(&direction, of, both.each_ref().map(String::as_str))?;
            self.check_options_of_link(&direction, of)?;
        }
        check_mtu(&field("mtu"), Some(group.mtu))?;
        let tcp = group.tcp_config().map_err(|error| ScenarioError::new(field("tcp"), error.to_string()))?;
        check_mss(field("tcp.mss"), tcp.mss, (group.mtu, ""))?;
        check_behaviour(group)
    }

    /// Checks the options of a link that know themselves what is valid; `field` is where an option stands.
    fn check_options_of_link(
        &self,
        direction: &LinkDirection,
        field: impl Fn(&str) -> String,
    ) -> Result<(), ScenarioError> {
        let named = |option: &str, checked: Result<(), OptionError>| {
            checked.map_err(|error| {
                let OptionError { field: part, value, valid } = error;
                ScenarioError::new(format!("{}.{part}", field(option)), format!("{value}; must be {valid}"))
            })
        };
        if let Some(option) = &direction.trace {
            let missing = format!("{}; no trace of this name is given", option.file);
            let trace = self.network.trace_of(direction);
            let trace =
                trace.ok_or_else(|| ScenarioError::new(format!("{}.file", field("trace")), missing))?;
            named("trace", trace.check())?;
            let Measure { warmup, duration, .. } = self.measure;
            let takes = Duration::from_nanos(warmup.as_nanos().saturating_add(duration.as_nanos()));
            let left = trace.time_left().unwrap_or(takes);
            ensure(
                left >= takes,
                format!("{}.repeat", field("trace")),
                format!(
                    "false; the trace ends {left} after the start of the run, which takes {takes}: it must be as long, \
                     or repeat"
                ),
            )?;
        }
        named("queue", direction.queue.map_or(Ok(()), |queue| queue.config().check()))?;
        named("jitter", direction.jitter.map_or(Ok(()), |jitter| jitter.check()))?;
        named("reorder", direction.reorder.map_or(Ok(()), |reorder| reorder.check()))?;
        named("corrupt", direction.corrupt.map_or(Ok(()), |corrupt| corrupt.check()))
    }
}

/// The network address of `text` and how many hosts it has.
pub(crate) fn prefix(field: &str, text: &str) -> Result<(Ipv4Addr, u64), ScenarioError> {
    let error =
        || ScenarioError::new(field, format!("{text:?}; must be an IPv4 prefix such as 198.18.0.0/17"));
    let (address, length) = text.split_once('/').ok_or_else(error)?;
    let address: Ipv4Addr = address.parse().map_err(|_| error())?;
    let length: u32 = length.parse().map_err(|_| error())?;
    if !(8..=30).contains(&length) || address.to_bits() & (u32::MAX >> length) != 0 {
        return Err(error());
    }
    Ok((address, (1_u64 << (32 - length)) - 2))
}

/// Makes sure that a direction of a link has one rate at most, and one if it has a queue. `field` is where an option stands, and the other two are
/// what rate and trace are called.
fn check_limit(
    direction: &LinkDirection,
    field: impl Fn(&str) -> String,
    [rate, trace]: [&str; 2],
) -> Result<(), ScenarioError> {
    let (is_constant, is_recorded) = (direction.rate.is_some(), direction.trace.is_some());
    let both = format!("stands in the place of {rate}; leave one out");
    ensure(!is_constant || !is_recorded, field("trace"), both)?;
    let neither =
        format!("a queue never fills without a rate; set {rate} or {trace}, too, or leave out the queue");
    ensure(direction.queue.is_none() || is_constant || is_recorded, field("queue"), neither)
}

fn check_mtu(field: &str, mtu: Option<u16>) -> Result<(), ScenarioError> {
    let mtu = mtu.unwrap_or(u16::MAX);
    ensure(mtu >= LEAST_MTU, field, format!("{mtu}; must be from {LEAST_MTU} to 65535"))
}

fn check_mss(field: String, mss: u16, (mtu, of): (u16, &str)) -> Result<(), ScenarioError> {
    let room = largest_mss(mtu);
    ensure(mss <= room, field, format!("{mss}; must be at most {room}, the MTU{of} less 40"))
}

pub(super) fn check_duration(field: &str, duration: Duration) -> Result<(), ScenarioError> {
    ensure(duration <= LONGEST, field, format!("{duration}; must be at most 24h"))
}

fn check_loss(field: &str, loss: Option<Loss>) -> Result<(), ScenarioError> {
    let below_one = |rate: Probability, name: &str| {
        ensure(rate < Probability::ONE, format!("{field}.{name}"), format!("{rate}; must be below 100%"))
    };
    match loss {
        None | Some(Loss::None) => Ok(()),
        Some(Loss::Independent { rate }) => below_one(rate, "rate"),
        Some(Loss::Periodic { every }) => {
            ensure(every >= 2, format!("{field}.every"), format!("{every}; must be at least 2"))
        }
        Some(Loss::TwoState { p, r, .. }) => {
            below_one(p, "p")?;
            ensure(
                r > Probability::ZERO,
                format!("{field}.r"),
                "0%; must be above zero, or a burst of losses never ends",
            )
        }
    }
}
