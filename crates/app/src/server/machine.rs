//! The CPUs of a modelled machine: each works on one job at a time, and on the network's before the application's.
//!
//! A job that has begun is not interrupted (non-preemptive priority). A kernel handles packets in soft interrupts before it lets a program
//! go on; a flow's packets are handled by one core, so that they keep their order (receive-side scaling).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use wasp_units::{Duration, Instant};

/// Cores, and the jobs that wait for them. A job is whatever the owner makes of it; what it costs is known when it begins.
///
/// Call order: [`Self::submit`] jobs; begin each that [`Self::poll_start`] gives, by [`Self::begin`]; at the ends that this returns, take what is done by
/// [`Self::poll_done`], and ask `poll_start` again.
#[derive(Debug)]
pub struct Machine<J> {
    cores: Vec<Core<J>>,
    application: VecDeque<J>,
    /// Idle cores that have jobs of the network. One may be busy by now, or there twice.
    called: VecDeque<usize>,
    /// When running jobs end, and their cores.
    ends: BinaryHeap<Reverse<(Instant, usize)>>,
    /// Where the search for an idle core begins: behind the one that got a job of the application last.
    next: usize,
    /// All work begun so far.
    work: Duration,
}

#[derive(Debug)]
struct Core<J> {
    network: VecDeque<J>,
    running: Option<J>,
}

/// Who a job is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Class {
    /// The network stack, for a flow with this hash.
    Network(u64),
    /// The application, on any core.
    Application,
}

impl<J> Core<J> {
    fn is_called(&self) -> bool {
        self.running.is_none() && !self.network.is_empty()
    }
}

impl<J> Machine<J> {
    /// A machine with so many cores (one at least).
    #[must_use]
    pub fn new(cores: usize) -> Self {
        let core = || Core { network: VecDeque::new(), running: None };
        Self {
            cores: (0..cores.max(1)).map(|_| core()).collect(),
            application: VecDeque::new(),
            called: VecDeque::new(),
            ends: BinaryHeap::new(),
            next: 0,
            work: Duration::ZERO,
        }
    }

    /// Number of cores.
    #[must_use]
    pub const fn cores(&self) -> usize {
        self.cores.len()
    }

    /// Jobs of the application that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.application.len()
    }

    /// CPU time used up to `now`, over all cores.
    #[must_use]
    pub fn used(&self, now: Instant) -> Duration {
        let ahead: Duration = self.ends.iter().map(|Reverse((end, _))| end.saturating_since(now)).sum();
        self.work.saturating_sub(ahead)
    }

    /// Queues a job.
    pub fn submit(&mut self, class: Class, job: J) {
        match class {
            Class::Network(flow) => {
                let number = (flow % self.cores.len() as u64) as usize;
                self.cores[number].network.push_back(job);
                self.call(number);
            }
            Class::Application => self.application.push_back(job),
        }
    }

    /// A core may have a job of the network to begin.
    fn call(&mut self, number: usize) {
        if self.cores[number].is_called() {
            self.called.push_back(number);
        }
    }

    /// A job that begins now, and the core that takes it: a core works on the network first. Jobs of the application go round the idle cores.
    pub fn poll_start(&mut self) -> Option<(usize, J)> {
        while let Some(number) = self.called.pop_front() {
            let core = &mut self.cores[number];
            if core.is_called() {
                return core.network.pop_front().map(|job| (number, job));
            }
        }
        if self.application.is_empty() {
            return None;
        }
        let number = self.idle_core()?;
        self.next = number + 1;
        self.application.pop_front().map(|job| (number, job))
    }

    fn idle_core(&self) -> Option<usize> {
        if self.ends.len() == self.cores.len() {
            return None;
        }
        let (before, behind) = self.cores.split_at(self.next % self.cores.len());
        let is_idle = |core: &Core<J>| core.running.is_none();
        let found = behind.iter().position(is_idle).map(|place| before.len() + place);
        found.or_else(|| before.iter().position(is_idle))
    }

    /// A core works on `job`, which [`Self::poll_done`] hands back, for `cost`. Returns when it will be done.
    pub fn begin(&mut self, core: usize, cost: Duration, job: J, now: Instant) -> Instant {
        debug_assert!(self.cores[core].running.is_none(), "a core works on one job");
        self.work += cost;
        self.cores[core].running = Some(job);
        self.ends.push(Reverse((now + cost, core)));
        now + cost
    }

    /// Whether jobs of the network wait for a core.
    #[must_use]
    pub fn is_network_waiting(&self, core: usize) -> bool {
        !self.cores[core].network.is_empty()
    }

    /// When the next job will be done.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.ends.peek().map(|Reverse((end, _))| *end)
    }

    /// A job that is done by `now`, in the order of their ends, and the core that is idle again.
    pub fn poll_done(&mut self, now: Instant) -> Option<(usize, J)> {
        let Reverse((_, number)) = *self.ends.peek().filter(|Reverse((end, _))| *end <= now)?;
        self.ends.pop();
        let job = self.cores[number].running.take()?;
        self.call(number);
        Some((number, job))
    }
}
