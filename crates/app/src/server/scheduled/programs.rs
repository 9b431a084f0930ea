//! The programs of a server: which connection one of them works on next, and whether it slept before.

use crate::server::Work;
use std::collections::VecDeque;

/// How a server's programs share its connections.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Concurrency {
    /// Workers, each of which has many connections and waits for all of them at once (nginx, Flash).
    Event {
        /// How many.
        workers: u32,
    },
    /// Processes, each of which has one connection from accept to close (Apache prefork).
    Process {
        /// How many.
        processes: u32,
    },
}

/// A program's next job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    /// Whose connection it is about; a worker decides that when it begins.
    pub(super) work: Work,
    /// The program slept before.
    pub(super) woken: bool,
    worker: u32,
}

/// What a program does with a connection after a job for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum After {
    /// It has read what it will work on next.
    Continue,
    /// Something has arrived meanwhile.
    Ready,
    /// It waits for the peer.
    Wait,
    /// It has nothing to do with it any more.
    Leave,
}

#[derive(Debug)]
pub(super) enum Programs {
    Workers(Vec<Worker>),
    Processes {
        /// Processes without a connection.
        free: u32,
        /// Connections without a process.
        waiting: VecDeque<Work>,
        /// Processes that run or want to.
        runnable: u32,
    },
}

/// A worker. A connection belongs to one of them from its beginning.
#[derive(Debug, Default)]
pub(super) struct Worker {
    /// Connections that the next return of `epoll_wait` tells of.
    ready: VecDeque<Work>,
    /// What is left of those that the last one told of.
    batch: VecDeque<Work>,
    /// It runs or wants to.
    busy: bool,
}

impl Programs {
    pub(super) fn new(concurrency: Concurrency) -> Self {
        match concurrency {
            Concurrency::Event { workers } => {
                Self::Workers((0..workers.max(1)).map(|_| Worker::default()).collect())
            }
            Concurrency::Process { processes } => {
                Self::Processes { free: processes.max(1), waiting: VecDeque::new(), runnable: 0 }
            }
        }
    }

    /// A connection is to be accepted.
    pub(super) fn arrive(&mut self, work: Work) -> Option<Task> {
        match self {
            Self::Workers(_) => self.wake(work),
            Self::Processes { free: 0, waiting, .. } => {
                waiting.push_back(work);
                None
            }
            Self::Processes { free, .. } => {
                *free -= 1;
                self.wake(work)
            }
        }
    }

    /// Something has happened to a connection for which a program waits.
    pub(super) fn wake(&mut self, work: Work) -> Option<Task> {
        match self {
            Self::Workers(workers) => {
                let number = work.ordinal % workers.len() as u32;
                let worker = &mut workers[number as usize];
                worker.ready.push_back(work);
                let slept = !std::mem::replace(&mut worker.busy, true);
                slept.then_some(Task { work, woken: true, worker: number })
            }
            Self::Processes { runnable, .. } => {
                *runnable += 1;
                Some(Task { work, woken: true, worker: 0 })
            }
        }
    }

    /// A task begins: says what it is about. Returns how many other processes want to run.
    pub(super) fn begin(&mut self, task: &mut Task) -> u64 {
        match self {
            Self::Workers(workers) => {
                let worker = &mut workers[task.worker as usize];
                if worker.batch.is_empty() {
                    std::mem::swap(&mut worker.ready, &mut worker.batch);
                }
                task.work = worker.batch.pop_front().expect("a busy worker has something to do");
                0
            }
            Self::Processes { runnable, .. } => u64::from(runnable.saturating_sub(1)),
        }
    }

    /// A task is done. Returns the program's next one.
    pub(super) fn end(&mut self, task: Task, after: After) -> Option<Task> {
        match self {
            Self::Workers(workers) => {
                let worker = &mut workers[task.worker as usize];
                match after {
                    After::Continue => worker.batch.push_back(task.work),
                    After::Ready => worker.ready.push_back(task.work),
                    After::Wait | After::Leave => {}
                }
                worker.busy = !worker.batch.is_empty() || !worker.ready.is_empty();
                // One that finds more to do has not slept: the next return of `epoll_wait` is no wake-up.
                worker.busy.then_some(Task { woken: false, ..task })
            }
            Self::Processes { free, waiting, runnable } => {
                let work = match after {
                    After::Continue | After::Ready => Some(task.work),
                    After::Wait => None,
                    After::Leave => {
                        let next = waiting.pop_front();
                        *free += u32::from(next.is_none());
                        next
                    }
                };
                *runnable -= u32::from(work.is_none());
                // One that has left a connection sleeps until it is its turn to accept (Apache's accept mutex).
                let woken = after == After::Leave;
                work.map(|work| Task { work, woken, worker: 0 })
            }
        }
    }

    /// A connection has ended while its program waited for it.
    pub(super) fn release(&mut self) -> Option<Task> {
        let Self::Processes { free, waiting, .. } = self else { return None };
        match waiting.pop_front() {
            Some(next) => self.wake(next),
            None => {
                *free += 1;
                None
            }
        }
    }
}
