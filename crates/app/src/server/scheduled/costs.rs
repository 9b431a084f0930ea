//! What jobs cost, and what they have cost so far.

use wasp_units::Duration;

/// What each kind of work costs, in CPU time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct JobCosts {
    /// A segment that arrives with data or a FIN, and a packet of another protocol than TCP.
    pub per_data: Duration,
    /// A segment that arrives with an acknowledgment only.
    pub per_ack: Duration,
    /// An acknowledgment that acknowledges nothing new while something is in flight.
    pub per_duplicate_ack: Duration,
    /// A SYN that arrives.
    pub per_syn: Duration,
    /// A packet that arrives at a core which handles no others: the interrupt. Packets that wait together share it.
    pub per_interrupt: Duration,
    /// A timer of TCP that fires.
    pub per_timer: Duration,
    /// A frame that leaves: segments of one flow that leave at one instant, as many as TCP segmentation offload puts into one.
    pub per_frame: Duration,
    /// A segment that leaves.
    pub per_segment: Duration,
    /// A segment that was sent before, beside what each segment costs.
    pub per_retransmission: Duration,
    /// A program that slept goes on: a worker that had nothing to do, or a switch to a process. A worker that finds more to do when it asks
    /// has not slept.
    pub per_wakeup: Duration,
    /// Accepting a connection, and closing it later.
    pub per_connection: Duration,
    /// Answering a request.
    pub per_request: Duration,
    /// Each 1,024 bytes of a request's or a response's body, pro rata.
    pub per_kib: Duration,
    /// A request, for each doubling of the open connections above 256: their state leaves the caches.
    pub per_doubling: Duration,
    /// A job of a process, for each other process that wants to run.
    pub per_runnable: Duration,
    /// Each core in each millisecond, whatever is asked for: timer ticks, and work of the kernel in the background.
    pub per_tick: Duration,
}

/// Open connections whose state the caches hold.
const CACHED: u32 = 256;

impl JobCosts {
    /// What `bytes` of a body cost.
    pub(super) fn body(&self, bytes: u64) -> Duration {
        let nanos = u128::from(self.per_kib.as_nanos()) * u128::from(bytes) / 1024;
        Duration::from_nanos(nanos as u64)
    }

    /// What a request costs more because so many connections are open: `per_doubling` times log2(open / 256).
    pub(super) fn doublings(&self, open: u32) -> Duration {
        if open <= CACHED || self.per_doubling.is_zero() {
            return Duration::ZERO;
        }
        let doublings = libm::log2(f64::from(open) / f64::from(CACHED));
        Duration::from_nanos(libm::round(self.per_doubling.as_nanos() as f64 * doublings) as u64)
    }
}

/// A kind of work.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WorkKind {
    /// Segments with data that arrived.
    Data,
    /// Acknowledgments that arrived.
    Ack,
    /// Duplicate acknowledgments that arrived.
    DuplicateAck,
    /// SYNs that arrived.
    Syn,
    /// Interrupts by packets.
    Interrupt,
    /// Timers of TCP.
    Timer,
    /// Frames sent.
    Frame,
    /// Segments sent.
    Segment,
    /// Segments sent again.
    Retransmission,
    /// Programs woken.
    Wakeup,
    /// Connections accepted.
    Connection,
    /// Requests.
    Request,
    /// Bytes of bodies.
    Body,
    /// Requests beside more than 256 open connections.
    Doubling,
    /// Other processes that wanted to run, summed over jobs.
    Runnable,
    /// Milliseconds of cores.
    Tick,
}

impl WorkKind {
    /// Every kind.
    pub const ALL: [Self; 16] = [
        Self::Data,
        Self::Ack,
        Self::DuplicateAck,
        Self::Syn,
        Self::Interrupt,
        Self::Timer,
        Self::Frame,
        Self::Segment,
        Self::Retransmission,
        Self::Wakeup,
        Self::Connection,
        Self::Request,
        Self::Body,
        Self::Doubling,
        Self::Runnable,
        Self::Tick,
    ];

    /// The name in results: that of its cost's field, without `per_`; `byte` for `per_kib`, whose bytes are counted.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Ack => "ack",
            Self::DuplicateAck => "duplicate_ack",
            Self::Syn => "syn",
            Self::Interrupt => "interrupt",
            Self::Timer => "timer",
            Self::Frame => "frame",
            Self::Segment => "segment",
            Self::Retransmission => "retransmission",
            Self::Wakeup => "wakeup",
            Self::Connection => "connection",
            Self::Request => "request",
            Self::Body => "byte",
            Self::Doubling => "doubling",
            Self::Runnable => "runnable",
            Self::Tick => "tick",
        }
    }
}

/// How often work of one kind was done, and the CPU time that it took.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Spent {
    /// How often, as [`WorkKind`] counts it.
    pub number: u64,
    /// CPU time.
    pub time: Duration,
}

/// What all jobs that have begun cost, by kind.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct WorkDone([Spent; WorkKind::ALL.len()]);

impl WorkDone {
    /// Counts work; returns its cost, so that a job can be charged for it.
    pub(super) fn charge(&mut self, kind: WorkKind, number: u64, cost: Duration) -> Duration {
        let spent = &mut self.0[kind as usize];
        spent.number += number;
        spent.time += cost;
        cost
    }

    /// Work of one kind.
    #[must_use]
    pub const fn of(&self, kind: WorkKind) -> Spent {
        self.0[kind as usize]
    }

    /// What was added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self(std::array::from_fn(|kind| Spent {
            number: self.0[kind].number - earlier.0[kind].number,
            time: self.0[kind].time - earlier.0[kind].time,
        }))
    }
}
