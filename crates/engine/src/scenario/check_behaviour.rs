//! What the behaviour of clients must satisfy beyond its types.

use super::check::{ScenarioError, check_duration, ensure};
use super::{Abort, Arrivals, Group, Http, Method, Scenario, Start, Version, Workload};
use crate::encode::{method_of, named_request, request};
use std::num::NonZeroU32;
use wasp_http::{InvalidRequest, Request};
use wasp_units::Duration;
use wasp_workload::named::{NamedRequest, NamedSet};
use wasp_workload::{Deal, OptionError};

/// Most parallel connections of a client (Simmonds et al. 2003, section 3.2).
const MOST_CONNECTIONS: u8 = 8;
/// Most requests of a connection that wait for their responses.
const MOST_PIPELINED: u8 = 64;

/// Header fields that make a request conditional (RFC 9110 section 13.1).
const CONDITIONS: [&str; 5] =
    ["If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"];

/// Longest mean time between two arrivals of a client.
const LONGEST_GAP: Duration = Duration::from_secs(3_600);

pub(super) fn check_workloads(scenario: &Scenario) -> Result<(), ScenarioError> {
    let sharing: Vec<&Group> = scenario.clients.iter().filter(|group| group.workload.is_none()).collect();
    match &scenario.workload {
        Some(workload) => {
            let message =
                "given; each group of clients has a workload of its own; leave out the one or the other";
            ensure(!sharing.is_empty() || scenario.clients.is_empty(), "workload", message)?;
            check_workload(scenario, workload, &sharing, "workload")?;
        }
        None => {
            ensure(sharing.is_empty(), "workload", "absent; a group without a workload of its own needs it")?
        }
    }
    for group in &scenario.clients {
        if let Some(workload) = &group.workload {
            check_workload(scenario, workload, &[group], &group.workload_field())?;
        }
    }
    Ok(())
}

/// Checks a workload of these groups, which stands at `field`.
fn check_workload(
    scenario: &Scenario,
    workload: &Workload,
    groups: &[&Group],
    field: &str,
) -> Result<(), ScenarioError> {
    workload.options.check().map_err(|error| of_option(field, &error))?;
    if let wasp_workload::Workload::Single(single) = &workload.options {
        for file in single.resolve().map_err(|error| of_option(field, &error))? {
            Request::new(wasp_http::Method::Get, &file.path, &scenario.host())
                .map_err(|error| ScenarioError::new(format!("{field}.path"), error.to_string()))?;
        }
    }
    if let wasp_workload::Workload::Requests(requests) = &workload.options {
        let set = requests.resolve(Some(&scenario.files)).map_err(|error| of_option(field, &error))?;
        for request in set.requests() {
            groups.iter().try_for_each(|group| check_named(scenario, group, request, field))?;
        }
        groups.iter().try_for_each(|group| check_visitors(&set, group))?;
        ensure(
            !set.is_session() || workload.deal == Deal::Own,
            format!("{field}.deal"),
            "\"modulo\"; each client goes through all steps of a session; leave it out",
        )?;
    }
    check_off_times(workload, groups, field)?;
    let timed = matches!(&workload.options, wasp_workload::Workload::Replay(replay) if replay.times);
    let clients: u64 = groups.iter().map(|group| u64::from(group.count)).sum();
    ensure(
        !timed || clients == 1 || workload.deal == Deal::Modulo,
        format!("{field}.deal"),
        format!(
            "\"own\"; each of the {clients} clients would ask for the whole log at its times; must be \"modulo\", or without times"
        ),
    )?;
    let pace = |group: &Group| group.think.map(|_| "think").or(group.arrivals.map(|_| "arrivals"));
    for group in groups.iter().filter(|_| timed) {
        let own = |name| format!("clients.{}.{name}", group.name);
        let message =
            "the times of the replayed log say when clients ask; leave it out, or times of the workload";
        ensure(pace(group).is_none(), own(pace(group).unwrap_or_default()), message)?;
        ensure(group.start == Start::Equilibrium, own("start"), format!("\"together\"; {message}"))?;
    }
    Ok(())
}

/// A named request of a workload that stands at `field`, as this group makes it.
fn check_named(
    scenario: &Scenario,
    group: &Group,
    named: &NamedRequest,
    field: &str,
) -> Result<(), ScenarioError> {
    let http = &group.http;
    let of_group = |name: &str| format!("clients.{}.http.{name}", group.name);
    ensure(
        http.method == Method::Get,
        of_group("method"),
        "given; each named request has a method of its own; leave it out",
    )?;
    ensure(
        http.body.is_none(),
        of_group("body"),
        "given; each named request has a body of its own, or none; leave it out",
    )?;
    ensure(
        !http.conditional,
        of_group("conditional"),
        "true; named requests are not conditional; leave it out",
    )?;
    ensure(
        http.pipeline == 1 || named.weight == 0.0 || method_of(named).is_idempotent(),
        of_group("pipeline"),
        format!(
            "{}; the {} {} must not be pipelined (RFC 9112 section 9.3.2); must be 1",
            http.pipeline, named.method, named.name
        ),
    )?;
    let invalid = |error: InvalidRequest| {
        let part = if matches!(error, InvalidRequest::Target(_)) { "path" } else { "headers" };
        ScenarioError::new(format!("{field}.requests.{}.{part}", named.name), error.to_string())
    };
    named_request(http, named, &scenario.host()).map(drop).map_err(invalid)
}

