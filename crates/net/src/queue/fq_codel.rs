//! Flow queues, each under CoDel.
//!
//! Source: RFC 8290, "The Flow Queue CoDel Packet Scheduler and Active Queue Management Algorithm", section 4: a deficit round robin
//! over flows, in which a flow that begins to send is served before those that keep a queue. CoDel sees the bytes of its own flow, as the
//! `bytes()` of RFC 8289 are those of the queue it manages; Linux shows it the bytes of all flows.

use super::codel::{Backlog, Codel, INTERVAL, Law, MAXPACKET, TARGET, check_times};
use super::config::{Limit, check_packet, ensure_time};
use super::store::{List, Store};
use super::{DropReason, Item, Waiting};
use crate::option_error::{OptionError, ensure};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use wasp_units::{Bytes, Duration, Instant};

/// Parameters of FQ-CoDel.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct FqCodelConfig {
    /// Most packets that wait, of all flows; 10,240 unless set (section 5.2.3).
    pub packets: Option<u32>,
    /// Most bytes that wait, of all flows; `None` has no bound.
    pub bytes: Option<Bytes>,
    /// Bytes that a flow may send in its turn; 1,514 unless set, an Ethernet frame (section 5.2.4).
    pub quantum: Bytes,
    /// Flows told apart, by the hash of the packet; 1,024 unless set (section 5.2.5).
    pub flows: u16,
    /// TARGET of CoDel; 5 ms unless set (section 5.2.2).
    pub target: Duration,
    /// INTERVAL of CoDel; 100 ms unless set (section 5.2.1).
    pub interval: Duration,
    /// MAXPACKET of CoDel; 1,500 bytes unless set, an IP packet on Ethernet.
    pub max_packet: Bytes,
    /// Whether ECN-capable packets are marked where others are dropped early; true unless set (section 5.2.6).
    pub ecn: bool,
    /// Waiting time above which every ECN-capable packet is marked; `None`, which is the default, marks by CoDel alone (section 5.2.7).
    pub ce_threshold: Option<Duration>,
}

impl Default for FqCodelConfig {
    fn default() -> Self {
        Self {
            packets: Some(10_240),
            bytes: None,
            quantum: Bytes::new(1_514),
            flows: 1_024,
            target: TARGET,
            interval: INTERVAL,
            max_packet: Bytes::new(MAXPACKET),
            ecn: true,
            ce_threshold: None,
        }
    }
}

impl FqCodelConfig {
    /// Least and most quantum. A smaller one would go round all flows many times for a packet; Linux has the same bound. A longer packet
    /// does not exist.
    const QUANTA: (u64, u64) = (256, 65_535);

    pub(super) fn check(&self) -> Result<(), OptionError> {
        let (least, most) = Self::QUANTA;
        let quantum = self.quantum.get();
        ensure((least..=most).contains(&quantum), "quantum", self.quantum, "from 256B to 65535B")?;
        ensure(self.flows > 0, "flows", self.flows, "from 1 to 65535")?;
        check_times(self.target, self.interval)?;
        check_packet("max_packet", self.max_packet)?;
        let Some(threshold) = self.ce_threshold else { return Ok(()) };
        ensure_time("ce_threshold", threshold)?;
        ensure(self.ecn, "ce_threshold", threshold, "absent where ecn is false, because nothing is marked")
    }
}

/// Most packets dropped at once when a limit is passed (section 4.1).
const BATCH: usize = 64;

/// What is kept of a flow.
#[derive(Debug, Default)]
struct Flow {
    packets: List,
    codel: Codel,
    /// Bytes that the flow may still send before its turn ends.
    credits: i64,
    /// Whether the flow is in one of the lists.
    active: bool,
}

/// The number of a flow in order of first use.
type FlowNumber = u16;

/// The flows, their order, and the packets of all.
#[derive(Debug)]
pub(super) struct FqCodel<T> {
    store: Store<T>,
    flows: Vec<Flow>,
    /// The flow of each value of the hash, from its first packet on: one CoDel state for each of 1,024 flows would cost a link 100 KB.
    by_hash: Box<[Option<FlowNumber>]>,
    new_flows: VecDeque<FlowNumber>,
    old_flows: VecDeque<FlowNumber>,
    limit: Limit,
    quantum: i64,
    law: Law,
    /// Whether the transmitter found nothing to send when it last looked.
    idle: bool,
}

/// A flow's packets as CoDel sees them.
struct FlowQueue<'a, T> {
    packets: &'a mut List,
    store: &'a mut Store<T>,
}

