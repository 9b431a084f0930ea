//! Queue disciplines: each against its source, and all against the rules that every queue keeps.

mod aimd;
mod codel;
mod fq_codel;
mod pie;
mod red;
mod rules;
mod transmitter;

pub(crate) use rules::disciplines;
