"""Keeping this process out of the way of what it measures."""

import contextlib
import os
from collections.abc import Iterator

from waspbench.testbed import linux
from waspbench.testbed.cpus import Placement

NICENESS = 10


@contextlib.contextmanager
def aside(placement: Placement) -> Iterator[None]:
    """The calling thread, and no other, on CPUs that neither server nor emulator has, if there are any, and niced.

    What cannot be taken back is not done: only who may raise a priority lowers it.
    """
    cpus = os.sched_getaffinity(0)
    free = cpus - set(placement.server) - set(placement.emulator)
    before = os.getpriority(os.PRIO_PROCESS, 0)
    nice = linux.has_capability(linux.CAP_SYS_NICE)
    if free:
        os.sched_setaffinity(0, free)
    if nice:
        os.setpriority(os.PRIO_PROCESS, 0, max(before, NICENESS))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, cpus)
            if nice:
                os.setpriority(os.PRIO_PROCESS, 0, before)
