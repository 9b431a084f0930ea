"""What a study and a search for capacity have in common: a plan in a directory, runs here or in processes, progress."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from waspbench import _core, live
from waspbench.errors import Argument, InputError, RunFailedError
from waspbench.experiment import Experiment, Mode
from waspbench.experiment.sweep import Point, points
from waspbench.results import check_free
from waspbench.results.formats import FORMAT
from waspbench.results.records import write_text
from waspbench.results.study import STUDY, StudyPlan, point_directory, read_plan
from waspbench.runner.executors import Executor, Here, Processes
from waspbench.runner.once import Done, Watch
from waspbench.testbed import Placement, Spec


@dataclass(frozen=True)
class StudyProgress:
    """How far a study is."""

    done: int
    """Runs that are finished, those of earlier sessions included."""
    total: int
    """Runs in all, as far as is known."""
    failed: int
    """Runs without figures."""
    left: float | None
    """Seconds until the end, as far as can be told."""
    at: str
    """The point of the run that ended last, or that is being made."""
    sample: _core.Sample | None = None
    """The last second of a run that is made in this process."""
    pilot: int | None = None
    """Number of the pilot that this run is, from 1; None if it is measured."""


OnProgress = Callable[[StudyProgress], object]


class Campaign(ABC):
    """Many runs in one directory. `begin` makes the directory or `open` finds it."""

    def __init__(self, plan: StudyPlan, found: Sequence[Point], directory: Path) -> None:
        self.plan = plan
        self.points = list(found)
        self.directory = directory
        self._mode: Mode = "live" if plan.mode == "live" else "sim"
        self._placement: Placement | None = None
        self._times: list[float] = []

    @classmethod
    def begin(cls, plan: StudyPlan, found: Sequence[Point], directory: Path) -> Self:
        """Makes the directory with the plan in it.

        Raises:
            InputError: it exists, or cannot be made.
        """
        check_free(directory)
        try:
            directory.mkdir(parents=True)
        except OSError as error:
            raise InputError.at(Argument("output"), f"cannot be made: {error.strerror}", str(directory)) from None
        write_text(directory / STUDY, plan.model_dump_json(indent=2) + "\n")
        return cls(plan, found, directory)

    @classmethod
    def open(cls, directory: Path) -> Self:
        """What was begun in ``directory``.

        Raises:
            InputError: there is nothing, or it is of another format than this version writes.
        """
        plan = read_plan(directory)
        if plan.format < FORMAT:
            message = (
                f"these results can be read, but not gone on with: this version writes format {FORMAT}, and the runs "
                "of one experiment must be of one kind; begin anew"
            )
            raise InputError.at(f"{directory / STUDY}: format", message, plan.format)
        return cls(plan, points(plan.document), directory)

    @property
    @abstractmethod
    def empty(self) -> bool:
        """Whether there is nothing in the directory to go on from."""

    @property
    def _with_results(self) -> Path | None:
        """Where what was measured is."""
        return None if self.empty else self.directory

    def place(self, index: int) -> Path:
        """Where the results of a point are."""
        return point_directory(self.directory, index, len(self.points))

    def _executor(self, jobs: int | None, watch: Watch) -> Executor:
        if self._mode == "live" or len(self.points) == 1:
            return Here(watch)
        return Processes(jobs or len(os.sched_getaffinity(0)))

    def _spec(self, experiment: Experiment) -> Spec | None:
        if self._mode == "sim":
            return None
        if self._placement is None:
            self._placement = live.choose_cpus(self.plan.server_cpus, self.plan.emulator_cpus)
        return live.spec(experiment, self._placement)

    def _ended(self, done: Done) -> None:
        """Takes note of how long a run took.

        Raises:
            RunFailedError: no other run can go better.
        """
        self._times.append(done.seconds)
        if done.fatal:
            raise RunFailedError(done.failure or "failed", self._with_results)

    def _time_left(self, runs: int, parallel: int = 1, expected: float | None = None) -> float | None:
        """Seconds that ``runs`` runs will take; ``expected`` is the length of one before any has told."""
        each = sum(self._times) / len(self._times) if self._times else expected
        return None if each is None else each * runs / max(1, min(parallel, runs or 1))
