//! Records as rows, in chunks: a full chunk never moves, so that no record waits for the copy of all before it. Rows become columns only after
//! the run, because a row is written to one place and its columns to as many as there are.

use wasp_app::{ConnectionEnd, TransactionRecord};
use wasp_net::Passage;
use wasp_units::Instant;

/// Rows of a chunk.
const CHUNK: usize = 16_384;
/// An instant that was not reached.
const NEVER: i64 = i64::MIN;

/// A connection that is over, or whose run is, with the emulator's own account of its packets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct ConnectionRecord {
    pub(crate) end: ConnectionEnd,
    /// Its packets from the client.
    pub(crate) up: Passage,
    /// Its packets to the client.
    pub(crate) down: Passage,
}

/// Rows of one kind.
#[derive(Debug)]
pub struct Rows<T> {
    /// All but the last are full, and none is empty.
    chunks: Vec<Vec<T>>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self { chunks: Vec::new() }
    }
}

impl<T> Rows<T> {
    /// The rows in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }

    /// The rows in order, for whoever keeps them, many at a time.
    #[must_use]
    pub fn into_chunks(self) -> Vec<Vec<T>> {
        self.chunks
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The row at a place, counted from 0.
    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        self.chunks.get_mut(place / CHUNK)?.get_mut(place % CHUNK)
    }

    /// Appends a row.
    pub(super) fn push(&mut self, row: T) {
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(row),
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(row);
                self.chunks.push(chunk);
            }
        }
    }

    /// Takes the last chunk out; returns whether there was one.
    pub(super) fn drop_chunk(&mut self) -> bool {
        self.chunks.pop().is_some()
    }

    /// These rows and those of `other` in the order of their keys; each has its own in order, and a chunk is freed after its last row.
    fn merge_by<K: Ord>(self, other: Self, key: impl Fn(&T) -> K) -> Self {
        let [mut mine, mut theirs] = [self, other].map(|rows| rows.chunks.into_iter().flatten().peekable());
        let mut merged = Self::default();
        loop {
            let next = match (mine.peek(), theirs.peek()) {
                (Some(first), Some(second)) if key(second) < key(first) => theirs.next(),
                (Some(_), _) => mine.next(),
                (None, _) => theirs.next(),
            };
            let Some(row) = next else { return merged };
            merged.push(row);
        }
    }
}

/// A transaction; times are nanoseconds since the start of the run, `i64::MIN` where not reached.
#[derive(Clone, Copy, Debug)]
pub struct TransactionRow {
    /// Index of the client.
    pub client: u32,
    /// Index of the group.
    pub group: u16,
    /// Ordinal of the connection among the client's.
    pub connection: u32,
    /// Ordinal of the request among the client's.
    pub request: u32,
    /// Place of the file in its set.
    pub file: u32,
    /// Intended start, of an arrival of an open loop.
    pub intended_ns: i64,
    /// Start.
    pub start_ns: i64,
    /// Connection established.
    pub connected_ns: i64,
    /// Request handed to TCP.
    pub sent_ns: i64,
    /// First byte of the response.
    pub first_byte_ns: i64,
    /// Last byte of the response.
    pub last_byte_ns: i64,
    /// End, whatever the outcome.
    pub end_ns: i64,
    /// Status, 0 without a response.
    pub status: u16,
    /// Bytes of the body.
    pub bytes: u64,
    /// Place of the outcome in `Outcome::ALL`.
    pub outcome: u8,
    /// 2 if repeated.
    pub attempts: u8,
    /// Whether it ended in the measured interval.
    pub measured: bool,
}

/// A connection; times are nanoseconds since the start of the run, `i64::MIN` where not reached.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionRow {
    /// Index of the client.
    pub client: u32,
    /// Index of the group.
    pub group: u16,
    /// Ordinal among the client's connections.
    pub connection: u32,
    /// The client's port.
    pub port: u16,
    /// `connect()`.
    pub opened_ns: i64,
    /// Nothing left of it.
    pub closed_ns: i64,
    /// Packets from the client.
    pub up_packets: u64,
    /// Those lost at random.
    pub up_lost: u64,
    /// Packets to the client.
    pub down_packets: u64,
    /// Those lost at random.
    pub down_lost: u64,
    /// Segments that the client sent again.
    pub retransmitted: u32,
}

impl Rows<TransactionRow> {
    /// These rows and those of other clients, in the order of (end, client, request).
    pub(super) fn merged(self, other: Self) -> Self {
        self.merge_by(other, |row| (row.end_ns, row.client, row.request))
    }
}

impl Rows<ConnectionRow> {
    /// These rows and those of other clients, in the order of (end, client, connection); the end of the run closed what is still open.
    pub(super) fn merged(self, other: Self) -> Self {
        self.merge_by(other, |row| (row.closed_ns == NEVER, row.closed_ns, row.client, row.connection))
    }
}

impl TransactionRow {
    pub(super) fn new(record: &TransactionRecord, measured: bool) -> Self {
        Self {
            client: record.client,
            group: record.group,
            connection: record.connection,
            request: record.request,
            file: record.file.0,
            intended_ns: nanos(record.intended),
            start_ns: nanos(Some(record.start)),
            connected_ns: nanos(record.connected),
            sent_ns: nanos(record.sent),
            first_byte_ns: nanos(record.first_byte),
            last_byte_ns: nanos(record.last_byte),
            end_ns: nanos(Some(record.end)),
            status: record.status,
            bytes: record.bytes,
            outcome: record.outcome as u8,
            attempts: record.attempts,
            measured,
        }
    }
}

impl ConnectionRow {
    pub(super) fn new(record: &ConnectionRecord) -> Self {
        let ConnectionRecord { end, up, down } = record;
        Self {
            client: end.client,
            group: end.group,
            connection: end.connection,
            port: end.port,
            opened_ns: nanos(Some(end.opened)),
            closed_ns: nanos(end.closed),
            up_packets: up.packets,
            up_lost: up.lost,
            down_packets: down.packets,
            down_lost: down.lost,
            retransmitted: end.retransmitted,
        }
    }
}

fn nanos(at: Option<Instant>) -> i64 {
    at.map_or(NEVER, |at| at.as_nanos() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_order_and_number_over_chunks() {
        let mut rows = Rows::default();
        assert_eq!((rows.len(), rows.is_empty()), (0, true));
        for row in 0..CHUNK + 1 {
            rows.push(row);
            assert_eq!(rows.len(), row + 1);
        }
        assert!(rows.iter().copied().eq(0..CHUNK + 1));
        assert!(rows.drop_chunk());
        assert_eq!((rows.len(), rows.iter().count()), (CHUNK, CHUNK));
        assert!(rows.drop_chunk() && !rows.drop_chunk() && rows.is_empty());
    }

    #[test]
    fn merged_rows_are_in_order_and_the_first_come_first() {
        let rows = |keys: &[(u32, char)]| {
            let mut rows = Rows::default();
            keys.iter().for_each(|key| rows.push(*key));
            rows
        };
        let merged = rows(&[(1, 'a'), (3, 'a')]).merge_by(rows(&[(1, 'b'), (2, 'b'), (4, 'b')]), |row| row.0);
        assert!(merged.iter().copied().eq([(1, 'a'), (1, 'b'), (2, 'b'), (3, 'a'), (4, 'b')]));
    }

    #[test]
    fn a_transaction_takes_88_bytes() {
        assert_eq!(size_of::<TransactionRow>(), 88);
    }
}
