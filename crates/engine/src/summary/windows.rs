//! Whether the congestion windows of kept connections had forgotten how they began.
//!
//! A connection begins with a window that no loss has made smaller yet, and slow start may make it larger than it will ever be again. In the long run its
//! losses decide: each takes the window to a part of what it was, and from then on it grows. An interval of seconds may lie before the first few losses
//! of most connections. Whether it does follows from how often the connections had lost data, and from what TCP's congestion control does then. How long
//! the interval is does not matter: what is needed is a longer warm-up.

use super::censoring::LENGTHS;
use super::first_losses::{FirstLosses, by_loss_events, sum};
use super::reason::Said;
use super::sender::Sender;
use super::{Lengths, Part};
use crate::build::GroupPaths;
use crate::ledger::{CLASSES, GroupLedger, History};
use crate::scenario::Group;
use crate::{Mode, Scenario};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::sync::Arc;
use wasp_net::queue::QueueConfig;
use wasp_net::{Direction, LinkConfig};
use wasp_tcp::ReceiveBuffer;
use wasp_units::{Bytes, Rate};

/// Least `ok` transactions of a run to judge by.
const LEAST: u64 = 20;
/// What is too much of the product that says how much the beginning of the connections may decide. Where it was this, throughput was off by 3 to 6 %
/// (`docs/statistics.md`).
const MOST: f64 = 0.055;
/// Share of its time in which a window recovers from a loss that counts as all of it.
const ALWAYS: f64 = 0.5;
/// By how much responses must become slower than they were for that to count in full.
const SLOWER: f64 = 0.1;
/// Effect of the first losses that is none.
const NO_EFFECT: f64 = 0.025;
/// Loss events that a window takes, once it has come down to what it will be, to vary as it will.
const TO_MIX: f64 = 3.0;
/// Part of the loss events that are needed of which the effect tells that of all.
const TELLING: f64 = 0.6;
/// Headers of a segment of data with timestamps, bytes, and those without, which an MSS counts with.
const HEADERS: f64 = 52.0;
const LEAST_HEADERS: f64 = 40.0;

/// What losses had done to the congestion windows of a group's kept connections.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CongestionWindows {
    /// Loss events after which the window of a connection tells nothing of its beginning.
    pub needed: f64,
    /// Share of the `ok` transactions whose connection had had fewer.
    pub fewer: f64,
    /// Time that a window needs to recover from a loss event, over the time that responses take between two of them.
    pub recovering: f64,
    /// Time that a response takes with the windows of the long run, by a rule of thumb that gives rather too much, over the mean time that it took.
    pub slower: f64,
    /// What the first losses of a connection did to its response times; none where too few connections had had as many.
    pub effect: Option<FirstLosses>,
    /// Whether too many of the response times are those of windows that tell of their beginning.
    pub unsettled: bool,
    /// Length of the warm-up in seconds after which few connections would have had fewer; none if the warm-up did, or no length does.
    pub enough_warmup_s: Option<f64>,
}

/// What is known of a group beside what its transactions did.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Connections that its clients have, one for each client in an open loop: arrivals take another only while the first is busy.
    connections: f64,
    /// Requests on a connection that wait for their responses.
    pipeline: f64,
    /// Requests before a connection is closed; none keeps it for ever.
    requests: Option<u32>,
    sender: Sender,
    /// Payload of a segment, bytes.
    mss: f64,
    /// Least round-trip time in seconds.
    rtt: f64,
    /// Most segments that the receiver has room for.
    offered: f64,
    /// Segments that fill a narrow link and its queue for the first time.
    pipe: f64,
    /// Time in seconds that a segment takes on the client's link.
    segment_time: f64,
    /// Segments that the client's link and its queue hold in the long run; 0 where that is no limit, or another link is narrow.
    own_pipe: f64,
    /// Loss events a segment of data that the loss models will give.
    expected: f64,
    /// Warm-up and measured interval in seconds.
    warmup: f64,
    duration: f64,
}

