//! Running a model by the wall clock, beside the devices at its ends.
//!
//! One thread does everything, in this order: handle what is due, read a few frames, wait. A frame is stamped with the time of its
//! reading, but never later than the next pending event: while the emulator is behind, what arrives is taken to have
//! arrived before what is still to be done, so time never goes back and reading is never starved.
//!
//! Reading and writing are done in batches: packets that are written one right after another share the interrupt that tells the server's
//! CPU of them, which costs more than anything else here.

use crate::run::{Run, RunError};
use crate::{
    Control, End, Interval, Mark, Meters, Model, PacketPort, Part, PortError, RunOutput, Scenario, Shard,
    Share, Transmitted, sum_up,
};
use hdrhistogram::Histogram;
use std::sync::Arc;
use wasp_kernel::Clock;
use wasp_net::{Fate, Observer};
use wasp_units::{Duration, Instant};
use wasp_wire::{MAX_FRAME_LEN, complete_frame, frame};
use wasp_workload::Site;

/// How often progress is reported and a request to stop is looked for.
const REPORT_INTERVAL: Duration = Duration::from_millis(50);
/// Events handled before the device is looked at again.
const BATCH: usize = 64;
/// Packets read before what follows from them is handled, and gathered before they are written. A frame may be a super-segment of 45 of them: it
/// takes as long to cut as that many take to write, and meanwhile nothing leaves.
const PACKETS: usize = 16;
/// Lag in the histogram: 1 ns to 10 s at three significant digits.
const LAG_HISTOGRAM: (u64, u64, u8) = (1, 10_000_000_000, 3);

/// Runs a checked scenario, whose files are `site`, by `clock`, with a real server behind the first of `ports` and real clients behind the second, if there is one, until its end or until `control` stops it.
/// When the device or the engine fails the run ends there, and its output says why.
pub fn drive<O: Observer>(
    scenario: &Scenario,
    site: &Arc<Site>,
    control: &Control,
    observer: O,
    clock: &mut impl Clock,
    ports: &mut [impl PacketPort],
    meters: &mut impl Meters,
) -> RunOutput {
    let share = Share { scenario, site, shard: Shard::WHOLE };
    sum_up(scenario, vec![drive_share(&share, control, observer, clock, ports, meters)])
}

/// As [`drive`], with some of the clients: one of the threads of a run, whose parts [`sum_up`] joins.
pub fn drive_share<O: Observer>(
    share: &Share<'_>,
    control: &Control,
    observer: O,
    clock: &mut impl Clock,
    ports: &mut [impl PacketPort],
    meters: &mut impl Meters,
) -> Part {
    let run = Run::new(share, control, observer);
    let interval = *run.kernel.process.ledger.interval();
    let edge = Edge::new(clock, ports, interval);
    let mut live = Live { run, edge, meters, interval, measuring: false, housekeeping_at: Instant::ZERO };
    let (end, failure) = match live.follow() {
        Ok(end) => (end, live.handle_before(end).err()),
        Err(failure) => (live.run.kernel.now(), Some(failure)),
    };
    live.close_second(end);
    live.meters.mark(Mark::MeasureEnd, end);
    let machine = live.meters.report();
    live.run.finish(end, failure, Some(live.edge.lag), machine)
}

/// A live run in progress.
struct Live<'a, O: Observer, C, P, M> {
    run: Run<'a, O>,
    edge: Edge<'a, C, P>,
    meters: &'a mut M,
    interval: Interval,
    measuring: bool,
    /// When something is to be done that is no event of the model.
    housekeeping_at: Instant,
}

