//! The sending half: what is in flight, and what an acknowledgment of it means.

mod frames;
mod path;
mod plan;
mod writes;

pub(crate) use path::{HEADERS_LEN, MIN_SEND_MSS, TIMESTAMPS_LEN};
pub(crate) use plan::Plan;

use crate::config::{Config, RttEstimator};
use crate::congestion::{AckEvent, Congestion, RttEvent};
use crate::ranges::Range;
use crate::recovery::{Agreed, Context, Recovery};
use crate::rto::Rto;
use crate::scoreboard::{Acked, Scoreboard, Sent};
use crate::send_buffer::SendBuffer;
use crate::timers;
use wasp_units::{Duration, Instant};
use wasp_wire::{Flags, SequenceNumber, TcpHeader};

/// How far our FIN has come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fin {
    /// The stream goes on.
    Open,
    /// It follows the last byte queued.
    Queued,
    /// It is in flight.
    Sent,
}

/// What the persist timer asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Probe {
    /// Nothing.
    None,
    /// A segment without data below SND.UNA, which the peer must answer with its window.
    Window,
    /// Whatever fits into the window, however little (RFC 1122 section 4.2.3.4's override).
    Data,
    /// New data whatever the congestion window, or the last segment again (RFC 8985's tail loss probe).
    Tail,
}

/// The clocks of a host, as an offset and a phase of the one time there is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clocks {
    /// Phase of the coarse timers.
    pub(crate) phase: Duration,
    /// What the timestamp clock showed at time zero.
    pub(crate) timestamp_offset: u32,
}

/// The time, and what reading it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now<'a> {
    pub(crate) at: Instant,
    pub(crate) config: &'a Config,
    pub(crate) clocks: Clocks,
}

impl<'a> Now<'a> {
    #[inline]
    pub(crate) fn new(config: &'a Config, clocks: Clocks, at: Instant) -> Self {
        Self { at, config, clocks }
    }

    /// Our timestamp clock (RFC 7323 section 5.4).
    #[inline]
    pub(crate) fn timestamp(&self) -> u32 {
        let steps = self.at.as_nanos() / self.config.timestamp_step.as_nanos();
        self.clocks.timestamp_offset.wrapping_add(steps as u32)
    }

    /// The time since our timestamp clock showed `echo`, at least a microsecond; `None` where it is no round trip.
    fn since_echo(&self, echo: u32) -> Option<Duration> {
        let steps = self.timestamp().wrapping_sub(echo);
        let rtt = self.config.timestamp_step.saturating_mul(u64::from(steps));
        (rtt <= self.config.max_rto).then(|| rtt.max(Duration::from_micros(1)))
    }
}

/// What an acknowledgment did.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Outcome {
    /// It acknowledged something new.
    pub(crate) progress: bool,
    /// The retransmission timer starts anew, or stops if nothing is in flight.
    pub(crate) restart_timer: bool,
    /// The window opened or changed.
    pub(crate) window_changed: bool,
    /// It was a duplicate.
    pub(crate) duplicate: bool,
    /// Fast recovery began.
    pub(crate) entered_recovery: bool,
    /// What was held back may be sent again.
    pub(crate) released: bool,
}

