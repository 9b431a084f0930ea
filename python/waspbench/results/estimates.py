"""Figures over the runs of an experiment: means with intervals, and response times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from waspbench.results.formats import Record
from waspbench.results.summary import RunResponseTime
from waspbench.stats import Histogram, mean_interval, merge, percentiles

NANOSECONDS_IN_MS = 1e6


class Estimate(Record):
    """A mean over runs."""

    mean: float
    ci90: tuple[float, float] | None
    """90 % Student-t interval over the runs, ``[low, high]``; None with one run."""


class ResponseTime(Record):
    """Response times of all runs in milliseconds; None when there were none."""

    mean: float | None
    """Mean of the runs' means."""
    ci90: tuple[float, float] | None
    """90 % Student-t interval of that mean; None with one run."""
    p50: float | None
    """Percentiles are those of all runs' transactions together."""
    p90: float | None
    p99: float | None
    max: float | None


NO_TIME = ResponseTime(mean=None, ci90=None, p50=None, p90=None, p99=None, max=None)
"""The response times of nothing."""


def estimate_of(values: Sequence[float]) -> Estimate:
    """A mean over runs, one value each."""
    return Estimate(mean=float(np.mean(values)), ci90=mean_interval(values))


def response_time_of(runs: Sequence[RunResponseTime], histograms: Iterable[Histogram]) -> ResponseTime:
    """Response times over ``runs``, of which the histograms (nanoseconds) are those of the same transactions."""
    means = [run.mean for run in runs if run.mean is not None]
    highest = chosen([run.max for run in runs], max)
    if len(runs) == 1:
        only = runs[0]
        p50, p90, p99 = only.p50, only.p90, only.p99
    else:
        limit = None if highest is None else round(highest * NANOSECONDS_IN_MS)
        p50, p90, p99 = (
            None if value is None else value / NANOSECONDS_IN_MS
            for value in percentiles(merge(histograms), (0.5, 0.9, 0.99), limit)
        )
    return ResponseTime(
        mean=float(np.mean(means)) if means else None, ci90=mean_interval(means), p50=p50, p90=p90, p99=p99, max=highest
    )


def chosen(values: Iterable[float | None], choose: Callable[[list[float]], float]) -> float | None:
    """``choose`` from the values that are there; None when none is."""
    there = [value for value in values if value is not None]
    return float(choose(there)) if there else None


def mean_of(values: Sequence[float]) -> float:
    """Their mean."""
    return float(np.mean(values))
