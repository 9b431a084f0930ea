"""The system calls that Python 3.11 does not have: unshare(2), setns(2), mount(2), prctl(2), and how a TUN device is
opened.

Constants are those of the kernel's uapi headers (linux/sched.h, linux/mount.h, linux/prctl.h, linux/if_tun.h).
"""

import ctypes
import errno
import fcntl
import os
import signal
import struct

CLONE_NEWNS = 0x0002_0000
CLONE_NEWIPC = 0x0800_0000
CLONE_NEWUSER = 0x1000_0000
CLONE_NEWPID = 0x2000_0000
CLONE_NEWNET = 0x4000_0000

MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x4_0000

PR_SET_PDEATHSIG = 1

CAP_SYS_ADMIN = 21
CAP_SYS_NICE = 23
CAP_SYS_RESOURCE = 24
CAP_BPF = 39

ORDINARY_ID = 65534
"""User and group number of a process that must not be root: nobody's."""

TUN_DEVICE = "/dev/net/tun"
TUNSETIFF = 0x4004_54CA
TUNSETOFFLOAD = 0x4004_54D0
TUNSETVNETHDRSZ = 0x4004_54D8
IFF_TUN = 0x0001
IFF_NO_PI = 0x1000
IFF_VNET_HDR = 0x4000
IFF_MULTI_QUEUE = 0x0100
TUN_F_CSUM = 0x01
TUN_F_TSO4 = 0x02
TUN_F_TSO6 = 0x04
TUN_F_TSO_ECN = 0x08
VNET_HEADER_BYTES = 10

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def unshare(flags: int) -> None:
    """Moves the calling process (its children, for the PID namespace) into new namespaces.

    Raises:
        OSError: the kernel refuses.
    """
    _check(_libc.unshare(ctypes.c_int(flags)), "unshare")


def setns(namespace: int, kind: int) -> None:
    """Moves the calling process into the namespace that a descriptor refers to, which is of this kind.

    Raises:
        OSError: the kernel refuses.
    """
    _check(_libc.setns(ctypes.c_int(namespace), ctypes.c_int(kind)), "setns")


def become_ordinary_user() -> None:
    """Moves the calling process, which is root of its user namespace, into one below, where it is nobody in particular.

    Raises:
        OSError: the kernel refuses.
    """
    user, group = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER)
    for name, text in (
        ("setgroups", b"deny"),
        ("uid_map", b"%d %d 1" % (ORDINARY_ID, user)),
        ("gid_map", b"%d %d 1" % (ORDINARY_ID, group)),
    ):
        # Between fork and exec, and perhaps no longer able to read the interpreter's files: nothing may be imported.
        mapping = os.open(f"/proc/self/{name}", os.O_WRONLY)
        os.write(mapping, text)
        os.close(mapping)


def mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    """mount(2).

    Raises:
        OSError: the kernel refuses; its filename is the target.
    """
    result = _libc.mount(
        source.encode(),
        target.encode(),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        data.encode() if data else None,
    )
    _check(result, target)


def die_with_parent() -> None:
    """Asks the kernel to kill this process when the *thread* that forked it ends.

    The request is lost at a change of credentials (unshare of a user namespace is one), and it comes too late when the
    parent is already gone: call it after those, then look whether the parent is still there.
    """
    _check(_libc.prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0), "prctl(PR_SET_PDEATHSIG)")


def has_capability(number: int) -> bool:
    """Whether this process holds a capability (linux/capability.h) in its effective set."""
    with open("/proc/self/status", encoding="utf-8", errors="replace") as status:
        for line in status:
            if line.startswith("CapEff:"):
                return bool(int(line.split()[1], 16) >> number & 1)
    return False


def may_steer() -> bool:
    """Whether this process may load the program by which a device gives each packet to the queue of its client."""
    return has_capability(CAP_BPF) or has_capability(CAP_SYS_ADMIN)


OFFLOADS = "virtio header, tx checksum, TSO4, TSO6, TSO with ECN"
"""What `open_tun` has the kernel leave to the device's reader."""


def advice(number: int | None) -> str:
    """What may help where `open_tun` fails with this error number."""
    return {
        errno.EACCES: "; live runs need root, or users who may open it",
        errno.ENOENT: "; the kernel's tun module makes it (`modprobe tun`)",
    }.get(number or 0, "")


def open_tun(name: str, queues: int = 1) -> tuple[list[int], str]:
    """Creates a TUN device in the current network namespace; it lives as long as a descriptor of it.

    A `%d` in the name becomes the first free number. Returns a descriptor for each queue, and the device's name. Frames
    carry the 10-byte virtio header; the kernel may leave checksums and segmentation to the reader.

    Raises:
        OSError: the device node cannot be opened or the name is taken.
    """
    descriptors: list[int] = []
    try:
        for _ in range(queues):
            descriptors.append(os.open(TUN_DEVICE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
            name = _attach(descriptors[-1], name, several=queues > 1)
    except BaseException:
        for descriptor in descriptors:
            os.close(descriptor)
        raise
    return descriptors, name


def _attach(descriptor: int, name: str, *, several: bool) -> str:
    """Makes a descriptor a queue of a TUN device, of a new one if there is none of that name; returns its name."""
    flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR | (IFF_MULTI_QUEUE if several else 0)
    made = fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
    fcntl.ioctl(descriptor, TUNSETVNETHDRSZ, struct.pack("i", VNET_HEADER_BYTES))
    # This one takes its argument by value.
    fcntl.ioctl(descriptor, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN)
    return made[:16].rstrip(b"\0").decode()