/// The send sequence space of a connection (RFC 9293 section 3.3.1) and everything that governs it.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) scoreboard: Scoreboard,
    pub(crate) congestion: Congestion,
    pub(crate) recovery: Recovery,
    pub(crate) rto: Rto,
    pub(crate) buffer: SendBuffer,
    /// SND.NXT: nothing beyond it has ever been sent.
    pub(crate) next: SequenceNumber,
    /// SND.WND in bytes, SND.WL1, SND.WL2, and the largest window seen.
    pub(crate) window: u32,
    window_sequence: SequenceNumber,
    window_acknowledgment: SequenceNumber,
    max_window: u32,
    /// Segments sent again, the SYN included, less those that the peer has reported to have received twice.
    unreported: i32,
    /// Shift of the peer's window field.
    pub(crate) scale: u8,
    /// Payload of a full segment, bytes: what the peer and the path take, less the timestamps.
    pub(crate) mss: u16,
    /// The largest packet that the path is known to carry, bytes.
    pub(crate) path_mtu: u16,
    /// MSS that the peer has offered, bytes.
    pub(crate) peer_mss: u16,
    pub(crate) fin: Fin,
    pub(crate) probe: Probe,
    /// Window probes sent since the window closed.
    pub(crate) probes: u8,
    /// Timeouts in a row without an answer.
    pub(crate) timeouts: u16,
    /// When data was last sent.
    last_data: Instant,
    /// The window has restarted after the present idle time.
    idle_counted: bool,
    /// End of the last segment that was not full (Minshall's variant of Nagle's algorithm).
    small_end: SequenceNumber,
    /// Congestion window validation: whether the window limited what was sent, the most segments in flight, and the end
    /// of the round trip that these describe.
    limited: bool,
    max_packets: u32,
    usage_end: SequenceNumber,
    /// The window stopped us since the last segment left.
    stopped: bool,
    /// Segments that have not left of a frame of several.
    frame: u16,
    /// Most segments of the frame that leaves or left last.
    framed: u16,
    /// The application has not been told yet that the send buffer is full.
    writing: bool,
    /// Memory that the send buffer may take, where it sizes itself, and the congestion window that this suffices for, bytes.
    memory_limit: u32,
    limit_window: u32,
}

impl Sender {
    /// Before the handshake: the SYN will be `iss`.
    pub(crate) fn new(config: &Config, iss: SequenceNumber) -> Self {
        let mut scoreboard = Scoreboard::default();
        scoreboard.reset(iss);
        Self {
            scoreboard,
            congestion: Congestion::new(config, u32::from(config.mss), config.initial_window),
            recovery: Recovery::new(config, Agreed::default(), iss),
            rto: Rto::new(config),
            buffer: SendBuffer::default(),
            next: iss,
            window: 0,
            window_sequence: SequenceNumber(0),
            window_acknowledgment: iss,
            max_window: 0,
            unreported: 0,
            scale: 0,
            mss: config.mss,
            path_mtu: u16::MAX,
            peer_mss: config.mss,
            fin: Fin::Open,
            probe: Probe::None,
            probes: 0,
            timeouts: 0,
            last_data: Instant::ZERO,
            idle_counted: false,
            small_end: iss,
            limited: false,
            max_packets: 0,
            usage_end: iss,
            stopped: false,
            frame: 0,
            framed: 1,
            writing: false,
            memory_limit: 0,
            limit_window: 0,
        }
    }

    /// The handshake is complete: our SYN is acknowledged. The first window is `segments`.
    pub(crate) fn establish(&mut self, now: &Now<'_>, iss: SequenceNumber, agreed: Agreed, segments: u32) {
        let first = iss + 1;
        self.scoreboard.reset(first);
        self.next = first;
        self.small_end = first;
        self.usage_end = first;
        self.recovery = Recovery::new(now.config, agreed, iss);
        self.last_data = now.at;
        self.congestion = Congestion::new(now.config, u32::from(self.mss), segments);
        self.grow_memory_limit(now.config);
        if !self.rto.is_sampled() && self.timeouts > 0 {
            self.rto.fall_back(now.config);
        }
        self.timeouts = 0;
    }

    /// SND.UNA.
    pub(crate) fn una(&self) -> SequenceNumber {
        self.scoreboard.una()
    }

    /// FlightSize: sequence numbers sent and not acknowledged.
    pub(crate) fn flight(&self) -> u32 {
        self.next.since(self.una())
    }

    /// The largest window that the peer has offered.
    pub(crate) fn max_window(&self) -> u32 {
        self.max_window
    }

