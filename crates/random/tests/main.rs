//! The draws: golden values and statistics.

mod golden;
mod statistics;
