//! One run on a thread of its own, and the handle by which Python follows it.
//!
//! The engine's thread tells nobody anything: the handle reads its counters once a second. What ends a wait early is the thread's
//! own end, or a signal that Python has to look at.

use crate::device::duplicate;
use crate::error::{engine_error, scenario_error};
use crate::result::RunResult;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io::BufRead;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration as Wait;
use wasp_engine::{Control, Progress, RunOutput, Scenario, Sites, simulate};
use wasp_io::{LiveRun, MeterTargets, Stopper, Tun, open_log};

/// How long Python is left without a look at its signals.
const SLICE: Wait = Wait::from_millis(50);
/// Slices between two samples: a second.
const SLICES_PER_SAMPLE: u32 = 20;

type Outcome = Result<RunOutput, String>;

/// Fails as `start` would, without running anything.
#[pyfunction]
#[pyo3(name = "check_scenario")]
pub(crate) fn py_check_scenario(scenario: &str) -> PyResult<()> {
    Scenario::from_json(scenario).map(drop).map_err(scenario_error)
}

/// Fails if so many threads cannot share the clients of a scenario.
#[pyfunction]
#[pyo3(name = "check_threads")]
pub(crate) fn py_check_threads(scenario: &str, threads: usize) -> PyResult<()> {
    let scenario = Scenario::from_json(scenario).map_err(scenario_error)?;
    scenario.check_threads(threads).map_err(scenario_error)
}

/// Starts a run: in virtual time, or before a device, with a thread for each of its queues. `namespace` is a process in whose network
/// namespace the device called `device_name` is. `client_device` and the two beside it are the same of the clients, where they are programs.
#[pyfunction]
#[pyo3(name = "start", signature = (scenario, *, device = None, device_name = None, namespace = None, emulator_cpus = None, server_cpus = None, server_pids = None, client_device = None, client_device_name = None, client_namespace = None, offload = true))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
pub(crate) fn py_start(
    py: Python<'_>,
    scenario: &str,
    device: Option<Vec<i32>>,
    device_name: Option<String>,
    namespace: Option<u32>,
    emulator_cpus: Option<Vec<u32>>,
    server_cpus: Option<Vec<u32>>,
    server_pids: Option<Vec<u32>>,
    client_device: Option<i32>,
    client_device_name: Option<String>,
    client_namespace: Option<u32>,
    offload: bool,
) -> PyResult<Handle> {
    let scenario = Scenario::from_json(scenario).map_err(scenario_error)?;
    let sites = py.detach(|| scenario.sites(Some(&mut open_boxed))).map_err(scenario_error)?;
    let targets = MeterTargets {
        server_cpus: server_cpus.unwrap_or_default(),
        emulator_cpus: emulator_cpus.unwrap_or_default(),
        emulator_threads: Vec::new(),
        server_processes: server_pids.unwrap_or_default(),
        namespace,
        device: device_name,
        clients: client_namespace.zip(client_device_name),
    };
    let queues = device.unwrap_or_default();
    scenario.check_threads(queues.len()).map_err(scenario_error)?;
    scenario.check_client_device(client_device.is_some()).map_err(scenario_error)?;
    let queues =
        queues.into_iter().map(|queue| tun(duplicate(queue)?, offload)).collect::<PyResult<Vec<_>>>()?;
    let client_device = client_device.map(|device| tun(duplicate(device)?, offload)).transpose()?;
    let controls = queues.iter().map(|_| Arc::default()).collect();
    let stopper = Stopper::new().map_err(engine_error)?;
    Handle::start(scenario, sites, LiveRun { queues, client_device, controls, targets, stopper })
}

/// The log with this name.
pub(crate) fn open_boxed(name: &str) -> std::io::Result<Box<dyn BufRead>> {
    Ok(Box::new(open_log(name)?))
}

/// The device behind a descriptor of ours.
fn tun(device: OwnedFd, offload: bool) -> PyResult<Tun> {
    let tun = Tun::from_fd(device).map_err(engine_error)?;
    if offload { Ok(tun) } else { tun.without_offload().map_err(engine_error) }
}

/// A run that was started.
#[pyclass(frozen, module = "waspbench._core")]
pub(crate) struct Handle {
    /// One for each thread of the run.
    controls: Vec<Arc<Control>>,
    stopper: Stopper,
    warmup_ns: u64,
    state: Mutex<State>,
}

/// What the handle knows of its run.
struct State {
    receiver: Receiver<Outcome>,
    outcome: Option<Outcome>,
    ended: bool,
    slices: u32,
    last: Progress,
}

