//! The machine's meters around the measured interval.

use crate::census::{Census, over, shares};
use crate::clock::{monotonic_nanos, thread_cpu_nanos};
use crate::counters::{increase, parse_device, parse_softnet, parse_tcp};
use crate::cpu::{Cpus, Threads, cpu_use, parse_schedstat, read_cpus, read_threads, threads_use};
use crate::files::read_text;
use crate::sampler::Sampler;
use std::cell::OnceCell;
use wasp_engine::{Counters, KernelCounters, MachineReport, Mark, Meters};
use wasp_units::{Duration, Instant};

/// What to look at.
#[derive(Clone, Debug, Default)]
pub struct MeterTargets {
    /// The CPUs of the server.
    pub server_cpus: Vec<u32>,
    /// The CPUs of the emulator.
    pub emulator_cpus: Vec<u32>,
    /// The threads of the emulator, by their numbers in this process. Where none is named, others' part in the CPUs' time is not measured.
    pub emulator_threads: Vec<u32>,
    /// The server's processes, as this process numbers them; their descendants are found.
    pub server_processes: Vec<u32>,
    /// The process in whose network namespace the kernel's counters are read; without one nobody's are.
    pub namespace: Option<u32>,
    /// The device's name in that namespace.
    pub device: Option<String>,
    /// The same of the clients' device: a process in its namespace, and its name.
    pub clients: Option<(u32, String)>,
}

impl MeterTargets {
    /// The CPUs of the emulator's thread with this index of so many: one thread may use all, several take one each, in turn.
    pub(crate) fn cpus_of(&self, thread: usize, threads: usize) -> &[u32] {
        match self.emulator_cpus.as_slice() {
            [] => &[],
            cpus if threads > 1 => std::slice::from_ref(&cpus[thread % cpus.len()]),
            cpus => cpus,
        }
    }
}

/// Reads the meters at both ends of the measured interval, on the emulator's own thread.
///
/// Call order: `mark(MeasureStart)`, `mark(MeasureEnd)`, then `report`. A reading takes a fraction of a millisecond; what takes longer is read by a
/// thread beside it at the same time, and may be some milliseconds late.
#[derive(Debug)]
pub struct MachineMeters {
    targets: MeterTargets,
    sampler: Option<Sampler>,
    censuses: OnceCell<Option<(Census, Census)>>,
    start: Option<Reading>,
    end: Option<Reading>,
    /// The CPUs when `server_busy` last looked.
    last_second: Cpus,
}

#[derive(Debug)]
struct Reading {
    clock: u64,
    emulator: u64,
    /// How long each thread of the emulator has waited for a CPU, in nanoseconds.
    run_delays: Vec<Option<u64>>,
    cpus: Cpus,
    server: Threads,
    device: Option<Counters>,
    client_device: Option<Counters>,
    tcp: Option<Counters>,
    softnet: Option<Counters>,
}

impl MachineMeters {
    /// Meters that have not been read. Made by a thread that is not confined to the emulator's CPUs yet, and not real-time: what reads beside it
    /// would be, too.
    #[must_use]
    pub fn new(targets: MeterTargets) -> Self {
        let mut roots = targets.server_processes.clone();
        roots.push(std::process::id());
        let sampled = !targets.emulator_threads.is_empty();
        let sampler = sampled.then(|| Sampler::new(roots)).and_then(Result::ok);
        Self { targets, sampler, censuses: OnceCell::new(), start: None, end: None, last_second: read_cpus() }
    }

    fn read(&self) -> Reading {
        let targets = &self.targets;
        let net = |file: &str| read_text(format!("/proc/{}/net/{file}", targets.namespace?));
        let clients = targets.clients.as_ref();
        let client_device = clients.and_then(|(process, device)| {
            parse_device(&read_text(format!("/proc/{process}/net/dev"))?, device)
        });
        Reading {
            clock: monotonic_nanos(),
            emulator: thread_cpu_nanos(),
            run_delays: targets.emulator_threads.iter().map(|&thread| run_delay(thread)).collect(),
            cpus: read_cpus(),
            server: read_threads(&targets.server_processes),
            device: targets.device.as_deref().and_then(|device| parse_device(&net("dev")?, device)),
            client_device,
            tcp: net("snmp").zip(net("netstat")).and_then(|(snmp, netstat)| parse_tcp(&snmp, &netstat)),
            softnet: net("softnet_stat").as_deref().and_then(parse_softnet),
        }
    }
}