impl<T: Copy> Backlog<T> for FlowQueue<'_, T> {
    fn pop(&mut self, _now: Instant) -> Option<Waiting<T>> {
        self.store.pop(self.packets)
    }

    fn backlog(&self) -> u64 {
        self.packets.bytes()
    }
}

impl<T: Copy> FqCodel<T> {
    pub(super) fn new(config: &FqCodelConfig) -> Self {
        let FqCodelConfig { packets, bytes, quantum, flows, target, interval, max_packet, ecn, ce_threshold } =
            *config;
        Self {
            store: Store::new(),
            flows: Vec::new(),
            by_hash: vec![None; usize::from(flows.max(1))].into_boxed_slice(),
            new_flows: VecDeque::new(),
            old_flows: VecDeque::new(),
            limit: Limit { packets, bytes },
            quantum: i64::try_from(quantum.get().max(1)).unwrap_or(i64::MAX),
            law: Law { target, interval, max_packet, ecn, ce_threshold },
            idle: true,
        }
    }

    pub(super) fn enqueue(&mut self, item: Item<T>, now: Instant, dropped: &mut impl FnMut(T, DropReason)) {
        let number = self.classify(item.flow);
        let flow = &mut self.flows[usize::from(number)];
        self.store.push(&mut flow.packets, Waiting::new(item, now));
        if !flow.active {
            flow.active = true;
            flow.credits = self.quantum;
            self.new_flows.push_back(number);
        }
        let passes_at_once = self.idle && self.store.packets() == 1;
        while !passes_at_once && !self.limit.allows(self.store.packets(), self.store.bytes()) {
            self.drop_from_the_fattest(dropped);
        }
    }

    pub(super) fn dequeue(
        &mut self,
        now: Instant,
        dropped: &mut impl FnMut(T, DropReason),
    ) -> Option<Waiting<T>> {
        let packet = self.schedule(now, dropped);
        self.idle = packet.is_none();
        packet
    }

    pub(super) const fn packets(&self) -> usize {
        self.store.packets()
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.store.bytes()
    }

    /// The flow of a packet with this hash.
    fn classify(&mut self, hash: u32) -> FlowNumber {
        let values = self.by_hash.len();
        let entry = &mut self.by_hash[hash as usize % values];
        *entry.get_or_insert_with(|| {
            self.flows.push(Flow::default());
            // There are at most as many flows as values of the hash, which are at most 65,535.
            (self.flows.len() - 1) as FlowNumber
        })
    }

    /// Section 4.2: the next packet, from the first new flow or, if there is none, from the first old one that has credits.
    fn schedule(&mut self, now: Instant, dropped: &mut impl FnMut(T, DropReason)) -> Option<Waiting<T>> {
        loop {
            let is_new = !self.new_flows.is_empty();
            let list = if is_new { &mut self.new_flows } else { &mut self.old_flows };
            let number = *list.front()?;
            let flow = &mut self.flows[usize::from(number)];
            if flow.credits <= 0 {
                flow.credits += self.quantum;
                list.pop_front();
                self.old_flows.push_back(number);
                continue;
            }
            let mut queue = FlowQueue { packets: &mut flow.packets, store: &mut self.store };
            if let Some(packet) = flow.codel.dequeue(&self.law, &mut queue, now, dropped) {
                flow.credits -= i64::from(packet.bytes);
                return Some(packet);
            }
            list.pop_front();
            if is_new {
                // It waits for its turn among the old flows, or a flow could be new for ever by sending a little at a time.
                self.old_flows.push_back(number);
            } else {
                flow.active = false;
            }
        }
    }

    /// Section 4.1: drops half of the packets of the flow with most bytes, at most [`BATCH`], from its head.
    fn drop_from_the_fattest(&mut self, dropped: &mut impl FnMut(T, DropReason)) {
        let active = self.new_flows.iter().chain(&self.old_flows).copied();
        // Packets decide among equal bytes, so that no empty flow is chosen.
        let size = |number: FlowNumber| {
            let packets = &self.flows[usize::from(number)].packets;
            (packets.bytes(), packets.packets())
        };
        let fattest = active.reduce(|fattest, flow| if size(flow) > size(fattest) { flow } else { fattest });
        let Some(fattest) = fattest else { return };
        let flow = &mut self.flows[usize::from(fattest)];
        for _ in 0..(flow.packets.packets() / 2).clamp(1, BATCH) {
            let Some(packet) = self.store.pop(&mut flow.packets) else { return };
            dropped(packet.handle, DropReason::Full);
        }
    }
}
