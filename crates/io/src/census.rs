//! CPU time by who used it: the run's own threads, or other programs.
//!
//! The kernel tells how long a CPU did nothing, and how long each thread ran. It does not tell how long a CPU served interrupts outside of all threads:
//! most kernels count that by ticks, and an idle CPU has none; those with `CONFIG_IRQ_TIME_ACCOUNTING` measure it, and those without count an
//! interrupt that comes while a thread runs as the thread's time, too. So what other programs took of a CPU is what their threads say of themselves.
//! That is no more than [`Share::most`]. Where not every process can be seen, as in a container, it is no less than [`Share::least`].

use crate::clock::monotonic_nanos;
use crate::cpu::{CpuTimes, Cpus, read_cpus};
use crate::files::read_text;
use rustix::param::clock_ticks_per_second;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// `PF_KTHREAD` among the flags of a task (linux/sched.h).
const KERNEL_THREAD: u64 = 0x0020_0000;
/// Names of the kernel's threads that do the work of interrupts: they are the run's own.
const INTERRUPT_THREADS: [&str; 4] = ["ksoftirqd/", "irq/", "napi/", "ktimers/"];
/// Part of a CPU's time that interrupts may have taken while it was idle, when no tick finds them: up to 0.012 was measured.
pub const UNTICKED: f64 = 0.02;

/// A process or a thread: its number, and when it started, in ticks since the machine did. Numbers are given again.
pub type TaskId = (u32, u64);

/// What `/proc/PID/stat` says of a process or `/proc/PID/task/TID/stat` of a thread (proc_pid_stat(5)); times in the kernel's ticks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TaskStat {
    /// Its parent process.
    pub parent: u32,
    /// CPU time, user and system; a process's contains that of its threads that have ended.
    pub ticks: u64,
    /// CPU time of its children that have ended and been waited for, and of theirs.
    pub reaped: u64,
    /// When it started.
    pub start: u64,
    /// The CPU on which it ran last.
    pub cpu: u32,
    /// Whether it is a thread of the kernel.
    pub kernel: bool,
    /// Whether it is a thread of the kernel that does the work of interrupts.
    pub interrupts: bool,
}

/// Parses the stat file of a process or a thread. The name, in parentheses, may contain everything, parentheses and spaces too.
#[must_use]
pub fn parse_task(text: &str) -> Option<TaskStat> {
    let (before, after) = text.rsplit_once(')')?;
    let name = before.split_once('(')?.1;
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let sum = |first: usize| number(first)?.checked_add(number(first + 1)?);
    let kernel = number(6)? & KERNEL_THREAD != 0;
    Some(TaskStat {
        parent: number(1)?.try_into().ok()?,
        ticks: sum(11)?,
        reaped: sum(13)?,
        start: number(19)?,
        cpu: number(36)?.try_into().ok()?,
        kernel,
        interrupts: kernel && INTERRUPT_THREADS.iter().any(|prefix| name.starts_with(prefix)),
    })
}

/// One thread at one moment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Thread {
    /// CPU time in ticks.
    pub ticks: u64,
    /// The CPU on which it ran last.
    pub cpu: u32,
    /// Whether it is the run's own.
    pub own: bool,
}

/// CPU time of every CPU and every thread that can be seen, at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Census {
    /// When, in ticks.
    pub at: f64,
    /// What the CPUs did.
    pub cpus: Cpus,
    /// The threads that live.
    pub threads: BTreeMap<TaskId, Thread>,
    /// Processes that are the run's own.
    pub own: BTreeSet<TaskId>,
    /// CPU time of the run's own processes, in ticks, with that of their threads and children that have ended.
    pub own_ticks: u64,
    /// The same of all others.
    pub others_ticks: u64,
    /// Whether every process can be seen: one that sees the kernel's threads is in no container, and nothing is hidden from it.
    pub everyone: bool,
}

impl Census {
    /// Looks at the machine. The run's own are the processes `roots` with all their descendants, those that were its own `before`, and the kernel's threads
    /// that do the work of interrupts. Takes some microseconds for each thread of the machine.
    #[must_use]
    pub fn take(roots: &[u32], before: &BTreeSet<TaskId>) -> Self {
        let at = monotonic_nanos() as f64 / 1e9 * clock_ticks_per_second() as f64;
        let mut census = Self { at, cpus: read_cpus(), ..Self::default() };
        let processes: BTreeMap<u32, TaskStat> = read_tasks("/proc").collect();
        let still = before
            .iter()
            .filter(|(number, start)| processes.get(number).is_some_and(|stat| stat.start == *start));
        let roots = roots.iter().copied().chain(still.map(|(number, _)| *number));
        let own = with_descendants(roots, &processes);
        for (&process, stat) in &processes {
            let own = stat.interrupts || own.contains(&process);
            if own {
                census.own.insert((process, stat.start));
            }
            let ticks = stat.ticks.saturating_add(stat.reaped);
            *(if own { &mut census.own_ticks } else { &mut census.others_ticks }) += ticks;
            census.everyone |= stat.kernel;
            for (number, stat) in read_tasks(format!("/proc/{process}/task")) {
                census.threads.insert((number, stat.start), Thread { ticks: stat.ticks, cpu: stat.cpu, own });
            }
        }
        census
    }

