"""Experiments in one directory that are made one after the other, where what comes next may follow from what was found.

Each is a `waspbench.runner.study.Study` in a directory of its own below it. ``study.json`` of the directory itself says
what all of them are for.
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Generic, Self, TypeVar

from waspbench.errors import CannotRunError, InputError, RunFailedError, WaspError
from waspbench.experiment.sweep import Point
from waspbench.interrupts import ignored, postponed
from waspbench.results.records import read_record, write_text
from waspbench.results.study import STUDY, StudyPlan, StudyResult, is_study, load_study
from waspbench.runner.lock import DirectoryLock
from waspbench.runner.pipeline import OnProgress, StudyProgress, check_jobs, make_directory, plan_to_resume
from waspbench.runner.searches import LENGTHS
from waspbench.runner.study import Study, is_begun

RUNS = "runs/run-*.json"
"""The records of runs, below the directory of a stage."""

R_co = TypeVar("R_co", covariant=True)

Prepared = tuple[StudyPlan, list[Point]]
"""The plan of an experiment, and its points."""


class Stages(ABC, Generic[R_co]):
    """Experiments in one directory. `begin` makes the directory or `open` finds it, and `run` makes what is missing.
    One process at a time has the directory.
    """

    def __init__(self, plan: StudyPlan, directory: Path) -> None:
        self.plan = plan
        self.directory = directory
        self.stopped = False
        """Whether it was to end before its time."""
        self._new = False
        self._lock: DirectoryLock | None = None
        self._result: R_co | None = None

    @classmethod
    def begin(cls, plan: StudyPlan, directory: Path) -> Self:
        """Makes the directory with the plan in it.

        Raises:
            InputError: it exists, or cannot be made.
            RunFailedError: the disk is full.
        """
        made = cls(plan, directory)
        try:
            with postponed():
                make_directory(directory)
                made._new = True
                write_text(directory / STUDY, plan.model_dump_json(indent=2) + "\n")
                made._lock = DirectoryLock(directory)
        except BaseException:
            made._put_away()
            raise
        return made

    @classmethod
    def open(cls, directory: Path) -> Self:
        """What was begun in ``directory``.

        Raises:
            InputError: there is nothing, it is of another format than this version writes, or another process makes its
                runs.
        """
        made = cls(plan_to_resume(directory), directory)
        made._lock = DirectoryLock(directory)
        return made

    def run(self, *, jobs: int | None = None, on_progress: OnProgress | None = None) -> R_co:
        """Makes the runs that are missing, and returns what follows from all.

        A KeyboardInterrupt ends it early: what follows from what was measured is returned, and it is `stopped`. If
        nothing was measured, the interrupt is raised again. For the other errors see `waspbench.runner.pipeline`.
        """
        try:
            check_jobs(jobs, self.plan)
            self._make(jobs, on_progress)
            return self._concluded()
        except KeyboardInterrupt:
            with ignored():
                self.stopped = True
                if not self._has_figures:
                    raise
                return self._concluded()
        except WaspError as error:
            raise self._with_results(error) from None
        finally:
            self._put_away()

    # What a subclass does.

    @abstractmethod
    def prepared(self, name: str, made: Mapping[str, StudyResult]) -> Prepared:
        """The experiment of a stage, which may follow from those that are ``made``. For the errors see
        `waspbench.runner.study.prepare`.
        """

    @abstractmethod
    def runs_of(self, name: str) -> int:
        """Number of runs of a stage that is not begun."""

    @abstractmethod
    def summarise(self, made: Mapping[str, StudyResult]) -> R_co:
        """Writes what follows from the stages that are ``made``, and returns it."""

    alike: ClassVar[bool] = True
    """Whether the runs of all stages take about as long."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The directories of all stages, in their order."""

    # Driving.

    @property
    def empty(self) -> bool:
        """Whether there is nothing in the directory to go on from: no run has figures, and no pilot run was made."""
        return not self._has_figures and not any(is_begun(path.parent) for path in self.directory.rglob(LENGTHS))

    @property
    def _has_figures(self) -> bool:
        """Whether a run has figures."""
        return any(_has_figures(path) for path in self.directory.rglob(RUNS))

    def _make(self, jobs: int | None, on_progress: OnProgress | None) -> None:
        """Makes one stage after the other."""
        made: dict[str, StudyResult] = {}
        for name in self.names:
            stage = self._stage(name, made)
            side_by_side = jobs if stage.plan.mode == "sim" else None
            told = _shifted(on_progress, *self._others(name), alike=self.alike)
            made[name] = stage.run(jobs=side_by_side, on_progress=told)
            self.stopped = stage.stopped
            if self.stopped:
                break

    def _concluded(self) -> R_co:
        """What follows from the stages that are there. An interrupt waits for it."""
        with postponed():
            if self._result is None:
                there = [name for name in self.names if is_study(self.directory / name)]
                self._result = self.summarise({name: load_study(self.directory / name) for name in there})
        return self._result

    def _stage(self, name: str, made: Mapping[str, StudyResult]) -> Study:
        """A stage: gone on with if it was begun."""
        folder = self.directory / name
        if is_study(folder):
            return Study.open(folder)
        shutil.rmtree(folder, ignore_errors=True)  # what made it was ended before it had written its plan
        return Study.begin(*self.prepared(name, made), folder)

    def _others(self, name: str) -> tuple[int, int, int]:
        """Runs of the stages before one, those of them that failed, and runs of the stages after it."""
        place = self.names.index(name)
        before = [path for each in self.names[:place] for path in (self.directory / each).rglob(RUNS)]
        failed = sum(not _has_figures(path) for path in before)
        return len(before), failed, sum(self.runs_of(each) for each in self.names[place + 1 :])

    def _with_results(self, error: WaspError) -> WaspError:
        """The error, and where what was measured is kept, with what follows from it."""
        if self.empty:
            return error
        with suppress(WaspError):  # what ended it is the error to report
            self._concluded()
        if isinstance(error, RunFailedError | CannotRunError):
            return RunFailedError(error.message, self.directory, error.field)
        return error

    def _put_away(self) -> None:
        """Removes a directory that was made for nothing, and gives the directory back."""
        try:
            if self._new and self.empty:
                shutil.rmtree(self.directory, ignore_errors=True)
        finally:
            if self._lock is not None:
                self._lock.close()


def _has_figures(record: Path) -> bool:
    """Whether a run has figures; no if its record is damaged."""
    try:
        return read_record(record).summary is not None
    except InputError:
        return False


def _shifted(
    on_progress: OnProgress | None, before: int, failed: int, after: int, *, alike: bool
) -> Callable[[StudyProgress], object] | None:
    """``on_progress`` of all stages, in the place of that of one with so many runs before and after it; ``failed`` are
    among those before it. The time left includes that of the stages after it if their runs are ``alike``.
    """
    if on_progress is None:
        return None

    def told(progress: StudyProgress) -> None:
        latest, left = progress.latest, progress.left
        runs = progress.total - progress.done
        whole = replace(
            progress,
            done=before + progress.done,
            total=before + progress.total + after,
            failed=failed + progress.failed,
            left=left * (runs + after) / runs if alike and left is not None and runs else left,
            latest=None if latest is None else replace(latest, run=before + latest.run),
            again=tuple(replace(begun, run=before + begun.run) for begun in progress.again),
        )
        on_progress(whole)

    return told
