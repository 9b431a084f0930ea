//! What randomness is for.

/// The use that a key is drawn for. Keys of different purposes are independent.
///
/// The numbers are a contract: they enter every draw, so a published result can be repeated only while they stay. A new
/// purpose takes the next free number; no number is ever changed or used again.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(u32)]
pub enum Purpose {
    /// Loss decisions, one a packet.
    Loss = 1,
    /// When a client starts within the warm-up.
    Start = 2,
    /// Initial sequence numbers of TCP connections.
    InitialSequence = 3,
    /// First ports of hosts.
    Port = 4,
    /// Offsets of TCP timestamp clocks.
    TimestampOffset = 5,
    /// Sequences of requests.
    Request = 6,
    /// Think times between requests.
    Think = 7,
    /// IPv4 identification fields.
    Identification = 8,
    /// Phases of timers that tick for a whole host.
    TimerPhase = 9,
    /// Delay variation and reordering, one draw a packet.
    Jitter = 10,
    /// Duplication, one draw a packet.
    Duplication = 11,
    /// Corruption, one draw a packet.
    Corruption = 12,
    /// Random early drop by queue management, one draw a packet.
    Queue = 13,
    /// Sizes of the files of a set.
    FileSize = 14,
    /// Popularity of the files of a set, and their order.
    Popularity = 15,
    /// Times at which an open workload, or a probe, sends.
    Arrival = 16,
    /// Choices of the modelled server.
    Server = 17,
    /// Which records of a run are kept when there are too many.
    Sample = 18,
    /// The shape of a generated topology.
    Topology = 19,
    /// Where in a rate trace a link starts.
    TraceStart = 20,
    /// When packets of cross traffic come.
    CrossTraffic = 21,
    /// Values of placeholders in named requests.
    RequestValue = 22,
}
