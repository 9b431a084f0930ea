"""An experiment with all its points and runs, from plan to results, interrupted and resumed at any time."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from waspbench import _core, live
from waspbench.errors import RunFailedError
from waspbench.experiment import Experiment, Mode, accept, resolve
from waspbench.experiment.load import read
from waspbench.experiment.sweep import Point, points, text_of, uncollected
from waspbench.experiment.units import exact
from waspbench.outcome import manifest_of, result_of
from waspbench.results import Reason, Result, RunSummary, check_free, populations_of
from waspbench.results.manifest import now, versions
from waspbench.results.records import RunRecord, missing_files, records_of, table_path, write_run, write_text
from waspbench.results.store import MANIFEST, read_table
from waspbench.results.study import JOURNAL, StudyPlan, StudyPoint, StudyResult, study_result
from waspbench.runner.campaign import Campaign, OnProgress, StudyProgress
from waspbench.runner.once import BOTTLENECKS, DISTURBANCES, Done, Job
from waspbench.runner.schedule import Schedule, Task
from waspbench.runner.searches import FIRST_PILOT, LENGTHS, Searches
from waspbench.runner.timing import OVERHEAD, length, time_limit
from waspbench.stats.stopping import Until
from waspbench.testbed import machine
from waspbench.workload.serving import check_log


def prepare(
    document: Mapping[str, Any],
    directory: Path,
    *,
    mode: Mode | None = None,
    thresholds: Sequence[str] = (),
    server_cpus: str | None = None,
    emulator_cpus: str | None = None,
) -> tuple[StudyPlan, list[Point]]:
    """The plan for the experiment file with the content ``document``, every point of it checked; nothing is written.

    Raises:
        InputError: something is not valid.
        CannotRunError: this machine cannot do it.
    """
    found = points(document)
    first = found[0].experiment
    chosen, _ = live.choose_mode(mode, first)
    with uncollected():
        for point in found:
            accept(point.experiment, chosen, point.settings)
            live.check_access_log(point.experiment, chosen)
            check_log(point.experiment)
    live.placement(chosen, server_cpus, emulator_cpus)
    check_free(directory)
    plan = StudyPlan(
        id=uuid.uuid4().hex,
        created=now(),
        name=first.name,
        mode=chosen,
        seed=first.seed,
        document=dict(document),
        points=len(found),
        thresholds=list(thresholds),
        server_cpus=server_cpus,
        emulator_cpus=emulator_cpus,
        machine=machine.describe(),
        versions=versions(),
    )
    return plan, found


class Study(Campaign):
    """A study in its directory. `begin` makes the directory or `open` finds it; `run` makes what is left."""

    def __init__(self, plan: StudyPlan, found: Sequence[Point], directory: Path) -> None:
        super().__init__(plan, found, directory)
        self._searches = Searches(self.place)
        self._earlier: dict[tuple[int, int | None], list[str]] = {}
        self._first: dict[tuple[int, int | None], RunSummary | None] = {}
        self._finished = 0
        self._failed = 0

    def run(self, *, jobs: int | None = None, on_progress: OnProgress | None = None) -> StudyResult:
        """Makes the runs that are missing, and returns the result of all.

        ``jobs`` is the number of processes of a simulated sweep; the CPUs unless given. After a KeyboardInterrupt what
        is finished is kept and marked, and the interrupt is raised again.

        Raises:
            RunFailedError: no run can be made any more, such as on a full disk. What is finished is kept.
        """
        self._forget_damaged()
        schedule = self._schedule()
        shown = on_progress or (lambda progress: None)
        task_of: dict[tuple[int, int | None], Task] = {}
        try:
            with self._executor(jobs, lambda sample: shown(self._progress(schedule, task_of, sample))) as executor:
                parallel = executor.room
                while not schedule.over:
                    while executor.room and (task := schedule.next()) is not None:
                        task_of.pop((task.point, task.run), None)  # the last is the one in progress
                        task_of[(task.point, task.run)] = task
                        executor.submit(self._job(task), self._spec(self.points[task.point].experiment))
                    for done in executor.collect(1.0):
                        self._take(schedule, task_of, done)
                    shown(self._progress(schedule, task_of, None, parallel))
        except BaseException:
            with suppress(RunFailedError):  # what ended it is the error to report; resuming writes the manifests
                self.summarise()
            raise
        return self.summarise()

    def summarise(self) -> StudyResult:
        """Writes the manifest of every point that has a finished run, and returns the result."""
        made = [self._summarised(point) for point in self.points]
        return study_result(self.plan, self.directory, made)

    @property
    def empty(self) -> bool:
        """Whether there is nothing in the directory to go on from."""
        return not any(map(_is_begun, map(self.place, range(len(self.points)))))

    def discard_if_empty(self) -> bool:
        """Removes the directory if it is `empty`, and says whether it did."""
        if not self.empty:
            return False
        shutil.rmtree(self.directory)
        return True

    # What is left to do.

    def _forget_damaged(self) -> None:
        """Removes the record of each run that has no figures or whose tables are damaged: it is made again."""
        for point in self.points:
            place = self.place(point.index)
            for record in records_of(place):
                if record.failure is not None or missing_files(place, record):
                    (place / "runs" / f"run-{record.run}.json").unlink()

    def _schedule(self) -> Schedule:
        measure = self.points[0].experiment.measure
        finished: dict[tuple[int, int], float | None] = {}
        unready = []
        for point in self.points:
            place = self.place(point.index)
            for record in records_of(place):
                finished[(point.index, record.run)] = record.summary.throughput if record.summary else None
            search = self._searches.open(point)
            if search is not None and search.found is None:
                unready.append(point.index)
        self._finished = len(finished)
        schedule = Schedule(
            len(self.points),
            measure.runs,
            until=_until(self.points[0].experiment),
            order=measure.order,
            seed=self.plan.seed,
            finished=finished,
            unready=unready,
        )
        for index in unready:
            given_up = self._searches.given_up(index)
            if given_up is not None:
                self._fail_all(schedule, index, given_up)
        return schedule

    def _job(self, task: Task) -> Job:
        experiment = self.points[task.point].experiment
        number, pilot = (task.run or 0), None
        if task.run is None:
            number, pilot = self._searches.pilot(task.point)
            number += FIRST_PILOT
        scenario = resolve(experiment, number, mode=self._mode)
        scenario["measure"] |= self._searches.measure(task.point, pilot)
        return Job(
            point=task.point,
            run=number,
            scenario=scenario,
            directory=str(self.place(task.point)),
            time_limit=time_limit(experiment, scenario),
            pilot=pilot,
            fields=self._searches.fields(task.point),
            attempt=task.attempt,
            earlier=tuple(self._earlier.get((task.point, task.run), ())),
            first=self._first.get((task.point, task.run)),
        )

    # What became of it.

    def _take(self, schedule: Schedule, task_of: dict[tuple[int, int | None], Task], done: Done) -> None:
        run = None if done.job.pilot is not None else done.job.run
        task = task_of[(done.job.point, run)]
        self._log(task, done)
        self._ended(done)
        wrong = _wrong(done, self._mode)
        if wrong and task.attempt == 1:
            self._earlier[(task.point, task.run)] = wrong
            self._first[(task.point, task.run)] = done.summary
            if done.job.pilot is not None:
                self._searches.keep(task.point, done.pilot)
            schedule.done(task, again=True)
            return
        if done.job.pilot is not None:
            self._take_pilot(schedule, task, done)
            return
        throughput = done.summary.throughput if done.summary else self._kept(task, done)
        self._finished += 1
        schedule.done(task, throughput)

    def _kept(self, task: Task, done: Done) -> float | None:
        """After a failed second attempt: the first one's figures, if it has any, or else a record of the failure."""
        assert task.run is not None
        place = self.place(task.point)
        before = [record for record in records_of(place) if record.run == task.run and record.summary is not None]
        if before and before[0].summary is not None:
            return before[0].summary.throughput
        self._fail(task.point, task.run, done.failure or "failed", done.job.attempt)
        return None

    def _fail(self, point: int, run: int, failure: str, attempts: int) -> None:
        self._failed += 1
        earlier = self._earlier.get((point, run), [])
        record = RunRecord(run=run, attempts=attempts, earlier=earlier, failure=failure, summary=None)
        write_run(self.place(point), record, {})

    def _take_pilot(self, schedule: Schedule, task: Task, done: Done) -> None:
        self._earlier.pop((task.point, None), None)
        self._first.pop((task.point, None), None)
        failure = self._searches.tell(task.point, done.pilot, done.failure)
        over = failure is not None or self._searches.is_over(task.point)
        schedule.done(task, more=not over)
        if failure is not None:
            self._fail_all(schedule, task.point, failure)

    def _fail_all(self, schedule: Schedule, point: int, failure: str) -> None:
        """Gives up the runs of a point whose lengths were not found."""
        for waiting in schedule.give_up(point):
            if waiting.run is not None:
                self._finished += 1
                self._fail(point, waiting.run, failure, 1)

    def _log(self, task: Task, done: Done) -> None:
        entry = {
            "at": now(),
            "point": task.point,
            "run": task.run,
            "attempt": task.attempt,
            "seconds": round(done.seconds, 3),
            "failure": done.failure,
        }
        try:
            with (self.directory / JOURNAL).open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        except OSError as error:
            message = f"{self.directory / JOURNAL}: cannot be written: {error.strerror}"
            raise RunFailedError(message, self._with_results) from None

    def _progress(
        self,
        schedule: Schedule,
        task_of: Mapping[tuple[int, int | None], Task],
        sample: _core.Sample | None,
        parallel: int = 1,
    ) -> StudyProgress:
        done = self._finished
        left = self._time_left(schedule.left, parallel, self._expected())
        last = list(task_of.values())[-1] if task_of else None
        at = "" if last is None else text_of(self.points[last.point].settings)
        is_pilot = last is not None and last.run is None and not self._searches.is_over(last.point)
        pilot = self._searches.pilot(last.point)[0] + 1 if last is not None and is_pilot else None
        return StudyProgress(done, done + schedule.left, self._failed, left, at, sample, pilot)

    def _expected(self) -> float | None:
        """Seconds that a live run takes; None in simulation, where only the first can tell."""
        return None if self._mode == "sim" else length(self.points[0].experiment) + OVERHEAD

    # Results.

    def _summarised(self, point: Point) -> StudyPoint:
        place = self.place(point.index)
        records = records_of(place)
        finished = [record for record in records if record.summary is not None]
        if not finished:
            return StudyPoint(index=point.index, varied=point.settings, result=None)
        result = self._result(point, records, finished)
        manifest = manifest_of(
            point.experiment,
            result,
            created=self.plan.created,
            testbed=finished[0].testbed,
            tables=list(finished[0].files),
            host=self.plan.machine,
            made_with=self.plan.versions,
            varied=point.settings,
        )
        write_text(place / MANIFEST, manifest.model_dump_json(indent=2) + "\n")
        return StudyPoint(index=point.index, varied=point.settings, result=result)

    def _result(self, point: Point, records: Sequence[RunRecord], finished: Sequence[RunRecord]) -> Result:
        place = self.place(point.index)
        summaries: list[RunSummary] = [record.summary for record in finished if record.summary is not None]
        scenario = resolve(point.experiment, 0, mode=self._mode)
        scenario["measure"] |= self._searches.measure(point.index)
        missing = self._missing(point, records)
        return result_of(
            point.experiment,
            scenario,
            summaries,
            [populations_of(read_table(table_path(place, "histogram", run.run))) for run in summaries],
            testbed=finished[0].testbed,
            missing=missing,
            interrupted=missing is not None and missing.code == "interrupted",
            place=str(place),
            lengths=self._searches.found(point.index),
        )

    def _missing(self, point: Point, records: Sequence[RunRecord]) -> Reason | None:
        failed = [record for record in records if record.failure is not None]
        if failed:
            first = failed[0]
            more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
            return Reason(run=None, code="failed", message=f"run {first.run + 1} failed{more}: {first.failure}")
        values = {(0, record.run): record.summary.throughput for record in records if record.summary is not None}
        schedule = Schedule(1, point.experiment.measure.runs, until=_until(point.experiment), finished={**values})
        if schedule.over:
            return None
        message = f"stopped before all runs were made: {len(values)} of at least {len(values) + schedule.left}"
        return Reason(run=None, code="interrupted", message=message)


