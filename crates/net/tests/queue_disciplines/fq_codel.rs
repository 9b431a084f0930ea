//! FQ-CoDel: what a sparse flow waits, how flows share, and what is dropped when there is no room.

use super::transmitter::{End, Record, Transmitter, behind, full, megabits};
use wasp_net::queue::{DropReason, FqCodelConfig, Item, Queue, QueueConfig, Taken};
use wasp_random::Key;
use wasp_units::{Bytes, Duration, Instant};

/// Packets that each bulk flow keeps in the queue.
const WINDOW: u32 = 20;
const BULK_FLOWS: u32 = 10;
/// The hash of the sparse flow; those of the bulk flows are below `BULK_FLOWS`.
const SPARSE: u32 = 77;

/// Bulk flows of which every packet that leaves or is dropped is replaced at once, so that none of their queues is ever empty. Nothing
/// that CoDel does makes them slower, which is harder on the sparse flow than TCP.
struct Bulk {
    link: Transmitter<Queue<u32>>,
    seen: usize,
    next: u32,
    flow_of: Vec<u32>,
}

impl Bulk {
    fn new() -> Self {
        let link = behind(QueueConfig::FqCodel(FqCodelConfig::default()), megabits(10));
        let mut bulk = Self { link, seen: 0, next: 0, flow_of: Vec::new() };
        for _ in 0..WINDOW {
            (0..BULK_FLOWS).for_each(|flow| bulk.send(flow, 1_500, Instant::ZERO));
        }
        bulk
    }

    fn send(&mut self, flow: u32, bytes: u32, now: Instant) {
        self.flow_of.push(flow);
        self.link.arrive(Item { bytes, ..full(self.next, flow) }, now);
        self.next += 1;
    }

    /// Goes on until `until`, transmission by transmission.
    fn advance(&mut self, until: Instant) {
        while let Some((end, _)) = self.link.transmitting.filter(|(end, _)| *end <= until) {
            self.link.advance(end);
            self.replace();
        }
    }

    fn replace(&mut self) {
        while let Some(Record { at, handle, .. }) = self.link.log.get(self.seen).copied() {
            self.seen += 1;
            let flow = self.flow_of[handle as usize];
            if flow != SPARSE {
                self.send(flow, 1_500, at);
            }
        }
    }
}

#[test]
fn a_sparse_flow_waits_for_one_packet_beside_ten_bulk_flows() {
    let mut bulk = Bulk::new();
    let start = 5_000_000_000;
    for number in 0..3_000_u64 {
        // The times are even, but 20 ms is no multiple of 1.2 ms, so that they meet the transmitter at all phases.
        let now = Instant::from_nanos(start + number * 20_000_000);
        bulk.advance(now);
        bulk.send(SPARSE, 200, now);
        bulk.replace();
    }
    bulk.advance(Instant::from_nanos(start + 61_000_000_000));
    let mut waits: Vec<_> = bulk
        .link
        .log
        .iter()
        .filter(|record| bulk.flow_of[record.handle as usize] == SPARSE)
        .map(|record| match record.end {
            End::Left { waited, .. } => waited,
            End::Dropped(reason) => panic!("a packet of the sparse flow was dropped: {reason:?}"),
        })
        .collect();
    waits.sort_unstable();
    assert_eq!(waits.len(), 3_000);
    let p99 = waits[2_970];
    assert!(p99 <= Duration::from_micros(1_300), "{p99}");
    assert!(bulk.link.dropped(DropReason::Early) > 1_000, "CoDel is at work on the bulk flows");
}

#[test]
fn bulk_flows_share_evenly() {
    let mut bulk = Bulk::new();
    bulk.advance(Instant::from_nanos(60_000_000_000));
    let mut left = [0_u32; BULK_FLOWS as usize];
    for record in &bulk.link.log {
        if matches!(record.end, End::Left { .. }) {
            left[bulk.flow_of[record.handle as usize] as usize] += 1;
        }
    }
    // 60 s at 10 Mbit/s are 50,000 packets.
    assert!(left.iter().all(|packets| packets.abs_diff(5_000) <= 20), "{left:?}");
}

/// The order in which these packets leave a queue that is full before the first is taken: pairs of flow and bytes in, numbers out.
fn order(packets: &[(u32, u32)]) -> Vec<u32> {
    let mut queue = queue(FqCodelConfig::default());
    for (handle, (flow, bytes)) in (0..).zip(packets) {
        let item = Item { handle, bytes: *bytes, flow: *flow, ecn_capable: false };
        queue.enqueue(item, Instant::ZERO, &mut |_, _| panic!("there is room"));
    }
    let mut take = || queue.dequeue(Instant::ZERO, &mut |_, _| panic!("nothing has waited"));
    std::iter::from_fn(|| take().map(|taken| taken.handle)).collect()
}

