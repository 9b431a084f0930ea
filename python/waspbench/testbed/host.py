"""A server that runs already on this machine: clients come through a device in the machine's own network namespace.

Nothing of the machine is changed that outlives the device: `route_localnet`, by which a server on 127.0.0.1 answers, is
a setting of the device; congestion control, and that no connection leaves metrics behind for the next, are attributes
of the route to it. All of it ends with the device, and the device with its descriptor: when this process ends, however.
"""

import errno
import ipaddress
import os
import socket
import struct
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from waspbench.closeable import Closeable
from waspbench.testbed import cpus, kernel, linux, listeners, machine
from waspbench.testbed.cpus import Placement, place
from waspbench.testbed.errors import CannotDoIt, TestbedError
from waspbench.testbed.listeners import Listener
from waspbench.testbed.netlink import Netlink, NetlinkError, Network
from waspbench.testbed.testbed import queue_length

PREFIXES = ("198.18.0.0/17", "198.18.128.0/17", "198.19.0.0/17", "198.19.128.0/17")
"""Where the clients' addresses can be: the range for benchmarks (RFC 2544), in parts for as many runs at once."""


@dataclass(frozen=True)
class HostSpec:
    """A server that runs already, and what stands before it."""

    address: str
    port: int
    clients: int = 1
    """Connections at once: the device's queue is sized to them."""
    placement: Placement = field(default_factory=lambda: place(None, None))
    """Only the emulator's part of it: the server stays where it is."""
    congestion: str | None = "cubic"
    """Congestion control of the server's connections with these clients; None leaves the machine's own."""
    mtu: int = 1500
    prefixes: Sequence[str] = PREFIXES
    """Where the clients' addresses can be: the first that is routed nowhere yet is taken."""

    def start(self) -> "HostTestbed":
        """Makes the device. For the errors see `HostTestbed`."""
        return HostTestbed(self)