impl MachineMeters {
    /// The censuses of both ends, the first time waited for.
    fn censuses(&self) -> Option<&(Census, Census)> {
        let both = || self.sampler.as_ref().and_then(|sampler| Some((sampler.census()?, sampler.census()?)));
        self.censuses.get_or_init(both).as_ref()
    }
}

impl Meters for MachineMeters {
    fn mark(&mut self, mark: Mark, _at: Instant) {
        if let Some(sampler) = &self.sampler {
            sampler.request();
        }
        let reading = Some(self.read());
        match mark {
            Mark::MeasureStart => self.start = reading,
            Mark::MeasureEnd => self.end = reading,
        }
    }

    fn server_busy(&mut self) -> Option<f64> {
        let before = std::mem::replace(&mut self.last_second, read_cpus());
        cpu_use(&self.targets.server_cpus, &before, &self.last_second).map(|used| used.busy)
    }

    fn report(&self) -> MachineReport {
        let (Some(start), Some(end)) = (&self.start, &self.end) else { return MachineReport::default() };
        let used = |cpus: &[u32]| cpu_use(cpus, &start.cpus, &end.cpus);
        let MeterTargets { server_cpus, emulator_cpus, .. } = &self.targets;
        let mut both = [server_cpus.as_slice(), emulator_cpus].concat();
        both.sort_unstable();
        both.dedup();
        let interval = end.since(start).as_nanos() as f64;
        let part = |nanos: f64| (interval > 0.0).then(|| (nanos / interval).clamp(0.0, 1.0));
        let waits: Vec<Option<f64>> = start
            .run_delays
            .iter()
            .zip(&end.run_delays)
            .map(|(start, end)| part(increase_of(*start, *end)?))
            .collect();
        let others =
            self.censuses().map(|(before, after)| Others::between(before, after, &self.targets, &waits));
        let others = others.unwrap_or_default();
        let server_threads = (!end.server.is_empty()).then(|| threads_use(&start.server, &end.server));
        MachineReport {
            server_busy: used(server_cpus).map(|used| used.busy),
            steal: used(&both).map(|used| used.steal),
            server_processes_s: server_threads.map(|used| used.running.as_secs_f64()),
            server_switches: server_threads.map(|used| used.switches),
            emulator_cpu: part(end.emulator.saturating_sub(start.emulator) as f64),
            others_server: others.server,
            others_emulator: others.emulator,
            run_delay: waits.into_iter().flatten().reduce(f64::max),
            run_delay_by_others: others.waits,
            counters: KernelCounters {
                device: grown(start.device.as_ref(), end.device.as_ref()),
                client_device: grown(start.client_device.as_ref(), end.client_device.as_ref()),
                tcp: grown(start.tcp.as_ref(), end.tcp.as_ref()),
                softnet: grown(start.softnet.as_ref(), end.softnet.as_ref()),
            },
        }
    }
}

/// What others did to a run; each figure is a part from 0 to 1.
#[derive(Debug, Default)]
struct Others {
    /// Of the time of the server's CPUs, what others took.
    server: Option<f64>,
    /// The same of the emulator's.
    emulator: Option<f64>,
    /// Of the interval, how long others kept a thread of the emulator waiting; of the thread for which that was the longest.
    waits: Option<f64>,
}

impl Others {
    /// `waits` are the parts of the interval in which each thread of the emulator waited.
    fn between(before: &Census, after: &Census, targets: &MeterTargets, waits: &[Option<f64>]) -> Self {
        let MeterTargets { server_cpus, emulator_cpus, .. } = targets;
        // Where a server runs that has no CPUs to itself is not known.
        let placed =
            if server_cpus.is_empty() { vec![] } else { [server_cpus.as_slice(), emulator_cpus].concat() };
        let shares = shares(before, after, &placed);
        let of = |cpus: &[u32]| over(cpus, &shares)?.of_others();
        let by_others = |(thread, wait): (usize, &Option<f64>)| {
            let cpus = targets.cpus_of(thread, waits.len());
            let share = over(cpus, &shares)?;
            let emulating =
                targets.emulator_threads.iter().filter_map(|thread| ticks_on(cpus, *thread, before, after));
            let passed = share.all / cpus.len() as f64;
            let own = (share.own - emulating.sum::<f64>()).max(0.0) / passed;
            let others = share.of_others()? * cpus.len() as f64;
            Some(((*wait)? - own).clamp(0.0, others.max(0.0)))
        };
        Self {
            server: of(server_cpus),
            emulator: of(emulator_cpus),
            waits: waits.iter().enumerate().filter_map(by_others).reduce(f64::max),
        }
    }
}

