//! Scenario to model to run to records: the only crate with policy.
//!
//! [`Scenario::from_json`] reads and checks what is to be run, [`Scenario::sites`] makes the files that are asked for; [`simulate`] runs it
//! in virtual time, [`drive`] by a clock beside a [`PacketPort`] at each [`End`] that has one; both return a [`RunOutput`]. Several threads before one device have a
//! [`Shard`] of the clients each. A [`Control`] lets another thread watch and stop the run.

mod asking;
mod build;
mod control;
mod cross;
mod edge;
mod encode;
mod event;
mod gauges;
mod hosts;
mod lateness;
mod ledger;
mod links;
mod live;
mod model;
mod population;
mod port;
mod run;
mod scenario;
mod shard;
mod summary;

pub use asking::OpenLog;
pub use build::{
    GroupReport, HopReport, LinkKind, LinkReport, NodeReport, PathReport, TopologyReport, topology_report,
};
pub use control::{Control, Progress};
pub(crate) use ledger::ConnectionRecord;
pub use ledger::{
    Ages, ConnectionRow, EcnTotals, Gauges, GroupLedger, GroupTimes, Interval, Ledger, NamedLedger, Rows,
    Second, SessionLedger, Strata, Tally, TimedTally, TransactionRow,
};
pub use links::{LinkRow, LinkSecond, ObservedLink};
pub use live::{drive, drive_share};
pub use model::Model;
pub use population::sample_requests;
pub use port::{
    Counters, End, KernelCounters, MachineReport, Mark, Meters, PacketPort, PortError, Transmitted,
};
pub use run::{RunError, simulate};
pub use scenario::{
    Abort, ArrivalModel, Arrivals, ConcurrencyModel, CrossTraffic, Directions, GraphNode, Group, GroupLoss,
    Http, Internetwork, LinkDirection, LinkDirections, Measure, Method, Mode, NamedLink, NetworkKind,
    NextAfter, QueueOption, Scenario, ScenarioError, Server, ServerModel, SharedLink, Start, StaticRoute,
    TraceOption, Version, Workload, queue_defaults, tcp_constants,
};
pub use shard::{Shard, Share};
pub use summary::{
    Alike, Beginning, Censoring, CongestionWindows, Course, CrossSummary, DirectionSummary, Emulator,
    FirstLosses, Fortieths, GroupFigures, GroupLateness, GroupSummary, GroupTogether, Lengths, LinkSummary,
    Little, NetworkSummary, OpenLoop, PacketSummary, Part, Reason, ReasonCode, RequestSummary, ResponseTime,
    RunFigures, RunOutput, ServerCpu, ServerWork, SessionSummary, Stability, Summary, TimedSummary, Together,
    Trend, Unseen, WaitingTime, Waits, Window, alike, sum_up,
};
pub use wasp_workload::Sites;