fn queue(config: FqCodelConfig) -> Queue<u32> {
    Queue::new(&QueueConfig::FqCodel(config), Some(megabits(10)), Key::root(16, 0))
}

#[test]
fn flows_take_turns_of_a_quantum() {
    // The first packet leaves 14 credits, which pay for another; the flow is then in debt and misses turns until it is not.
    let two_of_three = [(1, 1_500), (1, 1_500), (1, 1_500), (1, 1_500), (2, 1_500), (2, 1_500), (2, 1_500)];
    assert_eq!(order(&two_of_three), [0, 1, 4, 5, 2, 6, 3]);
    // Small packets fit a quantum together.
    let small = [(1, 1_000), (1, 500), (1, 500), (2, 1_514), (2, 1_514)];
    assert_eq!(order(&small), [0, 1, 2, 3, 4]);
}

#[test]
fn hashes_with_the_same_remainder_share_a_queue() {
    assert_eq!(order(&[(5, 1_514), (5 + 1_024, 1_514), (6, 1_514)]), [0, 2, 1]);
}

#[test]
fn a_flow_that_was_new_is_old_before_it_is_new_again() {
    let mut queue = queue(FqCodelConfig::default());
    let enter = |queue: &mut Queue<u32>, handle, flow| {
        queue.enqueue(full(handle, flow), Instant::ZERO, &mut |_, _| panic!("there is room"));
    };
    let take =
        |queue: &mut Queue<u32>| queue.dequeue(Instant::ZERO, &mut |_, _| ()).map(|taken| taken.handle);
    (0..4).for_each(|handle| enter(&mut queue, handle, 1));
    assert_eq!((take(&mut queue), take(&mut queue)), (Some(0), Some(1)));
    // Flow 2 is new and comes before flow 1, whose credits are used up.
    enter(&mut queue, 4, 2);
    assert_eq!(take(&mut queue), Some(4));
    // Flow 2 has sent nothing since; it is still among the new, now finds its credits used up after its second packet, and goes behind flow 1.
    enter(&mut queue, 5, 2);
    assert_eq!(take(&mut queue), Some(5));
    enter(&mut queue, 6, 2);
    assert_eq!(take(&mut queue), Some(2));
}

#[test]
fn the_fattest_flow_pays_for_a_full_queue_with_half_of_its_packets_from_the_head() {
    let mut queue = queue(FqCodelConfig { packets: Some(10), ..FqCodelConfig::default() });
    let mut dropped = Vec::new();
    for (handle, flow) in (0..).zip([1, 1, 1, 1, 2, 2, 3, 3, 3, 3, 4]) {
        let bytes = if flow == 3 { 1_500 } else { 1_000 };
        let item = Item { handle, bytes, flow, ecn_capable: false };
        queue.enqueue(item, Instant::ZERO, &mut |handle, reason| dropped.push((handle, reason)));
    }
    assert_eq!(dropped, [(6, DropReason::Full), (7, DropReason::Full)]);
    assert_eq!((queue.packets(), queue.bytes()), (9, 7 * 1_000 + 2 * 1_500));
}

#[test]
fn at_most_64_packets_pay_at_once_and_bytes_are_a_limit_too() {
    let bytes = Some(Bytes::new(300_000));
    let mut queue = queue(FqCodelConfig { packets: None, bytes, ..FqCodelConfig::default() });
    let mut dropped = 0;
    (0..200).for_each(|handle| queue.enqueue(full(handle, 1), Instant::ZERO, &mut |_, _| dropped += 1));
    assert_eq!(dropped, 0);
    queue.enqueue(full(200, 2), Instant::ZERO, &mut |_, _| dropped += 1);
    assert_eq!((dropped, queue.packets()), (64, 137));
}

#[test]
fn the_ce_threshold_marks_what_waited_longer() {
    let ce_threshold = Some(Duration::from_millis(1));
    let mut queue = queue(FqCodelConfig { ce_threshold, ..FqCodelConfig::default() });
    for handle in 0..4 {
        let item = Item { ecn_capable: handle < 3, ..full(handle, 0) };
        queue.enqueue(item, Instant::ZERO, &mut |_, _| panic!("there is room"));
    }
    let mut marked = |micros: u64| {
        let taken =
            queue.dequeue(Instant::from_nanos(micros * 1_000), &mut |_, _| panic!("below the target"));
        taken.map(|Taken { marked, .. }| marked)
    };
    assert_eq!(
        [marked(500), marked(1_000), marked(1_001), marked(1_002)].map(Option::unwrap),
        [false, false, true, false]
    );
}
