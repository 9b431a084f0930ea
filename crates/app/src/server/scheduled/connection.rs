//! What a scheduled server keeps for a connection.

use super::output::Waiting;
use crate::server::conversation::{Conversation, Response};
use wasp_tcp::Endpoint;

#[derive(Debug, Default)]
pub(super) struct Connection {
    pub(super) conversation: Conversation,
    /// The response that a program works on.
    pub(super) pending: Option<Response>,
    pub(super) established: bool,
    pub(super) accepted: bool,
    /// A program's job for it is queued or being done.
    pub(super) owned: bool,
    /// The program has closed it.
    pub(super) closed: bool,
    pub(super) remote_closed: bool,
    /// The send buffer has not taken all of a response, or its program has not found out that it has: whether the connection is kept then.
    pub(super) writing: Option<bool>,
    /// Its program has been woken to write on: what follows is no wake-up of its own.
    pub(super) awake: bool,
    pub(super) frames: Waiting,
    /// A job for its timer is queued.
    pub(super) timer_queued: bool,
}

impl Connection {
    /// Whether the program that waits for this connection has something to do.
    pub(super) fn is_due(&self, endpoint: &Endpoint) -> bool {
        self.accepted && !self.owned && !self.closed && self.is_ready(endpoint)
    }

    /// Whether something has come of what the program waits for: input, or room in the send buffer.
    pub(super) fn is_ready(&self, endpoint: &Endpoint) -> bool {
        match self.writing {
            Some(_) => endpoint.is_written(),
            None => self.remote_closed || endpoint.readable() > 0,
        }
    }

    /// The client has closed, and everything that it sent was answered.
    pub(super) fn is_finished(&self, endpoint: &Endpoint) -> bool {
        self.remote_closed && !self.closed && self.writing.is_none() && !self.conversation.has_input(endpoint)
    }
}
