"""Where runs are made: in this process one after the other (live runs, whose CPUs are placed), or in processes of
their own side by side (simulated runs, which disturb nothing). Whoever makes runs asks an `Executor` for them.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import time
from abc import abstractmethod
from contextlib import suppress
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait

from waspbench import _core
from waspbench.closeable import Closeable
from waspbench.errors import CannotRunError, RunFailedError
from waspbench.runner import worker as program
from waspbench.runner.job import Done, Job, Making
from waspbench.testbed import Spec

GRACE = 60.0
"""Seconds past its time limit, or after it was stopped, after which a worker that does not answer is killed."""

PATIENCE = 20
"""Seconds for which a worker may pause in the middle of an answer, or take to die."""


class Executor(Closeable):
    """Takes jobs and gives back what became of them, errors included. A context manager: leaving it gives up what still
    runs.
    """

    sample: _core.Sample | None = None
    """The last second of the run that is made in this process, as of the last `advance`."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many jobs it does at the same time."""

    @property
    @abstractmethod
    def room(self) -> int:
        """How many more jobs it takes now."""

    @property
    @abstractmethod
    def busy(self) -> bool:
        """Whether it has a job that was not collected."""

    @abstractmethod
    def submit(self, job: Job, spec: Spec | None = None) -> None:
        """Begins a job; only when there is room.

        Raises:
            CannotRunError: this machine cannot make it anywhere.
        """

    @abstractmethod
    def advance(self, timeout: float) -> None:
        """Goes on until there is something to collect, perhaps, or for ``timeout`` seconds at most."""

    @abstractmethod
    def collect(self) -> list[Done]:
        """Jobs that came to an end and were not collected before. It does not wait."""

    @abstractmethod
    def stop(self) -> None:
        """Ends what runs as soon as possible. Go on with it, and collect it: what it measured by then is kept."""

    @abstractmethod
    def close(self) -> None:
        """Ends what still runs; nothing of it is kept."""


class Here(Executor):
    """Runs in this process, one after the other: nothing of them happens but in `advance`."""

    def __init__(self) -> None:
        self._making: Making | None = None

    @property
    def width(self) -> int:
        """One."""
        return 1

    @property
    def room(self) -> int:
        """One at a time."""
        return 0 if self.busy else 1

    @property
    def busy(self) -> bool:
        """Whether there is a run."""
        return self._making is not None

    def submit(self, job: Job, spec: Spec | None = None) -> None:
        """Keeps the job until `advance`."""
        self._making = Making(job, spec)

    def advance(self, timeout: float) -> None:
        """Goes on with the run for at most ``timeout`` seconds."""
        making = self._making
        # An interrupt may have come when the job was done.
        self.sample = making.step(timeout) if making is not None and making.done is None else None

    def collect(self) -> list[Done]:
        """The run, if it has come to its end."""
        making = self._making
        if making is None or making.done is None:
            return []
        self._making = None
        return [making.done]

    def stop(self) -> None:
        """Ends the run, whose figures are kept."""
        if self._making is not None:
            self._making.stop()

    def close(self) -> None:
        """Gives up what is not finished."""
        making, self._making = self._making, None
        if making is not None:
            making.close()