    /// Takes the window of an acceptable segment (RFC 9293 section 3.10.7.4). `scale` is zero for a SYN. Call it before the
    /// acknowledgment is taken.
    #[inline]
    pub(crate) fn update_window(&mut self, header: &TcpHeader, scale: u8) -> bool {
        let (seq, ack) = (header.sequence, header.acknowledgment);
        // An acknowledgment of something new is newer too (Linux `tcp_may_update_window`), although a retransmission may carry
        // it: SND.UNA moves, and with the window of before its end would move beyond what was offered.
        let newer = ack.after(self.una())
            || self.window_sequence.before(seq)
            || (self.window_sequence == seq && self.window_acknowledgment.at_or_before(ack));
        if !newer {
            return false;
        }
        let window = u32::from(header.window) << scale;
        let changed = window != self.window;
        if window > 0 {
            self.probes = 0;
        }
        self.window = window;
        self.window_sequence = seq;
        self.window_acknowledgment = ack;
        self.max_window = self.max_window.max(window);
        changed
    }

    /// The first segment of the peer sets the window whatever came before.
    pub(crate) fn set_window(&mut self, header: &TcpHeader, scale: u8) {
        self.window_sequence = header.sequence;
        self.window_acknowledgment = header.acknowledgment;
        self.update_window(header, scale);
    }

    /// Takes in an acknowledgment between SND.UNA and SND.NXT. `len` is the segment's sequence length.
    pub(crate) fn acknowledge(&mut self, now: &Now<'_>, header: &TcpHeader, len: u32) -> Outcome {
        let repeated = self.recovery.is_probing() && self.is_repeated(header, len);
        let window_changed = self.update_window(header, self.scale);
        if self.flight() > self.window {
            // What lies beyond a window that shrank is sent in vain, but the peer lives (RFC 9293 section 3.8.6, SHLD-17).
            self.timeouts = 0;
        }
        let resent = self.scoreboard.may_have_resent();
        let by_time = if resent { self.credible_by_time(now) } else { Instant::MAX };
        let credible = if resent { credible_by_echo(now, header).min(by_time) } else { by_time };
        let mut acked = Acked::new(self.scoreboard.fack(), credible, self.recovery.high());
        let progress = header.acknowledgment.after(self.una());
        if progress {
            self.scoreboard.acknowledge(header.acknowledgment, &mut acked);
        }
        let acknowledged = acked.take_latest().filter(|_| !acked.resent);
        if !header.sack.is_empty() && self.recovery.uses_sack() {
            // What arrives above a gap is never echoed (RFC 7323 section 4.3).
            acked.credible = by_time;
            acked.report(|acked| self.take_sack(header, acked));
        }
        acked.repeated = repeated && acked.sacked == 0;
        let reported = acked.take_latest();
        self.note_round_trip(now, header, progress, reported.or(acknowledged));
        self.note_echo(header);
        let mut outcome = Outcome { progress, window_changed, ..Outcome::default() };
        let was_fast = self.recovery.is_fast();
        if progress {
            outcome.restart_timer = self.on_progress(now, header, &acked);
        } else if self.is_duplicate(header, len, window_changed, &acked) {
            outcome.duplicate = true;
            let (recovery, mut context) = self.context(now, echo(header));
            recovery.on_duplicate(&mut context, &acked);
            let may_grow = !self.recovery.uses_ecn() || self.heed_marks(now, header, &acked);
            if may_grow && acked.sacked > 0 && self.recovery.grows_by_reports() {
                self.grow(now, &acked);
            }
        } else {
            outcome.released = self.recovery.note_repetition(self.scoreboard.una(), &acked);
            if now.config.bsd_duplicate_quirk {
                self.recovery.break_run();
            }
            if self.recovery.uses_ecn() {
                self.heed_marks(now, header, &acked);
            }
        }
        if !was_fast && self.recovery.is_fast() {
            outcome.entered_recovery = true;
            outcome.restart_timer |= !self.recovery.first_restarts_timer();
            self.rto.stop_timing();
        }
        if acked.sacked > 0 && !progress {
            outcome.restart_timer |= self.recovery.first_restarts_timer() && self.first_is_later(&acked);
            self.sample(now, header, &acked);
        }
        self.check();
        outcome
    }

