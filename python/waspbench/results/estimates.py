"""Figures over the runs of an experiment: means with intervals, and response times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from waspbench.results.formats import Record
from waspbench.results.summary import RunResponseTime
from waspbench.stats import Histogram, mean_interval, merge, percentiles
from waspbench.stats.quantiles import quantile_interval, values_needed

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
    """The median of all runs' transactions together; None with fewer than 20 of them."""
    p50_ci90: tuple[float, float] | None = None
    """90 % interval of the median, for which a run counts as a whole (Francisco and Fuller); None with one run."""
    p90: float | None
    """90th percentile of all runs' transactions together; None with fewer than 100 of them."""
    p90_ci90: tuple[float, float] | None = None
    """Its 90 % interval, likewise."""
    p99: float | None
    """99th percentile of all runs' transactions together; None with fewer than 1,000 of them."""
    p99_ci90: tuple[float, float] | None = None
    """Its 90 % interval, likewise."""
    max: float | None


NO_TIME = ResponseTime(mean=None, ci90=None, p50=None, p90=None, p99=None, max=None)
"""The response times of nothing."""


FRACTIONS = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
"""The percentiles of response times, and the share of transactions that do not exceed each."""


def estimate_of(values: Sequence[float]) -> Estimate:
    """A mean over runs, one value each."""
    return Estimate(mean=float(np.mean(values)), ci90=mean_interval(values))


def response_time_of(runs: Sequence[RunResponseTime], histograms: Sequence[Histogram]) -> ResponseTime:
    """Response times over ``runs``, of which the histograms (nanoseconds) are those of the same transactions."""
    means = [run.mean for run in runs if run.mean is not None]
    highest = chosen([run.max for run in runs], max)
    return ResponseTime(
        mean=float(np.mean(means)) if means else None,
        ci90=mean_interval(means),
        max=highest,
        **_percentiles(histograms, highest),
    )


def _percentiles(histograms: Sequence[Histogram], highest: float | None) -> dict[str, Any]:
    """The percentiles that there are enough transactions for, and their intervals, by field."""
    together = merge(histograms)
    named = {name: fraction for name, fraction in FRACTIONS.items() if not too_few(name, together.total)}
    most = None if highest is None else round(highest * NANOSECONDS_IN_MS)
    found: dict[str, Any] = dict.fromkeys(FRACTIONS)
    for (name, fraction), value in zip(named.items(), percentiles(together, list(named.values()), most), strict=True):
        interval = quantile_interval(histograms, fraction)
        found[name] = None if value is None else value / NANOSECONDS_IN_MS
        found[f"{name}_ci90"] = None if interval is None else _in_ms(*interval, most)
    return found


def _in_ms(low: float, high: float, most: int | None) -> tuple[float, float]:
    """An interval of nanoseconds, which ends at the longest response time at most, not at the end of its bucket."""
    return low / NANOSECONDS_IN_MS, (high if most is None else min(high, most)) / NANOSECONDS_IN_MS


def too_few(name: str, transactions: int) -> bool:
    """Whether so many transactions are too few for the percentile called ``name``."""
    return transactions < values_needed(FRACTIONS[name])


def chosen(values: Iterable[float | None], choose: Callable[[list[float]], float]) -> float | None:
    """``choose`` from the values that are there; None when none is."""
    there = [value for value in values if value is not None]
    return float(choose(there)) if there else None


def mean_of(values: Sequence[float]) -> float:
    """Their mean."""
    return float(np.mean(values))
