"""Finding a server's capacity: the runs that `waspbench.stats.capacity` asks for, at every point of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from waspbench import _core
from waspbench.errors import Argument, InputError, Problem
from waspbench.experiment import Clients, Experiment, Mode, accept, resolve
from waspbench.experiment.conditions import Condition, condition, objective
from waspbench.experiment.search import Search
from waspbench.experiment.sweep import Point, text_of
from waspbench.experiment.units import AUTO, duration, seconds
from waspbench.results import RunSummary, errors
from waspbench.results.capacity import (
    CAPACITY,
    EXCUSED,
    LINK_FULL,
    SATURATED,
    Bottleneck,
    CapacityResult,
    LoadReading,
    PointCapacity,
    readings_at,
)
from waspbench.results.checks import lacking, run_value
from waspbench.results.reasons import advice_of
from waspbench.results.records import RunRecord, missing_files, read_record, record_path, write_record, write_text
from waspbench.results.study import StudyPlan
from waspbench.runner.executors import Executor
from waspbench.runner.job import BOTTLENECKS, DISTURBANCES, Done, Job
from waspbench.runner.lengths import LONGEST, longer
from waspbench.runner.pilots import FEW, wants_of
from waspbench.runner.pipeline import NothingMeasuredError, OnProgress, Pipeline, StudyProgress
from waspbench.runner.study import prepare
from waspbench.runner.timing import time_limit
from waspbench.stats.capacity import BoundsError, Capacity, CapacitySearch, CapacitySweep, Reading

TOO_SHORT = frozenset({"censored", "silent", "cycles"})
"""Reasons against a run after which it is made again with a longer interval."""


@dataclass
class _Place:
    """A point while its capacity is searched."""

    point: Point
    machine: CapacitySearch | CapacitySweep
    readings: list[LoadReading] = field(default_factory=list)
    running: bool = False
    attempt: int = 1
    first: RunSummary | None = None
    """The figures of the first attempt of the present run."""
    seconds: dict[int, float] = field(default_factory=dict)
    """Length of the measured interval by load, where the file's was too short for the longest transactions."""


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
    objectives = tuple(objective(text, Argument("search.objectives")).text for text in search.objectives)
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
    machine_of(search, measure.runs)
    for point in found:
        _check_load(with_load(point.experiment, search.high), search.high, "live" if plan.mode == "live" else "sim")
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
        asked = dict(plan.search)
        self.search = Search(**{**asked, "objectives": tuple(asked["objectives"])})
        self._objectives = [condition(text, Argument("search.objectives")) for text in self.search.objectives]
        runs = self.points[0].experiment.measure.runs
        self._places = [_Place(point, machine_of(self.search, runs)) for point in self.points]

    def summarise(self) -> CapacityResult:
        """Writes ``capacity.json`` and returns it."""
        made = [self._point(place) for place in self._places]
        complete = all(place.machine.next_load() is None for place in self._places)
        result = CapacityResult(
            name=self.plan.name,
            mode=self.plan.mode,
            seed=self.plan.seed,
            method=self.search.method,
            objectives=list(self.search.objectives),
            complete=complete,
            valid=complete and all(point.valid for point in made),
            points=made,
        )
        write_text(self.directory / CAPACITY, result.to_json() + "\n")
        return result.model_copy(update={"results": str(self.directory)})

    @property
    def empty(self) -> bool:
        """Whether no run has been made."""
        return not any(self.directory.rglob("runs/run-*.json"))

    def _finished(self) -> CapacityResult:
        if not any(place.readings for place in self._places):
            raise NothingMeasuredError
        return self.summarise()

    def _look(self) -> None:
        for place in self._places:
            self._remember(place)

    def _over(self) -> bool:
        return all(place.machine.next_load() is None for place in self._places)

    def _submit(self, executor: Executor) -> None:
        for place in self._places:
            if executor.room and not place.running and (load := self._remember(place)) is not None:
                place.running = True
                executor.submit(self._job(place, load), self._spec(with_load(place.point.experiment, load)))

    def _remember(self, place: _Place) -> int | None:
        """Tells a point's search of the runs that it asks for and that were made before; the load that is next."""
        while (load := place.machine.next_load()) is not None and (record := self._known(place, load)) is not None:
            self._tell(place, load, record)
        return load

    def _folder(self, place: _Place, load: int) -> Path:
        return self.place(place.point.index) / f"load-{load}"

    def _known(self, place: _Place, load: int) -> RunRecord | None:
        """The record of the run that is next, if it was made before and needs no other attempt."""
        folder = self._folder(place, load)
        path = record_path(folder, len(place.readings))
        if not path.exists():
            return None
        record = read_record(path)
        if record.summary is None or not record.whole or missing_files(folder, record):
            return None
        made, asked = record.summary.interval_s, seconds(place.point.experiment.measure.duration)
        if made > asked:
            place.seconds[load] = max(made, place.seconds.get(load, 0.0))
        if record.attempts == 1 and self._is_spoilt(record.summary) and not self._went_on(place):
            place.attempt, place.first = 2, record.summary
            return None
        return None if self._lengthened(place, load, record.summary) else record

    def _went_on(self, place: _Place) -> bool:
        """Whether the run after the next one was made before, so that the next one was taken as it is."""
        return any(self.place(place.point.index).glob(f"load-*/runs/run-{len(place.readings) + 1}.json"))

    def _lengthened(self, place: _Place, load: int, summary: RunSummary) -> bool:
        """Whether a run was too short for its longest transactions, or for a percentile of an objective, so that it and
        the others at its load are to be longer. One that says nothing of the server is left as it is.
        """
        codes = {reason.code for reason in summary.invalid}
        few = bool(self._lacking(summary) and summary.outcomes.get("ok") and "errors" not in codes)
        too_short = TOO_SHORT | ({FEW} if few else frozenset())
        warmup = seconds(place.point.experiment.measure.warmup)
        wants = [want for want in wants_of(summary, warmup, ("duration",)) if want.code in too_short]
        if codes & BOTTLENECKS or not wants or summary.interval_s >= LONGEST:
            return False
        place.seconds[load] = longer(summary.interval_s, wants)
        return True

    def _lacking(self, summary: RunSummary) -> list[str]:
        """Objectives on percentiles that a run has too few transactions for, in words."""
        found = (lacking(summary.outcomes, objective.metric) for objective in self._objectives)
        return list(dict.fromkeys(text for text in found if text is not None))

    def _job(self, place: _Place, load: int) -> Job:
        experiment = with_load(place.point.experiment, load)
        run = len(place.readings)
        scenario = resolve(experiment, run, mode=self._mode)
        if load in place.seconds:
            scenario["measure"]["duration"] = duration(place.seconds[load])
        return Job(
            point=place.point.index,
            run=run,
            scenario=scenario,
            directory=str(self._folder(place, load)),
            time_limit=time_limit(experiment, scenario),
            attempt=place.attempt,
            first=place.first,
            load=load,
        )

    def _take(self, done: Done) -> None:
        place = self._places[done.job.point]
        load = done.job.load
        assert load is not None
        place.running = False
        if done.stopped:
            return
        spoilt = done.failure is not None or self._is_spoilt(done.summary)
        if place.attempt == 1 and spoilt and not done.final and not self.stopped:
            place.attempt, place.first = 2, done.summary
            return
        record = self._record(place, load, done)
        place.attempt, place.first = 1, None
        if done.summary is None or not self._lengthened(place, load, done.summary):
            self._tell(place, load, record)

    def _record(self, place: _Place, load: int, done: Done) -> RunRecord:
        """The record of a run after its last attempt. If that failed, the figures of a first one that was disturbed are
        taken; if there are none, it is written that the run failed.
        """
        folder = self._folder(place, load)
        if done.summary is not None:
            return RunRecord(run=done.job.run, attempts=place.attempt, first=place.first, summary=done.summary)
        if place.first is not None:
            record = read_record(record_path(folder, done.job.run)).after(done.failure or "failed")
        else:
            record = RunRecord(run=done.job.run, attempts=place.attempt, failure=done.failure, summary=None)
        write_record(folder, record)
        return record

    def _is_spoilt(self, summary: RunSummary | None) -> bool:
        """Whether the machine, not the load, was to blame, so that a second attempt may go better."""
        if self._mode == "sim" or summary is None:
            return False
        return any(reason.code in DISTURBANCES | BOTTLENECKS for reason in summary.invalid)

    def _tell(self, place: _Place, load: int, record: RunRecord) -> None:
        summary = record.summary
        machine = place.machine
        confirming = isinstance(machine, CapacitySearch) and machine.phase() == "confirm"
        if summary is None:
            notes = [f"failed: {record.failure}"]
            reading = LoadReading(
                run=record.run, load=load, throughput=0.0, server_cpu=None, meets=True, counts=False, failed=True,
                confirming=confirming, valid=False, attempts=record.attempts, notes=notes,
            )  # fmt: skip
        else:
            reading = self._reading(place, load, record, summary, confirming)
        place.readings.append(reading)
        place.attempt, place.first = 1, None
        machine.tell(Reading(load, reading.throughput, reading.meets, reading.counts, failed=reading.failed))

    def _reading(
        self, place: _Place, load: int, record: RunRecord, summary: RunSummary, confirming: bool
    ) -> LoadReading:
        """What a run that was made says of its load."""
        unmet = [condition.text for condition in self._objectives if not _holds(record, condition)]
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

    def _progress(self, sample: _core.Sample | None) -> StudyProgress:
        done = sum(len(place.readings) for place in self._places)
        expected = sum(self._runs_left(place) for place in self._places)
        now = next((place for place in self._places if place.running), None)
        at = "" if now is None else f"{text_of(now.point.settings)} load={now.machine.next_load()}".strip()
        return StudyProgress(
            done=done,
            total=done + expected,
            failed=0,
            left=self._time_left(expected),
            at=at,
            sample=sample,
            run=done,
            attempt=1 if now is None else now.attempt,
        )

    def _runs_left(self, place: _Place) -> int:
        """Runs at most until a point's search is over."""
        machine = place.machine
        if machine.next_load() is None:
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
        )


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


