//! Proportional Rate Reduction (RFC 9937; Linux `tcp_cwnd_reduction`): how much may leave with each acknowledgment of fast recovery, so
//! that the data in flight shrink to ssthresh evenly over a round trip instead of in one silence.

/// The state of one recovery, in segments, as in Linux: a response that ends in a short segment would otherwise lack a few bytes of
/// the next one.
#[derive(Debug, Default)]
pub(super) struct Prr {
    /// The congestion window when recovery began (RFC 9937 takes the data in flight).
    prior_cwnd: u32,
    /// Segments delivered since.
    prr_delivered: u32,
    /// Segments sent since.
    prr_out: u32,
}

/// An acknowledgment of fast recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    /// Segments that are known to have left the network only now (RFC 9937's DeliveredData).
    pub(super) delivered: u32,
    /// SND.UNA moved, and nothing more was found lost (SafeACK).
    pub(super) safe: bool,
    /// What is thought to be in the network, bytes, and the same in segments.
    pub(super) inflight: u32,
    pub(super) packets: u32,
    /// The threshold, bytes.
    pub(super) ssthresh: u32,
    /// A full segment, bytes.
    pub(super) mss: u32,
}

impl Prr {
    /// Recovery begins, with a congestion window of `cwnd` bytes and segments of `mss` bytes.
    pub(super) fn new(cwnd: u32, mss: u32) -> Self {
        Self { prior_cwnd: (cwnd / mss).max(1), prr_delivered: 0, prr_out: 0 }
    }

    /// A segment leaves, for the first time or again.
    pub(super) fn on_sent(&mut self) {
        self.prr_out = self.prr_out.saturating_add(1);
    }

    /// The congestion window until the next acknowledgment, bytes (section 6.2): `inflight + SndCnt`.
    pub(super) fn window(&mut self, delivery: Delivery) -> u32 {
        let Delivery { delivered, safe, inflight, packets, ssthresh, mss } = delivery;
        self.prr_delivered = self.prr_delivered.saturating_add(delivered);
        let threshold = ssthresh / mss;
        let mut count = if packets > threshold {
            let share = u64::from(self.prr_delivered) * u64::from(threshold);
            share.div_ceil(u64::from(self.prior_cwnd)).saturating_sub(u64::from(self.prr_out)) as u32
        } else {
            // PRR-CRB by default, PRR-SSRB when recovery makes progress.
            let limit = self.prr_delivered.saturating_sub(self.prr_out).max(delivered);
            (threshold - packets).min(limit + u32::from(safe))
        };
        if self.prr_out == 0 {
            // The fast retransmission itself.
            count = count.max(1);
        }
        inflight.saturating_add(count.saturating_mul(mss))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1_000;

    /// A hundred segments, the first lost: with Reno's halving one may leave for every second that is delivered.
    #[test]
    fn the_flight_shrinks_to_the_threshold_evenly() {
        let mut prr = Prr::new(100 * MSS, MSS);
        let (mut inflight, mut sent) = (96 * MSS, 0);
        for delivered in 1..=96 {
            inflight -= if delivered > 3 { MSS } else { 0 };
            let delivery = Delivery {
                delivered: 1,
                safe: false,
                inflight,
                packets: inflight / MSS,
                ssthresh: 50 * MSS,
                mss: MSS,
            };
            let window = prr.window(delivery);
            while inflight + MSS <= window {
                inflight += MSS;
                prr.on_sent();
                sent += 1;
            }
        }
        assert!((47..=49).contains(&sent), "{sent}");
        assert!((48 * MSS..=52 * MSS).contains(&inflight), "{inflight}");
    }

    #[test]
    fn below_the_threshold_a_segment_leaves_for_each_delivered_and_one_more_after_progress() {
        let delivery = Delivery {
            delivered: 1,
            safe: false,
            inflight: 4 * MSS,
            packets: 4,
            ssthresh: 10 * MSS,
            mss: MSS,
        };
        let mut prr = Prr::new(20 * MSS, MSS);
        prr.on_sent();
        assert_eq!(prr.window(delivery), 5 * MSS, "conservation");
        assert_eq!(prr.window(Delivery { safe: true, ..delivery }), 6 * MSS, "slow start");
        let near = Delivery { inflight: 10 * MSS, packets: 10, safe: true, ..delivery };
        assert_eq!(prr.window(near), 10 * MSS, "never beyond the threshold");
    }

    /// The last segment of a response is shorter than the one that it makes room for.
    #[test]
    fn a_short_segment_makes_room_for_a_full_one() {
        let mut prr = Prr::new(20 * MSS, MSS);
        let delivery =
            Delivery { delivered: 1, safe: false, inflight: 300, packets: 1, ssthresh: 10 * MSS, mss: MSS };
        assert_eq!(prr.window(delivery), 300 + MSS);
        prr.on_sent();
        assert_eq!(prr.window(Delivery { inflight: MSS, ..delivery }), 2 * MSS);
    }

    #[test]
    fn the_first_retransmission_always_leaves() {
        let mut prr = Prr::new(100 * MSS, MSS);
        let delivery = Delivery {
            delivered: 0,
            safe: false,
            inflight: 90 * MSS,
            packets: 90,
            ssthresh: 50 * MSS,
            mss: MSS,
        };
        assert_eq!(prr.window(delivery), 91 * MSS);
    }
}