def _is_begun(place: Path) -> bool:
    """Whether a point has a finished run, or pilots of a search that has not given up."""
    records = records_of(place)
    return any(record.summary for record in records) or (not records and (place / LENGTHS).exists())


def _wrong(done: Done, mode: Mode) -> list[str]:
    """What is wrong with a run that a second attempt could do better: it failed, or the machine disturbed it. A
    simulated run would only repeat itself, and whoever made runs again for what their transactions did would select
    them.
    """
    if done.failure is not None:
        return [done.failure]
    if mode == "sim" or done.summary is None:
        return []
    return [reason.message for reason in done.summary.invalid if reason.code in DISTURBANCES | BOTTLENECKS]


def _until(experiment: Experiment) -> Until | None:
    measure = experiment.measure
    if measure.until is None:
        return None
    return Until(float(exact(measure.until.ci)), measure.runs, measure.until.max_runs)


def study(
    experiment: Mapping[str, Any] | str | Path,
    *,
    output: str | Path,
    mode: Mode | None = None,
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
) -> StudyResult:
    """Makes every run of an experiment with a sweep, into the new directory ``output``.

    Args:
        experiment: the content of an experiment file, or the path of one.
        output: directory to make.
        mode: live or sim; unless given the experiment's own, else live where this machine can do it.
        jobs: processes side by side in simulation; the CPUs unless given.
        on_progress: called about once a second.

    Raises:
        InputError: something is not valid.
        CannotRunError: this machine cannot do it.
        RunFailedError: it could not be finished; `resume` goes on.
    """
    document = read(experiment) if isinstance(experiment, (str, Path)) else experiment
    plan, found = prepare(document, Path(output), mode=mode)
    return Study.begin(plan, found, Path(output)).run(jobs=jobs, on_progress=on_progress)


def resume(directory: str | Path, *, jobs: int | None = None, on_progress: OnProgress | None = None) -> StudyResult:
    """Makes the runs that are missing in a study's directory. For the errors see `study`."""
    return Study.open(Path(directory)).run(jobs=jobs, on_progress=on_progress)
