//! The modelled server: its machine, its programs, and what its work costs.

use super::check::{ScenarioError, check_duration, ensure};
use serde::Deserialize;
use std::num::NonZeroU32;
use wasp_app::{Concurrency, Costs, JobCosts, MachineConfig};
use wasp_units::Duration;

/// Most workers and processes.
const MOST_PROGRAMS: u32 = 65_536;

/// No job of a machine takes longer.
const LONGEST: Duration = Duration::from_secs(60);

/// Processes of a server that does not say how many (Simmonds et al. 2003, section 4.1).
const PROCESSES: u32 = 128;

/// What the modelled server costs. One without [`Self::concurrency`] is flat: it handles packets at once.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerModel {
    /// CPU cores.
    pub cores: u32,
    /// How programs share connections; none is flat.
    #[serde(default)]
    pub concurrency: Option<ConcurrencyModel>,
    /// Workers of `event`; one for each core unless given.
    #[serde(default)]
    pub workers: Option<NonZeroU32>,
    /// Processes of `process`; 128 unless given.
    #[serde(default)]
    pub processes: Option<NonZeroU32>,
    /// Requests before the server closes a connection; none keeps it as long as the client wants.
    #[serde(default)]
    pub requests_per_connection: Option<NonZeroU32>,
    /// Connections that may wait to be accepted; none has no limit.
    #[serde(default)]
    pub accept_queue: Option<NonZeroU32>,
    /// Connections whose handshake may be open; none has no limit.
    #[serde(default)]
    pub syn_queue: Option<NonZeroU32>,
    /// Whether the FIN leaves with the last data.
    #[serde(default)]
    pub fin_with_data: Option<bool>,
    /// From the wake-up of a program to the moment when it wants a core.
    #[serde(default)]
    pub wakeup_latency: Option<Duration>,
    /// Least time between two interrupts of a core.
    #[serde(default)]
    pub interrupt_interval: Option<Duration>,
    /// CPU time of accepting a connection.
    pub per_connection: Duration,
    /// CPU time of answering a request.
    pub per_request: Duration,
    /// CPU time of each 1,024 bytes of a body.
    pub per_kib: Duration,
    /// CPU time of each packet that arrives; of a flat server only.
    #[serde(default)]
    pub per_packet: Duration,
    /// CPU time of each segment that arrives with data.
    #[serde(default)]
    pub per_data: Option<Duration>,
    /// CPU time of each acknowledgment that arrives.
    #[serde(default)]
    pub per_ack: Option<Duration>,
    /// CPU time of each duplicate acknowledgment that arrives; that of any acknowledgment unless given.
    #[serde(default)]
    pub per_duplicate_ack: Option<Duration>,
    /// CPU time of each SYN that arrives.
    #[serde(default)]
    pub per_syn: Option<Duration>,
    /// CPU time of each interrupt: a packet arrives at a CPU that handles no others.
    #[serde(default)]
    pub per_interrupt: Option<Duration>,
    /// CPU time of each timer of TCP that fires.
    #[serde(default)]
    pub per_timer: Option<Duration>,
    /// CPU time of each frame that leaves.
    #[serde(default)]
    pub per_frame: Option<Duration>,
    /// CPU time of each segment that leaves.
    #[serde(default)]
    pub per_segment: Option<Duration>,
    /// CPU time of each segment that is sent again, beside `per_segment`.
    #[serde(default)]
    pub per_retransmission: Option<Duration>,
    /// CPU time of each program that goes on after it slept.
    #[serde(default)]
    pub per_wakeup: Option<Duration>,
    /// CPU time of a request for each doubling of the open connections above 256.
    #[serde(default)]
    pub per_doubling: Option<Duration>,
    /// CPU time of a job for each other process that wants to run.
    #[serde(default)]
    pub per_runnable: Option<Duration>,
    /// CPU time of each core in each millisecond, whatever is asked for; less than a millisecond.
    #[serde(default)]
    pub per_tick: Option<Duration>,
}

/// How programs share connections.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum ConcurrencyModel {
    /// Each worker has many.
    Event,
    /// Each process has one.
    Process,
}

impl ServerModel {
    /// What work costs a flat server.
    pub(crate) const fn flat_costs(&self) -> Costs {
        Costs {
            per_connection: self.per_connection,
            per_request: self.per_request,
            per_kib: self.per_kib,
            per_packet: self.per_packet,
        }
    }

    /// The machine; none if the server is flat.
    pub(crate) fn machine(&self) -> Option<MachineConfig> {
        let concurrency = match self.concurrency? {
            ConcurrencyModel::Event => {
                Concurrency::Event { workers: self.workers.map_or(self.cores, NonZeroU32::get) }
            }
            ConcurrencyModel::Process => {
                Concurrency::Process { processes: self.processes.map_or(PROCESSES, NonZeroU32::get) }
            }
        };
        Some(MachineConfig {
            cores: self.cores as usize,
            costs: self.job_costs(),
            concurrency,
            fin_with_data: self.fin_with_data.unwrap_or_default(),
            syn_queue: self.syn_queue,
            wakeup_latency: self.wakeup_latency.unwrap_or_default(),
            interrupt_interval: self.interrupt_interval.unwrap_or_default(),
        })
    }

