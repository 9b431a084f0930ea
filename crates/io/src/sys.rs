//! The system calls that rustix has no safe form of. The only unsafe code of the crate.

#![expect(
    unsafe_code,
    reason = "ioctl(2) takes untyped arguments, sched_setscheduler(2) and bpf(2) pointers"
)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The longest name of a network device (`IFNAMSIZ` without the final zero).
pub(crate) const MAX_NAME: usize = libc::IFNAMSIZ - 1;

/// `TUNSETSTEERINGEBPF` (linux/if_tun.h).
const TUN_SET_STEERING_EBPF: libc::c_ulong = 0x8004_54e0;
/// `BPF_PROG_LOAD` and `BPF_PROG_TYPE_SOCKET_FILTER` (linux/bpf.h).
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_PROG_TYPE_SOCKET_FILTER: u32 = 1;

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

/// `struct bpf_insn` (linux/bpf.h).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(C)]
pub(crate) struct Instruction {
    pub(crate) code: u8,
    /// The registers: destination and source, four bits each.
    pub(crate) registers: u8,
    pub(crate) offset: i16,
    pub(crate) immediate: i32,
}

/// The beginning of `union bpf_attr` (linux/bpf.h) for `BPF_PROG_LOAD`; the kernel takes the rest as zeros.
#[repr(C)]
struct ProgramAttributes {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buffer: u64,
    kernel_version: u32,
    flags: u32,
}

/// `bpf(BPF_PROG_LOAD)`: a program that looks at a packet.
pub(crate) fn load_packet_program(program: &[Instruction]) -> io::Result<OwnedFd> {
    let attributes = ProgramAttributes {
        kind: BPF_PROG_TYPE_SOCKET_FILTER,
        count: program.len() as u32,
        instructions: program.as_ptr() as u64,
        license: c"".as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log_buffer: 0,
        kernel_version: 0,
        flags: 0,
    };
    let size = size_of::<ProgramAttributes>() as libc::c_long;
    // SAFETY: the kernel reads the attributes, the program and the licence, all of which outlive the call.
    let fd =
        unsafe { libc::syscall(libc::SYS_bpf, BPF_PROG_LOAD, &raw const attributes, size) } as libc::c_int;
    checked(fd)?;
    // SAFETY: the kernel has just opened this descriptor for nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// `TUNSETSTEERINGEBPF`: the program says to which queue of the device a packet goes.
pub(crate) fn steer_tun(fd: BorrowedFd<'_>, program: BorrowedFd<'_>) -> io::Result<()> {
    let program: libc::c_int = program.as_raw_fd();
    // SAFETY: TUNSETSTEERINGEBPF reads one int, which outlives the call.
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), TUN_SET_STEERING_EBPF as _, &raw const program) })
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
