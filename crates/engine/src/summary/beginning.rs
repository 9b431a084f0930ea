//! What the beginning of a run has left in its measured interval: connections that are opened in it, and clients that go in step.
//!
//! A connection that is kept is opened once, so in the long run nearly no transaction waits for it; in an interval of seconds many may. Clients that began within
//! a part of their cycle, from one transaction to the next, end their transactions within that part of each cycle, and an interval of a few cycles has
//! more or fewer of these parts than its share.

use super::Lengths;
use super::censoring::LENGTHS;
use super::reason::Said;
use crate::ledger::{BINS, Bins, GroupLedger};
use serde::{Deserialize, Serialize};
use std::f64::consts::{PI, TAU};
use wasp_app::Outcome;

/// Error of throughput or of the mean response time that is too much.
const MOST: f64 = 0.025;
/// Least `ok` transactions to judge by.
const LEAST: u64 = 100;
/// Least opened connections of which the time is known.
const LEAST_OPENED: u64 = 10;
/// Cycles in an interval that are told apart by its fortieths.
const CYCLES: f64 = 20.0;
/// Standard errors that chance does not explain: a mean of N independent phases is longer than so many 1 / sqrt(N) in one case of 50,000 (exp(-3.3 * 3.3)).
const STANDARD_ERRORS: f64 = 3.3;
/// Numbers of cycles in the interval that are tried.
const TRIED: usize = 21;

/// How the clients of a group began, as far as the interval shows it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beginning {
    /// Mean time in seconds from one transaction of a connection to the next.
    pub cycle_s: f64,
    /// Share of the `ok` transactions for which a connection was opened.
    pub opened: f64,
    /// By how much the mean response time differs from the long run's because connections were opened in the interval, or were not, relative to it.
    pub opening: f64,
    /// By how much the rate differs from the long run's because the clients go in step, relative to it; 0 if chance explains that they do.
    pub in_step: f64,
    /// Whether connections are closed after a number of requests, so that some are always opened.
    pub renews: bool,
    /// Length of the warm-up in seconds with which few connections would be opened later; none if the warm-up did, or no length does.
    pub enough_warmup_s: Option<f64>,
    /// Length of the measured interval in seconds that would do; likewise.
    pub enough_s: Option<f64>,
}

/// What is known of a group beside what its transactions did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// Connections that its clients have, one for each client in an open loop: arrivals take another only while the first is busy.
    pub(super) connections: f64,
    /// Mean pause of a connection in seconds; none in an open loop, and where a cycle is more than a response and a pause.
    pub(super) pause: Option<f64>,
    /// Cycles in a warm-up after which all connections are open.
    pub(super) cycles: f64,
    /// Requests before a connection is closed; none keeps it for ever.
    pub(super) requests: Option<u32>,
    /// Least round-trip time in seconds.
    pub(super) rtt: f64,
    /// Warm-up and measured interval in seconds.
    pub(super) warmup: f64,
    pub(super) duration: f64,
}

impl Beginning {
    /// That of a group; none where too few transactions ended.
    pub(super) fn of(found: &GroupLedger, asked: &Asked) -> Option<Self> {
        let ok = found.tally.outcome(Outcome::Ok);
        if ok < LEAST {
            return None;
        }
        let ended = found.tally.ended() as f64;
        let cycle = asked.pause.map_or(asked.connections * asked.duration / ended, |pause| {
            found.all_sum() as f64 / 1e9 / ended + pause
        });
        let opening = Opening::of(found, asked);
        // The response time law: in the long run, a closed loop ends as many transactions as it has connections, one in each cycle.
        let most = asked.pause.map_or(0.0, |_| in_step(&found.bins, asked));
        let off = if most > 0.0 { cycle * ended / (asked.connections * asked.duration) - 1.0 } else { 0.0 };
        let mut beginning = Self {
            cycle_s: cycle,
            opened: opening.share,
            opening: opening.bias(),
            in_step: off,
            renews: asked.requests.is_some(),
            enough_warmup_s: None,
            enough_s: None,
        };
        if opening.bias() > MOST && asked.requests.is_none() {
            let least = (asked.cycles * cycle + 2.0 * opening.mean).max(1.5 * asked.warmup);
            beginning.enough_warmup_s = LENGTHS.into_iter().find(|length| *length >= least);
        }
        // How many connections of bounded length are opened is off by one of each, at most.
        let off_by_one = asked.requests.is_some() && opening.bias().abs() > MOST;
        let phase = if off_by_one { cycle / asked.duration * opening.cost() } else { 0.0 };
        let worst = if off.abs() > MOST { most.max(off.abs()) } else { 0.0 };
        if phase.max(worst) > MOST {
            let least = asked.duration * phase.max(worst) / MOST;
            beginning.enough_s = LENGTHS.into_iter().find(|length| *length >= least);
        }
        Some(beginning)
    }

