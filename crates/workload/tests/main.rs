//! What is asked for: options, generators, logs.

mod options;
mod prowgen;
mod replay;
mod requests;
mod surge;
