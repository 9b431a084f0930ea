//! What the connections of a group's transactions had been through before.

use wasp_app::TransactionRecord;

/// Numbers of loss events that are told apart; the last is that and all above.
pub(crate) const CLASSES: usize = 32;
/// Parts of a group's clients whose transactions are independent of each other.
pub(crate) const PARTS: usize = 16;
/// Classes of size, each from twice the bytes of the one before; the last is that and all above.
pub(crate) const SIZES: usize = 32;

/// The `ok` transactions of the interval, by what their connections had carried and lost when they were sent. What is lost is counted in the direction in which more
/// went: that of the response, or of the content of a request that is larger.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// How many.
    pub(crate) count: u64,
    /// Those of them in which more went from the client.
    pub(crate) uploads: u64,
    /// Bytes that went in that direction.
    pub(crate) bytes: u64,
    /// The same by size.
    pub(crate) sizes: [OfSize; SIZES],
    /// Sum of the requests that their connections had carried before.
    pub(crate) requests_before: u64,
    /// Sum of the loss events that their connections had had before.
    pub(crate) loss_events: u64,
    /// Sum of their times from the request to the end of the response, in nanoseconds.
    pub(crate) time: u64,
    /// Sum of their times from the request to the first byte of the response, in nanoseconds.
    pub(crate) first_byte: u64,
    /// Those whose connection was the first of its place, by the part of the clients and by the connection's loss events.
    pub(crate) first_of_place: [[Timed; CLASSES]; PARTS],
}

/// Transactions of about the same size.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct OfSize {
    /// How many.
    pub(crate) count: u64,
    /// Sum of their bytes.
    pub(crate) bytes: u64,
}

impl OfSize {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.bytes += other.bytes;
    }
}

/// Some transactions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Timed {
    /// How many.
    pub(crate) count: u64,
    /// Sum of their times, in nanoseconds.
    pub(crate) time: u64,
}

impl Timed {
    /// Adds others.
    pub(crate) fn add(&mut self, other: Self) {
        self.count += other.count;
        self.time += other.time;
    }
}

impl History {
    /// Notes an `ok` transaction that ended in the interval, with a request of so many bytes of content.
    pub(super) fn note(&mut self, record: &TransactionRecord, content: u64) {
        let Some(sent) = record.sent else { return };
        let time = (record.end - sent).as_nanos();
        let uploads = content > record.bytes;
        let loss_events = if uploads { record.loss_events.up } else { record.loss_events.down };
        let bytes = content.max(record.bytes);
        self.count += 1;
        self.uploads += u64::from(uploads);
        self.bytes += bytes;
        self.sizes[(bytes.max(1).ilog2() as usize).min(SIZES - 1)].add(OfSize { count: 1, bytes });
        self.requests_before += u64::from(record.requests_before);
        self.loss_events += u64::from(loss_events);
        self.time += time;
        self.first_byte += record.first_byte.map_or(time, |first| (first - sent).as_nanos());
        if record.first_of_place {
            let class = (loss_events as usize).min(CLASSES - 1);
            self.first_of_place[record.client as usize % PARTS][class].add(Timed { count: 1, time });
        }
    }

    /// Adds other transactions.
    pub(super) fn merge(&mut self, other: &Self) {
        let Self {
            count,
            uploads,
            bytes,
            sizes,
            requests_before,
            loss_events,
            time,
            first_byte,
            first_of_place,
        } = other;
        self.count += count;
        self.uploads += uploads;
        self.bytes += bytes;
        self.sizes.iter_mut().zip(sizes).for_each(|(size, more)| size.add(*more));
        self.requests_before += requests_before;
        self.loss_events += loss_events;
        self.time += time;
        self.first_byte += first_byte;
        let mine = self.first_of_place.as_flattened_mut().iter_mut();
        mine.zip(first_of_place.as_flattened()).for_each(|(timed, more)| timed.add(*more));
    }
}
