//! Running a model by the wall clock, beside the devices at its ends.
//!
//! One thread does everything, in this order: handle what is due, read a few frames, wait. A frame is stamped with the time of its
//! reading, but never later than the next pending event: while the emulator is behind, what arrives is taken to have
//! arrived before what is still to be done, so time never goes back.
//!
//! Neither starves the other: each turn has a batch of both, but for the ends of seconds, before which all that was due is handled. Which of them keeps waiting when there is more to do than time is decided by `batches_to_read`, and
//! both waits are measured: lag where packets leave, and where frames are read the time since nothing was left to be read.
//!
//! Reading and writing are done in batches: packets that are written one right after another share the interrupt that tells the server's
//! CPU of them, which costs more than anything else here.

use crate::edge::Edge;
use crate::lateness::Lateness;
use crate::run::{Run, RunError};
use crate::{
    Control, End, Interval, Mark, Meters, PacketPort, Part, RunOutput, Scenario, Shard, Share, sum_up,
};
use std::sync::Arc;
use wasp_kernel::Clock;
use wasp_net::Observer;
use wasp_units::{Duration, Instant};
use wasp_workload::Sites;

/// How often progress is reported and a request to stop is looked for.
const REPORT_INTERVAL: Duration = Duration::from_millis(50);
/// Events handled before the device is looked at again.
const BATCH: usize = 64;
/// Packets read before what follows from them is handled, and gathered before they are written. A frame may be a super-segment of 45 of them: it
/// takes as long to cut as that many take to write, and meanwhile nothing leaves.
const PACKETS: usize = 16;

/// Batches of frames that are read in a turn if frames may have waited for `UNREAD`, as long as what is due is not `LATE`. How long frames waited is
/// only known to be less than the time since none was left, so that must not become long while there is time for all; when there is not, late
/// events come first again, and the server's frames wait, which makes closed loops slow down.
const CATCHING_UP: usize = 4;
const UNREAD: Duration = Duration::from_micros(100);
const LATE: Duration = Duration::from_millis(4);

/// Runs a checked scenario, whose files are those of `sites`, by `clock`, with a real server behind the first of `ports` and real clients behind the second, if there is one, until its end or until `control` stops it.
/// When the device or the engine fails the run ends there, and its output says why.
pub fn drive<O: Observer>(
    scenario: &Scenario,
    sites: &Arc<Sites>,
    control: &Control,
    observer: O,
    clock: &mut impl Clock,
    ports: &mut [impl PacketPort],
    meters: &mut impl Meters,
) -> RunOutput {
    let share = Share { scenario, sites, shard: Shard::WHOLE };
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
    let edge = Edge::new(clock, ports, interval, Lateness::new(share.scenario));
    let mut live = Live { run, edge, meters, interval, measuring: false, housekeeping_at: Instant::ZERO };
    let (end, failure) = match live.follow() {
        Ok(end) => (end, live.close_seconds(end).and_then(|()| live.handle_before(end)).err()),
        Err(failure) => (live.run.kernel.now(), Some(failure)),
    };
    live.meters.mark(Mark::MeasureEnd, end);
    let machine = live.meters.report();
    live.run.finish(end, failure, Some(live.edge.lateness), machine)
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
        // Whether the device has been watched since.
        let mut watched = false;
        loop {
            let now = self.edge.clock.now();
            if std::mem::take(&mut watched) {
                self.edge.note_watched(now);
            }
            if now >= self.housekeeping_at {
                if now >= self.interval.end() {
                    return Ok(self.interval.end());
                }
                self.keep_house(now)?;
                if self.run.control.stop_requested() {
                    return Ok(now);
                }
            }
            let batches = self.batches_to_read(now);
            let handled = self.handle_due(now, BATCH)?;
            let read = self.read_devices(batches)?;
            let next = self.run.kernel.next_event().unwrap_or(Instant::MAX).min(self.housekeeping_at);
            gathered &= handled + read.packets == 0;
            // What was read may be due already: a pause looks at the clock again.
            if !read.all || next <= now {
                continue;
            }
            if gathered {
                self.edge.clock.wait_until(Some(next));
                watched = true;
            } else {
                self.edge.clock.gather(next);
            }
            gathered = !gathered;
        }
    }

    /// How many batches of frames are read after the next batch of events.
    fn batches_to_read(&mut self, now: Instant) -> usize {
        let due = self.run.kernel.next_event().unwrap_or(now);
        let catch_up = now > self.edge.read_up_to() + UNREAD && now < due + LATE;
        if catch_up { CATCHING_UP } else { 1 }
    }

    /// Begins the measured interval, closes seconds, reports progress: whatever of this is due.
    fn keep_house(&mut self, now: Instant) -> Result<(), RunError> {
        if !self.measuring && now >= self.interval.start() {
            self.close_seconds(self.interval.start())?;
            self.handle_before(self.interval.start())?;
            self.run.mark_start();
            self.meters.mark(Mark::MeasureStart, self.interval.start());
            self.measuring = true;
        }
        self.close_seconds(now)?;
        self.run.report(now);
        let boundary = if self.measuring { self.interval.end() } else { self.interval.start() };
        self.housekeeping_at = (now + REPORT_INTERVAL).min(self.run.sampler.next()).min(boundary);
        Ok(())
    }

    /// Closes each second that has ended by `now`, when everything before its end has happened.
    fn close_seconds(&mut self, now: Instant) -> Result<(), RunError> {
        while self.run.sampler.next() <= now {
            self.handle_before(self.run.sampler.next())?;
            let (meters, edge) = (&mut *self.meters, &mut self.edge);
            let machine = || (meters.server_busy(), Some(edge.take_worst_lag()));
            self.run.sampler.sample(now, &mut self.run.kernel.process, machine);
        }
        Ok(())
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

    /// Reads so many batches of frames, fewer if nothing is left.
    fn read_devices(&mut self, batches: usize) -> Result<Read, RunError> {
        let mut read = self.read_batch()?;
        for _ in 1..batches {
            if read.all {
                break;
            }
            let Read { packets, all } = self.read_batch()?;
            read = Read { packets: read.packets + packets, all };
        }
        Ok(read)
    }

    /// Reads a batch of frames and lets their packets into the network.
    fn read_batch(&mut self) -> Result<Read, RunError> {
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
    fn read_frames(&mut self) -> Result<Read, RunError> {
        let mut read = Read { packets: 0, all: true };
        let ends = self.edge.ends();
        for end in End::ALL.into_iter().take(ends) {
            let Read { packets, all } = self.read_end(end, PACKETS / ends)?;
            read = Read { packets: read.packets + packets, all: read.all && all };
        }
        Ok(read)
    }

    /// Reads the frames that wait at one end until they had `most` packets, and none after a boundary has passed. What the first of them need
    /// comes from memory while the others are read.
    fn read_end(&mut self, end: End, most: usize) -> Result<Read, RunError> {
        let mut packets = 0;
        while packets < most {
            let now = self.edge.clock.now();
            if now >= self.housekeeping_at {
                break;
            }
            let Some(read) = self.edge.read(end, now, &mut self.run.kernel.process)? else {
                return Ok(Read { packets, all: true });
            };
            packets += read;
        }
        Ok(Read { packets, all: false })
    }
}

/// What reading the devices brought.
struct Read {
    packets: usize,
    /// Whether nothing was left.
    all: bool,
}
