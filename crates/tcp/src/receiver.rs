//! The receiving half: what is in order, what may still come, and the window that says so.

use crate::config::{Config, ReceiveBuffer, WindowUpdate};
use crate::fifo::Fifo;
use crate::ranges::Range;
use crate::reassembly::Reassembly;
use crate::tuning::{LEAST_GROWING, Tuning, Window};
use crate::types::ReceivePolicy;
use wasp_packet::{Payload, PayloadPool, View};
use wasp_units::Instant;
use wasp_wire::{SackBlocks, SequenceNumber};

/// What an arriving segment did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrival {
    /// Bytes that became readable.
    pub(crate) in_order: u32,
    /// The segment left or filled a gap, in part or whole: RFC 5681 section 4.2 has it acknowledged at once.
    pub(crate) disorder: bool,
    /// Payload lay above a gap.
    pub(crate) out_of_order: bool,
    /// Some of it was new.
    pub(crate) kept: bool,
    /// Payload that we held already.
    pub(crate) duplicate: Option<Range>,
    /// The FIN is in order now.
    pub(crate) fin: bool,
}

/// The size of the buffer.
#[derive(Debug)]
enum Size {
    /// In bytes of payload.
    Fixed(u32),
    Tuned(Tuning),
}

/// The receive sequence space of a connection (RFC 9293 section 3.3.1).
#[derive(Debug)]
pub(crate) struct Receiver {
    /// RCV.NXT.
    next: SequenceNumber,
    /// RCV.NXT + RCV.WND as last advertised; it never moves back.
    edge: SequenceNumber,
    /// Bytes that wait to be read.
    buffered: u32,
    size: Size,
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
            buffered: 0,
            size: match config.receive_buffer {
                ReceiveBuffer::Fixed(bytes) => Size::Fixed(bytes),
                ReceiveBuffer::Tuned { most } => Size::Tuned(Tuning::new(most, config.mss)),
            },
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
        self.edge = self.next + u32::from(self.unscaled_window());
    }

    /// The peer opened, and its segments will hold `segment` bytes; our SYN is not sent yet.
    pub(crate) fn set_segment(&mut self, segment: u16) {
        if let Size::Tuned(tuning) = &mut self.size {
            tuning.set_segment(segment);
        }
    }

    /// The connection is established.
    pub(crate) fn establish(&mut self, now: Instant, segment: u16) {
        if let Size::Tuned(tuning) = &mut self.size {
            tuning.establish(now, segment, self.next, self.scale);
        }
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

    /// The first piece of what waits to be read.
    pub(crate) fn first(&self) -> Option<&Payload> {
        self.ready.front()
    }

    /// Whether data, or a FIN, waits above a gap.
    pub(crate) fn has_gap(&self) -> bool {
        self.out_of_order.as_ref().is_some_and(|queue| !queue.is_empty())
    }

    /// Bytes between the first gap and the end of what has arrived.
    fn beyond(&self) -> u32 {
        let end = self.out_of_order.as_ref().and_then(|queue| queue.end());
        end.filter(|end| end.after(self.next)).map_or(0, |end| end.since(self.next))
    }

    /// Ranges above the first gap that a report would hold.
    pub(crate) fn reported(&self) -> usize {
        self.out_of_order.as_ref().map_or(0, |queue| queue.reported())
    }

    /// Nothing is held, in order or not.
    pub(crate) fn is_empty(&self) -> bool {
        self.buffered == 0 && !self.has_gap()
    }

    /// Whether the buffer sizes itself.
    pub(crate) fn tuning(&mut self) -> Option<&mut Tuning> {
        match &mut self.size {
            Size::Fixed(_) => None,
            Size::Tuned(tuning) => Some(tuning),
        }
    }

    /// The receiver's round-trip time in microseconds, where it is measured; zero before the first sample.
    pub(crate) fn rtt(&self) -> Option<u32> {
        match &self.size {
            Size::Fixed(_) => None,
            Size::Tuned(tuning) => Some(tuning.rtt()),
        }
    }

    /// A full segment echoes a timestamp that is `rtt` microseconds old.
    #[inline]
    pub(crate) fn time_echo(&mut self, rtt: u32) {
        let waiting = self.buffered > 0;
        if let Size::Tuned(tuning) = &mut self.size {
            tuning.time_echo(rtt, waiting);
        }
    }

    /// `len` bytes of payload have arrived; `mss` is the largest segment so far. Returns whether the window may grow for it.
    #[inline]
    pub(crate) fn tune(
        &mut self,
        config: &Config,
        now: Instant,
        arrival: &Arrival,
        len: u32,
        mss: u32,
        sack: bool,
    ) -> bool {
        let beyond = if arrival.out_of_order { self.beyond() } else { 0 };
        let (Size::Tuned(tuning), ReceiveBuffer::Tuned { most }) = (&mut self.size, config.receive_buffer)
        else {
            return false;
        };
        if arrival.out_of_order {
            if !arrival.kept {
                return false;
            }
            // Without selective acknowledgments the window stays, so that the acknowledgments are duplicates.
            let grown = sack && tuning.grow(len, mss, most);
            tuning.take(len);
            tuning.on_gap(beyond, most);
            return grown;
        }
        tuning.take(len);
        tuning.time_window(now, self.next);
        len >= LEAST_GROWING && tuning.grow(len, mss, most)
    }

    /// The window that the free buffer allows without a silly window (RFC 1122 section 4.2.3.3): the right edge of one that is fixed moves
    /// by at least min(buffer / 2, a segment) or not at all, and never back.
    fn offer(&self, config: &Config, seen: u32) -> Window {
        let buffer = match &self.size {
            Size::Fixed(buffer) => *buffer,
            Size::Tuned(tuning) => return tuning.select(seen, self.scale),
        };
        let free = buffer.saturating_sub(self.buffered).min(u32::from(u16::MAX) << self.scale);
        let current = self.window();
        let step = u32::from(config.mss).min((buffer / 2).max(1));
        let bytes = if free < current.saturating_add(step) { current } else { free };
        Window { bytes, tight: false }
    }

    /// The window field of the next segment; advertises it. `seen` is the largest segment so far. Returns also whether the buffer is
    /// more than half full.
    ///
    /// The field of a fixed buffer is rounded down to what its scale can express, so that the peer may believe the edge to have
    /// moved back by less than a unit; what lies up to the old edge is taken nevertheless (RFC 7323 section 2.4). Rounded up,
    /// windows would creep beyond the buffer, segment by segment. Linux rounds up, but a buffer that sizes itself has room.
    pub(crate) fn advertise(&mut self, config: &Config, seen: u32) -> (u16, bool) {
        let Window { mut bytes, tight } = self.offer(config, seen);
        let current = self.window();
        if let Size::Tuned(tuning) = &mut self.size {
            if bytes < current {
                let unit = (1 << self.scale) - 1;
                bytes = (current + unit) & !unit;
            }
            tuning.advertise(bytes);
        }
        let field = (bytes >> self.scale).min(u32::from(u16::MAX));
        self.edge = self.edge.max(self.next + (field << self.scale));
        self.advertised = true;
        (field as u16, tight)
    }

    /// The window field of a SYN, which is never scaled.
    pub(crate) fn unscaled_window(&self) -> u16 {
        match &self.size {
            Size::Fixed(buffer) => (*buffer).min(u32::from(u16::MAX)) as u16,
            Size::Tuned(tuning) => tuning.first_window() as u16,
        }
    }

    /// The window last advertised, from the acknowledgment `sent` that advertised it.
    pub(crate) fn offered(&self, sent: SequenceNumber) -> u32 {
        match &self.size {
            Size::Fixed(_) => self.edge.since(sent),
            Size::Tuned(tuning) => tuning.offered(),
        }
    }

    /// Whether an acknowledgment now would leave the window as large as the last one did: if not, the application shall read first
    /// (Linux `__tcp_ack_snd_check`). And whether the buffer is more than half full.
    pub(crate) fn keeps_up(&self, config: &Config, seen: u32) -> (bool, bool) {
        match &self.size {
            Size::Fixed(_) => (true, false),
            Size::Tuned(tuning) => {
                let Window { bytes, tight } = self.offer(config, seen);
                (bytes >= tuning.offered(), tight)
            }
        }
    }

    /// Whether reading has opened the window so far that the peer should hear of it.
    pub(crate) fn owes_update(&self, config: &Config, seen: u32) -> bool {
        // The small unscaled window of a SYN is no reason: the first acknowledgment opens it anyway.
        if self.finished || !self.advertised {
            return false;
        }
        let current = self.window();
        let buffer = match &self.size {
            Size::Fixed(buffer) => *buffer,
            Size::Tuned(tuning) => {
                let doubled = tuning.may_double(current).then(|| self.offer(config, seen).bytes);
                return doubled.is_some_and(|offer| offer > 0 && offer >= 2 * current);
            }
        };
        let offer = self.offer(config, seen).bytes;
        let growth = offer - current.min(offer);
        match config.window_update {
            WindowUpdate::TwoSegments => {
                growth >= 2 * u32::from(config.mss) || (growth > 0 && 2 * growth >= buffer)
            }
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
        let fin = fin && self.fin == Some(end) && payload.len() == end.since(start);
        self.place(start, payload, fin, pool, &mut arrival);
        arrival
    }

    /// Puts trimmed payload, and the `fin` behind it, where they belong.
    fn place(
        &mut self,
        start: SequenceNumber,
        payload: Payload,
        fin: bool,
        pool: &mut PayloadPool,
        arrival: &mut Arrival,
    ) {
        let above = start != self.next;
        if payload.is_empty() && !(fin && above) {
            pool.release(payload);
        } else if !above {
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
            let before = queue.len();
            arrival.duplicate = arrival.duplicate.or(queue.insert(start, payload, fin, pool));
            arrival.kept = queue.len() > before;
        }
        if self.fin == Some(self.next) {
            self.next += 1;
            self.edge = self.edge.max(self.next);
            self.finished = true;
            arrival.fin = true;
            if let Some(queue) = &mut self.out_of_order {
                queue.advance(self.next);
            }
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

    /// Hands over up to `max` bytes in order. `seen` is the largest segment so far.
    pub(crate) fn read(
        &mut self,
        config: &Config,
        now: Instant,
        seen: u32,
        max: u64,
        pool: &mut PayloadPool,
        sink: &mut dyn FnMut(View<'_>),
    ) -> u64 {
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
        let beyond = self.beyond();
        let held = self.buffered + self.out_of_order.as_ref().map_or(0, |queue| queue.len());
        if let (Size::Tuned(tuning), ReceiveBuffer::Tuned { most }) = (&mut self.size, config.receive_buffer)
            && taken > 0
        {
            tuning.give_back(taken, held);
            // Linux looks after each segment that it hands over: the first one counts, since no time passes between them.
            let waiting = self.buffered - taken.min(seen);
            tuning.on_read(now, self.next - waiting, waiting, beyond, most);
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

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u16 = 1_000;

    /// A receiver with so many bytes waiting, which has told the peer of its window.
    fn holding(buffer: u32, window_update: WindowUpdate, waiting: u32) -> (Receiver, Config, PayloadPool) {
        let receive_buffer = ReceiveBuffer::Fixed(buffer);
        let config = Config { receive_buffer, window_update, mss: MSS, ..Config::linux() };
        let mut pool = PayloadPool::new(1 << 20);
        let mut receiver = Receiver::new(&config);
        receiver.open(SequenceNumber(0));
        receiver.receive(SequenceNumber(1), Payload::Virtual(waiting), false, &mut pool);
        receiver.advertise(&config, u32::from(MSS));
        (receiver, config, pool)
    }

    /// After how many bytes read the peer hears of the window.
    fn read_before_an_update(buffer: u32, window_update: WindowUpdate, waiting: u32) -> Option<u32> {
        let (mut receiver, config, mut pool) = holding(buffer, window_update, waiting);
        let seen = u32::from(MSS);
        (0..=waiting).find(|read| {
            if *read > 0 {
                receiver.read(&config, Instant::ZERO, seen, 1, &mut pool, &mut |_| {});
            }
            receiver.owes_update(&config, seen)
        })
    }

    #[test]
    fn two_segments_or_half_the_buffer_are_worth_an_update() {
        assert_eq!(read_before_an_update(8_000, WindowUpdate::TwoSegments, 6_000), Some(2_000));
        assert_eq!(read_before_an_update(8_000, WindowUpdate::TwoSegments, 8_000), Some(2_000));
        assert_eq!(read_before_an_update(3_000, WindowUpdate::TwoSegments, 3_000), Some(1_500));
        assert_eq!(read_before_an_update(8_000, WindowUpdate::TwoSegments, 1_500), None);
    }

    #[test]
    fn a_window_twice_as_large_is_worth_an_update() {
        assert_eq!(read_before_an_update(8_000, WindowUpdate::Doubled, 6_000), Some(2_000));
        // A closed window opens by a segment, or by half a small buffer.
        assert_eq!(read_before_an_update(8_000, WindowUpdate::Doubled, 8_000), Some(1_000));
        assert_eq!(read_before_an_update(1_000, WindowUpdate::Doubled, 1_000), Some(500));
        assert_eq!(read_before_an_update(8_000, WindowUpdate::Doubled, 3_000), None);
    }

    #[test]
    fn the_window_opens_by_a_segment_or_not_at_all() {
        let (mut receiver, config, mut pool) = holding(8_000, WindowUpdate::TwoSegments, 8_000);
        let mut edge_after = |read| {
            receiver.read(&config, Instant::ZERO, 1_000, read, &mut pool, &mut |_| {});
            receiver.advertise(&config, 1_000).0
        };
        assert_eq!(
            [edge_after(999), edge_after(1), edge_after(999), edge_after(1)],
            [0, 1_000, 1_000, 2_000]
        );
    }

    #[test]
    fn the_first_piece_waits_to_be_read() {
        let (receiver, ..) = holding(8_000, WindowUpdate::TwoSegments, 700);
        assert_eq!(receiver.first(), Some(&Payload::Virtual(700)));
    }

    /// A receiver whose buffer sizes itself, with a window in units of 128 bytes.
    fn tuned() -> (Receiver, Config, PayloadPool) {
        let config = Config { mss: MSS, ..Config::linux() };
        let mut receiver = Receiver::new(&config);
        receiver.open(SequenceNumber(0));
        receiver.set_scale(7);
        receiver.establish(Instant::ZERO, MSS);
        receiver.advertise(&config, u32::from(MSS));
        (receiver, config, PayloadPool::new(1 << 20))
    }

    #[test]
    fn the_round_trip_time_only_falls_while_data_waits_to_be_read() {
        let (mut receiver, config, mut pool) = tuned();
        receiver.time_echo(80_000);
        receiver.receive(SequenceNumber(1), Payload::Virtual(500), false, &mut pool);
        receiver.time_echo(160_000);
        assert_eq!(receiver.rtt(), Some(80_000));
        receiver.read(&config, Instant::ZERO, 500, 500, &mut pool, &mut |_| {});
        // Seven eighths and an eighth.
        receiver.time_echo(160_000);
        assert_eq!(receiver.rtt(), Some(90_000));
    }

    #[test]
    fn a_read_of_no_bytes_does_not_begin_a_measurement() {
        let (mut receiver, config, mut pool) = tuned();
        receiver.time_echo(80_000);
        let before = format!("{:?}", receiver.tuning());
        let later = Instant::ZERO + wasp_units::Duration::from_secs(1);
        receiver.read(&config, later, 500, 0, &mut pool, &mut |_| {});
        assert_eq!(format!("{:?}", receiver.tuning()), before);
    }

    #[test]
    fn a_closed_window_that_stays_closed_is_worth_no_update() {
        let (mut receiver, config, mut pool) = tuned();
        let seen = u32::from(MSS);
        while receiver.window() > 0 {
            let len = receiver.window().min(seen);
            let arrival = receiver.receive(receiver.next(), Payload::Virtual(len), false, &mut pool);
            receiver.tune(&config, Instant::ZERO, &arrival, len, seen, true);
            receiver.advertise(&config, seen);
        }
        receiver.read(&config, Instant::ZERO, seen, 1, &mut pool, &mut |_| {});
        assert!(!receiver.owes_update(&config, seen));
    }

    #[test]
    fn a_fin_beyond_the_window_is_not_held() {
        let (mut receiver, _, mut pool) = holding(8_000, WindowUpdate::TwoSegments, 0);
        let arrival = receiver.receive(SequenceNumber(5_001), Payload::Virtual(4_000), true, &mut pool);
        assert!(arrival.kept);
        let mut blocks = SackBlocks::default();
        receiver.report(&mut blocks, 3);
        assert_eq!(blocks.as_slice(), [(SequenceNumber(5_001), SequenceNumber(8_001))]);
    }

    #[test]
    fn what_arrives_a_second_time_above_a_gap_is_not_kept() {
        let (mut receiver, _, mut pool) = holding(8_000, WindowUpdate::TwoSegments, 0);
        for kept in [true, false] {
            let arrival = receiver.receive(SequenceNumber(3_001), Payload::Virtual(1_000), false, &mut pool);
            assert_eq!((arrival.kept, arrival.duplicate.is_some()), (kept, !kept));
        }
    }

    #[test]
    fn a_fin_alone_leaves_nothing_to_read() {
        let (mut receiver, _, mut pool) = holding(8_000, WindowUpdate::TwoSegments, 0);
        receiver.receive(SequenceNumber(1), Payload::Virtual(0), true, &mut pool);
        assert_eq!(receiver.first(), None);
    }

    #[test]
    fn data_behind_a_fin_makes_no_gap() {
        let (mut receiver, _, mut pool) = holding(8_000, WindowUpdate::TwoSegments, 0);
        receiver.receive(SequenceNumber(1_001), Payload::Virtual(0), true, &mut pool);
        let arrival = receiver.receive(SequenceNumber(1_501), Payload::Virtual(500), false, &mut pool);
        assert!(!arrival.disorder);
    }

    /// Linux `tcp_data_queue_ofo` and `tcp_rcvbuf_grow`.
    #[test]
    fn what_waits_above_a_gap_lets_the_window_grow_beyond_the_first_clamp() {
        let (mut receiver, config, mut pool) = tuned();
        for start in [60_001, 61_001] {
            let arrival = receiver.receive(SequenceNumber(start), Payload::Virtual(1_000), false, &mut pool);
            receiver.tune(&config, Instant::ZERO, &arrival, 1_000, 1_000, true);
        }
        // The window was a segment less than half of 131,072 bytes, 64,536. The first of these makes room for 81,000 bytes: twice ten
        // segments, and 61,000 above the gap. The second one widens the window by two segments, in units of 128 bytes.
        assert_eq!(receiver.advertise(&config, 1_000), (66_536_u32.div_ceil(128) as u16, false));
    }

    /// Linux `tcp_event_data_recv` and `tcp_data_queue_ofo`.
    #[test]
    fn small_segments_widen_the_window_only_above_a_gap() {
        for (len, in_order, above) in [(127, false, true), (128, true, true)] {
            for (start, grows) in [(1, in_order), (3_001, above)] {
                let (mut receiver, config, mut pool) = tuned();
                // With half of the memory for payload the window is at its clamp already.
                receiver.tuning().expect("tuned").on_larger_segment(1_448);
                let arrival =
                    receiver.receive(SequenceNumber(start), Payload::Virtual(len), false, &mut pool);
                let grown = receiver.tune(&config, Instant::ZERO, &arrival, len, u32::from(MSS), true);
                assert_eq!(grown, grows, "{len} {start}");
            }
        }
    }
}
