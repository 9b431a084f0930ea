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
from collections import deque
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from waspbench.closing import Closing
from waspbench.errors import WaspError
from waspbench.runner.once import Done, Job, Watch, make
from waspbench.testbed import Spec

GRACE = 60.0
"""Seconds past its time limit after which a worker that does not answer is killed."""

_PR_SET_PDEATHSIG = 1


class Executor(Closing):
    """Takes jobs and gives back what became of them. A context manager: leaving it ends what still runs."""

    @property
    @abstractmethod
    def room(self) -> int:
        """How many more jobs it takes now."""

    @abstractmethod
    def submit(self, job: Job, spec: Spec | None = None) -> None:
        """Begins a job; only when there is room."""

    @abstractmethod
    def collect(self, timeout: float) -> list[Done]:
        """Jobs that came to an end, after at most ``timeout`` seconds if none did."""

    @abstractmethod
    def close(self) -> None:
        """Ends what still runs; nothing of it is kept."""


class Here(Executor):
    """Runs in this process, one after the other, each when it is collected."""

    def __init__(self, watch: Watch | None = None) -> None:
        self._watch = watch
        self._jobs: deque[tuple[Job, Spec | None]] = deque()

    @property
    def room(self) -> int:
        """One at a time."""
        return 1 - len(self._jobs)

    def submit(self, job: Job, spec: Spec | None = None) -> None:
        """Keeps the job until `collect`."""
        self._jobs.append((job, spec))

    def collect(self, timeout: float) -> list[Done]:
        """Makes the run."""
        return [make(job, spec, self._watch) for job, spec in [self._jobs.popleft()]] if self._jobs else []

    def close(self) -> None:
        """Forgets what was not begun."""
        self._jobs.clear()


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
        self._lost: list[Done] = []

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
        worker.pipe.send(job)

    def collect(self, timeout: float) -> list[Done]:
        """What workers sent, and the jobs of those that died or had to be killed, as failures."""
        busy = [worker for worker in self._workers if worker.job is not None]
        found, self._lost = self._lost, []
        ready = set(wait([worker.pipe for worker in busy], 0.0 if found else timeout)) if busy else set()
        for worker in busy:
            if worker.pipe in ready:
                found.append(self._answer(worker))
            elif time.monotonic() > worker.deadline:
                found.append(self._dropped(worker, "did not end within its time limit, and was killed"))
        return found

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
        process.start()
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
        return Done(job, job.time_limit, failure=f"the run {why} (exit status {code})")


def _work(pipe: Connection, parent: int) -> None:
    """A worker: makes the runs that come through the pipe until it closes."""
    _end_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            pipe.send(_answer_to(pipe.recv()))


def _answer_to(job: Job) -> Done:
    try:
        return make(job)
    except WaspError as error:
        return Done(job, 0.0, failure=str(error), fatal=True)


def _end_with(parent: int) -> None:
    """Lets the kernel kill this process when ``parent`` ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