/// CPU time of a thread between two looks, in ticks, if it was last seen on one of these CPUs.
fn ticks_on(cpus: &[u32], number: u32, before: &Census, after: &Census) -> Option<f64> {
    let (earlier, later) = (before.thread(number), after.thread(number)?);
    let ticks = later.ticks.saturating_sub(earlier.map_or(0, |thread| thread.ticks));
    cpus.contains(&later.cpu).then_some(ticks as f64)
}

/// How far a counter of nanoseconds grew.
fn increase_of(start: Option<u64>, end: Option<u64>) -> Option<f64> {
    Some(end?.saturating_sub(start?) as f64)
}

/// How long a thread of this process has waited for a CPU, in nanoseconds.
fn run_delay(thread: u32) -> Option<u64> {
    let stat = read_text(format!("/proc/self/task/{thread}/schedstat"))?;
    Some(parse_schedstat(&stat)?.waiting)
}

impl Reading {
    fn since(&self, earlier: &Self) -> Duration {
        Duration::from_nanos(self.clock.saturating_sub(earlier.clock))
    }
}

fn grown(start: Option<&Counters>, end: Option<&Counters>) -> Option<Counters> {
    Some(increase(start?, end?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::census::Thread;
    use crate::cpu::CpuTimes;
    use rustix::thread::gettid;
    use std::collections::BTreeSet;

    fn own_meters() -> MachineMeters {
        MachineMeters::new(MeterTargets {
            server_cpus: vec![0],
            emulator_cpus: vec![0],
            emulator_threads: vec![gettid().as_raw_nonzero().get() as u32],
            server_processes: vec![std::process::id()],
            namespace: Some(std::process::id()),
            device: Some("lo".to_owned()),
            clients: Some((std::process::id(), "lo".to_owned())),
        })
    }

    #[test]
    fn there_is_no_report_before_both_marks() {
        let mut meters = own_meters();
        assert_eq!(meters.report(), MachineReport::default());
        meters.mark(Mark::MeasureStart, Instant::ZERO);
        assert_eq!(meters.report(), MachineReport::default());
    }

    #[test]
    fn a_busy_thread_shows_on_every_meter() {
        let mut meters = own_meters();
        meters.mark(Mark::MeasureStart, Instant::ZERO);
        let used = thread_cpu_nanos();
        while thread_cpu_nanos() - used < 200_000_000 {
            std::hint::black_box(());
        }
        meters.mark(Mark::MeasureEnd, Instant::ZERO);
        let report = meters.report();
        let part = |value: Option<f64>| (0.0..=1.0).contains(&value.unwrap());
        assert!(report.emulator_cpu.unwrap() > 0.0 && part(report.emulator_cpu), "{report:?}");
        assert!(report.server_processes_s.unwrap() >= 0.19, "{report:?}");
        assert!(report.server_switches.is_some(), "{report:?}");
        assert!(part(report.server_busy) && part(report.steal), "{report:?}");
        assert!(part(report.others_server) && part(report.others_emulator), "{report:?}");
        assert!(part(report.run_delay) && part(report.run_delay_by_others), "{report:?}");
        assert!(report.run_delay >= report.run_delay_by_others, "{report:?}");
    }

    /// A moment in ticks: what CPUs 0 and 1 did nothing for, and threads (number, ticks, CPU, own).
    fn moment(at: f64, idle: [u64; 2], threads: &[(u32, u64, u32, bool)]) -> Census {
        let times = |idle| CpuTimes { idle, ..CpuTimes::default() };
        let sum = |whose| threads.iter().filter(|thread| thread.3 == whose).map(|thread| thread.1).sum();
        Census {
            at,
            cpus: (0..).zip(idle.map(times)).collect(),
            threads: threads
                .iter()
                .map(|&(number, ticks, cpu, own)| ((number, 0), Thread { ticks, cpu, own }))
                .collect(),
            own: BTreeSet::new(),
            own_ticks: sum(true),
            others_ticks: sum(false),
            everyone: true,
        }
    }

    /// What others did in 1,000 ticks to an emulator with these threads and CPUs, whose threads waited for this part of the time.
    fn others(
        cpus: &[u32],
        threads: &[u32],
        idle: [u64; 2],
        used: &[(u32, u64, u32, bool)],
        waits: &[f64],
    ) -> Others {
        let targets = MeterTargets {
            server_cpus: vec![0],
            emulator_cpus: cpus.to_vec(),
            emulator_threads: threads.to_vec(),
            ..MeterTargets::default()
        };
        let waits: Vec<_> = waits.iter().copied().map(Some).collect();
        Others::between(&moment(0.0, [0, 0], &[]), &moment(1e3, idle, used), &targets, &waits)
    }

    fn thousandths(part: Option<f64>) -> u32 {
        (part.unwrap() * 1e3).round() as u32
    }

    #[test]
    fn a_wait_is_by_others_as_far_as_they_had_the_cpu_and_own_threads_do_not_explain_it() {
        // The emulator, 7, used 300 ticks of CPU 1 and waited for 250.
        let waits = |idle, beside: (u64, bool)| {
            let used = [(7, 300, 1, true), (8, beside.0, 1, beside.1), (9, 400, 0, true)];
            thousandths(others(&[1], &[7], [600, idle], &used, &[0.25]).waits)
        };
        assert_eq!(waits(400, (300, false)), 250);
        // Others had the CPU for less time than it waited: the rest were interrupts.
        assert_eq!(waits(590, (110, false)), 110);
        // A thread of its own beside it explains it all, or most.
        assert_eq!(waits(400, (300, true)), 0);
        assert_eq!(waits(400, (200, true)), 0);
        // Nobody ran but itself: its own waits for interrupts, or for leave of a scheduler that limits real-time threads.
        assert_eq!(waits(400, (0, false)), 0);
    }

    #[test]
    fn a_server_on_the_emulators_cpu_explains_its_waits() {
        let used = [(7, 300, 0, true), (9, 400, 0, true), (10, 100, 0, false)];
        assert_eq!(thousandths(others(&[0], &[7], [200, 1000], &used, &[0.35]).waits), 0);
        assert_eq!(thousandths(others(&[0], &[7], [200, 1000], &used, &[0.45]).waits), 50);
    }

    #[test]
    fn each_thread_of_the_emulator_is_judged_by_its_own_cpu() {
        // An own thread beside 7 on CPU 0 does not excuse that 6 waited on CPU 1, where a stranger ran.
        let used = [(7, 300, 0, true), (8, 300, 0, true), (6, 300, 1, true), (5, 200, 1, false)];
        let found = others(&[0, 1], &[7, 6], [400, 500], &used, &[0.3, 0.15]);
        assert_eq!(thousandths(found.waits), 150);
        assert_eq!((thousandths(found.server), thousandths(found.emulator)), (0, 100));
    }

    #[test]
    fn without_cpus_others_are_not_known() {
        let now = moment(1e3, [0, 0], &[]);
        let found = Others::between(&now, &now, &MeterTargets::default(), &[Some(0.5)]);
        assert_eq!((found.server, found.emulator, found.waits), (None, None, None));
    }

    #[test]
    fn a_report_says_the_same_twice() {
        let mut meters = own_meters();
        meters.mark(Mark::MeasureStart, Instant::ZERO);
        meters.mark(Mark::MeasureEnd, Instant::ZERO);
        assert_eq!(meters.report(), meters.report());
    }

    #[test]
    fn counters_of_the_namespace_are_reported() {
        let mut meters = own_meters();
        meters.mark(Mark::MeasureStart, Instant::ZERO);
        meters.mark(Mark::MeasureEnd, Instant::ZERO);
        let counters = meters.report().counters;
        assert!(counters.device.unwrap().contains_key("tx_dropped"));
        assert!(counters.client_device.unwrap().contains_key("tx_dropped"));
        assert!(counters.tcp.unwrap().contains_key("ListenDrops"));
        assert!(counters.softnet.unwrap().contains_key("dropped"));
    }

    #[test]
    fn what_is_not_there_is_not_reported() {
        let mut meters = MachineMeters::new(MeterTargets {
            server_cpus: vec![100_000],
            device: Some("no-such-device".to_owned()),
            ..MeterTargets::default()
        });
        meters.mark(Mark::MeasureStart, Instant::ZERO);
        meters.mark(Mark::MeasureEnd, Instant::ZERO);
        let report = meters.report();
        assert_eq!((report.server_busy, report.steal, report.server_processes_s), (None, None, None));
        assert_eq!((report.others_server, report.others_emulator), (None, None));
        assert_eq!((report.run_delay, report.run_delay_by_others), (None, None));
        assert_eq!(report.counters, KernelCounters::default());
    }
}
