//! When packets of traffic that asks nobody come: evenly, at random, or in bursts.

use crate::{Delay, OptionError};
use serde::{Deserialize, Serialize};
use wasp_random::{Key, Stream};
use wasp_units::{Bytes, Instant, Rate};

/// When packets come.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PacketModel {
    /// Evenly spaced, the first at a random time.
    Constant {},
    /// Independent of each other: a Poisson process.
    Poisson {},
    /// Evenly spaced in bursts, and none between them.
    OnOff {
        /// Lengths of bursts.
        on: Delay,
        /// Lengths of the pauses between them.
        off: Delay,
    },
}

impl PacketModel {
    /// Checks the parameters for packets of this length, at this rate if there is one.
    ///
    /// # Errors
    /// An impossible parameter, or bursts that are on average too short for a packet.
    pub fn check(&self, packet: Bytes, rate: Option<Rate>) -> Result<(), OptionError> {
        let Self::OnOff { on, off } = self else { return Ok(()) };
        for (name, lengths) in [("on", on), ("off", off)] {
            lengths.check().and_then(|()| check_mean(lengths)).map_err(|error| error.within(name))?;
        }
        let mean = on.mean();
        if mean.is_zero() {
            return Err(OptionError::new("on", mean, "the mean of a burst must be above zero"));
        }
        let Some(rate) = rate else { return Ok(()) };
        let least = rate.transmission_time(packet.get());
        if mean < least {
            let valid = format!(
                "the mean of a burst must be at least {least}, which a packet of {packet} takes at {rate}"
            );
            return Err(OptionError::new("on", mean, valid));
        }
        Ok(())
    }

    /// The share of the time in which packets come: 1 unless there are pauses.
    #[must_use]
    pub fn duty_cycle(&self) -> f64 {
        let Self::OnOff { on, off } = self else { return 1.0 };
        let [on, off] = [on, off].map(|lengths| lengths.mean().as_secs_f64());
        on / (on + off)
    }
}

/// A Pareto distribution without a mean has none that a run comes near to, unless it is cut off.
fn check_mean(lengths: &Delay) -> Result<(), OptionError> {
    match lengths {
        Delay::Pareto { shape, cap: None, .. } if *shape <= 1.0 => {
            Err(OptionError::new("shape", shape, "must be above 1, or lengths need a cap"))
        }
        _ => Ok(()),
    }
}

/// The times of packets, one after the other.
///
/// Bursts and pauses begin as if they had gone on for ever: with the long-run probability of a burst, and with the residual life of what is
/// met (Cox, "Renewal Theory", 1962, section 5.2). What a burst is too short for is made up by the next one, so that the mean rate is exactly
/// the rate within bursts times [`PacketModel::duty_cycle`].
#[derive(Clone, Debug)]
pub struct PacketTimes {
    /// Nanoseconds since the start, at the last packet. Below 2^53, which is 104 days, whole ones are exact.
    clock: f64,
    /// Nanoseconds between two packets: on average, or within a burst.
    gap: f64,
    pattern: Pattern,
}

#[derive(Clone, Debug)]
enum Pattern {
    Even { first: f64 },
    Random(Stream),
    Bursts(Box<Bursts>),
}

#[derive(Clone, Debug)]
struct Bursts {
    /// Nanoseconds of bursts up to the next packet.
    until_packet: f64,
    /// Nanoseconds left of the burst.
    left: f64,
    /// Nanoseconds of the pause after it.
    pause: f64,
    on: Lengths,
    off: Lengths,
}

/// Random lengths of time, one after the other.
#[derive(Clone, Copy, Debug)]
struct Lengths {
    law: Delay,
    key: Key,
    drawn: u64,
}

