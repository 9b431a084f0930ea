"""A process that makes simulated runs for another.

Through one end of a pipe it sends `READY`, gets a job at a time, and sends back what became of it; `STOP` meanwhile
ends the run before its time. It ends when the pipe closes.

It is a program of its own, and not a function that `multiprocessing` calls: that would execute the script of a user
that asks for runs once more in each process.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path

from waspbench.interrupts import SIGNALS
from waspbench.runner.job import Done, Job, Making
from waspbench.testbed.linux import die_with_parent

READY = None
"""The first word of a worker."""

STOP = None
"""What ends the run that is being made. Where none is, it came too late, and says nothing."""

_STEP = 0.1
"""Seconds after which it looks whether it is to stop."""

_PROGRAM = """\
import sys
sys.path.insert(0, sys.argv[1])
import waspbench
sys.path[:] = sys.argv[3:]
from waspbench.runner.worker import main
main(int(sys.argv[2]))
"""
"""It has the package of the process that starts it, and finds all else where that one does: also where a script has
changed the path, which then has nothing to do with what the environment says.
"""

_ONE_CPU = {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""There are as many workers as CPUs; a thread for each CPU in each of them would be too many."""


def start(pipe: Connection) -> subprocess.Popen[bytes]:
    """Starts one at this end of a pipe.

    Raises:
        OSError: the system has no room for it.
    """
    if not sys.executable:
        raise OSError(errno.ENOENT, "the program of this Python is not known (sys.executable)")
    package = str(Path(__file__).parents[2])
    path = [entry for entry in sys.path if isinstance(entry, str)]
    # -P: a file in the current directory must not be taken for a module.
    command = [sys.executable, "-P", "-c", _PROGRAM, package, str(pipe.fileno()), *path]
    with _blocked():
        return subprocess.Popen(
            command,
            env=_ONE_CPU | os.environ,
            pass_fds=[pipe.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )


@contextmanager
def _blocked() -> Iterator[None]:
    """Keeps interrupts from a process that is started meanwhile, until it has said what it does with them: Ctrl-C and
    the end of a session or service reach all processes at once, and are for the one that waits.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def work(pipe: Connection) -> None:
    """Makes the runs that come through the pipe. Raises SystemExit when it closes."""
    _send(pipe, READY)
    while True:
        job = _received(pipe)
        if job is not STOP:
            _send(pipe, _made(job, pipe))


def _made(job: Job, pipe: Connection) -> Done:
    with Making(job) as making:
        while making.done is None:
            if pipe.poll():
                assert _received(pipe) is STOP, "one job at a time"
                making.stop()
            making.step(_STEP)
        return making.done


def _received(pipe: Connection) -> Job | None:
    try:
        message: Job | None = pipe.recv()
    except (EOFError, OSError):
        raise SystemExit from None
    return message


def _send(pipe: Connection, message: Done | None) -> None:
    with suppress(OSError):  # what is received next tells that the pipe has closed
        pipe.send(message)


def main(descriptor: int) -> None:
    """Works for the process at the other end of a pipe, and ends with it."""
    die_with_parent()
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    with Connection(descriptor) as pipe:
        work(pipe)
