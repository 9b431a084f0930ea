//! What the behaviour of clients must satisfy beyond its types.

use super::check::{ScenarioError, check_duration, ensure};
use super::{Arrivals, Group, Http, Method, NextAfter, Scenario, Version};
use std::num::NonZeroU32;
use wasp_http::Request;
use wasp_workload::{Deal, OptionError};

/// Most parallel connections of a client (Simmonds et al. 2003, section 3.2).
const MOST_CONNECTIONS: u8 = 8;
/// Most requests of a connection that wait for their responses.
const MOST_PIPELINED: u8 = 64;

pub(super) fn check_workload(scenario: &Scenario) -> Result<(), ScenarioError> {
    let workload = &scenario.workload;
    workload.options.check().map_err(|error| of_option("workload", &error))?;
    let wasp_workload::Workload::Single(single) = &workload.options else {
        return Err(not_yet("workload.kind", "single"));
    };
    let files = single.resolve().map_err(|error| of_option("workload", &error))?;
    for file in &files {
        Request::new(wasp_http::Method::Get, &file.path, &scenario.host())
            .map_err(|error| ScenarioError::new("workload.path", error.to_string()))?;
    }
    only(files.len() == 1, "workload.files", "one file")?;
    only(workload.deal == Deal::Own, "workload.deal", "own")?;
    only(workload.seed.is_none(), "workload.seed", "leaving it out")
}

pub(super) fn check_behaviour(group: &Group) -> Result<(), ScenarioError> {
    let field = |name: &str| format!("clients.{}.{name}", group.name);
    if let Some(think) = &group.think {
        think.check().map_err(|error| of_option(&field("think"), &error))?;
    }
    if let Some(arrivals) = &group.arrivals {
        check_arrivals(group, arrivals)?;
    }
    check_http(&group.http, &field("http"))
}

fn check_arrivals(group: &Group, _arrivals: &Arrivals) -> Result<(), ScenarioError> {
    let field = |name: &str| format!("clients.{}.{name}", group.name);
    ensure(
        group.think.is_none(),
        field("think"),
        "clients with arrivals do not wait for what they asked for before; give arrivals or think",
    )?;
    Err(not_yet(field("arrivals"), "leaving it out"))
}

fn check_http(http: &Http, field: &str) -> Result<(), ScenarioError> {
    let field = |name: &str| format!("{field}.{name}");
    check_duration(&field("timeout"), http.timeout)?;
    ensure(!http.timeout.is_zero(), field("timeout"), "0ms; must be above zero")?;
    ensure(
        (1..=MOST_CONNECTIONS).contains(&http.connections),
        field("connections"),
        format!("{}; must be from 1 to {MOST_CONNECTIONS}", http.connections),
    )?;
    ensure(
        (1..=MOST_PIPELINED).contains(&http.pipeline),
        field("pipeline"),
        format!("{}; must be from 1 to {MOST_PIPELINED}", http.pipeline),
    )?;
    check_pipeline(http, &field("pipeline"))?;
    check_request(http, &field)?;
    if let Some(abort) = &http.abort {
        let given = abort.after.is_some() || abort.bytes.is_some();
        ensure(given, field("abort"), "empty; give after, bytes or both")?;
        check_duration(&field("abort.after"), abort.after.unwrap_or_default())?;
    }
    only(http.version == Version::Http11, field("version"), "1.1")?;
    only(http.connections == 1, field("connections"), "1")?;
    only(http.pipeline == 1, field("pipeline"), "1")?;
    only(http.method == Method::Get, field("method"), "GET")?;
    only(!http.conditional, field("conditional"), "false")?;
    only(http.headers.is_empty(), field("headers"), "leaving it out")?;
    only(http.next_after == NextAfter::Response, field("next_after"), "response")?;
    only(http.abort.is_none(), field("abort"), "leaving it out")?;
    only(http.read_rate.is_none(), field("read_rate"), "leaving it out")
}

/// Pipelining needs connections that are kept, and idempotent methods (RFC 9112 section 9.3.2).
fn check_pipeline(http: &Http, field: &str) -> Result<(), ScenarioError> {
    if http.pipeline == 1 {
        return Ok(());
    }
    let depth = http.pipeline;
    ensure(
        http.version == Version::Http11,
        field,
        format!("{depth}; HTTP/1.0 has no pipelining; must be 1, or version 1.1"),
    )?;
    ensure(
        http.method != Method::Post,
        field,
        format!(
            "{depth}; a POST must not be pipelined (RFC 9112 section 9.3.2); must be 1, or another method"
        ),
    )?;
    let limit = http.requests_per_connection.map_or(u32::MAX, NonZeroU32::get);
    ensure(
        u32::from(depth) <= limit,
        field,
        format!("{depth}; must be at most requests_per_connection, which is {limit}"),
    )
}

fn check_request(http: &Http, field: &impl Fn(&str) -> String) -> Result<(), ScenarioError> {
    ensure(
        http.body.is_none() || http.method == Method::Post,
        field("body"),
        "only a POST has a body; give method POST or leave body out",
    )?;
    ensure(
        !http.conditional || http.method != Method::Post,
        field("conditional"),
        "a POST is not conditional; must be GET or HEAD",
    )?;
    let request = Request::new(wasp_http::Method::Get, "/", "host");
    let request = request.map_err(|error| ScenarioError::new(field("headers"), error.to_string()))?;
    for (name, value) in &http.headers {
        request
            .clone()
            .with_header(name, value)
            .map_err(|error| ScenarioError::new(field("headers"), error.to_string()))?;
    }
    Ok(())
}

/// Fails with an option's path below `parent`.
fn of_option(parent: &str, error: &OptionError) -> ScenarioError {
    ScenarioError::new(format!("{parent}.{}", error.field), format!("{}; {}", error.value, error.valid))
}

/// Fails for what the clients cannot do yet.
fn only(condition: bool, field: impl Into<String>, valid: &str) -> Result<(), ScenarioError> {
    if condition { Ok(()) } else { Err(not_yet(field, valid)) }
}

fn not_yet(field: impl Into<String>, valid: &str) -> ScenarioError {
    ScenarioError::new(field, format!("clients cannot do this yet; must be {valid}"))
}
