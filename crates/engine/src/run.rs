//! Running a model: in virtual time to its end, or by the wall clock beside a device.

use crate::gauges::Sampler;
use crate::summary::{Totals, Watch, output};
use crate::{
    Control, Interval, Mark, Meters, Model, PacketPort, PortError, Progress, RunOutput, Scenario, Transmitted,
};
use hdrhistogram::Histogram;
use wasp_kernel::{Clock, LogicalProcess, Stalled};
use wasp_net::{Fate, Observer};
use wasp_units::{Duration, Instant};
use wasp_wire::{MAX_FRAME_LEN, frame};

/// How much virtual time passes between two reports of a simulated run's progress.
const SIM_STEP: Duration = Duration::from_millis(100);
/// How often a live run reports its progress and looks whether it should stop.
const REPORT_INTERVAL: Duration = Duration::from_millis(50);
/// Lag in the histogram: 1 ns to 10 s at three significant digits.
const LAG_HISTOGRAM: (u64, u64, u8) = (1, 10_000_000_000, 3);

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Events without end at one instant.
    #[error(transparent)]
    Stalled(#[from] Stalled),
    /// The device failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// Runs a checked scenario in virtual time.
///
/// # Errors
/// [`RunError::Stalled`].
pub fn simulate<O: Observer>(
    scenario: &Scenario,
    control: &Control,
    observer: O,
) -> Result<RunOutput, RunError> {
    let mut run = Run::new(scenario, control, observer);
    let interval = *run.kernel.process.ledger.interval();
    let begin = run.advance(Instant::ZERO, interval.start())?;
    run.mark_start();
    let end = run.advance(begin, interval.end())?;
    Ok(run.finish(end, None, None))
}

/// Runs a checked scenario by `clock`, with a real server behind `port`, until its end or until `control` stops it.
///
/// # Errors
/// [`RunError`]; what was measured until then is lost.
pub fn drive<O: Observer>(
    scenario: &Scenario,
    control: &Control,
    observer: O,
    clock: &mut impl Clock,
    port: &mut impl PacketPort,
    meters: &mut impl Meters,
) -> Result<RunOutput, RunError> {
    let mut run = Run::new(scenario, control, observer);
    let interval = *run.kernel.process.ledger.interval();
    let mut edge = Edge::new(clock, port, interval);
    let mut report_at = Instant::ZERO;
    let mut measuring = false;
    let end = loop {
        let now = edge.clock.now();
        if !measuring && now >= interval.start() {
            run.advance_live(interval.start(), &mut edge)?;
            run.mark_start();
            meters.mark(Mark::MeasureStart, interval.start());
            measuring = true;
        }
        if now >= interval.end() {
            break interval.end();
        }
        run.advance_live(now, &mut edge)?;
        run.sampler
            .sample(now, &mut run.kernel.process, || (meters.server_busy(), Some(edge.take_worst_lag())));
        if now >= report_at {
            run.report(now);
            report_at = now + REPORT_INTERVAL;
            if control.stop_requested() {
                break now;
            }
        }
        if !run.read_device(now, &mut edge)? {
            let until = run
                .kernel
                .next_event()
                .unwrap_or(Instant::MAX)
                .min(report_at)
                .min(run.sampler.next())
                .min(interval.end());
            edge.clock.wait_until(Some(until));
        }
    };
    run.advance_live(end - Duration::from_nanos(1), &mut edge)?;
    meters.mark(Mark::MeasureEnd, end);
    let lag = edge.lag;
    Ok(run.finish(end, Some(lag), Some(meters.report())))
}

/// The device, the clock, and how late packets leave.
struct Edge<'a, C, P> {
    clock: &'a mut C,
    port: &'a mut P,
    buffer: Box<[u8]>,
    interval: Interval,
    /// Time from when a packet was due to when it was handed to the device, in nanoseconds, over the measured interval.
    lag: Histogram<u64>,
    /// The most since the last second.
    worst_lag: u64,
}

impl<'a, C: Clock, P: PacketPort> Edge<'a, C, P> {
    fn new(clock: &'a mut C, port: &'a mut P, interval: Interval) -> Self {
        let (least, most, digits) = LAG_HISTOGRAM;
        let lag = Histogram::new_with_bounds(least, most, digits).expect("constant bounds are valid");
        Self { clock, port, buffer: vec![0; MAX_FRAME_LEN].into_boxed_slice(), interval, lag, worst_lag: 0 }
    }

