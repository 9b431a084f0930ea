//! A TUN device with the virtio header and checksum and segmentation offload (Linux `Documentation/networking/tuntap.rst`).

use crate::sys::{self, Instruction};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::{io, iter};
use wasp_engine::{PacketPort, PortError, Transmitted};

/// The longest frame that the device carries: the virtio header and an IPv4 packet. A shorter buffer cuts frames.
pub const MAX_FRAME: usize = HEADER + 65_535;

const HEADER: usize = 10;

/// `BPF_ALU64 | BPF_MOV | BPF_X`, `BPF_LD | BPF_ABS | BPF_W` (which wants the packet in register 6), `BPF_ALU | BPF_SUB | BPF_K`, `BPF_ALU | BPF_MOD | BPF_K`,
/// `BPF_JMP | BPF_EXIT` (linux/bpf.h, linux/bpf_common.h).
const MOVE: u8 = 0xbf;
const LOAD_WORD: u8 = 0x20;
const SUBTRACT: u8 = 0x14;
const REMAINDER: u8 = 0x94;
const EXIT: u8 = 0x95;
/// Where an IPv4 packet has its destination.
const DESTINATION: u32 = 16;

/// A non-blocking TUN device. It lives as long as its descriptor: it is never made persistent.
#[derive(Debug)]
pub struct Tun {
    fd: OwnedFd,
    /// Frames may leave checksums to the kernel.
    offload: bool,
}

/// A TUN device could not be had.
#[derive(Debug, thiserror::Error)]
pub enum TunError {
    /// The name is empty or longer than the kernel's 15 bytes.
    #[error("device name {0:?}: 1 to 15 bytes would be valid")]
    Name(String),
    /// `/dev/net/tun` cannot be opened: no such module, or not allowed.
    #[error("/dev/net/tun cannot be opened: {0}")]
    Open(io::Error),
    /// The device cannot be created: the name is taken, or the privilege (`CAP_NET_ADMIN`) is missing.
    #[error("the TUN device cannot be created: {0}")]
    Attach(io::Error),
    /// The kernel does not offer the virtio header or the offloads.
    #[error("the TUN device refuses the virtio header or its offloads: {0}")]
    Offload(io::Error),
    /// The descriptor cannot be used.
    #[error("the TUN device's descriptor cannot be used: {0}")]
    Descriptor(io::Error),
    /// The kernel does not take the program that chooses a packet's queue: the privilege (`CAP_BPF`) is missing.
    #[error(
        "packets cannot be steered to the queues of the TUN device: {0}; one emulator CPU would be valid"
    )]
    Steering(io::Error),
}

impl Tun {
    /// Creates a device in the calling thread's network namespace and returns it with its name. Without a name the
    /// kernel chooses one.
    ///
    /// # Errors
    /// The name is not one, or the kernel refuses.
    pub fn create(name: Option<&str>) -> Result<(Self, String), TunError> {
        Self::attach(name, 0)
    }

    /// Creates a device as [`Tun::create`] does, with several queues.
    ///
    /// # Errors
    /// The name is not one, or the kernel refuses.
    pub fn create_queues(name: Option<&str>, queues: usize) -> Result<(Vec<Self>, String), TunError> {
        let (first, name) = Self::attach(name, libc::IFF_MULTI_QUEUE)?;
        let others = (1..queues).map(|_| Ok(Self::attach(Some(&name), libc::IFF_MULTI_QUEUE)?.0));
        Ok((iter::once(Ok(first)).chain(others).collect::<Result<_, TunError>>()?, name))
    }

    /// Makes a descriptor a queue of the device, of a new one if there is none of that name.
    fn attach(name: Option<&str>, queues: libc::c_int) -> Result<(Self, String), TunError> {
        if let Some(name) = name.filter(|name| name.is_empty() || name.len() > sys::MAX_NAME) {
            return Err(TunError::Name(name.to_owned()));
        }
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd =
            rustix::fs::open("/dev/net/tun", flags, Mode::empty()).map_err(|e| TunError::Open(e.into()))?;
        let kind = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR | queues;
        let name = sys::attach_tun(fd.as_fd(), name.unwrap_or(""), kind).map_err(TunError::Attach)?;
        sys::set_header_size(fd.as_fd(), HEADER as libc::c_int).map_err(TunError::Offload)?;
        let offload = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
        sys::set_offload(fd.as_fd(), offload).map_err(TunError::Offload)?;
        Ok((Self { fd, offload: true }, name))
    }

