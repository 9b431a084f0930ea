//! An independent witness: tshark dissects what is emitted and finds nothing malformed and no bad checksum.

use crate::common::{Description, address, pool};
use std::io::Write;
use std::process::{Command, Stdio};
use wasp_packet::{Body, Checksums, IcmpError, cut, emit, frame};
use wasp_wire::{Flags, IpHeader, SackBlocks, SequenceNumber, TcpHeader, Timestamps, VirtioNetHeader};

/// A classic pcap file of these raw IP packets (LINKTYPE_RAW, 101; draft-ietf-opsawg-pcap).
fn pcap(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(word.to_le_bytes());
    }
    for (number, packet) in packets.iter().enumerate() {
        for word in [0, number as u32, packet.len() as u32, packet.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

fn segment(number: u32, header: TcpHeader, payload: &[u8]) -> Description {
    Description {
        ip: IpHeader {
            source: address("198.18.0.1"),
            destination: address("198.18.12.34"),
            ttl: 64,
            traffic_class: 0,
            identification: number as u16,
            dont_fragment: true,
        },
        body: Body::Tcp(TcpHeader {
            source_port: 50_000,
            destination_port: 40_000 + number as u16,
            sequence: SequenceNumber(0xffff_fff0),
            window: 1_000,
            ..header
        }),
        payload: payload.to_vec(),
    }
}

/// A packet of every kind and with every option, and the cuts of a super-segment.
fn packets() -> Vec<Vec<u8>> {
    let timestamps = Some(Timestamps { value: 1, echo: 2 });
    let mut sack = SackBlocks::default();
    for block in 1..=4 {
        sack.push(SequenceNumber(block * 10_000), SequenceNumber(block * 10_000 + 1_460));
    }
    let syn = TcpHeader { flags: Flags::SYN, mss: Some(1_460), ..TcpHeader::default() };
    let ack = TcpHeader { flags: Flags::ACK, ..TcpHeader::default() };
    let headers = [
        syn,
        TcpHeader { window_scale: Some(7), sack_permitted: true, ..syn },
        TcpHeader { window_scale: Some(7), sack_permitted: true, timestamps, ..syn },
        ack,
        TcpHeader { timestamps, ..ack },
        TcpHeader { sack, ..ack },
        TcpHeader { sack, timestamps, ..ack },
        TcpHeader { flags: Flags::ACK | Flags::PSH | Flags::FIN, ..ack },
        TcpHeader { flags: Flags::RST, ..ack },
    ];
    let mut all: Vec<Description> = vec![];
    for header in headers {
        for payload in [&b""[..], b"x", b"some odd bytes."] {
            let payload = if header.flags.intersects(Flags::SYN | Flags::RST) { b"" } else { payload };
            all.push(segment(all.len() as u32, header, payload));
        }
    }
    let bodies = [
        Body::Udp { source_port: 50_000, destination_port: 50_001 },
        Body::Icmp { kind: 8, code: 0, rest: [0, 1, 0, 1] },
        Body::Icmp { kind: 0, code: 0, rest: [0, 1, 0, 1] },
    ];
    for body in bodies {
        all.push(Description { body, ..segment(all.len() as u32, ack, b"twenty-four bytes of it.") });
    }
    let mut bytes: Vec<Vec<u8>> = all.iter().map(emitted).collect();
    bytes.extend(cuts(&segment(0, TcpHeader { timestamps, ..ack }, &[0x5a; 20_001])));
    bytes
}

fn emitted(description: &Description) -> Vec<u8> {
    let mut pool = pool();
    let packet = description.packet(&mut pool);
    let mut buffer = vec![0; packet.wire_len() as usize];
    emit(&packet, &pool, &mut buffer, Checksums::Complete);
    buffer
}

/// The packets of `description` as a super-segment read from the device.
fn cuts(description: &Description) -> Vec<Vec<u8>> {
    let mut pool = pool();
    let packet = description.packet(&mut pool);
    let mut buffer = vec![0; VirtioNetHeader::LEN + packet.wire_len() as usize];
    frame(&packet, &pool, &mut buffer);
    let (header, _) = buffer.split_first_chunk_mut().expect("a virtio header");
    let read = VirtioNetHeader::parse(header);
    *header = VirtioNetHeader { gso_type: VirtioNetHeader::GSO_TCPV4, gso_size: 1_448, ..read }.emit();
    let mut packets = Vec::new();
    cut(&buffer, None, &mut pool, &mut |packet| packets.push(packet)).expect("packets");
    packets.iter().map(|packet| emitted(&Description::of(packet, &pool))).collect()
}

/// What tshark reads in these fields of each packet of `file`; `None` where there is no tshark, which is said.
fn dissect(file: &[u8], fields: &[&str]) -> Option<Vec<String>> {
    #[expect(clippy::disallowed_methods, reason = "a test may ask another program")]
    let mut command = Command::new("tshark");
    command.args(["-n", "-r", "-", "-T", "fields", "-E", "separator=/s"]);
    for protocol in ["ip", "tcp", "udp"] {
        command.args(["-o", &format!("{protocol}.check_checksum:TRUE")]);
    }
    for field in fields {
        command.args(["-e", field]);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        // Past the harness, which hides what passing tests print and writes its own lines in pieces.
        let _ = std::io::stderr().write_all(b"\nSKIPPED tshark: not installed: tshark\n");
        return None;
    };
    // The file is smaller than a pipe, so writing it all before reading cannot block for ever.
    assert!(file.len() < 60_000);
    child.stdin.take().expect("a pipe").write_all(file).expect("tshark reads");
    let output = child.wait_with_output().expect("tshark ends");
    assert!(output.status.success(), "tshark: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect())
}

#[test]
fn tshark_finds_no_malformed_packet_and_no_bad_checksum() {
    let mut packets = packets();
    let good = packets.len();
    // The witness itself is tried: one packet with a damaged byte.
    let mut damaged = packets[3].clone();
    *damaged.last_mut().expect("a byte") ^= 1;
    packets.push(damaged);
    let checksums = [
        "_ws.malformed",
        "ip.checksum.status",
        "tcp.checksum.status",
        "udp.checksum.status",
        "icmp.checksum.status",
    ];
    let Some(lines) = dissect(&pcap(&packets), &checksums) else { return };
    assert_eq!(lines.len(), packets.len());
    for (number, line) in lines.iter().enumerate().take(good) {
        let mut fields: Vec<&str> = line.split(' ').collect();
        fields.retain(|field| !field.is_empty());
        assert_eq!(fields, ["1", "1"], "packet {number}: {line:?}");
    }
    assert!(lines[good].contains('0'), "tshark did not see the damage: {:?}", lines[good]);
}

#[test]
fn tshark_reads_what_an_error_says_and_quotes() {
    let ack = TcpHeader { flags: Flags::ACK, ..TcpHeader::default() };
    let (short, long) = (segment(5, ack, b""), segment(6, ack, &[0x5a; 1_400]));
    let datagram = Body::Udp { source_port: 33_434, destination_port: 53 };
    let datagram = Description { body: datagram, ..segment(7, ack, b"seven") };
    let errors = [
        (IcmpError::TimeExceeded, &short, "11 0 1 1,1 5"),
        (IcmpError::NetworkUnreachable, &long, "3 0 1 1,1 6"),
        (IcmpError::HostUnreachable, &datagram, "3 1 1 1,1 7"),
        (IcmpError::ProtocolUnreachable, &short, "3 2 1 1,1 5"),
        (IcmpError::PortUnreachable, &datagram, "3 3 1 1,1 7"),
        (IcmpError::FragmentationNeeded { mtu: 1_280 }, &long, "3 4 1280 1 1,1 6"),
    ];
    let message = |(error, about, _): &(IcmpError, &Description, &str)| {
        let mut pool = pool();
        let packet = about.packet(&mut pool);
        let message =
            error.about(&packet, address("198.18.9.1"), 99, &mut pool, &mut Vec::new()).expect("room");
        emitted(&Description::of(&message, &pool))
    };
    let messages: Vec<Vec<u8>> = errors.iter().map(message).collect();
    let lens: Vec<usize> = messages.iter().map(Vec::len).collect();
    assert_eq!(lens, [28 + 40, 576, 28 + 33, 28 + 40, 28 + 33, 576]);
    let fields = [
        "_ws.malformed",
        "icmp.type",
        "icmp.code",
        "icmp.mtu",
        "icmp.checksum.status",
        "ip.checksum.status",
        "ip.id",
    ];
    let Some(lines) = dissect(&pcap(&messages), &fields) else { return };
    for (line, (_, _, expected)) in lines.iter().zip(&errors) {
        let mut read: Vec<&str> = line.split(' ').filter(|field| !field.is_empty()).collect();
        // The identification of the error itself, and that of the packet.
        let ids =
            read.pop().expect("fields").split(',').map(|id| u32::from_str_radix(&id[2..], 16).expect("hex"));
        let ids: Vec<u32> = ids.collect();
        assert_eq!(format!("{} {}", read.join(" "), ids[1]), *expected);
        assert_eq!(ids[0], 99);
    }
}
