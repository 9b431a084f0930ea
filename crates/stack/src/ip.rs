//! IP, ICMP and UDP of one host (RFC 791, RFC 792, RFC 768, RFC 1122 sections 3.2 and 3.3.2).

use crate::path::{PathMtuDiscovery, PathMtus};
use crate::report::Report;
use wasp_packet::{
    Body, Dropped, IcmpError, Packet, Payload, PayloadPool, Reassembled, Reassembly, Unassembled, echo_reply,
    may_be_answered,
};
use wasp_units::Instant;
use wasp_wire::icmp::kind::ECHO;
use wasp_wire::{Address, IpHeader, Layer, ParseError, TcpHeader};

/// The IP layer of one host.
///
/// Hand it each packet that arrives by [`Self::receive`], and do what it says. At the time of [`Self::poll_timeout`], take what [`Self::expire`] gives until
/// it gives nothing more. Packets of the host's own begin with a [`Self::header`].
///
/// A report that a segment was too long counts only if TCP has that segment in flight (RFC 5927 section 7.2): then hand its MTU to
/// [`Self::learn_path_mtu`].
#[derive(Debug)]
pub struct Ip {
    address: Address,
    /// The identification of the last packet.
    identification: u16,
    /// Most hosts never see a fragment: it is made for the first one.
    reassembly: Option<Box<Reassembly>>,
    discovery: PathMtuDiscovery,
    /// Most hosts never hear of a narrow path: it is made for the first one.
    paths: Option<Box<PathMtus>>,
}

/// What a packet means for the host.
#[derive(Debug)]
pub enum Received {
    /// A TCP segment, with the IP header of its packet. Its payload is the caller's.
    Segment(IpHeader, TcpHeader, Payload),
    /// An ICMP error about a TCP segment of the host's.
    Reported(Report),
    /// No more than this answer, if there is one.
    Answer(Answer),
    /// Packets were dropped: this one, or fragments among which it is.
    Dropped(Dropped),
}

/// What the host sends in answer.
#[derive(Debug)]
pub enum Answer {
    /// This packet.
    Packet(Packet),
    /// There would be one, but the pool has no room for it.
    NoRoom,
    /// Nothing.
    Nothing,
}

/// Fragments that the host gave up, for others of their packet did not come in time.
#[derive(Debug)]
pub struct GivenUp {
    /// How many.
    pub fragments: u32,
    /// What their sender is told.
    pub answer: Answer,
}

impl Ip {
    /// The IP layer of the host with this address.
    #[must_use]
    pub const fn new(address: Address, discovery: PathMtuDiscovery) -> Self {
        Self { address, identification: 0, reassembly: None, discovery, paths: None }
    }

    /// The header of the TCP segment that the host sends to `destination` at `now`.
    #[inline]
    pub fn header(&mut self, destination: Address, now: Instant) -> IpHeader {
        let identification = self.next_identification();
        let fragmentable = match &self.paths {
            None => self.discovery == PathMtuDiscovery::Off,
            Some(paths) => paths.may_be_fragmented(destination, now),
        };
        IpHeader { dont_fragment: !fragmentable, ..IpHeader::new(self.address, destination, identification) }
    }

    /// A router says that a packet to `destination` was longer than the `mtu` bytes of the next link; zero is from a router that does not say how long
    /// that is. Returns how long packets to `destination` may be, `None` where the host does not look for that.
    pub fn learn_path_mtu(&mut self, destination: Address, mtu: u16, now: Instant) -> Option<u16> {
        let PathMtuDiscovery::On { least } = self.discovery else { return None };
        let paths = self.paths.get_or_insert_default();
        Some(paths.learn(destination, mtu, least, now))
    }

    /// How long packets to `destination` may be, as far as reports tell.
    #[must_use]
    pub fn path_mtu(&self, destination: Address, now: Instant) -> Option<u16> {
        self.paths.as_ref()?.get(destination, now)
    }

    /// A packet has arrived at `now`.
    #[inline]
    pub fn receive(&mut self, packet: Packet, now: Instant, pool: &mut PayloadPool) -> Received {
        match packet {
            Packet { ip, body: Body::Tcp(header), payload, flipped: None } => {
                Received::Segment(ip, header, payload)
            }
            other => self.receive_other(other, now, pool),
        }
    }

    /// When the fragments that have waited longest are to be given up.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.reassembly.as_ref()?.poll_timeout()
    }

    /// Gives up the fragments of a packet that have waited for too long at `now`.
    pub fn expire(&mut self, now: Instant, pool: &mut PayloadPool) -> Option<GivenUp> {
        let expired = self.reassembly.as_mut()?.expire(now, pool)?;
        let answer = expired
            .first
            .map_or(Answer::Nothing, |first| self.refuse(IcmpError::ReassemblyTimeExceeded, first, pool));
        Some(GivenUp { fragments: expired.fragments, answer })
    }

    /// A packet other than a whole TCP segment.
    #[cold]
    fn receive_other(&mut self, packet: Packet, now: Instant, pool: &mut PayloadPool) -> Received {
        let layer = match packet.body {
            Body::Fragment { .. } => return self.reassemble(packet, now, pool),
            Body::Tcp(_) => Layer::Tcp,
            Body::Udp { .. } => Layer::Udp,
            Body::Icmp { .. } => Layer::Icmp,
        };
        if packet.flipped.is_some() {
            pool.release(packet.payload);
            let why = Unassembled::Invalid(ParseError::Checksum(layer));
            return Received::Dropped(Dropped { packets: 1, why });
        }
        match packet.body {
            Body::Icmp { kind: ECHO, code: 0, rest } if may_be_answered(&packet, pool) => {
                let identification = self.next_identification();
                let reply = echo_reply(&packet.ip, rest, packet.payload, identification);
                Received::Answer(Answer::Packet(reply))
            }
            Body::Udp { .. } => Received::Answer(self.refuse(IcmpError::PortUnreachable, packet, pool)),
            _ => {
                let report =
                    Report::read(&packet, pool).filter(|report| report.segment.source == self.address);
                pool.release(packet.payload);
                report.map_or(Received::Answer(Answer::Nothing), Received::Reported)
            }
        }
    }

    fn reassemble(&mut self, fragment: Packet, now: Instant, pool: &mut PayloadPool) -> Received {
        match self.reassembly.get_or_insert_default().add(fragment, now, pool) {
            Reassembled::Whole(packet) => self.receive(packet, now, pool),
            Reassembled::Dropped(dropped) => Received::Dropped(dropped),
            Reassembled::Waiting => Received::Answer(Answer::Nothing),
        }
    }

    /// The error about a packet that the host does not take, if there may be one.
    fn refuse(&mut self, error: IcmpError, packet: Packet, pool: &mut PayloadPool) -> Answer {
        let answer = if may_be_answered(&packet, pool) {
            let identification = self.next_identification();
            let message = error.about(&packet, self.address, identification, pool, &mut Vec::new());
            message.map_or(Answer::NoRoom, Answer::Packet)
        } else {
            Answer::Nothing
        };
        pool.release(packet.payload);
        answer
    }

    const fn next_identification(&mut self) -> u16 {
        self.identification = self.identification.wrapping_add(1);
        self.identification
    }
}