impl PacketTimes {
    /// The times of packets of this length at this rate (that within bursts, if there are any), by a model that was checked for both.
    #[must_use]
    pub fn new(model: &PacketModel, packet: Bytes, rate: Rate, key: Key) -> Self {
        let gap = packet.get() as f64 * 8e9 / rate.bits_per_second() as f64;
        let phase = gap * key.name("phase").unit(0);
        let pattern = match *model {
            PacketModel::Constant {} => Pattern::Even { first: phase },
            PacketModel::Poisson {} => Pattern::Random(key.name("gaps").stream()),
            PacketModel::OnOff { on, off } => {
                let begins_on = key.name("state").unit(0) < model.duty_cycle();
                let lengths = |law, name| Lengths { law, key: key.name(name), drawn: 0 };
                Pattern::Bursts(Box::new(Bursts::new(
                    begins_on,
                    phase,
                    lengths(on, "on"),
                    lengths(off, "off"),
                )))
            }
        };
        Self { clock: 0.0, gap, pattern }
    }

    /// When the next packet comes; never before the one of the last call.
    pub fn next_time(&mut self) -> Instant {
        self.clock += match &mut self.pattern {
            Pattern::Even { first } => std::mem::replace(first, self.gap),
            Pattern::Random(stream) => stream.exponential(self.gap),
            Pattern::Bursts(bursts) => bursts.next_wait(self.gap),
        };
        Instant::from_nanos(self.clock as u64)
    }
}

impl Bursts {
    fn new(begins_on: bool, until_packet: f64, mut on: Lengths, mut off: Lengths) -> Self {
        let (left, pause) = if begins_on { (on.rest(), off.next()) } else { (0.0, off.rest()) };
        Self { until_packet, left, pause, on, off }
    }

    /// How long it takes from one packet to the next, of which there is one in each `gap` of bursts.
    fn next_wait(&mut self, gap: f64) -> f64 {
        let mut wait = 0.0;
        while self.until_packet > self.left {
            wait += self.left + self.pause;
            self.until_packet -= self.left;
            self.left = self.on.next();
            self.pause = self.off.next();
        }
        wait += self.until_packet;
        self.left -= self.until_packet;
        self.until_packet = gap;
        wait
    }
}

impl Lengths {
    fn next(&mut self) -> f64 {
        let drawn = self.law.draw(self.key, self.drawn);
        self.drawn += 1;
        drawn.as_nanos() as f64
    }

