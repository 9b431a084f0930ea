//! Putting fragments together again (RFC 791 section 3.2, RFC 815), within bounds of memory and time.
//!
//! No sender makes fragments that overlap, but attacks do. They throw the whole packet away, with what still comes of it (RFC 5722 says so for IPv6,
//! and Linux drops what it has for both). A fragment of which all bytes are there already is a duplicate, and is ignored, as in Linux.

use crate::emit::flip;
use crate::parse::{MOST_CONTENT, parse_body};
use crate::{Body, Checksums, Packet, PayloadPool, View};
use std::ops::Range;
use wasp_units::{Duration, Instant};
use wasp_wire::ipv4::{ECN, FRAGMENT_UNIT};
use wasp_wire::{Address, FragmentField, ParseError};

/// How long fragments wait for the others of their packet, from the first that came: Linux's `ipfrag_time`.
pub const REASSEMBLY_TIME: Duration = Duration::from_secs(30);
/// The most memory that the fragments of a receiver may take, counted as Linux counts it: its `ipfrag_high_thresh`. Of others the fragments are dropped.
const MOST_MEMORY: usize = 4 << 20;
/// What a fragment takes beside its bytes, which take room up to a power of two: Linux's `struct sk_buff`.
const OVERHEAD: usize = 256;

/// The packets of one receiver of which some fragments have come.
///
/// Hand each fragment to [`Self::add`]. At the time of [`Self::poll_timeout`], take what [`Self::expire`] gives until it gives nothing more.
#[derive(Debug, Default)]
pub struct Reassembly {
    /// In the order in which their first fragments came.
    packets: Vec<Partial>,
    /// Bytes that their fragments take.
    memory: usize,
}

/// What tells the packets apart (RFC 791).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Name {
    source: Address,
    destination: Address,
    identification: u16,
    protocol: u8,
}

/// A packet of which some fragments have come.
#[derive(Debug)]
struct Partial {
    name: Name,
    since: Instant,
    /// In the order in which they came.
    fragments: Vec<Packet>,
    /// Bytes that they take.
    memory: usize,
    /// Which bytes are there: ranges in order that do not touch.
    runs: Vec<Range<usize>>,
    /// Bytes of the whole, once the last fragment has come.
    end: Option<usize>,
    /// The fragments contradict each other: what still comes is dropped.
    is_spoilt: bool,
}

/// What became of a fragment.
#[derive(Debug, Eq, PartialEq)]
pub enum Reassembled {
    /// It waits for others, or was a duplicate.
    Waiting,
    /// It was the last one to come: the whole packet.
    Whole(Packet),
    /// It was dropped, with what was there of its packet.
    Dropped(Dropped),
}

/// Packets that a receiver dropped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Dropped {
    /// How many: a whole one, or fragments.
    pub packets: u32,
    /// Why.
    pub why: Unassembled,
}

/// Why there is no whole packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unassembled {
    /// Fragments overlap, tell of different lengths, end where no other can begin, have no bytes, or one bears a mark of congestion and another says that its sender
    /// knows none (RFC 3168 section 5.3).
    Inconsistent,
    /// The fragments that the receiver has take too much memory.
    Full,
    /// The pool has no room for the whole.
    NoRoom,
    /// The whole is no valid packet.
    Invalid(ParseError),
}

/// A packet of which some fragments did not come in time.
#[derive(Debug)]
pub struct Expired {
    /// How many came, and are dropped.
    pub fragments: u32,
    /// The first of its fragments, if that has come: about it there is to be an ICMP error (RFC 1122 section 3.3.2).
    pub first: Option<Packet>,
}

impl Reassembly {
    /// Takes in a fragment that comes at `now`.
    ///
    /// # Panics
    /// If `fragment` is a whole packet.
    pub fn add(&mut self, fragment: Packet, now: Instant, pool: &mut PayloadPool) -> Reassembled {
        let Body::Fragment { protocol, field } = fragment.body else { panic!("a whole packet") };
        let (source, destination) = (fragment.ip.source, fragment.ip.destination);
        let name = Name { source, destination, identification: fragment.ip.identification, protocol };
        let known = self.packets.iter().position(|partial| partial.name == name);
        if known.is_none() && self.memory >= MOST_MEMORY {
            pool.release(fragment.payload);
            return Reassembled::Dropped(Dropped { packets: 1, why: Unassembled::Full });
        }
        let place = known.unwrap_or_else(|| {
            self.packets.push(Partial::new(name, now));
            self.packets.len() - 1
        });
        let partial = &mut self.packets[place];
        let before = partial.memory;
        let taken = partial.take(fragment, field, pool);
        self.memory = self.memory - before + partial.memory;
        if let Err(dropped) = taken {
            return Reassembled::Dropped(dropped);
        }
        if !partial.is_whole() {
            return Reassembled::Waiting;
        }
        self.memory -= partial.memory;
        self.packets.remove(place).assemble(pool)
    }

    /// When the fragments that have waited longest are to be given up.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.packets.first().map(|partial| partial.since + REASSEMBLY_TIME)
    }

    /// Gives up a packet whose fragments have waited for too long at `now`. The payload of its first fragment is the caller's to release.
    pub fn expire(&mut self, now: Instant, pool: &mut PayloadPool) -> Option<Expired> {
        while self.poll_timeout().is_some_and(|end| end <= now) {
            let partial = self.packets.remove(0);
            self.memory -= partial.memory;
            let fragments = partial.fragments.len() as u32;
            let mut first = None;
            for fragment in partial.fragments {
                if fragment.body.fragment_field().offset == 0 {
                    first = Some(fragment);
                } else {
                    pool.release(fragment.payload);
                }
            }
            // Of what contradicts itself nothing is left.
            if fragments > 0 {
                return Some(Expired { fragments, first });
            }
        }
        None
    }
}

