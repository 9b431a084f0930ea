"""Thresholds: each condition at each point, judged at the interval's unfavourable end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from waspbench.errors import Argument, InputError
from waspbench.experiment.conditions import Condition
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.metrics import SCALES, Known, Metric, check_known
from waspbench.results import errors
from waspbench.results.check import Check
from waspbench.results.estimates import ResponseTime, needed
from waspbench.results.few import LEAST
from waspbench.results.parts import part_of, part_of_run
from waspbench.results.result import Result
from waspbench.results.study import StudyResult
from waspbench.results.summary import RunGroup, RunSummary
from waspbench.stats import binomial_interval, mean_interval

LONGER = 2.0
"""By what to lengthen a run in which no session ended. A search lengthens a run by this much at once: a higher load
would have no more sessions.
"""


def run_value(run: RunSummary, metric: Metric) -> float | None:
    """A figure of one run; None where it has none."""
    if metric.name == "server_cpu":
        return run.server_cpu.busy
    part = part_of_run(run, metric)
    if part is None:
        return None
    if metric.name == "throughput":
        return part.throughput
    if metric.name == "goodput":
        return part.goodput_bps
    if metric.name == "errors":
        return errors.share(part.outcomes)
    times = part.all_response_time_ms if metric.all else part.response_time_ms
    return None if times is None else times.at(metric.name)


def _times(result: Result, metric: Metric) -> ResponseTime | None:
    """The response times that a figure is one of; None where the results do not tell."""
    part = part_of(result, metric)
    return None if part is None else part.all_response_time_ms if metric.all else part.response_time_ms


def _outcomes(result: Result, metric: Metric) -> list[errors.Counts]:
    """The outcomes of the transactions of each run that a figure is of."""
    parts = [part_of_run(run, metric) for run in result.runs]
    return [part.outcomes for part in parts if part is not None]


def run_values(result: Result, metric: Metric) -> list[float]:
    """A figure of each run that has it."""
    return [value for run in result.runs if (value := run_value(run, metric)) is not None]


def estimate(result: Result, metric: Metric) -> tuple[float | None, tuple[float, float] | None]:
    """A figure over the runs and the 90 % interval of the same figure; None for what does not exist."""
    if metric.sessions and not any(errors.ended(outcomes) for outcomes in _outcomes(result, metric)):
        return None, None
    if metric.kind == "duration":
        times = _times(result, metric)
        if times is None or times.max is None:
            return None, None  # of a group with few transactions it says nothing
        if metric.is_percentile:
            return times.at(metric.name), times.ci90_at(metric.name)
    values = run_values(result, metric)
    if not values:
        return None, None
    if metric.name == "max":
        return max(values), None
    if metric.name == "errors":
        return share_of_runs([(errors.failed(run), errors.ended(run)) for run in _outcomes(result, metric)])
    interval = mean_interval(values)
    mean = math.fsum(values) / len(values)
    if interval is not None and metric.kind == "share":
        interval = (max(0.0, interval[0]), min(1.0, interval[1]))
    return mean, interval


def lacking(run: RunSummary, metric: Metric) -> str | None:
    """Why a run has too few transactions, or sessions, for a figure, in words; None where it has enough."""
    part = part_of_run(run, metric)
    return None if part is None else _lack(part.outcomes, metric, _least(metric, _beside(run, metric)))


def needs_more(run: RunSummary, metric: Metric) -> float | None:
    """By what to multiply the transactions of a run, or its sessions, for a figure; None where it has enough, or
    none at all. Of sessions that were still in progress it is not known, and `LONGER` is returned.
    """
    part, least = part_of_run(run, metric), _least(metric, _beside(run, metric))
    outcomes = {} if part is None else part.outcomes
    if metric.sessions and not errors.ended(outcomes) and outcomes.get("unfinished"):
        return LONGER
    count = _count(outcomes, metric)
    return least / count if 0 < count < least else None


def lacking_of_runs(result: Result, metric: Metric) -> str | None:
    """Why runs have too few transactions, or sessions, for a figure, in words, where each has to have it for itself,
    and all together enough; None where they have.
    """
    parts = [part_of_run(run, metric) for run in result.runs]
    lacks = [_lack(part.outcomes, metric, _least(metric, parts=1)) for part in parts if part is not None]
    of_a_run = next((text for text in lacks if text is not None), None)
    return _lacking_together(result, metric) if of_a_run is None else f"{of_a_run} in a run"


def _lacking_together(result: Result, metric: Metric) -> str | None:
    """Why all runs together have too few transactions or sessions for a figure, in words; None if they have enough."""
    part = part_of(result, metric)
    return None if part is None else _lack(part.outcomes, metric, _least(metric, _parts(result, metric)))


def _beside(run: RunSummary, metric: Metric) -> int:
    """How many groups or requests of a run there are, of which a figure is that of one."""
    groups = 1 if metric.group is None else len(run.by_group or ())
    if metric.request is None:
        return groups
    part = part_of_run(run, replace(metric, request=None))
    requests = part.requests if isinstance(part, (RunSummary, RunGroup)) else None
    return max(len(run.by_group or ()), len(requests or ()))


def _parts(result: Result, metric: Metric) -> int:
    """How many groups or requests of a result there are, of which a figure is that of one."""
    return max((_beside(run, metric) for run in result.runs), default=0)


def _least(metric: Metric, parts: int) -> int:
    """Transactions that a figure needs, where it is of one of so many parts; none but of response times."""
    if metric.kind != "duration":
        return 0
    return max(LEAST if parts > 1 else 1, needed(metric.name) if metric.is_percentile else 1)


def _lack(outcomes: errors.Counts, metric: Metric, least: int) -> str | None:
    if metric.sessions and not errors.ended(outcomes):
        return f"{metric} needs sessions that end in the measured interval, and none did"
    count = _count(outcomes, metric)
    if count >= least:
        return None
    kind = f"{metric.counted} that ended" if metric.all else f"ok {metric.counted}"
    several = "groups" if metric.request is None else "groups or requests"
    why = f", as any response time of one of several {several}" if least == LEAST else ""
    return f"{metric} needs {least:,} {kind}{why}, and there are {count:,}"


def known_in_result(result: Result) -> Known:
    """What figures of a result may be of."""
    groups = {group.name: [request.name for request in group.requests] for group in result.groups}
    sessions = [group.name for group in result.groups if group.sessions is not None]
    of_all = [None] if result.sessions is not None else []
    return Known(groups, [request.name for request in result.requests], (*sessions, *of_all))


def check_measured(metric: Metric, result: Result) -> None:
    """Makes sure that a result has the group and the request which a figure is of.

    Raises:
        InputError: it has not.
    """
    try:
        check_known(metric, known_in_result(result))
    except FieldError as error:
        where = f" (in {result.results})" if result.results else ""
        raise InputError.at(Argument("metric"), f"{error}{where}") from None


def _count(outcomes: errors.Counts, metric: Metric) -> int:
    """Transactions whose response times a figure is of."""
    return errors.ended(outcomes) if metric.all else outcomes.get("ok", 0)


def share_of_runs(counted: Sequence[tuple[int, int]]) -> tuple[float | None, tuple[float, float] | None]:
    """The share of some transactions in all that ended, and its 90 % interval; None where none ended. ``counted`` has
    both numbers of each run.

    The interval is the binomial one over all transactions, or Student's t over the runs where that is wider: runs
    without an error do not vary, and yet do not show that there is none.
    """
    some, total = sum(part for part, _ in counted), sum(whole for _, whole in counted)
    if not total:
        return None, None
    low, high = binomial_interval(some, total)
    over_runs = mean_interval([part / whole for part, whole in counted if whole])
    if over_runs is not None:
        low, high = max(0.0, min(low, over_runs[0])), min(1.0, max(high, over_runs[1]))
    return some / total, (low, high)


def judge(study: StudyResult, conditions: Sequence[Condition]) -> list[Check]:
    """Every condition at every point."""
    return [
        _judged(point.index, point.varied, point.result, condition)
        for point in study.points
        for condition in conditions
    ]


def _judged(index: int, varied: dict[str, Any], result: Result | None, condition: Condition) -> Check:
    metric = condition.metric
    value, interval = (None, None) if result is None else estimate(result, metric)
    judged = value if interval is None else interval[1 if condition.upper else 0]
    if result is None or value is None or judged is None:
        passed, why = None, (result and _lacking_together(result, metric)) or "there is no figure to judge"
    else:
        passed = condition.holds(judged)
        why = _why(condition, value, interval, judged) + _how(result, metric, judged)
    return Check(
        point=index,
        varied=varied,
        condition=condition.text,
        value=value,
        ci90=interval,
        judged=judged,
        passed=passed,
        why=why,
    )


def _why(condition: Condition, value: float, interval: tuple[float, float] | None, judged: float) -> str:
    metric = condition.metric
    if interval is None:
        reason = "the longest of all runs" if metric.name == "max" else "one run has no interval"
        return f"{metric} is {shown(metric, value)} ({reason})"
    end = "upper" if condition.upper else "lower"
    return f"{metric} is {shown(metric, value)}; the {end} end of its 90 % interval, {shown(metric, judged)}, counts"


def _how(result: Result, metric: Metric, judged: float) -> str:
    """What the interval was made of, where that needs saying."""
    if metric.name == "errors":
        outcomes = errors.total(_outcomes(result, metric)) or {}
        return f" ({errors.failed(outcomes):,} of {errors.ended(outcomes):,} {metric.counted})"
    times = _times(result, metric) if metric.is_percentile else None
    return f" (no {metric.counted[:-1]} took longer)" if times is not None and judged == times.max else ""


def shown(metric: Metric, value: float) -> str:
    """A figure with its unit."""
    unit, scale = SCALES[metric.kind]
    scaled = value * scale
    digits = 3 if abs(scaled) < 10 else 1
    return f"{scaled:,.{digits}f} {unit}"