    /// Takes over a device that was opened elsewhere as [`Tun::create`] opens it, and makes it non-blocking.
    ///
    /// # Errors
    /// The descriptor is not that of an open file.
    pub fn from_fd(fd: OwnedFd) -> Result<Self, TunError> {
        let flags = rustix::fs::fcntl_getfl(&fd).map_err(|e| TunError::Descriptor(e.into()))?;
        rustix::fs::fcntl_setfl(&fd, flags | OFlags::NONBLOCK).map_err(|e| TunError::Descriptor(e.into()))?;
        Ok(Self { fd, offload: true })
    }

    /// Has the kernel give each packet to the queue of the thread that has its client, client `first_client` + n to queue n modulo `queues`, in the
    /// order in which they were created.
    ///
    /// Left to itself the kernel gives a flow to the queue that wrote it last, forgets that after three seconds without a write, and knows 4,096 flows at most
    /// (Linux `drivers/net/tun.c`). A flow that changes its queue while its packets wait in another one would overtake itself.
    ///
    /// # Errors
    /// The kernel refuses: without `CAP_BPF` in the first user namespace.
    pub fn steer(&self, first_client: Ipv4Addr, queues: u32) -> Result<(), TunError> {
        let program = steering(first_client, queues);
        let program = sys::load_packet_program(&program).map_err(TunError::Steering)?;
        sys::steer_tun(self.fd.as_fd(), program.as_fd()).map_err(TunError::Steering)
    }

    /// Turns checksum and segmentation offload off, so that whoever watches the device sees packets as on a wire.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn without_offload(mut self) -> Result<Self, TunError> {
        sys::set_offload(self.fd.as_fd(), 0).map_err(TunError::Offload)?;
        self.offload = false;
        Ok(self)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl PacketPort for Tun {
    fn offloads_checksums(&self) -> bool {
        self.offload
    }

    fn receive(&mut self, frame: &mut [u8]) -> Result<Option<usize>, PortError> {
        loop {
            match rustix::io::read(&self.fd, &mut *frame) {
                Ok(length) => return Ok(Some(length)),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(error) => return Err(failure(error)),
            }
        }
    }

    fn transmit(&mut self, frame: &[u8]) -> Result<Transmitted, PortError> {
        loop {
            match rustix::io::write(&self.fd, frame) {
                Ok(_) => return Ok(Transmitted::Sent),
                Err(Errno::AGAIN | Errno::NOBUFS) => return Ok(Transmitted::Full),
                Err(Errno::INTR) => {}
                Err(error) => return Err(failure(error)),
            }
        }
    }
}

/// The program (linux/bpf.h) that computes (destination - first client) modulo `queues`. What is no IPv4 packet goes to queue 0.
fn steering(first_client: Ipv4Addr, queues: u32) -> [Instruction; 5] {
    let instruction = |code, (to, from): (u8, u8), immediate: u32| {
        let registers = if cfg!(target_endian = "little") { to | from << 4 } else { to << 4 | from };
        Instruction { code, registers, offset: 0, immediate: immediate.cast_signed() }
    };
    [
        instruction(MOVE, (6, 1), 0),
        instruction(LOAD_WORD, (0, 0), DESTINATION),
        instruction(SUBTRACT, (0, 0), first_client.to_bits()),
        instruction(REMAINDER, (0, 0), queues),
        instruction(EXIT, (0, 0), 0),
    ]
}

fn failure(error: Errno) -> PortError {
    PortError(match error {
        Errno::BADFD => "it is not attached to a network device, or no longer".to_owned(),
        Errno::NODEV => "it has disappeared".to_owned(),
        Errno::IO => "it is down, or the system is out of memory for packets".to_owned(),
        Errno::INVAL => "it refuses a frame as malformed".to_owned(),
        other => io::Error::from(other).to_string(),
    })
}