    /// Whether the first segment was last sent after something that is newly held. Reports of what was sent after it would put the timer
    /// off for ever (Linux `tcp_clean_rtx_queue`).
    fn first_is_later(&self, acked: &Acked) -> bool {
        let first = self.scoreboard.get(0).map(|(_, first)| Sent::new(&first));
        acked.earliest.zip(first).is_some_and(|(held, first)| first.after(held))
    }

    /// Nothing is in flight and the acknowledgment says so: only the window may be news. Returns whether it was. `len` is the segment's
    /// sequence length.
    #[inline]
    pub(crate) fn acknowledge_nothing(&mut self, header: &TcpHeader, len: u32) -> bool {
        // The answer to a window probe, perhaps: the peer lives.
        self.timeouts = 0;
        let sent_twice = self.sent_twice(header);
        if self.recovery.has_rack_state() {
            let acked = Acked::of_nothing(sent_twice, self.is_repeated(header, len));
            let una = self.una();
            self.note_echo(header);
            self.recovery.on_repeated(&mut self.congestion, u32::from(self.mss), una, &acked);
        }
        self.update_window(header, self.scale)
    }

    /// Whether a segment of the sequence length `len` does nothing but repeat an acknowledgment, as far as its header tells (Linux
    /// `tcp_may_update_window`, to which a closed window is an update, too). Call it before the window is taken.
    #[inline]
    fn is_repeated(&self, header: &TcpHeader, len: u32) -> bool {
        let window = u32::from(header.window) << self.scale;
        let changed = window > self.window || window == 0;
        let updates = self.window_sequence.before(header.sequence)
            || (self.window_sequence == header.sequence && changed);
        len == 0 && header.acknowledgment == self.una() && !updates
    }

    /// A retransmission sent later than this is not what is answered now: it would have taken less than any round trip so far
    /// (RFC 8985 section 6.2 step 2).
    fn credible_by_time(&self, now: &Now<'_>) -> Instant {
        Instant::ZERO + now.at.saturating_since(Instant::ZERO + self.rto.min_rtt())
    }

    /// Tells congestion control how long the last segment took of which there is news, sent at `sent` and only then; else the answer to
    /// the timestamp that is echoed, if something new is acknowledged (Linux `tcp_ack_update_rtt`).
    #[inline]
    fn note_round_trip(&mut self, now: &Now<'_>, header: &TcpHeader, progress: bool, sent: Option<Instant>) {
        let by_echo = || echo(header).filter(|_| progress).and_then(|echo| now.since_echo(echo));
        let rtt = sent.map(|sent| now.at.saturating_since(sent)).or_else(by_echo);
        if let Some(rtt) = rtt {
            let event = RttEvent { rtt, una: self.una(), next: self.next };
            self.congestion.on_rtt(u32::from(self.mss), now.at, event);
        }
    }

    /// Something new was acknowledged. Returns whether the timer restarts.
    #[inline]
    fn on_progress(&mut self, now: &Now<'_>, header: &TcpHeader, acked: &Acked) -> bool {
        self.timeouts = 0;
        self.sample(now, header, acked);
        let fin = self.fin == Fin::Sent && self.una() == self.next;
        self.buffer.acknowledge(acked.bytes - u32::from(fin));
        let (recovery, mut context) = self.context(now, echo(header));
        let verdict = recovery.on_ack(&mut context, acked);
        let may_grow = !self.recovery.uses_ecn() || self.heed_marks(now, header, acked);
        if may_grow && verdict.grow {
            self.grow(now, acked);
        }
        verdict.restart_timer
    }

