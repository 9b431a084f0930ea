"""An experiment with all its points and runs, from plan to results, interrupted and resumed at any time."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from waspbench import live
from waspbench.errors import Argument, InputError, RunFailedError, WaspError
from waspbench.experiment import Experiment, Mode, accept
from waspbench.experiment.conditions import Condition, all_of
from waspbench.experiment.inputs import Inputs, contents, digests, unchanged_contents
from waspbench.experiment.load import read
from waspbench.experiment.metrics import percentiles_of
from waspbench.experiment.model import known_in
from waspbench.experiment.sweep import Point, points, text_of, uncollected
from waspbench.experiment.units import exact
from waspbench.outcome import manifest_of, result_of
from waspbench.results import Reason, Result, RunSummary, check_free, populations_of
from waspbench.results.checks import judge
from waspbench.results.manifest import now, versions
from waspbench.results.reasons import reason_of
from waspbench.results.records import (
    RunRecord,
    failure_without_figures,
    forget_damaged,
    records_of,
    table_path,
    write_text,
)
from waspbench.results.shown import with_files
from waspbench.results.store import MANIFEST, read_table
from waspbench.results.study import StudyPlan, StudyPoint, StudyResult, study_result
from waspbench.results.summary import Invalid
from waspbench.runner.attempts import (
    FirstAttempt,
    disturbed_attempt,
    first_attempt,
    is_beyond_help,
    is_over,
    write_failure,
)
from waspbench.runner.job import Done, Job
from waspbench.runner.pipeline import Begun, Count, NothingMeasuredError, OnProgress, Pipeline
from waspbench.runner.schedule import Schedule, Task
from waspbench.runner.searches import FIRST_PILOT, LENGTHS, Searches
from waspbench.runner.timing import time_limit
from waspbench.stats.stopping import Until
from waspbench.testbed import machine
from waspbench.workload.serving import check_sites

Source = Experiment | Mapping[str, Any] | str | Path
"""An experiment, the content of an experiment file, or the path of one."""


def document_of(experiment: Source) -> Mapping[str, Any]:
    """The content of the file of ``experiment``.

    Raises:
        InputError: the file cannot be read, or it is no experiment of any kind.
    """
    if isinstance(experiment, Experiment):
        return experiment.model_dump(exclude_unset=True, by_alias=True)
    if isinstance(experiment, (str, Path)):
        return read(experiment)
    if isinstance(experiment, Mapping):
        return dict(experiment)
    message = "must be the path of an experiment file, its content as a mapping, or an Experiment"
    raise InputError.at(Argument("experiment"), message, experiment)


def prepare(
    document: Mapping[str, Any],
    directory: Path | None,
    *,
    mode: Mode | None = None,
    thresholds: Sequence[str] = (),
    server_cpus: str | None = None,
    emulator_cpus: str | None = None,
    part_of: StudyPlan | None = None,
) -> tuple[StudyPlan, list[Point]]:
    """The plan for the experiment file with the content ``document``, every point of it checked; nothing is written.
    Without a ``directory`` the results are to be returned only. An experiment that is ``part_of`` one begun before uses
    the same files.

    Raises:
        InputError: something is not valid.
        CannotRunError: this machine cannot do it.
    """
    found = points(document)
    first = found[0].experiment
    chosen, _ = live.choose_mode(mode, first)
    inputs = _contents([point.experiment for point in found], part_of)
    with uncollected():
        for point in found:
            accept(point.experiment, chosen, point.settings, inputs)
            live.check_access_log(point.experiment, chosen)
            check_sites(point.experiment, chosen)
    live.placement(chosen, server_cpus, emulator_cpus)
    for point in found:
        conditions(point.experiment, thresholds)
    if directory is not None:
        check_free(directory)
    plan = StudyPlan(
        id=uuid.uuid4().hex,
        created=now(),
        name=first.name,
        mode=chosen,
        seed=first.seed,
        document=dict(document),
        points=len(found),
        traces=digests(inputs.traces),
        files=digests(inputs.files),
        models=dict(inputs.models),
        directory=str(Path.cwd()) if part_of is None else part_of.directory,
        thresholds=list(thresholds),
        server_cpus=server_cpus,
        emulator_cpus=emulator_cpus,
        machine=machine.describe(),
        versions=versions(),
    )
    return plan, found


def _contents(experiments: Sequence[Experiment], part_of: StudyPlan | None) -> Inputs:
    """The contents of the files that experiments name."""
    if part_of is None:
        return contents(experiments)
    known = {**part_of.traces, **part_of.files}
    return unchanged_contents(experiments, known, Path(part_of.directory), part_of.models)


def conditions(experiment: Experiment, thresholds: Sequence[str]) -> list[Condition]:
    """The conditions of an experiment, and ``thresholds`` beside them.

    Raises:
        InputError: one is not valid.
    """
    return all_of(experiment.thresholds, thresholds, Argument("thresholds"), known_in(experiment))


class Study(Pipeline[StudyResult]):
    """An experiment in its directory, with all its points and runs."""

    def __init__(self, plan: StudyPlan, found: Sequence[Point], directory: Path, *, kept: bool = True) -> None:
        super().__init__(plan, found, directory, kept=kept)
        self._conditions = conditions(found[0].experiment, plan.thresholds)
        self._searches = Searches(self.directory_of)
        self._schedule = Schedule(0, 0)
        self._tasks: dict[tuple[int, int | None], Task] = {}
        self._first: dict[tuple[int, int | None], FirstAttempt] = {}
        self._made = 0
        self._failed = 0
        self._failure: WaspError | None = None

    def summarise(self) -> StudyResult:
        """Writes the manifest of every point that has a finished run, and returns the result, its checks included."""
        result = study_result(self.plan, self.directory, [self._summarised(point) for point in self.points])
        return result.model_copy(update={"checks": judge(result, self._conditions)})

    @property
    def empty(self) -> bool:
        """Whether there is nothing in the directory to go on from."""
        return not any(is_begun(self.directory_of(point.index)) for point in self.points)

    def _finished(self) -> StudyResult:
        result = self.summarise()
        records = [record for point in self.points for record in records_of(self.directory_of(point.index))]
        if any(record.summary and (record.failure is None or self.stopped) for record in records):
            return result if self._kept else with_files(result, self._given_away())
        if self.stopped:
            raise NothingMeasuredError
        raise self._failure or RunFailedError("no run was finished")

    # What is left to do.

    def _look(self) -> None:
        for point in self.points:
            forget_damaged(self.directory_of(point.index))
        self._schedule = self._planned()

    def _over(self) -> bool:
        return self._schedule.over

    def _next(self) -> tuple[Begun, Job, Experiment] | None:
        task = self._schedule.next()
        if task is None:
            return None
        self._tasks[_key(task)] = task
        job, point = self._job(task), self.points[task.point]
        if task.run is None:
            number, pilot = self._made, job.run - FIRST_PILOT + 1
        else:
            number, pilot = self._number(task.point, task.run, self._made), None
        begun = Begun(number, text_of(point.settings), job.attempt, job.earlier, pilot)
        return begun, job, point.experiment

    def _planned(self) -> Schedule:
        measure = self.points[0].experiment.measure
        finished: dict[tuple[int, int], float | None] = {}
        again, unready = [], []
        for point in self.points:
            # A run that failed or was stopped is kept until one takes its place.
            for record in records_of(self.directory_of(point.index)):
                key, summary = (point.index, record.run), record.summary
                if summary is not None and is_over(record, self._mode):
                    finished[key] = summary.throughput
                elif summary is not None and record.whole and (first := disturbed_attempt(summary, self._mode)):
                    again.append(key)
                    self._first[key] = first
            search = self._searches.open(point)
            if search is not None and search.found is None:
                unready.append(point.index)
        self._made = len(finished)
        schedule = Schedule(
            len(self.points),
            measure.runs,
            until=_until(self.points[0].experiment),
            order=measure.order,
            seed=self.plan.seed,
            finished=finished,
            again=again,
            unready=unready,
        )
        for index in unready:
            failure = self._searches.given_up(index)
            if failure is not None:
                self._fail_all(schedule, index, failure)
        return schedule

    def _job(self, task: Task) -> Job:
        experiment = self.points[task.point].experiment
        number, pilot = (task.run or 0), None
        if task.run is None:
            number, pilot = self._searches.pilot(task.point)
            number += FIRST_PILOT
        scenario = self._scenario(experiment, number)
        scenario["measure"] |= self._searches.measure(task.point, pilot)
        first = self._first.get(_key(task))
        return Job(
            point=task.point,
            run=number,
            scenario=scenario,
            directory=str(self.directory_of(task.point)),
            time_limit=time_limit(experiment, scenario),
            pilot=pilot,
            fields=self._searches.fields(task.point),
            attempt=task.attempt,
            earlier=() if first is None else first.wrong,
            first=None if first is None else first.figures,
        )

    # What became of it.

    def _take(self, done: Done) -> None:
        task = self._tasks[(done.job.point, None if done.job.pilot is not None else done.job.run)]
        if done.stopped:
            return  # it is not done, and what it measured is on the disk
        first = None if self.stopped else first_attempt(done, self._mode)
        if first is not None:
            self._first[_key(task)] = first
            if done.job.pilot is not None:
                self._searches.keep(task.point, done.pilot)
            self._schedule.again(task, at_once=done.error is not None)
        elif done.job.pilot is not None:
            self._take_pilot(task, done)
        else:
            self._take_run(task, done)

    def _take_run(self, task: Task, done: Done) -> None:
        assert task.run is not None
        self._made += 1
        if done.error is None:
            assert done.summary is not None
            self._schedule.done(task, done.summary.throughput)
            return
        record = self._fail(task.point, task.run, done.error, done.job.attempt)
        self._schedule.done(task, record.summary.throughput if record.whole and record.summary else None)
        if is_beyond_help(done.error) and not _has_figures(self.directory_of(task.point)):
            self._fail_all(self._schedule, task.point, done.error)

    def _fail(self, point: int, run: int, error: WaspError, attempts: int) -> RunRecord:
        """Writes, and returns, what is kept of a run that failed."""
        self._failure = self._failure or error
        record = write_failure(self.directory_of(point), run, error, attempts, self._first.get((point, run)))
        self._failed += record.summary is None
        return record

    def _take_pilot(self, task: Task, done: Done) -> None:
        self._first.pop(_key(task), None)
        failure = self._searches.tell(task.point, done.pilot, done.error)
        over = failure is not None or self._searches.is_over(task.point)
        self._schedule.done(task, more=not over)
        if failure is not None:
            self._fail_all(self._schedule, task.point, failure)

    def _fail_all(self, schedule: Schedule, point: int, error: WaspError) -> None:
        """Gives up the runs of a point that are not begun: none of them can go better."""
        for waiting in schedule.give_up(point):
            if waiting.run is not None:
                self._made += 1
                self._fail(point, waiting.run, error, 1)

    def _count(self) -> Count:
        return Count(self._made, self._schedule.left, self._failed)

    # Results.

    def _summarised(self, point: Point) -> StudyPoint:
        directory = self.directory_of(point.index)
        records = records_of(directory)
        finished = [record for record in records if record.summary is not None]
        if not finished:
            return StudyPoint(
                index=point.index, varied=point.settings, result=None, failure=failure_without_figures(records)
            )
        result = self._combined(point, records, finished)
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
        write_text(directory / MANIFEST, manifest.model_dump_json(indent=2) + "\n")
        return StudyPoint(index=point.index, varied=point.settings, result=result)

    def _combined(self, point: Point, records: Sequence[RunRecord], finished: Sequence[RunRecord]) -> Result:
        directory = self.directory_of(point.index)
        summaries: list[RunSummary] = [record.summary for record in finished if record.summary is not None]
        scenario = self._scenario(point.experiment, 0)
        scenario["measure"] |= self._searches.measure(point.index)
        missing, interrupted = self._missing(point, records)
        return result_of(
            point.experiment,
            scenario,
            summaries,
            [populations_of(read_table(table_path(directory, "histogram", run.run))) for run in summaries],
            testbed=finished[0].testbed,
            missing=missing,
            interrupted=interrupted,
            directory=str(directory),
            lengths=self._searches.found(point.index),
            judged_percentiles=percentiles_of(condition.metric for condition in self._conditions),
            models=self.plan.models,
        )

    def _missing(self, point: Point, records: Sequence[RunRecord]) -> tuple[Reason | None, bool]:
        """Why runs are missing or not whole, if any are, and whether some are still to be made."""
        until = _until(point.experiment)
        ended = {
            (0, record.run): record.summary.throughput if record.whole and record.summary else None
            for record in records
            if is_over(record, self._mode) or record.failure is not None
        }
        schedule = Schedule(1, point.experiment.measure.runs, until=until, finished=ended)
        failed = [record for record in records if record.failure is not None]
        if failed:
            first = failed[0]
            more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
            why = f"run {first.run + 1} failed{more}: {first.failure}"
            return reason_of(Invalid.of_package("failed", why), None), not schedule.over
        if schedule.over:
            return None, False
        total = f"{'at least ' if until else ''}{len(ended) + schedule.left}"
        message = f"stopped before all runs were made: {len(ended)} of {total}"
        return reason_of(Invalid.of_package("interrupted", message), None), True


def _key(task: Task) -> tuple[int, int | None]:
    return (task.point, task.run)


def is_begun(directory: Path) -> bool:
    """Whether a point has figures, or pilots of a search that has not given up."""
    return _has_figures(directory) or (not records_of(directory) and (directory / LENGTHS).exists())


def _has_figures(directory: Path) -> bool:
    return any(record.summary for record in records_of(directory))


def _until(experiment: Experiment) -> Until | None:
    measure = experiment.measure
    if measure.until is None:
        return None
    return Until(float(exact(measure.until.ci)), measure.runs, measure.until.max_runs)


def study(
    experiment: Source,
    *,
    output: str | Path | None = None,
    mode: Mode | None = None,
    jobs: int | None = None,
    server_cpus: str | None = None,
    emulator_cpus: str | None = None,
    on_progress: OnProgress | None = None,
) -> StudyResult:
    """Makes all runs of an experiment with a sweep, and returns the results of all points.

    A KeyboardInterrupt (Ctrl-C) ends the experiment early. The function returns what was measured so far, which is not
    ``complete``, and `resume` makes the other runs. If nothing was measured, the function raises the KeyboardInterrupt
    again.

    Args:
        experiment: the path of an experiment file, its content as a mapping, or an `Experiment`.
        output: new directory for the results. By default they are in a temporary directory, which is removed with the
            returned object.
        mode: live or sim. By default it is the experiment's own mode; if that is not set, it is live if this machine
            can measure live, and sim otherwise.
        jobs: number of runs of a simulated sweep to make at the same time, each in a process of its own. By default it
            is the number of CPUs. In other experiments, a number above 1 is an error.
        server_cpus: CPUs of the server in live runs, such as "0" or "0-1". By default WASP chooses them.
        emulator_cpus: CPUs of the emulator in live runs, which has one thread on each. By default WASP chooses one.
        on_progress: function that is called about once a second with a `StudyProgress`.

    Raises:
        InputError: an argument or the experiment is not valid.
        CannotRunError: this machine cannot make these runs, for example because live mode needs root.
        RunFailedError: all runs failed, or the experiment could not be finished. If finished runs were kept, `resume`
            makes the others.
    """
    document, directory = document_of(experiment), None if output is None else Path(output)
    plan, found = prepare(document, directory, mode=mode, server_cpus=server_cpus, emulator_cpus=emulator_cpus)
    return Study.begin(plan, found, directory).run(jobs=jobs, on_progress=on_progress)
