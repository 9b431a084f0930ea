//! CPU time: of whole CPUs (`/proc/stat`) and of processes (`schedstat`). Parsers of text, and differences of readings.

use crate::files::read_text;
use std::collections::BTreeMap;
use std::fs;
use wasp_units::Duration;

/// What one CPU did since the machine started, in the kernel's ticks (proc(5): `USER_HZ`, 10 ms here and nearly everywhere).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CpuTimes {
    /// Doing nothing, input and output pending or not.
    pub idle: u64,
    /// Wanted to run, and the hypervisor ran something else.
    pub steal: u64,
    /// Served interrupts, as far as the kernel's ticks found it doing so.
    pub irq: u64,
    /// Everything, what is above included.
    pub total: u64,
}

/// How a CPU spent an interval; each figure is a part of it from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuUse {
    /// 1 - (idle + iowait) / total.
    pub busy: f64,
    /// The part that the hypervisor took; it is counted in `busy` too.
    pub steal: f64,
}

/// Times of every CPU by its number.
pub type Cpus = BTreeMap<u32, CpuTimes>;

/// Parses `/proc/stat`; lines that are not of a single CPU, or not as they should be, are left out.
#[must_use]
pub fn parse_stat(text: &str) -> Cpus {
    text.lines().filter_map(parse_cpu).collect()
}

fn parse_cpu(line: &str) -> Option<(u32, CpuTimes)> {
    let mut fields = line.split_ascii_whitespace();
    let cpu = fields.next()?.strip_prefix("cpu")?.parse().ok()?;
    // user nice system idle iowait irq softirq steal; guest times that may follow are in user and nice already.
    let times = fields.take(8).map(|field| field.parse().ok()).collect::<Option<Vec<u64>>>()?;
    let &[_, _, _, idle, iowait, irq, softirq, steal] = times.as_slice() else { return None };
    let total = times.iter().try_fold(0_u64, |sum, &time| sum.checked_add(time))?;
    Some((cpu, CpuTimes { idle: idle + iowait, steal, irq: irq + softirq, total }))
}

/// Reads `/proc/stat`; empty where there is none.
#[must_use]
pub fn read_cpus() -> Cpus {
    read_text("/proc/stat").as_deref().map(parse_stat).unwrap_or_default()
}

/// How some CPUs together spent the time between two readings; `None` when one of them is missing or no time has passed.
#[must_use]
pub fn cpu_use(cpus: &[u32], before: &Cpus, after: &Cpus) -> Option<CpuUse> {
    let (mut idle, mut steal, mut total) = (0, 0, 0);
    for cpu in cpus {
        let (before, after) = (before.get(cpu)?, after.get(cpu)?);
        // The kernel's iowait is known to go back a little at times.
        idle += after.idle.saturating_sub(before.idle);
        steal += after.steal.saturating_sub(before.steal);
        total += after.total.saturating_sub(before.total);
    }
    if total == 0 {
        return None;
    }
    let part = |ticks: u64| (ticks as f64 / total as f64).min(1.0);
    Some(CpuUse { busy: 1.0 - part(idle), steal: part(steal) })
}

/// What a thread had of the CPUs (`Documentation/scheduler/sched-stats.rst`); times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SchedStat {
    /// On a CPU.
    pub running: u64,
    /// Ready to run, and waiting for a CPU that another thread had (run delay).
    pub waiting: u64,
    /// How often it was put on a CPU.
    pub switches: u64,
}

/// Parses `schedstat` of a thread.
#[must_use]
pub fn parse_schedstat(text: &str) -> Option<SchedStat> {
    let mut fields = text.split_ascii_whitespace();
    let mut next = || fields.next()?.parse().ok();
    Some(SchedStat { running: next()?, waiting: next()?, switches: next()? })
}

/// What each thread had of the CPUs, by its number.
pub type Threads = BTreeMap<u32, SchedStat>;

/// What threads had of the CPUs between two readings.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ThreadsUse {
    /// CPU time.
    pub running: Duration,
    /// How often threads were put on a CPU.
    pub switches: u64,
}

/// What threads had of the CPUs between two readings. A thread that was new has used all it shows; one that ended is
/// unknown.
#[must_use]
pub fn threads_use(before: &Threads, after: &Threads) -> ThreadsUse {
    let (mut running, mut switches) = (0_u64, 0_u64);
    for (thread, stat) in after {
        let first = before.get(thread).copied().unwrap_or_default();
        running = running.saturating_add(stat.running.saturating_sub(first.running));
        switches = switches.saturating_add(stat.switches.saturating_sub(first.switches));
    }
    ThreadsUse { running: Duration::from_nanos(running), switches }
}

