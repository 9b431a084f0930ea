//! Packets over links and routers.

mod common;
mod conservation;
mod cross_traffic;
mod impaired_links;
mod impairment;
mod link;
mod loss;
mod queue_disciplines;
mod queueing_theory;
mod recorded_rates;
mod routers;
