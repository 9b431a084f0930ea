//! The receiving half: what is in order, what may still come, and the window that says so.

use crate::config::{Config, WindowUpdate};
use crate::fifo::Fifo;
use crate::ranges::Range;
use crate::reassembly::Reassembly;
use crate::types::ReceivePolicy;
use wasp_wire::{Payload, PayloadPool, SackBlocks, SequenceNumber, View};

/// What an arriving segment did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrival {
    /// Bytes that became readable.
    pub(crate) in_order: u32,
    /// The segment left or filled a gap: it must be acknowledged at once (RFC 5681 section 4.2).
    pub(crate) disorder: bool,
    /// Payload lay above a gap.
    pub(crate) out_of_order: bool,
    /// Payload that we held already.
    pub(crate) duplicate: Option<Range>,
    /// The FIN is in order now.
    pub(crate) fin: bool,
}

/// The receive sequence space of a connection (RFC 9293 section 3.3.1).
#[derive(Debug)]
pub(crate) struct Receiver {
    /// RCV.NXT.
    next: SequenceNumber,
    /// RCV.NXT + RCV.WND as last advertised; it never moves back.
    edge: SequenceNumber,
    /// Size of the buffer, and bytes in it that wait to be read.
    buffer: u32,
    buffered: u32,
    ready: Fifo<Payload>,
    out_of_order: Option<Box<Reassembly>>,
    /// Where the FIN is, once seen.
    fin: Option<SequenceNumber>,
    /// The FIN has been taken in order.
    finished: bool,
    /// A window beyond that of our SYN has been advertised.
    advertised: bool,
    /// Shift of the window field (RFC 7323 section 2).
    scale: u8,
    policy: ReceivePolicy,
}

