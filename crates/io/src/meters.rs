//! The machine's meters around the measured interval.

use crate::clock::{monotonic_nanos, thread_cpu_nanos};
use crate::counters::{Counters, Softnet, increase, parse_device, parse_softnet, parse_table};
use crate::cpu::{Cpus, ThreadTimes, cpu_use, parse_stat, read_threads, threads_use};
use crate::files::read_text;
use wasp_engine::{Mark, Meters};
use wasp_units::{Duration, Instant};

/// What to look at.
#[derive(Clone, Debug, Default)]
pub struct MeterTargets {
    /// The CPUs of the server.
    pub server_cpus: Vec<u32>,
    /// The CPUs of the emulator.
    pub emulator_cpus: Vec<u32>,
    /// The server's processes, as this process numbers them; their descendants are found. The first also shows the network
    /// namespace whose counters are read (without one, this process's own).
    pub server_processes: Vec<u32>,
    /// The device's name in that namespace.
    pub device: Option<String>,
}

/// Reads the meters at both ends of the measured interval, on the emulator's own thread.
///
/// Call order: `mark(MeasureStart)`, `mark(MeasureEnd)`, then `report`. A reading takes a fraction of a millisecond.
#[derive(Debug)]
pub struct MachineMeters {
    targets: MeterTargets,
    start: Option<Reading>,
    end: Option<Reading>,
}

/// What the meters showed of the measured interval. `None` and missing names are what this machine does not show.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineReport {
    /// Between the two readings, on the wall clock.
    pub interval: Duration,
    /// The part of the server's CPUs that was busy: 1 - (idle + iowait) / total, 0 to 1.
    pub server_busy: Option<f64>,
    /// The largest part, 0 to 1, that the hypervisor took from any CPU of server or emulator.
    pub steal: Option<f64>,
    /// CPU time of the server's processes (`schedstat`); `None` when there are none to look at.
    pub server_processes: Option<Duration>,
    /// CPU time of the emulator's thread over the interval: a part of one CPU, 0 to 1.
    pub emulator_cpu: f64,
    /// Increase of every counter of the device (`tx` is what the server sent).
    pub device: Option<Counters>,
    /// Increase of every counter of the `TcpExt` table in the server's namespace.
    pub tcp_ext: Option<Counters>,
    /// Increase of every counter of the `Tcp` table there.
    pub tcp: Option<Counters>,
    /// Packets that the whole machine dropped because a CPU's backlog was full.
    pub softnet_dropped: Option<u64>,
    /// Times that packet processing on a CPU of the whole machine ran out of its budget.
    pub softnet_squeezed: Option<u64>,
}

#[derive(Debug)]
struct Reading {
    clock: u64,
    emulator: u64,
    cpus: Cpus,
    server: ThreadTimes,
    device: Option<Counters>,
    tcp_ext: Option<Counters>,
    tcp: Option<Counters>,
    softnet: Option<Softnet>,
}

impl MachineMeters {
    /// Meters that have not been read.
    #[must_use]
    pub fn new(targets: MeterTargets) -> Self {
        Self { targets, start: None, end: None }
    }

    /// What happened between the two marks; `None` before both were made.
    #[must_use]
    pub fn report(&self) -> Option<MachineReport> {
        let (start, end) = (self.start.as_ref()?, self.end.as_ref()?);
        let interval = Duration::from_nanos(end.clock.saturating_sub(start.clock));
        let targets = &self.targets;
        let steal_of = |&cpu: &u32| Some(cpu_use(&[cpu], &start.cpus, &end.cpus)?.steal);
        let softnet = start.softnet.zip(end.softnet);
        Some(MachineReport {
            interval,
            server_busy: cpu_use(&targets.server_cpus, &start.cpus, &end.cpus).map(|used| used.busy),
            steal: targets
                .server_cpus
                .iter()
                .chain(&targets.emulator_cpus)
                .filter_map(steal_of)
                .reduce(f64::max),
            server_processes: (!end.server.is_empty()).then(|| threads_use(&start.server, &end.server)),
            emulator_cpu: if interval.is_zero() {
                0.0
            } else {
                ((end.emulator - start.emulator) as f64 / interval.as_nanos() as f64).min(1.0)
            },
            device: grown(start.device.as_ref(), end.device.as_ref()),
            tcp_ext: grown(start.tcp_ext.as_ref(), end.tcp_ext.as_ref()),
            tcp: grown(start.tcp.as_ref(), end.tcp.as_ref()),
            softnet_dropped: softnet.map(|(start, end)| end.dropped.saturating_sub(start.dropped)),
            softnet_squeezed: softnet.map(|(start, end)| end.time_squeeze.saturating_sub(start.time_squeeze)),
        })
    }

    fn read(&self) -> Reading {
        let targets = &self.targets;
        let namespace = targets.server_processes.first().map_or("self".to_owned(), ToString::to_string);
        let net = |file: &str| read_text(format!("/proc/{namespace}/net/{file}"));
        let snmp = net("snmp");
        Reading {
            clock: monotonic_nanos(),
            emulator: thread_cpu_nanos(),
            cpus: read_text("/proc/stat").as_deref().map(parse_stat).unwrap_or_default(),
            server: read_threads(&targets.server_processes),
            device: targets.device.as_deref().and_then(|device| parse_device(&net("dev")?, device)),
            tcp_ext: net("netstat").and_then(|text| parse_table(&text, "TcpExt")),
            tcp: snmp.and_then(|text| parse_table(&text, "Tcp")),
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
            device: Some("lo".to_owned()),
        })
    }

    #[test]
    fn there_is_no_report_before_both_marks() {
        let mut meters = own_meters();
        assert_eq!(meters.report(), None);
        meters.mark(Mark::MeasureStart, Instant::ZERO);
        assert_eq!(meters.report(), None);
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
        let report = meters.report().unwrap();
        assert!(report.interval >= Duration::from_millis(200));
        assert!(report.emulator_cpu > 0.0 && report.emulator_cpu <= 1.0, "{report:?}");
        assert!(report.server_processes.unwrap() >= Duration::from_millis(190), "{report:?}");
        let part = 0.0..=1.0;
        assert!(
            part.contains(&report.server_busy.unwrap()) && part.contains(&report.steal.unwrap()),
            "{report:?}"
        );
        assert!(report.device.unwrap().contains_key("tx_dropped"));
        assert!(report.tcp_ext.unwrap().contains_key("ListenDrops"));
        assert!(report.tcp.unwrap().contains_key("PassiveOpens"));
        assert!(report.softnet_dropped.is_some());
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
        let report = meters.report().unwrap();
        assert_eq!((report.server_busy, report.steal, report.server_processes), (None, None, None));
        assert_eq!(report.device, None);
    }
}
