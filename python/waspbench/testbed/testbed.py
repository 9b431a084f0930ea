"""A server under test in a network of its own, whose other side is a TUN device in our hands; where the clients are
programs, a network of theirs with another such device, too.
"""

import contextlib
import ipaddress
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import BinaryIO

from waspbench.closeable import Closeable
from waspbench.testbed import backlog, files, kernel, machine, process
from waspbench.testbed.cpus import Placement, place
from waspbench.testbed.errors import CannotDoIt, TestbedError
from waspbench.testbed.program import Program, ProgramSpec
from waspbench.testbed.protocol import Channel, ClientPlan, Message, Plan
from waspbench.testbed.servers import Launch

_ANSWER_TIMEOUT = 10.0
_CLOSE_TIMEOUT = 3.0


@dataclass(frozen=True)
class TestbedSpec:
    """What a testbed is made of.

    The server's address must lie in `prefix`; every other address of it belongs to the clients.
    """

    __test__ = False

    server: Launch
    address: str = "198.18.0.1"
    port: int = 80
    prefix: str = "198.18.0.0/17"
    clients: int = 1
    """Connections at once: the device's queue is sized to them."""
    files: Sequence[tuple[str, int]] = ()
    """Path ("/1024") and size in bytes of every file to serve."""
    content: str = "random"
    directories: Mapping[str, tuple[Path, str]] = field(default_factory=dict)
    """Directories to serve, by the path of the server at which each is, with the field of the experiment that asks for
    it; an empty path is the top, in place of files.
    """
    placement: Placement = field(default_factory=lambda: place(None, None))
    congestion: str | None = "cubic"
    """Congestion control of the server's connections; None leaves the namespace's own."""
    sysctl: Mapping[str, str | int] = field(default_factory=dict)
    mtu: int = 1500
    device: str = "wasp0"
    ready_timeout: float = 15.0
    """Seconds until the server must listen."""
    programs: int = 0
    """Clients that are programs in a namespace of their own, whose addresses follow the server's; 0 if the clients are
    emulated.
    """

    @property
    def first_client(self) -> str:
        """The address of the first client: the one after the server's."""
        return str(ipaddress.IPv4Address(self.address) + 1)

    def start(self) -> "Testbed":
        """Builds the testbed. For the errors see `Testbed`."""
        return Testbed(self)

    def plan(self) -> Plan:
        """What the holder is told.

        Raises:
            TestbedError: names the field that cannot be, its value, and what would be valid.
        """
        self._check()
        return Plan(
            address=self.address,
            port=self.port,
            prefix=self.prefix,
            device=self.device,
            queues=max(1, len(self.placement.emulator)),
            mtu=self.mtu,
            queue_length=queue_length(self.clients),
            congestion=self.congestion,
            sysctl=dict(kernel.BENCH_DEFAULTS) | kernel.check(self.sysctl),
            server_cpus=list(self.placement.server),
            argv=list(self.server.argv),
            asked_by=self.server.asked_by,
            environment=dict(self.server.environment),
            private_files=dict(self.server.private_files),
            files=files.check(self.files),
            content=self.content,
            directories={path: (str(there.resolve()), asker) for path, (there, asker) in self.directories.items()},
            nofile=self.server.nofile,
            ready_timeout=self.ready_timeout,
            stop=list(self.server.stop),
            ordinary_user=self.server.ordinary_user and os.geteuid() != 0,
            access_log=self.server.access_log,
            clients=asdict(self._clients()) if self.programs else None,
        )

    def _clients(self) -> ClientPlan:
        """The namespace of programs: the kernel's defaults, but no connection teaches the next one."""
        return ClientPlan(
            device="wasp1",
            mtu=self.mtu,
            queue_length=queue_length(self.clients),
            first=self.first_client,
            count=self.programs,
            sysctl={"net.ipv4.tcp_no_metrics_save": "1"},
        )

    def _check(self) -> None:
        try:
            prefix = ipaddress.ip_network(self.prefix)
        except ValueError as error:
            raise TestbedError.at("prefix", f"{error}: '198.18.0.0/17' would be valid") from None
        try:
            address = ipaddress.ip_address(self.address)
        except ValueError as error:
            raise TestbedError.at("address", f"{error}: '198.18.0.1' would be valid") from None
        if address not in prefix:
            raise TestbedError.at("address", f"{self.address} is not in {self.prefix}: an address of it would be valid")
        for name, value, low, high in (
            ("port", self.port, 1, 65535),
            ("mtu", self.mtu, 68, 65535),
            ("clients", self.clients, 1, 1 << 24),
            ("programs", self.programs, 0, prefix.num_addresses - 3),
        ):
            if not low <= value <= high:
                raise TestbedError.at(name, f"{value} is out of range: {low} to {high} would be valid")
        if not (0 < len(self.device.encode()) <= 15) or {"/", " ", "%", ":"} & set(self.device):
            message = f"{self.device!r} cannot name a device: 1 to 15 letters and digits would be valid"
            raise TestbedError.at("device", message)
        if self.content not in files.CONTENTS:
            files.content(0, self.content)