impl Partial {
    const fn new(name: Name, since: Instant) -> Self {
        Self { name, since, fragments: Vec::new(), memory: 0, runs: Vec::new(), end: None, is_spoilt: false }
    }

    /// Takes in a fragment, unless it is a duplicate or contradicts the others.
    fn take(
        &mut self,
        fragment: Packet,
        field: FragmentField,
        pool: &mut PayloadPool,
    ) -> Result<(), Dropped> {
        let start = usize::from(field.offset) * FRAGMENT_UNIT;
        let bytes = start..start + fragment.payload.len() as usize;
        if !self.fits(&bytes, field.more) {
            return Err(self.spoil(fragment, pool));
        }
        if !field.more {
            self.end = Some(bytes.end);
        }
        if self.runs.iter().any(|run| run.start <= bytes.start && bytes.end <= run.end) {
            pool.release(fragment.payload);
            return Ok(());
        }
        if self.runs.iter().any(|run| bytes.start < run.end && run.start < bytes.end) {
            return Err(self.spoil(fragment, pool));
        }
        self.join(bytes);
        self.memory += (fragment.wire_len() as usize).next_power_of_two() + OVERHEAD;
        self.fragments.push(fragment);
        Ok(())
    }

    /// Whether a fragment agrees with the others on where the packet ends.
    fn fits(&self, bytes: &Range<usize>, more: bool) -> bool {
        let is_cut_right = !more || bytes.len().is_multiple_of(FRAGMENT_UNIT);
        let ends_right = match self.end {
            Some(end) => bytes.end <= end && (more || bytes.end == end),
            None => more || self.runs.last().is_none_or(|run| run.end <= bytes.end),
        };
        !self.is_spoilt && is_cut_right && ends_right && !bytes.is_empty() && bytes.end <= MOST_CONTENT
    }

    /// Drops all that is there, and what is still to come.
    fn spoil(&mut self, fragment: Packet, pool: &mut PayloadPool) -> Dropped {
        (self.is_spoilt, self.memory) = (true, 0);
        let dropped: Vec<_> = self.fragments.drain(..).chain([fragment]).collect();
        let packets = dropped.len() as u32;
        dropped.into_iter().for_each(|fragment| pool.release(fragment.payload));
        Dropped { packets, why: Unassembled::Inconsistent }
    }

    /// Adds bytes that overlap no others to the runs, and joins them with those that they touch.
    fn join(&mut self, bytes: Range<usize>) {
        let place = self.runs.partition_point(|run| run.start < bytes.start);
        self.runs.insert(place, bytes);
        self.runs.dedup_by(|next, run| {
            let touches = run.end == next.start;
            if touches {
                run.end = next.end;
            }
            touches
        });
    }

    fn is_whole(&self) -> bool {
        match self.runs.as_slice() {
            [all] => all.start == 0 && Some(all.end) == self.end,
            _ => false,
        }
    }

    /// The packet of which all fragments are there. They make room for it in the pool.
    fn assemble(mut self, pool: &mut PayloadPool) -> Reassembled {
        let packets = self.fragments.len() as u32;
        let content = self.content(pool);
        self.fragments.iter_mut().for_each(|fragment| pool.release(std::mem::take(&mut fragment.payload)));
        match self.whole(&content, pool) {
            Ok(packet) => Reassembled::Whole(packet),
            Err(why) => Reassembled::Dropped(Dropped { packets, why }),
        }
    }

    fn whole(&self, content: &[u8], pool: &mut PayloadPool) -> Result<Packet, Unassembled> {
        let first = self.fragments.iter().find(|fragment| fragment.body.fragment_field().offset == 0);
        let mut ip = first.expect("the first fragment is there").ip;
        let ecn = || self.fragments.iter().map(|fragment| fragment.ip.traffic_class & ECN);
        if ecn().any(|bits| bits == ECN) {
            if ecn().any(|bits| bits == 0) {
                return Err(Unassembled::Inconsistent);
            }
            ip.traffic_class |= ECN;
        }
        let parsed = parse_body(&ip, self.name.protocol, content, Checksums::Complete);
        let (body, rest) = parsed.map_err(Unassembled::Invalid)?;
        let payload = pool.store(rest).ok_or(Unassembled::NoRoom)?;
        Ok(Packet { ip, body, payload, flipped: None })
    }

    /// The bytes above IP, with the bits that links have flipped in fragments.
    fn content(&self, pool: &PayloadPool) -> Vec<u8> {
        let mut content = vec![0; self.end.unwrap_or_default()];
        for fragment in &self.fragments {
            let start = usize::from(fragment.body.fragment_field().offset) * FRAGMENT_UNIT;
            let place = &mut content[start..start + fragment.payload.len() as usize];
            if let View::Bytes(bytes) = pool.view(&fragment.payload) {
                place.copy_from_slice(bytes);
            }
            if let Some(bit) = fragment.flipped {
                flip(place, bit);
            }
        }
        content
    }
}