    fn job_costs(&self) -> JobCosts {
        let cost = Option::unwrap_or_default;
        JobCosts {
            per_data: cost(self.per_data),
            per_ack: cost(self.per_ack),
            per_duplicate_ack: cost(self.per_duplicate_ack.or(self.per_ack)),
            per_syn: cost(self.per_syn),
            per_interrupt: cost(self.per_interrupt),
            per_timer: cost(self.per_timer),
            per_frame: cost(self.per_frame),
            per_segment: cost(self.per_segment),
            per_retransmission: cost(self.per_retransmission),
            per_wakeup: cost(self.per_wakeup),
            per_connection: self.per_connection,
            per_request: self.per_request,
            per_kib: self.per_kib,
            per_doubling: cost(self.per_doubling),
            per_runnable: cost(self.per_runnable),
            per_tick: cost(self.per_tick),
        }
    }

    /// The times that only a machine has, by their fields.
    const fn machine_times(&self) -> [(&'static str, Option<Duration>); 15] {
        [
            ("wakeup_latency", self.wakeup_latency),
            ("interrupt_interval", self.interrupt_interval),
            ("per_data", self.per_data),
            ("per_ack", self.per_ack),
            ("per_duplicate_ack", self.per_duplicate_ack),
            ("per_syn", self.per_syn),
            ("per_interrupt", self.per_interrupt),
            ("per_timer", self.per_timer),
            ("per_frame", self.per_frame),
            ("per_segment", self.per_segment),
            ("per_retransmission", self.per_retransmission),
            ("per_wakeup", self.per_wakeup),
            ("per_doubling", self.per_doubling),
            ("per_runnable", self.per_runnable),
            ("per_tick", self.per_tick),
        ]
    }

    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        ensure(
            (1..=1024).contains(&self.cores),
            "server.model.cores",
            format!("{}; must be from 1 to 1024", self.cores),
        )?;
        let own = [
            ("per_connection", self.per_connection),
            ("per_request", self.per_request),
            ("per_kib", self.per_kib),
            ("per_packet", self.per_packet),
        ];
        let given = self.machine_times().into_iter().filter_map(|(name, time)| Some((name, time?)));
        own.into_iter().try_for_each(|(name, time)| check_duration(&field(name), time))?;
        for (name, time) in given {
            ensure(time <= LONGEST, field(name), format!("{time}; must be at most {LONGEST}"))?;
        }
        self.check_programs()?;
        match self.concurrency {
            None => self.check_flat(),
            Some(_) => ensure(
                self.per_packet.is_zero(),
                field("per_packet"),
                format!(
                    "{}; needs a server without concurrency; per_data and per_ack would be valid",
                    self.per_packet
                ),
            ),
        }?;
        let tick = self.per_tick.unwrap_or_default();
        ensure(tick < Duration::from_millis(1), field("per_tick"), format!("{tick}; must be less than 1ms"))
    }

    /// A flat server has nothing of a machine.
    fn check_flat(&self) -> Result<(), ScenarioError> {
        let number = |given: Option<NonZeroU32>| given.map(|given| given.to_string());
        let times = self.machine_times().map(|(name, time)| (name, time.map(|time| time.to_string())));
        let others = [
            ("syn_queue", number(self.syn_queue)),
            ("fin_with_data", self.fin_with_data.map(|given| given.to_string())),
        ];
        match others.into_iter().chain(times).find_map(|(name, given)| Some((name, given?))) {
            None => Ok(()),
            Some((name, given)) => {
                let message = format!("{given}; needs server.model.concurrency, event or process");
                Err(ScenarioError::new(field(name), message))
            }
        }
    }

    /// Workers are of `event`, processes of `process`.
    fn check_programs(&self) -> Result<(), ScenarioError> {
        let of = |kind, given: Option<NonZeroU32>| (kind, given.map(NonZeroU32::get));
        let programs = [
            ("workers", of(ConcurrencyModel::Event, self.workers)),
            ("processes", of(ConcurrencyModel::Process, self.processes)),
        ];
        for (name, (kind, given)) in programs {
            let Some(given) = given else { continue };
            ensure(
                self.concurrency == Some(kind),
                field(name),
                format!("{given}; needs server.model.concurrency = \"{}\"", kind.name()),
            )?;
            ensure(
                given <= MOST_PROGRAMS,
                field(name),
                format!("{given}; must be from 1 to {MOST_PROGRAMS}"),
            )?;
        }
        let runnable = self.per_runnable.filter(|_| self.concurrency == Some(ConcurrencyModel::Event));
        runnable.map_or(Ok(()), |given| {
            let message = format!("{given}; needs server.model.concurrency = \"process\"");
            Err(ScenarioError::new(field("per_runnable"), message))
        })
    }
}

impl ConcurrencyModel {
    const fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Process => "process",
        }
    }
}

fn field(name: &str) -> String {
    format!("server.model.{name}")
}