    /// The thread with this number.
    #[must_use]
    pub fn thread(&self, number: u32) -> Option<&Thread> {
        self.threads.range((number, 0)..=(number, u64::MAX)).next_back().map(|(_, thread)| thread)
    }
}

/// The stat files below a directory with one entry for each process or thread; what has ended meanwhile is left out.
fn read_tasks(directory: impl AsRef<Path>) -> impl Iterator<Item = (u32, TaskStat)> {
    fs::read_dir(directory).into_iter().flatten().flatten().filter_map(|entry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        Some((number, parse_task(&read_text(entry.path().join("stat"))?)?))
    })
}

fn with_descendants(
    roots: impl IntoIterator<Item = u32>,
    processes: &BTreeMap<u32, TaskStat>,
) -> BTreeSet<u32> {
    let mut children = BTreeMap::<u32, Vec<u32>>::new();
    for (&process, stat) in processes {
        children.entry(stat.parent).or_default().push(process);
    }
    let mut found = BTreeSet::new();
    let mut waiting: Vec<u32> = roots.into_iter().collect();
    while let Some(process) = waiting.pop() {
        if found.insert(process) {
            waiting.extend(children.get(&process).into_iter().flatten());
        }
    }
    found
}

/// How the time of some CPUs was used between two moments, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// Time that passed, times the number of CPUs.
    pub all: f64,
    /// Time in which the CPUs were neither idle nor stolen.
    pub busy: f64,
    /// Time of interrupts as far as ticks know.
    pub irq: f64,
    /// Time of the run's own threads that ran there last.
    pub own: f64,
    /// Time of the other threads that ran there last.
    pub others: f64,
    /// Whether every process could be seen.
    pub everyone: bool,
}

impl Share {
    /// What others took at most: the busy time less that of the run's own threads.
    #[must_use]
    pub fn most(&self) -> f64 {
        (self.busy - self.own).max(0.0)
    }

    /// What others took at least. Where not every process can be seen that is the most without interrupts: those that ticks found, and [`UNTICKED`].
    #[must_use]
    pub fn least(&self) -> f64 {
        if self.everyone { 0.0 } else { (self.most() - self.irq - UNTICKED * self.all).max(0.0) }
    }

    /// The part (0 to 1) that others took; `None` where no time has passed.
    #[must_use]
    pub fn of_others(&self) -> Option<f64> {
        (self.all > 0.0).then(|| (self.others.clamp(self.least(), self.most()) / self.all).min(1.0))
    }

    fn unclaimed(&self) -> f64 {
        (self.busy - self.own - self.others).max(0.0)
    }
}

/// How each CPU was used between two looks, of which the second counted as its own what the first did. What threads and processes used that have ended
/// is where there is time that no living one claims; that of the run's own on `placed`, unless that is empty.
#[must_use]
pub fn shares(before: &Census, after: &Census, placed: &[u32]) -> BTreeMap<u32, Share> {
    let all = (after.at - before.at).max(0.0);
    let everyone = before.everyone && after.everyone;
    let share = |(&cpu, &now): (&u32, &CpuTimes)| {
        let then = *before.cpus.get(&cpu)?;
        let since = |time: fn(CpuTimes) -> u64| time(now).saturating_sub(time(then)) as f64;
        let busy = (all - since(|times| times.idle) - since(|times| times.steal)).max(0.0);
        Some((cpu, Share { all, busy, irq: since(|times| times.irq), everyone, ..Share::default() }))
    };
    let mut shares: BTreeMap<u32, Share> = after.cpus.iter().filter_map(share).collect();
    let mut own_ended = after.own_ticks.saturating_sub(before.own_ticks) as f64;
    let mut others_ended = after.others_ticks.saturating_sub(before.others_ticks) as f64;
    for (id, thread) in &after.threads {
        let earlier = before.threads.get(id).map_or(0, |earlier| earlier.ticks);
        let ticks = thread.ticks.saturating_sub(earlier) as f64;
        *(if thread.own { &mut own_ended } else { &mut others_ended }) -= ticks;
        let Some(share) = shares.get_mut(&thread.cpu) else { continue };
        *(if thread.own { &mut share.own } else { &mut share.others }) += ticks;
    }
    let own = parts(&shares, own_ended, |cpu| placed.is_empty() || placed.contains(&cpu));
    own.into_iter().for_each(|(cpu, ticks)| shares.entry(cpu).or_default().own += ticks);
    let others = parts(&shares, others_ended, |_| true);
    others.into_iter().for_each(|(cpu, ticks)| shares.entry(cpu).or_default().others += ticks);
    shares
}

