//! Time, bytes, rates and probabilities as integer newtypes that parse, print and (de)serialise; lazy wake-ups.
//!
//! Every quantity of a scenario is one of these types, so a number without its unit cannot enter a run. The textual
//! form is a decimal number and a unit without a space between them (`100ms`, `64KiB`, `10Mbit/s`, `3%`).

mod bytes;
mod frequency;
mod parse;
mod probability;
mod rate;
mod time;
mod wakeup;

pub use bytes::Bytes;
pub use frequency::Frequency;
pub use parse::{Fault, UnitError};
pub use probability::Probability;
pub use rate::Rate;
pub use time::{Duration, Instant};
pub use wakeup::Wakeup;
