//! How long the emulator kept packets waiting, group by group, and how long it may.

use crate::Scenario;
use hdrhistogram::Histogram;
use wasp_units::Duration;

/// Waits in a histogram, in nanoseconds: from 1 ns to 10 s.
const BOUNDS: (u64, u64) = (1, 10_000_000_000);
/// Significant digits of a histogram where there are so many groups at most: two histograms of three digits have 200 KB, of two 29 KB, of one 4 KB.
const DIGITS: [(usize, u8); 2] = [(8, 3), (256, 2)];
const LEAST_DIGITS: u8 = 1;

/// The waits of the packets of one group's clients.
#[derive(Clone, Debug)]
pub(crate) struct GroupWaits {
    /// From when a packet of a client was due to when it was handed to the device.
    pub(crate) lag: Histogram<u32>,
    /// The most that a frame for a client can have waited in the device before it was read.
    pub(crate) unread: Histogram<u32>,
}

impl GroupWaits {
    fn add(&mut self, other: &Self) {
        self.lag.add(&other.lag).expect("all groups have the same bounds");
        self.unread.add(&other.unread).expect("all groups have the same bounds");
    }
}

/// How long packets waited in the measured interval.
#[derive(Debug)]
pub(crate) struct Lateness {
    /// The number of the last client of each group, plus one.
    ends: Box<[u32]>,
    groups: Box<[GroupWaits]>,
}

impl Lateness {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        Self::of_groups(scenario.clients.iter().map(|group| group.count))
    }

    fn of_groups(counts: impl Iterator<Item = u32>) -> Self {
        let sum = |clients: &mut u32, count| {
            *clients += count;
            Some(*clients)
        };
        let ends: Box<[u32]> = counts.scan(0, sum).collect();
        let digits = DIGITS.iter().find(|(most, _)| ends.len() <= *most);
        let digits = digits.map_or(LEAST_DIGITS, |(_, digits)| *digits);
        let empty =
            Histogram::new_with_bounds(BOUNDS.0, BOUNDS.1, digits).expect("constant bounds are valid");
        let waits = GroupWaits { lag: empty.clone(), unread: empty };
        let groups = vec![waits; ends.len()].into_boxed_slice();
        Self { ends, groups }
    }

    /// A packet of this client left so late.
    pub(crate) fn note_lag(&mut self, client: u32, lag: Duration) {
        if let Some(group) = self.group_of(client) {
            group.lag.saturating_record(lag.as_nanos());
        }
    }

    /// A frame for this client waited so long at most.
    pub(crate) fn note_unread(&mut self, client: u32, wait: Duration) {
        if let Some(group) = self.group_of(client) {
            group.unread.saturating_record(wait.as_nanos());
        }
    }

    fn group_of(&mut self, client: u32) -> Option<&mut GroupWaits> {
        let group = self.ends.partition_point(|end| *end <= client);
        self.groups.get_mut(group)
    }

    /// Adds what another thread of the same run saw.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (group, more) in self.groups.iter_mut().zip(&other.groups) {
            group.add(more);
        }
    }

    /// The waits of each group, in the order of the scenario.
    pub(crate) const fn groups(&self) -> &[GroupWaits] {
        &self.groups
    }

    /// The waits of all groups together.
    pub(crate) fn all(&self) -> GroupWaits {
        let (first, others) = self.groups.split_first().expect("a checked scenario has a group");
        let mut all = first.clone();
        for group in others {
            all.add(group);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_counts_for_the_group_of_its_client_and_for_none_without_one() {
        for many in [0, 10, 300] {
            let counts = [1, 2, 3].into_iter().chain(std::iter::repeat_n(1, many));
            let mut lateness = Lateness::of_groups(counts);
            for client in 0..6 {
                lateness.note_lag(client, Duration::from_micros(100));
                lateness.note_unread(client, Duration::from_micros(200));
            }
            lateness.note_lag(6 + many as u32, Duration::from_secs(1));
            let counted: Vec<_> =
                lateness.groups().iter().map(|group| (group.lag.len(), group.unread.len())).collect();
            assert_eq!(counted[..3], [(1, 1), (2, 2), (3, 3)]);
            assert!(counted[3..].iter().all(|counts| *counts == (0, 0)));
            let all = lateness.all();
            assert_eq!((all.lag.len(), all.unread.len()), (6, 6));
            assert!(all.lag.max().abs_diff(100_000) <= 6_500 && all.unread.max().abs_diff(200_000) <= 13_000);
        }
    }
}