class HostTestbed(Closeable):
    """The device before a server that runs already. Use it as a context manager, or call `close`."""

    def __init__(self, spec: HostSpec) -> None:
        """Finds the server and makes the device.

        Raises:
            CannotDoIt: this process may not, or all prefixes are taken.
            TestbedError: nothing listens there, or the kernel refuses something.
        """
        self._spec = spec
        self._queues: list[int] = []
        self._pids = server_processes(spec.address, spec.port)
        self._before = thread_times(self._pids)
        self._cpus = sorted(set().union(*(affinity(pid) for pid in self._pids)) or affinity(0))
        self._labels = [*spec.placement.labels]
        shared = set(self._cpus) & set(spec.placement.emulator)
        if shared and not self._labels:
            self._labels.append(f"the server may run on the emulator's CPU {cpus.show_list(shared)}")
        if not self._pids:
            self._labels.append("the server's processes cannot be seen from here: its CPU time is unknown")
        self._queues, self._name = open_device(max(1, len(spec.placement.emulator)))
        try:
            self._settings = kernel.apply(
                {f"net.ipv4.conf.{self._name}.route_localnet": "1"} if _is_loopback(spec.address) else {}
            )
            self.prefix = self._connect()
            self._rps = self._steer()
        except BaseException:
            self.close()
            raise

    @property
    def device_fds(self) -> list[int]:
        """The TUN device's descriptors, one a queue. The testbed closes them; whoever outlives it duplicates them."""
        return list(self._queues)

    @property
    def device_name(self) -> str:
        """The TUN device's name."""
        return self._name

    def namespace(self) -> int:
        """A process in the network namespace of the device: this one."""
        return os.getpid()

    def access_log(self) -> BinaryIO | None:
        """None: a server that is not ours logs where it does."""
        return None

    def clock(self) -> dict[str, str]:
        """What the clients' clocks show: this machine's time, because its kernel remembers clients of earlier runs, and
        lets a connection in TIME-WAIT go only if the timestamps of the new one are higher.
        """
        return {"clock": f"{time.monotonic_ns() // 1_000_000}ms"}

    @property
    def server_cpus(self) -> list[int]:
        """None: CPUs on which the server runs among others say nothing of it."""
        return []

    @property
    def cpus_allowed(self) -> int:
        """On how many CPUs the server may run."""
        return len(self._cpus)

    def busiest_part(self) -> float | None:
        """The part of the server's CPU time since the beginning that its busiest thread used, from 0 to 1:
        one thread keeps one CPU busy at most, however many the server may run on. None if none was seen to be used.
        """
        return part_of_busiest(self._before, thread_times(self._pids))

    def server_pids(self) -> list[int]:
        """The processes that hold the listening socket, in the order of their numbers."""
        return list(self._pids)

    def server_failure(self) -> str | None:
        """None: what becomes of a server that is not ours shows in the outcomes."""
        return None

    def remark(self) -> str | None:
        """What happened to the server since the beginning, if anything did."""
        try:
            now = server_processes(self._spec.address, self._spec.port)
        except TestbedError as error:
            return f"at the end of the run {error}"
        return None if set(now) & set(self._pids) or not self._pids else "the server was started anew during the run"

    def describe(self) -> dict[str, object]:
        """What belongs beside the results."""
        return {
            "server": {
                "name": _command_of(self._pids),
                "version": None,
                "address": self._spec.address,
                "port": self._spec.port,
                "cpus": self._cpus,
                "processes": len(self._pids),
            },
            "network": {"prefix": self.prefix, "congestion": self._spec.congestion},
            "device": {
                "name": self._name,
                "mtu": self._spec.mtu,
                "queues": len(self._queues),
                "txqueuelen": queue_length(self._spec.clients),
                "rps_cpus": self._rps,
                "offloads": linux.OFFLOADS,
            },
            "sysctl": self._settings,
            "emulator_cpus": list(self._spec.placement.emulator),
            "user_namespace": False,
            "labels": list(self._labels),
            "machine": machine.describe(),
        }

    def close(self) -> None:
        """Takes the device away, and with it its settings and the route; does nothing the second time."""
        while self._queues:
            os.close(self._queues.pop())

    def _connect(self) -> str:
        """Brings the device up and routes a free prefix to it, which is returned."""
        silence = Path(f"/proc/sys/net/ipv6/conf/{self._name}/disable_ipv6")
        if silence.exists():
            silence.write_text("1")
        index = socket.if_nametoindex(self._name)
        taken = routed(Path("/proc/net/route").read_text(encoding="ascii"))
        # The source of what programs here send into the emulated network, which knows this address alone.
        server = ipaddress.IPv4Address(self._spec.address)
        with Netlink() as netlink:
            try:
                netlink.set_link(index, mtu=self._spec.mtu, queue_length=queue_length(self._spec.clients), up=True)
            except NetlinkError as error:
                raise TestbedError(f"the device {self._name} cannot be set up: {error.strerror}") from None
            for prefix in free(self._spec.prefixes, taken):
                try:
                    netlink.add_route(index, prefix, server, self._spec.congestion, forget=True)
                    return str(prefix)
                except NetlinkError as error:
                    if error.errno == errno.EEXIST:
                        continue  # another run was faster
                    message = (
                        f"the kernel refuses {self._spec.congestion!r} for the route to {prefix}: {error.strerror}"
                    )
                    raise TestbedError.at("server.congestion", message) from None
        if len(self._spec.prefixes) == 1:
            message = f"{self._spec.prefixes[0]}: addresses of it are routed somewhere already; another would be valid"
            raise CannotDoIt.at("network.prefix", message)
        raise CannotDoIt(
            f"every prefix for the clients ({', '.join(self._spec.prefixes)}) is routed somewhere already; at most "
            f"{len(self._spec.prefixes)} runs at once would be valid"
        )

    def _steer(self) -> str | None:
        """Has packets received on the CPUs of the server, the emulator's left out where others remain (RPS)."""
        wanted = set(self._cpus) - set(self._spec.placement.emulator) or set(self._cpus)
        queues = Path(f"/sys/class/net/{self._name}/queues")
        try:
            for queue in queues.glob("rx-*"):
                (queue / "rps_cpus").write_text(cpus.mask(wanted))
            return (queues / "rx-0/rps_cpus").read_text().strip()
        except OSError as error:
            self._labels.append(f"rps not set ({error.strerror}): the server's receive work is on the emulator's CPU")
            return None