impl CongestionWindows {
    /// Those of a group. None where no connection is kept or nothing is lost, too few transactions ended, the run was stopped, the clients are programs, or the
    /// server's congestion control is not known to be Reno's or CUBIC.
    pub(super) fn of_group(
        scenario: &Scenario,
        part: &Part,
        (group, paths): (&Group, &GroupPaths),
        found: &GroupLedger,
    ) -> Option<Self> {
        let history = &found.history;
        if part.is_stopped(scenario) || scenario.mode == Mode::Shim || history.count < LEAST {
            return None;
        }
        let uploads = 2 * history.uploads > history.count;
        Self::of(history, &Known::of(scenario, (group, paths), found.is_open(), uploads)?)
    }

    fn of(history: &History, known: &Known) -> Option<Self> {
        let count = history.count as f64;
        let segments = (history.bytes as f64 / count / known.mss).max(1.0);
        let seen = history.loss_events as f64 / (history.requests_before as f64).max(1.0);
        let events = seen.max(known.expected * segments);
        let time = history.time as f64 / 1e9 / count;
        if history.requests_before == 0 || events <= 0.0 || time <= 0.0 {
            return None;
        }
        let (rtt, sender) = (known.rtt, &known.sender);
        let at_once = known.pipeline * segments;
        let by_chance = known.expected * segments > 0.5 * events;
        let first = if by_chance {
            known.first_window_of(history, segments, events / segments)
        } else {
            known.first_window(at_once, events / segments)
        };
        let last = known.lasting_window(events / segments);
        let needed = TO_MIX + sender.losses_between(first, last);
        // A connection that is closed before that has no window of the long run.
        let life = known.requests.map_or(f64::INFINITY, f64::from);
        if life * events < needed {
            return None;
        }
        // A response loses data itself: half of that comes before its half.
        let class = (needed - 0.5 * events).ceil().max(0.0) as usize;
        let fewer = sum(&by_loss_events(history)[..class.min(CLASSES - 1)]).count as f64 / count;
        let recovering = sender.recovery_time(rtt, first) * events * known.pipeline / time;
        // Time from one request of a connection to the next.
        let cycle = known.connections * known.duration / count;
        let idle = (known.pipeline * cycle - time).max(0.0);
        let first_byte = (history.first_byte as f64 / 1e9 / count).min(time);
        let sending = known.sending(last, at_once, idle, by_chance);
        let slower = (first_byte.max(rtt) + sending + sender.timeouts(rtt, last, events)) / time;
        let effect = FirstLosses::of(history);
        // Transactions become slower as windows become smaller. The second connection of a place begins as in the long run.
        let requests = ((needed + needed.sqrt()) / events).min(life);
        let least = (cycle * slower.max(1.3) * requests).max(1.5 * known.warmup);
        let enough = LENGTHS.into_iter().find(|length| *length >= least);
        let found =
            Self { needed, fewer, recovering, slower, effect, unsettled: false, enough_warmup_s: enough };
        Some(found.judged())
    }

    /// The same figures with the verdict that follows from them.
    fn judged(self) -> Self {
        let Self { needed, fewer, recovering, slower, effect, .. } = self;
        let matters = effect
            .is_none_or(|effect| (effect.losses as f64) < TELLING * needed || effect.at_most() > NO_EFFECT);
        // The fewer connections are young, the nearer are these to what they will be.
        let unsettled = matters
            && recovering.min(ALWAYS) * fewer.powi(2) * ((slower - 1.0) / SLOWER).clamp(0.0, 1.0) > MOST;
        Self { unsettled, enough_warmup_s: self.enough_warmup_s.filter(|_| unsettled), ..self }
    }

