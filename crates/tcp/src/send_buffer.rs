//! The send stream: what the application queued and the peer has not acknowledged.

use crate::fifo::Fifo;
use crate::types::Chunk;
use wasp_packet::{Payload, PayloadPool};

/// Chunks of the stream with the offset at which each ends. Offsets count from the start of the connection.
#[derive(Debug, Default)]
pub(crate) struct SendBuffer {
    chunks: Fifo<(u64, Chunk)>,
    /// Offset of SND.UNA.
    start: u64,
    /// Offset of SND.NXT.
    sent: u64,
    /// Offset after the last byte that the application has written: there was no room for what follows.
    written: u64,
    /// Where the last `sk_buff` begins that the application has written to.
    last: u64,
    /// Offset after the last byte queued.
    end: u64,
}

impl SendBuffer {
    pub(crate) fn push(&mut self, chunk: Chunk) {
        if chunk.is_empty() {
            return;
        }
        self.end += chunk.len();
        if let (Chunk::Virtual(more), Some((end, Chunk::Virtual(len)))) = (&chunk, self.chunks.back_mut()) {
            *len += more;
            *end = self.end;
            return;
        }
        self.chunks.push_back((self.end, chunk));
    }

    /// The application fills the `sk_buff` of `size` bytes that it has begun. Returns whether there was one.
    pub(crate) fn write_on(&mut self, size: u32) -> bool {
        let begun = self.written - self.last.max(self.sent);
        let is_begun = begun > 0 && begun < u64::from(size);
        if is_begun {
            self.written = self.end.min(self.written + u64::from(size) - begun);
        }
        is_begun
    }

    /// The application fills another one.
    pub(crate) fn begin(&mut self, size: u32) {
        self.last = self.written;
        self.written = self.end.min(self.written + u64::from(size));
    }

    /// The application writes all that is queued.
    pub(crate) fn write_all(&mut self) {
        self.written = self.end;
    }

    /// Bytes written and never sent.
    pub(crate) fn unsent(&self) -> u64 {
        self.written - self.sent
    }

    /// Bytes queued and not written.
    pub(crate) fn unwritten(&self) -> u64 {
        self.end - self.written
    }

    /// Bytes written and not acknowledged.
    pub(crate) fn held(&self) -> u64 {
        self.written - self.start
    }

    /// Bytes queued and not acknowledged.
    pub(crate) fn unacknowledged(&self) -> u64 {
        self.end - self.start
    }

    /// The next `len` bytes have been sent.
    pub(crate) fn advance_sent(&mut self, len: u32) {
        self.sent += u64::from(len);
        debug_assert!(self.sent <= self.written);
    }

    /// The first `len` bytes have been acknowledged.
    pub(crate) fn acknowledge(&mut self, len: u32) {
        self.start += u64::from(len);
        debug_assert!(self.start <= self.sent, "acknowledged is at most sent");
        while let Some((end, _)) = self.chunks.front()
            && *end <= self.start
        {
            self.chunks.pop_front();
        }
    }

    /// Whether the `len` bytes `distance` after SND.UNA are the last that are written.
    pub(crate) fn is_last(&self, distance: u32, len: u32) -> bool {
        self.start + u64::from(distance) + u64::from(len) == self.written
    }

    /// The `len` bytes `distance` after SND.UNA; `None` when the pool is exhausted.
    pub(crate) fn payload(&self, distance: u32, len: u32, pool: &mut PayloadPool) -> Option<Payload> {
        if len == 0 {
            return Some(Payload::Empty);
        }
        let from = self.start + u64::from(distance);
        let to = from + u64::from(len);
        if let Some((end, Chunk::Virtual(_))) = self.chunks.front()
            && *end >= to
        {
            return Some(Payload::Virtual(len));
        }
        let first = self.chunks.partition_point(|(end, _)| *end <= from);
        let Some((end, chunk)) = self.chunks.get(first) else {
            debug_assert!(false, "a segment lies within the stream");
            return Some(Payload::Virtual(len));
        };
        if *end < to {
            return pool.build(len as usize, |slab| self.fill(first, from, slab));
        }
        match chunk {
            Chunk::Virtual(_) => Some(Payload::Virtual(len)),
            Chunk::Shared(bytes) => {
                let offset = (from - (end - chunk.len())) as usize;
                pool.store(&bytes[offset..offset + len as usize])
            }
        }
    }

