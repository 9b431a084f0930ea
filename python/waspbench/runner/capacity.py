"""Finding a server's capacity: the runs that `waspbench.stats.capacity` asks for, at every point of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from waspbench.errors import Argument, CannotRunError, InputError, Problem, RunFailedError, WaspError
from waspbench.experiment import Clients, Experiment, Mode, accept, resolve
from waspbench.experiment.conditions import Condition, objective
from waspbench.experiment.metrics import percentiles, percentiles_of
from waspbench.experiment.search import Search
from waspbench.experiment.sweep import Point, text_of
from waspbench.experiment.units import AUTO, duration, seconds
from waspbench.results import RunSummary, errors
from waspbench.results.access_log import log_path
from waspbench.results.bottleneck import bottleneck_of
from waspbench.results.capacity import (
    CAPACITY,
    EXCUSED,
    SATURATED,
    CapacityResult,
    LoadReading,
    PointCapacity,
    load_directory,
    readings_at,
)
from waspbench.results.checks import lacking, needs_more, run_value
from waspbench.results.estimates import with_percentiles
from waspbench.results.lengths import Want
from waspbench.results.reasons import advice_of
from waspbench.results.records import (
    RunRecord,
    forget_damaged,
    forget_run,
    read_record,
    record_path,
    records_of,
    table_path,
    write_text,
)
from waspbench.results.store import NEEDED, populations_of, read_table
from waspbench.results.study import StudyPlan
from waspbench.results.summary import RunResponseTime
from waspbench.runner.attempts import (
    FirstAttempt,
    disturbed_attempt,
    first_attempt,
    is_beyond_help,
    is_over,
    write_failure,
)
from waspbench.runner.job import BOTTLENECKS, Done, Job
from waspbench.runner.lengths import LONGEST, longer
from waspbench.runner.pilots import FEW, wants_of
from waspbench.runner.pipeline import Begun, Count, NothingMeasuredError, OnProgress, Pipeline, check_servers
from waspbench.runner.study import Source, document_of, prepare
from waspbench.runner.timing import time_limit
from waspbench.stats.capacity import BoundsError, CapacitySearch, CapacitySweep, Reading

TOO_SHORT = frozenset({"censored", "silent", "cycles"})
"""Reasons against a run after which it is made again with a longer interval."""


@dataclass
class _Place:
    """A point while its capacity is searched."""

    point: Point
    machine: CapacitySearch | CapacitySweep
    readings: list[LoadReading] = field(default_factory=list)
    running: bool = False
    first: FirstAttempt | None = None
    """The first attempt at the present run, where this is the second."""
    lengthened: bool = False
    """Whether the present run was made before, and was too short."""
    given_up: bool = False
    """Whether what is asked for is at fault, so that no other load can go better."""
    seconds: dict[int, float] = field(default_factory=dict)
    """Length of the measured interval by load, where the file's was too short for the longest transactions."""

    @property
    def next_load(self) -> int | None:
        """The load of the next run; None when the search is over."""
        return None if self.given_up else self.machine.next_load()


def prepare_capacity(
    document: Mapping[str, Any],
    directory: Path,
    search: Search,
    *,
    mode: Mode | None = None,
    server_cpus: str | None = None,
    emulator_cpus: str | None = None,
) -> tuple[StudyPlan, list[Point]]:
    """The plan of a search at every point of an experiment; nothing is written. For the errors see
    `waspbench.runner.study.prepare`.
    """
    plan, found = prepare(document, directory, mode=mode, server_cpus=server_cpus, emulator_cpus=emulator_cpus)
    for point in found:
        names = [group.name for group in point.experiment.clients]
        objectives = tuple(objective(text, Argument("search.objectives"), names).text for text in search.objectives)
    for path in found[0].settings:
        if path.startswith("clients") and path.endswith(".count"):
            raise InputError.at(f"sweep.{path}", "is what a search for capacity varies; leave it out")
    measure = found[0].experiment.measure
    automatic = [(name, getattr(measure, name) == AUTO) for name in ("warmup", "duration")]
    for name, used in (*automatic, ("until", measure.until is not None)):
        if used:
            raise InputError.at(f"measure.{name}", "a search for capacity does not follow it; leave it out or set it")
    for group in (group for point in found for group in point.experiment.clients):
        if group.arrivals is not None:
            message = "an open loop's rate does not follow the number of clients, which is what a search varies"
            raise InputError.at(f"{group.path}.arrivals", message)
    groups = max(len(point.experiment.clients) for point in found)
    if search.low < groups:
        raise InputError.at(Argument("search.low"), f"must be at least {groups}, one client for each group", search.low)
    most = _most(search, found[0].experiment)
    for point in found:
        _check_load(with_load(point.experiment, most), most, "live" if plan.mode == "live" else "sim")
    asked = {**vars(search), "objectives": list(objectives)}
    return plan.model_copy(update={"kind": "capacity", "search": asked}), found