    /// What several runs of the same clients say together: the mean of each figure, and the longest warm-up that one of them needs. None where there is no run.
    pub(super) fn mean(runs: &[Self]) -> Option<Self> {
        let count = runs.len() as f64;
        let mean = |of: fn(&Self) -> f64| runs.iter().map(of).sum::<f64>() / count;
        let needed = runs.iter().filter(|run| run.unsettled).map(|run| run.enough_warmup_s);
        let effects: Option<Vec<_>> = runs.iter().map(|run| run.effect).collect();
        let found = Self {
            needed: mean(|run| run.needed),
            fewer: mean(|run| run.fewer),
            recovering: mean(|run| run.recovering),
            slower: mean(|run| run.slower),
            effect: FirstLosses::mean(&effects.unwrap_or_default()),
            unsettled: false,
            enough_warmup_s: needed.reduce(|one, other| Some(one?.max(other?))).flatten(),
        };
        let found = found.judged();
        // Each run by itself knows best what it has.
        let unsettled = found.unsettled && runs.iter().any(|run| run.unsettled);
        (!runs.is_empty()).then_some(Self { unsettled, ..found })
    }

    /// Too many windows tell of the beginning.
    pub(super) fn too_young(&self) -> Option<Said> {
        self.unsettled.then(|| {
            let message = format!(
                "congestion windows had not converged: {:.0} % of the transactions were on connections that had lost data fewer than {:.0} times before, so that how a \
                 connection begins still decided how fast it was",
                100.0 * self.fewer,
                self.needed.ceil()
            );
            Said::too_short(message, Lengths::warmup(self.enough_warmup_s))
        })
    }
}

impl Known {
    /// What is known of a group whose clients send more than they receive if it `uploads`.
    fn of(
        scenario: &Scenario,
        (group, paths): (&Group, &GroupPaths),
        is_open: bool,
        uploads: bool,
    ) -> Option<Self> {
        let direction = if uploads { Direction::Forward } else { Direction::Backward };
        let (own_link, shared) = (paths.own.get(direction), paths.shared.get(direction));
        let bandwidth = own_link.mean_rate();
        let rtt = paths.round_trip().as_secs_f64();
        let client = group.tcp_config().ok()?;
        let mss = f64::from(client.mss) + LEAST_HEADERS - HEADERS;
        let frame_bits = 8.0 * (mss + HEADERS);
        let pipe = |link: &LinkConfig, held: fn(&QueueConfig, Rate, u16) -> Option<Bytes>| {
            let held = |rate| held(link.queue.as_ref()?, rate, group.mtu);
            let limits = link.mean_rate().and_then(|rate| Some((rate, held(rate)?)));
            limits.map_or(f64::INFINITY, |(rate, held)| {
                (rate.bits_per_second() as f64 * rtt + 8.0 * held.get() as f64) / frame_bits
            })
        };
        let first = |link: &Arc<LinkConfig>| pipe(link, QueueConfig::held_first);
        let is_shared_limited = shared.iter().any(|link| link.mean_rate().is_some());
        let segment_time = bandwidth.map_or(0.0, |rate| frame_bits / rate.bits_per_second() as f64);
        let sender = if uploads { Sender::new(&client) } else { Sender::server(scenario)? };
        let own = pipe(own_link, QueueConfig::held_in_the_long_run);
        let offered = match client.receive_buffer {
            ReceiveBuffer::Fixed(bytes) | ReceiveBuffer::Tuned { most: bytes } => f64::from(bytes) / mss,
        };
        // To TCP what arrives with a flipped bit is lost.
        let events = |link: &Arc<LinkConfig>| {
            let corrupted = link.corrupt.map_or(0.0, |corrupt| corrupt.share.as_f64());
            link.loss.event_rate() + corrupted
        };
        let closes = scenario.server.model.and_then(|model| model.requests_per_connection);
        let closes = closes.filter(|_| scenario.mode == Mode::Sim);
        let requests = group.http.requests_per_connection.into_iter().chain(closes).min();
        Some(Self {
            connections: f64::from(group.count) * f64::from(if is_open { 1 } else { group.http.connections }),
            pipeline: f64::from(group.http.pipeline),
            requests: requests.map(NonZeroU32::get),
            sender,
            mss,
            rtt,
            offered: if uploads { f64::INFINITY } else { offered },
            pipe: shared.iter().map(first).fold(first(own_link), f64::min),
            segment_time,
            own_pipe: if own.is_finite() && !is_shared_limited { own } else { 0.0 },
            expected: shared.iter().map(events).fold(events(own_link), |sum, more| sum + more),
            warmup: scenario.measure.warmup.as_secs_f64(),
            duration: scenario.measure.duration.as_secs_f64(),
        })
    }

