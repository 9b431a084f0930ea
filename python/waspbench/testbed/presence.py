"""Whether other live runs share this machine.

Each live run is present as a socket with an abstract name, which ends with its process and has no name on disk. A run
that begins looks who is there and tells them: so both of two runs know, whichever began or ended first.
"""

import contextlib
import os
import socket
from pathlib import Path

from waspbench.closeable import Closeable

PREFIX = "wasp-live-"


class Presence(Closeable):
    """This run's presence. Use it as a context manager, or call `close`."""

    _number = 0

    def __init__(self) -> None:
        Presence._number += 1
        self._name = f"{PREFIX}{os.getpid()}-{Presence._number}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(f"\0{self._name}")
        self._met = False
        for other in present(_text()) - {self._name}:
            self._met = True
            try:
                self._socket.sendto(b"here", f"\0{other}")
            except OSError:
                continue  # it has just ended, or has been told often enough

    def met(self) -> bool:
        """Whether another run was there at any time since this one began."""
        with contextlib.suppress(BlockingIOError):
            self._met = bool(self._socket.recv(16)) or self._met
        return self._met

    def close(self) -> None:
        """Is present no longer."""
        self._socket.close()


def present(table: str) -> set[str]:
    """The names of the live runs that /proc/net/unix (as text) shows."""
    names = (line.split()[-1] for line in table.splitlines() if line.strip())
    return {name[1:] for name in names if name.startswith(f"@{PREFIX}")}


def _text() -> str:
    try:
        return Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
