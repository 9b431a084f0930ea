"""Runs of this process whose outcome a test makes up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from waspbench.errors import RunFailedError, WaspError
from waspbench.results.records import RunRecord, write_run
from waspbench.results.summary import RunSummary
from waspbench.runner.job import Done, Job, Making

Answer = RunSummary | str | WaspError | None
"""The figures of a run, why it failed, or None for one that is made."""


def _record(job: Job, found: RunSummary) -> RunRecord:
    return RunRecord(run=job.run, attempts=job.attempt, earlier=list(job.earlier), first=job.first, summary=found)


def histogram(found: RunSummary) -> pl.DataFrame:
    """A table of response times that all are the median that ``found`` says."""
    median = round((found.response_time_ms.p50 or 0.0) * 1e6)
    columns = {"group": None, "population": "ok", "lower_ns": median, "upper_ns": median}
    counts = [count for count in (found.outcomes.get("ok", 0),) if count]
    frame = pl.DataFrame({"count": counts}, schema={"count": pl.UInt64})
    return frame.select(*(pl.lit(value).alias(name) for name, value in columns.items()), "count")


def answered(monkeypatch: pytest.MonkeyPatch, answer: Callable[[Job], Answer]) -> list[Job]:
    """Lets ``answer`` stand for each run, or raise; returns the jobs that were begun."""
    jobs: list[Job] = []
    real = Making._begin

    def begin(self: Making) -> None:
        if self._stopped:
            real(self)
            return
        jobs.append(self.job)
        found = answer(self.job)
        if found is None:
            real(self)
        elif isinstance(found, RunSummary):
            write_run(Path(self.job.directory), _record(self.job, found), {"histogram": histogram(found)})
            self.done = Done(self.job, 0.1, summary=found)
        else:
            error = RunFailedError(found) if isinstance(found, str) else found
            self.done = Done(self.job, 0.1, error=error)

    monkeypatch.setattr(Making, "_begin", begin)
    return jobs