    /// Mean window in segments in the long run, where one segment in 1 / `rate` begins a loss event. If the loss models alone would let windows grow beyond what the client's own
    /// link and queue hold, it is this queue that loses the data: a window goes up to what they hold, and down to what a loss leaves of that.
    fn lasting_window(&self, rate: f64) -> f64 {
        let any = self.sender.lasting_window(self.rtt, rate);
        let by_chance = self.sender.lasting_window(self.rtt, self.expected);
        let full = 0.5 * (self.own_pipe + self.sender.after_losses(self.own_pipe, 1));
        if by_chance > self.own_pipe { any.max(full) } else { any }
    }

    /// Time in seconds after the first byte in which so many segments arrive, after each idle time of so many seconds: that of the round trips, and what the client's link
    /// adds to it. A window that is large at times does not save there what one that is small costs. Chance may take two losses from a window in a row, a full queue takes one, and
    /// windows vary by that much.
    fn sending(&self, window: f64, segments: f64, idle: f64, by_chance: bool) -> f64 {
        let link = (segments - 1.0) * self.segment_time;
        let time = |window: f64| self.rtt * (self.sender.round_trips(self.rtt, window, segments, idle) - 1.0);
        let left = self.sender.after_losses(1.0, if by_chance { 2 } else { 1 });
        let varying = [window / left, window, window * left];
        let added = varying.map(|window| (link - time(window)).max(0.0)).iter().sum::<f64>() / 3.0;
        (time(window) + added).max(link)
    }

    /// Most segments that a window has before the first loss. While it limits nothing, it grows to twice what is sent at once (Linux `tcp_is_cwnd_limited`). A loss
    /// comes after 1 / `rate` segments, and a queue that is full ends its growth, too.
    fn first_window(&self, at_once: f64, rate: f64) -> f64 {
        (2.0 * at_once.min(self.offered)).min(1.0 / rate).min(self.pipe)
    }

