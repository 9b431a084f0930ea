//! HyStart++ (RFC 9406): the first slow start ends when the round-trip time rises, by way of a slower growth that can be
//! taken back.

use super::AckEvent;
use wasp_units::Duration;
use wasp_wire::SequenceNumber;

const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u32 = 4;
const CSS_ROUNDS: u8 = 5;
/// L: the most segments by which one acknowledgment grows the window of a sender that does not pace.
const L: u32 = 8;

/// "Infinity" of a round-trip time.
const NEVER: Duration = Duration::MAX;

/// What an acknowledgment of the first slow start means.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Growth {
    /// The window grows by so many bytes.
    By(u32),
    /// Congestion avoidance begins.
    End,
}

/// The state of the first slow start, by the RFC's names.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    window_end: Option<SequenceNumber>,
    last_round_min_rtt: Duration,
    current_round_min_rtt: Duration,
    rtt_sample_count: u32,
    /// Conservative slow start: the round-trip time at its beginning; `NEVER` outside of it.
    css_baseline_min_rtt: Duration,
    /// Rounds of conservative slow start, the present one included.
    css_rounds: u8,
}

impl HyStart {
    pub(super) fn new() -> Self {
        Self {
            window_end: None,
            last_round_min_rtt: NEVER,
            current_round_min_rtt: NEVER,
            rtt_sample_count: 0,
            css_baseline_min_rtt: NEVER,
            css_rounds: 0,
        }
    }

    /// An acknowledgment that would grow the window by `bytes`.
    pub(super) fn on_ack(&mut self, mss: u32, bytes: u32, event: &AckEvent<'_>) -> Growth {
        if self.window_end.is_none_or(|end| event.una.at_or_after(end)) && self.begin_round(event.next) {
            return Growth::End;
        }
        if let Some(rtt) = event.rtt {
            self.current_round_min_rtt = self.current_round_min_rtt.min(rtt);
            self.rtt_sample_count += 1;
            self.judge();
        }
        let bytes = bytes.min(L * mss);
        Growth::By(if self.is_conservative() { bytes / CSS_GROWTH_DIVISOR } else { bytes })
    }

    fn is_conservative(&self) -> bool {
        self.css_baseline_min_rtt != NEVER
    }

    /// A round ends when what was sent at its beginning is acknowledged. Returns whether slow start has ended with it.
    fn begin_round(&mut self, next: SequenceNumber) -> bool {
        self.window_end = Some(next);
        self.last_round_min_rtt = self.current_round_min_rtt;
        self.current_round_min_rtt = NEVER;
        self.rtt_sample_count = 0;
        if !self.is_conservative() {
            return false;
        }
        self.css_rounds += 1;
        self.css_rounds > CSS_ROUNDS
    }

    /// Slow start turns conservative when the round-trip time has risen, and back when it has not stayed so.
    fn judge(&mut self) {
        if self.rtt_sample_count < N_RTT_SAMPLE {
            return;
        }
        if self.is_conservative() {
            if self.current_round_min_rtt < self.css_baseline_min_rtt {
                self.css_baseline_min_rtt = NEVER;
            }
        } else if self.last_round_min_rtt != NEVER {
            let share = self.last_round_min_rtt / MIN_RTT_DIVISOR;
            let thresh = share.min(MAX_RTT_THRESH).max(MIN_RTT_THRESH);
            if self.current_round_min_rtt >= self.last_round_min_rtt + thresh {
                self.css_baseline_min_rtt = self.current_round_min_rtt;
                self.css_rounds = 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::rto::Rto;

    const MSS: u32 = 1_000;

    /// Runs rounds of `acks` acknowledgments of one segment with the given round-trip times; returns each round's growth in
    /// bytes, up to the end of slow start.
    fn rounds(acks: u32, rtts: &[u64]) -> Vec<u32> {
        let rto = Rto::new(&Config::linux());
        let mut hystart = HyStart::new();
        let mut una = SequenceNumber(0);
        let mut grown = Vec::new();
        for rtt in rtts {
            let next = una + acks * MSS;
            let mut growth = 0;
            for _ in 0..acks {
                // The first acknowledgment of a round is the one that reaches the number sent last before it.
                let event = AckEvent {
                    bytes: MSS,
                    segments: 1,
                    una,
                    next,
                    rtt: Some(Duration::from_millis(*rtt)),
                    rto: &rto,
                };
                match hystart.on_ack(MSS, MSS, &event) {
                    Growth::By(bytes) => growth += bytes,
                    Growth::End => return grown,
                }
                una += MSS;
            }
            grown.push(growth);
        }
        grown
    }

    #[test]
    fn a_constant_round_trip_time_never_ends_slow_start() {
        assert_eq!(rounds(10, &[100; 30]), [10 * MSS; 30]);
    }

    #[test]
    fn a_rise_of_an_eighth_slows_growth_to_a_quarter_for_five_rounds() {
        // The eighth sample of the third round is the proof.
        let mut expected = vec![10 * MSS, 10 * MSS, 7 * MSS + 3 * MSS / 4];
        expected.extend([10 * MSS / 4; 4]);
        assert_eq!(rounds(10, &[100, 100, 113, 113, 113, 113, 113, 113, 113]), expected);
        assert_eq!(rounds(10, &[100, 100, 112, 112]), [10 * MSS; 4], "less than an eighth");
    }

    #[test]
    fn slow_start_goes_on_when_the_round_trip_time_falls_again() {
        let grown = rounds(10, &[100, 100, 113, 110, 110, 110]);
        assert_eq!(grown[3], 7 * MSS / 4 + 3 * MSS, "its eighth sample is below the baseline");
        assert_eq!(grown[4..], [10 * MSS; 2]);
    }

    /// RFC 9406 section 4.2: L is 8 where the sender does not pace.
    #[test]
    fn an_acknowledgment_counts_for_eight_segments_at_most() {
        let rto = Rto::new(&Config::linux());
        for (segments, counted) in [(7, 7), (8, 8), (9, 8)] {
            let (una, next) = (SequenceNumber(0), SequenceNumber(0));
            let event = AckEvent { bytes: segments * MSS, segments, una, next, rtt: None, rto: &rto };
            let growth = HyStart::new().on_ack(MSS, segments * MSS, &event);
            assert!(matches!(growth, Growth::By(bytes) if bytes == counted * MSS), "{segments}");
        }
    }
}