def _holds(record: RunRecord, condition: Condition) -> bool:
    assert record.summary is not None
    value = run_value(record.summary, condition.metric)
    return value is not None and condition.holds(value)


def bottleneck_of(
    experiment: Experiment, found: Capacity | None, cpu: float | None, goodput: float, readings: Sequence[LoadReading]
) -> tuple[Bottleneck, str]:
    """What set the limit at the load that was found, as far as can be told from all readings, and why."""
    if found is None:
        return _nothing_found(readings)
    busy = "server CPU unknown" if cpu is None else f"server CPU {100 * cpu:.0f} % busy"
    unmet = ""
    if found.limited_by == "objective":
        unmet = f"; the objective was not met from {found.limit} clients on"
    elif found.limited_by == "failed":
        unmet = f"; at {found.limit} clients a run {_failure(readings, found.limit)}"
    if cpu is not None and cpu >= SATURATED:
        return "server", f"saturated: {busy}{unmet}"
    if unmet:
        return "unknown", f"not saturated: {busy}{unmet}"
    if found.limited_by == "emulator":
        return "emulator", f"from {found.limit} clients on the emulator was the bottleneck; {busy}"
    rate = experiment.network.shared.down.rate
    if rate is not None and goodput >= LINK_FULL * _core.parse_rate(rate):
        return "network", f"the shared link ({rate}) was full; {busy}"
    if found.edge == "high":
        most = f"{found.load} clients are the most that were tried, and"
        if _grew(found, readings):
            return "clients", f"{most} throughput still grew; {busy}"
        return "unknown", f"not saturated: {busy}; {most} it is not shown that throughput still grew"
    return "unknown", f"not saturated: {busy}"