impl State {
    /// Waits for the run's end, for one slice at most.
    fn wait_a_slice(&mut self) {
        if self.ended {
            return;
        }
        match self.receiver.recv_timeout(SLICE) {
            Ok(outcome) => self.end(outcome),
            Err(RecvTimeoutError::Timeout) => self.slices += 1,
            Err(RecvTimeoutError::Disconnected) => self.end(Err(PANICKED.to_owned())),
        }
    }

    fn look(&mut self) {
        if self.ended {
            return;
        }
        match self.receiver.try_recv() {
            Ok(outcome) => self.end(outcome),
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => self.end(Err(PANICKED.to_owned())),
        }
    }

    fn end(&mut self, outcome: Outcome) {
        self.outcome = Some(outcome);
        self.ended = true;
    }
}

const PANICKED: &str = "the engine panicked; what it said is on standard error";

impl Handle {
    /// Simulates if the device has no queue.
    fn start(scenario: Scenario, sites: Arc<Sites>, mut live: LiveRun) -> PyResult<Self> {
        let simulated = live.queues.is_empty();
        if simulated {
            live.controls.push(Arc::default());
        }
        let (controls, stopper) = (live.controls.clone(), live.stopper.clone());
        let (sender, receiver) = channel();
        let warmup_ns = scenario.measure.warmup.as_nanos();
        let work = move || {
            let outcome = if simulated {
                Ok(simulate(&scenario, &sites, &live.controls[0], ()))
            } else {
                live.run(&scenario, &sites).map_err(|error| error.to_string())
            };
            // Nobody listens any more when the handle is gone.
            let _ = sender.send(outcome);
        };
        thread::Builder::new().name("wasp-engine".to_owned()).spawn(work).map_err(engine_error)?;
        let state = State { receiver, outcome: None, ended: false, slices: 0, last: Progress::default() };
        Ok(Self { controls, stopper, warmup_ns, state: Mutex::new(state) })
    }

    /// How far all threads together have come.
    fn progress(&self) -> Progress {
        let sum = |sum: Progress, more: Progress| Progress {
            elapsed_ns: sum.elapsed_ns.max(more.elapsed_ns),
            ok: sum.ok + more.ok,
            errors: sum.errors + more.errors,
            in_progress: sum.in_progress + more.in_progress,
        };
        self.controls.iter().map(|control| control.progress()).fold(Progress::default(), sum)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last second's figures.
    fn sample<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let now = self.progress();
        let mut state = self.state();
        state.slices = 0;
        let last = std::mem::replace(&mut state.last, now);
        let seconds = now.elapsed_ns.saturating_sub(last.elapsed_ns) as f64 / 1e9;
        let ok = now.ok.saturating_sub(last.ok) as f64;
        let sample = PyDict::new(py);
        sample.set_item("elapsed", now.elapsed_ns as f64 / 1e9)?;
        sample.set_item("measuring", now.elapsed_ns >= self.warmup_ns)?;
        sample.set_item("throughput", if seconds > 0.0 { ok / seconds } else { 0.0 })?;
        sample.set_item("in_flight", now.in_progress)?;
        sample.set_item("completed", now.ok + now.errors)?;
        sample.set_item("errors", now.errors)?;
        Ok(sample)
    }
}

#[pymethods]
impl Handle {
    /// The figures of the last second (wall clock), or `None` if none are due within `timeout_s` seconds or the run has ended.
    fn next_sample<'py>(&self, py: Python<'py>, timeout_s: f64) -> PyResult<Option<Bound<'py, PyDict>>> {
        let slices = (timeout_s.clamp(0.0, 1e6) / SLICE.as_secs_f64()).ceil() as u64;
        for _ in 0..slices {
            let (ended, due) = py.detach(|| {
                let mut state = self.state();
                state.wait_a_slice();
                (state.ended, state.slices >= SLICES_PER_SAMPLE)
            });
            py.check_signals()?;
            if ended {
                return Ok(None);
            }
            if due {
                return self.sample(py).map(Some);
            }
        }
        Ok(None)
    }

    /// Whether the run has ended.
    fn done(&self, py: Python<'_>) -> bool {
        py.detach(|| {
            let mut state = self.state();
            state.look();
            state.ended
        })
    }

    /// Asks the run to end; what was measured is kept.
    fn stop(&self) {
        self.controls.iter().for_each(|control| control.stop());
        self.stopper.stop();
    }

    /// Waits for the run's end and returns what it left behind; once.
    fn wait(&self, py: Python<'_>) -> PyResult<RunResult> {
        loop {
            let ended = py.detach(|| {
                let mut state = self.state();
                state.wait_a_slice();
                state.ended
            });
            if ended {
                let outcome = self.state().outcome.take();
                let outcome = outcome.unwrap_or_else(|| Err("the run's result was taken before".to_owned()));
                return outcome.map(RunResult::new).map_err(engine_error);
            }
            py.check_signals()?;
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.stop();
    }
}
