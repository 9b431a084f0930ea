//! What is asked for: options, generators, logs.

mod equilibrium;
mod named;
mod options;
mod prowgen;
mod replay;
mod requests;
mod sites;
mod surge;
mod templates;