def queue_length(clients: int) -> int:
    """The device's queue (packets) for so many connections: TUN drops what does not fit, and only a counter tells.

    Frames wait there while the emulator does not read. It does not write then either, so that two things alone bring
    more: each frame that waits in the server's backlog may release one; and each connection sends what its window has
    room for, which is a handful of super-segments or, where the kernel paces it small, a few more. How long they are
    (64 KiB at most) does not count here: their bytes belong to the sockets, whose buffers bound them. The limit is
    below what the kernel can allocate for a TUN device: 4 MiB of pointers.
    """
    return min(backlog.LONG_ENOUGH + 32 * clients, 1 << 18)


class Testbed(Closeable):
    """A running testbed. Use it as a context manager, or call `close`.

    Make it from a thread that lives as long as it does (the main thread): the kernel kills the holder when the thread
    that started it ends. One thread at a time may call its methods.
    """

    __test__ = False

    def __init__(self, spec: TestbedSpec) -> None:
        """Builds the testbed and returns when its server listens.

        Raises:
            CannotDoIt: this machine cannot do what is asked.
            TestbedError: something is wrong with what is asked, or failed.
        """
        plan = spec.plan()
        self._spec = spec
        self._ended: str | None = None
        self._setup: Message = {}
        self._queues: list[int] = []
        self._clients: list[int] = []
        self._logs: list[int] = []
        self._programs: list[Program] = []
        ours, theirs = socket.socketpair()
        self._channel = Channel(ours)
        self._output = os.memfd_create("wasp-holder")
        try:
            with theirs:
                self._holder = subprocess.Popen(
                    [*process.HOLDER, str(theirs.fileno()), str(os.getpid())],
                    env=process.environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=self._output,
                    stderr=self._output,
                    pass_fds=[theirs.fileno()],
                    # Ctrl-C at the terminal is the parent's business: it closes the testbed when it is done with it.
                    start_new_session=True,
                )
        except OSError as error:
            ours.close()
            os.close(self._output)
            raise CannotDoIt(f"the testbed's process cannot be started: {error.strerror}") from None
        try:
            self._start(plan)
        except BaseException:
            self._destroy()
            raise

    @property
    def device_fds(self) -> list[int]:
        """The TUN device's descriptors, one a queue. The testbed closes them; whoever outlives it duplicates them."""
        return list(self._queues)

    @property
    def device_name(self) -> str:
        """The TUN device's name in its namespace."""
        return self._spec.device

    @property
    def client_device(self) -> tuple[int, str] | None:
        """The descriptor of the clients' device and its name, where they are programs. The testbed closes it."""
        return (self._clients[0], self._setup["clients"]["device"]) if self._clients else None

    def client_namespace(self) -> int | None:
        """A process in the network namespace of programs, as this process numbers it, where there is one."""
        return next(iter(self._inside(clients=True)), None) if self._clients else None

    def start_program(self, spec: ProgramSpec) -> Program:
        """Starts a program among the clients."""
        program = Program(len(self._programs))
        self._programs.append(program)
        plan = spec.plan(program.number)
        self._channel.send({"request": "start", "program": asdict(plan)}, program.descriptors)
        return program

    def await_program(self, program: Program, timeout: float) -> bool:
        """Waits until a program has ended; False if it has not within so many seconds, or the testbed is gone."""
        deadline = time.monotonic() + timeout
        while program.status is None and self._ended is None and time.monotonic() < deadline:
            self._listen(min(deadline, time.monotonic() + 0.1))
        return program.status is not None

    def access_log(self) -> BinaryIO | None:
        """The server's access log, if it writes one, to be read. Who asks for it closes it: it outlives the testbed."""
        return os.fdopen(os.dup(self._logs[0]), "rb") if self._logs else None

    def namespace(self) -> int:
        """A process in the network namespace of the server and the device, as this process numbers it."""
        return process.descendants(self._holder.pid, process.parents())[0]

    @property
    def prefix(self) -> str:
        """The network of the clients."""
        return self._spec.prefix

    def clock(self) -> dict[str, str]:
        """Nothing: a kernel without memory of earlier runs does not care what the clients' clocks show."""
        return {}

    @property
    def server_cpus(self) -> list[int]:
        """The CPUs that are the server's alone."""
        return list(self._spec.placement.server)

    def remark(self) -> str | None:
        """None: how a server of its own ended is `server_failure`."""
        return None

    def server_pids(self) -> list[int]:
        """The server's processes, as this process numbers them, the first started first; empty when it has ended."""
        return self._inside(clients=False)[1:]  # the first is the namespace's own process 1

    def _inside(self, *, clients: bool) -> list[int]:
        """The processes below the guard in the network namespace of clients, or in the server's."""
        inside = process.descendants(self._holder.pid, process.parents())
        if not self._clients:
            return [] if clients else inside
        own = process.network_of(inside[0]) if inside else None
        return [pid for pid in inside if (process.network_of(pid) not in (own, None)) is clients]

    def server_failure(self) -> str | None:
        """How the server ended, when it has: the run is worth nothing then."""
        if self._ended is None:
            self._listen(time.monotonic())
        return self._ended

    def describe(self) -> dict[str, object]:
        """What belongs beside the results: server and its configuration, device, settings, CPUs, labels, machine."""
        labels = [*self._spec.placement.labels, *self._setup["labels"]]
        return {
            "server": self._spec.server.describe()
            | {"address": self._spec.address, "port": self._spec.port, "cpus": list(self._spec.placement.server)},
            "network": {"prefix": self._spec.prefix, "congestion": self._setup["congestion"]},
            "device": self._setup["device"],
            "sysctl": self._setup["sysctl"],
            "emulator_cpus": list(self._spec.placement.emulator),
            **({"clients": self._setup["clients"]} if self._clients else {}),
            "user_namespace": os.geteuid() != 0,
            "labels": labels,
            "machine": machine.describe(),
        }

    def close(self) -> None:
        """Ends the server and takes everything away; does nothing the second time."""
        if not self._queues:
            return
        try:
            self._channel.send({"request": "close"})
            self._listen(time.monotonic() + _CLOSE_TIMEOUT)  # until the holder hangs up
        except OSError:
            pass
        finally:
            self._destroy()

    def _start(self, plan: Plan) -> None:
        with contextlib.suppress(OSError):  # it gave up before it read: what it says of that comes next
            self._channel.send(vars(plan))
        message = self._next(time.monotonic() + plan.ready_timeout + _ANSWER_TIMEOUT)
        if message is None:
            raise TestbedError(self._holder_ending())
        if "error" in message:
            kind = CannotDoIt if message["cannot"] else TestbedError
            raise kind(message["error"], message["field"], message["advice"])
        self._setup = message["ready"]
        self._queues = self._channel.descriptors[: plan.queues]
        programs = plan.queues + (plan.clients is not None)
        self._clients = self._channel.descriptors[plan.queues : programs]
        self._logs = self._channel.descriptors[programs:]
        self._channel.descriptors.clear()

    def _next(self, deadline: float) -> Message | None:
        try:
            return self._channel.receive(deadline)
        except TimeoutError:
            raise TestbedError("the testbed's process does not answer") from None

    def _listen(self, deadline: float) -> None:
        """Takes in what the holder says unasked, until the deadline or until it is gone."""
        try:
            while (message := self._channel.receive(deadline)) is not None:
                if (number := message.get("program_ended")) is not None:
                    self._programs[number].status = message["status"]
                self._ended = message.get("server_ended") or message.get("error") or self._ended
        except TimeoutError:
            return
        self._ended = self._ended or self._holder_ending()

    def _holder_ending(self) -> str:
        try:
            status = self._holder.wait(1)
        except subprocess.TimeoutExpired:
            return "the testbed's process hung up"
        said = os.pread(self._output, 1 << 16, 0).decode(errors="replace").strip().splitlines()
        if status == -signal.SIGKILL and not said:
            return "the testbed's process was killed (it also is when the thread that made it ends)"
        return f"the testbed's process ended with status {status}" + (f": {said[-1]}" if said else "")

    def _destroy(self) -> None:
        """Closes every descriptor and waits until the holder, and with it all that is inside, is gone."""
        self._channel.socket.close()
        for descriptors in (self._queues, self._clients, self._logs, self._channel.descriptors):
            while descriptors:
                os.close(descriptors.pop())
        while self._programs:
            self._programs.pop().close()
        try:
            self._holder.wait(_CLOSE_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._holder.kill()
            self._holder.wait()
        os.close(self._output)
