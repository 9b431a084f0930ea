//! The figures of links that are observed, over the measured interval.

use crate::scenario::Group;
use crate::{LinkSecond, ObservedLink, Scenario};
use hdrhistogram::Histogram;
use serde::Serialize;

/// What one direction of a link did that is observed, or of the access links of a group together; cross traffic is included.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkSummary {
    /// The name of the link, or of the group.
    pub link: String,
    /// The direction.
    pub direction: &'static str,
    /// How many links those are.
    pub links: u32,
    /// The rate of each, or the mean rate of its trace, in bits a second; none is unlimited.
    pub rate_bps: Option<u64>,
    /// Bits a second of the packets whose transmission began, copies among them; the mean over the links.
    pub carried_bps: f64,
    /// That over the rate; none of a link without one, or with a trace, whose rate in the interval is not its mean rate.
    pub utilization: Option<f64>,
    /// How long packets waited in the queue that left it in the interval, of all these links together.
    pub waiting_ms: WaitingTime,
    /// Mean bytes in the queue; the mean over the links.
    pub mean_queue_bytes: f64,
    /// Most bytes in the queue of any.
    pub max_queue_bytes: u64,
    /// Packets that came.
    pub packets: u64,
    /// Copies that were made of them.
    pub duplicated: u64,
    /// Packets lost at random.
    pub lost: u64,
    /// Packets dropped for another reason, copies among them.
    pub dropped: u64,
    /// Packets that the queue discipline marked.
    pub marked: u64,
}

/// How long packets waited in milliseconds; a figure of no packet is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WaitingTime {
    /// Mean, within half a per cent.
    pub mean: Option<f64>,
    /// Median; as the others at most a per cent too high.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Longest.
    pub max: Option<f64>,
}

/// The figures of all links that were observed in so many seconds: of each that clients share, and of the access links of each group. There are none of
/// a run whose interval did not begin for all clients.
pub(super) fn observed(scenario: &Scenario, links: &[ObservedLink], seconds: f64) -> Vec<LinkSummary> {
    if links.iter().any(|link| link.measured.is_none()) {
        return Vec::new();
    }
    let shared = links.iter().filter(|link| link.group.is_none());
    let shared = shared.filter_map(|link| summary(&link.link, link.direction, &[link], seconds));
    let groups = scenario.clients.iter().enumerate().filter(|(_, group)| group.observe);
    let of_group = |(place, Group { name, .. }): (usize, &Group)| {
        let both = ["up", "down"].map(|direction| {
            let is_own = |link: &&ObservedLink| link.group == Some(place) && link.direction == direction;
            summary(name, direction, &links.iter().filter(is_own).collect::<Vec<_>>(), seconds)
        });
        both.into_iter().flatten()
    };
    shared.chain(groups.flat_map(of_group)).collect()
}

/// The figures of links that are told together; nothing of none.
fn summary(
    name: &str,
    direction: &'static str,
    links: &[&ObservedLink],
    seconds: f64,
) -> Option<LinkSummary> {
    let first = links.first()?;
    let mut sum = LinkSecond::default();
    let mut waits: Option<Histogram<u32>> = None;
    for link in links {
        sum.add(link.measured.as_ref()?);
        match (&mut waits, &link.waits) {
            (Some(waits), Some(more)) => waits.add(more).expect("all have the same bounds"),
            (waits, more) => *waits = waits.take().or_else(|| more.clone()),
        }
    }
    let count = links.len() as f64;
    let carried_bps = sum.carried_bytes as f64 * 8.0 / seconds / count;
    let utilization = first.rate_bps.filter(|_| !first.is_traced).map(|rate| carried_bps / rate as f64);
    Some(LinkSummary {
        link: name.to_owned(),
        direction,
        links: links.len() as u32,
        rate_bps: first.rate_bps,
        carried_bps,
        utilization,
        waiting_ms: waits.map_or_else(WaitingTime::default, |waits| waiting(&waits)),
        mean_queue_bytes: sum.mean_queue_bytes / count,
        max_queue_bytes: sum.max_queue_bytes,
        packets: sum.packets,
        duplicated: sum.duplicated,
        lost: sum.lost,
        dropped: sum.dropped,
        marked: sum.marked,
    })
}

fn waiting(waits: &Histogram<u32>) -> WaitingTime {
    if waits.is_empty() {
        return WaitingTime::default();
    }
    let at = |quantile| Some(waits.value_at_quantile(quantile) as f64 / 1e6);
    WaitingTime {
        mean: Some(waits.mean() / 1e6),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        max: Some(waits.max() as f64 / 1e6),
    }
}
