//! A TUN device in a network namespace of its own. Needs root; says so loudly where it is not.

use crate::common::{device_that_is_up, in_a_namespace, ip};
use std::os::fd::{AsFd, OwnedFd};
use wasp_engine::{PacketPort, Transmitted};
use wasp_io::{MAX_FRAME, Stopper, Tun, TunError, WallClock};
use wasp_kernel::Clock;
use wasp_units::{Duration, Instant};

fn checksum(bytes: &[u8]) -> [u8; 2] {
    let words = bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes()
}

/// A virtio header of zeros and an ICMP echo request from 198.18.0.2 to 198.18.0.1 with a payload.
fn echo_request(payload: &[u8]) -> Vec<u8> {
    let mut icmp = [&[8, 0, 0, 0, 0, 1, 0, 1], payload].concat();
    let sum = checksum(&icmp);
    icmp[2..4].copy_from_slice(&sum);
    let length = (20 + icmp.len()) as u16;
    let mut header =
        [&[0x45, 0][..], &length.to_be_bytes(), &[0, 0, 0, 0, 64, 1, 0, 0, 198, 18, 0, 2, 198, 18, 0, 1]]
            .concat();
    let sum = checksum(&header);
    header[10..12].copy_from_slice(&sum);
    [&[0; 10][..], &header, &icmp].concat()
}

/// The next ICMP frame, waited for with the wall clock as a run does.
fn receive_icmp(tun: &mut Tun, clock: &mut WallClock) -> Vec<u8> {
    let mut frame = vec![0; MAX_FRAME];
    while clock.now() < Instant::from_nanos(5_000_000_000) {
        match tun.receive(&mut frame).expect("a device") {
            Some(length) if frame[10] >> 4 == 4 && frame[19] == 1 => return frame[..length].to_vec(),
            Some(_) => {}
            None => clock.wait_until(Some(Instant::from_nanos(5_000_000_000))),
        }
    }
    panic!("no ICMP frame within five seconds");
}

#[test]
fn the_kernel_answers_a_ping_through_the_device() {
    in_a_namespace(|| {
        let mut tun = device_that_is_up();
        let mut clock = WallClock::new(&tun, &Stopper::new().unwrap(), Duration::ZERO).unwrap();
        let request = echo_request(b"are you there");
        assert_eq!(tun.transmit(&request).unwrap(), Transmitted::Sent);
        let reply = receive_icmp(&mut tun, &mut clock);
        assert_eq!(reply.len(), request.len());
        assert_eq!((&reply[22..26], &reply[26..30]), (&[198, 18, 0, 1][..], &[198, 18, 0, 2][..]));
        assert_eq!((reply[30], &reply[38..]), (0, &b"are you there"[..]));
    });
}

#[test]
fn an_empty_device_has_nothing_to_read() {
    in_a_namespace(|| {
        let (mut tun, name) = Tun::create(None).unwrap();
        assert!(name.starts_with("tun"), "{name}");
        assert_eq!(tun.receive(&mut vec![0; MAX_FRAME]).unwrap(), None);
    });
}

#[test]
fn a_device_passed_as_a_blocking_descriptor_does_not_block() {
    in_a_namespace(|| {
        let tun = device_that_is_up();
        let copy: OwnedFd = tun.as_fd().try_clone_to_owned().unwrap();
        let flags = rustix::fs::fcntl_getfl(&copy).unwrap();
        rustix::fs::fcntl_setfl(&copy, flags - rustix::fs::OFlags::NONBLOCK).unwrap();
        let mut tun = Tun::from_fd(copy).unwrap();
        let mut frame = vec![0; MAX_FRAME];
        while tun.receive(&mut frame).unwrap().is_some() {}
    });
}

#[test]
fn a_device_that_is_down_or_gone_is_an_error_in_plain_words() {
    in_a_namespace(|| {
        let mut tun = device_that_is_up();
        ip("link set wasp0 down");
        let error = tun.transmit(&echo_request(b"")).unwrap_err().to_string();
        assert!(error.starts_with("the packet device failed: it is down"), "{error}");
        ip("link delete wasp0");
        let error = tun.receive(&mut [0; 100]).unwrap_err().to_string();
        assert!(error.starts_with("the packet device failed: it is not attached"), "{error}");
    });
}

#[test]
fn a_name_that_is_taken_or_none_is_refused() {
    in_a_namespace(|| {
        let first = Tun::create(Some("wasp0")).unwrap();
        assert!(matches!(Tun::create(Some("wasp0")), Err(TunError::Attach(_))));
        drop(first);
        Tun::create(Some("wasp0")).unwrap();
    });
    assert!(matches!(Tun::create(Some("")), Err(TunError::Name(_))));
    assert!(matches!(Tun::create(Some("a-name-of-16-byt")), Err(TunError::Name(_))));
}
