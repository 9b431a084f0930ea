//! Where the model meets the devices and the clock: what leaves, what comes, and how long both waited.

use crate::{End, Interval, Model, PacketPort, PortError, Transmitted};
use hdrhistogram::Histogram;
use wasp_kernel::Clock;
use wasp_net::{Fate, Observer};
use wasp_units::Instant;
use wasp_wire::{MAX_FRAME_LEN, complete_frame, frame};

/// Waits in a histogram: 1 ns to 10 s at three significant digits.
const BOUNDS: (u64, u64, u8) = (1, 10_000_000_000, 3);

/// How long the emulator kept packets waiting in the measured interval, in nanoseconds.
#[derive(Debug)]
pub(crate) struct Lateness {
    /// From when a packet was due to when it was handed to the device.
    pub(crate) lag: Histogram<u64>,
    /// The most that a frame can have waited in the device before it was read.
    pub(crate) unread: Histogram<u64>,
}

impl Lateness {
    pub(crate) fn new() -> Self {
        let (least, most, digits) = BOUNDS;
        let empty = || Histogram::new_with_bounds(least, most, digits).expect("constant bounds are valid");
        Self { lag: empty(), unread: empty() }
    }

    /// Adds what another thread of the same run saw.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.lag.add(&other.lag).expect("all have the same bounds");
        self.unread.add(&other.unread).expect("all have the same bounds");
    }
}

/// The devices and the clock.
pub(crate) struct Edge<'a, C, P> {
    pub(crate) clock: &'a mut C,
    /// By their [`End`].
    ports: &'a mut [P],
    buffer: Box<[u8]>,
    interval: Interval,
    pub(crate) lateness: Lateness,
    /// The most lag since the last second.
    worst_lag: u64,
    /// For each end: all frames that came before this have been read.
    read_up_to: [Instant; End::ALL.len()],
}

impl<'a, C: Clock, P: PacketPort> Edge<'a, C, P> {
    pub(crate) fn new(clock: &'a mut C, ports: &'a mut [P], interval: Interval) -> Self {
        let buffer = vec![0; MAX_FRAME_LEN].into_boxed_slice();
        let lateness = Lateness::new();
        let read_up_to = [Instant::ZERO; End::ALL.len()];
        Self { clock, ports, buffer, interval, lateness, worst_lag: 0, read_up_to }
    }

    /// The worst lag since the last call, in nanoseconds.
    pub(crate) fn take_worst_lag(&mut self) -> u64 {
        std::mem::take(&mut self.worst_lag)
    }

    /// How many ends have a device.
    pub(crate) const fn ends(&self) -> usize {
        self.ports.len()
    }

    /// All frames that came before this have been read: the last read came back empty then, or a wait that followed it ended. What is read next has waited
    /// no longer than since.
    pub(crate) fn read_up_to(&self) -> Instant {
        self.read_up_to[..self.ports.len()].iter().copied().min().unwrap_or(Instant::ZERO)
    }

    /// A wait that watched the devices, and that began when nothing was left to be read, ended at `now`: what is there has only just come.
    pub(crate) const fn note_watched(&mut self, now: Instant) {
        self.read_up_to = [now; End::ALL.len()];
    }

    /// Reads, at `now`, one frame of an end into the model's inbox; returns how many packets it counts for, or nothing if none waited.
    pub(crate) fn read<O: Observer>(
        &mut self,
        end: End,
        now: Instant,
        model: &mut Model<O>,
    ) -> Result<Option<usize>, PortError> {
        let Some(len) = self.ports[end as usize].receive(&mut self.buffer)? else {
            self.read_up_to[end as usize] = now;
            return Ok(None);
        };
        if self.interval.contains(now) {
            self.lateness
                .unread
                .saturating_record(now.saturating_since(self.read_up_to[end as usize]).as_nanos());
        }
        Ok(Some(model.take_in(&self.buffer[..len], end, now).max(1)))
    }

    /// Writes the packets that have reached an end of the network where a device stands.
    pub(crate) fn flush<O: Observer>(&mut self, model: &mut Model<O>) -> Result<(), PortError> {
        // A packet is large to move: what is written is left where it is.
        while let Some((due, end, packet)) = model.egress.front() {
            let port = &mut self.ports[*end as usize];
            let write = if port.offloads_checksums() { frame } else { complete_frame };
            let len = write(packet, &model.network.pool, &mut self.buffer);
            let lag = self.clock.now().saturating_since(*due).as_nanos();
            self.worst_lag = self.worst_lag.max(lag);
            if self.interval.contains(*due) {
                self.lateness.lag.saturating_record(lag);
            }
            if let Some((_, _, packet)) = model.egress.pop_front() {
                model.network.pool.release(packet.payload);
            }
            if port.transmit(&self.buffer[..len])? == Transmitted::Full {
                model.network.refuse(Fate::DeviceFull);
            }
        }
        Ok(())
    }
}
