//! Cost of parsing, emitting and cutting: what the device's side of a live run spends on a packet.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use wasp_packet::{Body, Checksums, MAX_FRAME_LEN, Packet, PayloadPool, cut, emit, frame};
use wasp_wire::{Checksum, Flags, IpHeader, TcpHeader, Timestamps, VirtioNetHeader};

const SIZES: [usize; 3] = [0, 1_024, 65_160];

/// A data segment with timestamps, as nearly all are.
fn packet(len: usize, pool: &mut PayloadPool) -> Packet {
    Packet {
        ip: IpHeader {
            source: "198.18.0.1".parse().expect("an address"),
            destination: "198.18.0.2".parse().expect("an address"),
            ttl: 64,
            traffic_class: 0,
            identification: 1,
            dont_fragment: true,
        },
        body: Body::Tcp(TcpHeader {
            source_port: 80,
            destination_port: 40_000,
            flags: Flags::ACK | Flags::PSH,
            window: 500,
            timestamps: Some(Timestamps { value: 1, echo: 2 }),
            ..TcpHeader::default()
        }),
        payload: pool.store(&vec![0x5a; len]).expect("room in the pool"),
        flipped: None,
    }
}

/// A frame as the kernel gives it to the device: a super-segment where it is longer than one segment.
fn read_frame(len: usize, pool: &mut PayloadPool) -> Vec<u8> {
    let packet = packet(len, pool);
    let mut buffer = vec![0; MAX_FRAME_LEN];
    let written = frame(&packet, pool, &mut buffer);
    buffer.truncate(written);
    if len > 1_448 {
        let (header, _) = buffer.split_first_chunk_mut().expect("a virtio header");
        let gso = VirtioNetHeader {
            gso_type: VirtioNetHeader::GSO_TCPV4,
            gso_size: 1_448,
            ..VirtioNetHeader::parse(header)
        };
        *header = gso.emit();
    }
    buffer
}

fn cuts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("cut");
    for len in SIZES {
        let mut pool = PayloadPool::new(1 << 20);
        let frame = read_frame(len, &mut pool);
        let mut packets = Vec::with_capacity(64);
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(BenchmarkId::from_parameter(len), |bencher| {
            bencher.iter(|| {
                cut(black_box(&frame), None, &mut pool, &mut |packet| packets.push(packet)).expect("packets");
                for packet in packets.drain(..) {
                    pool.release(packet.payload);
                }
            });
        });
    }
    let (source, mut target) = (vec![1_u8; 65_160], vec![0_u8; 65_160]);
    group.throughput(Throughput::Bytes(65_160));
    group.bench_function("memcpy of 65160, to compare", |bencher| {
        bencher.iter(|| black_box(&mut target).copy_from_slice(black_box(&source)));
    });
}

fn emission(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("emit");
    for len in SIZES {
        let mut pool = PayloadPool::new(1 << 20);
        let packet = packet(len, &mut pool);
        let mut buffer = vec![0; MAX_FRAME_LEN];
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(BenchmarkId::new("complete", len), |bencher| {
            bencher.iter(|| emit(black_box(&packet), &pool, &mut buffer, Checksums::Complete));
        });
        group.bench_function(BenchmarkId::new("frame", len), |bencher| {
            bencher.iter(|| frame(black_box(&packet), &pool, &mut buffer));
        });
    }
}

fn parsing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parse");
    for len in SIZES {
        let mut pool = PayloadPool::new(1 << 20);
        let mut buffer = vec![0; MAX_FRAME_LEN];
        let written = emit(&packet(len, &mut pool), &pool, &mut buffer, Checksums::Complete);
        let bytes = &buffer[..written];
        group.throughput(Throughput::Bytes(len as u64));
        for checksums in [Checksums::Complete, Checksums::Partial] {
            group.bench_function(BenchmarkId::new(format!("{checksums:?}"), len), |bencher| {
                bencher
                    .iter(|| Packet::parse(black_box(bytes), checksums).map(|parsed| parsed.payload.len()));
            });
        }
    }
}

fn checksums(criterion: &mut Criterion) {
    let bytes = vec![0x5a; 1_480];
    let mut group = criterion.benchmark_group("checksum");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("1480", |bencher| {
        bencher.iter(|| {
            let mut checksum = Checksum::new();
            checksum.add(black_box(&bytes));
            checksum.finish()
        });
    });
}

criterion_group!(benches, cuts, emission, parsing, checksums);
criterion_main!(benches);