    /// Writes the bytes from offset `from`, which lies in chunk `first`, with zeros for what has no content.
    fn fill(&self, first: usize, mut from: u64, mut slab: &mut [u8]) {
        for (end, chunk) in self.chunks.iter().skip(first) {
            let len = slab.len().min((end - from) as usize);
            let (part, rest) = slab.split_at_mut(len);
            match chunk {
                Chunk::Virtual(_) => part.fill(0),
                Chunk::Shared(bytes) => {
                    let offset = (from - (end - chunk.len())) as usize;
                    part.copy_from_slice(&bytes[offset..offset + len]);
                }
            }
            slab = rest;
            from += len as u64;
            if slab.is_empty() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasp_packet::View;

    fn stream() -> (SendBuffer, PayloadPool) {
        let mut buffer = SendBuffer::default();
        buffer.push(Chunk::Shared((*b"0123456789").into()));
        buffer.push(Chunk::Virtual(5));
        buffer.push(Chunk::Virtual(5));
        buffer.push(Chunk::Shared((*b"abc").into()));
        buffer.write_all();
        (buffer, PayloadPool::new(1 << 20))
    }

    #[test]
    fn a_segment_within_a_virtual_range_stays_virtual() {
        let (buffer, mut pool) = stream();
        assert_eq!(buffer.payload(10, 10, &mut pool), Some(Payload::Virtual(10)));
    }

    #[test]
    fn a_mixed_segment_has_zeros_where_there_is_no_content() {
        let (buffer, mut pool) = stream();
        let payload = buffer.payload(8, 14, &mut pool).unwrap();
        assert_eq!(pool.view(&payload), View::Bytes(b"89\0\0\0\0\0\0\0\0\0\0ab"));
        pool.release(payload);
    }

    #[test]
    fn a_segment_that_begins_in_a_virtual_range_has_what_follows_it() {
        let mut buffer = SendBuffer::default();
        buffer.push(Chunk::Virtual(4));
        buffer.push(Chunk::Shared((*b"abc").into()));
        let mut pool = PayloadPool::new(1 << 20);
        let payload = buffer.payload(2, 4, &mut pool).unwrap();
        assert_eq!(pool.view(&payload), View::Bytes(b"\0\0ab"));
        pool.release(payload);
    }

    #[test]
    fn acknowledged_chunks_are_dropped_and_offsets_stay_right() {
        let (mut buffer, mut pool) = stream();
        buffer.advance_sent(22);
        buffer.acknowledge(21);
        assert_eq!(buffer.unacknowledged(), 2);
        let payload = buffer.payload(0, 2, &mut pool).unwrap();
        assert_eq!(pool.view(&payload), View::Bytes(b"bc"));
        assert!(buffer.is_last(0, 2));
        pool.release(payload);
    }

    #[test]
    fn a_sk_buff_that_is_begun_is_filled_before_another() {
        let mut buffer = SendBuffer::default();
        buffer.push(Chunk::Virtual(100));
        assert!(!buffer.write_on(20), "none is begun");
        let state = |buffer: &SendBuffer| (buffer.held(), buffer.unsent(), buffer.unwritten());
        buffer.begin(20);
        assert_eq!(state(&buffer), (20, 20, 80));
        assert!(!buffer.write_on(20), "it is full");
        buffer.advance_sent(15);
        assert!(buffer.write_on(20), "5 bytes are left of it");
        assert_eq!(state(&buffer), (35, 20, 65));
        buffer.begin(20);
        buffer.advance_sent(5);
        assert!(!buffer.write_on(20), "the last one is full");
        assert_eq!(state(&buffer), (55, 35, 45));
        buffer.advance_sent(35);
        assert!(!buffer.write_on(20), "it has left");
        buffer.acknowledge(50);
        buffer.begin(20);
        buffer.begin(30);
        assert_eq!(state(&buffer), (50, 45, 0), "all there is");
    }
}
