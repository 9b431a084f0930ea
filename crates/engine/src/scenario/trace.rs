//! The rate traces of a scenario, and how links ask for one.

use super::{Internetwork, LinkDirection};
use serde::Deserialize;
use wasp_net::{RateTrace, TraceOptions, TraceStart};
use wasp_units::Bytes;

/// The rate trace of one direction of a link.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceOption {
    /// The name of the trace among [`Internetwork::traces`]: the path of its file.
    pub file: String,
    /// Whether it begins again at its end.
    pub repeat: bool,
    /// Which time of it is the start of the run.
    pub start: TraceStart,
    /// What one opportunity carries.
    pub opportunity: Bytes,
    /// What each packet costs beyond its IP bytes.
    pub overhead: Bytes,
}

impl Internetwork {
    /// What a direction of a link follows; `None` if it has no trace, or asks for one that is not there.
    pub(crate) fn trace_of(&self, direction: &LinkDirection) -> Option<RateTrace> {
        let TraceOption { file, repeat, start, opportunity, overhead } = direction.trace.as_ref()?;
        let trace = self.traces.get(file)?.clone();
        let options =
            TraceOptions { repeat: *repeat, start: *start, opportunity: *opportunity, overhead: *overhead };
        Some(RateTrace { trace, options })
    }
}