    /// The window stays reduced if an acknowledgment that is to be taken in echoes a mark.
    #[inline]
    fn note_echo(&mut self, header: &TcpHeader) {
        if self.recovery.uses_ecn() && header.flags.contains(Flags::ECE) {
            self.recovery.note_echo();
        }
    }

    /// What an acknowledgment says of marks, once recovery has taken it in; for connections with ECN. Returns whether the window may grow
    /// with it.
    #[inline(never)]
    fn heed_marks(&mut self, now: &Now<'_>, header: &TcpHeader, acked: &Acked) -> bool {
        let echoed = header.flags.contains(Flags::ECE);
        let (recovery, mut context) = self.context(now, None);
        recovery.heed_marks(&mut context, acked, echoed)
    }

    /// The window grows if it was in use.
    #[inline]
    fn grow(&mut self, now: &Now<'_>, acked: &Acked) {
        if !self.window_in_use(now.config) {
            return;
        }
        // What had been selectively acknowledged has left the network before, and has counted then, if ever (Linux
        // `tcp_cong_avoid` by `acked_sacked`).
        let event = AckEvent {
            bytes: acked.delivered(),
            segments: acked.delivered_segments().max(1),
            una: self.scoreboard.una(),
            next: self.next,
            rtt: acked.sample().map(|sent| now.at.saturating_since(sent)),
            rto: &self.rto,
        };
        self.congestion.on_ack(now.config, u32::from(self.mss), now.at, event);
    }

