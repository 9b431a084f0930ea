"""What a pilot says to the search for lengths (`waspbench.runner.lengths`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, repeat

import numpy as np
from scipy.special import bdtrc, ndtri

from waspbench.results import RunSummary, errors
from waspbench.results.few import LEAST
from waspbench.results.lengths import Pilot, PilotGroup, Want
from waspbench.results.summary import Invalid, RunGroup
from waspbench.runner.lengths import SETTLES, SHOWS, PilotLengths
from waspbench.stats import Histogram, Populations
from waspbench.stats.batches import batch_means

ENOUGH = 1000
"""Transactions that must have ended in an interval whose length is found: ten lie beyond its 99th percentile."""

FEW = "few"
"""The code of what asks for an interval in which more transactions end."""

LEVEL = 0.99
"""Confidence of the intervals by which chance explains a difference of two pilots."""

CHANCE = 0.01
"""Probability below which more errors than allowed are no chance."""

_Z = float(ndtri((1 + LEVEL) / 2))


def pilot_of(
    summary: RunSummary, populations: Populations, lengths: PilotLengths, fields: Sequence[str], max_errors: float
) -> Pilot:
    """What a run of these ``lengths`` says to a search for those in ``fields``; ``max_errors`` is the share of errors
    that is allowed.
    """
    empty = Histogram.of([], [], [])
    times = chain((each.ok for each in populations.groups), repeat(empty))  # the last groups may have none
    every = zip(summary.by_group or [], times, strict=False)
    groups = [_figures(group, found, lengths) for group, found in every if not group.background]
    hopeless = _hopeless(summary, max_errors)
    wants = [] if hopeless is not None else wants_of(summary, lengths.warmup, fields)
    return Pilot(warmup_s=lengths.warmup, duration_s=lengths.duration, groups=groups, wants=wants, hopeless=hopeless)


# Whether any lengths would do.


def _hopeless(summary: RunSummary, max_errors: float) -> str | None:
    """Why no lengths would do, if so. Nothing is said while a group has not shown anything yet."""
    if any(reason.code == "silent" and reason.enough_s is not None for reason in summary.invalid):
        return None
    helpless = [reason for reason in summary.invalid if _is_helpless(reason, summary, max_errors)]
    return helpless[0].message if helpless else None


def _is_helpless(reason: Invalid, summary: RunSummary, max_errors: float) -> bool:
    outcomes = _outcomes(reason, summary)
    ended, failed = errors.ended(outcomes), errors.failed(outcomes)
    match reason.code:
        case "overload" | "silent":
            return True
        case "errors":
            return failed > 0 and float(bdtrc(failed - 1, ended, max_errors)) < CHANCE
        case "too_few":
            return failed == ended >= LEAST
        case _:
            return False


def _outcomes(reason: Invalid, summary: RunSummary) -> dict[str, int]:
    """Those of the group that it is about, or of all."""
    groups = [group for group in summary.by_group or [] if group.name == reason.group]
    return groups[0].outcomes if groups else summary.outcomes


# What it was too short for.


def wants_of(summary: RunSummary, warmup: float, fields: Sequence[str]) -> list[Want]:
    """What a run after a ``warmup`` of so many seconds was too short for that the lengths in ``fields`` can help."""
    found = [want for reason in summary.invalid if (want := _want(reason, summary, warmup, fields)) is not None]
    if "duration" in fields:
        return found + _more(summary)
    return found if summary.trend is not None else [*found, Want(code="too_few")]  # to tell whether it has settled


def _want(reason: Invalid, summary: RunSummary, warmup: float, fields: Sequence[str]) -> Want | None:
    if reason.code in SETTLES and reason.enough_s is None:
        return Want(code=reason.code, warmup_s=reason.enough_warmup_s) if "warmup" in fields else None
    if "duration" not in fields or reason.code not in SHOWS | SETTLES:
        return None
    if "warmup" in fields or (reason.enough_warmup_s or 0.0) <= warmup:
        return Want(code=reason.code, warmup_s=reason.enough_warmup_s, duration_s=reason.enough_s)
    return Want(code=reason.code, duration_s=_alone(reason, summary))


def _alone(reason: Invalid, summary: RunSummary) -> float | None:
    """Seconds of the interval that would do after the same warm-up, where a longer one is advised, too."""
    if reason.code != "censored":
        return reason.enough_s
    groups = [group for group in summary.by_group or [] if group.name == reason.group]
    found = groups[0].censoring if groups else summary.censoring
    return None if found is None else found.enough_s


def _more(summary: RunSummary) -> list[Want]:
    """The interval in which enough transactions end for percentiles, and of each of several groups for any figure."""
    measured = [group for group in summary.by_group or [] if not group.background]
    counts = [(errors.ended(summary.outcomes), ENOUGH)]
    counts += [(errors.ended(group.outcomes), LEAST) for group in measured if len(measured) > 1]
    short = [least / max(count, 1) for count, least in counts if count < least]
    return [Want(code=FEW, duration_s=summary.interval_s * max(short))] if short else []


# Its figures, and how well it knows them.


def _figures(group: RunGroup, times: Histogram, lengths: PilotLengths) -> PilotGroup:
    throughput, of_mean = _throughput_error(group, lengths), _mean_error(times)
    if group.stability is not None and group.stability.standard_error is not None:
        of_mean = max(of_mean or 0.0, _Z * group.stability.standard_error)
    mean = None if group.response_time_ms is None else group.response_time_ms.mean
    return PilotGroup(
        name=group.name,
        throughput=group.throughput or 0.0,
        throughput_error=throughput,
        mean_ms=mean,
        # The mean of a closed loop without pauses is as uncertain as its throughput (Little's law).
        mean_error=None if mean is None else max(of_mean or 0.0, throughput or 0.0),
    )


def _throughput_error(group: RunGroup, lengths: PilotLengths) -> float | None:
    if group.course is None:
        return None
    parts = [int(count) for count in group.course.ok.split()]
    before = min(lengths.warmup, lengths.duration / 2)
    found = batch_means(parts[-round(len(parts) * lengths.duration / (lengths.duration + before)) :], LEVEL)
    return None if found is None or not found.mean else (found.interval[1] - found.interval[0]) / 2 / found.mean


def _mean_error(times: Histogram) -> float | None:
    """As if each response time were independent of the others."""
    if times.total < 2:
        return None
    values = (times.lower + times.upper) / 2
    mean = float(np.average(values, weights=times.count))
    deviation = math.sqrt(float(np.average((values - mean) ** 2, weights=times.count)))
    return _Z * deviation / math.sqrt(times.total) / mean if mean else None
