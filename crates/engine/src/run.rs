//! Running a model: what both clocks share, and virtual time.

use crate::gauges::Sampler;
use crate::lateness::Lateness;
use crate::links::observed;
use crate::summary::{Watch, sum_up};
use crate::{Control, MachineReport, Model, Part, PortError, Progress, RunOutput, Scenario, Shard, Share};
use std::sync::Arc;
use wasp_kernel::{LogicalProcess, Stalled};
use wasp_net::Observer;
use wasp_units::{Duration, Instant};
use wasp_workload::Sites;

/// How much virtual time passes between two reports of a simulated run's progress.
const SIM_STEP: Duration = Duration::from_millis(100);

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

/// Runs a checked scenario, whose files are those of `sites`, in virtual time. When it stalls the run ends there, and its output says why.
pub fn simulate<O: Observer>(
    scenario: &Scenario,
    sites: &Arc<Sites>,
    control: &Control,
    observer: O,
) -> RunOutput {
    let mut run = Run::new(&Share { scenario, sites, shard: Shard::WHOLE }, control, observer);
    let (end, failure) = match run.measure() {
        Ok(end) => (end, None),
        Err(failure) => (run.kernel.now(), Some(failure.into())),
    };
    sum_up(scenario, vec![run.finish(end, failure, None, MachineReport::default())])
}

/// A run in progress.
pub(crate) struct Run<'a, O: Observer> {
    scenario: &'a Scenario,
    pub(crate) control: &'a Control,
    pub(crate) kernel: LogicalProcess<Model<O>>,
    watch: Watch,
    pub(crate) sampler: Sampler,
}

impl<'a, O: Observer> Run<'a, O> {
    pub(crate) fn new(share: &Share<'a>, control: &'a Control, observer: O) -> Self {
        let Share { scenario, sites, shard } = *share;
        let mut model = Model::new(scenario, sites, observer);
        let sampler = Sampler::new(observed(scenario, &model.layout, shard), &mut model);
        let mut kernel = LogicalProcess::new(model);
        kernel.inject(Instant::ZERO, |model, scheduler| model.start(shard, scheduler));
        Self { scenario, control, kernel, watch: Watch::default(), sampler }
    }

    /// Warm-up and measured interval in virtual time; returns the end, or when the run was stopped.
    fn measure(&mut self) -> Result<Instant, Stalled> {
        let interval = *self.kernel.process.ledger.interval();
        let begin = self.advance(Instant::ZERO, interval.start())?;
        self.mark_start();
        self.advance(begin, interval.end())
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

    /// The measured interval begins.
    pub(crate) fn mark_start(&mut self) {
        let model = &mut self.kernel.process;
        let start = model.ledger.interval().start();
        self.watch = Watch::new(model, start);
        self.sampler.mark_start(start, model);
    }

    /// Tells whoever watches how far the run has come.
    pub(crate) fn report(&self, now: Instant) {
        let ledger = &self.kernel.process.ledger;
        self.control.report(Progress {
            elapsed_ns: now.as_nanos(),
            ok: ledger.completed() - ledger.errors(),
            errors: ledger.errors(),
            in_progress: ledger.in_progress(),
        });
    }

    /// Ends the run at `end`, which lies before its own end if it was stopped or if there was a `failure`.
    pub(crate) fn finish(
        mut self,
        end: Instant,
        failure: Option<RunError>,
        lateness: Option<Lateness>,
        machine: MachineReport,
    ) -> Part {
        let measured = self.watch.until(&self.kernel.process, end);
        self.kernel.process.ledger.stop_at(end);
        self.kernel.inject(end, |model, scheduler| model.finish(scheduler));
        self.report(end);
        let events = self.kernel.handled();
        let mut model = self.kernel.process;
        let observed = self.sampler.finish(end, &mut model);
        Part::new(self.scenario, model, (measured, observed), lateness, machine, events, failure)
    }
}
