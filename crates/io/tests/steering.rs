//! Which queue of a TUN device the packets of a client come to. Needs root; says so loudly where it is not.

use crate::common::{in_a_namespace, queues_that_are_up};
use std::net::{Ipv4Addr, UdpSocket};
use std::thread::sleep;
use std::time::Duration;
use wasp_engine::PacketPort;
use wasp_io::{MAX_FRAME, Tun};

const FIRST_CLIENT: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
const CLIENTS: u8 = 32;
/// Longer than the kernel remembers a flow that nobody writes (`TUN_FLOW_EXPIRE`, 3 s), and than it takes to notice.
const SILENCE: Duration = Duration::from_millis(6_500);

/// A virtio header of zeros and an empty UDP datagram from port 9 of a client to a port of the server.
fn datagram(client: u8, port: u16) -> Vec<u8> {
    let mut header = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 2 + client, 198, 18, 0, 1];
    let sum: u32 = header.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    [&[0; 10][..], &header, &9_u16.to_be_bytes(), &port.to_be_bytes(), &8_u16.to_be_bytes(), &[0, 0]].concat()
}

/// The clients whose datagrams wait in a queue.
fn waiting(queue: &mut Tun) -> Vec<u8> {
    let mut frame = vec![0; MAX_FRAME];
    let mut clients = Vec::new();
    while queue.receive(&mut frame).expect("a device").is_some() {
        clients.push(frame[10 + 19] - 2);
    }
    clients.sort_unstable();
    clients
}

/// Clients and server exchange datagrams, each client by the queue with its number modulo 2. Where the server's arrive right after that, and
/// after a long silence.
fn where_datagrams_arrive(queues: &mut [Tun]) -> [[Vec<u8>; 2]; 2] {
    let server = UdpSocket::bind((Ipv4Addr::new(198, 18, 0, 1), 0)).expect("a socket");
    let port = server.local_addr().expect("an address").port();
    for client in 0..CLIENTS {
        queues[usize::from(client % 2)].transmit(&datagram(client, port)).expect("a device");
    }
    let mut answer = || {
        for client in 0..CLIENTS {
            server.send_to(b"", (Ipv4Addr::new(198, 18, 0, 2 + client), 9)).expect("a route");
        }
        [waiting(&mut queues[0]), waiting(&mut queues[1])]
    };
    let at_once = answer();
    sleep(SILENCE);
    [at_once, answer()]
}

#[test]
fn a_client_keeps_its_queue_however_long_it_is_silent() {
    let own: [Vec<u8>; 2] = [0, 1].map(|first| (first..CLIENTS).step_by(2).collect());
    let expected = own.clone();
    in_a_namespace(move || {
        let mut queues = queues_that_are_up(2);
        queues[0].steer(FIRST_CLIENT, 2).expect("root may load a program");
        assert_eq!(where_datagrams_arrive(&mut queues), [expected.clone(), expected]);
    });
    // What the kernel does by itself: the reason for all this.
    in_a_namespace(move || {
        let [at_once, later] = where_datagrams_arrive(&mut queues_that_are_up(2));
        assert_eq!(at_once, own);
        assert_ne!(later, own);
    });
}
