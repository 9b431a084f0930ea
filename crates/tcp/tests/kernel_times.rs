//! Transfers over paths that are known to the packet, against the times of a kernel: Linux 6.18 with the congestion control `reno`, below
//! nginx, before the same clients behind an emulated network; means of 15 to 350 transfers, which repeat to a few milliseconds.

use crate::common::*;
use wasp_tcp::{Config, CongestionKind, Event, ReceiveBuffer, SendBufferSize};
use wasp_units::Duration;

const RTT: Duration = Duration::from_millis(100);
/// Memory of a segment beside its payload in that kernel, which has no wireless network (`MAX_TCP_HEADER` and `skb_shared_info`).
const OVERHEAD: u32 = 576;

/// Every n-th packet of the server is lost, and the kernel's seconds for 500 KB at 100 ms, from SYN to last byte. Each loss meets a known
/// segment, so that the times tell how the window grows and falls. With n = 20 and 67 a loss in slow start finds all sent that the program
/// has written. With n = 80 it takes the kernel 1.20 or 1.80 s, as the program is early or late. With n = 7 the kernel takes 15.29 s, and a
/// simulation 15.26 s. These clients read each segment at once, and offer a larger window than those that wake up: 15.57 s.
const PERIODIC_LOSS: [(u64, f64); 12] = [
    (8, 14.76),
    (9, 13.26),
    (10, 12.75),
    (11, 12.72),
    (13, 11.11),
    (17, 9.44),
    (20, 7.71),
    (33, 4.61),
    (41, 3.81),
    (67, 2.40),
    (100, 0.90),
    (200, 0.70),
];

/// The peer's window in bytes, and the kernel's seconds for 5 MB at 10 ms.
const PEER_WINDOW: [(u32, f64); 5] =
    [(30_000, 1.848), (40_000, 1.331), (64_000, 0.836), (100_000, 0.547), (200_000, 0.304)];

/// A response of so many bytes after a request.
struct Transfer {
    client: Config,
    server: Config,
    rtt: Duration,
    size: u64,
}

impl Transfer {
    /// Seconds from SYN to last byte.
    fn time(self, path: impl FnMut(&Crossing) -> Fate + 'static) -> f64 {
        let mut pair = Pair::of(self.client, self.server);
        pair.delay = self.rtt / 2;
        pair.path = Box::new(path);
        pair.connect();
        pair.run_to(RTT * 100, |pair| pair.sides[CLIENT].has(Event::Connected));
        pair.send(CLIENT, b"GET / HTTP/1.1\r\n\r\n");
        pair.run_to(RTT * 100, |pair| pair.sides[SERVER].received_len > 0);
        pair.send_virtual(SERVER, self.size);
        pair.run_to(RTT * 1_000, |pair| pair.sides[CLIENT].received_len == self.size);
        pair.now.as_nanos() as f64 / 1e9
    }
}

fn with_periodic_loss(server: Config, every: u64) -> f64 {
    let client = Config { delayed_ack: Duration::ZERO, quickack_segments: 0, ..Config::linux() };
    Transfer { client, server, rtt: RTT, size: 500_240 }.time(move |crossing| {
        let lost = crossing.from == SERVER && (crossing.index + 1).is_multiple_of(every);
        if lost { Fate::Drop } else { Fate::Deliver }
    })
}

fn reno() -> Config {
    let send_buffer = SendBufferSize::Tuned { overhead: OVERHEAD, most: 4 << 20 };
    Config { congestion: CongestionKind::Reno, send_buffer, ..Config::linux() }
}

#[test]
fn every_nth_packet_lost_costs_what_it_costs_a_kernel() {
    for (every, kernel) in PERIODIC_LOSS {
        let found = with_periodic_loss(reno(), every);
        assert!((found / kernel - 1.0).abs() < 0.01, "every {every}: {found} s, the kernel {kernel} s");
    }
}

/// Without frames a second segment leaves at each duplicate acknowledgment: where a loss comes every 11 packets, that alone is worth 7 %
/// of the time.
#[test]
fn a_segment_alone_waits_where_the_device_cuts_frames_up() {
    let [with, without] = [true, false].map(|segmentation_offload| {
        let config = Config { segmentation_offload, ..reno() };
        with_periodic_loss(config, 11)
    });
    assert!(with > 1.05 * without, "{with} s with, {without} s without");
}

/// A frame waits for the peer's window, too, and its end is acknowledged at once, since it is pushed: nothing of the window is wasted.
#[test]
fn a_window_of_the_peer_costs_what_it_costs_a_kernel() {
    for (bytes, kernel) in PEER_WINDOW {
        let client = Config { receive_buffer: ReceiveBuffer::Fixed(bytes), ..Config::linux() };
        let rtt = Duration::from_millis(10);
        let found =
            Transfer { client, server: reno(), rtt, size: 5_000_240 }.time(|_: &Crossing| Fate::Deliver);
        assert!((found / kernel - 1.0).abs() < 0.02, "{bytes} bytes: {found} s, the kernel {kernel} s");
    }
}
