//! One ledger out of those of several threads.

use super::{FromStart, Gauges, Ledger, Second};

impl Ledger {
    /// Adds the records of other clients of the same run. Rows are in the order of (time, client, sequence).
    pub(crate) fn merge(&mut self, other: Self) {
        // Every field is named, so that a new one is not forgotten here.
        let Self {
            interval,
            sample: _,
            transactions,
            connections,
            seconds,
            response_times,
            other_times,
            groups,
            from_start,
            ecn,
            retried,
            completed,
            errors,
            in_progress,
            progress_integral,
            last_change,
        } = other;
        self.interval = self.interval.stopped_at(interval.end());
        self.transactions = std::mem::take(&mut self.transactions).merged(transactions);
        self.connections = std::mem::take(&mut self.connections).merged(connections);
        merge_seconds(&mut self.seconds, seconds);
        self.response_times.add(response_times).expect("all have the same bounds");
        self.other_times.add(other_times).expect("all have the same bounds");
        for (mine, theirs) in self.groups.iter_mut().zip(&groups) {
            mine.merge(theirs);
        }
        match (&mut self.from_start, from_start) {
            (Some(mine), Some(theirs)) => mine.merge(&theirs),
            (mine, theirs) => *mine = mine.take().or(theirs),
        }
        self.ecn.merge(&ecn);
        self.retried += retried;
        self.completed += completed;
        self.errors += errors;
        self.in_progress += in_progress;
        self.progress_integral += progress_integral;
        self.last_change = self.last_change.max(last_change);
    }
}

impl FromStart {
    fn merge(&mut self, other: &Self) {
        self.times.add(&other.times).expect("all have the same bounds");
        self.sum += other.sum;
    }
}

pub(super) fn add(counts: &mut [u64], more: &[u64]) {
    for (count, more) in counts.iter_mut().zip(more) {
        *count += more;
    }
}

/// Where one has no entry yet, what was in progress stays so.
fn merge_seconds(seconds: &mut Vec<Second>, mut more: Vec<Second>) {
    let length = seconds.len().max(more.len());
    for series in [&mut *seconds, &mut more] {
        let in_flight = series.last().map_or(0, |last| last.in_flight);
        series.resize(length, Second { in_flight, ..Second::default() });
    }
    for (second, more) in seconds.iter_mut().zip(more) {
        second.ok += more.ok;
        second.errors += more.errors;
        second.bytes += more.bytes;
        second.in_flight += more.in_flight;
        second.gauges = match (second.gauges, more.gauges) {
            (Some(gauges), Some(more)) => Some(gauges.merged(&more)),
            _ => None,
        };
    }
}

impl Gauges {
    fn merged(mut self, more: &Self) -> Self {
        for (crossings, more) in [(&mut self.up, &more.up), (&mut self.down, &more.down)] {
            crossings.packets += more.packets;
            crossings.lost += more.lost;
        }
        self.server_busy = self.server_busy.or(more.server_busy);
        self.lag_max_ns = self.lag_max_ns.max(more.lag_max_ns);
        self
    }
}