impl Receiver {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            next: SequenceNumber(0),
            edge: SequenceNumber(0),
            buffer: config.receive_buffer,
            buffered: 0,
            ready: Fifo::default(),
            out_of_order: None,
            fin: None,
            finished: false,
            advertised: false,
            scale: 0,
            policy: ReceivePolicy::Bytes,
        }
    }

    /// The peer's SYN carried `irs`. The window in our own SYN, which is not scaled, is what we have offered so far.
    pub(crate) fn open(&mut self, irs: SequenceNumber) {
        self.next = irs + 1;
        self.edge = self.next + self.buffer.min(u32::from(u16::MAX));
    }

    pub(crate) fn set_scale(&mut self, scale: u8) {
        self.scale = scale;
    }

    pub(crate) fn set_policy(&mut self, policy: ReceivePolicy) {
        self.policy = policy;
    }

    /// RCV.NXT.
    pub(crate) fn next(&self) -> SequenceNumber {
        self.next
    }

    /// The right edge of the window as last advertised.
    pub(crate) fn edge(&self) -> SequenceNumber {
        self.edge
    }

    /// Bytes that the peer may still send.
    pub(crate) fn window(&self) -> u32 {
        self.edge.since(self.next)
    }

    /// In-order bytes that wait to be read.
    pub(crate) fn readable(&self) -> u32 {
        self.buffered
    }

    /// Whether data waits above a gap.
    pub(crate) fn has_gap(&self) -> bool {
        self.out_of_order.as_ref().is_some_and(|queue| !queue.is_empty())
    }

    /// The shift to offer: the least that lets the window field express the buffer.
    pub(crate) fn wanted_scale(buffer: u32) -> u8 {
        (0..14).find(|shift| buffer >> shift <= u32::from(u16::MAX)).unwrap_or(14)
    }

    /// The window that the free buffer allows without a silly window (RFC 1122 section 4.2.3.3): the right edge moves by
    /// at least min(buffer / 2, a segment) or not at all, and never back.
    fn offer(&self, mss: u32) -> u32 {
        let free = self.buffer.saturating_sub(self.buffered).min(u32::from(u16::MAX) << self.scale);
        let current = self.window();
        if free < current.saturating_add(mss.min((self.buffer / 2).max(1))) { current } else { free }
    }

    /// The window field of the next segment; advertises it.
    ///
    /// The field is rounded down to what its scale can express, so that the peer may believe the edge to have moved back by less
    /// than a unit; what lies up to the old edge is taken nevertheless (RFC 7323 section 2.4). Rounded up, windows would
    /// creep beyond the buffer, segment by segment.
    pub(crate) fn advertise(&mut self, mss: u32) -> u16 {
        let field = (self.offer(mss) >> self.scale).min(u32::from(u16::MAX));
        self.edge = self.edge.max(self.next + (field << self.scale));
        self.advertised = true;
        field as u16
    }

    /// The window field of a SYN, which is never scaled.
    pub(crate) fn unscaled_window(&self) -> u16 {
        self.buffer.min(u32::from(u16::MAX)) as u16
    }

    /// Whether reading has opened the window so far that the peer should hear of it.
    pub(crate) fn owes_update(&self, config: &Config, mss: u32) -> bool {
        // The small unscaled window of a SYN is no reason: the first acknowledgment opens it anyway.
        if self.finished || !self.advertised {
            return false;
        }
        let current = self.window();
        let offer = self.offer(mss);
        let growth = offer - current.min(offer);
        match config.window_update {
            WindowUpdate::TwoSegments => growth >= 2 * mss || (growth > 0 && 2 * growth >= self.buffer),
            WindowUpdate::Doubled => growth > 0 && offer >= 2 * current,
        }
    }

    /// Takes in the payload of an acceptable segment that begins at `sequence`, and its FIN.
    pub(crate) fn receive(
        &mut self,
        sequence: SequenceNumber,
        mut payload: Payload,
        fin: bool,
        pool: &mut PayloadPool,
    ) -> Arrival {
        let mut arrival = Arrival::default();
        let mut start = sequence;
        let end = sequence + payload.len();
        if self.finished {
            pool.release(payload);
            return arrival;
        }
        if fin && self.fin.is_none() && end.at_or_before(self.edge) {
            self.fin = Some(end);
        }
        if start.before(self.next) && !payload.is_empty() {
            let old = self.next.min(end);
            arrival.duplicate = Some((start, old));
            payload.trim_front(old.since(start));
            start = old;
        }
        let limit = self.fin.map_or(self.edge, |fin| fin.min(self.edge));
        if end.after(limit) {
            payload.truncate(if start.before(limit) { limit.since(start) } else { 0 });
        }
        if self.policy == ReceivePolicy::Counted && matches!(payload, Payload::Stored(_)) {
            let len = payload.len();
            pool.release(std::mem::replace(&mut payload, Payload::Virtual(len)));
        }
        self.place(start, payload, pool, &mut arrival);
        arrival
    }

    /// Puts trimmed payload where it belongs.
    fn place(
        &mut self,
        start: SequenceNumber,
        payload: Payload,
        pool: &mut PayloadPool,
        arrival: &mut Arrival,
    ) {
        if payload.is_empty() {
            pool.release(payload);
        } else if start == self.next {
            arrival.in_order = payload.len();
            self.deliver(payload);
            if self.has_gap() {
                arrival.disorder = true;
                arrival.in_order += self.drain(pool);
            }
        } else {
            arrival.disorder = true;
            arrival.out_of_order = true;
            let queue = self.out_of_order.get_or_insert_with(Box::default);
            arrival.duplicate = arrival.duplicate.or(queue.insert(start, payload, pool));
        }
        if self.fin == Some(self.next) {
            self.next += 1;
            self.edge = self.edge.max(self.next);
            self.finished = true;
            arrival.fin = true;
        }
    }

    #[inline]
    fn deliver(&mut self, payload: Payload) {
        let len = payload.len();
        self.next += len;
        self.buffered += len;
        if let Payload::Virtual(more) = payload
            && let Some(Payload::Virtual(held)) = self.ready.back_mut()
        {
            *held += more;
            return;
        }
        self.ready.push_back(payload);
    }

    /// Delivers what the filled gap has set free.
    fn drain(&mut self, pool: &mut PayloadPool) -> u32 {
        let before = self.next;
        let Some(mut queue) = self.out_of_order.take() else { return 0 };
        while let Some(mut payload) = queue.take(self.next, pool) {
            // Nothing lies beyond a FIN, whatever arrived before it.
            let room = self.fin.map_or(u32::MAX, |fin| fin.since(self.next));
            payload.truncate(room);
            if payload.is_empty() {
                pool.release(payload);
                break;
            }
            self.deliver(payload);
        }
        queue.advance(self.next);
        self.out_of_order = Some(queue);
        self.next.since(before)
    }

    /// Hands over up to `max` bytes in order.
    pub(crate) fn read(&mut self, max: u64, pool: &mut PayloadPool, sink: &mut dyn FnMut(View<'_>)) -> u64 {
        let mut left = max.min(u64::from(self.buffered)) as u32;
        let taken = left;
        while left > 0
            && let Some(mut payload) = self.ready.pop_front()
        {
            let len = payload.len().min(left);
            let mut rest = None;
            if len < payload.len() {
                let mut tail = pool.share(&payload);
                tail.trim_front(len);
                rest = Some(tail);
                payload.truncate(len);
            }
            sink(pool.view(&payload));
            pool.release(payload);
            if let Some(tail) = rest {
                self.ready.push_front(tail);
            }
            left -= len;
        }
        self.buffered -= taken;
        u64::from(taken)
    }

    /// Appends what to report of the out-of-order queue.
    pub(crate) fn report(&self, blocks: &mut SackBlocks, most: usize) {
        if let Some(queue) = &self.out_of_order {
            queue.report(blocks, most);
        }
    }

    /// Gives everything back that waits.
    pub(crate) fn release(&mut self, pool: &mut PayloadPool) {
        while let Some(payload) = self.ready.pop_front() {
            pool.release(payload);
        }
        self.buffered = 0;
        if let Some(queue) = self.out_of_order.take() {
            queue.release(pool);
        }
    }
}
