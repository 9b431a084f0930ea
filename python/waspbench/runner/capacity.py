"""Finding a server's capacity: the runs that `waspbench.stats.capacity` asks for, at every point of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from waspbench.errors import Argument, CannotRunError, InputError, Problem, RunFailedError, WaspError, renamed
from waspbench.experiment import Experiment, Mode, parse
from waspbench.experiment.capacity_table import field_of_table
from waspbench.experiment.conditions import objective
from waspbench.experiment.metrics import percentiles
from waspbench.experiment.search import Search, search_of_table
from waspbench.experiment.sweep import Point, text_of
from waspbench.results import RunSummary
from waspbench.results.access_log import log_path
from waspbench.results.bottleneck import rates_of
from waspbench.results.capacity import CAPACITY, CapacityResult
from waspbench.results.capacity_checks import at_least
from waspbench.results.checks import needs_more
from waspbench.results.loads import LoadReading, load_directory, load_text
from waspbench.results.records import (
    RunRecord,
    forget_damaged,
    forget_run,
    read_record,
    record_path,
    records_of,
    write_text,
)
from waspbench.results.shown import with_files
from waspbench.results.study import StudyPlan
from waspbench.runner.attempts import (
    FirstAttempt,
    disturbed_attempt,
    first_attempt,
    is_beyond_help,
    is_over,
    write_failure,
)
from waspbench.runner.capacity_plan import Machine, machine_of, most_of, prepare_capacity, said, search_of
from waspbench.runner.capacity_result import point_capacity
from waspbench.runner.job import Done, Job
from waspbench.runner.load import with_load
from waspbench.runner.pipeline import Begun, Count, NothingMeasuredError, OnProgress, Pipeline, check_servers
from waspbench.runner.readings import reading_of, unmade
from waspbench.runner.run_lengths import SHORT_BY, RunLengths
from waspbench.runner.study import Source, document_of
from waspbench.runner.timing import time_limit
from waspbench.stats.capacity import CapacitySweep, Reading
from waspbench.topology import resolved


@dataclass
class _SearchedPoint:
    """A point while its capacity is searched."""

    point: Point
    machine: Machine
    lengths: RunLengths
    """How long its runs are."""
    rates: Mapping[tuple[str, str], int]
    """Rates of its links between nodes."""
    readings: list[LoadReading] = field(default_factory=list)
    running: bool = False
    first: FirstAttempt | None = None
    """The first attempt at the present run, where this is the second."""
    lengthened: bool = False
    """Whether the present run was made before, and was too short."""
    given_up: bool = False
    """Whether what is asked for is at fault, so that no other load can go better."""

    @property
    def next_load(self) -> float | None:
        """The load of the next run; None when the search is over."""
        return None if self.given_up else self.machine.next_load()


class CapacityStudy(Pipeline[CapacityResult]):
    """A search for capacity in its directory."""

    def __init__(self, plan: StudyPlan, found: Sequence[Point], directory: Path, *, kept: bool = True) -> None:
        super().__init__(plan, found, directory, kept=kept)
        self.search = search_of(plan)
        self._objectives = [objective(text, Argument("search.objectives")) for text in self.search.objectives]
        self._searched = self._all_anew()
        self._failure: WaspError | None = None

    def _all_anew(self) -> list[_SearchedPoint]:
        runs = self.points[0].experiment.measure.runs
        return [
            _SearchedPoint(
                point,
                machine_of(self.search, runs),
                RunLengths(point.experiment.measure, self._objectives, self.search.find),
                self._rates(point),
            )
            for point in self.points
        ]

    def _rates(self, point: Point) -> Mapping[tuple[str, str], int]:
        network = point.experiment.network
        has_none = network.kind == "star" and not network.cross_traffic
        return {} if has_none else rates_of(resolved(point.experiment, self._inputs))

    @classmethod
    def _check_servers(cls, plan: StudyPlan, found: Sequence[Point]) -> None:
        search = search_of(plan)
        check_servers(plan, [with_load(point.experiment, search.low, search.find) for point in found])
        most = most_of(search, found[0].experiment)
        high = Argument("search.high")
        try:
            check_servers(plan, [with_load(point.experiment, most, search.find) for point in found])
        except InputError as error:
            shown = said(most, search)
            raise InputError(Problem(high, str(problem), shown, True) for problem in error.problems) from None
        except CannotRunError as error:
            raise CannotRunError(f"{said(most, search)}: {error}", high) from None

    def summarise(self) -> CapacityResult:
        """Writes ``capacity.json`` and returns it."""
        made = [
            point_capacity(
                searched.point,
                searched.machine.found(),
                searched.readings,
                self.search,
                self._mode,
                self.directory_of(searched.point.index),
                over=searched.next_load is None,
                inputs=self._inputs,
            )
            for searched in self._searched
        ]
        complete = all(searched.next_load is None for searched in self._searched)
        result = CapacityResult(
            name=self.plan.name,
            mode=self.plan.mode,
            seed=self.plan.seed,
            method=self.search.method,
            find=self.search.find,
            objectives=list(self.search.objectives),
            complete=complete,
            valid=complete and all(point.valid for point in made),
            points=made,
            percentiles=percentiles(self.points[0].experiment.measure.percentiles),
        )
        if self.search.at_least is not None:
            result = result.model_copy(update={"checks": at_least(result, self.search.at_least)})
        write_text(self.directory / CAPACITY, result.model_dump_json(indent=2) + "\n")
        return result.model_copy(update={"results": str(self.directory)})

    @property
    def empty(self) -> bool:
        """Whether no run has figures."""
        return not any(read_record(path).summary for path in self.directory.rglob("runs/run-*.json"))

    def _finished(self) -> CapacityResult:
        if all(reading.unmade for searched in self._searched for reading in searched.readings):
            if not self.stopped:
                raise self._failure or RunFailedError("no run was finished")
            if self.empty:
                raise NothingMeasuredError
        result = self.summarise()
        return result if self._kept else with_files(result, self._given_away())

    def _look(self) -> None:
        self._searched = self._all_anew()  # an interrupt may have come while it was told of earlier runs
        for searched in self._searched:
            for folder in self.directory_of(searched.point.index).glob("load-*"):
                forget_damaged(folder)
            self._remember(searched)

    def _over(self) -> bool:
        return all(searched.next_load is None for searched in self._searched)

    def _next(self) -> tuple[Begun, Job, Experiment] | None:
        for searched in self._searched:
            if not searched.running and (load := self._remember(searched)) is not None:
                return self._begun(searched, load)
        return None

    def _begun(self, searched: _SearchedPoint, load: float) -> tuple[Begun, Job, Experiment]:
        searched.running = True
        job = self._job(searched, load)
        if searched.lengthened:
            log_path(Path(job.directory), job.run).unlink(missing_ok=True)
        at = f"{text_of(searched.point.settings)} {load_text(load, self.search.find)}".strip()
        number = self._number(job.point, job.run, self._made)
        begun = Begun(number, at, job.attempt, self._why_again(searched, job))
        return begun, job, self._at(searched, load)

    def _at(self, searched: _SearchedPoint, load: float) -> Experiment:
        """A point's experiment at a load."""
        return with_load(searched.point.experiment, load, self.search.find)

    def _remember(self, searched: _SearchedPoint) -> float | None:
        """Tells a point's search of the runs that it asks for and that were made before; the load that is next."""
        while (load := searched.next_load) is not None and (record := self._known(searched, load)) is not None:
            self._tell(searched, load, record)
        return load

    def _folder(self, searched: _SearchedPoint, load: float) -> Path:
        return load_directory(self.directory_of(searched.point.index), load)

    def _path(self, searched: _SearchedPoint, load: float) -> Path:
        """Where the record of the run that is next is."""
        return record_path(self._folder(searched, load), len(searched.readings))

    def _known(self, searched: _SearchedPoint, load: float) -> RunRecord | None:
        """The record of the run that is next, if it was made before and is not to be made again. If it is, ``searched``
        has why, and how long it is to be.
        """
        path = self._path(searched, load)
        record = read_record(path) if path.exists() else None
        if record is None or record.summary is None or not record.whole:
            return None
        searched.lengths.remember(load, record.summary)
        if not is_over(record, self._mode):
            searched.first = disturbed_attempt(record.summary, self._mode)
            return None
        return None if self._lengthened(searched, load, record.summary) else record

    def _lengthened(self, searched: _SearchedPoint, load: float, summary: RunSummary) -> bool:
        """Whether a run is to be made again for longer; then ``searched`` has the lengths."""
        again = searched.lengths.lengthen(load, summary, self._folder(searched, load), searched.machine.may_leave_open)
        searched.lengthened = searched.lengthened or again
        return again

    def _job(self, searched: _SearchedPoint, load: float) -> Job:
        experiment = self._at(searched, load)
        run, first = len(searched.readings), searched.first
        scenario = self._scenario(experiment, run)
        scenario["measure"] |= searched.lengths.at(load)
        return Job(
            point=searched.point.index,
            run=run,
            scenario=scenario,
            directory=str(self._folder(searched, load)),
            time_limit=time_limit(experiment, scenario),
            attempt=1 if first is None else 2,
            earlier=() if first is None else first.wrong,
            first=None if first is None else first.figures,
            load=load,
        )

    def _take(self, done: Done) -> None:
        searched = self._searched[done.job.point]
        load = done.job.load
        assert load is not None
        searched.running = False
        if done.stopped:
            return
        searched.lengthened = searched.lengthened and done.error is not None
        first = None if self.stopped else first_attempt(done, self._mode)
        if first is not None:
            searched.first = first
            return
        record = self._failed(searched, done) if done.error is not None else read_record(self._path(searched, load))
        searched.first, searched.lengthened = None, False
        if record.summary is None or not record.whole or not self._lengthened(searched, load, record.summary):
            self._tell(searched, load, record)
        figures = record.whole or any(not reading.unmade for reading in searched.readings)
        searched.given_up = is_beyond_help(done.error) and not figures

    def _failed(self, searched: _SearchedPoint, done: Done) -> RunRecord:
        """Writes, and returns, what is kept of a run that failed. Figures of one that was too short do not stand for
        it.
        """
        assert done.error is not None
        job, folder = done.job, Path(done.job.directory)
        self._failure = self._failure or done.error
        for before in records_of(folder):
            if searched.lengthened and before.run == job.run and before.whole:
                forget_run(folder, before)
        return write_failure(folder, job.run, done.error, job.attempt, searched.first)

    def _why_again(self, searched: _SearchedPoint, job: Job) -> tuple[str, ...]:
        if searched.lengthened and not job.earlier:
            measure = job.scenario["measure"]
            return (f"it was too short; now {measure['duration']} after a warm-up of {measure['warmup']}",)
        return job.earlier

    def _tell(self, searched: _SearchedPoint, load: float, record: RunRecord) -> None:
        summary, machine = record.summary, searched.machine
        confirming = not isinstance(machine, CapacitySweep) and machine.phase() == "confirm"
        if summary is None or not record.whole:
            reading = unmade(record, load, confirming=confirming)
        else:
            reading = reading_of(
                record,
                summary,
                load,
                self._objectives,
                searched.point.experiment,
                self._mode,
                self._folder(searched, load),
                confirming=confirming,
                may_leave_open=machine.may_leave_open,
                rates=searched.rates,
            )
        searched.readings.append(reading)
        machine.tell(
            Reading(
                load,
                reading.throughput,
                reading.meets,
                reading.counts,
                failed=reading.failed,
                tells_from=self._tells_from(load, summary) if reading.meets is None else None,
                ratio=reading.ratio,
            )
        )

    def _tells_from(self, load: float, summary: RunSummary | None) -> float | None:
        """The load from which on a run as long as one at ``load`` may have enough transactions, or nearly."""
        # Where sessions are too long, a higher load has no more of them.
        asked = [each.metric for each in self._objectives if not each.metric.sessions]
        found = [] if summary is None else [needs_more(summary, metric) for metric in asked]
        return max((load * more / SHORT_BY for more in found if more is not None), default=None)

    def _count(self) -> Count:
        failed = sum(reading.unmade for searched in self._searched for reading in searched.readings)
        return Count(self._made, sum(self._runs_left(searched) for searched in self._searched), failed)

    @property
    def _made(self) -> int:
        return sum(len(searched.readings) for searched in self._searched)

    def _runs_left(self, searched: _SearchedPoint) -> int:
        """Runs at most until a point's search is over."""
        return 0 if searched.next_load is None else searched.machine.most - len(searched.readings)


