//! Emulated machines: clients that ask, and the modelled server that answers in simulation.
//!
//! A host joins TCP, HTTP and a workload behind one address of the network. It acts only when something reaches it: a packet
//! ([`Client::handle_packet`], [`Server::handle_packet`]) or an [`Event`] of its own; everything it needs of the rest of the model comes
//! with the call, as a [`World`].

mod client;
mod event;
mod identity;
mod interface;
mod record;
mod server;
mod socket;
mod world;

pub use client::{ArrivalSource, Behaviour, Client, EncodedRequests, Place, Plan};
pub use event::Event;
pub use identity::Identities;
pub use record::{Arrival, ConnectionRecord, EcnUse, Journal, Outcome, TransactionRecord};
pub use server::{Costs, Cpu, Server, ServerPlace, Service, TcpTotals};
pub use world::World;