    /// What is left of a length that is met at a random moment.
    fn rest(&mut self) -> f64 {
        let rest = self.law.residual(self.key, self.drawn);
        self.drawn += 1;
        rest.as_nanos() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasp_random::Purpose;
    use wasp_units::Duration;

    const PACKET: Bytes = Bytes::new(1_000);

    fn rate(megabits: u64) -> Rate {
        Rate::from_bits_per_second(megabits * 1_000_000).unwrap()
    }

    fn mbit(megabits: u64) -> Option<Rate> {
        Some(rate(megabits))
    }

    fn key(entity: u64) -> Key {
        Key::root(1, 0).purpose(Purpose::CrossTraffic).entity(entity)
    }

    fn times(model: PacketModel, megabits: u64, entity: u64) -> PacketTimes {
        model.check(PACKET, mbit(megabits)).unwrap();
        PacketTimes::new(&model, PACKET, rate(megabits), key(entity))
    }

    fn exponential(milliseconds: u64) -> Delay {
        Delay::Exponential { mean: Duration::from_millis(milliseconds) }
    }

    #[test]
    fn constant_packets_come_at_exactly_their_rate_from_a_random_phase_on() {
        // 3 Mbit/s: a packet takes 2,666,666.67 ns, and what is cut off does not add up.
        let firsts: Vec<u64> = (0..200)
            .map(|entity| {
                let mut times = times(PacketModel::Constant {}, 3, entity);
                let first = times.next_time().as_nanos();
                let later = (0..3_000).map(|_| times.next_time().as_nanos()).last().unwrap();
                assert!((later - first).abs_diff(8_000_000_000) <= 1);
                first
            })
            .collect();
        assert!(firsts.iter().all(|first| *first < 2_666_667));
        let mean = firsts.iter().sum::<u64>() / 200;
        assert!(mean.abs_diff(1_333_333) < 200_000, "{mean}");
    }

    /// Packets that many sources send on average in each of the first milliseconds, at 10 Mbit/s within bursts.
    fn by_millisecond(model: PacketModel) -> [f64; 24] {
        const SOURCES: u32 = 4_000;
        const END: usize = 24;
        let mut sum = [0.0; END];
        for entity in 0..SOURCES {
            let mut times = times(model, 10, entity.into());
            let all = std::iter::from_fn(|| Some((times.next_time().as_nanos() / 1_000_000) as usize));
            for millisecond in all.take_while(|millisecond| *millisecond < END) {
                sum[millisecond] += 1.0 / f64::from(SOURCES);
            }
        }
        sum
    }

    #[test]
    fn bursts_and_pauses_are_in_equilibrium_from_the_start_and_keep_their_rate() {
        let milliseconds = Duration::from_millis;
        let constant = |length| Delay::Constant { value: milliseconds(length) };
        let pareto = |scale| Delay::Pareto { shape: 2.5, scale: milliseconds(scale), cap: None };
        // Bursts of 2.5 packets on average: whole gaps in each of them would be 2.
        for [on, off] in
            [[exponential(2), exponential(6)], [constant(2), constant(6)], [pareto(2), pareto(6)]]
        {
            let model = PacketModel::OnOff { on, off };
            assert!((model.duty_cycle() - 0.25).abs() < 1e-4, "lengths above a day are cut off");
            // 1.25 packets in each millisecond of a burst, a quarter of the time; their standard deviation is below 0.6.
            for mean in by_millisecond(model) {
                assert!(
                    (mean - 0.3125).abs() < 5.0 * 0.6 / 4_000_f64.sqrt(),
                    "{on:?}: {:?}",
                    by_millisecond(model)
                );
            }
        }
    }

    #[test]
    fn without_pauses_bursts_are_constant_and_without_randomness_all_is_even() {
        let [on, off] =
            [3, 2].map(|milliseconds| Delay::Constant { value: Duration::from_millis(milliseconds) });
        let cycles = |at: Instant| at.as_nanos() / 5_000_000;
        let mut even = times(PacketModel::OnOff { on, off }, 8, 7);
        let all: Vec<Instant> = (0..3_000).map(|_| even.next_time()).collect();
        // A packet takes a millisecond, so each burst has three.
        assert!((999..=1_000).contains(&(cycles(all[2_999]) - cycles(all[0]))));
        let mut never_off = times(PacketModel::OnOff { on, off: Delay::None {} }, 8, 7);
        let first = never_off.next_time();
        let last = (0..1_000).map(|_| never_off.next_time()).last().unwrap();
        assert_eq!(last.saturating_since(first), Duration::from_secs(1));
    }

    #[test]
    fn bursts_that_are_too_short_for_a_packet_are_refused() {
        let model = PacketModel::OnOff { on: exponential(1), off: exponential(1) };
        let error = model.check(PACKET, mbit(7)).unwrap_err();
        assert_eq!((error.field.as_str(), error.value.as_str()), ("on", "1ms"));
        assert!(model.check(PACKET, mbit(8)).is_ok());
        for none in [Delay::None {}, Delay::Constant { value: Duration::ZERO }] {
            let error = PacketModel::OnOff { on: none, off: none }.check(PACKET, None).unwrap_err();
            assert_eq!(error.message(), "0ms; the mean of a burst must be above zero");
        }
        let impossible = Delay::Pareto { shape: -1.0, scale: Duration::from_millis(1), cap: None };
        let error =
            PacketModel::OnOff { on: exponential(9), off: impossible }.check(PACKET, mbit(8)).unwrap_err();
        assert_eq!(error.field, "off.shape");
        let scale = Duration::from_millis(1);
        let heavy =
            |cap| PacketModel::OnOff { on: exponential(9), off: Delay::Pareto { shape: 1.0, scale, cap } };
        let error = heavy(None).check(PACKET, mbit(8)).unwrap_err();
        assert_eq!(error.message(), "1; must be above 1, or lengths need a cap");
        assert!(heavy(Some(Duration::from_secs(60))).check(PACKET, mbit(8)).is_ok());
    }
}
