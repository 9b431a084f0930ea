//! What an application is given with each call, and what it asks for.

use crate::Journal;
use wasp_http::LastHead;
use wasp_packet::{Dropped, PayloadPool};
use wasp_stack::Answer;
use wasp_units::Instant;

/// What an application is given with each call.
pub struct Turn<'a> {
    /// The time of what is being handled.
    pub now: Instant,
    /// Where the payload of packets is.
    pub pool: &'a mut PayloadPool,
    /// Where records go.
    pub journal: &'a mut dyn Journal,
    /// The response head read last, by any client.
    pub last_head: &'a mut LastHead,
}

impl std::fmt::Debug for Turn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn").field("now", &self.now).finish_non_exhaustive()
    }
}

/// What becomes of a packet that no socket has taken.
#[derive(Debug)]
pub enum Untaken {
    /// The host may send an answer.
    Answer(Answer),
    /// It was dropped, or fragments among which it is.
    Dropped(Dropped),
    /// It opens a connection, and too many wait to be accepted: it was dropped.
    AcceptQueueFull,
    /// It opens a connection, and too many handshakes are open: it was dropped.
    SynQueueFull,
}
