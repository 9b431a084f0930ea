"""The machine's packet backlog, long enough for a live run while that lasts.

Where receive work is steered (RPS), each frame that the emulator writes waits in the backlog of one of the server's
CPUs, and is dropped if that is full. How long it may be is a setting of the machine: no network namespace has its own,
or sees it.
"""

import contextlib
import os
import select
import subprocess
from collections.abc import Iterator
from pathlib import Path

from waspbench.testbed import process
from waspbench.testbed.errors import CannotDoIt

SETTING = Path("/proc/sys/net/core/netdev_max_backlog")

LONG_ENOUGH = 10_000
"""Frames that may wait for a CPU: 20 ms of 500,000 a second, which is more than an emulator's thread writes, and longer
than other work of the kernel holds a CPU up. (The kernel's own 1,000 are full after some 10 ms of 50,000 requests a
second.) Frames are no longer than the MTU, so that a full backlog has some 20 MB."""

_JOURNAL = Path("/run/wasp-netdev_max_backlog")
_ANSWER_TIMEOUT = 5.0


@contextlib.contextmanager
def long_backlog() -> Iterator[None]:
    """The backlog is `LONG_ENOUGH` for as long as this lasts, if this process may change it; nothing is done if not.

    Raises:
        CannotDoIt: no process can be started.
    """
    if not os.access(SETTING, os.W_OK):
        yield
        return
    with _keeper() as keeper:
        assert keeper.stdout is not None
        select.select([keeper.stdout], [], [], _ANSWER_TIMEOUT)  # its first word, or its end
        yield


def _keeper() -> subprocess.Popen[bytes]:
    """The process that keeps the backlog long until we end, which a pipe tells it, or wait for it."""
    try:
        return subprocess.Popen(
            [*process.LEASE, str(SETTING), str(LONG_ENOUGH), str(_JOURNAL)],
            env=process.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise CannotDoIt(f"the process that keeps the backlog long cannot be started: {error.strerror}") from None
