//! What a host knows of the largest packets that paths carry (RFC 1191).

use rustc_hash::FxHashMap;
use wasp_units::{Duration, Instant};
use wasp_wire::Address;

/// How long a host believes a report (RFC 1191 section 6.3; Linux `mtu_expires`), unless the path carries less than the least MTU: connections that are open
/// keep to that, and would lose all they send if it could not be fragmented any more.
const LIFETIME: Duration = Duration::from_secs(600);

/// Whether a host makes its packets as short as paths ask for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PathMtuDiscovery {
    /// Routers may fragment its packets, and what they report of MTUs is ignored (Linux `ip_no_pmtu_disc` = 1).
    Off,
    /// Routers may not fragment its packets.
    On {
        /// Packets are made no shorter than this, bytes. On a path that carries less, routers may fragment them (Linux `min_pmtu`).
        least: u16,
    },
}

/// Paths of which routers have reported an MTU.
#[derive(Debug, Default)]
pub(crate) struct PathMtus(FxHashMap<Address, Path>);

#[derive(Clone, Copy, Debug)]
struct Path {
    mtu: u16,
    /// The path carries less than `mtu`: routers may fragment what is as long.
    fragmentable: bool,
    until: Instant,
}

impl PathMtus {
    fn find(&self, destination: Address, now: Instant) -> Option<&Path> {
        self.0.get(&destination).filter(|path| now < path.until)
    }

    pub(crate) fn get(&self, destination: Address, now: Instant) -> Option<u16> {
        self.find(destination, now).map(|path| path.mtu)
    }

    // Out of line, for most hosts know of no path.
    #[cold]
    pub(crate) fn may_be_fragmented(&self, destination: Address, now: Instant) -> bool {
        self.find(destination, now).is_some_and(|path| path.fragmentable)
    }

    /// Takes down what a router reports, unless a smaller MTU is known already (Linux `__ip_rt_update_pmtu`). Returns how long packets may be.
    pub(crate) fn learn(&mut self, destination: Address, reported: u16, least: u16, now: Instant) -> u16 {
        if let Some(known) = self.get(destination, now).filter(|known| *known < reported) {
            return known;
        }
        // Another link of the same path may carry as much as the least MTU.
        let fragmentable = reported < least || self.may_be_fragmented(destination, now);
        let until = if fragmentable { Instant::MAX } else { now + LIFETIME };
        let path = Path { mtu: reported.max(least), fragmentable, until };
        self.0.insert(destination, path);
        path.mtu
    }
}
