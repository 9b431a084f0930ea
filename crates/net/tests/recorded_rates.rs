//! Links whose rate follows a trace, in a network.

use crate::common::{Event, Model, pair, star};
use std::sync::Arc;
use wasp_kernel::NodeId;
use wasp_net::queue::QueueConfig;
use wasp_net::topology::AccessConfig;
use wasp_net::{Fate, LinkConfig, Pair, RateTrace, Scope, Trace, TraceOptions, TraceStart};
use wasp_random::Key;
use wasp_units::{Bytes, Duration, Instant};

const DELAY: Duration = Duration::from_millis(20);

/// A link that follows this trace.
fn recorded(text: &str, repeat: bool, start: TraceStart) -> LinkConfig {
    let options = TraceOptions { repeat, start, ..TraceOptions::default() };
    let trace = RateTrace { trace: Trace::parse(text).unwrap(), options };
    LinkConfig { trace: Some(trace), delay: DELAY, ..LinkConfig::default() }
}

fn from_the_beginning() -> TraceStart {
    TraceStart::default()
}

/// A packet of 1,500 bytes at each of these milliseconds, over the access links of so many hosts with this configuration, in both directions.
fn sent(config: &LinkConfig, hosts: u32, seed: u64, millis: &[u64]) -> Model {
    let access = |host| AccessConfig {
        directions: pair(config, config),
        scope: Scope::Direction,
        key: Key::root(seed, 0).entity(u64::from(host)),
    };
    sent_over(&(0..hosts).map(access).collect::<Vec<AccessConfig>>(), millis)
}

/// The same over these access links.
fn sent_over(access: &[AccessConfig], millis: &[u64]) -> Model {
    let hosts = access.len() as u32;
    let mut kernel = star(access, &LinkConfig::default());
    kernel.inject(Instant::ZERO, |_, scheduler| {
        for (number, millis) in (0..).zip(millis) {
            for (client, up) in (0..hosts).flat_map(|client| [(client, false), (client, true)]) {
                let at = Instant::ZERO + Duration::from_millis(*millis);
                scheduler.schedule(NodeId(2), at, Event::Send { client, up, number, bytes: 1_460 });
            }
        }
    });
    kernel.advance(Instant::MAX).unwrap();
    kernel.process
}

/// Milliseconds from the beginning of the run to the end of each transmission towards this node.
fn departures(model: &Model, node: NodeId) -> Vec<f64> {
    let to_node = model.delivered.iter().filter(|(_, to, _)| *to == node);
    to_node.map(|(at, ..)| (*at - DELAY).saturating_since(Instant::ZERO).as_secs_f64() * 1e3).collect()
}

#[test]
fn packets_leave_at_the_opportunities_and_then_cross_the_link() {
    let link = recorded("3\n3\n10\n", true, from_the_beginning());
    let model = sent(&link, 1, 1, &[0, 0, 0, 5, 5]);
    for node in [NodeId(0), NodeId(2)] {
        assert_eq!(departures(&model, node), [3.0, 3.0, 10.0, 13.0, 13.0]);
    }
    assert_eq!(model.network.in_flight(), 0);
}

#[test]
fn a_queue_before_a_trace_has_its_limits() {
    let queue = Some(QueueConfig::drop_tail(Bytes::new(3_000)));
    let link = LinkConfig { queue, ..recorded("10\n", true, from_the_beginning()) };
    // One is in transmission, two wait.
    let model = sent(&link, 1, 1, &[0, 0, 0, 0, 5, 35]);
    for node in [NodeId(0), NodeId(2)] {
        assert_eq!(departures(&model, node), [10.0, 20.0, 30.0, 40.0]);
    }
    assert_eq!(model.network.fates().get(Fate::QueueFull), 4);
}

#[test]
fn what_comes_to_a_link_whose_trace_has_ended_stays_there() {
    let queue = Some(QueueConfig::drop_tail(Bytes::new(3_000)));
    let link = LinkConfig { queue, ..recorded("4\n9\n", false, from_the_beginning()) };
    let Model { network, delivered, .. } = sent(&link, 1, 1, &[0, 0, 8, 8, 20, 20]);
    // In each direction: two leave, one waits in the transmitter for ever, two behind it, and for one there is no room.
    assert_eq!((delivered.len(), network.in_flight(), network.fates().get(Fate::QueueFull)), (4, 6, 2));
    assert_eq!(network.made(), network.fates().total() + network.in_flight());
}

/// When the first packet leaves in each direction of the only link, in milliseconds: to the server and to the host.
fn first_departures(directions: Pair<Arc<LinkConfig>>, seed: u64) -> [f64; 2] {
    let access = AccessConfig { directions, scope: Scope::Direction, key: Key::root(seed, 0) };
    let model = sent_over(&[access], &[0]);
    [NodeId(0), NodeId(2)].map(|node| departures(&model, node)[0])
}

#[test]
fn a_shorter_trace_starts_at_the_time_of_the_longer_one() {
    let [short, long] = ["1000\n", "3000\n"].map(|text| recorded(text, true, TraceStart::Random));
    for seed in 0..20 {
        let [up, down] = first_departures(pair(&short, &long), seed);
        // Both left so many milliseconds ago in their recordings.
        assert!(((3_000.0 - down) % 1_000.0 - (1_000.0 - up)).abs() < 1e-6, "{up} {down}");
    }
}

#[test]
fn links_start_at_random_and_both_directions_of_one_alike() {
    let link = recorded("1000\n", true, TraceStart::Random);
    let first = |model: &Model, node| departures(model, node)[0];
    let model = sent(&link, 40, 1, &[0]);
    let to_hosts: Vec<f64> = (0..40).map(|host| first(&model, NodeId(2 + host))).collect();
    let mut to_server = departures(&model, NodeId(0));
    let mut sorted = to_hosts.clone();
    for times in [&mut to_server, &mut sorted] {
        times.sort_by(f64::total_cmp);
    }
    assert_eq!(to_server, sorted, "an opportunity comes in both directions of a link at once");
    sorted.dedup();
    assert_eq!(sorted.len(), 40);
    // The mean of 40 times that are uniform over a second: five standard errors.
    let mean = to_hosts.iter().sum::<f64>() / 40.0;
    assert!((mean - 500.0).abs() < 5.0 * 1_000.0 / 480_f64.sqrt(), "{mean}");
    let again = sent(&link, 40, 1, &[0]);
    assert_eq!(first(&again, NodeId(2)), to_hosts[0]);
    assert_ne!(first(&sent(&link, 1, 2, &[0]), NodeId(2)), to_hosts[0]);
}