def _nothing_found(readings: Sequence[LoadReading]) -> tuple[Bottleneck, str]:
    if not readings or any(reading.counts for reading in readings):
        return "unknown", "no load counted and met the objective"
    last = readings[-1]
    bottleneck: Bottleneck = "unknown" if all(reading.failed for reading in readings) else "emulator"
    return bottleneck, f"no run counted; at {last.load} clients: {'; '.join(last.notes)}"


def _failure(readings: Sequence[LoadReading], load: int | None) -> str:
    """What the first run that failed at a load says of it."""
    return next(reading.notes[0] for reading in readings if reading.load == load and reading.failed)


def _grew(found: Capacity, readings: Sequence[LoadReading]) -> bool:
    """Whether throughput at the load found is above that of the next lower one by more than its interval allows."""
    lower = max((reading.load for reading in readings if reading.load < found.load and reading.counts), default=None)
    if lower is None or found.interval is None:
        return False
    below = [reading.throughput for reading in readings_at(readings, lower)]
    return bool(below) and found.interval[0] > sum(below) / len(below)


def capacity(
    experiment: Mapping[str, Any],
    *,
    output: str | Path,
    search: Search | None = None,
    mode: Mode | None = None,
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
) -> CapacityResult:
    """Finds the capacity at every point of an experiment, into the new directory ``output``. For the arguments and
    errors see `waspbench.runner.study.study`.
    """
    plan, found = prepare_capacity(experiment, Path(output), search or Search(), mode=mode)
    return CapacityStudy.begin(plan, found, Path(output)).run(jobs=jobs, on_progress=on_progress)
