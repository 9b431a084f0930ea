//! From the numbers of a script, which begin at a SYN, to those of a connection, and back.

use super::{Fields, Said, Segment, content};
use wasp_tcp::Identity;
use wasp_units::Duration;
use wasp_wire::{Ecn, Flags, SackBlocks, SequenceNumber, TcpHeader, Timestamps};

/// The peer's SYN. Its numbers wrap within the first segment.
const PEER_ISN: SequenceNumber = SequenceNumber(u32::MAX - 99);
/// What the peer's timestamp clock, which counts milliseconds, shows at the beginning.
const PEER_STAMP: u32 = 1_000;
const ENDPOINT_PORT: u16 = 80;
const PEER_PORT: u16 = 40_000;

/// Who our endpoint is on its first connection: its numbers wrap within the first segment too, and its timestamps after three seconds.
pub(super) const IDENTITY: Identity =
    Identity { isn: u32::MAX - 999, timestamp_offset: u32::MAX - 2_999, timer_phase: Duration::ZERO };

/// What is known of a connection's numbers, and what the peer says unless it is told otherwise.
#[derive(Debug)]
pub(super) struct Numbers {
    /// The endpoint's SYN, once seen.
    isn: SequenceNumber,
    /// The endpoint's port and the peer's.
    ports: (u16, u16),
    /// The first and the latest timestamp of the endpoint.
    stamps: Option<(u32, u32)>,
    /// The endpoint, and the peer, offered timestamps.
    stamps_offered: [bool; 2],
    /// The peer's window field.
    win: u16,
}

impl Numbers {
    pub(super) fn new() -> Self {
        Self {
            isn: SequenceNumber(0),
            ports: (ENDPOINT_PORT, PEER_PORT),
            stamps: None,
            stamps_offered: [false; 2],
            win: u16::MAX,
        }
    }

    /// Learns from what the endpoint sends.
    pub(super) fn hear(&mut self, header: &TcpHeader) {
        self.ports = (header.source_port, header.destination_port);
        if header.flags.contains(Flags::SYN) {
            self.isn = header.sequence;
            self.stamps_offered[0] = header.timestamps.is_some();
        }
        if let Some(Timestamps { value, .. }) = header.timestamps {
            self.stamps = Some((self.stamps.map_or(value, |(first, _)| first), value));
        }
    }

    /// The segment that the peer sends now, and its payload.
    pub(super) fn segment(&mut self, segment: &Segment, since_start: Duration) -> (TcpHeader, Vec<u8>) {
        let Segment { flags, from, to, cut: _, ack, ref fields } = *segment;
        self.win = fields.win.unwrap_or(self.win);
        if flags.contains(Flags::SYN) {
            self.stamps_offered[1] = matches!(fields.ts, Said::Present(_));
        }
        let mut sack = SackBlocks::default();
        for &(left, right) in &fields.sack {
            sack.push(absolute(self.isn, left), absolute(self.isn, right));
        }
        let header = TcpHeader {
            source_port: self.ports.1,
            destination_port: self.ports.0,
            sequence: absolute(PEER_ISN, from),
            acknowledgment: ack.map_or(SequenceNumber(0), |ack| absolute(self.isn, ack)),
            flags,
            window: self.win,
            mss: present(fields.mss),
            window_scale: present(fields.scale),
            sack_permitted: present(fields.sackok).is_some(),
            timestamps: self.timestamps(segment, since_start),
            sack,
        };
        (header, content(offset(segment), (to - from) as usize))
    }

    fn timestamps(&self, segment: &Segment, since_start: Duration) -> Option<Timestamps> {
        let stamps = match segment.fields.ts {
            Said::Absent => return None,
            Said::Nothing if segment.flags.contains(Flags::SYN) || self.stamps_offered != [true; 2] => {
                return None;
            }
            Said::Nothing => (None, None),
            Said::Present(stamps) => stamps,
        };
        let (first, latest) = self.stamps.unwrap_or((0, 0));
        Some(Timestamps {
            value: stamps.0.unwrap_or_else(|| PEER_STAMP.wrapping_add(since_start.as_millis() as u32)),
            echo: stamps.1.map_or(latest, |echo| first.wrapping_add(echo)),
        })
    }

    /// What an ICMP error quotes of the endpoint's segment with this number.
    pub(super) fn quoted(&self, number: i64) -> TcpHeader {
        let (source_port, destination_port) = self.ports;
        TcpHeader {
            source_port,
            destination_port,
            sequence: absolute(self.isn, number),
            ..TcpHeader::default()
        }
    }

    /// What the endpoint sent, in the words of a script.
    pub(super) fn describe(&self, header: &TcpHeader, ecn: Ecn, len: usize) -> Segment {
        let from = relative(self.isn, header.sequence);
        let first = self.stamps.map_or(0, |(first, _)| first);
        let sack = header.sack.as_slice().iter();
        Segment {
            flags: header.flags,
            from,
            to: from + len as i64,
            cut: None,
            ack: header.flags.contains(Flags::ACK).then(|| relative(PEER_ISN, header.acknowledgment)),
            fields: Fields {
                win: Some(header.window),
                mss: said(header.mss),
                scale: said(header.window_scale),
                sackok: said(header.sack_permitted.then_some(())),
                ts: said(header.timestamps.map(|ts| (Some(ts.value.wrapping_sub(first)), Some(ts.echo)))),
                ecn: Some(ecn),
                sack: sack
                    .map(|(left, right)| (relative(PEER_ISN, *left), relative(PEER_ISN, *right)))
                    .collect(),
            },
        }
    }
}

/// Where the payload of a segment lies in its stream, which begins after the SYN.
pub(super) fn offset(segment: &Segment) -> u64 {
    let syn = i64::from(segment.flags.contains(Flags::SYN));
    (segment.from - 1 + syn) as u64
}

fn absolute(base: SequenceNumber, number: i64) -> SequenceNumber {
    base + number as u32
}

fn relative(base: SequenceNumber, number: SequenceNumber) -> i64 {
    i64::from(number.since(base) as i32)
}

fn said<T>(value: Option<T>) -> Said<T> {
    value.map_or(Said::Absent, Said::Present)
}

fn present<T>(said: Said<T>) -> Option<T> {
    match said {
        Said::Present(value) => Some(value),
        Said::Nothing | Said::Absent => None,
    }
}

impl Segment {
    /// The segments of a train, one by one.
    pub(super) fn pieces(&self) -> impl Iterator<Item = Self> + '_ {
        let size = self.cut.map_or((self.to - self.from).max(1), i64::from);
        let count = ((self.to - self.from + size - 1) / size).max(1);
        (0..count).map(move |index| {
            let from = self.from + index * size;
            let last = index + 1 == count;
            let at_end = Flags::PSH | Flags::FIN;
            let flags = if last { self.flags } else { self.flags.without(at_end) };
            let to = if last { self.to } else { from + size };
            Self { flags, from, to, cut: None, ..self.clone() }
        })
    }
}
