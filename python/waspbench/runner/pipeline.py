"""Many runs in one directory, made second by second: what commands and functions drive to make runs that are kept.

What is to be run next, and what is made of it, is a subclass's: `waspbench.runner.study.Study` for the points of an
experiment, `waspbench.runner.capacity.CapacityStudy` for a search.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from waspbench import _core, live
from waspbench.closeable import Closeable
from waspbench.errors import Argument, CannotRunError, InputError, RunFailedError, WaspError
from waspbench.experiment import Experiment, Mode
from waspbench.experiment.inputs import unchanged_contents
from waspbench.experiment.resolve import resolve
from waspbench.experiment.sweep import Point, points
from waspbench.interrupts import ignored, postponed
from waspbench.results import check_free
from waspbench.results.files import Files
from waspbench.results.formats import FORMAT
from waspbench.results.manifest import now
from waspbench.results.records import write_record, write_text
from waspbench.results.study import JOURNAL, STUDY, StudyPlan, point_directory, read_plan
from waspbench.results.whole_files import Room, make_above
from waspbench.runner.executors import Executor, executor_for
from waspbench.runner.job import Done, Job
from waspbench.runner.lock import DirectoryLock
from waspbench.runner.timing import OVERHEAD, length
from waspbench.testbed import Placement, Spec

R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True)
class StudyProgress:
    """The state of a sweep or of a search."""

    done: int
    """Number of finished runs, those of earlier sessions included."""
    total: int
    """Number of all runs, as far as it is known."""
    failed: int
    """Number of runs that failed and have no figures."""
    left: float | None
    """Estimated number of seconds until the end; None if it cannot be estimated."""
    latest: Begun | None = None
    """The run that began last; None if none has begun."""
    sample: _core.Sample | None = None
    """The state of that run, if runs are made in this process; None otherwise."""
    again: tuple[Begun, ...] = ()
    """Runs that have begun for the second time since the last call."""
    ended: str = ""
    """The run that ended last since the last call, in words: its point, and its load in a search. Empty if none ended.
    """


@dataclass(frozen=True)
class Begun:
    """A run that has begun."""

    run: int
    """Number of the run, from 0, in the order in which the runs begin. A second attempt has the number of the first."""
    at: str
    """Its point in words, and its load in a search."""
    attempt: int = 1
    """2 if the run is made again because the first attempt failed or was disturbed; 1 otherwise."""
    earlier: tuple[str, ...] = ()
    """What was wrong with the first attempt; empty in the first attempt."""
    pilot: int | None = None
    """Number of the pilot run, from 1, if the run is a pilot that finds the lengths (``auto``); None if it is measured.
    """


OnProgress = Callable[[StudyProgress], object]


@dataclass(frozen=True)
class Count:
    """Numbers of runs."""

    done: int
    left: int
    failed: int
    """Those of ``done`` that have no figures."""


class NothingMeasuredError(RunFailedError):
    """It was stopped before anything was measured."""

    def __init__(self, message: str = "stopped before anything was measured", kept: Path | None = None) -> None:
        super().__init__(message, kept)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.kept)


class Pipeline(Closeable, Generic[R_co]):
    """Many runs in one directory. `begin` makes the directory or `open` finds it.

    Call `step` until `done`, then `wait`; `stop` at any time ends it early. `run` does all of this. In this process
    nothing runs beside the engine's own thread between two calls, so that Python stays out of the way of what is
    measured. Leaving it as a context manager, or `close`, takes the testbed away; what is finished is kept, and a
    directory that was made for nothing is removed. One process at a time has the directory.
    """

    def __init__(self, plan: StudyPlan, found: Sequence[Point], directory: Path, *, kept: bool = True) -> None:
        self.plan = plan
        self.points = list(found)
        self.directory = directory
        self.stopped = False
        """Whether it was to end before its time. It may have been complete by then."""
        self._kept = kept
        self._new = False
        self._jobs: int | None = None
        self._mode: Mode = plan.mode
        self._placement: Placement | None = None
        self._times: list[float] = []
        self._numbers: dict[tuple[int, int], int] = {}
        self._latest: Begun | None = None
        self._again: list[Begun] = []
        self._told: dict[tuple[int, float | None], str] = {}
        self._last = ""
        self._temporary: Files | None = None
        self._lock: DirectoryLock | None = None
        experiments = (point.experiment for point in self.points)
        known = {**plan.traces, **plan.files}
        self._inputs = unchanged_contents(experiments, known, Path(plan.directory), plan.models)
        """Contents of the files that the experiment names."""
        self._room = Room(directory, _room_for(self.points))
        self._executor: Executor | None = None
        self._closed = False
        self._error: WaspError | None = None
        self._result: R_co | None = None

    @classmethod
    def begin(cls, plan: StudyPlan, found: Sequence[Point], directory: Path | None) -> Self:
        """Makes the directory with the plan in it; without one the results are in one that is removed with them.

        Raises:
            InputError: it exists, or cannot be made.
            CannotRunError: this machine has not all servers, or no room for what is removed at the end.
            RunFailedError: the disk is full.
        """
        cls._check_servers(plan, found)
        made = None
        try:
            with postponed():
                if directory is None:
                    temporary, path = _temporary_files()
                    made = cls(plan, found, path, kept=False)
                    made._temporary = temporary
                else:
                    made = cls(plan, found, directory)
                    make_directory(directory)
                made._new = True
                write_text(made.directory / STUDY, plan.model_dump_json(indent=2) + "\n")
                made._hold()
        except BaseException:
            if made is not None:
                made.close()
            raise
        return made

    @classmethod
    def open(cls, directory: Path) -> Self:
        """What was begun in ``directory``.

        Raises:
            InputError: there is nothing, it is of another format than this version writes, another process makes its
                runs, or a file is not the one with which it was begun.
            RunFailedError: the disk is full.
        """
        plan = plan_to_resume(directory)
        made = cls(plan, points(plan.document), directory)
        made._hold()
        return made

    def run(self, *, jobs: int | None = None, on_progress: OnProgress | None = None) -> R_co:
        """Makes the runs that are missing, and returns the result of all.

        A KeyboardInterrupt ends it early: what was measured is returned, and it is `stopped`. If nothing was measured,
        the interrupt is raised again. For the other errors see `use`, `step` and `wait`.
        """
        with self:
            self.use(jobs)
            try:
                while not self.done:
                    progress = self.step()
                    if on_progress is not None:
                        on_progress(progress)
                return self.wait()
            except KeyboardInterrupt:
                with ignored():
                    self.stopped = True
                    self.stop()
                    try:
                        return self.wait()
                    except NothingMeasuredError:
                        raise KeyboardInterrupt from None

    def _scenario(self, experiment: Experiment, run: int) -> dict[str, Any]:
        """What the engine is told for a run."""
        return resolve(experiment, run, mode=self._mode, inputs=self._inputs)

    def use(self, jobs: int | None) -> None:
        """Sets the number of processes of a simulated sweep; the CPUs unless told.

        Raises:
            InputError: there can be no such number, or the runs are made one after the other.
        """
        check_jobs(jobs, self.plan)
        self._jobs = jobs

    @property
    def done(self) -> bool:
        """Whether nothing is left to run, as far as is known: the first `step` finds out."""
        if self._closed or self._error is not None:
            return True
        if self._executor is None:
            return self.stopped
        return not self._executor.busy and (self.stopped or self._over())

    def step(self, timeout: float = 1.0) -> StudyProgress:
        """Begins what can be begun, and goes on with it for ``timeout`` seconds at most.

        Raises:
            CannotRunError, InputError: this machine cannot make the first run, or what is asked for is not valid.
            RunFailedError: no run can be made any more, such as on a full disk. What is finished is kept.
            ValueError: it is closed.
        """
        if self._closed:
            raise ValueError("it is closed")
        try:
            return self._go_on(timeout)
        except WaspError as error:
            self._end_others()
            self._error = self._with_results(error)
            raise self._error from None

    def stop(self) -> None:
        """Ends the present run as soon as possible, and makes no other. What was measured is kept."""
        if self._closed:
            return
        if self._executor is None:  # an interrupt may come while it is made
            self.stopped = True
        elif not self.done:
            self.stopped = True
            self._executor.stop()

    def wait(self) -> R_co:
        """Makes what is left, and returns the result.

        Raises:
            NothingMeasuredError: it was stopped before anything was measured.
            RunFailedError: all runs failed, and this is the first one's failure; or it was closed before.
            WaspError: what `step` raised, if it did.
        """
        if self._result is not None:
            return self._result
        with ignored() if self.stopped else nullcontext():
            while not self.done:
                self.step()
            if self._error is None and self._closed:
                raise RunFailedError("it was closed before its end")
            # An interrupt waits for the result, which would be lost.
            with postponed():
                try:
                    self._result = self._ended()
                finally:
                    self.close()
        return self._result

    def close(self) -> None:
        """Gives up what is not finished, and keeps what is."""
        if self._closed:
            return
        with postponed():
            self._closed = True
            executor, self._executor = self._executor, None
            try:
                if executor is not None:
                    executor.close()
            finally:
                try:
                    self._put_away(begun=executor is not None)
                finally:
                    if self._lock is not None:
                        self._lock.close()

    def directory_of(self, index: int) -> Path:
        """Where the results of a point are."""
        return point_directory(self.directory, index, len(self.points))

    # What a subclass does.

    @classmethod
    def _check_servers(cls, plan: StudyPlan, found: Sequence[Point]) -> None:
        """Makes sure, before anything is measured, that this machine has all servers. For the errors see
        `check_servers`.
        """
        check_servers(plan, [point.experiment for point in found])

    @property
    @abstractmethod
    def empty(self) -> bool:
        """Whether there is nothing in the directory to go on from."""

    @abstractmethod
    def summarise(self) -> R_co:
        """Writes what follows from the runs, and returns it."""

    @abstractmethod
    def _finished(self) -> R_co:
        """The same when all is done. Raises RunFailedError if no run came to its end, NothingMeasuredError if it was
        stopped before anything was measured.
        """

    @abstractmethod
    def _look(self) -> None:
        """Finds out what is left to do, before the first run."""

    @abstractmethod
    def _over(self) -> bool:
        """Whether no run is left to begin, and none is being made."""

    @abstractmethod
    def _next(self) -> tuple[Begun, Job, Experiment] | None:
        """The run to begin now, and of what experiment it is; None if none can be begun before another has ended."""

    @abstractmethod
    def _take(self, done: Done) -> None:
        """Takes in what became of a job."""

    @abstractmethod
    def _count(self) -> Count:
        """How many runs are made and are left, as far as is known."""

    # What all have in common.

    def _at_work(self) -> Executor:
        """The executor, which is made for the first run."""
        if self._executor is None:
            self._look()
            jobs = self._jobs or len(os.sched_getaffinity(0))
            self._executor = executor_for(1 if _is_alone(self.plan) else jobs)
        return self._executor

    def _hold(self) -> None:
        """Takes the directory for this process, and room in it."""
        self._lock = DirectoryLock(self.directory)
        try:
            self._room.take()
        except BaseException:
            self._lock.close()
            raise

    def _go_on(self, timeout: float) -> StudyProgress:
        executor = self._at_work()
        with postponed():  # what is begun, and what has ended, must not be forgotten for an interrupt
            while not self.stopped and executor.room and (found := self._next()) is not None:
                self._latest, job, experiment = found
                self._told[job.point, job.load] = self._latest.at
                executor.submit(job, self._spec(experiment))
                if self._latest.earlier:
                    self._again.append(self._latest)
        executor.advance(timeout)
        with postponed():
            ended = executor.collect()
            for done in ended:
                self._keep_lost(done)
            for done in ended:
                self._log(done)
                if done.fatal and done.error is not None:
                    raise done.error
                self._times.append(done.seconds)
                self._take(done)
                self._last = self._told[done.job.point, done.job.load]
        return self._progress(executor.sample)

    def _progress(self, sample: _core.Sample | None) -> StudyProgress:
        count, again = self._count(), tuple(self._again)
        self._again.clear()
        ended, self._last = self._last, ""
        return StudyProgress(
            done=count.done,
            total=count.done + count.left,
            failed=count.failed,
            left=self._time_left(count.left),
            latest=self._latest,
            sample=sample,
            again=again,
            ended=ended,
        )

    def _ended(self) -> R_co:
        """The result, after the last run."""
        if self._error is not None:
            raise self._error
        try:
            self._at_work()  # what was found before belongs to the result, even where it was stopped at once
            self._room.release()
            return self._finished()
        except WaspError as error:
            self._error = self._with_results(error)
            raise self._error from None

    def _given_away(self) -> Files:
        """The directory that no name was given for, which is the result's from now on."""
        assert self._temporary is not None, "a directory was named"
        files, self._temporary = self._temporary, None
        return files

    def _with_results(self, error: WaspError) -> WaspError:
        """The error, and where what was measured is kept. The disk has room again for what says so."""
        self._room.release()
        kept = self.directory if self._kept and not self.empty else None
        if kept is None:
            return error
        if isinstance(error, NothingMeasuredError):
            return NothingMeasuredError(kept=kept)
        if isinstance(error, RunFailedError) or (isinstance(error, CannotRunError) and self._times):
            return RunFailedError(error.message, kept, error.field)
        return error

    def _put_away(self, *, begun: bool) -> None:
        """Leaves of the directory what is to be kept."""
        self._room.release()
        if self._temporary is not None:
            self._temporary.remove()
        elif self._new and self.empty:
            shutil.rmtree(self.directory, ignore_errors=True)
        elif self._result is None and begun and not self.empty:
            with suppress(WaspError):  # what ended it is the error to report; resuming writes the manifests
                self.summarise()

    def _spec(self, experiment: Experiment) -> Spec | None:
        if self._mode == "sim":
            return None
        if self._placement is None:
            self._placement = live.choose_cpus(self.plan.server_cpus, self.plan.emulator_cpus)
        return live.spec(experiment, self._placement)

    def _end_others(self) -> None:
        """Ends the runs beside one after which no other can be made. What they measured is kept, if there is room."""
        self._room.release()
        if self._executor is None:
            return
        with postponed():
            self._executor.stop()
            while self._executor.busy:
                self._executor.advance(1.0)
                for done in self._executor.collect():
                    self._keep_lost(done)
                    with suppress(WaspError):  # the disk may be full
                        self._log(done)
                    if done.summary is not None:
                        self._times.append(done.seconds)

    def _keep_lost(self, done: Done) -> None:
        """Keeps the figures of a run whose tables had no room on the disk, which has room for them."""
        if done.lost is not None:
            self._room.release()
            with suppress(RunFailedError):
                write_record(Path(done.job.directory), done.lost)

    def _log(self, done: Done) -> None:
        """Writes into the journal what became of a job."""
        job = done.job
        entry = {
            "at": now(),
            "point": job.point,
            "run": None if job.pilot is not None else job.run,
            **({} if job.load is None else {"load": job.load}),
            "attempt": job.attempt,
            "seconds": round(done.seconds, 3),
            "failure": done.failure,
            **({"stopped": True} if done.stopped else {}),
        }
        path = self.directory / JOURNAL
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        except OSError as error:
            raise RunFailedError(f"{path}: cannot be written: {error.strerror}") from None

    def _number(self, point: int, run: int, done: int) -> int:
        """The number of a run in the order in which runs are begun, after ``done`` that are finished; it is given when
        it is asked for first.
        """
        return self._numbers.setdefault((point, run), max(done, 1 + max(self._numbers.values(), default=-1)))

    def _time_left(self, runs: int) -> float | None:
        """Seconds that ``runs`` runs will take; of simulated ones only the first can tell."""
        if self._times:
            each = sum(self._times) / len(self._times)
        elif self._mode == "live":
            each = length(self.points[0].experiment) + OVERHEAD
        else:
            return None
        return each * runs / max(1, min(self._at_work().width, runs or 1))


