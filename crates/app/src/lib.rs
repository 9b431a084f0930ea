//! Applications on a network stack: the [`Browser`] that asks, and the modelled [`Server`] that answers in simulation.
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
pub use server::{Costs, Cpu, Server, ServerTimer, Service, TcpTotals, Work};
pub use turn::{Turn, Untaken};