/// Spreads `ticks` over some CPUs by the time that nobody claims there. What of it is more than `ticks` is interrupts', on each CPU as many as its own
/// count of them says.
fn parts(shares: &BTreeMap<u32, Share>, ticks: f64, chosen: impl Fn(u32) -> bool) -> Vec<(u32, f64)> {
    let chosen = || shares.iter().filter(|(cpu, _)| chosen(**cpu));
    let total = |of: &dyn Fn(&Share) -> f64| chosen().map(|(_, share)| of(share)).sum::<f64>();
    let (unclaimed, irqs) = (total(&Share::unclaimed), total(&|share| share.irq));
    let interrupts = (unclaimed - ticks).max(0.0) / irqs.max(1.0);
    let exact = |share: &Share| (share.unclaimed() - interrupts * share.irq).max(0.0);
    let weighed = total(&exact);
    let part = |share: &Share| {
        let (part, whole) =
            if weighed > 0.0 { (exact(share), weighed) } else { (share.unclaimed(), unclaimed) };
        if whole > 0.0 { ticks.max(0.0) * part / whole } else { 0.0 }
    };
    chosen().map(|(cpu, share)| (*cpu, part(share))).collect()
}

/// Sums over some CPUs; `None` where one of them is missing, or none is given.
#[must_use]
pub fn over(cpus: &[u32], shares: &BTreeMap<u32, Share>) -> Option<Share> {
    let add = |sum: Share, more: Share| Share {
        all: sum.all + more.all,
        busy: sum.busy + more.busy,
        irq: sum.irq + more.irq,
        own: sum.own + more.own,
        others: sum.others + more.others,
        everyone: sum.everyone && more.everyone,
    };
    let found = cpus.iter().map(|cpu| shares.get(cpu).copied()).collect::<Option<Vec<_>>>()?;
    found.into_iter().reduce(add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NGINX: &str = "812 (nginx: worker) S 810 810 810 0 -1 4194624 120 7 0 0 30 50 4 6 20 0 3 0 9 1 2 \
                         18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 5 0 0 0 0 0\n";

    #[test]
    fn a_stat_file_is_read() {
        let expected = TaskStat {
            parent: 810,
            ticks: 80,
            reaped: 10,
            start: 9,
            cpu: 5,
            kernel: false,
            interrupts: false,
        };
        assert_eq!(parse_task(NGINX), Some(expected));
        assert_eq!(parse_task(&NGINX.replace("nginx: worker", "a) R 1 (b")), Some(expected));
        let kernel = NGINX.replace("4194624", "69238848");
        for (name, interrupts) in [("ksoftirqd/5", true), ("irq/24-eth0", true), ("kworker/5:1", false)] {
            let stat = parse_task(&kernel.replace("nginx: worker", name)).unwrap();
            assert!(stat.kernel);
            assert_eq!(stat.interrupts, interrupts, "{name}");
            // A name is no proof.
            assert!(!parse_task(&NGINX.replace("nginx: worker", name)).unwrap().interrupts);
        }
        assert_eq!(parse_task(&NGINX.replace(" 50 4 ", " x 4 ")), None);
        assert_eq!(parse_task(NGINX.split(" 17 5 ").next().unwrap()), None);
        assert_eq!(parse_task(""), None);
    }

    #[test]
    fn this_process_is_its_own_and_its_parent_is_not() {
        let this = std::process::id();
        let census = Census::take(&[this], &BTreeSet::new());
        let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get() as u32);
        let own = |process| census.own.range((process, 0)..=(process, u64::MAX)).count();
        assert_eq!((own(this), own(parent)), (1, 0));
        assert!(census.thread(this).unwrap().own);
        assert!(!census.cpus.is_empty());
    }

    #[test]
    fn descendants_are_found_at_any_depth() {
        let of = |parent| TaskStat { parent, ..parse_task(NGINX).unwrap() };
        let processes = BTreeMap::from([(1, of(0)), (5, of(1)), (6, of(5)), (7, of(6)), (8, of(1))]);
        assert_eq!(with_descendants([5], &processes), BTreeSet::from([5, 6, 7]));
        assert_eq!(with_descendants([6, 8, 99], &processes), BTreeSet::from([6, 7, 8, 99]));
    }

    /// A moment: when, what each CPU did (idle, stolen, interrupts), the threads (number, ticks, CPU, own), and the sums of the processes' times.
    fn census(at: f64, cpus: &[[u64; 3]], threads: &[(u32, u64, u32, bool)], sums: [u64; 2]) -> Census {
        let times = |&[idle, steal, irq]: &[u64; 3]| CpuTimes { idle, steal, irq, total: 0 };
        Census {
            at,
            cpus: (0..).zip(cpus.iter().map(times)).collect(),
            threads: threads
                .iter()
                .map(|&(number, ticks, cpu, own)| ((number, 0), Thread { ticks, cpu, own }))
                .collect(),
            own: BTreeSet::new(),
            own_ticks: sums[0],
            others_ticks: sums[1],
            everyone: false,
        }
    }

    fn of_others(before: &Census, after: &Census) -> Vec<f64> {
        let shares = shares(before, after, &[]);
        let one = |cpu: &u32| over(&[*cpu], &shares).unwrap().of_others().unwrap();
        shares.keys().map(one).map(|share| (share * 1e6).round() / 1e6).collect()
    }

    #[test]
    fn interrupts_are_nobodys_whether_the_ticks_know_of_them_or_not() {
        // Own threads had 400 ticks of CPU 0 and 200 of CPU 1; interrupts that found them idle had 40 and 15. Ticks saw 90 in all on CPU 0,
        // most of it in threads, and nothing on CPU 1.
        let before = census(0.0, &[[0; 3], [0; 3]], &[(1, 100, 0, true), (2, 0, 1, true)], [100, 50]);
        let after =
            census(1e3, &[[560, 0, 90], [785, 0, 0]], &[(1, 500, 0, true), (2, 200, 1, true)], [700, 50]);
        assert_eq!(of_others(&before, &after), [0.0, 0.0]);
    }

    #[test]
    fn other_threads_count_where_they_ran_last() {
        let threads = |ticks| [(1, ticks, 0, true), (2, ticks, 1, true), (3, ticks / 4, 1, false)];
        let before = census(0.0, &[[0; 3], [0; 3]], &threads(0), [0, 0]);
        let after = census(1e3, &[[590, 0, 90], [490, 0, 90]], &threads(400), [800, 100]);
        assert_eq!(of_others(&before, &after), [0.0, 0.1]);
        // Both CPUs together.
        let both = over(&[0, 1], &shares(&before, &after, &[])).unwrap();
        assert_eq!(both.of_others(), Some(0.05));
        assert_eq!(over(&[0, 2], &shares(&before, &after, &[])), None);
    }

    #[test]
    fn others_that_cannot_be_seen_show_where_interrupts_do_not_explain_the_time() {
        // Such as those outside of the container: 300 ticks are neither idle nor stolen nor own, 50 at most are interrupts.
        let before = census(0.0, &[[0; 3]], &[(1, 0, 0, true)], [0, 0]);
        let after = census(1e3, &[[480, 20, 50]], &[(1, 200, 0, true)], [200, 0]);
        assert_eq!(of_others(&before, &after), [0.23]);
    }

    #[test]
    fn others_took_no_more_than_there_was() {
        // A thread that ran elsewhere for most of the time.
        let before = census(0.0, &[[0; 3]], &[(1, 0, 0, true), (2, 0, 0, false)], [0, 0]);
        let after = census(1e3, &[[780, 0, 0]], &[(1, 200, 0, true), (2, 900, 0, false)], [200, 900]);
        assert_eq!(of_others(&before, &after), [0.02]);
    }

    #[test]
    fn what_ended_in_between_counts() {
        // Of the run's own: a child with 30 ticks that got 70 more, was waited for, and ended; and one that came and went with 100.
        let before = census(0.0, &[[0; 3], [0; 3]], &[(1, 100, 0, true), (2, 30, 0, true)], [130, 0]);
        let after = census(1e3, &[[730, 0, 0], [1000, 0, 0]], &[(1, 200, 0, true)], [400, 0]);
        assert_eq!(of_others(&before, &after), [0.0, 0.0]);
        // Of others: it is where there is time that nobody claims.
        let after = census(1e3, &[[600, 0, 300], [1000, 0, 0]], &[(1, 200, 0, true)], [230, 250]);
        assert_eq!(of_others(&before, &after), [0.25, 0.0]);
    }

    #[test]
    fn an_own_thread_may_have_run_on_any_cpu_of_the_server() {
        // Two workers used both CPUs and were last seen on the first: there is nobody else.
        let before = census(0.0, &[[0; 3], [0; 3]], &[(1, 0, 0, true), (2, 0, 0, true)], [0, 0]);
        let after =
            census(1e3, &[[500, 0, 0], [500, 0, 0]], &[(1, 500, 0, true), (2, 500, 0, true)], [1000, 0]);
        assert_eq!(over(&[0, 1], &shares(&before, &after, &[])).unwrap().of_others(), Some(0.0));
    }

    #[test]
    fn what_ended_elsewhere_is_not_taken_for_interrupts() {
        // A kernel that measures interrupts: 300 ticks of CPU 0 are in no thread's time. Others' processes came and went on CPU 1.
        let before = census(0.0, &[[0; 3], [0; 3]], &[(1, 0, 0, true)], [0, 0]);
        let after = census(1e3, &[[500, 0, 300], [100, 0, 0]], &[(1, 200, 0, true)], [200, 900]);
        assert_eq!(of_others(&before, &after), [0.0, 0.9]);
    }

    #[test]
    fn own_processes_that_ended_ran_where_the_run_is_placed() {
        // A server that forks, and others outside of the container on CPU 1.
        let before = census(0.0, &[[0; 3], [0; 3]], &[], [0, 0]);
        let after = census(1e3, &[[700, 0, 0], [0, 0, 0]], &[], [300, 0]);
        let shares = shares(&before, &after, &[0]);
        assert_eq!(over(&[0], &shares).unwrap().of_others(), Some(0.0));
        assert_eq!(over(&[1], &shares).unwrap().of_others(), Some(0.98));
    }

    #[test]
    fn where_everyone_can_be_seen_only_threads_count() {
        // Such as the children of a server that does not wait for them: nobody has their time.
        let all = |census| Census { everyone: true, ..census };
        let before = all(census(0.0, &[[0; 3]], &[(1, 0, 0, true), (2, 0, 0, false)], [0, 0]));
        let after = all(census(1e3, &[[400, 0, 0]], &[(1, 200, 0, true), (2, 50, 0, false)], [200, 50]));
        assert_eq!(of_others(&before, &after), [0.05]);
    }

    #[test]
    fn a_number_that_was_given_again_is_another_thread() {
        let mut before = census(0.0, &[[0; 3]], &[(9, 40, 0, false)], [0, 40]);
        let mut after = census(1e3, &[[900, 0, 100]], &[], [0, 100]);
        after.threads.insert((9, 500), Thread { ticks: 60, cpu: 0, own: false });
        assert_eq!(of_others(&before, &after), [0.06]);
        assert_eq!(after.thread(9).unwrap().ticks, 60);
        before.threads.insert((9, 500), Thread { ticks: 20, cpu: 0, own: false });
        before.others_ticks = 60;
        assert_eq!(of_others(&before, &after), [0.04]);
    }

    #[test]
    fn without_time_nothing_is_known() {
        let now = census(5.0, &[[0; 3]], &[], [0, 0]);
        assert_eq!(over(&[0], &shares(&now, &now, &[])).unwrap().of_others(), None);
    }

    fn any_census() -> impl Strategy<Value = Census> {
        let cpus = prop::collection::vec(any::<[u32; 3]>().prop_map(|times| times.map(u64::from)), 0..4);
        let threads = prop::collection::vec((0_u32..6, 0..1_u64 << 40, 0_u32..5, any::<bool>()), 0..8);
        let sums = any::<[u32; 2]>().prop_map(|sums| sums.map(u64::from));
        (0.0..1e9, cpus, threads, sums)
            .prop_map(|(at, cpus, threads, sums)| census(at, &cpus, &threads, sums))
    }

    proptest! {
        #[test]
        fn no_text_upsets_the_parser(text in any::<String>()) {
            let _ = parse_task(&text);
        }

        #[test]
        fn a_part_lies_between_nothing_and_all(before in any_census(), after in any_census()) {
            let shares = shares(&before, &after, &[]);
            for cpus in [vec![0], vec![0, 1, 2, 3], shares.keys().copied().collect()] {
                if let Some(part) = over(&cpus, &shares).and_then(|share| share.of_others()) {
                    prop_assert!((0.0..=1.0).contains(&part), "{}", part);
                }
            }
        }
    }
}
