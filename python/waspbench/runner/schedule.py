"""What to run next: a state machine that makes no run. Ask `Schedule.next`, tell `Schedule.done`, in any interleaving.

What it comes to in the end (which runs of which point) follows from the figures alone, not from the order in which
runs finish: a point's stopping rule looks at its runs by number, and only at those whose predecessors are done.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from waspbench.stats.stopping import Until

Order = Literal["shuffled", "listed"]


@dataclass(frozen=True)
class Task:
    """A run of a point; ``run`` is None for the next pilot of the search for its lengths."""

    point: int
    run: int | None
    attempt: int = 1


@dataclass
class _Point:
    """What is known of a point."""

    values: dict[int, float | None]
    """Throughput of each run that is done; None of one that failed."""
    issued: int
    """Runs that were handed out or queued: those with lower numbers."""
    ready: bool
    """Whether its lengths are known."""


class Schedule:
    """``least`` runs of each of ``points`` points, and more where ``until`` asks for them.

    ``finished`` are runs that need not be made, with their throughput (None: failed and not to be repeated).
    Of ``again`` the first attempt was made before. ``unready`` points need their lengths found first.
    """

    def __init__(
        self,
        points: int,
        least: int,
        *,
        until: Until | None = None,
        order: Order = "shuffled",
        seed: int = 1,
        finished: dict[tuple[int, int], float | None] | None = None,
        again: Iterable[tuple[int, int]] = (),
        unready: Iterable[int] = (),
    ) -> None:
        waiting = set(unready)
        self._tried = set(again)
        self._until = until
        self._points = [_Point({}, least, point not in waiting) for point in range(points)]
        for (point, run), value in (finished or {}).items():
            self._points[point].values[run] = value
        tasks = [
            self._first(point, run)
            for point in range(points)
            for run in range(least)
            if run not in self._points[point].values
        ]
        if order == "shuffled" and points > 1:  # one point has nothing to favour
            random.Random(f"wasp order {seed}").shuffle(tasks)
        self._queue = deque([Task(point, None) for point in sorted(waiting)] + tasks)
        self._running: set[Task] = set()
        for point in range(points):
            self._extend(point)

    def next(self) -> Task | None:
        """A run to make now; None when there is none, or none until one that is being made is done."""
        for _ in range(len(self._queue)):
            task = self._queue.popleft()
            if task.run is None or self._points[task.point].ready:
                self._running.add(task)
                return task
            self._queue.append(task)
        return None

    def done(self, task: Task, throughput: float | None = None, *, more: bool = False) -> None:
        """``task`` came to an end: with a throughput, or with none because it failed; a pilot with another to come if
        there are to be ``more``.
        """
        self._running.remove(task)
        if more:
            self._queue.appendleft(Task(task.point, None))
            return
        point = self._points[task.point]
        if task.run is None:
            point.ready = True
            return
        point.values[task.run] = throughput
        self._extend(task.point)

    def again(self, task: Task, *, at_once: bool) -> None:
        """``task`` came to an end and is to be made again: ``at_once``, or when all others are made."""
        self._running.remove(task)
        second = Task(task.point, task.run, task.attempt + 1)
        if at_once:
            self._queue.appendleft(second)
        else:
            self._queue.append(second)

    def give_up(self, point: int) -> list[Task]:
        """Takes the runs of a point out that are not begun: they cannot be made."""
        taken = [task for task in self._queue if task.point == point]
        self._queue = deque(task for task in self._queue if task.point != point)
        return taken

    @property
    def over(self) -> bool:
        """Whether nothing is left to do."""
        return not self._queue and not self._running

    @property
    def left(self) -> int:
        """Runs that are known to be left, those in progress included."""
        return len(self._queue) + len(self._running)

    def _extend(self, number: int) -> None:
        """Queues another run of a point if its stopping rule wants one."""
        point, until = self._points[number], self._until
        if until is None:
            return
        while all(run in point.values for run in range(point.issued)):
            so_far = [value for run in range(point.issued) if (value := point.values[run]) is not None]
            if point.issued >= until.most or (len(so_far) >= until.least and until.enough(so_far)):
                return
            run, point.issued = point.issued, point.issued + 1
            if run not in point.values:
                self._queue.append(self._first(number, run))
                return

    def _first(self, point: int, run: int) -> Task:
        """A run that this schedule makes for the first time; of some the first attempt was made before."""
        return Task(point, run, 2 if (point, run) in self._tried else 1)
