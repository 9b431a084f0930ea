"""Figures over the runs of an experiment: means with intervals, and response times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from waspbench.experiment.metrics import PERCENTILES, fraction_of, is_percentile
from waspbench.results.formats import Record
from waspbench.results.summary import RunGroup, RunRequest, RunResponseTime, RunSessions, RunSummary, asked_for
from waspbench.stats import Histogram, Populations, mean_interval, merge, percentiles
from waspbench.stats.quantiles import quantile_intervals, values_needed

NANOSECONDS_IN_MS = 1e6


class Estimate(Record):
    """A mean over runs."""

    mean: float
    """Mean over the runs, in the unit of the figure."""
    ci90: tuple[float, float] | None
    """90 % confidence interval of the mean (Student's t over the runs), ``[low, high]``; None with one run."""


class ResponseTime(Record):
    """Response times of all runs, in milliseconds. Each figure is None if there were no transactions.

    A percentile is that of the transactions of all runs together; it is None with too few transactions. ``at`` and
    ``ci90_at`` return percentiles that are not listed here: ``at("p99.9")``.
    """

    mean: float | None
    """Mean over the runs of their mean response times."""
    ci90: tuple[float, float] | None
    """90 % confidence interval of that mean (Student's t over the runs); None with one run."""
    p50: float | None
    """Median of the transactions of all runs together; None with fewer than 5 transactions."""
    p50_ci90: tuple[float, float] | None = None
    """90 % confidence interval of the median, for which each run is one cluster whose transactions may depend on each
    other (Francisco and Fuller); None with one run."""
    p90: float | None
    """90th percentile of the transactions of all runs together; None with fewer than 29 transactions."""
    p90_ci90: tuple[float, float] | None = None
    """90 % confidence interval of p90, found in the same way."""
    p95: float | None = None
    """95th percentile of the transactions of all runs together; None with fewer than 59 transactions."""
    p95_ci90: tuple[float, float] | None = None
    """90 % confidence interval of p95, found in the same way."""
    p99: float | None
    """99th percentile of the transactions of all runs together; None with fewer than 299 transactions. There are also
    ``p99.9`` and ``p99.9_ci90``, which need 2,995 transactions, and any other percentiles that were asked for."""
    p99_ci90: tuple[float, float] | None = None
    """90 % confidence interval of p99, found in the same way."""
    max: float | None
    """Longest response time of all runs."""

    @property
    def percentiles(self) -> dict[str, float | None]:
        """Percentiles by name, in rising order."""
        return {name: self.at(name) for name in every_percentile(filter(is_percentile, dict(self)), always=())}

    def at(self, name: str) -> float | None:
        """The figure with this name: ``mean``, ``max`` or a percentile; None with too few transactions.

        Raises:
            InputError: it is a percentile that was not asked for.
        """
        value: float | None = asked_for(self, name)
        return value

    def ci90_at(self, name: str) -> tuple[float, float] | None:
        """The 90 % confidence interval of the percentile with this name; that of the mean is ``ci90``.

        Raises:
            InputError: it is a percentile that was not asked for.
        """
        interval: tuple[float, float] | None = asked_for(self, f"{name}_ci90")
        return interval


def every_percentile(besides: Iterable[str] = (), always: Iterable[str] = PERCENTILES) -> list[str]:
    """The names of the percentiles that results ``always`` have, and those ``besides``, in rising order."""
    return sorted({*always, *besides}, key=fraction_of)


def no_time(names: Sequence[str] = PERCENTILES) -> ResponseTime:
    """The response times of nothing, with the percentiles ``names``."""
    fields = [field for name in names for field in (name, f"{name}_ci90")]
    return ResponseTime.model_validate(dict.fromkeys(["mean", "ci90", *fields, "max"]))


def estimate_of(values: Sequence[float]) -> Estimate:
    """A mean over runs, one value each."""
    return Estimate(mean=float(np.mean(values)), ci90=mean_interval(values))


def response_time_of(
    runs: Sequence[RunResponseTime], histograms: Sequence[Histogram], names: Sequence[str] = PERCENTILES
) -> ResponseTime:
    """Response times over ``runs``, of which the histograms (nanoseconds) are those of the same transactions, with the
    percentiles ``names``.
    """
    means = [run.mean for run in runs if run.mean is not None]
    highest = chosen([run.max for run in runs], max)
    return ResponseTime.model_validate(
        {
            "mean": float(np.mean(means)) if means else None,
            "ci90": mean_interval(means),
            **_percentiles(histograms, names, highest),
            "max": highest,
        }
    )


def _percentiles(histograms: Sequence[Histogram], names: Sequence[str], highest: float | None) -> dict[str, Any]:
    """The percentiles that there are enough transactions for, and their intervals, by field."""
    together = merge(histograms)
    most = _nanoseconds(highest)
    intervals = quantile_intervals(histograms, [fraction_of(name) for name in names])
    found: dict[str, Any] = {}
    for name, value, interval in zip(names, _values(together, names, most), intervals, strict=True):
        few = too_few(name, together.total)
        found[name] = None if few else value
        found[f"{name}_ci90"] = None if few or interval is None else _in_ms(*interval, most)
    return found


def _values(histogram: Histogram, names: Sequence[str], most: int | None) -> list[float | None]:
    """Percentiles in milliseconds, of however few values; no more than ``most`` nanoseconds."""
    found = percentiles(histogram, [fraction_of(name) for name in names], most)
    return [None if value is None else value / NANOSECONDS_IN_MS for value in found]


def _nanoseconds(longest: float | None) -> int | None:
    return None if longest is None else round(longest * NANOSECONDS_IN_MS)


def _in_ms(low: float, high: float, most: int | None) -> tuple[float, float]:
    """An interval of nanoseconds, which ends at the longest response time at most, not at the end of its bucket."""
    return low / NANOSECONDS_IN_MS, (high if most is None else min(high, most)) / NANOSECONDS_IN_MS


def with_percentiles(run: RunSummary, populations: Populations, names: Sequence[str]) -> RunSummary:
    """``run`` with the percentiles ``names`` of its response times, of all clients and of each group, and in both of
    each request and of whole sessions; ``populations`` are its histograms (nanoseconds).
    """
    groups = run.by_group and [
        _told(group, populations.of_group(index), names) for index, group in enumerate(run.by_group)
    ]
    return _told(run, populations, names).model_copy(update={"by_group": groups})


Part = TypeVar("Part", RunSummary, RunGroup)
Timed = TypeVar("Timed", RunSummary, RunGroup, RunRequest, RunSessions)


def _told(part: Part, populations: Populations, names: Sequence[str]) -> Part:
    requests = part.requests and [_timed(each, populations.of_request(each.name), names) for each in part.requests]
    sessions = part.sessions and _timed(part.sessions, populations.of_sessions(), names)
    return _timed(part, populations, names).model_copy(update={"requests": requests, "sessions": sessions})


def _timed(part: Timed, populations: Populations, names: Sequence[str]) -> Timed:
    return part.model_copy(
        update={
            "response_time_ms": _of_run(part.response_time_ms, populations.ok, names),
            "all_response_time_ms": _of_run(part.all_response_time_ms, populations.all, names),
        }
    )


def _of_run(times: RunResponseTime | None, histogram: Histogram, names: Sequence[str]) -> RunResponseTime | None:
    if times is None:
        return None
    absent = [name for name in names if name not in RunResponseTime.model_fields]
    found = zip(absent, _values(histogram, absent, _nanoseconds(times.max)), strict=True)
    return times.model_copy(update=dict(found))


def too_few(name: str, transactions: int) -> bool:
    """Whether so many transactions are too few for the percentile called ``name``."""
    return transactions < needed(name)


def needed(name: str) -> int:
    """Transactions that the percentile called ``name`` needs."""
    return values_needed(fraction_of(name))


def chosen(values: Iterable[float | None], choose: Callable[[list[float]], float]) -> float | None:
    """``choose`` from the values that are there; None when none is."""
    there = [value for value in values if value is not None]
    return float(choose(there)) if there else None


def mean_of(values: Sequence[float]) -> float:
    """Their mean."""
    return float(np.mean(values))