    /// The mean of several runs of the same clients, with the longest of the lengths that each would need; none where there is no run.
    pub(super) fn mean(runs: &[Self]) -> Option<Self> {
        let first = *runs.first()?;
        let mean = |of: fn(&Self) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
        // The longest that one of those needs of which it is too much; none where no length helps one of them.
        let longest = |too_much: fn(&Self) -> bool, enough: fn(&Self) -> Option<f64>| {
            let needed = runs.iter().filter(|run| too_much(run)).map(enough);
            needed.reduce(|one, other| Some(one?.max(other?))).flatten()
        };
        Some(Self {
            cycle_s: mean(|run| run.cycle_s),
            opened: mean(|run| run.opened),
            opening: mean(|run| run.opening),
            in_step: mean(|run| run.in_step),
            renews: first.renews,
            enough_warmup_s: longest(|run| run.opening > MOST && !run.renews, |run| run.enough_warmup_s),
            enough_s: longest(Self::needs_time, |run| run.enough_s),
        })
    }

    /// Whether a longer interval is what it needs.
    fn needs_time(&self) -> bool {
        self.in_step.abs() > MOST || self.opening < -MOST || (self.renews && self.opening > MOST)
    }

    /// More or fewer transactions waited for a connection to be opened than will.
    pub(super) fn opens(&self) -> Option<Said> {
        let (share, off) = (100.0 * self.opened, 100.0 * self.opening.abs());
        if self.opening > MOST && !self.renews {
            let message = format!(
                "kept connections were still being opened: {share:.0} % of the transactions waited for one, so that the mean response time is {off:.0} % above \
                 that of the long run"
            );
            return Some(Said::too_short(message, Lengths::warmup(self.enough_warmup_s)));
        }
        let (few, below) = if self.opening > 0.0 { ("many", "above") } else { ("few", "below") };
        (self.opening.abs() > MOST).then(|| {
            let message = format!(
                "too {few} connections happened to come to their last request in the interval and were opened anew: {share:.0} % of the transactions waited for \
                 one, so that the mean response time is {off:.0} % {below} that of the long run"
            );
            Said::too_short(message, Lengths::duration(self.enough_s))
        })
    }

    /// Clients go in step.
    pub(super) fn cycles(&self) -> Option<Said> {
        (self.in_step.abs() > MOST).then(|| {
            let few = if self.in_step > 0.0 { "many" } else { "few" };
            let message = format!(
                "the clients go in step: each ends a transaction about every {}, many of them at nearly the same time, and {:.0} % too {few} of these ends happen to be in \
                 the interval",
                seconds(self.cycle_s),
                100.0 * self.in_step.abs(),
            );
            Said::too_short(message, Lengths::duration(self.enough_s))
        })
    }
}

/// A measured time with two digits.
fn seconds(time: f64) -> String {
    if time < 10.0 { format!("{time:.1} s") } else { format!("{time:.0} s") }
}

/// The connections that were opened for transactions that ended `ok` in the interval.
#[derive(Clone, Copy, Debug)]
struct Opening {
    /// Share of the transactions that waited for one.
    share: f64,
    /// That share less the one of the long run, as far as the beginning explains it.
    excess: f64,
    /// Mean time in seconds that it took to open one.
    time: f64,
    /// Mean response time in seconds, without what is in excess.
    mean: f64,
}

impl Opening {
    fn of(found: &GroupLedger, asked: &Asked) -> Self {
        let ok = found.tally.outcome(Outcome::Ok) as f64;
        let (opened, first) = (found.opened.count as f64, found.opened.first as f64);
        let time = if found.opened.count < LEAST_OPENED {
            asked.rtt
        } else {
            found.opened.sum as f64 / 1e9 / opened
        };
        let share = opened / ok;
        let excess = match asked.requests {
            // Every transaction opens one.
            Some(1) => 0.0,
            // In the long run as many wait for one as do now where it is not the first of its place: those that the server had closed.
            None => first / ok * (1.0 - if ok > first { (opened - first) / (ok - first) } else { 0.0 }),
            Some(requests) => {
                let expected = 1.0 / f64::from(requests);
                let failed = found.tally.errors() as f64 / ok;
                let excess = share - expected;
                let most = (excess - failed).min(asked.connections / ok).max(0.0);
                let by_chance = STANDARD_ERRORS * (expected / ok).sqrt();
                if excess.abs() > by_chance { excess.min(most) } else { 0.0 }
            }
        };
        let mean = found.ok_sum as f64 / 1e9 / ok;
        Self { share, excess, time, mean: mean - excess * time }
    }

