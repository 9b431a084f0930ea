//! Where the model meets the devices and the clock: what leaves, what comes, and how long both waited.

use crate::lateness::Lateness;
use crate::{End, Interval, Model, PacketPort, PortError, Transmitted};
use wasp_kernel::Clock;
use wasp_net::{Fate, Observer};
use wasp_packet::{MAX_FRAME_LEN, complete_frame, frame};
use wasp_units::{Duration, Instant};

/// The devices and the clock.
pub(crate) struct Edge<'a, C, P> {
    pub(crate) clock: &'a mut C,
    /// By their [`End`].
    ports: &'a mut [P],
    buffer: Box<[u8]>,
    interval: Interval,
    pub(crate) lateness: Lateness,
    /// The most lag since the last second.
    worst_lag: Duration,
    /// For each end: all frames that came before this have been read.
    read_up_to: [Instant; End::ALL.len()],
}

impl<'a, C: Clock, P: PacketPort> Edge<'a, C, P> {
    pub(crate) fn new(clock: &'a mut C, ports: &'a mut [P], interval: Interval, lateness: Lateness) -> Self {
        let buffer = vec![0; MAX_FRAME_LEN].into_boxed_slice();
        let read_up_to = [Instant::ZERO; End::ALL.len()];
        Self { clock, ports, buffer, interval, lateness, worst_lag: Duration::ZERO, read_up_to }
    }

    /// The worst lag since the last call, in nanoseconds.
    pub(crate) fn take_worst_lag(&mut self) -> u64 {
        std::mem::take(&mut self.worst_lag).as_nanos()
    }

    /// How many ends have a device.
    pub(crate) const fn ends(&self) -> usize {
        self.ports.len()
    }

    /// All frames that came before this have been read: the last read came back empty then, or the thread was woken from a wait that followed it. What is
    /// read next has waited no longer than since.
    pub(crate) fn read_up_to(&self) -> Instant {
        self.read_up_to[..self.ports.len()].iter().copied().min().unwrap_or(Instant::ZERO)
    }

    /// A wait that watched the devices, and that began when nothing was left to be read, ended at `now`: what is there came since the thread was woken.
    pub(crate) fn note_watched(&mut self, now: Instant) {
        let late = self.clock.woken_late();
        let woken = Instant::ZERO + now.saturating_since(Instant::ZERO + late);
        for read_up_to in &mut self.read_up_to {
            *read_up_to = woken.max(*read_up_to);
        }
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
        let before = model.inbox.len();
        let packets = model.take_in(&self.buffer[..len], end, now);
        // All packets of a frame are of one client.
        if let Some((_, _, packet)) = model.inbox.get(before).filter(|_| self.interval.contains(now)) {
            let client = match end {
                End::Server => packet.ip.destination,
                End::Clients => packet.ip.source,
            };
            // What is for or from none of the clients is nobody's wait.
            if let Some(client) = model.layout.host_with(client) {
                self.lateness.note_unread(client, now.saturating_since(self.read_up_to[end as usize]));
            }
        }
        Ok(Some(packets.max(1)))
    }

    /// Writes the packets that have reached an end of the network where a device stands.
    pub(crate) fn flush<O: Observer>(&mut self, model: &mut Model<O>) -> Result<(), PortError> {
        // A packet is large to move: what is written is left where it is.
        while let Some((due, end, packet)) = model.egress.front() {
            let port = &mut self.ports[*end as usize];
            let write = if port.offloads_checksums() { frame } else { complete_frame };
            let len = write(packet, &model.network.pool, &mut self.buffer);
            let lag = self.clock.now().saturating_since(*due);
            self.worst_lag = self.worst_lag.max(lag);
            if self.interval.contains(*due) {
                let client = match end {
                    End::Server => packet.ip.source,
                    End::Clients => packet.ip.destination,
                };
                if let Some(client) = model.layout.host_with(client) {
                    self.lateness.note_lag(client, lag);
                }
            }
            if let Some((_, _, packet)) = model.egress.pop_front() {
                model.network.pool.release(packet.payload);
            }
            if port.transmit(&self.buffer[..len])? == Transmitted::Full {
                model.network.refuse(Fate::DeviceFull, 1);
            }
        }
        Ok(())
    }
}