/// What clients do that keep cookies or go through sessions.
fn check_visitors(set: &NamedSet, group: &Group) -> Result<(), ScenarioError> {
    let http = &group.http;
    let of_group = |name: &str| format!("clients.{}.http.{name}", group.name);
    let cookie = http.headers.keys().find(|name| name.eq_ignore_ascii_case("cookie"));
    if let Some(name) = cookie.filter(|_| set.keeps_cookies()) {
        let message = format!("{name} contradicts cookies of the workload; leave out the one or the other");
        return Err(ScenarioError::new(of_group("headers"), message));
    }
    let placeholder = http.headers.values().find_map(|value| set.placeholder_in(value));
    if let Some(name) = placeholder {
        let message = format!(
            "{{{name}}} would stand for itself here, and not for the captured value; give the field to each request"
        );
        return Err(ScenarioError::new(of_group("headers"), message));
    }
    let one = |name: &str, value: u8| {
        let message = format!("{value}; a session makes one request at a time; must be 1");
        ensure(!set.is_session() || value == 1, of_group(name), message)
    };
    one("pipeline", http.pipeline)?;
    one("connections", http.connections)
}

/// OFF times between pages are for groups that neither think nor have arrivals.
fn check_off_times(workload: &Workload, groups: &[&Group], field: &str) -> Result<(), ScenarioError> {
    let given =
        matches!(&workload.options, wasp_workload::Workload::Surge(surge) if surge.inactive_off.is_some());
    let used = groups.iter().any(|group| group.think.is_none() && group.arrivals.is_none());
    ensure(
        !given || used,
        format!("{field}.inactive_off"),
        "no group of clients pauses so: each has think or arrivals; leave out the one or the other",
    )
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

fn check_arrivals(group: &Group, arrivals: &Arrivals) -> Result<(), ScenarioError> {
    let field = |name: &str| format!("clients.{}.{name}", group.name);
    ensure(
        group.think.is_none(),
        field("think"),
        "clients with arrivals do not wait for what they asked for before; give arrivals or think",
    )?;
    ensure(
        group.start == Start::Equilibrium,
        field("start"),
        "\"together\"; clients with arrivals ask when one comes; give arrivals or start",
    )?;
    let outstanding = arrivals.outstanding.map_or(u32::MAX, NonZeroU32::get);
    ensure(
        outstanding >= group.count,
        field("arrivals.outstanding"),
        format!("{outstanding}; must be at least one for each of the {} clients", group.count),
    )?;
    ensure(
        arrivals.rate.time_of(u64::from(group.count)) <= LONGEST_GAP,
        field("arrivals.rate"),
        format!("{}; must be at least one an hour for each of the {} clients", arrivals.rate, group.count),
    )
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
        check_abort(http, *abort, &field)?;
    }
    Ok(())
}

fn check_abort(http: &Http, abort: Abort, field: &impl Fn(&str) -> String) -> Result<(), ScenarioError> {
    if let Some(after) = abort.after {
        ensure(
            !after.is_zero() && after < http.timeout,
            field("abort.after"),
            format!("{after}; must be above zero and below timeout, which is {}", http.timeout),
        )?;
    }
    let Some(bytes) = abort.bytes else { return Ok(()) };
    ensure(bytes.get() > 0, field("abort.bytes"), "0B; must be at least 1B")?;
    ensure(
        http.method != Method::Head,
        field("abort.bytes"),
        format!("{bytes}; the answer to a HEAD has no body; leave it out, or give another method"),
    )
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
    let condition =
        http.headers.keys().find(|name| CONDITIONS.iter().any(|known| known.eq_ignore_ascii_case(name)));
    if let Some(name) = condition.filter(|_| http.conditional) {
        let message =
            format!("{name} contradicts conditional, which sends If-None-Match: *; give one of the two");
        return Err(ScenarioError::new(field("headers"), message));
    }
    let request = request(http, "/", "host");
    request.map(drop).map_err(|error| ScenarioError::new(field("headers"), error.to_string()))
}

/// Fails with an option's path below `parent`.
pub(crate) fn of_option(parent: &str, error: &OptionError) -> ScenarioError {
    ScenarioError::new(format!("{parent}.{}", error.field), error.message())
}