def machine_of(search: Search, runs: int) -> CapacitySearch | CapacitySweep:
    """The state machine that says what to run.

    Raises:
        InputError: its bounds are not valid.
    """
    try:
        if search.method == "sweep":
            return CapacitySweep(search.low, search.high, runs)
        return CapacitySearch(search.low, search.high, search.most, search.confirm)
    except BoundsError as error:
        raise InputError.at(Argument(f"search.{error.field}"), error.message, error.value) from None


def with_load(experiment: Experiment, load: int) -> Experiment:
    """``experiment`` with ``load`` clients in all, shared among its groups as in the file. Background groups stay as
    they are, and are not counted.
    """
    measured = [group for group in experiment.clients if not group.background]
    total = sum(group.count for group in measured)
    counts = {group.name: max(1, load * group.count // total) for group in measured}
    # What rounding down left over goes to the first groups; what a group's one client took comes from the largest.
    counts[max(counts, key=lambda name: counts[name])] += load - sum(counts.values())
    changed: list[Clients] = [
        group.model_copy(update={"count": counts.get(group.name, group.count)}) for group in experiment.clients
    ]
    return experiment.model_copy(update={"clients": changed})


def _search_of(plan: StudyPlan) -> Search:
    asked = dict(plan.search)
    return Search(**{**asked, "objectives": tuple(asked["objectives"])})


def _most(search: Search, experiment: Experiment) -> int:
    """The most clients that a search can ask for."""
    machine = machine_of(search, experiment.measure.runs)
    return machine.loads()[-1] if isinstance(machine, CapacitySweep) else search.high


def _check_load(experiment: Experiment, load: int, mode: Mode) -> None:
    try:
        accept(experiment, mode)
    except InputError as error:
        high = Argument("search.high")
        raise InputError(Problem(high, str(problem), load, True) for problem in error.problems) from None


class CapacityStudy(Pipeline[CapacityResult]):
    """A search for capacity in its directory."""

    def __init__(self, plan: StudyPlan, found: Sequence[Point], directory: Path, *, kept: bool = True) -> None:
        super().__init__(plan, found, directory, kept=kept)
        self.search = _search_of(plan)
        self._objectives = [objective(text, Argument("search.objectives")) for text in self.search.objectives]
        self._places = self._new_places()
        self._failure: WaspError | None = None

    def _new_places(self) -> list[_Place]:
        runs = self.points[0].experiment.measure.runs
        return [_Place(point, machine_of(self.search, runs)) for point in self.points]

    @classmethod
    def _check_servers(cls, plan: StudyPlan, found: Sequence[Point]) -> None:
        search = _search_of(plan)
        check_servers(plan, [with_load(point.experiment, search.low) for point in found])
        most = _most(search, found[0].experiment)
        high = Argument("search.high")
        try:
            check_servers(plan, [with_load(point.experiment, most) for point in found])
        except InputError as error:
            raise InputError(Problem(high, str(problem), most, True) for problem in error.problems) from None
        except CannotRunError as error:
            raise CannotRunError(f"{most}: {error}", high) from None

    def summarise(self) -> CapacityResult:
        """Writes ``capacity.json`` and returns it."""
        made = [self._point(place) for place in self._places]
        complete = all(place.next_load is None for place in self._places)
        result = CapacityResult(
            name=self.plan.name,
            mode=self.plan.mode,
            seed=self.plan.seed,
            method=self.search.method,
            objectives=list(self.search.objectives),
            complete=complete,
            valid=complete and all(point.valid for point in made),
            points=made,
            percentiles=percentiles(self.points[0].experiment.measure.percentiles),
        )
        write_text(self.directory / CAPACITY, result.model_dump_json(indent=2) + "\n")
        return result.model_copy(update={"results": str(self.directory)})

    @property
    def empty(self) -> bool:
        """Whether no run has figures."""
        return not any(read_record(path).summary for path in self.directory.rglob("runs/run-*.json"))

    def _finished(self) -> CapacityResult:
        if any(not reading.unmade for place in self._places for reading in place.readings):
            return self.summarise()
        if not self.stopped:
            raise self._failure or RunFailedError("no run was finished")
        if self.empty:
            raise NothingMeasuredError
        return self.summarise()

    def _look(self) -> None:
        self._places = self._new_places()  # an interrupt may have come while it was told of earlier runs
        for place in self._places:
            for folder in self.place(place.point.index).glob("load-*"):
                forget_damaged(folder)
            self._remember(place)

    def _over(self) -> bool:
        return all(place.next_load is None for place in self._places)

    def _next(self) -> tuple[Begun, Job, Experiment] | None:
        for place in self._places:
            if not place.running and (load := self._remember(place)) is not None:
                return self._begun(place, load)
        return None

    def _begun(self, place: _Place, load: int) -> tuple[Begun, Job, Experiment]:
        place.running = True
        job = self._job(place, load)
        if place.lengthened:
            log_path(Path(job.directory), job.run).unlink(missing_ok=True)
        at = f"{text_of(place.point.settings)} load={load}".strip()
        number = self._number(job.point, job.run, self._made)
        begun = Begun(number, at, job.attempt, self._why_again(place, job))
        return begun, job, with_load(place.point.experiment, load)

    def _remember(self, place: _Place) -> int | None:
        """Tells a point's search of the runs that it asks for and that were made before; the load that is next."""
        while (load := place.next_load) is not None and (record := self._known(place, load)) is not None:
            self._tell(place, load, record)
        return load

    def _folder(self, place: _Place, load: int) -> Path:
        return load_directory(self.place(place.point.index), load)

    def _path(self, place: _Place, load: int) -> Path:
        """Where the record of the run that is next is."""
        return record_path(self._folder(place, load), len(place.readings))

    def _known(self, place: _Place, load: int) -> RunRecord | None:
        """The record of the run that is next, if it was made before and is not to be made again. If it is, ``place``
        has why, and how long it is to be.
        """
        path = self._path(place, load)
        record = read_record(path) if path.exists() else None
        if record is None or record.summary is None or not record.whole:
            return None
        made, asked = record.summary.interval_s, seconds(place.point.experiment.measure.duration)
        if made > asked:
            place.seconds[load] = max(made, place.seconds.get(load, 0.0))
        if not is_over(record, self._mode):
            place.first = disturbed_attempt(record.summary, self._mode)
            return None
        return None if self._lengthened(place, load, record.summary) else record

    def _lengthened(self, place: _Place, load: int, summary: RunSummary) -> bool:
        """Whether a run was too short for its longest transactions, or for a percentile of an objective. Then it is
        made again, and ``place`` has the length of all runs at its load. One that says nothing of the server is left as
        it is.
        """
        codes = {reason.code for reason in summary.invalid}
        warmup = seconds(place.point.experiment.measure.warmup)
        wants = [want for want in wants_of(summary, warmup, ("duration",)) if want.code in TOO_SHORT]
        if summary.outcomes.get("ok") and "errors" not in codes:
            times = [more for each in self._objectives if (more := needs_more(summary, each.metric)) is not None]
            wants += [Want(code=FEW, duration_s=summary.interval_s * more) for more in times]
        if codes & BOTTLENECKS or not wants or summary.interval_s >= LONGEST:
            return False
        place.seconds[load] = longer(summary.interval_s, wants)
        place.lengthened = True
        return True

    def _lacking(self, summary: RunSummary) -> list[str]:
        """Objectives on percentiles that a run has too few transactions for, in words."""
        found = (lacking(summary, objective.metric) for objective in self._objectives)
        return list(dict.fromkeys(text for text in found if text is not None))

    def _job(self, place: _Place, load: int) -> Job:
        experiment = with_load(place.point.experiment, load)
        run, first = len(place.readings), place.first
        scenario = resolve(experiment, run, mode=self._mode)
        if load in place.seconds:
            scenario["measure"]["duration"] = duration(place.seconds[load])
        return Job(
            point=place.point.index,
            run=run,
            scenario=scenario,
            directory=str(self._folder(place, load)),
            time_limit=time_limit(experiment, scenario),
            attempt=1 if first is None else 2,
            earlier=() if first is None else first.wrong,
            first=None if first is None else first.figures,
            load=load,
        )

    def _take(self, done: Done) -> None:
        place = self._places[done.job.point]
        load = done.job.load
        assert load is not None
        place.running = False
        if done.stopped:
            return
        place.lengthened = place.lengthened and done.error is not None
        first = None if self.stopped else first_attempt(done, self._mode)
        if first is not None:
            place.first = first
            return
        record = self._failed(place, done) if done.error is not None else read_record(self._path(place, load))
        place.first, place.lengthened = None, False
        if record.summary is None or not record.whole or not self._lengthened(place, load, record.summary):
            self._tell(place, load, record)
        figures = record.whole or any(not reading.unmade for reading in place.readings)
        place.given_up = is_beyond_help(done.error) and not figures

    def _failed(self, place: _Place, done: Done) -> RunRecord:
        """Writes, and returns, what is kept of a run that failed. Figures of one that was too short do not stand for
        it.
        """
        assert done.error is not None
        job, folder = done.job, Path(done.job.directory)
        self._failure = self._failure or done.error
        for before in records_of(folder):
            if place.lengthened and before.run == job.run and before.whole:
                forget_run(folder, before)
        return write_failure(folder, job.run, done.error, job.attempt, place.first)

    def _why_again(self, place: _Place, job: Job) -> tuple[str, ...]:
        if place.lengthened and not job.earlier:
            return (f"its interval was too short; now {job.scenario['measure']['duration']}",)
        return job.earlier

    def _tell(self, place: _Place, load: int, record: RunRecord) -> None:
        summary = record.summary
        machine = place.machine
        confirming = isinstance(machine, CapacitySearch) and machine.phase() == "confirm"
        if summary is None or not record.whole:
            notes = [f"failed: {record.failure}"]
            reading = LoadReading(
                run=record.run, load=load, throughput=0.0, server_cpu=None, meets=True, counts=False, failed=True,
                confirming=confirming, valid=False, attempts=record.attempts, notes=notes,
            )  # fmt: skip
        else:
            reading = self._reading(place, load, record, summary, confirming)
        place.readings.append(reading)
        machine.tell(Reading(load, reading.throughput, reading.meets, reading.counts, failed=reading.failed))

    def _reading(
        self, place: _Place, load: int, record: RunRecord, summary: RunSummary, confirming: bool
    ) -> LoadReading:
        """What a run that was made says of its load."""
        table = table_path(self._folder(place, load), NEEDED, record.run)
        names = percentiles_of(objective.metric for objective in self._objectives)
        if any(name not in RunResponseTime.model_fields for name in names):
            summary = with_percentiles(summary, populations_of(read_table(table)), names)
        unmet = [condition.text for condition in self._objectives if not _holds(summary, condition)]
        lacks = self._lacking(summary)
        behind = any(reason.code in BOTTLENECKS for reason in summary.invalid)
        experiment = place.point.experiment
        too_much = not behind and _too_much(summary, unmet)
        scenario = resolve(experiment, 0, mode=self._mode)
        judged = {reason.group for reason in summary.invalid if reason.code == "errors"}
        kind = experiment.server.kind
        if summary.by_group and len(summary.by_group) > 1:
            said = errors.notes_by_group(summary.by_group, scenario, kind, judged)
        else:
            said = errors.notes(summary.outcomes, summary.statuses, scenario, kind, judged=None in judged)
        advice = advice_of(summary.invalid)
        return LoadReading(
            run=record.run,
            load=load,
            throughput=summary.throughput,
            goodput_bps=_goodput(summary),
            interval_s=summary.interval_s,
            server_cpu=_of_server(summary),
            meets=not unmet,
            counts=not (behind or too_much),
            failed=too_much,
            outcomes=summary.outcomes,
            statuses=summary.statuses,
            confirming=confirming,
            valid=all(reason.code in EXCUSED for reason in summary.invalid) and not lacks,
            attempts=record.attempts,
            notes=[
                *(["failed: the load was too much for the server"] if too_much else []),
                *(f"not {text}" for text in unmet),
                *lacks,
                *(reason.message for reason in summary.invalid),
                *([] if advice is None else [f"advice: {advice.text}"]),
                *said,
            ],
        )

    def _count(self) -> Count:
        failed = sum(reading.unmade for place in self._places for reading in place.readings)
        return Count(self._made, sum(self._runs_left(place) for place in self._places), failed)

    @property
    def _made(self) -> int:
        return sum(len(place.readings) for place in self._places)

    def _runs_left(self, place: _Place) -> int:
        """Runs at most until a point's search is over."""
        machine = place.machine
        if place.next_load is None:
            return 0
        if isinstance(machine, CapacitySweep):
            return len(machine.loads()) * machine.runs - len(place.readings)
        return machine.most - len(place.readings)

    def _point(self, place: _Place) -> PointCapacity:
        found = place.machine.found()
        at_load = [] if found is None else readings_at(place.readings, found.load)
        busy = [reading.server_cpu for reading in at_load if reading.server_cpu is not None]
        cpu = sum(busy) / len(busy) if busy else None
        goodput = sum(reading.goodput_bps for reading in at_load) / len(at_load) if at_load else 0.0
        bottleneck, why = bottleneck_of(place.point.experiment, found, cpu, goodput, place.readings)
        confirmed = found is not None and found.confirmed
        return PointCapacity(
            index=place.point.index,
            varied=place.point.settings,
            capacity=None if found is None else found.mean,
            ci90=None if found is None else found.interval,
            load=None if found is None else found.load,
            server_cpu=cpu,
            saturated=None if cpu is None else cpu >= SATURATED,
            bottleneck=bottleneck,
            why=why,
            confirmed=confirmed,
            valid=bool(at_load)
            and (confirmed or isinstance(place.machine, CapacitySweep))
            and all(reading.valid for reading in at_load),
            runs=len(place.readings),
            readings=place.readings,
        ).with_lines(self.place(place.point.index), percentiles(place.point.experiment.measure.percentiles))


def _of_server(summary: RunSummary) -> float | None:
    """Busy share of the server's CPUs, without what other programs took of them."""
    cpu = summary.server_cpu
    return None if cpu.busy is None else max(cpu.busy - (cpu.others or 0.0), 0.0)


def _too_much(summary: RunSummary, unmet: Sequence[str]) -> bool:
    """Whether the errors of a run (the reason ``errors``) are those of a server that has more to do than it can: it was
    saturated, or did not meet the objective. Such a load is excluded as one at which runs fail. Errors at a server with
    time to spare have another cause, and speak against the search.
    """
    saturated = (_of_server(summary) or 0.0) >= SATURATED
    return any(reason.code == "errors" for reason in summary.invalid) and (saturated or bool(unmet))


def _goodput(summary: RunSummary) -> float:
    """Bits of bodies a second, those of background groups included."""
    if not summary.by_group or any(group.goodput_bps is None for group in summary.by_group):
        return summary.goodput_bps
    return sum(group.goodput_bps or 0.0 for group in summary.by_group)


def _holds(summary: RunSummary, condition: Condition) -> bool:
    value = run_value(summary, condition.metric)
    return value is not None and condition.holds(value)


def capacity(
    experiment: Source,
    *,
    output: str | Path,
    search: Search | None = None,
    mode: Mode | None = None,
    jobs: int | None = None,
    server_cpus: str | None = None,
    emulator_cpus: str | None = None,
    on_progress: OnProgress | None = None,
) -> CapacityResult:
    """Finds the capacity at every point of an experiment, into the new directory ``output``. Its ``assert`` is left
    alone: a search has objectives. For the arguments and errors see `waspbench.study`.
    """
    directory = Path(output)
    plan, found = prepare_capacity(
        document_of(experiment),
        directory,
        search or Search(),
        mode=mode,
        server_cpus=server_cpus,
        emulator_cpus=emulator_cpus,
    )
    return CapacityStudy.begin(plan, found, directory).run(jobs=jobs, on_progress=on_progress)
