//! Users whose requests and pauses alternate, begun as though they had been doing so for ever.

use wasp_random::{Key, Purpose};
use wasp_units::{Duration, Instant};
use wasp_workload::{Delay, Equilibrium, OffTimes};

const USERS: u32 = 40_000;
const WARMUP: Duration = Duration::from_secs(10);
const RESPONSE: Duration = Duration::from_millis(1_500);

/// Pauses of every law, shorter and longer than the warm-up.
fn laws() -> [Delay; 7] {
    [
        Delay::Constant { value: Duration::from_millis(1_200) },
        Delay::Pareto { shape: 1.5, scale: Duration::from_secs(1), cap: None },
        Delay::Constant { value: Duration::from_secs(3) },
        Delay::Exponential { mean: Duration::from_secs(3) },
        Delay::Lognormal { mu: 0.0, sigma: 1.5 },
        Delay::Constant { value: Duration::from_secs(12) },
        Delay::Weibull { shape: 0.5, scale: Duration::from_secs(30) },
    ]
}

/// When a user asks, up to a minute after the warm-up, if each response takes as long.
fn asks(law: Delay, user: u32, response: Duration) -> Vec<Instant> {
    let root = Key::root(7, 0);
    let key = root.purpose(Purpose::Start).name("users").entity(u64::from(user));
    let start = Equilibrium::new(law, WARMUP, key);
    let pauses = OffTimes::new(law, Delay::None {}, root, "users", user);
    let (mut asks, mut next) = (Vec::new(), start.first(0));
    while next < Instant::ZERO + WARMUP + Duration::from_secs(60) {
        asks.push(next);
        let (now, index) = (next + response, asks.len() as u64);
        next = start.pause(now, index).unwrap_or_else(|| now + pauses.inactive(index));
    }
    asks
}

/// Whether a number of independent events of this mean is where chance leaves it, but in one of three million cases.
fn close(count: usize, mean: f64) -> bool {
    (count as f64 - mean).abs() < 5.0 * mean.sqrt()
}

#[test]
fn as_many_ask_in_every_second_after_the_warm_up_as_in_the_long_run() {
    for law in laws() {
        let responses = [Duration::from_millis(20), RESPONSE, Duration::from_secs(4)];
        // Responses that all take as long keep users in step where pauses do not scatter them.
        for response in responses.into_iter().filter(|response| *response * 2 <= law.mean()) {
            let cycle = (law.mean() + response).as_secs_f64();
            let mut seconds = [0; 70];
            let times = (0..USERS).flat_map(|user| asks(law, user, response));
            times.for_each(|at| seconds[at.as_secs_f64() as usize] += 1);
            let expected = f64::from(USERS) / cycle;
            for (second, count) in seconds.iter().enumerate().skip(10) {
                assert!(
                    close(*count, expected),
                    "{law:?} {response}: {count} of {expected} in second {second}"
                );
            }
        }
    }
}

#[test]
fn who_pauses_at_the_end_of_the_warm_up_has_the_rest_of_a_pause_before_him() {
    let warmed_up = Instant::ZERO + WARMUP;
    for law in laws() {
        let mut rests = Vec::new();
        for user in 0..USERS {
            let times = asks(law, user, RESPONSE);
            let next = times.iter().find(|at| **at >= warmed_up);
            let busy = times.iter().any(|at| *at < warmed_up && *at + RESPONSE > warmed_up);
            if !busy {
                rests.push(next.map_or(f64::INFINITY, |at| (*at - warmed_up).as_secs_f64()));
            }
        }
        let share = law.mean().as_secs_f64() / (law.mean() + RESPONSE).as_secs_f64();
        assert!(close(rests.len(), share * f64::from(USERS)), "{law:?}: {} pause", rests.len());
        // P(rest <= x) = integral of P(pause > t) over t from 0 to x, divided by the mean.
        for x in [0.2, 1.0, 2.0, 5.0, 20.0, 50.0] {
            let longer = |t: f64| match law {
                Delay::Constant { value } => f64::from(u8::from(t < value.as_secs_f64())),
                _ => 1.0 - law.truncated().unwrap().cdf(t),
            };
            let steps = 20_000;
            let width = x / f64::from(steps);
            let integral: f64 = (0..steps).map(|step| longer((f64::from(step) + 0.5) * width) * width).sum();
            let expected = integral / law.mean().as_secs_f64();
            let found = rests.iter().filter(|rest| **rest <= x).count() as f64 / rests.len() as f64;
            // The standard deviation of a share is at most 1 / (2 sqrt(n)).
            assert!(
                (found - expected).abs() < 2.5 / (rests.len() as f64).sqrt(),
                "{law:?} {x}: {found} {expected}"
            );
        }
    }
}

#[test]
fn all_ask_in_the_first_half_of_the_warm_up_if_they_pause_for_a_short_time() {
    let half = Instant::ZERO + WARMUP / 2;
    for (pause, all) in [(1_250, true), (1_251, false)] {
        let law = Delay::Constant { value: Duration::from_millis(pause) };
        let early = (0..1_000).filter(|user| asks(law, *user, RESPONSE)[0] < half);
        assert_eq!(early.count() == 1_000, all);
    }
}

#[test]
fn without_pauses_users_begin_within_their_turn() {
    let key = Key::root(1, 0).purpose(Purpose::Start);
    let start = |user: u64| Equilibrium::new(Delay::None {}, WARMUP, key.entity(user));
    let mut firsts: Vec<_> = (0..1_000).map(|user| start(user).first(0)).collect();
    firsts.sort_unstable();
    assert!(firsts[999] < Instant::ZERO + WARMUP / 2);
    assert!(
        firsts[0] < Instant::ZERO + Duration::from_millis(50)
            && firsts[999] > Instant::ZERO + WARMUP * 49 / 100
    );
    assert!(start(0).pause(Instant::ZERO, 0).is_none());
    assert_ne!(start(0).first(0), start(0).first(1));
}

#[test]
fn without_a_warm_up_the_rest_of_a_pause_comes_first() {
    let law = Delay::Constant { value: Duration::from_secs(3) };
    let start = |user: u64| Equilibrium::new(law, Duration::ZERO, Key::root(1, 0).entity(user));
    let late = (0..1_000)
        .filter(|user| start(*user).first(0) > Instant::ZERO + Duration::from_millis(1_500))
        .count();
    assert!(close(late, 500.0), "{late}");
    assert!(start(0).pause(Instant::ZERO, 0).is_none());
}