def check_jobs(jobs: int | None, plan: StudyPlan) -> None:
    """Refuses a number of processes that would not be obeyed.

    Raises:
        InputError: there can be no such number, or the runs are made one after the other.
    """
    if jobs is not None and jobs < 1:
        raise InputError.at(Argument("jobs"), "must be at least 1", jobs)
    if jobs is not None and jobs > 1 and _is_alone(plan):
        message = "only simulated runs of a sweep are made side by side; leave it out"
        raise InputError.at(Argument("jobs"), message, jobs)


def check_servers(plan: StudyPlan, found: Sequence[Experiment]) -> None:
    """Makes sure that this machine has each server of live runs, for the most connections that it will have.

    Raises:
        CannotRunError, InputError: see `waspbench.live.spec`.
    """
    if plan.mode != "live":
        return
    placement = live.choose_cpus(plan.server_cpus, plan.emulator_cpus)
    rising = sorted(found, key=live.connections)
    by_server = {experiment.server.model_dump_json(): experiment for experiment in rising}
    for experiment in by_server.values():
        live.spec(experiment, placement)


def _is_alone(plan: StudyPlan) -> bool:
    return plan.mode == "live" or plan.points == 1


def _room_for(found: Sequence[Point]) -> int:
    """Bytes that the manifests of all points take, and a record: 4 KiB for each run and group, and 16 KiB for each
    point. Of a sweep of thousands of points they do not stand beside its tables, and 16 MiB do.
    """
    measure = found[0].experiment.measure
    runs = measure.runs if measure.until is None else measure.until.max_runs
    groups = sum(len(point.experiment.clients) for point in found)
    return min((16 * len(found) + 4 * runs * groups + 32) << 10, 16 << 20)


