//! Frames on their way between the threads of an emulator: any queue of the device may deliver any flow.

use rustix::event::{EventfdFlags, eventfd};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use wasp_engine::{PacketPort, PortError, Shard, Transmitted};
use wasp_wire::Address;

/// Frames that a mailbox holds at most; what comes beyond is dropped and counted.
const ROOM: usize = 4096;
/// Frames of others that are passed on before a thread looks after its own work.
const PASSED_ON: usize = 16;
/// Where an IPv4 packet's destination is in a frame, after the virtio header.
const DESTINATION: usize = 10 + 16;

/// What other threads have read for one of them.
#[derive(Debug)]
pub(crate) struct Mailbox {
    frames: Mutex<VecDeque<Box<[u8]>>>,
    /// How many there are, so that an empty mailbox costs one load.
    waiting: AtomicUsize,
    dropped: AtomicU64,
    wake: OwnedFd,
}

impl Mailbox {
    pub(crate) fn new() -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let (waiting, dropped) = (AtomicUsize::new(0), AtomicU64::new(0));
        Ok(Self { frames: Mutex::default(), waiting, dropped, wake })
    }

    fn frames(&self) -> MutexGuard<'_, VecDeque<Box<[u8]>>> {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, frame: &[u8]) {
        let mut frames = self.frames();
        if frames.len() >= ROOM {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        frames.push_back(frame.into());
        self.waiting.store(frames.len(), Ordering::Release);
        let first = frames.len() == 1;
        drop(frames);
        if first {
            // It can only fail when the counter is full, and then its reader is awake.
            let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
        }
    }

    fn take(&self) -> Option<Box<[u8]>> {
        if self.waiting.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut frames = self.frames();
        let frame = frames.pop_front();
        self.waiting.store(frames.len(), Ordering::Release);
        frame
    }
}

impl AsFd for Mailbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

/// One thread's side of a device with a queue for each: frames for other threads' clients go to their mailboxes.
#[derive(Debug)]
pub(crate) struct SharedPort<'a, P> {
    pub(crate) queue: P,
    pub(crate) mailboxes: &'a [Mailbox],
    /// The thread's place among them.
    pub(crate) own: usize,
    pub(crate) first_client: Address,
}

impl<P> SharedPort<'_, P> {
    /// The thread whose client a frame is for; its own if it is for none, so that it meets its fate here.
    fn owner(&self, frame: &[u8]) -> usize {
        let destination = frame.get(DESTINATION..).and_then(|rest| rest.first_chunk::<4>());
        let address = destination.map(|octets| Address::from(std::net::Ipv4Addr::from(*octets)));
        let client = address.and_then(|address| address.distance_from(self.first_client));
        client.map_or(self.own, |client| Shard::of_client(client, self.mailboxes.len() as u32) as usize)
    }
}

impl<P: PacketPort> PacketPort for SharedPort<'_, P> {
    fn offloads_checksums(&self) -> bool {
        self.queue.offloads_checksums()
    }

    fn receive(&mut self, frame: &mut [u8]) -> Result<Option<usize>, PortError> {
        if let Some(passed) = self.mailboxes[self.own].take() {
            frame[..passed.len()].copy_from_slice(&passed);
            return Ok(Some(passed.len()));
        }
        for _ in 0..PASSED_ON {
            let Some(len) = self.queue.receive(frame)? else { return Ok(None) };
            let owner = self.owner(&frame[..len]);
            if owner == self.own {
                return Ok(Some(len));
            }
            self.mailboxes[owner].put(&frame[..len]);
        }
        Ok(None)
    }

    fn transmit(&mut self, frame: &[u8]) -> Result<Transmitted, PortError> {
        self.queue.transmit(frame)
    }

    fn take_dropped(&mut self) -> u64 {
        self.mailboxes[self.own].dropped.swap(0, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A queue of the device that delivers what it was given.
    #[derive(Default)]
    struct Queue(VecDeque<Vec<u8>>);

    impl PacketPort for Queue {
        fn receive(&mut self, frame: &mut [u8]) -> Result<Option<usize>, PortError> {
            let Some(next) = self.0.pop_front() else { return Ok(None) };
            frame[..next.len()].copy_from_slice(&next);
            Ok(Some(next.len()))
        }

        fn transmit(&mut self, _: &[u8]) -> Result<Transmitted, PortError> {
            Ok(Transmitted::Sent)
        }
    }

    const FIRST: [u8; 4] = [198, 18, 0, 2];

    fn frame_for(client: u8) -> Vec<u8> {
        let mut frame = vec![client; 60];
        frame[DESTINATION..DESTINATION + 4].copy_from_slice(&[198, 18, 0, 2 + client]);
        frame
    }

    fn ports(mailboxes: &[Mailbox]) -> Vec<SharedPort<'_, Queue>> {
        let first_client = Address::from(std::net::Ipv4Addr::from(FIRST));
        let port = |own| SharedPort { queue: Queue::default(), mailboxes, own, first_client };
        (0..mailboxes.len()).map(port).collect()
    }

    fn drain(port: &mut SharedPort<'_, Queue>) -> Vec<u8> {
        let mut buffer = [0; 100];
        let mut clients = Vec::new();
        while let Some(len) = port.receive(&mut buffer).unwrap() {
            assert_eq!(len, 60);
            clients.push(buffer[0]);
        }
        clients
    }

    #[test]
    fn a_frame_reaches_the_thread_of_its_client_whatever_queue_delivers_it() {
        let mailboxes = [Mailbox::new().unwrap(), Mailbox::new().unwrap()];
        let mut ports = ports(&mailboxes);
        ports[0].queue.0.extend([0, 1, 2, 3, 5].map(frame_for));
        ports[1].queue.0.extend([6, 7].map(frame_for));
        assert_eq!(drain(&mut ports[0]), [0, 2]);
        assert_eq!(drain(&mut ports[1]), [1, 3, 5, 7]);
        assert_eq!(drain(&mut ports[0]), [6]);
    }

    #[test]
    fn a_full_mailbox_drops_and_counts() {
        let mailboxes = [Mailbox::new().unwrap(), Mailbox::new().unwrap()];
        let mut ports = ports(&mailboxes);
        ports[0].queue.0.extend((0..ROOM + 3).map(|_| frame_for(1)));
        while !ports[0].queue.0.is_empty() {
            drain(&mut ports[0]);
        }
        assert_eq!((ports[1].take_dropped(), ports[1].take_dropped()), (3, 0));
        assert_eq!(drain(&mut ports[1]).len(), ROOM);
    }

    proptest! {
        #[test]
        fn no_frame_upsets_a_port(frame in prop::collection::vec(any::<u8>(), 0..64)) {
            let mailboxes = [Mailbox::new().unwrap(), Mailbox::new().unwrap(), Mailbox::new().unwrap()];
            let ports = ports(&mailboxes);
            prop_assert!(ports[1].owner(&frame) < 3);
        }
    }
}
