"""Summaries of runs and whole results, made up for tests of what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fake_core import summary_of
from waspbench.results import Result, RunSummary, combine
from waspbench.results.study import StudyPoint, StudyResult
from waspbench.stats import Histogram, Populations


def summary(throughput: float, run: int = 0, busy: float = 0.5) -> RunSummary:
    """A run with this throughput; its response times follow from it."""
    scenario = {"run": run, "clients": [{"name": "clients"}]}
    time = 100_000 / throughput
    times = {"mean": time, "p50": time, "p90": 2 * time, "p99": 3 * time, "max": 4 * time}
    made = summary_of(scenario, 10.0, []) | {
        "run": run,
        "throughput": throughput,
        "response_time_ms": times,
        "server_cpu": {"busy": busy, "steal": None, "processes_s": None},
    }
    return RunSummary.model_validate(made)


def result(throughputs: Sequence[float], **about: Any) -> Result:
    """A result with a run for each throughput."""
    runs = [summary(value, run) for run, value in enumerate(throughputs)]
    fields: dict[str, Any] = {"name": "x", "mode": "sim", "seed": 1} | about
    return combine(runs, [populations_of_a_run(one) for one in runs], **fields)


def populations_of_a_run(run: RunSummary) -> Populations:
    """Response times of 6,400 transactions, of which 95 % take the run's median, 4 % twice and 1 % three times as
    long.
    """
    edges = [round(1e6 * (run.response_time_ms.p50 or 0) * times) for times in (1, 2, 3)]
    times = Histogram.of(edges, edges, [6080, 256, 64])
    return Populations(times, times)


def study_of(points: Sequence[tuple[dict[str, Any], Sequence[float]]], **about: Any) -> StudyResult:
    """A study with a result for each point (varied, throughputs)."""
    made = [
        StudyPoint(index=index, varied=varied, result=result(values) if values else None)
        for index, (varied, values) in enumerate(points)
    ]
    valid = all(point.result is not None for point in made)
    fields: dict[str, Any] = {"name": "x", "mode": "sim", "seed": 1, "results": "out", "complete": True} | about
    return StudyResult(**{"valid": valid, "points": made, **fields})