def temporary_directory() -> tempfile.TemporaryDirectory[str]:
    """A directory that is removed at the end. Raises CannotRunError if there is no room for it."""
    try:
        return tempfile.TemporaryDirectory(prefix="waspbench-", ignore_cleanup_errors=True)
    except OSError as error:
        raise _no_room(error) from None


def _temporary_files() -> tuple[Files, Path]:
    """A directory that is removed with the result, and its path. Raises CannotRunError if there is no room for it."""
    try:
        files = Files.temporary()
    except OSError as error:
        raise _no_room(error) from None
    path = files.directory(None)
    assert path is not None, "it is there"
    return files, path


def _no_room(error: OSError) -> CannotRunError:
    message = f"there is no room for what is removed at the end: {error.strerror or error}"
    return CannotRunError(f"{message}; name a directory for the results (output)")


def plan_to_resume(directory: Path) -> StudyPlan:
    """The plan in ``directory``, whose runs can be gone on with.

    Raises:
        InputError: there is none, or it is of another format than this version writes.
    """
    plan = read_plan(directory)
    if plan.format < FORMAT:
        message = (
            f"these results can be read, but not gone on with: this version writes format {FORMAT}, and the runs "
            "of one experiment must be of one kind; begin anew"
        )
        raise InputError.at(f"{directory / STUDY}: format", message, plan.format)
    return plan


def make_directory(directory: Path) -> None:
    """Makes the directory of new results, and those above it.

    Raises:
        InputError: it exists, or cannot be made.
    """
    check_free(directory)
    try:
        make_above(directory)
        directory.mkdir()
    except OSError as error:
        raise InputError.at(Argument("output"), f"cannot be made: {error.strerror}", str(directory)) from None
