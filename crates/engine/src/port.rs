//! What stands at an end of the network in a live run: a device that carries IP packets, and meters beside it.

use std::collections::BTreeMap;
use wasp_units::Instant;

/// An end of the network where a device may stand. Its number is the device's place among those of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    /// The server's node.
    Server,
    /// The nodes of all clients: one device has the addresses of all of them.
    Clients,
}

impl End {
    /// Both, in the order of the devices.
    pub const ALL: [Self; 2] = [Self::Server, Self::Clients];
}

/// A device at the edge of the emulated network.
///
/// Frames are one virtio network header (`virtio_net_hdr`, 10 bytes, Linux `include/uapi/linux/virtio_net.h`) followed by one IP packet, which may be a TSO
/// super-segment of up to 64 KiB.
pub trait PacketPort {
    /// Whether written frames may leave checksums to the device (`NEEDS_CSUM`).
    fn offloads_checksums(&self) -> bool {
        true
    }

    /// Reads one waiting frame into `frame` and returns its length; `None` when nothing is waiting.
    ///
    /// # Errors
    /// The device failed or disappeared.
    fn receive(&mut self, frame: &mut [u8]) -> Result<Option<usize>, PortError>;

    /// Writes one frame.
    ///
    /// # Errors
    /// The device failed or disappeared. A frame that the device refused because it is full is not an error.
    fn transmit(&mut self, frame: &[u8]) -> Result<Transmitted, PortError>;
}

/// What became of a written frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Transmitted {
    /// The device took it.
    Sent,
    /// The device had no room: the packet's fate is `device full`.
    Full,
}

/// A device that can no longer be used.
#[derive(Debug, thiserror::Error)]
#[error("the packet device failed: {0}")]
pub struct PortError(pub String);

/// A boundary of the run at which meters are read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mark {
    /// The measured interval begins (the warm-up ends).
    MeasureStart,
    /// The measured interval ends.
    MeasureEnd,
}

/// Meters of the machine that are read at the boundaries of the measured interval.
///
/// Call order: `mark` at each boundary, in the engine's thread; `report` after both.
pub trait Meters {
    /// Reads every meter. `at` is the boundary's own time; the reading happens now.
    fn mark(&mut self, mark: Mark, at: Instant);

    /// Busy share (0 to 1) of the server's CPUs since the last call, or since the meters were made. Called once a second, so it must be quick.
    fn server_busy(&mut self) -> Option<f64>;

    /// What the meters showed between the two boundaries.
    fn report(&self) -> MachineReport;
}

/// Counter values by name.
pub type Counters = BTreeMap<String, u64>;

/// What the machine did in the measured interval. A figure that could not be read is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineReport {
    /// Busy share (0 to 1) of the server's CPUs: 1 - (idle + iowait) / total.
    pub server_busy: Option<f64>,
    /// Share (0 to 1) of the time of the server's and the emulator's CPUs that the hypervisor took.
    pub steal: Option<f64>,
    /// Share (0 to 1) of the time of the server's CPUs that threads of others than the run took.
    pub others_server: Option<f64>,
    /// The same of the emulator's CPUs.
    pub others_emulator: Option<f64>,
    /// Share (0 to 1) of the interval in which a thread of the emulator was ready to run and waited for its CPU; the longest of its threads' shares.
    pub run_delay: Option<f64>,
    /// Share (0 to 1) of the interval in which a thread of the emulator waited so while others had its CPU: the wait less the time that other threads of the
    /// run had there, and no more than the time that others had there; the longest of its threads' shares.
    pub run_delay_by_others: Option<f64>,
    /// CPU seconds of the server's processes, kernel work in interrupts not included.
    pub server_processes_s: Option<f64>,
    /// How often threads of the server's processes were put on a CPU.
    pub server_switches: Option<u64>,
    /// Busy share (0 to 1) of the emulator's thread.
    pub emulator_cpu: Option<f64>,
    /// How far the kernel's counters grew.
    pub counters: KernelCounters,
}

impl MachineReport {
    /// Adds what another thread of the emulator saw: the busiest one counts, and only one looks at the machine.
    pub(crate) fn merge(&mut self, other: Self) {
        self.server_busy = self.server_busy.or(other.server_busy);
        self.steal = self.steal.or(other.steal);
        self.others_server = self.others_server.or(other.others_server);
        self.others_emulator = self.others_emulator.or(other.others_emulator);
        self.run_delay = self.run_delay.or(other.run_delay);
        self.run_delay_by_others = self.run_delay_by_others.or(other.run_delay_by_others);
        self.server_processes_s = self.server_processes_s.or(other.server_processes_s);
        self.server_switches = self.server_switches.or(other.server_switches);
        self.emulator_cpu = self.emulator_cpu.into_iter().chain(other.emulator_cpu).reduce(f64::max);
        let (mine, theirs) = (&mut self.counters, other.counters);
        mine.device = mine.device.take().or(theirs.device);
        mine.client_device = mine.client_device.take().or(theirs.client_device);
        mine.tcp = mine.tcp.take().or(theirs.tcp);
        mine.softnet = mine.softnet.take().or(theirs.softnet);
    }
}

/// How far counters of the kernel grew in the measured interval. A table that this machine does not show is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelCounters {
    /// The packet device's (`rx` is what the emulator wrote, `tx` what the server sent).
    pub device: Option<Counters>,
    /// The same of the clients' device, where there is one (`tx` is what the clients sent).
    pub client_device: Option<Counters>,
    /// The tables `Tcp` and `TcpExt` in the server's network namespace.
    pub tcp: Option<Counters>,
    /// The whole machine's packet backlog.
    pub softnet: Option<Counters>,
}
