//! Records as columns, in chunks: a full chunk never moves, so that no record waits for the copy of all before it.

use super::strata::Strata;
use wasp_host::{ConnectionRecord, TransactionRecord};
use wasp_units::Instant;

/// Rows of a chunk.
const CHUNK: usize = 16_384;
/// An instant that was not reached.
const NEVER: i64 = i64::MIN;

/// Declares a set of columns, its chunks, and how a row is appended.
macro_rules! columns {
    ($(#[$doc:meta])* $name:ident, $chunk:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty),* $(,)? }) => {
        /// A chunk of rows; every column has the same length.
        #[derive(Debug, Default)]
        pub struct $chunk { $($(#[$field_doc])* pub $field: Vec<$type>,)* }

        impl $chunk {
            fn with_capacity(rows: usize) -> Self {
                Self { $($field: Vec::with_capacity(rows),)* }
            }
        }

        $(#[$doc])*
        #[derive(Debug, Default)]
        pub struct $name { chunks: Vec<$chunk>, rows: u64 }

        impl $name {
            /// The chunks in order; all but the last are full.
            #[must_use]
            pub fn chunks(&self) -> &[$chunk] {
                &self.chunks
            }

            /// The chunks themselves, for whoever keeps the rows.
            #[must_use]
            pub fn into_chunks(self) -> Vec<$chunk> {
                self.chunks
            }

            /// Rows in all chunks.
            #[must_use]
            pub const fn rows(&self) -> u64 {
                self.rows
            }

            /// These rows and those of `other` in the order of their keys; each has its own in order.
            fn merge_by<K: Ord>(self, other: Self, key: impl Fn(&$chunk, usize) -> K) -> Self {
                let mut merged = Self::default();
                let mut sources = [self, other].map(|rows| rows.rows_in_order().peekable());
                loop {
                    let [first, second] = &mut sources;
                    let from_second = match (first.peek(), second.peek()) {
                        (None, None) => return merged,
                        (Some(_), None) => false,
                        (None, Some(_)) => true,
                        (Some((a, i)), Some((b, j))) => key(b, *j) < key(a, *i),
                    };
                    let (chunk, row) = sources[usize::from(from_second)].next().expect("it was peeked at");
                    let open = merged.open();
                    $(open.$field.push(chunk.$field[row]);)*
                }
            }

            /// Each row as a chunk and a place in it; a chunk is freed after its last row.
            fn rows_in_order(self) -> impl Iterator<Item = (std::rc::Rc<$chunk>, usize)> {
                self.chunks.into_iter().map(std::rc::Rc::new).flat_map(|chunk| {
                    (0..chunk.client.len()).map(move |row| (std::rc::Rc::clone(&chunk), row))
                })
            }

            /// The chunk that takes the next row.
            fn open(&mut self) -> &mut $chunk {
                if self.rows % CHUNK as u64 == 0 {
                    self.chunks.push($chunk::with_capacity(CHUNK));
                }
                self.rows += 1;
                self.chunks.last_mut().expect("a chunk was just made sure of")
            }
        }
    };
}

columns! {
    /// Transactions in the order of their end; times are nanoseconds since the start of the run, `i64::MIN` where not reached.
    TransactionRows, TransactionChunk {
        /// Index of the client.
        client: u32,
        /// Index of the group.
        group: u16,
        /// Ordinal of the connection among the client's.
        connection: u32,
        /// Ordinal of the request among the client's.
        request: u32,
        /// Place of the file in its set.
        file: u32,
        /// Intended start, of an arrival of an open loop.
        intended_ns: i64,
        /// Start.
        start_ns: i64,
        /// Connection established.
        connected_ns: i64,
        /// Request handed to TCP.
        sent_ns: i64,
        /// First byte of the response.
        first_byte_ns: i64,
        /// Last byte of the response.
        last_byte_ns: i64,
        /// End, whatever the outcome.
        end_ns: i64,
        /// Status, 0 without a response.
        status: u16,
        /// Bytes of the body.
        bytes: u64,
        /// Place of the outcome in `Outcome::ALL`.
        outcome: u8,
        /// 2 if repeated.
        attempts: u8,
        /// Whether it ended in the measured interval.
        measured: bool,
    }
}

columns! {
    /// The connections of a run.
    ConnectionColumns, ConnectionChunk {
        /// Index of the client.
        client: u32,
        /// Index of the group.
        group: u16,
        /// Ordinal among the client's connections.
        connection: u32,
        /// `connect()`.
        opened_ns: i64,
        /// Nothing left of it.
        closed_ns: i64,
        /// Packets from the client.
        up_packets: u64,
        /// Those lost at random.
        up_lost: u64,
        /// Packets to the client.
        down_packets: u64,
        /// Those lost at random.
        down_lost: u64,
        /// Segments that the client sent again.
        retransmitted: u32,
    }
}

/// The transactions of a run: all of them, or a sample by their keys.
pub type TransactionColumns = Strata<TransactionRows>;

impl TransactionRows {
    /// These rows and those of other clients, in the order of (end, client, request).
    pub(super) fn merged(self, other: Self) -> Self {
        self.merge_by(other, |chunk, row| (chunk.end_ns[row], chunk.client[row], chunk.request[row]))
    }

    /// Takes the last chunk out; returns whether there was one.
    pub(super) fn drop_chunk(&mut self) -> bool {
        let chunk = self.chunks.pop();
        self.rows -= chunk.as_ref().map_or(0, |chunk| chunk.client.len() as u64);
        chunk.is_some()
    }

    /// Appends a record.
    pub(super) fn push(&mut self, record: &TransactionRecord, measured: bool) {
        let chunk = self.open();
        chunk.client.push(record.client);
        chunk.group.push(record.group);
        chunk.connection.push(record.connection);
        chunk.request.push(record.request);
        chunk.file.push(record.file.0);
        chunk.intended_ns.push(nanos(record.intended));
        chunk.start_ns.push(nanos(Some(record.start)));
        chunk.connected_ns.push(nanos(record.connected));
        chunk.sent_ns.push(nanos(record.sent));
        chunk.first_byte_ns.push(nanos(record.first_byte));
        chunk.last_byte_ns.push(nanos(record.last_byte));
        chunk.end_ns.push(nanos(Some(record.end)));
        chunk.status.push(record.status);
        chunk.bytes.push(record.bytes);
        chunk.outcome.push(record.outcome as u8);
        chunk.attempts.push(record.attempts);
        chunk.measured.push(measured);
    }
}

impl ConnectionColumns {
    /// These rows and those of other clients, in the order of (end, client, connection); the end of the run closed what is still open.
    pub(super) fn merged(self, other: Self) -> Self {
        self.merge_by(other, |chunk, row| {
            let closed = chunk.closed_ns[row];
            (closed == NEVER, closed, chunk.client[row], chunk.connection[row])
        })
    }

    /// Appends a record.
    pub(super) fn push(&mut self, record: &ConnectionRecord) {
        let chunk = self.open();
        chunk.client.push(record.client);
        chunk.group.push(record.group);
        chunk.connection.push(record.connection);
        chunk.opened_ns.push(nanos(Some(record.opened)));
        chunk.closed_ns.push(nanos(record.closed));
        chunk.up_packets.push(record.up.packets);
        chunk.up_lost.push(record.up.lost);
        chunk.down_packets.push(record.down.packets);
        chunk.down_lost.push(record.down.lost);
        chunk.retransmitted.push(record.retransmitted);
    }
}

fn nanos(at: Option<Instant>) -> i64 {
    at.map_or(NEVER, |at| at.as_nanos() as i64)
}
