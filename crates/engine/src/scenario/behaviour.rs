//! What the clients of a group do: what they ask for, how, and when.

use super::check_behaviour::of_option;
use super::{ScenarioError, workload_field};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use wasp_units::{Bytes, Duration, Frequency, Rate};
use wasp_workload::Deal;

/// What is asked for, and how it is dealt to clients.
#[derive(Clone, Debug)]
pub struct Workload {
    /// How the sequence of requests is dealt.
    pub deal: Deal,
    /// Seed of the file set; that of the experiment unless given.
    pub seed: Option<u64>,
    /// The files and requests.
    pub options: wasp_workload::Workload,
}

/// What is wrong with the options of the workloads in a scenario. What deserialises the rest would lose the field.
pub(super) fn check_options(scenario: &serde_json::Value) -> Result<(), ScenarioError> {
    let check = |part: &serde_json::Value, field: &dyn Fn() -> String| {
        let Some(Ok(fields)) = part.get("workload").map(Fields::deserialize) else { return Ok(()) };
        let options = wasp_workload::Workload::from_value(fields.options.into());
        options.map(drop).map_err(|error| of_option(&field(), &error))
    };
    check(scenario, &|| "workload".to_owned())?;
    let groups = scenario.get("clients").and_then(serde_json::Value::as_array);
    groups.into_iter().flatten().try_for_each(|group| {
        let name = group.get("name").and_then(serde_json::Value::as_str);
        check(group, &|| workload_field(name.unwrap_or_default()))
    })
}

#[derive(Deserialize)]
struct Fields {
    #[serde(default)]
    deal: Deal,
    #[serde(default)]
    seed: Option<u64>,
    #[serde(flatten)]
    options: serde_json::Map<String, serde_json::Value>,
}

impl<'de> Deserialize<'de> for Workload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Fields { deal, seed, options } = Fields::deserialize(deserializer)?;
        let options =
            wasp_workload::Workload::from_value(options.into()).map_err(serde::de::Error::custom)?;
        Ok(Self { deal, seed, options })
    }
}

/// How the clients of a group begin.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// As though the run had been going on long before: they pause with the share and the rest of their pauses that they would have.
    #[default]
    Equilibrium,
    /// All of them ask at the very beginning of the run, and pause from then on.
    Together,
}

/// When the clients of a group ask, whatever became of what they asked before (open loop).
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// How arrivals are spread.
    pub model: ArrivalModel,
    /// Arrivals of the whole group.
    pub rate: Frequency,
    /// Most arrivals of the group that wait, in equal parts for its clients, rounded up; what comes to a client beyond its part is
    /// counted and dropped. 1,000, or one for each client, unless given.
    #[serde(default)]
    pub outstanding: Option<NonZeroU32>,
}

/// How arrivals are spread over time.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum ArrivalModel {
    /// Independent of each other.
    Poisson,
    /// One after the other at equal distances.
    Constant,
}

/// HTTP behaviour of a group.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// The version that clients speak.
    #[serde(default)]
    pub version: Version,
    /// Requests before a connection is closed; none keeps it for ever.
    #[serde(default)]
    pub requests_per_connection: Option<NonZeroU32>,
    /// Parallel connections of a client.
    #[serde(default = "one")]
    pub connections: u8,
    /// Requests on a connection that wait for their responses.
    #[serde(default = "one")]
    pub pipeline: u8,
    /// The method of every request.
    #[serde(default)]
    pub method: Method,
    /// Whether requests ask for nothing but a 304 if the file exists (`If-None-Match: *`).
    #[serde(default)]
    pub conditional: bool,
    /// The body of a POST.
    #[serde(default)]
    pub body: Option<Bytes>,
    /// Header fields beside the client's own.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// How long a client waits for the end of a response.
    pub timeout: Duration,
    /// When the next request may start.
    #[serde(default)]
    pub next_after: NextAfter,
    /// When a client gives up by itself.
    #[serde(default)]
    pub abort: Option<Abort>,
    /// How fast the application reads; none reads at once.
    #[serde(default)]
    pub read_rate: Option<Rate>,
}

const fn one() -> u8 {
    1
}

/// The version of HTTP.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
pub enum Version {
    /// HTTP/1.0.
    #[serde(rename = "1.0")]
    Http10,
    /// HTTP/1.1.
    #[default]
    #[serde(rename = "1.1")]
    Http11,
}

/// The method of a request.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// Asks for a file.
    #[default]
    Get,
    /// Asks for the head of a response only.
    Head,
    /// Sends a body.
    Post,
}

/// When the next request may start.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum NextAfter {
    /// When the response is whole.
    #[default]
    Response,
    /// When, besides, a connection that is not kept has been closed by both sides.
    Close,
}

/// When a client gives up a request by itself; whichever comes first.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Abort {
    /// So long after its start.
    #[serde(default)]
    pub after: Option<Duration>,
    /// So many bytes into the body.
    #[serde(default)]
    pub bytes: Option<Bytes>,
}