impl<O: Observer, C: Clock, P: PacketPort, M: Meters> Live<'_, O, C, P, M> {
    /// Follows the clock to the end of the run; returns that, or when the run was stopped.
    fn follow(&mut self) -> Result<Instant, RunError> {
        // Whether nothing has happened since what was under way had a moment to gather.
        let mut gathered = false;
        loop {
            let now = self.edge.clock.now();
            if now >= self.housekeeping_at {
                if now >= self.interval.end() {
                    return Ok(self.interval.end());
                }
                self.keep_house(now)?;
                if self.run.control.stop_requested() {
                    return Ok(now);
                }
            }
            let handled = self.handle_due(now, BATCH)?;
            let (read, more) = self.read_devices()?;
            let next = self.run.kernel.next_event().unwrap_or(Instant::MAX).min(self.housekeeping_at);
            gathered &= handled + read == 0;
            // What was read may be due already: a pause looks at the clock again.
            if more || next <= now {
                continue;
            }
            if gathered {
                self.edge.clock.wait_until(Some(next));
            } else {
                self.edge.clock.gather(next);
            }
            gathered = !gathered;
        }
    }

    /// Begins the measured interval, closes seconds, reports progress: whatever of this is due.
    fn keep_house(&mut self, now: Instant) -> Result<(), RunError> {
        if !self.measuring && now >= self.interval.start() {
            self.handle_before(self.interval.start())?;
            self.run.mark_start();
            self.meters.mark(Mark::MeasureStart, self.interval.start());
            self.measuring = true;
        }
        self.close_second(now);
        self.run.report(now);
        let boundary = if self.measuring { self.interval.end() } else { self.interval.start() };
        self.housekeeping_at = (now + REPORT_INTERVAL).min(self.run.sampler.next()).min(boundary);
        Ok(())
    }

    /// Closes the second that has ended by `now`, if one has.
    fn close_second(&mut self, now: Instant) {
        let (meters, edge) = (&mut *self.meters, &mut self.edge);
        let machine = || (meters.server_busy(), Some(edge.take_worst_lag()));
        self.run.sampler.sample(now, &mut self.run.kernel.process, machine);
    }

    /// Handles every event before `limit`, which has passed.
    fn handle_before(&mut self, limit: Instant) -> Result<(), RunError> {
        if limit > Instant::ZERO {
            self.handle_due(limit - Duration::from_nanos(1), usize::MAX)?;
        }
        Ok(())
    }

    /// Handles the events due by `now`, `most` at most, and writes what leaves; returns how many there were.
    fn handle_due(&mut self, now: Instant, most: usize) -> Result<usize, RunError> {
        let mut handled = 0;
        while handled < most && self.run.kernel.step(now)?.is_some() {
            handled += 1;
            if self.run.kernel.process.egress.len() >= PACKETS {
                self.edge.flush(&mut self.run.kernel.process)?;
            }
        }
        self.edge.flush(&mut self.run.kernel.process)?;
        Ok(handled)
    }

    /// Reads frames of every device and lets their packets into the network; returns how many there were, and whether there may be more.
    fn read_devices(&mut self) -> Result<(usize, bool), RunError> {
        let read = self.read_frames();
        let kernel = &mut self.run.kernel;
        kernel.process.prepare_inbox();
        while let Some((read_at, end, packet)) = kernel.process.inbox.pop_front() {
            let at = kernel.next_event().map_or(read_at, |next| next.min(read_at));
            kernel.inject(at, |model, scheduler| model.ingress(end, packet, scheduler));
        }
        read
    }

    /// Reads the frames that wait at every end into the inbox, until they had [`PACKETS`]: each end has its share, so that none starves another.
    fn read_frames(&mut self) -> Result<(usize, bool), RunError> {
        let (mut read, mut more) = (0, false);
        let ends = self.edge.ports.len();
        for end in End::ALL.into_iter().take(ends) {
            let packets = self.read_end(end, PACKETS / ends)?;
            read += packets;
            more |= packets >= PACKETS / ends;
        }
        Ok((read, more))
    }

    /// Reads the frames that wait at one end until they had `most` packets, and none after a boundary has passed. What the first of them need
    /// comes from memory while the others are read.
    fn read_end(&mut self, end: End, most: usize) -> Result<usize, RunError> {
        let mut read = 0;
        while read < most {
            let now = self.edge.clock.now();
            if now >= self.housekeeping_at {
                break;
            }
            let Some(len) = self.edge.ports[end as usize].receive(&mut self.edge.buffer)? else { break };
            read += self.run.kernel.process.take_in(&self.edge.buffer[..len], end, now).max(1);
        }
        Ok(read)
    }
}

/// The devices, the clock, and how late packets leave.
struct Edge<'a, C, P> {
    clock: &'a mut C,
    /// By their [`End`].
    ports: &'a mut [P],
    buffer: Box<[u8]>,
    interval: Interval,
    /// Time from when a packet was due to when it was handed to the device, in nanoseconds, over the measured interval.
    lag: Histogram<u64>,
    /// The most since the last second.
    worst_lag: u64,
}

impl<'a, C: Clock, P: PacketPort> Edge<'a, C, P> {
    fn new(clock: &'a mut C, ports: &'a mut [P], interval: Interval) -> Self {
        let (least, most, digits) = LAG_HISTOGRAM;
        let lag = Histogram::new_with_bounds(least, most, digits).expect("constant bounds are valid");
        Self { clock, ports, buffer: vec![0; MAX_FRAME_LEN].into_boxed_slice(), interval, lag, worst_lag: 0 }
    }

    /// The worst lag since the last call, in nanoseconds.
    fn take_worst_lag(&mut self) -> u64 {
        std::mem::take(&mut self.worst_lag)
    }

    /// Writes the packets that have reached an end of the network where a device stands.
    fn flush<O: Observer>(&mut self, model: &mut Model<O>) -> Result<(), PortError> {
        // A packet is large to move: what is written is left where it is.
        while let Some((due, end, packet)) = model.egress.front() {
            let port = &mut self.ports[*end as usize];
            let write = if port.offloads_checksums() { frame } else { complete_frame };
            let len = write(packet, &model.network.pool, &mut self.buffer);
            let lag = self.clock.now().saturating_since(*due).as_nanos();
            self.worst_lag = self.worst_lag.max(lag);
            if self.interval.contains(*due) {
                self.lag.saturating_record(lag);
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