    /// The same of responses whose sizes differ, each of which asks with `segments` more for every other request of a pipeline: the mean over their bytes. Windows grow for the
    /// large ones, and these become slower when windows become smaller. A window that a full queue ends has no such first one: the large response for which it grew is the first to lose.
    fn first_window_of(&self, history: &History, segments: f64, rate: f64) -> f64 {
        let others = (self.pipeline - 1.0) * segments;
        let sized = history.sizes.iter().filter(|size| size.bytes > 0);
        let of_byte = sized.map(|size| {
            let own = (size.bytes as f64 / size.count as f64 / self.mss).max(1.0);
            size.bytes as f64 * self.first_window(own + others, rate)
        });
        let all: f64 = of_byte.sum();
        if history.bytes > 0 { all / history.bytes as f64 } else { self.first_window(self.pipeline, rate) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::group_paths;
    use crate::ledger::{OfSize, PARTS, SIZES};
    use crate::summary::{Reason, ReasonCode};
    use wasp_tcp::Config;

    fn known() -> Known {
        Known {
            connections: 64.0,
            pipeline: 1.0,
            requests: None,
            sender: Sender::new(&Config::linux()),
            mss: 1_448.0,
            rtt: 0.1,
            offered: f64::INFINITY,
            pipe: f64::INFINITY,
            segment_time: 0.0,
            own_pipe: 0.0,
            expected: 0.0,
            warmup: 5.0,
            duration: 10.0,
        }
    }

    /// So many responses of so many bytes.
    fn of_sizes(sizes: &[(u64, u64)]) -> [OfSize; SIZES] {
        let mut found = [OfSize::default(); SIZES];
        for (count, bytes) in sizes {
            found[bytes.ilog2() as usize] = OfSize { count: *count, bytes: count * bytes };
        }
        found
    }

    /// Transactions of 100 KB that took 110 ms, on connections each of which had carried 50 and lost data `losses` times.
    fn history(losses: usize) -> History {
        let count = 6_400;
        let mut history = History {
            count,
            bytes: count * 101_360,
            sizes: of_sizes(&[(count, 101_360)]),
            requests_before: count * 50,
            loss_events: count * losses as u64,
            time: count * 110_000_000,
            first_byte: count * 100_000_000,
            ..History::default()
        };
        for classes in &mut history.first_of_place {
            classes[losses].count = count / PARTS as u64;
        }
        history
    }

    fn found(losses: usize, known: Known) -> CongestionWindows {
        CongestionWindows::of(&history(losses), &known).expect("data was lost")
    }

    #[test]
    fn a_first_window_is_what_the_path_and_the_peer_have_room_for() {
        let mut known = known();
        assert_eq!(known.first_window(70.0, 1e-3), 140.0);
        assert_eq!(known.first_window(70.0, 1e-2), 100.0);
        known.offered = 44.0;
        assert_eq!(known.first_window(70.0, 1e-3), 88.0);
        known.pipe = 50.0;
        assert_eq!(known.first_window(70.0, 1e-3), 50.0);
    }

    #[test]
    fn what_was_lost_before_decides() {
        // 70 segments and a loss in 3,500 of them: windows come down from 140 to 85, which takes two losses, and three more.
        let few = found(1, known());
        assert!(
            (few.needed - (3.0 + libm::log(140.0 / 85.2) / libm::log(1.0 / 0.7))).abs() < 0.01,
            "{few:?}"
        );
        // Each connection asks ten times a second, loses data every five seconds, and needs seven losses to be safe.
        assert!(few.fewer == 1.0 && few.unsettled && few.enough_warmup_s == Some(60.0), "{few:?}");
        let many = found(20, known());
        assert!(many.fewer == 0.0 && !many.unsettled && many.enough_warmup_s.is_none(), "{many:?}");
    }

    #[test]
    fn what_the_loss_models_will_lose_counts_before_it_is_lost() {
        assert!(found(0, Known { expected: 1e-4, ..known() }).unsettled);
        assert!(!found(0, Known { expected: 1e-6, ..known() }).unsettled);
        assert!(CongestionWindows::of(&history(0), &known()).is_none());
    }

    #[test]
    fn connections_that_are_closed_forget_with_that() {
        // A connection loses data once in 50 requests, and needs 4.4 losses.
        assert!(CongestionWindows::of(&history(1), &Known { requests: Some(200), ..known() }).is_none());
        let closed = found(1, Known { requests: Some(250), ..known() });
        // Sooner than it has had enough of them, it is the second connection.
        assert_eq!((found(1, known()).enough_warmup_s, closed.enough_warmup_s), (Some(60.0), Some(45.0)));
    }

    #[test]
    fn the_time_of_the_server_does_not_hide_that_of_windows() {
        let mut slow = history(1);
        (slow.time, slow.first_byte) = (slow.time * 10, slow.time * 10 - slow.time / 11);
        let slow = CongestionWindows::of(&slow, &known()).expect("data was lost");
        assert!(slow.slower > 1.05, "{slow:?}");
    }

    /// 70 segments on 10 Mbit/s that took 100 ms to the first, and 83 ms for the others. Link and queue hold `pipe` segments, 83 of them on the paths.
    fn narrow(pipe: f64, changed: impl Fn(&mut Known)) -> CongestionWindows {
        let mut narrow = history(1);
        narrow.time = narrow.count * 183_000_000;
        let mut known = Known { segment_time: 0.0012, pipe, own_pipe: pipe, ..known() };
        changed(&mut known);
        CongestionWindows::of(&narrow, &known).expect("data was lost")
    }

    #[test]
    fn what_a_full_queue_leaves_of_a_window_keeps_the_link_busy() {
        // A loss leaves 119 segments of 170, more than are on the paths.
        let full = narrow(170.0, |_| {});
        assert!((full.slower - 1.0).abs() < 0.01 && !full.unsettled, "{full:?}");
        // A loss leaves 70 of 100. The link is idle for a while.
        let short = narrow(100.0, |_| {});
        assert!((1.02..1.1).contains(&short.slower), "{short:?}");
        // CUBIC leaves as many as are on the way of 120. Reno leaves a half.
        let cubic = narrow(120.0, |_| {});
        let reno = narrow(120.0, |known| known.sender = Sender::new(&Config::bsd1999()));
        assert!(cubic.slower < 1.02 && reno.slower > cubic.slower + 0.02, "{cubic:?} {reno:?}");
    }

    #[test]
    fn windows_that_do_not_fill_a_queue_leave_the_link_idle() {
        // In the long run windows are 85 segments, and 60 after a loss.
        let shared = narrow(170.0, |known| known.own_pipe = 0.0);
        assert!(shared.slower > 1.02 && shared.unsettled, "{shared:?}");
        // Less than a half of the losses are by chance, but chance keeps windows at 163 segments: the others are those of the beginning.
        let both = narrow(170.0, |known| known.expected = 1.2e-4);
        assert!(both.slower == shared.slower && both.unsettled, "{both:?}");
        // Chance that is rarer lets them fill the queue.
        let rare = narrow(170.0, |known| known.expected = 1e-5);
        assert!((rare.slower - 1.0).abs() < 0.01, "{rare:?}");
        // Chance may take two losses in a row.
        let by_chance = narrow(170.0, |known| known.expected = 2e-4);
        assert!(by_chance.slower > shared.slower && by_chance.unsettled, "{by_chance:?}");
    }

    #[test]
    fn a_link_that_is_not_narrow_takes_no_time() {
        let of = |expected: f64, segment_time: f64| {
            CongestionWindows::of(&history(1), &Known { expected, segment_time, ..known() })
        };
        assert_eq!(of(1e-3, 1.2e-5), of(1e-3, 0.0));
    }

    #[test]
    fn a_queue_is_a_clients_own_where_no_other_link_is_narrow() {
        let own_pipe = |shared: &str, own: &str, uploads: bool| {
            let text = format!(
                r#"{{"seed": 1, "run": 0, "mode": "live",
                "server": {{"address": "198.18.0.1", "port": 80, "congestion": "cubic"}},
                "network": {{
                    "prefix": "198.18.0.0/17", "shared": {{"up": {{}}, "down": {{{shared}}}}}, "traces": {{"twelve": "1\n"}}
                }},
                "workload": {{"kind": "single", "path": "/file", "size": "1KB"}},
                "clients": [{{
                    "name": "clients", "count": 1, "rtt": "100ms", "loss": {{}}, "mtu": 1500, {own}
                    "http": {{"timeout": "60s"}}, "tcp": {{"preset": "linux"}}
                }}],
                "measure": {{"warmup": "1s", "duration": "1s"}}}}"#
            );
            let scenario = Scenario::from_json(&text).expect("the scenario is valid");
            Known::of(&scenario, (&scenario.clients[0], &group_paths(&scenario)[0]), false, uploads)
                .expect("the server is known")
                .own_pipe
        };
        let narrow = r#""bandwidth": {"down": "12Mbit/s"}, "queue": {"down": "30KB"},"#;
        // 100 frames of 1,500 bytes on the way, and 20 in the queue.
        assert!((own_pipe("", narrow, false) - 120.0).abs() < 1e-9);
        assert_eq!(own_pipe("", narrow, true), 0.0);
        assert_eq!(own_pipe(r#""rate": "1Gbit/s", "queue": "1MB""#, narrow, false), 0.0);
        assert_eq!(own_pipe("", r#""bandwidth": {}, "queue": {},"#, false), 0.0);
        // A trace counts as its mean rate, 1,500 bytes a millisecond.
        let trace = r#"{"file": "twelve", "repeat": true, "start": "random", "opportunity": "1504B", "overhead": "4B"}"#;
        let recorded =
            format!(r#""bandwidth": {{}}, "trace": {{"down": {trace}}}, "queue": {{"down": "30KB"}},"#);
        assert!((own_pipe("", &recorded, false) - 120.0).abs() < 1e-9);
        assert_eq!(own_pipe(&format!(r#""trace": {trace}"#), narrow, false), 0.0);
        // CoDel keeps 5 ms of the link in the queue, five frames.
        let codel = r#""bandwidth": {"down": "12Mbit/s"}, "queue": {"down": {"kind": "codel"}},"#;
        assert!((own_pipe("", codel, false) - 105.0).abs() < 1e-9);
    }

    #[test]
    fn of_sizes_that_differ_the_large_ones_make_the_first_window() {
        // 7 segments on average: all are of 7, or a tenth of 63 and the others of one.
        let of = |sizes: &[(u64, u64)], expected: f64| {
            let mut history = history(1);
            (history.bytes, history.loss_events) = (history.bytes / 10, history.count / 2);
            history.sizes = of_sizes(sizes);
            CongestionWindows::of(&history, &Known { expected, ..known() }).expect("data was lost")
        };
        let (alike, differ) = (&[(6_400, 10_136)], &[(640, 92_000), (5_760, 1_040)]);
        let by_chance = [alike as &[_], differ].map(|sizes| of(sizes, 1.4e-3));
        assert!(by_chance[1].needed > by_chance[0].needed + 3.0, "{by_chance:?}");
        assert!(by_chance[1].recovering > 2.0 * by_chance[0].recovering, "{by_chance:?}");
        assert_eq!(by_chance[0].slower, by_chance[1].slower);
        // What full queues lose, large responses lose themselves.
        assert_eq!(of(alike, 0.0), of(differ, 0.0));
    }

    #[test]
    fn parallel_responses_share_a_window() {
        let piped = found(1, Known { pipeline: 4.0, ..known() });
        assert!(piped.needed > found(1, known()).needed + 3.0, "{piped:?}");
    }

    #[test]
    fn losses_without_an_effect_are_no_reason() {
        let with = |time: u64| {
            let mut history = history(4);
            for classes in &mut history.first_of_place {
                classes[4].time = classes[4].count * 110_000_000;
                (classes[5].count, classes[5].time) = (classes[4].count, classes[4].count * time);
            }
            CongestionWindows::of(&history, &Known { expected: 3e-4, ..known() }).expect("data was lost")
        };
        assert!(with(120_000_000).unsettled && !with(110_000_000).unsettled, "{:?}", with(110_000_000));
    }

    #[test]
    fn some_windows_take_longer_than_anyone_waits() {
        let rare = found(0, Known { expected: 1e-4, duration: 10_000.0, ..known() });
        assert!(rare.unsettled && rare.enough_warmup_s.is_none(), "{rare:?}");
        let said = Reason::of_all(ReasonCode::Windows, rare.too_young().expect("they are unsettled"));
        assert!(said.message.ends_with("; even 2 h are not enough"), "{}", said.message);
    }
}