    fn context<'a>(&'a mut self, now: &Now<'a>, echo: Option<u32>) -> (&'a mut Recovery, Context<'a>) {
        let unsent = self.buffer.unsent() > 0 || self.fin_follows();
        let context = Context {
            config: now.config,
            mss: u32::from(self.mss),
            now: now.at,
            echo,
            next: self.next,
            send_window: self.window,
            may_send_new: unsent && self.window > self.flight(),
            rto: &self.rto,
            scoreboard: &mut self.scoreboard,
            congestion: &mut self.congestion,
        };
        (&mut self.recovery, context)
    }

    /// Marks what the receiver reports. Blocks at or below SND.UNA are D-SACKs; impossible ones are ignored.
    fn take_sack(&mut self, header: &TcpHeader, acked: &mut Acked) {
        let una = self.una();
        acked.duplicate = self.sent_twice(header);
        if let Some(range) = acked.duplicate {
            self.scoreboard.arrived_twice(range, acked);
        }
        for &(left, right) in header.sack.as_slice() {
            let sensible = left.before(right) && right.at_or_before(self.next);
            if sensible && left.after(una) {
                self.scoreboard.sack(left, right, acked);
            }
        }
    }

    /// The range that the peer reports to have received twice, if it may have been sent twice. If the peer has reported more segments than were sent
    /// again, or reports more than it ever offered to take, the network has made copies (Linux `tcp_dsack_seen`).
    fn sent_twice(&mut self, header: &TcpHeader) -> Option<Range> {
        let (left, right) = duplicate_report(header)?;
        let bytes = right.since(left);
        if !left.before(right) || bytes > self.max_window {
            return None;
        }
        let segments = bytes.div_ceil(u32::from(self.mss)) as i32;
        self.unreported = self.unreported.saturating_sub(segments);
        (self.unreported >= 0).then_some((left, right))
    }

    /// A segment leaves once more.
    pub(crate) fn note_resent(&mut self) {
        self.unreported = self.unreported.saturating_add(1);
    }

    /// RFC 6675 section 2 with selective acknowledgments, else RFC 5681 section 2: data outstanding, no payload, no SYN
    /// or FIN, the same acknowledgment and the same window.
    fn is_duplicate(&self, header: &TcpHeader, len: u32, window_changed: bool, acked: &Acked) -> bool {
        if self.recovery.uses_sack() {
            return acked.sacked > 0 || (acked.duplicate.is_some() && self.recovery.heeds_duplicates());
        }
        header.acknowledgment == self.una() && !self.scoreboard.is_empty() && len == 0 && !window_changed
    }

    /// Takes a round-trip sample where there is one: of segments sent once (Karn), else by timestamps (RFC 7323 section
    /// 4); BSD times one segment at a time unless there are timestamps.
    #[inline]
    fn sample(&mut self, now: &Now<'_>, header: &TcpHeader, acked: &Acked) {
        let (una, next) = (self.una(), self.next);
        if let Some(sent) = acked.sample() {
            self.rto.note_rtt(now.at.saturating_since(sent));
        }
        if now.config.rtt_estimator == RttEstimator::Bsd && header.timestamps.is_none() {
            if let Some(ticks) = self.rto.timed_ticks(una, now.at, now.config, now.clocks.phase) {
                self.rto.sample_ticks(now.config, ticks);
            }
        } else if let Some(sent) = acked.sample() {
            self.rto.sample(now.config, now.at.saturating_since(sent), una, next);
        } else if let Some(timestamps) = header.timestamps
            && acked.bytes > 0
        {
            self.sample_echo(now, timestamps.echo);
        }
    }

    /// A sample by the timestamp that the peer echoes (Linux `tcp_ack_update_rtt`).
    pub(crate) fn sample_echo(&mut self, now: &Now<'_>, echo: u32) {
        if echo != 0
            && let Some(rtt) = now.since_echo(echo)
        {
            let (una, next) = (self.una(), self.next);
            self.rto.note_rtt(rtt);
            self.rto.sample(now.config, rtt, una, next);
        }
    }

    /// The congestion window limited what was sent in the last round trip (Linux `tcp_is_cwnd_limited`).
    #[inline]
    fn window_in_use(&self, config: &Config) -> bool {
        if !config.congestion_window_validation || self.limited {
            return true;
        }
        let used = u64::from(self.max_packets) * u64::from(self.mss);
        self.congestion.in_slow_start() && u64::from(self.congestion.window()) < 2 * used
    }

    /// Nothing more can leave now, after something was `sent` or nothing: notes how much of the congestion window was used (Linux
    /// `tcp_cwnd_validate`).
    pub(crate) fn note_usage(&mut self, sent: bool) {
        if !sent && self.buffer.unsent() == 0 {
            return;
        }
        let full = self.scoreboard.pipe().saturating_add(u32::from(self.mss)) > self.congestion.window();
        let limited = self.stopped || full;
        if !sent && !limited {
            return;
        }
        let packets = self.scoreboard.len() as u32;
        if self.una().at_or_after(self.usage_end) || limited || (!self.limited && packets > self.max_packets)
        {
            self.limited = limited;
            self.max_packets = packets;
            self.usage_end = self.next;
        }
    }

    /// The retransmission timer expired. Returns false when it is time to give up.
    pub(crate) fn on_timeout(&mut self, now: &Now<'_>) -> bool {
        self.timeouts = self.timeouts.saturating_add(1);
        if u32::from(self.timeouts) > now.config.retries {
            return false;
        }
        let first = self.timeouts == 1;
        let (recovery, mut context) = self.context(now, None);
        recovery.on_timeout(&mut context, first);
        self.rto.back_off(now.config);
        self.rto.stop_timing();
        self.check();
        true
    }

    /// How long RACK's reordering timer has to wait, if it is to run: at most the retransmission timeout.
    #[inline]
    pub(crate) fn reordering_wait(&self, now: &Now<'_>) -> Option<Duration> {
        let deadline = self.recovery.reordering_deadline()?;
        let wait = deadline.saturating_since(now.at) + timers::slack(now.config);
        Some(wait.min(self.rto.current(now.config)))
    }

    /// How long to wait before the end of the flight is probed, at most the retransmission timeout; `None` when it is not to be
    /// (Linux `tcp_schedule_loss_probe`). Where the timeout does not start `anew`, it counts from when the first segment last left,
    /// unless it is over.
    #[inline]
    pub(crate) fn probe_wait(&self, now: &Now<'_>, anew: bool) -> Option<Duration> {
        let wait = self.recovery.probe_timeout(now.config, &self.rto, &self.scoreboard)?;
        let left = if anew { self.rto.current(now.config) } else { self.timeout_left(now)? };
        Some(if left.is_zero() { wait } else { wait.min(left) })
    }

    /// What is left of the retransmission timeout, had its timer run since the first segment last left (Linux `tcp_rto_delta_us`);
    /// `None` with nothing in flight.
    pub(crate) fn timeout_left(&self, now: &Now<'_>) -> Option<Duration> {
        let (_, first) = self.scoreboard.get(0)?;
        Some(first.sent_at.saturating_add(self.rto.current(now.config)).saturating_since(now.at))
    }

    /// The end of the flight is to be probed.
    pub(crate) fn on_probe_timeout(&mut self) {
        self.probe = Probe::Tail;
    }

    /// RACK's reordering timer fired. Returns whether fast recovery began.
    pub(crate) fn on_reordering_timeout(&mut self, now: &Now<'_>) -> bool {
        let was_fast = self.recovery.is_fast();
        let (recovery, mut context) = self.context(now, None);
        recovery.on_reordering_timeout(&mut context);
        self.check();
        !was_fast && self.recovery.is_fast()
    }

    /// The persist timer expired: the next segment is a probe. Returns false when it is time to give up.
    pub(crate) fn on_persist(&mut self, now: &Now<'_>) -> bool {
        self.timeouts = self.timeouts.saturating_add(1);
        self.probes = self.probes.saturating_add(1);
        self.probe = if self.window > 0 { Probe::Data } else { Probe::Window };
        u32::from(self.timeouts) <= now.config.retries
    }

    /// How long to wait before the next probe: the RTO, doubled for each probe, within the limits.
    pub(crate) fn persist_interval(&self, config: &Config) -> Duration {
        let interval = self.rto.current(config).saturating_mul(1 << self.probes.min(20));
        interval.max(config.min_persist).min(config.max_persist)
    }

    #[inline]
    fn check(&self) {
        #[cfg(debug_assertions)]
        {
            self.scoreboard.check();
            debug_assert!(self.una().at_or_before(self.next), "acknowledged is at most sent");
            debug_assert!(self.congestion.window() >= u32::from(self.mss), "cwnd is at least a segment");
        }
    }
}