def capacity(
    experiment: Source,
    *,
    output: str | Path | None = None,
    search: Search | None = None,
    mode: Mode | None = None,
    jobs: int | None = None,
    server_cpus: str | None = None,
    emulator_cpus: str | None = None,
    on_progress: OnProgress | None = None,
) -> CapacityResult:
    """Searches for the capacity of the server at every point of an experiment. It does not judge the conditions of
    ``assert``, as a search has objectives.

    A KeyboardInterrupt (Ctrl-C) ends it early, as it ends `waspbench.study`.

    Args:
        experiment: the path of an experiment file, its content as a mapping, or an `Experiment`.
        output: new directory for the results. By default they are in a temporary directory, which is removed with the
            returned object.
        search: what to look for, and how. By default the experiment's ``capacity`` says it; without one, WASP searches
            for the largest throughput.
        mode: live or sim. By default it is the experiment's own mode; if that is not set, it is live if this machine
            can measure live, and sim otherwise.
        jobs: number of points of a simulated sweep to search at the same time, each in a process of its own. By default
            it is the number of CPUs. In other experiments, a number above 1 is an error.
        server_cpus: CPUs of the server in live runs, such as "0" or "0-1". By default WASP chooses them.
        emulator_cpus: CPUs of the emulator in live runs, which has one thread on each. By default WASP chooses one.
        on_progress: function that is called about once a second with a `StudyProgress`.

    Raises:
        InputError: an argument or the experiment is not valid.
        CannotRunError: this machine cannot make these runs, for example because live mode needs root.
        RunFailedError: all runs failed, or the search could not be finished. If finished runs were kept,
            `waspbench.resume` makes the others.
    """
    document, directory = document_of(experiment), None if output is None else Path(output)
    if not isinstance(search, Search | None):
        raise InputError.at(
            Argument("search"), 'must be a Search, such as Search(find="clients", objectives="p99 < 1s")'
        )
    with nullcontext() if search else renamed(field_of_table):
        plan, found = prepare_capacity(
            document,
            directory,
            search or search_of_table(parse(document).capacity),
            mode=mode,
            server_cpus=server_cpus,
            emulator_cpus=emulator_cpus,
        )
        begun = CapacityStudy.begin(plan, found, directory)
    return begun.run(jobs=jobs, on_progress=on_progress)
