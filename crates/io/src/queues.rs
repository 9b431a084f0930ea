//! A live run: one thread for each queue of the server's device, each with its share of the clients.

use crate::clock::monotonic_nanos;
use crate::{
    AffinityError, ClockError, MachineMeters, MeterTargets, Stopper, Tun, TunError, WallClock,
    pin_current_thread, prefer_current_thread,
};
use rustix::thread::gettid;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use wasp_engine::{
    Control, Part, RunOutput, Scenario, ScenarioError, Shard, Share, Sites, drive_share, sum_up,
};
use wasp_units::Duration;

/// A live run could not begin.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The clients cannot be shared by so many threads, or they need a device or have none.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A thread cannot be confined to its CPU.
    #[error(transparent)]
    Affinity(#[from] AffinityError),
    /// A clock cannot be made.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// The device's queues cannot be told whose packets are whose.
    #[error(transparent)]
    Tun(#[from] TunError),
}

/// All that a live run needs beside its scenario.
#[derive(Debug)]
pub struct LiveRun {
    /// The queues of the server's device in the order in which they were created; there is a thread for each.
    pub queues: Vec<Tun>,
    /// The device of the clients, where they are programs.
    pub client_device: Option<Tun>,
    /// What watches and stops each thread: as many as queues.
    pub controls: Vec<Arc<Control>>,
    /// What the meters look at. One thread may use all of the emulator's CPUs; several take one each, in turn.
    pub targets: MeterTargets,
    /// What wakes the threads for a stop.
    pub stopper: Stopper,
}

impl LiveRun {
    /// Runs a checked scenario, whose files are those of `sites`. When one thread fails all end.
    ///
    /// # Errors
    /// It could not begin. What fails later is in the output.
    ///
    /// # Panics
    /// If there is no queue, or a thread panicked.
    pub fn run(self, scenario: &Scenario, sites: &Arc<Sites>) -> Result<RunOutput, LiveError> {
        scenario.check_threads(self.queues.len())?;
        scenario.check_client_device(self.client_device.is_some())?;
        let threads = self.queues.len();
        if let [first, _, ..] = self.queues.as_slice() {
            first.steer(scenario.first_client(), threads as u32)?;
        }
        let epoch = monotonic_nanos();
        let (started, numbers) = channel();
        // Held by the first thread until it has looked at the others, which do not end before.
        let looking = Mutex::new(());
        let (controls, targets, stopper) = (&self.controls, &self.targets, &self.stopper);
        let thread =
            |own: usize, mut ports: Vec<Tun>, emulator_threads: Vec<u32>| -> Result<Part, LiveError> {
                let shard = Shard::new(own as u32, threads as u32);
                let seat =
                    Seat { own, threads, share: Share { scenario, sites, shard }, targets, stopper, epoch };
                let part = seat.drive(&mut ports, &controls[own], emulator_threads);
                if part.as_ref().map_or(true, Part::failed) {
                    controls.iter().for_each(|control| control.stop());
                    stopper.stop();
                }
                part
            };
        let parts = std::thread::scope(|scope| {
            let look = looking.lock();
            let mut queues = self.queues.into_iter().enumerate();
            let (own, first) = queues.next().expect("a run has a queue");
            let start = |(own, queue)| {
                let (started, looking) = (started.clone(), &looking);
                scope.spawn(move || {
                    // The first thread waits for it.
                    let _ = started.send(number_of_this_thread());
                    let part = thread(own, vec![queue], Vec::new());
                    drop(looking.lock());
                    part
                })
            };
            let others: Vec<_> = queues.map(start).collect();
            let emulator_threads =
                [number_of_this_thread()].into_iter().chain(numbers.iter().take(others.len()));
            let ports = [first].into_iter().chain(self.client_device).collect();
            let mut parts = vec![thread(own, ports, emulator_threads.collect())];
            drop(look);
            parts.extend(others.into_iter().map(|other| other.join().expect("a thread of the run panicked")));
            parts.into_iter().collect::<Result<Vec<_>, _>>()
        })?;
        Ok(sum_up(scenario, parts))
    }
}

/// One thread's place.
struct Seat<'a> {
    own: usize,
    threads: usize,
    share: Share<'a>,
    targets: &'a MeterTargets,
    stopper: &'a Stopper,
    epoch: u64,
}

impl Seat<'_> {
    /// Runs this thread's share. `emulator_threads` are the numbers of all the emulator's threads for the one that looks at the machine, and nothing for the
    /// others, which see their own CPU time only.
    fn drive(
        &self,
        ports: &mut [Tun],
        control: &Control,
        emulator_threads: Vec<u32>,
    ) -> Result<Part, LiveError> {
        let targets =
            if emulator_threads.is_empty() { MeterTargets::default() } else { self.targets.clone() };
        let mut meters = MachineMeters::new(MeterTargets { emulator_threads, ..targets });
        let cpus = &self.targets.emulator_cpus;
        if !cpus.is_empty() {
            pin_current_thread(self.targets.cpus_of(self.own, self.threads))?;
        }
        // A server on the same CPU would wait for the emulator, and be measured doing so.
        if !cpus.is_empty() && !cpus.iter().any(|cpu| self.targets.server_cpus.contains(cpu)) {
            prefer_current_thread();
        }
        let mut clock = WallClock::new(&ports[0], self.stopper, Duration::ZERO)?;
        for other in &ports[1..] {
            clock.wait_for_frames(other)?;
        }
        clock.begin_at(self.epoch);
        Ok(drive_share(&self.share, control, (), &mut clock, ports, &mut meters))
    }
}

/// The calling thread's number, as `/proc/self/task` has it.
fn number_of_this_thread() -> u32 {
    gettid().as_raw_nonzero().get().unsigned_abs()
}
