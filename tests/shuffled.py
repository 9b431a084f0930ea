"""An executor of several runs in this process."""

from __future__ import annotations

import random

from waspbench.runner.executors import Executor, Here
from waspbench.runner.job import Done, Job
from waspbench.testbed import Spec


class Shuffled(Executor):
    """Several runs at once in this process; which of them goes on, is drawn."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._here: list[Here] = []
        self._drawn = random.Random(1)

    @property
    def width(self) -> int:
        return self._width

    @property
    def room(self) -> int:
        return self._width - len(self._here)

    @property
    def busy(self) -> bool:
        return bool(self._here)

    def submit(self, job: Job, spec: Spec | None = None) -> None:
        self._here.append(Here())
        self._here[-1].submit(job, spec)

    def advance(self, timeout: float) -> None:
        for here in self._drawn.sample(self._here, self._drawn.randint(min(1, len(self._here)), len(self._here))):
            here.advance(timeout)

    def collect(self) -> list[Done]:
        found = [done for here in self._here for done in here.collect()]
        self._here = [here for here in self._here if here.busy]
        return found

    def stop(self) -> None:
        for here in self._here:
            here.stop()

    def close(self) -> None:
        for here in self._here:
            here.close()
        self._here.clear()