    /// The worst lag since the last call, in nanoseconds.
    fn take_worst_lag(&mut self) -> u64 {
        std::mem::take(&mut self.worst_lag)
    }

    /// Writes the packets that have reached the device's end of the network.
    fn flush<O: Observer>(&mut self, model: &mut Model<O>) -> Result<(), PortError> {
        while let Some((due, packet)) = model.egress.pop_front() {
            let len = frame(&packet, &model.network.pool, &mut self.buffer);
            let lag = self.clock.now().saturating_since(due).as_nanos();
            self.worst_lag = self.worst_lag.max(lag);
            if self.interval.contains(due) {
                self.lag.saturating_record(lag);
            }
            model.network.pool.release(packet.payload);
            if self.port.transmit(&self.buffer[..len])? == Transmitted::Full {
                model.network.refuse(Fate::DeviceFull);
            }
        }
        Ok(())
    }
}

/// A run in progress.
struct Run<'a, O: Observer> {
    scenario: &'a Scenario,
    control: &'a Control,
    kernel: LogicalProcess<Model<O>>,
    watch: Watch,
    sampler: Sampler,
}

impl<'a, O: Observer> Run<'a, O> {
    fn new(scenario: &'a Scenario, control: &'a Control, observer: O) -> Self {
        let mut kernel = LogicalProcess::new(Model::new(scenario, observer));
        kernel.inject(Instant::ZERO, |model, scheduler| model.start(scenario, scheduler));
        Self { scenario, control, kernel, watch: Watch::default(), sampler: Sampler::new() }
    }

    /// Handles, in virtual time, every event from `now` on and before `limit`; returns `limit`, or where the run was stopped.
    fn advance(&mut self, mut now: Instant, limit: Instant) -> Result<Instant, Stalled> {
        while now < limit && !self.control.stop_requested() {
            now = now.saturating_add(SIM_STEP).min(self.sampler.next()).min(limit);
            self.kernel.advance(now - Duration::from_nanos(1))?;
            self.sampler.sample(now, &mut self.kernel.process, || (None, None));
            self.report(now);
        }
        Ok(now)
    }

    /// Handles every event due by `now` and writes what leaves.
    fn advance_live<C: Clock, P: PacketPort>(
        &mut self,
        now: Instant,
        edge: &mut Edge<'_, C, P>,
    ) -> Result<(), RunError> {
        while self.kernel.step(now)?.is_some() {
            if !self.kernel.process.egress.is_empty() {
                edge.flush(&mut self.kernel.process)?;
            }
        }
        Ok(())
    }

    /// Reads one frame, stamped `now`; returns whether there was one.
    fn read_device<C: Clock, P: PacketPort>(
        &mut self,
        now: Instant,
        edge: &mut Edge<'_, C, P>,
    ) -> Result<bool, RunError> {
        let Some(len) = edge.port.receive(&mut edge.buffer)? else { return Ok(false) };
        let frame = &edge.buffer[..len];
        self.kernel.inject(now, |model, scheduler| model.ingress(frame, scheduler));
        edge.flush(&mut self.kernel.process)?;
        Ok(true)
    }

    fn mark_start(&mut self) {
        let model = &self.kernel.process;
        self.watch = Watch::new(model, model.ledger.interval().start());
    }

    fn report(&self, now: Instant) {
        let ledger = &self.kernel.process.ledger;
        self.control.report(Progress {
            elapsed_ns: now.as_nanos(),
            ok: ledger.completed() - ledger.errors(),
            errors: ledger.errors(),
            in_progress: ledger.in_progress(),
        });
    }

    fn finish(
        mut self,
        end: Instant,
        lag: Option<Histogram<u64>>,
        machine: Option<crate::MachineReport>,
    ) -> RunOutput {
        let totals = Totals::of(&self.kernel.process);
        let server_cpu = self.kernel.process.server_cpu(end);
        self.kernel.process.ledger.stop_at(end);
        self.kernel.inject(end, |model, scheduler| model.finish(scheduler));
        self.report(end);
        let events = self.kernel.handled();
        output(
            self.scenario,
            self.kernel.process,
            &self.watch.until(totals, server_cpu),
            lag.as_ref(),
            machine,
            events,
        )
    }
}