/// Reads what every thread of some processes and all their descendants had of the CPUs; what has ended is left out.
#[must_use]
pub fn read_threads(processes: &[u32]) -> Threads {
    let mut threads = Threads::new();
    let mut waiting = processes.to_vec();
    while let Some(process) = waiting.pop() {
        let tasks = fs::read_dir(format!("/proc/{process}/task"));
        for task in tasks.into_iter().flatten().flatten() {
            let Some(thread) = task.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let path = task.path();
            let stat = read_text(path.join("schedstat")).as_deref().and_then(parse_schedstat);
            let Some(stat) = stat else { continue };
            if threads.insert(thread, stat).is_none() {
                let children = read_text(path.join("children")).unwrap_or_default();
                waiting
                    .extend(children.split_ascii_whitespace().filter_map(|child| child.parse::<u32>().ok()));
            }
        }
    }
    threads
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test looks at a process that it starts")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAT: &str = "\
cpu  20 0 20 100 10 0 0 0 0 0
cpu0 10 1 10 50 5 2 3 4 10 0
cpu1 10 0 10 50 5 0 0
intr 1 2 3
";

    #[test]
    fn a_cpu_is_read_and_the_sum_of_all_is_not() {
        assert_eq!(parse_stat(STAT), Cpus::from([(0, CpuTimes { idle: 55, steal: 4, irq: 5, total: 85 })]));
    }

    #[test]
    fn busy_is_what_is_neither_idle_nor_waiting() {
        let before = Cpus::from([(0, CpuTimes::default()), (1, CpuTimes::default())]);
        let after = Cpus::from([
            (0, CpuTimes { idle: 25, steal: 10, irq: 0, total: 100 }),
            (1, CpuTimes { idle: 75, steal: 0, irq: 0, total: 100 }),
        ]);
        assert_eq!(cpu_use(&[0], &before, &after), Some(CpuUse { busy: 0.75, steal: 0.1 }));
        assert_eq!(cpu_use(&[0, 1], &before, &after), Some(CpuUse { busy: 0.5, steal: 0.05 }));
        assert_eq!(cpu_use(&[2], &before, &after), None);
        assert_eq!(cpu_use(&[0], &after, &after), None);
    }

    #[test]
    fn threads_that_came_count_and_threads_that_went_do_not() {
        let stat = |running, switches| SchedStat { running, waiting: 0, switches };
        let before = Threads::from([(1, stat(100, 9)), (2, stat(50, 3))]);
        let after = Threads::from([(1, stat(130, 11)), (3, stat(7, 1))]);
        let expected = ThreadsUse { running: Duration::from_nanos(37), switches: 3 };
        assert_eq!(threads_use(&before, &after), expected);
    }

    #[test]
    fn schedstat_has_time_on_a_cpu_time_waiting_for_one_and_switches() {
        let expected = SchedStat { running: 123, waiting: 45, switches: 6 };
        assert_eq!(parse_schedstat("123 45 6\n"), Some(expected));
        assert_eq!(parse_schedstat("123 45\n"), None);
        assert_eq!(parse_schedstat(""), None);
    }

    #[test]
    fn the_threads_of_a_process_and_of_its_children_are_found() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let threads = read_threads(&[std::process::id()]);
        let found = (threads.contains_key(&std::process::id()), threads.contains_key(&child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, (true, true));
        assert_eq!(read_threads(&[child.id()]), Threads::new());
    }

    proptest! {
        #[test]
        fn no_text_upsets_the_parsers(text in any::<String>()) {
            let _ = (parse_stat(&text), parse_schedstat(&text));
        }

        #[test]
        fn a_printed_cpu_reads_back(cpu in any::<u32>(), times in prop::array::uniform10(0_u64..1 << 50)) {
            let line = format!("cpu{cpu} {}\n", times.map(|time| time.to_string()).join(" "));
            let expected = CpuTimes {
                idle: times[3] + times[4],
                steal: times[7],
                irq: times[5] + times[6],
                total: times[..8].iter().sum(),
            };
            prop_assert_eq!(parse_stat(&line), Cpus::from([(cpu, expected)]));
        }

        #[test]
        fn parts_lie_between_nothing_and_all(before in any::<[u32; 3]>(), after in any::<[u32; 3]>()) {
            let cpu = |[idle, steal, total]: [u32; 3]| {
                let [idle, steal, total] = [idle, steal, total].map(u64::from);
                Cpus::from([(0, CpuTimes { idle, steal, irq: 0, total })])
            };
            if let Some(CpuUse { busy, steal }) = cpu_use(&[0], &cpu(before), &cpu(after)) {
                prop_assert!((0.0..=1.0).contains(&busy) && (0.0..=1.0).contains(&steal));
            }
        }
    }
}
