//! Payload bytes that wait in the model: size classes, reference counts, a bound.

use std::ops::Range;

/// What follows a packet's headers: nothing, a length whose bytes nobody reads, or bytes in a [`PayloadPool`].
///
/// A stored payload holds one reference; whoever takes it out of the model gives it back with [`PayloadPool::release`].
#[derive(Debug, Default, Eq, PartialEq)]
#[must_use = "a stored payload must be passed on or released to its pool"]
pub enum Payload {
    /// No payload.
    #[default]
    Empty,
    /// So many bytes without content (zeros on the wire).
    Virtual(u32),
    /// Bytes in the pool.
    Stored(Stored),
}

/// A range of one slab of the pool.
#[derive(Debug, Eq, PartialEq)]
pub struct Stored {
    slab: u32,
    offset: u16,
    len: u16,
}

/// The content of a payload.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum View<'a> {
    /// Real bytes.
    Bytes(&'a [u8]),
    /// So many bytes without content.
    Virtual(u32),
}

impl Payload {
    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> u32 {
        match self {
            Self::Empty => 0,
            Self::Virtual(len) => *len,
            Self::Stored(stored) => u32::from(stored.len),
        }
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops the first `count` bytes (all of them if there are fewer). The reference stays held.
    pub fn trim_front(&mut self, count: u32) {
        let count = count.min(self.len());
        match self {
            Self::Empty => {}
            Self::Virtual(len) => *len -= count,
            Self::Stored(stored) => {
                stored.offset += count as u16;
                stored.len -= count as u16;
            }
        }
    }

    /// Keeps only the first `len` bytes. The reference stays held.
    pub fn truncate(&mut self, len: u32) {
        let len = len.min(self.len());
        match self {
            Self::Empty => {}
            Self::Virtual(kept) => *kept = len,
            Self::Stored(stored) => stored.len = len as u16,
        }
    }
}

/// Bytes of a slab in each size class, as powers of two. The largest payload of one IP packet fits the last.
const SIZE_SHIFTS: [u32; 3] = [8, 11, 16];
/// Slabs allocated together, as powers of two.
const CHUNK_SHIFTS: [u32; 3] = [8, 6, 2];
const CLASS_SHIFT: u32 = 30;
const INDEX_MASK: u32 = (1 << CLASS_SHIFT) - 1;

/// Storage for payload bytes, bounded in total, that allocates only while it grows.
///
/// What is stored is copied to the smallest class that holds it, so waiting payload never pins a read buffer. Only at the
/// bound, when that class can grow no more, is a free slab of a larger one taken instead.
#[derive(Debug)]
pub struct PayloadPool {
    classes: [Class; 3],
    allocated: usize,
    limit: usize,
    exhausted: u64,
}

#[derive(Debug, Default)]
struct Class {
    chunks: Vec<Box<[u8]>>,
    references: Vec<u32>,
    free: Vec<u32>,
}

impl PayloadPool {
    /// An empty pool that never holds more than `limit` bytes of slabs.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { classes: Default::default(), allocated: 0, limit, exhausted: 0 }
    }

    /// Copies `bytes` into the pool; `None` when its bound is reached or a payload is longer than an IP packet.
    pub fn store(&mut self, bytes: &[u8]) -> Option<Payload> {
        self.build(bytes.len(), |slab| slab.copy_from_slice(bytes))
    }

