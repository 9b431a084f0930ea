//! Scenario to model to run to records: the only crate with policy.
