//! What is on record of links: a row for each, and of those that are observed the seconds and the waiting times.

mod names;
mod rows;
mod series;

pub(crate) use names::{NamedDirection, observed};
pub use rows::LinkRow;
pub(crate) use rows::rows;
pub(crate) use series::LinkSampler;
pub use series::{LinkSecond, ObservedLink};
