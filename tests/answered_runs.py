"""Runs of this process whose outcome a test makes up. What becomes of them is up to the real `Making`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from waspbench import _core
from waspbench.errors import RunFailedError, WaspError
from waspbench.results.summary import RunSummary
from waspbench.results.tables import TABLES
from waspbench.runner import job as jobs_module
from waspbench.runner.job import Job, start_run
from waspbench.runner.one_run import OneRun
from waspbench.testbed import Spec

Answer = RunSummary | str | WaspError | None
"""The figures of a run, why it could not be finished, or None for one that is made."""

KINDS = {"UInt16": pl.UInt16, "UInt64": pl.UInt64, "String": pl.String}


def histogram(found: RunSummary) -> pl.DataFrame:
    """A table of response times that all are the median that ``found`` says."""
    schema = {name: KINDS[kind] for name, kind, _ in TABLES["histogram"][1] if name != "run"}
    count, median = found.outcomes.get("ok", 0), round((found.response_time_ms.p50 or 0.0) * 1e6)
    row = {"group": None, "population": "ok", "lower_ns": median, "upper_ns": median, "count": count}
    return pl.DataFrame([row] if count else [], schema=schema)


class AnsweredRun(OneRun):
    """A run that is at its end with its first step, and has measured ``figures`` then."""

    def __init__(self, figures: RunSummary, *, server_ended: bool = False) -> None:
        self.figures = figures
        self.description: dict[str, Any] = {}
        self._server_ended = server_ended
        self._over = False

    @property
    def done(self) -> bool:
        return self._over

    @property
    def server_ended(self) -> bool:
        return self._server_ended

    def next_sample(self, timeout: float) -> _core.Sample | None:
        self._over = True
        return None

    def stop(self) -> None:
        self._over = True

    def finish(self) -> tuple[RunSummary, dict[str, Any]]:
        return self.figures, {"histogram": histogram(self.figures)}

    def keep_log(self) -> list[str]:
        return []

    def close(self) -> None:
        self._over = True


def started(monkeypatch: pytest.MonkeyPatch, start: Callable[[Job, Spec | None], OneRun]) -> None:
    """Lets ``start`` start each run, or raise why it cannot."""
    monkeypatch.setattr(jobs_module, "start_run", start)


def answered(monkeypatch: pytest.MonkeyPatch, answer: Callable[[Job], Answer]) -> list[Job]:
    """Lets ``answer`` stand for each run, or raise; returns the jobs that were begun."""
    jobs: list[Job] = []

    def start(job: Job, spec: Spec | None) -> OneRun:
        jobs.append(job)
        found = answer(job)
        if isinstance(found, RunSummary):
            return AnsweredRun(found)
        if found is not None:
            raise RunFailedError(found) if isinstance(found, str) else found
        return start_run(job, spec)

    started(monkeypatch, start)
    return jobs
