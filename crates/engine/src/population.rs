//! The clients of a scenario: where they are, how they ask for what they want, and when.

use crate::asking::{Asking, asking};
use crate::encode::{encode, samples};
use crate::hosts::Host;
use crate::scenario::{ArrivalModel, Arrivals, Group, NextAfter, Scenario, Start};
use std::num::NonZeroU32;
use std::sync::Arc;
use wasp_app::{ArrivalSource, Behaviour, Browser, Place, Plan};
use wasp_net::topology::Layout;
use wasp_random::{Key, Purpose};
use wasp_stack::Identities;
use wasp_units::{Bytes, Duration, Instant};
use wasp_workload::{Deal, Delay, Equilibrium, Located, OffTimes, Sites};

/// Most arrivals that may wait in a group that says nothing about it, though one for each client at least.
const MOST_WAITING: u32 = 1_000;

/// Each client's group, the group's index, and the client's index in its group, in the order of addresses.
pub(crate) fn members(scenario: &Scenario) -> impl Iterator<Item = (&Group, u16, u32)> {
    let groups = scenario.clients.iter().zip(0_u16..);
    groups.flat_map(|(group, number)| (0..group.count).map(move |index| (group, number, index)))
}

/// How client number `member` of its group begins where its pauses have this law.
fn equilibrium(scenario: &Scenario, group: &Group, member: u32, root: Key, pauses: Delay) -> Equilibrium {
    let key = root.purpose(Purpose::Start).name(&group.name).entity(u64::from(member));
    Equilibrium::new(pauses, scenario.measure.warmup, key)
}

/// The clients of a checked scenario.
pub(crate) fn clients(scenario: &Scenario, sites: &Sites, layout: &Layout, root: Key) -> Vec<Host<Browser>> {
    let asking = asking(scenario, sites, root);
    let of_group =
        |(group, asking): (&Group, &Asking<'_>)| Arc::new(behaviour(scenario, asking.located, group));
    let behaviours: Vec<_> = scenario.clients.iter().zip(&asking).map(of_group).collect();
    let make = |((group, number, member), index): ((&Group, u16, u32), u32)| {
        let identities =
            Identities::new(|purpose| root.purpose(purpose).name(&group.name).entity(u64::from(member)));
        let identities = scenario.clock.map_or(identities, |clock| identities.with_clock(clock));
        let plan = plan(scenario, &asking[usize::from(number)], root, group, member);
        let at = &layout.hosts()[index as usize];
        let place = Place {
            index,
            group: number,
            address: at.address,
            server: layout.server.address,
            port: scenario.server.port,
        };
        let behaviour = Arc::clone(&behaviours[usize::from(number)]);
        Host::new((at.node, at.out), Browser::new(place, behaviour, identities, plan))
    };
    members(scenario).zip(0..).map(make).collect()
}

/// The draws for the values of placeholders in the requests of client number `member` of its group.
fn values_of(root: Key, group: &Group, member: u32) -> Key {
    root.purpose(Purpose::RequestValue).name(&group.name).entity(u64::from(member))
}

/// The named requests of each group, by name, as its first client would send them at its beginning: those of a session as its first one, others as if
/// each were the first request. A body that means nothing is left out, and captured values are not known.
#[must_use]
pub fn sample_requests(scenario: &Scenario, sites: &Sites) -> Vec<Vec<(String, Vec<u8>)>> {
    let root = Key::root(scenario.seed, scenario.run);
    let mut client = 0;
    let of_group = |(place, group): (usize, &Group)| {
        let samples =
            samples(&group.http, sites.of(place), &scenario.host(), (client, values_of(root, group, 0)));
        client += group.count;
        samples
    };
    scenario.clients.iter().enumerate().map(of_group).collect()
}

/// What client number `member` of its group does over the run.
fn plan(scenario: &Scenario, asking: &Asking<'_>, root: Key, group: &Group, member: u32) -> Plan {
    let Asking { located, deal, requests, before, of } = asking;
    let (number, of) = match deal {
        Deal::Own => (member, group.count),
        Deal::Modulo => (before + member, *of),
    };
    let (inactive, active) = located.site.off_times();
    let think = group.think.unwrap_or(inactive);
    let pauses = OffTimes::new(think, active, root, &group.name, member);
    let begin = |pauses| equilibrium(scenario, group, member, root, pauses);
    let warmup = scenario.measure.warmup;
    let source = group.arrivals.map(|arrivals| source(&arrivals, root, group, member, warmup));
    let log = || {
        // As clients that do not pause.
        let origin = if *deal == Deal::Own { begin(Delay::None {}).first(0) } else { Instant::ZERO };
        ArrivalSource::Log { origin }
    };
    let settles = group.start == Start::Equilibrium;
    let source = source.or_else(|| requests.has_times().then(log));
    let outstanding =
        group.arrivals.and_then(|arrivals| arrivals.outstanding).map_or(MOST_WAITING, NonZeroU32::get);
    Plan {
        requests: requests.stream(*deal, &group.name, number, of),
        pauses,
        start: settles.then(|| begin(think)),
        warmed_up: Instant::ZERO + if settles { warmup } else { Duration::ZERO },
        arrivals: source.map(|source| (source, outstanding.div_ceil(group.count))),
        values: values_of(root, group, member),
    }
}

fn source(arrivals: &Arrivals, root: Key, group: &Group, member: u32, warmup: Duration) -> ArrivalSource {
    match arrivals.model {
        ArrivalModel::Poisson => {
            let mean = arrivals.rate.time_of(u64::from(group.count));
            ArrivalSource::Poisson {
                mean,
                key: root.purpose(Purpose::Arrival).name(&group.name).entity(u64::from(member)),
                turn: mean.min(warmup),
            }
        }
        ArrivalModel::Constant => {
            ArrivalSource::Constant { rate: arrivals.rate, first: member, step: group.count }
        }
    }
}

/// Segments that wait after which a program reads, although it has not yet woken up: a bound only, since a burst is usually over when a
/// program wakes up.
const READ_AFTER: u8 = 20;

fn behaviour(scenario: &Scenario, located: &Located, group: &Group) -> Behaviour {
    let http = &group.http;
    Behaviour {
        connections: http.connections,
        pipeline: http.pipeline,
        requests_per_connection: http.requests_per_connection,
        await_close: http.next_after == NextAfter::Close,
        request_timeout: http.timeout,
        abort_after: http.abort.and_then(|abort| abort.after),
        abort_bytes: http.abort.and_then(|abort| abort.bytes).map(Bytes::get),
        read_rate: http.read_rate,
        read_after: READ_AFTER,
        tcp: Arc::new(group.tcp_config().expect("a checked scenario has valid TCP options")),
        requests: encode(http, located, &scenario.host()),
    }
}
