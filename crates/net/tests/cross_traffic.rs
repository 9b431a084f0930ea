//! Cross traffic on links that do everything else, too: it ends at their far end, and each source has its own account.

use crate::common::{Event, Model, pair, star};
use std::num::NonZeroU16;
use wasp_kernel::{LogicalProcess, NodeId};
use wasp_net::queue::{FqCodelConfig, QueueConfig};
use wasp_net::topology::AccessConfig;
use wasp_net::{
    Corrupt, CrossConfig, CrossCounters, CrossSource, Direction, Duplicate, Fate, LinkConfig, Loss, Scope,
};
use wasp_random::Key;
use wasp_units::{Bytes, Instant, Probability, Rate};

fn share(percent: u32) -> Probability {
    Probability::from_f64(f64::from(percent) / 100.0).unwrap()
}

fn config(bytes: u64, flows: u16, key: u32) -> CrossConfig {
    CrossConfig { packet: Bytes::new(bytes), flows: NonZeroU16::new(flows).unwrap(), key: Key::root(2, key) }
}

/// A star of one client whose links are all like this, with a source of 500 bytes a packet on each direction of each link.
fn kernel(link: &LinkConfig, scope: Scope) -> (LogicalProcess<Model>, Vec<CrossSource>) {
    let access = AccessConfig { directions: pair(link, link), scope, key: Key::root(1, 0) };
    let mut kernel = star(&[access], link);
    let model = &mut kernel.process;
    let (host, server) = (model.layout.hosts()[0], model.layout.server);
    let links = [host.out, host.into, server.into, server.out];
    let sources = links.map(|link| model.network.add_cross_source(link, config(500, 1, 0)));
    (kernel, sources.to_vec())
}

/// Each source sends so many packets, two milliseconds apart, and a client a segment beside each of them.
fn send(kernel: &mut LogicalProcess<Model>, sources: &[CrossSource], packets: u64) {
    for number in 0..packets {
        let now = Instant::from_nanos(number * 2_000_000);
        kernel.advance(now).unwrap();
        kernel.inject(now, |_, scheduler| {
            for source in sources {
                scheduler.schedule(NodeId(9), now, Event::Cross(*source));
            }
            let event = Event::Send { client: 0, up: true, number: number as u32, bytes: 400 };
            scheduler.schedule(NodeId(2), now, event);
        });
    }
    kernel.advance(Instant::MAX).unwrap();
}

fn counters(kernel: &LogicalProcess<Model>) -> Vec<CrossCounters> {
    kernel.process.network.cross_traffic().map(|(_, counters)| *counters).collect()
}

#[test]
fn it_crosses_one_link_and_reaches_no_host() {
    // Also one that takes no time.
    for link in [
        LinkConfig::default(),
        LinkConfig { rate: Rate::from_bits_per_second(10_000_000), ..LinkConfig::default() },
    ] {
        let (mut kernel, sources) = kernel(&link, Scope::Direction);
        send(&mut kernel, &sources, 50);
        let model = &kernel.process;
        let all = CrossCounters { packets: 50, bytes: 25_000, arrived: 50, ..CrossCounters::default() };
        assert_eq!(counters(&kernel), [all; 4]);
        // The client's segments are all that hosts saw, and all that counts as theirs.
        assert_eq!((model.delivered.len(), model.network.fates().get(Fate::Delivered)), (50, 250));
        assert_eq!(Direction::BOTH.map(|direction| model.network.crossed(direction).packets), [50, 0]);
        let (host, server) = (model.layout.hosts()[0], model.layout.server);
        let packets = [host.out, host.into, server.into, server.out]
            .map(|link| model.network.link(link).counters().packets);
        assert_eq!(packets, [100, 50, 100, 50]);
        assert_eq!((model.network.in_flight(), model.network.pool.in_use()), (0, 0));
    }
}

#[test]
fn each_source_has_an_account_of_what_links_do_to_its_packets() {
    let link = LinkConfig {
        rate: Rate::from_bits_per_second(5_000_000),
        loss: Loss::Independent { rate: share(10) },
        corrupt: Some(Corrupt { share: share(5) }),
        duplicate: Some(Duplicate { share: share(5) }),
        queue: Some(QueueConfig::drop_tail(Bytes::new(900))),
        ..LinkConfig::default()
    };
    for scope in [Scope::Direction, Scope::Connection, Scope::Link] {
        account_of_each(&link, scope);
    }
}

fn account_of_each(link: &LinkConfig, scope: Scope) {
    let (mut kernel, sources) = kernel(link, scope);
    send(&mut kernel, &sources, 20_000);
    let network = &kernel.process.network;
    assert_eq!(network.made(), network.fates().total() + network.in_flight());
    for (id, counters) in network.cross_traffic() {
        let CrossCounters { packets, bytes, loss, dropped, corrupted, duplicated, arrived, .. } = *counters;
        assert_eq!((packets, bytes, loss.packets()), (20_000, 10_000_000, 20_000));
        assert_eq!(packets + duplicated, loss.lost + dropped + arrived);
        let near = |count: u64, mean: f64| (count as f64 - mean).abs() < 5.0 * mean.sqrt();
        assert!(
            near(loss.lost, 2_000.0) && near(corrupted, 900.0) && near(duplicated, 900.0),
            "{counters:?}"
        );
        let link = network.link(id).counters();
        assert!(link.dropped >= dropped && link.loss.lost >= loss.lost, "{link:?} {counters:?}");
    }
}

