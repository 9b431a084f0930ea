"""One run of one point, from scenario to files. This is what a worker process does."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from waspbench import _core, live
from waspbench.errors import RunFailedError
from waspbench.results import populations_of
from waspbench.results.access_log import log_path
from waspbench.results.lengths import Pilot
from waspbench.results.records import RunRecord, write_run
from waspbench.results.summary import RunSummary
from waspbench.runner.lengths import PilotLengths
from waspbench.runner.pilots import pilot_of
from waspbench.session import OneRun
from waspbench.testbed import Spec

BOTTLENECKS = frozenset({"lag", "unread", "emulator_busy", "device_full", "pool", "device_drops"})
"""Reasons against a run which say that the emulator, not the server, set the limit."""

DISTURBANCES = frozenset({"others", "run_delay", "steal"})
"""Reasons against a run which say that others had the machine."""


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
    pilot: PilotLengths | None = None
    """Its lengths, where it is a pilot, of which nothing is kept but what it says."""
    fields: tuple[str, ...] = ()
    """Fields of ``measure`` that pilots are to find."""
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
    pilot: Pilot | None = None
    """What it says to the search for lengths, if it is a pilot."""


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
        if job.pilot is not None:
            return _piloted(job, spec, watch, started)
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


def _piloted(job: Job, spec: Spec | None, watch: Watch | None, started: float) -> Done:
    """Makes a run of which nothing is kept but what it says to the search for lengths."""
    assert job.pilot is not None
    with live.running(), OneRun(job.scenario, spec) as run:
        summary, tables = _followed(run, job.time_limit, watch)
    if summary.failure is not None:
        raise RunFailedError(summary.failure)
    max_errors = _core.parse_probability(job.scenario["measure"]["max_errors"])
    pilot = pilot_of(summary, populations_of(tables["histogram"]), job.pilot, job.fields, max_errors)
    return Done(job, time.monotonic() - started, summary, pilot=pilot)
