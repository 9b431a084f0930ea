"""Where runs are made: in this process one after the other (live runs, whose CPUs are placed), or in processes of
their own side by side (simulated runs, which disturb nothing).
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import time
from abc import abstractmethod
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from waspbench import _core
from waspbench.closing import Closing
from waspbench.errors import RunFailedError, WaspError
from waspbench.runner.job import Done, Job, Making, make
from waspbench.testbed import Spec

GRACE = 60.0
"""Seconds past its time limit after which a worker that does not answer is killed."""

_PR_SET_PDEATHSIG = 1


class Executor(Closing):
    """Takes jobs and gives back what became of them. A context manager: leaving it gives up what still runs."""

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
        """Begins a job; only when there is room."""

    @abstractmethod
    def advance(self, timeout: float) -> None:
        """Goes on until a job comes to an end, or for ``timeout`` seconds at most."""

    @abstractmethod
    def collect(self) -> list[Done]:
        """Jobs that came to an end and were not collected before. It does not wait."""

    @abstractmethod
    def stop(self) -> None:
        """Ends what runs as soon as possible. A run of this process is to be gone on with, and has what it measured."""

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


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    job: Job | None = None
    deadline: float = 0.0


class Processes(Executor):
    """Simulated runs in ``count`` processes, which end when this one does, however it ends."""

    def __init__(self, count: int) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._count = count
        self._workers: list[_Worker] = []

    @property
    def width(self) -> int:
        """The number of processes."""
        return self._count

    @property
    def busy(self) -> bool:
        """Whether a worker has a job."""
        return any(worker.job is not None for worker in self._workers)

    @property
    def room(self) -> int:
        """Workers without a job, those not started yet included."""
        return self._count - sum(worker.job is not None for worker in self._workers)

    def submit(self, job: Job, spec: Spec | None = None) -> None:
        """Gives the job to a worker that has none."""
        if spec is not None:
            raise ValueError("a live run is made in the process that placed it")
        worker = next((worker for worker in self._workers if worker.job is None), None) or self._started()
        worker.job, worker.deadline = job, time.monotonic() + job.time_limit + GRACE
        with contextlib.suppress(ConnectionError):  # `collect` finds that it has died
            worker.pipe.send(job)

    def advance(self, timeout: float) -> None:
        """Waits until a worker sends something or dies, or for ``timeout`` seconds at most."""
        if self.busy:
            wait([worker.pipe for worker in self._workers if worker.job is not None], timeout)

    def collect(self) -> list[Done]:
        """What workers sent, and the jobs of those that died or had to be killed, as failures."""
        busy = [worker for worker in self._workers if worker.job is not None]
        ready = set(wait([worker.pipe for worker in busy], 0.0)) if busy else set()
        found = []
        for worker in busy:
            if worker.pipe in ready:
                found.append(self._answer(worker))
            elif time.monotonic() > worker.deadline:
                found.append(self._dropped(worker, "did not end within its time limit, and was killed"))
        return found

    def stop(self) -> None:
        """Ends all workers: a simulated run is short, and nothing of one that is not finished is kept."""
        self.close()

    def close(self) -> None:
        """Ends all workers."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()
            worker.pipe.close()
        self._workers.clear()

    def _started(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs, os.getpid()), daemon=True)
        # A worker that Ctrl-C reaches before `_work` would print a traceback. The tracker would unblock it.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        return worker

    def _answer(self, worker: _Worker) -> Done:
        try:
            answer: Done = worker.pipe.recv()
        except (EOFError, ConnectionError):
            return self._dropped(worker, "ended with its process")
        worker.job = None
        return answer

    def _dropped(self, worker: _Worker, why: str) -> Done:
        job = worker.job
        assert job is not None
        worker.process.kill()
        worker.process.join()
        worker.pipe.close()
        self._workers.remove(worker)
        code = worker.process.exitcode
        return Done(job, job.time_limit, error=RunFailedError(f"the run {why} (exit status {code})"))


def _work(pipe: Connection, parent: int) -> None:
    """A worker: makes the runs that come through the pipe until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers
    _end_with(parent)
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            pipe.send(_answer_to(pipe.recv()))


def _answer_to(job: Job) -> Done:
    try:
        return make(job)
    except WaspError as error:
        return Done(job, 0.0, error=error, fatal=True)


def _end_with(parent: int) -> None:
    """Lets the kernel kill this process when ``parent`` ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
