"""One run of one point, from scenario to files. This is what a worker process does."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from waspbench import _core, live
from waspbench.errors import RunFailedError
from waspbench.experiment.units import duration
from waspbench.results.access_log import log_path
from waspbench.results.records import RunRecord, write_run
from waspbench.results.summary import Beginning, RunGroup, RunSummary
from waspbench.session import OneRun
from waspbench.testbed import Spec

Kind = Literal["run", "lengths"]

BOTTLENECKS = frozenset({"lag", "unread", "emulator_busy", "device_full", "pool", "device_drops"})
"""Reasons against a run which say that the emulator, not the server, set the limit."""

DISTURBANCES = frozenset({"others", "run_delay", "steal"})
"""Reasons against a run which say that others had the machine."""

TOO_SHORT = frozenset({"censored", "silent", "cycles"})
"""Reasons against a run which say that a longer interval may do."""

YOUNG = {"opening": "all connections to be opened", "windows": "congestion windows to converge"}
"""Reasons against a run which say that its kept connections had not been used for long enough, and for what."""

SEARCH_LIMIT = 80.0
"""Longest warm-up (seconds) that is tried when it is to be found."""

LONGEST = 1800.0
"""Longest measured interval (seconds) that is tried when it is to be found or made longer."""

TOO_MUCH = 0.025
"""Error of a rate or a mean, relative to it, that the beginning of a run must not leave (the engine's own limit)."""

ENOUGH = 1000
"""Transactions that must have ended in an interval whose length is found: ten lie beyond its 99th percentile."""


@dataclass(frozen=True)
class Job:
    """A run to make."""

    point: int
    run: int
    scenario: dict[str, Any]
    directory: str
    """Where its files go."""
    time_limit: float
    """Wall-clock seconds after which it is given up."""
    kind: Kind = "run"
    find: tuple[str, ...] = ()
    """Fields of ``measure`` that are to be found, for a job of kind ``lengths``."""
    attempt: int = 1
    earlier: tuple[str, ...] = ()
    """What was wrong with the first attempt."""
    first: RunSummary | None = None
    """The figures of the first attempt."""
    load: int | None = None
    """Clients in all, where they are being searched."""


@dataclass(frozen=True)
class Done:
    """What became of a job."""

    job: Job
    seconds: float
    """Wall-clock time that it took."""
    summary: RunSummary | None = None
    failure: str | None = None
    fatal: bool = False
    """Whether no other run can go better, such as on a full disk."""
    lengths: dict[str, str] | None = None
    """What was found, by field of ``measure``, for a job of that kind."""


Watch = Callable[["_core.Sample"], object]
"""Called with each second's figures of a run."""


def make(job: Job, spec: Spec | None = None, watch: Watch | None = None) -> Done:
    """Makes the run and writes its files; a run that fails is said to have, not raised.

    What a run measured before its device or the engine failed is kept.

    Raises:
        KeyboardInterrupt: it was interrupted; nothing of this run is kept but its server's access log.
        WaspError: no run can be made at all: the machine cannot do it, or the input is not valid.
    """
    started = time.monotonic()
    try:
        if job.kind == "lengths":
            return Done(job, time.monotonic() - started, lengths=find_lengths(job, spec, watch))
        log = log_path(Path(job.directory), job.run)
        with live.running(), OneRun(job.scenario, spec, log) as run:
            summary, tables = _followed(run, job.time_limit, watch)
            return _recorded(job, started, run, summary, tables)
    except RunFailedError as error:
        return Done(job, time.monotonic() - started, failure=str(error))


def _followed(run: OneRun, limit: float, watch: Watch | None) -> tuple[RunSummary, dict[str, Any]]:
    """Waits for a run's end, or for its time limit (in seconds from now)."""
    deadline = time.monotonic() + limit
    while not run.done:
        sample = run.next_sample(min(1.0, max(0.01, deadline - time.monotonic())))
        if sample is not None and watch is not None:
            watch(sample)
        if time.monotonic() > deadline and not run.done:
            raise RunFailedError(f"given up after {limit:.0f} s, its time limit (measure.time_limit)")
    summary, tables = run.finish()
    return summary, dict(tables)


def _recorded(job: Job, started: float, run: OneRun, summary: RunSummary, tables: dict[str, Any]) -> Done:
    """Writes the files of a run that has come to its end."""
    record = RunRecord(
        run=job.run,
        attempts=job.attempt,
        earlier=list(job.earlier),
        first=job.first,
        failure=summary.failure,
        summary=summary.model_copy(update={"run": job.run}),
        testbed=run.description,
    )
    try:
        record = write_run(Path(job.directory), record, tables, run.keep_log)
    except RunFailedError as error:
        return Done(job, time.monotonic() - started, failure=str(error), fatal=True)
    if record.failure is not None:
        return Done(job, time.monotonic() - started, failure=record.failure)
    return Done(job, time.monotonic() - started, summary=record.summary)


def find_lengths(job: Job, spec: Spec | None, watch: Watch | None = None) -> dict[str, str]:
    """The fields of ``measure`` that the job is to find: the warm-up before the interval that follows it.

    Raises:
        RunFailedError: one cannot be found.
    """
    found: dict[str, str] = {}
    for field, find in (("warmup", find_warmup), ("duration", find_duration)):
        if field in job.find:
            scenario = {**job.scenario, "measure": {**job.scenario["measure"], **found}}
            found[field] = find(replace(job, scenario=scenario), spec, watch)
    return found


def find_duration(job: Job, spec: Spec | None, watch: Watch | None = None) -> str:
    """The length of a measured interval that is long enough, by runs that are not kept: the first is as long as the
    job's, and each that follows as long as the one before says it should have been.

    Raises:
        RunFailedError: 30 min are not enough.
    """
    measure = dict(job.scenario["measure"])
    first = str(measure["duration"])
    lasting = _core.parse_duration(first) / 1e9
    while True:
        measure["duration"] = duration(lasting)
        with live.running(), OneRun({**job.scenario, "measure": measure}, spec) as run:
            summary, _ = _followed(run, job.time_limit + 10 * lasting, watch)
        if summary.stability is not None and summary.stability.grows:
            return first  # no length would do, and the runs will say so
        needed = longer(summary, ENOUGH)
        if needed is None:
            return str(measure["duration"])
        if lasting >= LONGEST:
            raise RunFailedError(f"duration auto: {LONGEST / 60:.0f} min are not enough; give measure.duration")
        lasting = min(needed, LONGEST)


def longer(summary: RunSummary, least: int = 0) -> float | None:
    """How many seconds the measured interval should have been, for the longest transactions to end in it, for some of
    each group, for a queue near its capacity to be known, and for ``least`` to end; None where it was long enough.
    """
    codes = {reason.code for reason in summary.invalid}
    ended = sum(count for outcome, count in summary.outcomes.items() if outcome != "unfinished")
    few = summary.interval_s * least / max(ended, 1) if ended < least else 0.0
    censoring = summary.censoring
    if censoring is None or censoring.enough_s is None:
        lasting = 0.0 if censoring is None else LONGEST
    else:
        lasting = censoring.enough_s
    if "silent" in codes:
        lasting = max(lasting, 2 * summary.interval_s)
    lasting = max([lasting, *map(_steady_after, _beginnings(summary))])
    if "near_capacity" in codes:
        groups = [group.stability for group in summary.by_group or () if not group.background]
        lasting = max(lasting, *(loop.enough_s or LONGEST for loop in (summary.stability, *groups) if loop is not None))
    if max(few, lasting) <= summary.interval_s:
        return None
    return float(math.ceil(max(lasting, min(few, 10 * summary.interval_s), 1.2 * summary.interval_s)))


def find_warmup(job: Job, spec: Spec | None, watch: Watch | None = None) -> str:
    """The first of 5 s, 10 s, 20 s... within which throughput settles, kept connections have been opened, and their
    congestion windows have converged, by runs that are not kept; where a run says how long that takes, the next warm-up
    is at least as long.

    Raises:
        RunFailedError: throughput does not settle within 80 s, too few transactions end to tell, or 30 min are not
            enough for the connections.
    """
    warmup = _core.parse_duration(job.scenario["measure"]["warmup"]) / 1e9
    while True:
        # An interval as long as the warm-up shows what has not settled in it.
        lasting = max(_core.parse_duration(job.scenario["measure"]["duration"]) / 1e9, warmup)
        measure = {**job.scenario["measure"], "warmup": f"{warmup:g}s", "duration": f"{lasting:g}s"}
        with live.running(), OneRun({**job.scenario, "measure": measure}, spec) as run:
            summary, _ = _followed(run, job.time_limit + 2 * warmup, watch)
        needed = max(_young(summary), _unsettled(summary, warmup))
        if needed <= warmup:
            return str(measure["warmup"])
        warmup = needed


def _young(summary: RunSummary) -> float:
    """Seconds of warm-up that kept connections need; 0 where nothing is said of them.

    Raises:
        RunFailedError: that is too long.
    """
    said = [reason for reason in summary.invalid if reason.code in YOUNG and reason.enough_s is None]
    for reason in said:
        if reason.enough_warmup_s is None or reason.enough_warmup_s > LONGEST:
            raise RunFailedError(f"warmup auto: {LONGEST / 60:.0f} min are not enough for {YOUNG[reason.code]}")
    return max((reason.enough_warmup_s or 0.0 for reason in said), default=0.0)


def _unsettled(summary: RunSummary, warmup: float) -> float:
    """Seconds of warm-up to try next where throughput had not settled within so many; 0 where it had.

    Raises:
        RunFailedError: that is too long.
    """
    late = [reason for reason in summary.invalid if reason.code == "warmup"]
    if summary.trend is not None and not late:
        return 0.0
    if warmup >= SEARCH_LIMIT:
        said = "throughput had not settled" if late else "too few transactions ended to tell"
        raise RunFailedError(f"warmup auto: {said} after {warmup:g} s; give measure.warmup")
    return min(max(2 * warmup, *(reason.enough_warmup_s or 0.0 for reason in late)), SEARCH_LIMIT)


def _steady_after(beginning: Beginning) -> float:
    """Seconds of a measured interval in which phases do not matter; 0 if they did not, or warming up is what helps."""
    if abs(beginning.in_step) > TOO_MUCH or beginning.opening < -TOO_MUCH:
        return LONGEST if beginning.enough_s is None else beginning.enough_s
    return beginning.enough_s or 0.0


def _beginnings(summary: RunSummary) -> list[Beginning]:
    """How the clients of each group began that is no background, where it is known."""
    return [group.beginning for group in _measured(summary) if group.beginning is not None]


def _measured(summary: RunSummary) -> list[RunGroup]:
    """The groups that are no background."""
    return [group for group in summary.by_group or () if not group.background]
