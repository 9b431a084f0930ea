//! What another thread may see of a run and do to it, without a lock.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Shared between the thread that runs the engine and the one that watches it.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    elapsed_ns: AtomicU64,
    ok: AtomicU64,
    errors: AtomicU64,
    in_progress: AtomicU64,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Progress {
    /// Nanoseconds since the start of the run.
    pub elapsed_ns: u64,
    /// `ok` transactions since the start.
    pub ok: u64,
    /// Other transactions that ended since the start.
    pub errors: u64,
    /// Transactions in progress.
    pub in_progress: u64,
}

impl Control {
    /// Asks the run to stop; what was measured so far is kept.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether the run was asked to stop.
    #[must_use]
    pub fn stop_requested(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// How far the run has come, as of its last report. The figures may be of slightly different moments.
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress {
            elapsed_ns: self.elapsed_ns.load(Relaxed),
            ok: self.ok.load(Relaxed),
            errors: self.errors.load(Relaxed),
            in_progress: self.in_progress.load(Relaxed),
        }
    }

    pub(crate) fn report(&self, progress: Progress) {
        self.elapsed_ns.store(progress.elapsed_ns, Relaxed);
        self.ok.store(progress.ok, Relaxed);
        self.errors.store(progress.errors, Relaxed);
        self.in_progress.store(progress.in_progress, Relaxed);
    }
}