    /// Time of opening a connection, relative to the mean response time.
    fn cost(&self) -> f64 {
        if self.mean > 0.0 { self.time / self.mean } else { 0.0 }
    }

    fn bias(&self) -> f64 {
        self.excess * self.cost()
    }
}

/// The most that throughput may be off, relative to it, because the transactions of its clients end together.
///
/// If their ends have the density 1 + a cos(2 pi t / P) in cycles of P, the mean of exp(2 pi i t / P) over the ends has the length a/2, and an interval of c
/// cycles has at most a / (pi c) too many or too few of them. The number of cycles is known to one more or less, since as many ends may be in the interval. The mean
/// over ends that are spread evenly, which is not nothing where c is no whole number, is taken off.
fn in_step(Bins(bins): &Bins, asked: &Asked) -> f64 {
    let ended = bins.iter().sum::<u64>() as f64;
    let cycles = ended / asked.connections;
    if cycles >= CYCLES {
        return 0.0;
    }
    let even = ended / BINS as f64;
    let length = |tried: f64| {
        let turn = |place: usize| TAU * tried * (place as f64 + 0.5) / BINS as f64;
        let mean = |part: fn(f64) -> f64| -> f64 {
            let each = |(place, count): (usize, &u64)| (*count as f64 - even) * part(turn(place));
            bins.iter().enumerate().map(each).sum::<f64>() / ended
        };
        libm::hypot(mean(libm::cos), mean(libm::sin))
    };
    let by_chance = STANDARD_ERRORS / ended.min(asked.connections).sqrt();
    let tried =
        (0..TRIED).map(|step| (cycles - 1.0 + 2.0 * step as f64 / (TRIED - 1) as f64).clamp(1.0, CYCLES));
    let lengths = tried.map(|tried| (tried, length(tried))).filter(|(_, length)| *length > by_chance);
    lengths.map(|(tried, length)| 2.0 * length / (PI * tried)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasp_random::{Key, Purpose, Stream};

    const CLIENTS: u32 = 256;
    const DURATION: f64 = 10.0;

    /// What is said where each client ends a transaction every `cycle` seconds, from a time on that is drawn from the first `part` of a cycle; and by how
    /// much throughput is off.
    fn of_cycles(cycle: f64, part: f64, draws: &mut Stream) -> (f64, f64) {
        let mut bins = [0; BINS];
        let begin = draws.unit() * cycle;
        for _ in 0..CLIENTS {
            let mut at = (begin + part * cycle * draws.unit()) % cycle;
            while at < DURATION {
                bins[(at / DURATION * BINS as f64) as usize] += 1;
                at += cycle;
            }
        }
        let asked = Asked {
            connections: f64::from(CLIENTS),
            pause: Some(0.0),
            cycles: 4.0,
            requests: None,
            rtt: 0.1,
            warmup: 5.0,
            duration: DURATION,
        };
        let ended = bins.iter().sum::<u64>() as f64;
        (in_step(&Bins(bins), &asked), (ended * cycle / DURATION / f64::from(CLIENTS) - 1.0).abs())
    }

    #[test]
    fn clients_at_random_places_of_their_cycles_are_not_in_step() {
        let mut draws = Key::root(1, 0).purpose(Purpose::Start).stream();
        let said = (0..5_000).filter(|_| {
            let cycle = 1.0 + 14.0 * draws.unit();
            of_cycles(cycle, 1.0, &mut draws).0 > 0.0
        });
        // One in 50,000 of each of the tries, few of which are independent of each other.
        assert!(said.count() <= 3);
    }

    #[test]
    fn clients_in_step_may_be_off_by_about_what_is_said() {
        let mut draws = Key::root(2, 0).purpose(Purpose::Start).stream();
        let mut sums = (0.0, 0.0);
        for _ in 0..1_000 {
            let (cycle, part) = (1.1 + 8.0 * draws.unit(), 0.1 + 0.5 * draws.unit());
            let (said, off) = of_cycles(cycle, part, &mut draws);
            // Only the first term of the series is in what is said.
            assert!(off <= 2.0 * said && said < 0.8, "{cycle} {part}: {said} {off}");
            sums = (sums.0 + off, sums.1 + said);
        }
        // The mean over all phases of what is said of the worst.
        assert!((0.35..0.5).contains(&(sums.0 / sums.1)), "{sums:?}");
    }

    #[test]
    fn many_cycles_make_up_for_their_phase() {
        let mut draws = Key::root(3, 0).purpose(Purpose::Start).stream();
        assert!(of_cycles(0.6, 0.0, &mut draws).0 > 0.0);
        assert_eq!(of_cycles(0.4, 0.0, &mut draws).0, 0.0);
    }
}
