//! What a side has sent, to hold what it sends again against.

use wasp_wire::SequenceNumber;

/// The bytes that a side has sent, by their distance from its first: at most as many as it is to send in all.
pub(crate) struct Sent {
    first: SequenceNumber,
    most: usize,
    bytes: Vec<u8>,
    /// How many bytes it has sent again.
    pub(crate) repeated: u64,
}

impl Sent {
    /// Nothing yet of a stream of `most` bytes after a SYN numbered `isn`.
    pub(crate) fn new(isn: u32, most: usize) -> Self {
        Self { first: SequenceNumber(isn) + 1, most, bytes: Vec::new(), repeated: 0 }
    }

    /// Adds a segment's payload. What was sent before, however it was cut then, must be the same bytes.
    #[track_caller]
    pub(crate) fn record(&mut self, sequence: SequenceNumber, payload: &[u8]) {
        let start = sequence.since(self.first) as usize;
        assert!(start <= self.bytes.len(), "{start} follows what was sent: {}", self.bytes.len());
        assert!(start + payload.len() <= self.most, "{start} + {} is in the stream", payload.len());
        let earlier = &self.bytes[start..];
        let (again, new) = payload.split_at(payload.len().min(earlier.len()));
        if let Some(at) = again.iter().zip(earlier).position(|(again, earlier)| again != earlier) {
            panic!("byte {} sent again is {}, and was {}", start + at, again[at], earlier[at]);
        }
        self.repeated += again.len() as u64;
        self.bytes.extend_from_slice(new);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