#[test]
fn packets_are_as_long_as_links_and_headers_allow() {
    let (mut kernel, _) = kernel(&LinkConfig { mtu: Some(600), ..LinkConfig::default() }, Scope::Direction);
    let network = &mut kernel.process.network;
    let link = kernel.process.layout.server.into;
    let sources = [28, 600, 601].map(|bytes| network.add_cross_source(link, config(bytes, 1, 0)));
    send(&mut kernel, &sources, 1);
    let found: Vec<_> =
        counters(&kernel)[4..].iter().map(|each| (each.bytes, each.arrived, each.dropped)).collect();
    assert_eq!(found, [(28, 1, 0), (600, 1, 0), (601, 0, 1)]);
    assert_eq!(kernel.process.network.fates().get(Fate::TooBig), 1);
}

#[test]
#[should_panic(expected = "a packet that IP carries")]
fn a_packet_has_room_for_its_headers() {
    let (mut kernel, _) = kernel(&LinkConfig::default(), Scope::Direction);
    let link = kernel.process.layout.server.into;
    kernel.process.network.add_cross_source(link, config(27, 1, 0));
}

/// Sources at one link with so many flows and these keys, each with what became of its packets.
fn accounts(link: &LinkConfig, of: &[(u16, u32)], packets: u64) -> Vec<CrossCounters> {
    let access = AccessConfig { directions: pair(link, link), scope: Scope::Direction, key: Key::root(1, 0) };
    let mut kernel = star(&[access], &LinkConfig::default());
    let into = kernel.process.layout.hosts()[0].into;
    let mut sources = Vec::new();
    for (flows, key) in of {
        sources.push(kernel.process.network.add_cross_source(into, config(500, *flows, *key)));
    }
    send(&mut kernel, &sources, packets);
    let network = &kernel.process.network;
    assert_eq!(network.made(), network.fates().total());
    counters(&kernel)
}

#[test]
fn packets_that_a_queue_drops_later_are_those_of_their_source() {
    // A discipline drops the longest flow's packets when another one comes, or at the head when one leaves.
    let link = LinkConfig {
        rate: Rate::from_bits_per_second(4_000_000),
        queue: Some(QueueConfig::FqCodel(FqCodelConfig { packets: Some(50), ..FqCodelConfig::default() })),
        ..LinkConfig::default()
    };
    // Two packets of 500 bytes each 2 ms take all of the link, a third makes it too much.
    let found = accounts(&link, &[(1, 1), (1, 1), (1, 1), (1, 2)], 5_000);
    for each in &found {
        assert_eq!(each.packets, each.arrived + each.dropped, "{each:?}");
    }
    let dropped: u64 = found.iter().map(|each| each.dropped).sum();
    let early: u64 = found.iter().map(|each| each.dropped_early).sum();
    assert!(dropped > 9_000 && early > 0, "{found:?}");
}

#[test]
fn what_a_source_meets_depends_on_its_key_and_not_on_its_place() {
    let link = LinkConfig {
        rate: Rate::from_bits_per_second(20_000_000),
        loss: Loss::Independent { rate: share(10) },
        queue: Some(QueueConfig::FqCodel(FqCodelConfig::default())),
        ..LinkConfig::default()
    };
    let alone = accounts(&link, &[(1, 7)], 3_000);
    let behind = accounts(&link, &[(1, 5), (1, 7)], 3_000);
    assert_eq!(alone[0], behind[1]);
    assert_ne!(behind[0].loss.lost, behind[1].loss.lost);
    // Two with one key are two all the same.
    let twins = accounts(&link, &[(1, 7), (1, 7)], 3_000);
    assert_eq!([twins[0], twins[1]], [alone[0]; 2]);
}

#[test]
fn a_source_of_many_flows_has_more_of_a_fair_queue() {
    let link = LinkConfig {
        rate: Rate::from_bits_per_second(4_000_000),
        queue: Some(QueueConfig::FqCodel(FqCodelConfig { packets: Some(200), ..FqCodelConfig::default() })),
        ..LinkConfig::default()
    };
    // Each offers half of the link, and so do three of them: of four flows or of one, against two of one flow.
    let arrived = |flows| accounts(&link, &[(flows, 1), (1, 2), (1, 3)], 20_000)[0].arrived;
    let (one, four) = (arrived(1), arrived(4));
    assert!((12_000..15_000).contains(&one), "a third of the link: {one}");
    assert!(four > 19_000, "two thirds of it would be more than is asked for: {four}");
}