    /// Takes a slab of `len` bytes and lets `fill` write it (its old content is arbitrary). `None` as for [`Self::store`].
    pub fn build(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Option<Payload> {
        if len == 0 {
            return Some(Payload::Empty);
        }
        let Some((class, index)) = self.take(len) else {
            self.exhausted += 1;
            return None;
        };
        fill(&mut self.classes[class].slab_mut(class, index)[..len]);
        let slab = (class as u32) << CLASS_SHIFT | index;
        Some(Payload::Stored(Stored { slab, offset: 0, len: len as u16 }))
    }

    /// The content of `payload`.
    #[must_use]
    pub fn view<'a>(&'a self, payload: &Payload) -> View<'a> {
        match payload {
            Payload::Empty => View::Bytes(&[]),
            Payload::Virtual(len) => View::Virtual(*len),
            Payload::Stored(Stored { slab, offset, len }) => {
                let class = (slab >> CLASS_SHIFT) as usize;
                let bytes = self.classes[class].slab(class, slab & INDEX_MASK);
                View::Bytes(&bytes[usize::from(*offset)..][..usize::from(*len)])
            }
        }
    }

    /// A second reference to the same bytes.
    pub fn share(&mut self, payload: &Payload) -> Payload {
        match payload {
            Payload::Empty => Payload::Empty,
            Payload::Virtual(len) => Payload::Virtual(*len),
            Payload::Stored(Stored { slab, offset, len }) => {
                self.classes[(slab >> CLASS_SHIFT) as usize].references[(slab & INDEX_MASK) as usize] += 1;
                Payload::Stored(Stored { slab: *slab, offset: *offset, len: *len })
            }
        }
    }

    /// Gives one reference back.
    pub fn release(&mut self, payload: Payload) {
        if let Payload::Stored(Stored { slab, .. }) = payload {
            let (class, index) = (&mut self.classes[(slab >> CLASS_SHIFT) as usize], slab & INDEX_MASK);
            let references = &mut class.references[index as usize];
            *references -= 1;
            if *references == 0 {
                class.free.push(index);
            }
        }
    }

    /// Slabs in use.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.classes.iter().map(|class| class.references.len() - class.free.len()).sum()
    }

    /// Bytes of slabs allocated so far; never more than the bound.
    #[must_use]
    pub fn allocated(&self) -> usize {
        self.allocated
    }

    /// How often the bound was reached: packets whose fate is `pool exhausted`.
    #[must_use]
    pub fn exhausted(&self) -> u64 {
        self.exhausted
    }

    fn take(&mut self, len: usize) -> Option<(usize, u32)> {
        if len > usize::from(u16::MAX) {
            return None;
        }
        let smallest = SIZE_SHIFTS.iter().position(|shift| len <= 1 << shift)?;
        if self.classes[smallest].free.is_empty() {
            self.grow(smallest);
        }
        let class = (smallest..self.classes.len()).find(|class| !self.classes[*class].free.is_empty())?;
        let class_state = &mut self.classes[class];
        let index = class_state.free.pop()?;
        class_state.references[index as usize] = 1;
        Some((class, index))
    }

    /// Adds a chunk to a class unless that would exceed the bound.
    fn grow(&mut self, class: usize) {
        let bytes = 1 << (SIZE_SHIFTS[class] + CHUNK_SHIFTS[class]);
        if self.allocated + bytes <= self.limit {
            self.allocated += bytes;
            self.classes[class].grow(bytes, 1 << CHUNK_SHIFTS[class]);
        }
    }
}

impl Class {
    fn grow(&mut self, bytes: usize, slabs: usize) {
        self.chunks.push(vec![0; bytes].into_boxed_slice());
        let first = self.references.len() as u32;
        self.references.resize(self.references.len() + slabs, 0);
        self.free.extend((first..first + slabs as u32).rev());
    }

    fn slab(&self, class: usize, index: u32) -> &[u8] {
        let (chunk, range) = place(class, index);
        &self.chunks[chunk][range]
    }

    fn slab_mut(&mut self, class: usize, index: u32) -> &mut [u8] {
        let (chunk, range) = place(class, index);
        &mut self.chunks[chunk][range]
    }
}

/// The chunk of a slab, and its bytes within the chunk.
#[inline]
fn place(class: usize, index: u32) -> (usize, Range<usize>) {
    let within = (index & ((1 << CHUNK_SHIFTS[class]) - 1)) as usize;
    let (chunk, start) = ((index >> CHUNK_SHIFTS[class]) as usize, within << SIZE_SHIFTS[class]);
    (chunk, start..start + (1 << SIZE_SHIFTS[class]))
}
