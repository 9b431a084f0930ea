//! Scenario to model to run to records: the only crate with policy.
//!
//! [`Scenario::from_json`] reads and checks what is to be run, [`Scenario::site`] makes the files that are asked for; [`simulate`] runs it in virtual time, [`drive`] by a clock beside a
//! [`PacketPort`]; both return a [`RunOutput`]. A [`Control`] lets another thread watch and stop the run.

mod control;
mod gauges;
mod ledger;
mod live;
mod model;
mod population;
mod port;
mod run;
mod scenario;
mod summary;

pub use control::{Control, Progress};
pub use ledger::{
    ConnectionChunk, ConnectionColumns, Gauges, Interval, Ledger, Second, TransactionChunk,
    TransactionColumns,
};
pub use live::drive;
pub use model::Model;
pub use port::{MachineReport, Mark, Meters, PacketPort, PortError, Transmitted};
pub use run::{RunError, simulate};
pub use scenario::{
    Abort, ArrivalModel, Arrivals, Directions, Group, GroupLoss, Http, Internetwork, Measure, Method, Mode,
    NextAfter, Scenario, ScenarioError, Server, ServerModel, SharedDirection, SharedLink, Version, Workload,
};
pub use summary::{
    DirectionSummary, Emulator, Lag, LinkRow, Little, NetworkSummary, OpenLoop, PacketSummary, Reason,
    ResponseTime, RunOutput, ServerCpu, Summary,
};
pub use wasp_workload::Site;
