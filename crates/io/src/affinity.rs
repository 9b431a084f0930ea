//! Which CPUs a thread runs on, and before whom.

use crate::sys;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::io;

/// A thread could not be confined to CPUs.
#[derive(Debug, thiserror::Error)]
pub enum AffinityError {
    /// No CPU was named.
    #[error("no CPU is named: one or more would be valid")]
    Empty,
    /// The number is beyond what the kernel's interface can express.
    #[error("CPU {0} is out of range: 0 to {max} would be valid", max = CpuSet::MAX_CPU - 1)]
    OutOfRange(u32),
    /// None of the CPUs is there for this process.
    #[error("CPUs {cpus:?} cannot be used: {source}")]
    Refused {
        /// The CPUs that were asked for.
        cpus: Vec<u32>,
        /// What the kernel says.
        source: io::Error,
    },
}

/// Confines the calling thread, and threads that it starts from now on, to some CPUs.
///
/// # Errors
/// No CPU is named, or none of them is there for this process.
pub fn pin_current_thread(cpus: &[u32]) -> Result<(), AffinityError> {
    if cpus.is_empty() {
        return Err(AffinityError::Empty);
    }
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu as usize >= CpuSet::MAX_CPU {
            return Err(AffinityError::OutOfRange(cpu));
        }
        set.set(cpu as usize);
    }
    sched_setaffinity(None, &set)
        .map_err(|e| AffinityError::Refused { cpus: cpus.to_vec(), source: e.into() })
}

/// Lets the calling thread run before all that is not real-time on its CPU, if the process may (`CAP_SYS_NICE` or
/// `RLIMIT_RTPRIO`); returns whether it does.
///
/// A thread that wakes up on the emulator's CPU may keep it for a slice of some milliseconds, and each packet due
/// meanwhile leaves that late. What holds up the CPU itself (interrupts, the hypervisor) still does. The kernel leaves
/// other threads their share of a CPU that real-time threads never leave (sched(7), "Limiting the CPU usage of real-time and deadline processes").
pub fn prefer_current_thread() -> bool {
    sys::schedule_in_real_time().is_ok()
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "an affinity belongs to a thread, so a test needs one of its own"
)]
mod tests {
    use super::*;
    use rustix::thread::sched_getaffinity;

    #[test]
    fn a_pinned_thread_stays_on_its_cpu() {
        std::thread::spawn(|| {
            let usable = sched_getaffinity(None).unwrap();
            let cpu = (0..CpuSet::MAX_CPU).rfind(|&cpu| usable.is_set(cpu)).unwrap();
            pin_current_thread(&[cpu as u32]).unwrap();
            let now = sched_getaffinity(None).unwrap();
            assert!(now.is_set(cpu) && now.count() == 1);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn impossible_cpus_are_refused_by_number() {
        assert!(matches!(pin_current_thread(&[]), Err(AffinityError::Empty)));
        assert_eq!(
            pin_current_thread(&[9_999]).unwrap_err().to_string(),
            "CPU 9999 is out of range: 0 to 1023 would be valid"
        );
        assert!(matches!(pin_current_thread(&[1_023]), Err(AffinityError::Refused { .. })));
    }
}
