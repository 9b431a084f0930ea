//! Applications on a network stack: the [`Browser`] that asks, and the modelled servers that answer in simulation, [`FlatServer`] and [`ScheduledServer`].
//!
//! Each is an [`Application`], which knows no network and no events. What else it needs comes with the call, as a [`Turn`].

mod application;
mod browser;
mod record;
mod server;
mod turn;

pub use application::Application;
pub use browser::{
    ArrivalSource, Behaviour, Browser, BrowserTimer, EncodedRequests, MadeForm, NamedExchange, NamedForm,
    Place, Plan, ValueSource,
};
pub use record::{
    Arrival, ConnectionEnd, EcnUse, Journal, LossEvents, Outcome, SessionEnd, TransactionRecord,
};
pub use server::{
    Class, Concurrency, Costs, Cpu, FlatServer, JobCosts, Machine, MachineConfig, ScheduledServer,
    ServerTimer, Service, Spent, TcpTotals, Work, WorkDone, WorkKind,
};
pub use turn::{Turn, Untaken};
