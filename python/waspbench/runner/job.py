"""One job, from scenario to files: a run, or a pilot of the search for lengths. This is what a worker process does."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from waspbench import _core, live
from waspbench.closeable import Closeable
from waspbench.errors import RunFailedError, WaspError
from waspbench.interrupts import postponed
from waspbench.results import populations_of
from waspbench.results.access_log import log_path
from waspbench.results.lengths import Pilot
from waspbench.results.records import LostTablesError, RunRecord, read_record, record_path, write_run
from waspbench.results.store import NEEDED
from waspbench.results.summary import RunSummary
from waspbench.runner.lengths import PilotLengths
from waspbench.runner.one_run import OneRun
from waspbench.runner.pilots import pilot_of
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
    load: float | None = None
    """Clients in all, where they are being searched."""
    kept: bool = True
    """Whether all tables and the server's access log are kept, not only the table from which runs are combined."""


@dataclass(frozen=True)
class Done:
    """What became of a job."""

    job: Job
    seconds: float
    """Wall-clock time that it took."""
    summary: RunSummary | None = None
    """The figures of a run that came to its end."""
    error: WaspError | None = None
    """Why it did not."""
    partial: RunSummary | None = None
    """What a run measured before it failed."""
    fatal: bool = False
    """Whether no other run can go better, such as on a full disk."""
    final: bool = False
    """Whether a second attempt would only hide what the error tells: the server under test ended."""
    stopped: bool = False
    """Whether it was ended before its time. What it measured until then, if anything, is on the disk."""
    pilot: Pilot | None = None
    """What it says to the search for lengths, if it is a pilot."""
    lost: RunRecord | None = None
    """The record of a run for which there was no room on the disk, where its figures can be combined without the
    tables that are missing.
    """

    @property
    def failure(self) -> str | None:
        """Why it did not come to its end, in words."""
        return None if self.error is None else str(self.error)


def start_run(job: Job, spec: Spec | None) -> OneRun:
    """Starts the engine, and in live mode the testbed. The server's access log is kept with the tables."""
    keeps_log = job.pilot is None and job.kept
    return OneRun(job.scenario, spec, log_path(Path(job.directory), job.run) if keeps_log else None)


class Making(Closeable):
    """A job in the making. Call `step` until `done` is there; `stop` at any time ends it early.

    Leaving it as a context manager, or `close`, gives up what is not finished. It is no generator, because an interrupt
    that passes through a step leaves it as it was.
    """

    def __init__(self, job: Job, spec: Spec | None = None) -> None:
        self.job = job
        self.done: Done | None = None
        self._spec = spec
        self._run: OneRun | None = None
        self._stopped = False
        self._started = time.monotonic()
        self._deadline = self._started

    def step(self, timeout: float) -> _core.Sample | None:
        """Goes on for at most ``timeout`` seconds, and returns the last second's figures if there are any. A run that
        fails is said to have, not raised; what it measured before its device or the engine failed is kept. Where this
        machine cannot make it, or what is asked for is not valid, no other can go better (`Done.fatal`).

        Raises:
            KeyboardInterrupt: it was interrupted. It can be gone on with, or stopped, or closed.
        """
        try:
            with live.running():
                return self._go_on(timeout)
        except WaspError as error:
            self.close()
            self.done = Done(self.job, self._seconds, error=error, fatal=not isinstance(error, RunFailedError))
            return None

    def stop(self) -> None:
        """Ends it as soon as possible. What is measured by then is kept."""
        self._stopped = True
        if self._run is not None:
            self._run.stop()

    def close(self) -> None:
        """Gives up what is not finished, but for its server's access log."""
        run, self._run = self._run, None
        if run is not None:
            run.close()

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _go_on(self, timeout: float) -> _core.Sample | None:
        run = self._run
        if run is None:
            self._begin()
            return None
        sample = run.next_sample(min(timeout, max(0.01, self._deadline - time.monotonic())))
        if sample is None and run.done:
            self._end(run)
        elif time.monotonic() > self._deadline and not run.done:
            message = f"given up after {self.job.time_limit:.3g} s, its time limit (measure.time_limit)"
            raise RunFailedError(message)
        return sample

    def _begin(self) -> None:
        """Starts the run, unless it was stopped before."""
        job = self.job
        if self._stopped:
            self.done = Done(job, self._seconds, stopped=True)
            return
        self._run = start_run(job, self._spec)
        self._deadline = time.monotonic() + job.time_limit

    def _end(self, run: OneRun) -> None:
        """Takes in what a run found that has come to its end."""
        with postponed():
            self._run = None
            with run:
                summary, tables = run.finish()
                became = self._measured if self.job.pilot is None else self._piloted
                self.done = became(run, summary, dict(tables))

    def _piloted(self, run: OneRun, summary: RunSummary, tables: dict[str, Any]) -> Done:
        """What a pilot says to the search for lengths; nothing else of it is kept."""
        job = self.job
        if self._stopped:
            return Done(job, self._seconds, stopped=True)
        if summary.failure is not None:
            return self._failed(run, summary, summary.failure)
        assert job.pilot is not None
        max_errors = _core.parse_probability(job.scenario["measure"]["max_errors"])
        pilot = pilot_of(summary, populations_of(tables["histogram"]), job.pilot, job.fields, max_errors)
        return Done(job, self._seconds, summary, pilot=pilot)

    def _measured(self, run: OneRun, summary: RunSummary, tables: dict[str, Any]) -> Done:
        """Writes the files of a run. One that was cut short does not take the place of one that measured longer."""
        job = self.job
        cut_short = summary.stopped or summary.failure is not None or summary.interval_s <= 0
        if cut_short and summary.interval_s <= _measured_before(job):
            if summary.failure is None and self._stopped:
                return Done(job, self._seconds, stopped=True)
            return self._failed(run, summary, summary.failure or "nothing was measured")
        try:
            record = self._written(run, summary, tables)
        except LostTablesError as error:
            return Done(job, self._seconds, error=RunFailedError(str(error)), fatal=True, lost=error.record)
        except RunFailedError as error:
            return Done(job, self._seconds, error=error, fatal=True)
        if record.failure is not None:
            return self._failed(run, summary, record.failure)
        return Done(job, self._seconds, record.summary, stopped=summary.stopped)

    def _written(self, run: OneRun, summary: RunSummary, tables: dict[str, Any]) -> RunRecord:
        job = self.job
        record = RunRecord(
            run=job.run,
            attempts=job.attempt,
            earlier=list(job.earlier),
            first=job.first,
            failure=summary.failure,
            summary=summary.model_copy(update={"run": job.run}),
            testbed=run.description,
        )
        wanted = tables if job.kept else {NEEDED: tables[NEEDED]}
        return write_run(Path(job.directory), record, wanted, run.keep_log)

    def _failed(self, run: OneRun, summary: RunSummary, why: str) -> Done:
        partial = summary if summary.interval_s > 0 else None
        return Done(self.job, self._seconds, error=RunFailedError(why), partial=partial, final=run.server_ended)


def _measured_before(job: Job) -> float:
    """Seconds that an earlier attempt at the same run measured, whose figures are on the disk."""
    path = record_path(Path(job.directory), job.run)
    if not path.exists():
        return 0.0
    before = read_record(path).summary
    return 0.0 if before is None else before.interval_s
