//! A hook at both ends of every link.

use crate::{Fate, LinkId};
use wasp_packet::{Packet, PayloadPool};
use wasp_units::Instant;

/// Something that happened to a packet at a link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Sighting {
    /// It entered the link.
    Entered,
    /// It left the link at the far end.
    Left,
    /// It was dropped at the link's entrance, or from its queue.
    Dropped(Fate),
}

/// Sees every packet at both ends of every link. `()` sees nothing and costs nothing.
pub trait Observer {
    /// `packet` was seen at `at`, the event's own time.
    fn observe(&mut self, at: Instant, link: LinkId, packet: &Packet, pool: &PayloadPool, sighting: Sighting);
}

impl Observer for () {
    fn observe(&mut self, _: Instant, _: LinkId, _: &Packet, _: &PayloadPool, _: Sighting) {}
}