class Processes(Executor):
    """Simulated runs in ``count`` processes, which end when this one does, however it ends."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._workers: list[_Worker] = []
        self._begun = False

    @property
    def width(self) -> int:
        """The number of processes."""
        return self._count

    @property
    def room(self) -> int:
        """Workers without a job, those not started yet included."""
        return self._count - len(self._busy)

    @property
    def busy(self) -> bool:
        """Whether a worker has a job."""
        return bool(self._busy)

    def submit(self, job: Job, spec: Spec | None = None) -> None:
        """Gives the job to a worker that has none; starts one if there is none."""
        if spec is not None:
            raise ValueError("a live run is made in the process that placed it")
        for dead in [worker for worker in self._workers if worker.job is None and worker.process.poll() is not None]:
            dead.close()
            self._workers.remove(dead)
        idle = next((worker for worker in self._workers if worker.job is None), None)
        if idle is None:
            idle = self._started()
        idle.begin(job)

    def advance(self, timeout: float) -> None:
        """Waits until a worker sends something or dies, or for ``timeout`` seconds at most."""
        if self.busy:
            wait([worker.pipe for worker in self._busy], timeout)

    def collect(self) -> list[Done]:
        """What workers sent, and the jobs of those that died or had to be killed, as failures."""
        found = []
        for worker in self._busy:
            done = worker.answer()
            self._begun = self._begun or worker.ready
            if done is not None:
                # Where no process can even begin, none could in any run.
                hopeless = not self._begun and worker.ended and worker.process.returncode >= 0
                found.append(replace(done, fatal=done.fatal or hopeless))
        self._workers = [worker for worker in self._workers if not worker.ended]
        return found

    def stop(self) -> None:
        """Ends all runs, whose figures are kept."""
        for worker in self._busy:
            worker.stop()

    def close(self) -> None:
        """Ends all workers."""
        for each in self._workers:
            each.process.kill()  # before one is waited for
        for each in self._workers:
            each.close()
        self._workers.clear()

    def _started(self) -> _Worker:
        try:
            worker = _Worker()
        except OSError as error:
            why = f"no process can be started for a run beside {len(self._workers)} others: {error.strerror}"
            raise CannotRunError(f"{why}; fewer runs side by side (jobs) need fewer, and 1 needs none") from None
        self._workers.append(worker)
        return worker

    @property
    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.job is not None]


class _Worker(Closeable):
    """A process that makes runs, and the job that it has."""

    def __init__(self) -> None:
        """Starts it. Raises OSError if the system has no room for it."""
        self.job: Job | None = None
        self.ready = self.ended = False
        self._stopped = False
        self._began = self._deadline = 0.0
        self.pipe, theirs = Pipe()
        try:
            with theirs:
                self.process = program.start(theirs)
            _limit(self.pipe)
        except OSError:
            self.pipe.close()
            raise

    def begin(self, job: Job) -> None:
        """Lets it make a run."""
        self.job, self._stopped = job, False
        self._began = time.monotonic()
        self._deadline = self._began + job.time_limit + GRACE
        self._send(job)

    def stop(self) -> None:
        """Ends the run as soon as possible."""
        self._stopped = True
        self._deadline = min(self._deadline, time.monotonic() + GRACE)
        self._send(program.STOP)

    def answer(self) -> Done | None:
        """What became of its job, if that is known: also where the process has died, or is killed because its time is
        over.
        """
        try:
            if self.pipe.poll():
                return self._taken(self.pipe.recv())
        except (EOFError, OSError):
            return self._lost(self._why_it_ended())
        if time.monotonic() > self._deadline:
            return self._lost(f"the run was killed: it did not end within {GRACE:.0f} s of its time")
        return None

    def close(self) -> None:
        """Ends it."""
        self.process.kill()
        self.process.wait()
        self.pipe.close()
        self.ended = True

    def _send(self, message: object) -> None:
        with suppress(OSError):  # `answer` finds that it has died
            self.pipe.send(message)

    def _taken(self, message: Done | None) -> Done | None:
        if message is program.READY:
            self.ready = True
        else:
            self.job = None
        return message

    def _why_it_ended(self) -> str:
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return "the process of the run stopped in the middle of its answer, and was killed"
        if status >= 0:
            return f"the process of the run failed (exit status {status}); it said why on standard error"
        name = signal.Signals(-status).name
        memory = "; did the machine run out of memory? Fewer runs side by side (jobs) need less"
        return f"the process of the run was ended by {name}{memory if name == 'SIGKILL' else ''}"

    def _lost(self, why: str) -> Done:
        """The end of its job, and its own."""
        job, self.job = self.job, None
        assert job is not None
        self.close()
        return Done(job, time.monotonic() - self._began, error=RunFailedError(why), stopped=self._stopped)


def _limit(pipe: Connection) -> None:
    """Lets `recv` fail (OSError) when the other end does not go on with a message."""
    with socket.socket(fileno=os.dup(pipe.fileno())) as end:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", PATIENCE, 0))


def executor_for(count: int) -> Executor:
    """What makes ``count`` simulated runs at the same time, or live ones one after the other."""
    return Here() if count < 2 else Processes(count)
