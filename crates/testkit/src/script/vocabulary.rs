//! The words of the language, each said once: what the parser reads, the printer writes, and errors suggest.

use super::{Departure, Obstacle, Quantity, Value};
use wasp_tcp::{Event, State};
use wasp_wire::{Ecn, Flags};

/// Pairs of a word and its meaning.
pub(super) type Table<T> = &'static [(&'static str, T)];

/// Control bits in the order in which they are written.
pub(super) const FLAGS: Table<Flags> = &[
    ("SYN", Flags::SYN),
    ("FIN", Flags::FIN),
    ("RST", Flags::RST),
    ("PSH", Flags::PSH),
    ("ACK", Flags::ACK),
    ("URG", Flags::URG),
    ("ECE", Flags::ECE),
    ("CWR", Flags::CWR),
];

/// How a segment without control bits is written.
pub(super) const NO_FLAGS: &str = "none";

/// The ECN field of an IP header.
pub(super) const ECN: Table<Ecn> =
    &[("not-ect", Ecn::NotEct), ("ect0", Ecn::Ect0), ("ect1", Ecn::Ect1), ("ce", Ecn::Ce)];

/// How a report begins whose MTU follows.
pub(super) const TOO_BIG: &str = "too-big";

/// Reports without an MTU.
pub(super) const OBSTACLES: Table<Obstacle> = &[
    ("network-unreachable", Obstacle::Network),
    ("host-unreachable", Obstacle::Host),
    ("port-unreachable", Obstacle::Port),
];

pub(super) const STATES: Table<State> = &[
    ("syn-sent", State::SynSent),
    ("syn-received", State::SynReceived),
    ("established", State::Established),
    ("fin-wait-1", State::FinWait1),
    ("fin-wait-2", State::FinWait2),
    ("close-wait", State::CloseWait),
    ("closing", State::Closing),
    ("last-ack", State::LastAck),
    ("time-wait", State::TimeWait),
    ("closed", State::Closed),
];

pub(super) const EVENTS: Table<Event> = &[
    ("connected", Event::Connected),
    ("remote-closed", Event::RemoteClosed),
    ("closed", Event::Closed),
    ("reset", Event::Reset),
    ("refused", Event::Refused),
    ("timed-out", Event::TimedOut),
];

pub(super) const QUANTITIES: Table<Quantity> = &[
    ("state", Quantity::State),
    ("events", Quantity::Events),
    ("cwnd", Quantity::Cwnd),
    ("ssthresh", Quantity::Ssthresh),
    ("flight", Quantity::Flight),
    ("pipe", Quantity::Pipe),
    ("rto", Quantity::Rto),
    ("srtt", Quantity::Srtt),
    ("readable", Quantity::Readable),
    ("unsent", Quantity::Unsent),
    ("unwritten", Quantity::Unwritten),
    ("unacknowledged", Quantity::Unacknowledged),
    ("send_window", Quantity::SendWindow),
    ("receive_window", Quantity::ReceiveWindow),
    ("retransmitted", Quantity::Retransmitted),
    ("timeouts", Quantity::Timeouts),
    ("fast_retransmits", Quantity::FastRetransmits),
    ("duplicate_acks", Quantity::DuplicateAcks),
    ("duplicates_received", Quantity::DuplicatesReceived),
    ("out_of_order", Quantity::OutOfOrder),
];

pub(super) const DEPARTURES: Table<Departure> = &[
    ("time", Departure::Time),
    ("flags", Departure::Flags),
    ("numbers", Departure::Numbers),
    ("ack", Departure::Ack),
    ("win", Departure::Win),
    ("mss", Departure::Mss),
    ("scale", Departure::Scale),
    ("sackok", Departure::SackOk),
    ("ts", Departure::Ts),
    ("sack", Departure::Sack),
    ("ecn", Departure::Ecn),
    ("payload", Departure::Payload),
    ("missing", Departure::Missing),
    ("unexpected", Departure::Unexpected),
    ("count", Departure::Count),
    ("check", Departure::Check),
    ("call", Departure::Call),
];

/// The meaning of a word.
pub(super) fn meaning<T: Copy>(table: Table<T>, word: &str) -> Option<T> {
    table.iter().find(|(name, _)| *name == word).map(|(_, meaning)| *meaning)
}

/// The word for a meaning.
pub(super) fn word<T: PartialEq>(table: Table<T>, meaning: &T) -> &'static str {
    table.iter().find(|(_, candidate)| candidate == meaning).map_or("?", |(name, _)| *name)
}

/// All words of a table, for an error.
pub(super) fn choices<T>(table: Table<T>) -> String {
    table.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

impl Quantity {
    /// A value of the kind that this quantity has.
    pub(super) fn example(self) -> Value {
        match self {
            Self::State => Value::State(State::Closed),
            Self::Events => Value::Events(Vec::new()),
            Self::Rto | Self::Srtt => Value::Time(wasp_units::Duration::ZERO),
            _ => Value::Count(0),
        }
    }
}
