//! Streams of requests and responses, by the rules and against them.

mod cookies;
mod driver;
mod observed;
mod requests_read;
mod response_cases;
mod response_properties;
