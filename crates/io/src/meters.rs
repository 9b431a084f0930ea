//! The machine's meters around the measured interval.

use crate::clock::{monotonic_nanos, thread_cpu_nanos};
use crate::counters::{increase, parse_device, parse_softnet, parse_table};
use crate::cpu::{Cpus, ThreadTimes, cpu_use, parse_stat, read_threads, threads_use};
use crate::files::read_text;
use wasp_engine::{Counters, KernelCounters, MachineReport, Mark, Meters};
use wasp_units::{Duration, Instant};

/// What to look at.
#[derive(Clone, Debug, Default)]
pub struct MeterTargets {
    /// The CPUs of the server.
    pub server_cpus: Vec<u32>,
    /// The CPUs of the emulator.
    pub emulator_cpus: Vec<u32>,
    /// The server's processes, as this process numbers them; their descendants are found.
    pub server_processes: Vec<u32>,
    /// The process in whose network namespace the kernel's counters are read; without one nobody's are.
    pub namespace: Option<u32>,
    /// The device's name in that namespace.
    pub device: Option<String>,
    /// The same of the clients' device: a process in its namespace, and its name.
    pub clients: Option<(u32, String)>,
}

/// Reads the meters at both ends of the measured interval, on the emulator's own thread.
///
/// Call order: `mark(MeasureStart)`, `mark(MeasureEnd)`, then `report`. A reading takes a fraction of a millisecond.
#[derive(Debug)]
pub struct MachineMeters {
    targets: MeterTargets,
    start: Option<Reading>,
    end: Option<Reading>,
    /// The CPUs when `server_busy` last looked.
    last_second: Cpus,
}

#[derive(Debug)]
struct Reading {
    clock: u64,
    emulator: u64,
    cpus: Cpus,
    server: ThreadTimes,
    device: Option<Counters>,
    client_device: Option<Counters>,
    tcp_ext: Option<Counters>,
    softnet: Option<Counters>,
}

impl MachineMeters {
    /// Meters that have not been read.
    #[must_use]
    pub fn new(targets: MeterTargets) -> Self {
        Self { targets, start: None, end: None, last_second: read_cpus() }
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
            cpus: read_cpus(),
            server: read_threads(&targets.server_processes),
            device: targets.device.as_deref().and_then(|device| parse_device(&net("dev")?, device)),
            client_device,
            tcp_ext: net("netstat").and_then(|text| parse_table(&text, "TcpExt")),
            softnet: net("softnet_stat").as_deref().and_then(parse_softnet),
        }
    }
}

impl Meters for MachineMeters {
    fn mark(&mut self, mark: Mark, _at: Instant) {
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
        MachineReport {
            server_busy: used(server_cpus).map(|used| used.busy),
            steal: used(&both).map(|used| used.steal),
            server_processes_s: (!end.server.is_empty())
                .then(|| threads_use(&start.server, &end.server).as_secs_f64()),
            emulator_cpu: (interval > 0.0)
                .then(|| (end.emulator.saturating_sub(start.emulator) as f64 / interval).min(1.0)),
            counters: KernelCounters {
                device: grown(start.device.as_ref(), end.device.as_ref()),
                client_device: grown(start.client_device.as_ref(), end.client_device.as_ref()),
                tcp_ext: grown(start.tcp_ext.as_ref(), end.tcp_ext.as_ref()),
                softnet: grown(start.softnet.as_ref(), end.softnet.as_ref()),
            },
        }
    }
}

impl Reading {
    fn since(&self, earlier: &Self) -> Duration {
        Duration::from_nanos(self.clock.saturating_sub(earlier.clock))
    }
}

fn read_cpus() -> Cpus {
    read_text("/proc/stat").as_deref().map(parse_stat).unwrap_or_default()
}

fn grown(start: Option<&Counters>, end: Option<&Counters>) -> Option<Counters> {
    Some(increase(start?, end?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_meters() -> MachineMeters {
        MachineMeters::new(MeterTargets {
            server_cpus: vec![0],
            emulator_cpus: vec![0],
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
        assert!(part(report.server_busy) && part(report.steal), "{report:?}");
    }

    #[test]
    fn counters_of_the_namespace_are_reported() {
        let mut meters = own_meters();
        meters.mark(Mark::MeasureStart, Instant::ZERO);
        meters.mark(Mark::MeasureEnd, Instant::ZERO);
        let counters = meters.report().counters;
        assert!(counters.device.unwrap().contains_key("tx_dropped"));
        assert!(counters.client_device.unwrap().contains_key("tx_dropped"));
        assert!(counters.tcp_ext.unwrap().contains_key("ListenDrops"));
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
        assert_eq!(report.counters, KernelCounters::default());
    }
}
