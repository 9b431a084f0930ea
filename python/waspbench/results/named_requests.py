"""The figures of each named request, over the runs of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from waspbench.results import errors
from waspbench.results.estimates import Estimate, ResponseTime, estimate_of, no_time, response_time_of
from waspbench.results.few import LEAST
from waspbench.results.formats import Record
from waspbench.results.summary import RunRequest, RunResponseTime, RunSessions
from waspbench.stats import Populations


class NamedRequest(Record):
    """The figures of one named request, of all runs."""

    name: str
    """Name of the request."""
    throughput: Estimate
    """``ok`` transactions a second."""
    goodput_bps: Estimate
    """Bits of the bodies of ``ok`` transactions a second."""
    response_time_ms: ResponseTime
    """Response times of ``ok`` transactions in milliseconds, from the intended start if there is one. If there are
    several requests or groups, all of them are None with fewer than 100 ``ok`` transactions of this one."""
    all_response_time_ms: ResponseTime
    """Response times of all transactions that ended, whatever their outcome. If there are several requests or groups,
    all of them are None with fewer than 100 such transactions of this one."""
    outcomes: dict[str, int]
    """Number of transactions of all runs by outcome."""
    statuses: dict[str, int]
    """Number of complete responses (``ok``, ``http_error`` and ``wrong``) of all runs by status code."""
    errors: float | None
    """Share of the ended transactions that were not ok; None if none ended."""


def requests_of(
    runs: Sequence[Sequence[RunRequest]],
    populations: Sequence[Populations],
    percentiles: Sequence[str],
    *,
    several: bool,
) -> list[NamedRequest]:
    """The figures of each named request, in the order of the workload. ``runs`` are those of each run, and
    ``populations`` the response times of the same clients. ``several`` says that there are several groups.
    """
    names = dict.fromkeys(request.name for run in runs for request in run)
    found = {name: [request for run in runs for request in run if request.name == name] for name in names}
    return [
        _request(own, [each.of_request(name) for each in populations], percentiles, several=several or len(names) > 1)
        for name, own in found.items()
    ]


def _request(
    runs: Sequence[RunRequest], populations: Sequence[Populations], percentiles: Sequence[str], *, several: bool
) -> NamedRequest:
    return NamedRequest(name=runs[0].name, **figures_of(runs, populations, percentiles, several=several))


def figures_of(
    runs: Sequence[RunRequest] | Sequence[RunSessions],
    populations: Sequence[Populations],
    percentiles: Sequence[str],
    *,
    several: bool,
) -> dict[str, Any]:
    """The figures that a named request and whole sessions have over some runs, whose response times are
    ``populations``, by the names of their fields. One of ``several`` has response times only with `LEAST` of them.
    """
    outcomes = errors.total(run.outcomes for run in runs) or {}
    least = LEAST if several else 0

    def times(of: Sequence[RunResponseTime], count: int, everything: bool) -> ResponseTime:
        histograms = [each.all if everything else each.ok for each in populations]
        return response_time_of(of, histograms, percentiles) if count >= least else no_time(percentiles)

    return {
        "throughput": estimate_of([run.throughput for run in runs]),
        "goodput_bps": estimate_of([run.goodput_bps for run in runs]),
        "response_time_ms": times([run.response_time_ms for run in runs], outcomes.get("ok", 0), everything=False),
        "all_response_time_ms": times(
            [run.all_response_time_ms for run in runs], errors.ended(outcomes), everything=True
        ),
        "outcomes": outcomes,
        "statuses": errors.total(run.statuses for run in runs) or {},
        "errors": errors.share(outcomes),
    }
