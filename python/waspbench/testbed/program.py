"""A program among the clients: how it is started, and what comes of it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from waspbench.closeable import Closeable
from waspbench.testbed.affinity import NICENESS
from waspbench.testbed.protocol import ProgramPlan


@dataclass(frozen=True)
class ProgramSpec:
    """A command, and where it runs."""

    argv: Sequence[str]
    cpus: Sequence[int]
    """The server's are to be kept free of it; the emulator, which shares these, goes before it."""
    environment: Mapping[str, str] = field(default_factory=dict)
    nofile: int = 1024
    """Descriptors that it may need."""
    niceness: int = NICENESS

    def plan(self, number: int) -> ProgramPlan:
        """What the holder is told."""
        return ProgramPlan(number, list(self.argv), dict(self.environment), list(self.cpus), self.niceness, self.nofile)


class Program(Closeable):
    """A program that was started. What it wrote is kept in memory until it is closed, which its testbed does."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.status: int | None = None
        """How it ended, as `subprocess` numbers it; None before."""
        self.descriptors: tuple[int, ...] = (os.memfd_create("wasp-output"), os.memfd_create("wasp-errors"))

    def output(self) -> bytes:
        """What is on its standard output so far."""
        return _all(self.descriptors[0])

    def errors(self) -> str:
        """What is on its standard error so far."""
        return _all(self.descriptors[1]).decode(errors="replace").strip()

    def close(self) -> None:
        """Forgets what it wrote; does nothing the second time."""
        descriptors, self.descriptors = self.descriptors, ()
        for descriptor in descriptors:
            os.close(descriptor)


def _all(descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return os.pread(file.fileno(), size, 0)