/// The timestamp that the peer echoes; zero is none (Linux `tcp_tsopt_ecr_before`).
#[inline]
fn echo(header: &TcpHeader) -> Option<u32> {
    header.timestamps.map(|timestamps| timestamps.echo).filter(|echo| *echo != 0)
}

/// A segment sent later than this has a later timestamp than the one echoed, so that `header` does not acknowledge it (RFC 8985
/// section 6.2 step 2; Linux `tcp_skb_spurious_retrans`).
fn credible_by_echo(now: &Now<'_>, header: &TcpHeader) -> Instant {
    let Some(echo) = echo(header) else { return Instant::MAX };
    let steps = now.timestamp().wrapping_sub(echo);
    let step = now.config.timestamp_step.as_nanos();
    let until = (now.at.as_nanos() / step + 1).saturating_sub(u64::from(steps)).saturating_mul(step);
    Instant::from_nanos(until.saturating_sub(1))
}

/// The range that a D-SACK reports: its first block lies at or below the acknowledgment, or within the second block (RFC 2883
/// section 4).
#[inline]
fn duplicate_report(header: &TcpHeader) -> Option<Range> {
    let &first = header.sack.as_slice().first()?;
    let below = first.1.at_or_before(header.acknowledgment);
    let within = |second: &Range| second.0.at_or_before(first.0) && first.1.at_or_before(second.1);
    (below || header.sack.as_slice().get(1).is_some_and(within)).then_some(first)
}

#[cfg(test)]
mod tests;
