//! Drives emulated hosts by the wall clock beside a device.

use crate::common::device_that_is_up;
use std::sync::Arc;
use wasp_engine::{PacketPort, Transmitted};
use wasp_io::{MAX_FRAME, Stopper, Tun, WallClock};
use wasp_kernel::{Clock, LogicalProcess};
use wasp_net::{LinkConfig, Loss, Start};
use wasp_packet::frame;
use wasp_tcp::{Config, Identity};
use wasp_testkit::{Opening, Wan};
use wasp_units::{Duration, Instant, Probability};

/// Emulated hosts, the device, and the wall clock.
pub(crate) struct Rig {
    pub(crate) wan: LogicalProcess<Wan>,
    /// Frames that the kernel left to us to cut.
    pub(crate) super_segments: u64,
    /// How late an event was handled, at most.
    pub(crate) lag: Duration,
    tun: Tun,
    clock: WallClock,
    buffer: Vec<u8>,
}

/// Both directions of a path: `rtt` split evenly, `loss` percent two-state loss with bursts of 35 %.
pub(crate) fn path(rtt: Duration, loss: f64) -> (LinkConfig, LinkConfig) {
    let probability = |value| Probability::from_f64(value).expect("a probability");
    let (rate, leave) = (loss / 100.0, 0.65);
    let p = leave * rate / (1.0 - rate);
    let loss = match rate {
        0.0 => Loss::None,
        _ => Loss::TwoState { p: probability(p), r: probability(leave), start: Start::Good },
    };
    let link = LinkConfig { delay: rtt / 2, mtu: Some(1_500), loss, ..LinkConfig::default() };
    (link.clone(), link)
}

/// An opening with a request that is yet to be filled in.
pub(crate) fn opening(config: &Arc<Config>, port: u16, isn: u32, request: Vec<u8>) -> Opening {
    let identity =
        Identity { isn, timestamp_offset: 0x7fff_fe00, timer_phase: Duration::from_micros(u64::from(port)) };
    let request = request.into();
    Opening { config: Arc::clone(config), port, server_port: 80, identity, request, half_close: false }
}

impl Rig {
    /// One host for each path, in the calling thread's namespace.
    pub(crate) fn new(paths: &[(LinkConfig, LinkConfig)]) -> Self {
        let tun = device_that_is_up();
        let clock =
            WallClock::new(&tun, &Stopper::new().expect("descriptors"), Duration::ZERO).expect("a clock");
        let server = "198.18.0.1".parse().expect("an address");
        let wan = LogicalProcess::new(Wan::new(server, paths, 2));
        Self { wan, super_segments: 0, lag: Duration::ZERO, tun, clock, buffer: vec![0; MAX_FRAME] }
    }

    /// The hosts and their network.
    pub(crate) fn hosts(&self) -> &Wan {
        &self.wan.process
    }

    /// Opens a connection now.
    pub(crate) fn open(&mut self, host: u32, opening: &Opening) {
        let now = self.now();
        self.wan.inject(now, |wan, scheduler| wan.open(host, opening, scheduler));
    }

    /// The present instant, everything before it handled.
    pub(crate) fn now(&mut self) -> Instant {
        let now = self.clock.now();
        if let Some(due) = self.wan.next_event() {
            self.lag = self.lag.max(now.saturating_since(due));
        }
        self.wan.advance(now).expect("time goes on");
        self.flush();
        now
    }

    /// Runs until `done`, for at most `limit`; returns whether it was done.
    pub(crate) fn run_until(&mut self, limit: Duration, mut done: impl FnMut(&Wan) -> bool) -> bool {
        let end = self.clock.now() + limit;
        loop {
            let now = self.now();
            if done(&self.wan.process) {
                return true;
            }
            if now >= end {
                return false;
            }
            if !self.read(now) {
                self.clock.wait_until(self.wan.next_event().into_iter().chain([end]).min());
            }
        }
    }

    /// Lets time pass.
    pub(crate) fn run_for(&mut self, time: Duration) {
        self.run_until(time, |_| false);
    }

    fn read(&mut self, now: Instant) -> bool {
        let Some(length) = self.tun.receive(&mut self.buffer).expect("a device") else { return false };
        let frame = &self.buffer[..length];
        let cut = self.wan.inject(now, |wan, scheduler| wan.ingress(frame, scheduler));
        let cut = cut.unwrap_or_else(|error| panic!("the kernel sent a frame that is none: {error}"));
        assert_eq!(cut.exhausted, 0, "the pool is too small for this test");
        self.super_segments += u64::from(cut.packets > 1);
        self.flush();
        true
    }

    fn flush(&mut self) {
        let wan = &mut self.wan.process;
        while let Some(packet) = wan.egress.pop_front() {
            let length = frame(&packet, &wan.network.pool, &mut self.buffer);
            wan.network.pool.release(packet.payload);
            let sent = self.tun.transmit(&self.buffer[..length]).expect("a device");
            assert_eq!(sent, Transmitted::Sent, "the device is full");
        }
    }

    /// Forgets every connection once the network is empty; nothing may be left then.
    pub(crate) fn finish(&mut self) {
        self.run_until(Duration::from_secs(5), |wan| wan.network.in_flight() == 0);
        let wan = &mut self.wan.process;
        (0..wan.hosts.len() as u32).for_each(|host| wan.forget(host));
        let network = &wan.network;
        assert_eq!(network.made(), network.fates().total() + network.in_flight());
        if network.in_flight() == 0 {
            assert_eq!(network.pool.in_use(), 0, "payload was never given back");
        }
    }
}
