//! Whether as many packets were lost as the loss models say.

use super::{DirectionSummary, NetworkSummary, Reason, ReasonCode};

/// Distance in standard errors that chance does not explain.
const STANDARD_ERRORS: f64 = 5.0;
/// Least expected losses for their number to be judged.
const LEAST_LOSSES: f64 = 10.0;

/// What is said of the networks of several runs.
pub(super) fn unexpected(networks: &[NetworkSummary]) -> Vec<Reason> {
    let up = Losses::of(networks.iter().map(|network| network.up)).unexpected("up");
    let down = Losses::of(networks.iter().map(|network| network.down)).unexpected("down");
    up.into_iter().chain(down).map(|message| Reason::of_all(ReasonCode::Loss, message)).collect()
}

/// Packets of one direction, and what became of them.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    packets: f64,
    lost: f64,
    /// Sum of the conditional probabilities of loss.
    expected: f64,
    variance: f64,
}

impl Losses {
    fn of(runs: impl Iterator<Item = DirectionSummary>) -> Self {
        runs.fold(Self::default(), |sum, run| {
            let packets = run.packets as f64;
            let counted = |rate: Option<f64>| rate.unwrap_or(0.0) * packets;
            Self {
                packets: sum.packets + packets,
                lost: sum.lost + run.lost as f64,
                expected: sum.expected + counted(run.expected_loss_rate),
                variance: sum.variance + counted(run.expected_standard_error).powi(2),
            }
        })
    }

    /// Injected loss far from the sum of its own conditional probabilities: the emulator is wrong. A handful of losses is not normally distributed, so
    /// from fewer than ten expected ones nothing is concluded, except where none could happen.
    fn unexpected(self, name: &str) -> Option<String> {
        let Self { packets, lost, expected, variance } = self;
        if packets <= 0.0 || (expected > 0.0 && expected < LEAST_LOSSES) {
            return None;
        }
        // What rounding makes of a rate is no loss.
        let by_chance = STANDARD_ERRORS * variance.sqrt() + packets * f64::EPSILON;
        ((lost - expected).abs() > by_chance).then(|| {
            format!(
                "{name}: loss rate {:.5} is more than {STANDARD_ERRORS} standard errors from {:.5}",
                lost / packets,
                expected / packets
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of runs of which one direction lost packets at a rate, another was expected, and its standard error is known.
    fn said(runs: &[(u64, f64, f64, f64)]) -> Vec<Reason> {
        let direction = |(packets, rate, expected, error): (u64, f64, f64, f64)| DirectionSummary {
            packets,
            lost: (packets as f64 * rate).round() as u64,
            expected_loss_rate: Some(expected),
            expected_standard_error: Some(error),
            ..DirectionSummary::default()
        };
        let up = |run| NetworkSummary { up: direction(run), ..NetworkSummary::default() };
        let down = |run| NetworkSummary { down: direction(run), ..NetworkSummary::default() };
        let found = unexpected(&runs.iter().copied().map(up).collect::<Vec<_>>());
        assert_eq!(found.len(), unexpected(&runs.iter().copied().map(down).collect::<Vec<_>>()).len());
        found
    }

    #[test]
    fn injected_loss_is_within_five_standard_errors_of_what_is_expected() {
        let lost = |packets, rate, expected, error| said(&[(packets, rate, expected, error)]).len();
        for (rate, count) in [(0.0149, 0), (0.0151, 1), (0.0051, 0), (0.0049, 1)] {
            assert_eq!(lost(10_000, rate, 0.01, 0.001), count, "{rate}");
        }
        // A handful of losses is not normally distributed.
        assert_eq!(lost(900, 0.05, 0.01, 0.003), 0);
        // Where nothing may be lost, one loss is too many.
        assert_eq!(lost(900, 1.0 / 900.0, 0.0, 0.0), 1);
        assert_eq!(lost(900, 0.0, 0.0, 0.0), 0);
    }

    #[test]
    fn runs_are_judged_together() {
        // Four standard errors in each of four runs are eight, and what one has too many another has too few.
        let (more, fewer) = ((10_000, 0.014, 0.01, 0.001), (10_000, 0.004, 0.01, 0.001));
        assert_eq!(said(&[more]), []);
        let message = "up: loss rate 0.01400 is more than 5 standard errors from 0.01000";
        assert_eq!(said(&[more; 4])[0].message, message);
        assert_eq!(said(&[fewer]).len(), 1);
        assert_eq!(said(&[more, fewer]), []);
        assert_eq!(said(&[]), []);
    }
}
