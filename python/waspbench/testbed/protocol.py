"""What the holder process and its parent say to each other: JSON lines over a socket pair, descriptors beside them.

Parent to holder: first a `Plan`; then, where the clients are programs, `{"request": "start", "program": ...}` with a
`ProgramPlan` and the descriptors of its standard output and error; at the end `{"request": "close"}`. Holder to parent:
`{"ready": {...}}` with a TUN descriptor for each queue, then that of the clients' device and one of the access log, if
there are such, or `{"error": text, "field": name, "advice": text, "cannot": bool}`, whose field is null where the error
is about none; and at any time `{"server_ended": text}` and `{"program_ended": number, "status": status}`.
"""

import json
import select
import socket
import time
from dataclasses import dataclass, field
from typing import Any

PRIVATE = "/dev/shm"
"""Where the server's namespace has a memory file system of its own. It hides only the shared memory of others."""

DOCUMENT_ROOT = PRIVATE + "/www"
"""The directory of the files to serve, as the server sees it."""

MAX_QUEUES = 64
"""Queues of a device: their descriptors cross the socket at once, and at most two beside them."""

SERVER_LOG = PRIVATE + "/server.log"
"""Where the server's standard output and error go, as the server sees it."""

ACCESS_LOG = PRIVATE + "/access.log"
"""Where a server that is asked to logs each request, as the server sees it."""


NOT_STARTED = 127
"""The status of a program that could not be started, as shells have it; why is on its standard error."""


@dataclass(frozen=True)
class ClientPlan:
    """The namespace of clients that are programs."""

    device: str
    mtu: int
    queue_length: int
    first: str
    """The first client's address; those that follow have the next ones."""
    count: int
    sysctl: dict[str, str]


@dataclass(frozen=True)
class ProgramPlan:
    """A program to start there."""

    number: int
    """What the parent calls it by."""
    argv: list[str]
    environment: dict[str, str]
    cpus: list[int]
    niceness: int
    nofile: int
    """Descriptors that it may need."""


@dataclass(frozen=True)
class Plan:
    """All that the holder needs to know. Plain values, so that it crosses the socket as JSON."""

    address: str
    port: int
    prefix: str
    device: str
    queues: int
    """Queues of the device: each is a descriptor for the parent."""
    mtu: int
    queue_length: int
    congestion: str | None
    sysctl: dict[str, str]
    server_cpus: list[int]
    argv: list[str]
    asked_by: str
    """The field of the experiment that asks for the server."""
    environment: dict[str, str]
    private_files: dict[str, str]
    """Text files to write before the server starts, by path below `PRIVATE`."""
    files: list[tuple[str, int]]
    """Files to serve: path ("/1024") and size in bytes."""
    content: str
    directories: dict[str, tuple[str, str]]
    """Directories to serve, by the path of the server at which each is, with the field of the experiment that asks for
    it; an empty path is the top, in place of files.
    """
    nofile: int
    """Descriptors that the server may need."""
    ready_timeout: float
    """Seconds until the server must listen."""
    stop: list[str]
    """Command that ends the server; SIGTERM unless there is one."""
    ordinary_user: bool
    """Whether the server must not see itself as root in a user namespace."""
    access_log: bool
    """Whether the server logs to `ACCESS_LOG`, which the parent wants to read."""
    clients: dict[str, Any] | None
    """A `ClientPlan`, where the clients are programs."""


Message = dict[str, Any]


@dataclass
class Channel:
    """One end of the socket pair."""

    socket: socket.socket
    descriptors: list[int] = field(default_factory=list)
    _buffer: bytearray = field(default_factory=bytearray)

    def send(self, message: Message, descriptors: tuple[int, ...] = ()) -> None:
        """Sends one message.

        Raises:
            OSError: the other end is gone.
        """
        data = json.dumps(message).encode() + b"\n"
        sent = socket.send_fds(self.socket, [data], list(descriptors)) if descriptors else 0
        self.socket.sendall(data[sent:])

    def fill(self) -> bool:
        """Reads what has arrived (waits when nothing has); False when the other end is gone."""
        try:
            data, descriptors, _, _ = socket.recv_fds(self.socket, 1 << 16, MAX_QUEUES + 2, socket.MSG_CMSG_CLOEXEC)
        except ConnectionResetError:
            return False
        self.descriptors.extend(descriptors)
        self._buffer += data
        return bool(data)

    def take(self) -> Message | None:
        """The next whole message that was read, if any."""
        line, newline, rest = self._buffer.partition(b"\n")
        if not newline:
            return None
        self._buffer = rest
        message: Message = json.loads(line)
        return message

    def receive(self, deadline: float) -> Message | None:
        """The next message; None when the other end is gone.

        Raises:
            TimeoutError: `deadline` (of `time.monotonic()`) passed first.
        """
        while (message := self.take()) is None:
            poll = select.poll()
            poll.register(self.socket, select.POLLIN)
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise TimeoutError
            if not self.fill():
                return None
        return message
