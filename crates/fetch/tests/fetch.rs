//! The client before servers that answer well, badly, or not at all.

#![expect(
    clippy::disallowed_methods,
    reason = "the servers are threads with sockets of the standard library"
)]

use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;
use wasp_fetch::{Config, FetchError, fetch};

const BODY: usize = 300_000;
const LANES: u32 = 4;
const PATIENCE: Duration = Duration::from_mins(2);

fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Four lanes from 127.0.0.2 and the next one, for a second.
fn config(server: SocketAddrV4, requests: Option<u32>) -> Config {
    let begin = now();
    Config {
        server,
        path: "/x".to_owned(),
        first_source: Ipv4Addr::new(127, 0, 0, 2),
        sources: NonZeroU32::new(2).unwrap(),
        lanes: LANES,
        requests_per_connection: requests.and_then(NonZeroU32::new),
        pause: 0,
        begin,
        spread: 100_000_000,
        end: begin + 1_000_000_000,
    }
}

/// A server that answers each request with `answer`, and closes after one that asks for it. Told are peers and requests, a list for each connection.
fn server(answer: Vec<u8>) -> (SocketAddrV4, Receiver<(SocketAddr, Vec<String>)>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let SocketAddr::V4(address) = listener.local_addr().unwrap() else { unreachable!() };
    let (tell, told) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (tell, answer) = (tell.clone(), answer.clone());
            thread::spawn(move || {
                let mut stream = stream.unwrap();
                let peer = stream.peer_addr().unwrap();
                let requests = serve(&mut stream, &answer);
                drop(stream);
                let _ = tell.send((peer, requests));
            });
        }
    });
    (address, told)
}

fn serve(stream: &mut TcpStream, answer: &[u8]) -> Vec<String> {
    let (mut requests, mut text, mut bytes) = (Vec::new(), Vec::new(), [0; 1000]);
    loop {
        let Ok(count @ 1..) = stream.read(&mut bytes) else { return requests };
        text.extend_from_slice(&bytes[..count]);
        if text.ends_with(b"\r\n\r\n") {
            requests.push(String::from_utf8(std::mem::take(&mut text)).unwrap());
            let last = requests.last().unwrap().contains("Connection: close");
            if stream.write_all(answer).is_err() || last {
                return requests;
            }
        }
    }
}

fn answer() -> Vec<u8> {
    let mut text = format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n").into_bytes();
    text.resize(text.len() + BODY, b'x');
    text
}

#[test]
fn each_request_has_a_connection_of_its_own_from_the_addresses_in_turn() {
    let (address, told) = server(answer());
    let config = config(address, Some(1));
    let fetched = fetch(&config).unwrap();
    assert!(fetched.len() > 20, "{} responses", fetched.len());
    // Each lane may have one in the last batch of events.
    assert!(fetched.iter().filter(|one| one.end > config.end).count() <= LANES as usize);
    for one in &fetched {
        assert_eq!((one.status, one.bytes), (200, BODY as u64));
        assert!(config.begin <= one.start && one.start < one.end && one.start < config.end);
    }
    let peers: Vec<_> = (0..fetched.len()).map(|_| told.recv_timeout(PATIENCE).unwrap()).collect();
    let sources: BTreeSet<_> = peers.iter().map(|(peer, _)| peer.ip().to_string()).collect();
    assert_eq!(sources.into_iter().collect::<Vec<_>>(), ["127.0.0.2", "127.0.0.3"]);
    let asked = "GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\n";
    for (_, requests) in peers {
        assert_eq!(requests.len(), 1);
        assert!(requests[0].starts_with(asked) && requests[0].contains("Connection: close\r\n"));
    }
}

#[test]
fn a_lane_pauses_before_its_next_connection() {
    let (address, _told) = server(answer());
    let config = Config { pause: 100_000_000, ..config(address, Some(1)) };
    let fetched = fetch(&config).unwrap();
    // Of a second each: 40 pauses on average, and a first request of each lane.
    assert!((10..=84).contains(&fetched.len()), "{} responses", fetched.len());
}

#[test]
fn kept_connections_carry_as_many_requests_as_they_are_to() {
    let (address, told) = server(answer());
    let fetched = fetch(&config(address, Some(3))).unwrap();
    assert!(fetched.len() > 20 && fetched.iter().all(|one| one.status == 200));
    for _ in 0..fetched.len() / 3 - LANES as usize {
        let (_, requests) = told.recv_timeout(PATIENCE).unwrap();
        let closing: Vec<_> = requests.iter().map(|text| text.contains("Connection: close")).collect();
        assert_eq!(closing, [false, false, true]);
    }
    let fetched = fetch(&config(address, None)).unwrap();
    assert!(fetched.len() > 20 && fetched.iter().all(|one| one.status == 200));
}

#[test]
fn a_refusal_and_a_broken_response_are_failures_and_a_rest_follows() {
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let SocketAddr::V4(closed) = closed else { unreachable!() };
    let (broken, _told) = server(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_vec());
    for address in [closed, broken] {
        let fetched = fetch(&config(address, Some(1))).unwrap();
        // Every lane tries each 100 ms.
        assert!((LANES as usize..=4 * 10).contains(&fetched.len()), "{} attempts", fetched.len());
        assert!(fetched.iter().all(|one| (one.status, one.bytes) == (0, 0)));
    }
}

#[test]
fn an_address_of_somebody_else_is_an_error_that_names_it() {
    let mut config = config(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9), Some(1));
    config.first_source = Ipv4Addr::new(192, 0, 2, 1);
    let error = fetch(&config).unwrap_err();
    assert!(matches!(error, FetchError::Source { .. }));
    assert!(error.to_string().starts_with("connections cannot come from 192.0.2.1: "));
}