def server_processes(address: str, port: int) -> list[int]:
    """The processes that listen on an address and port of this machine; empty if they cannot be seen.

    Raises:
        TestbedError: nothing listens there.
    """
    packed = ipaddress.ip_address(address).packed
    found = [listener for listener in listeners.read() if listener.takes(packed, port)]
    if not found:
        raise TestbedError.at("server.url", f"nothing listens on {address}:{port}")
    # A socket bound to the address itself goes before one that is bound to any.
    own = [listener for listener in found if any(listener.address)] or found
    return holders(own)


def holders(sockets: Iterable[Listener]) -> list[int]:
    """The processes that have one of these sockets open, as far as this one may look."""
    links = {f"socket:[{listener.inode}]" for listener in sockets}
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            descriptors = os.listdir(f"/proc/{entry}/fd")
        except OSError:
            continue
        if any(_link(f"/proc/{entry}/fd/{descriptor}") in links for descriptor in descriptors):
            found.append(int(entry))
    return sorted(found)


Thread = tuple[int, int]
"""The number of a process, and that of its thread."""


def thread_times(pids: Iterable[int]) -> dict[Thread, int]:
    """The CPU time (in clock ticks) of each thread of some processes, by process and thread."""
    found = {}
    for pid in pids:
        for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
            try:
                # The name in parentheses may hold anything; user and system time are the 12th and 13th field after it.
                fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            found[pid, int(stat.parent.name)] = int(fields[11]) + int(fields[12])
    return found


def part_of_busiest(before: Mapping[Thread, int], now: Mapping[Thread, int]) -> float | None:
    """The part of the CPU time of all threads between two readings that the busiest used; None if there was none."""
    used = [ticks - before.get(thread, 0) for thread, ticks in now.items()]
    return max(used) / sum(used) if sum(used) > 0 else None


def routed(table: str) -> list[ipaddress.IPv4Network]:
    """The networks in the text of /proc/net/route, default routes left out; lines of another form are, too."""
    found = []
    for line in table.splitlines()[1:]:
        columns = line.split()
        try:
            # The kernel prints both as numbers in the machine's own byte order.
            network, mask = (struct.pack("=I", int(columns[at], 16)) for at in (1, 7))
            length = int.from_bytes(mask, "big").bit_count()
            if length:
                found.append(ipaddress.IPv4Network((network, length), strict=False))
        except (IndexError, ValueError, struct.error):
            continue
    return found


def free(prefixes: Sequence[str], taken: Sequence[ipaddress.IPv4Network]) -> list[Network]:
    """The prefixes that overlap nothing taken."""
    networks = [ipaddress.IPv4Network(prefix) for prefix in prefixes]
    return [network for network in networks if not any(network.overlaps(other) for other in taken)]


def is_local(address: str) -> bool:
    """Whether an IPv4 address is one of this machine's."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


def affinity(pid: int) -> set[int]:
    """The CPUs on which a process may run; empty if it has ended."""
    try:
        return os.sched_getaffinity(pid)
    except OSError:
        return set()


def open_device(queues: int = 1) -> tuple[list[int], str]:
    """A device in the current network namespace: its queues and its name.

    Raises:
        CannotDoIt: this process may not make one.
    """
    try:
        return linux.open_tun("wasp%d", queues)
    except PermissionError:
        raise CannotDoIt(
            "a server that runs already is reached through a device in the machine's own network, which needs root; "
            "a server that wasp starts itself does not everywhere"
        ) from None
    except OSError as error:
        raise CannotDoIt(f"{linux.TUN_DEVICE} cannot be used: {error.strerror}{linux.advice(error.errno)}") from None


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address).is_loopback


def _link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None


def _command_of(pids: Sequence[int]) -> str | None:
    try:
        return Path(f"/proc/{pids[0]}/comm").read_text(encoding="utf-8", errors="replace").strip() if pids else None
    except OSError:
        return None
