//! Proportional Rate Reduction (RFC 9937): how much may leave with each acknowledgment of fast recovery, so that the data in
//! flight shrink to ssthresh evenly over a round trip instead of in one silence.

/// The state of one recovery, in bytes, by the RFC's names.
#[derive(Debug, Default)]
pub(super) struct Prr {
    /// Data in flight when recovery began.
    recover_fs: u32,
    /// Data delivered since.
    prr_delivered: u32,
    /// Data sent since.
    prr_out: u32,
}

/// An acknowledgment of fast recovery, or a timer in its place. Everything is in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    /// DeliveredData: what is known to have left the network only now.
    pub(super) delivered: u32,
    /// SND.UNA moved, and nothing more was found lost (SafeACK).
    pub(super) safe: bool,
    /// What is thought to be in the network.
    pub(super) inflight: u32,
    pub(super) ssthresh: u32,
    pub(super) mss: u32,
}

impl Prr {
    /// Recovery begins with `recover_fs` bytes not yet known to be delivered.
    pub(super) fn new(recover_fs: u32) -> Self {
        Self { recover_fs: recover_fs.max(1), prr_delivered: 0, prr_out: 0 }
    }

    /// `len` bytes leave, for the first time or again.
    pub(super) fn on_sent(&mut self, len: u32) {
        self.prr_out = self.prr_out.saturating_add(len);
    }

    /// The congestion window until the next acknowledgment (section 6.2): `inflight + SndCnt`.
    pub(super) fn window(&mut self, delivery: Delivery) -> u32 {
        let Delivery { delivered, safe, inflight, ssthresh, mss } = delivery;
        self.prr_delivered = self.prr_delivered.saturating_add(delivered);
        let mut count = if inflight > ssthresh {
            let share = u64::from(self.prr_delivered) * u64::from(ssthresh);
            share.div_ceil(u64::from(self.recover_fs)).saturating_sub(u64::from(self.prr_out)) as u32
        } else {
            // PRR-CRB by default, PRR-SSRB when recovery makes progress.
            let limit = self.prr_delivered.saturating_sub(self.prr_out).max(delivered);
            (ssthresh - inflight).min(limit + if safe { mss } else { 0 })
        };
        if self.prr_out == 0 || inflight == 0 {
            // The fast retransmission itself; and with nothing in flight no acknowledgment would come.
            count = count.max(mss);
        }
        inflight.saturating_add(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1_000;

    /// A hundred segments, the first lost: with Reno's halving one may leave for every second that is delivered.
    #[test]
    fn the_flight_shrinks_to_the_threshold_evenly() {
        let mut prr = Prr::new(100 * MSS);
        let (mut inflight, mut sent) = (96 * MSS, 0);
        for delivered in 1..=96 {
            inflight -= if delivered > 3 { MSS } else { 0 };
            let delivery = Delivery { delivered: MSS, safe: false, inflight, ssthresh: 50 * MSS, mss: MSS };
            let window = prr.window(delivery);
            while inflight + MSS <= window {
                inflight += MSS;
                prr.on_sent(MSS);
                sent += 1;
            }
        }
        assert!((47..=49).contains(&sent), "{sent}");
        assert!((48 * MSS..=52 * MSS).contains(&inflight), "{inflight}");
    }

    #[test]
    fn below_the_threshold_a_segment_leaves_for_each_delivered_and_one_more_after_progress() {
        let delivery =
            Delivery { delivered: MSS, safe: false, inflight: 4 * MSS, ssthresh: 10 * MSS, mss: MSS };
        let mut prr = Prr::new(20 * MSS);
        prr.on_sent(MSS);
        assert_eq!(prr.window(delivery), 5 * MSS, "conservation");
        assert_eq!(prr.window(Delivery { safe: true, ..delivery }), 6 * MSS, "slow start");
        let near = Delivery { inflight: 10 * MSS, safe: true, ..delivery };
        assert_eq!(prr.window(near), 10 * MSS, "never beyond the threshold");
    }

    #[test]
    fn the_first_retransmission_always_leaves() {
        let mut prr = Prr::new(100 * MSS);
        let delivery =
            Delivery { delivered: 0, safe: false, inflight: 90 * MSS, ssthresh: 50 * MSS, mss: MSS };
        assert_eq!(prr.window(delivery), 91 * MSS);
    }
}
