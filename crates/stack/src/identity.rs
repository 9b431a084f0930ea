//! Ports, initial sequence numbers and timestamp offsets of a host's connections.

use wasp_random::{Key, Purpose};
use wasp_tcp::Identity;
use wasp_units::Duration;

/// First ephemeral port.
const FIRST_PORT: u64 = 10_000;
/// Ephemeral ports of a host.
const PORTS: u64 = Identities::PORTS as u64;
/// Distance of the initial sequence numbers of consecutive connections. When a port comes round again its sequence number has risen by
/// 30,000 x 65,536, less than 2^31, so a server's TIME-WAIT gives way to the new connection (RFC 1122 section 4.2.2.13).
const SEQUENCE_STEP: u32 = 65_536;
/// At least the granule, on a timer wheel, of what a stack waits for: 64 ticks of a second, nanoseconds.
const LONGEST_GRANULE: u64 = 64_000_000_000;

/// Hands each new connection of a host its port and identity, a function of the host's key and the connection's ordinal alone.
#[derive(Clone, Copy, Debug)]
pub struct Identities {
    first_port: u16,
    first_sequence: u32,
    timestamp_offset: u32,
    timer_phase: Duration,
}

impl Identities {
    /// Ephemeral ports of a host, which its connections use one after the other.
    pub const PORTS: u32 = 30_000;

    /// The identities of the host that `host` derives from a purpose's key.
    #[must_use]
    pub fn new(host: impl Fn(Purpose) -> Key) -> Self {
        Self {
            first_port: (host(Purpose::Port).draw(0) % PORTS) as u16,
            first_sequence: host(Purpose::InitialSequence).draw(0) as u32,
            timestamp_offset: host(Purpose::TimestampOffset).draw(0) as u32,
            timer_phase: Duration::from_nanos(host(Purpose::TimerPhase).draw(0) % LONGEST_GRANULE),
        }
    }

    /// The identities of a host whose first connection has this port, an ephemeral one, and this identity.
    ///
    /// # Panics
    /// If the port is not one of those from 10,000 to 39,999.
    #[must_use]
    pub fn starting_at(port: u16, identity: Identity) -> Self {
        assert!((FIRST_PORT..FIRST_PORT + PORTS).contains(&port.into()), "an ephemeral port");
        let Identity { isn: first_sequence, timestamp_offset, timer_phase } = identity;
        Self { first_port: port - FIRST_PORT as u16, first_sequence, timestamp_offset, timer_phase }
    }

    /// The same host, whose clock (the TCP timestamps, RFC 7323) shows `clock` at the start, to the millisecond.
    #[must_use]
    pub fn with_clock(mut self, clock: Duration) -> Self {
        self.timestamp_offset = (clock.as_nanos() / 1_000_000) as u32;
        self
    }

    /// The port and identity of the host's connection number `ordinal`.
    #[must_use]
    pub fn connection(&self, ordinal: u32) -> (u16, Identity) {
        let port = FIRST_PORT + (u64::from(self.first_port) + u64::from(ordinal)) % PORTS;
        (port as u16, self.identity(ordinal))
    }

    /// The identity alone, for a host that does not choose its port.
    #[must_use]
    pub fn identity(&self, ordinal: u32) -> Identity {
        Identity {
            isn: self.first_sequence.wrapping_add(ordinal.wrapping_mul(SEQUENCE_STEP)),
            timestamp_offset: self.timestamp_offset,
            timer_phase: self.timer_phase,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_given_takes_the_place_of_the_keys_and_changes_nothing_else() {
        let drawn = Identities::new(|purpose| Key::root(1, 0).purpose(purpose));
        let given = drawn.with_clock(Duration::from_millis((1 << 32) + 7));
        let ((port, before), (same, after)) = (drawn.connection(3), given.connection(3));
        assert_eq!((port, before.isn, before.timer_phase), (same, after.isn, after.timer_phase));
        assert_ne!(before.timestamp_offset, 7);
        assert_eq!(after.timestamp_offset, 7);
    }
}
