//! The system calls that rustix has no safe form of. The only unsafe code of the crate.

#![expect(unsafe_code, reason = "ioctl(2) takes untyped arguments, and sched_setscheduler(2) a pointer")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The longest name of a network device (`IFNAMSIZ` without the final zero).
pub(crate) const MAX_NAME: usize = libc::IFNAMSIZ - 1;

/// Linux knows 1 to 99 (sched(7)).
const LEAST_REAL_TIME_PRIORITY: libc::c_int = 1;

/// `TUNSETIFF`: attaches a TUN device, created if there is none of that name; returns the name it got. `name` is at most
/// [`MAX_NAME`] bytes; empty lets the kernel choose.
pub(crate) fn attach_tun(fd: BorrowedFd<'_>, name: &str, flags: i32) -> io::Result<String> {
    // SAFETY: an ifreq of zeros is a valid value of that plain C structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().take(MAX_NAME).zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes one ifreq, which outlives the call.
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) })?;
    let bytes =
        request.ifr_name.iter().map(|&byte| byte as u8).take_while(|&byte| byte != 0).collect::<Vec<_>>();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// `TUNSETVNETHDRSZ`: the length of the virtio header before each packet.
pub(crate) fn set_header_size(fd: BorrowedFd<'_>, bytes: libc::c_int) -> io::Result<()> {
    // SAFETY: TUNSETVNETHDRSZ reads one int, which outlives the call.
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETVNETHDRSZ as _, &raw const bytes) })
}

/// `TUNSETOFFLOAD`: what the kernel may leave to the reader of the device.
pub(crate) fn set_offload(fd: BorrowedFd<'_>, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: TUNSETOFFLOAD takes its argument by value.
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETOFFLOAD as _, libc::c_ulong::from(flags)) })
}

/// `sched_setscheduler`: the calling thread runs before every thread that is not real-time, and takes turns with those that are.
pub(crate) fn schedule_in_real_time() -> io::Result<()> {
    // SAFETY: a sched_param of zeros is a valid value of that plain C structure.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = LEAST_REAL_TIME_PRIORITY;
    // SAFETY: the kernel reads one sched_param, which outlives the call; 0 is the calling thread.
    checked(unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const parameters) })
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
