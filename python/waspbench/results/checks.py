"""Thresholds: each condition at each point, judged at the interval's unfavourable end, and what CI makes of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from waspbench.errors import Argument, InputError
from waspbench.experiment.base import FieldError
from waspbench.experiment.conditions import Condition
from waspbench.experiment.metrics import Metric, check_group
from waspbench.experiment.sweep import text_of
from waspbench.results import errors
from waspbench.results.check import WORDS, Check
from waspbench.results.estimates import ResponseTime, needed
from waspbench.results.groups import LEAST, Group
from waspbench.results.reasons import longest
from waspbench.results.result import Result
from waspbench.results.study import StudyResult
from waspbench.results.summary import RunGroup, RunSummary
from waspbench.stats import binomial_interval, mean_interval
from waspbench.tabular import Column, Listing

_UNITS = {"count": ("/s", 1.0), "rate": ("Mbit/s", 1e-6), "duration": ("ms", 1.0), "share": ("%", 100.0)}


def run_value(run: RunSummary, metric: Metric) -> float | None:
    """A figure of one run; None where it has none."""
    if metric.name == "server_cpu":
        return run.server_cpu.busy
    part = _part_of_run(run, metric)
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


def _part_of_run(run: RunSummary, metric: Metric) -> RunSummary | RunGroup | None:
    """The run, or the group in it, that a figure is of; None where the results do not tell."""
    if metric.group is None:
        return run
    return next((group for group in run.by_group or () if group.name == metric.group), None)


def _part_of(result: Result, metric: Metric) -> Result | Group | None:
    """The same of all runs."""
    if metric.group is None:
        return result
    return next((group for group in result.groups if group.name == metric.group), None)


def _times(result: Result, metric: Metric) -> ResponseTime | None:
    """The response times that a figure is one of; None where the results do not tell."""
    part = _part_of(result, metric)
    return None if part is None else part.all_response_time_ms if metric.all else part.response_time_ms


def _all_errors(result: Result, metric: Metric) -> tuple[int, int]:
    """Transactions of all runs that ended other than ok, and all that ended."""
    parts = [_part_of_run(run, metric) for run in result.runs]
    outcomes = errors.total(part.outcomes for part in parts if part is not None) or {}
    return errors.failed(outcomes), errors.ended(outcomes)


def run_values(result: Result, metric: Metric) -> list[float]:
    """A figure of each run that has it."""
    return [value for run in result.runs if (value := run_value(run, metric)) is not None]


def estimate(result: Result, metric: Metric) -> tuple[float | None, tuple[float, float] | None]:
    """A figure over the runs and the 90 % interval of the same figure; None for what does not exist."""
    if metric.kind == "duration":
        times = _times(result, metric)
        if times is None or times.mean is None:
            return None, None  # of a group with few transactions it says nothing
        if metric.is_percentile:
            return times.at(metric.name), times.ci90_at(metric.name)
    values = run_values(result, metric)
    if not values:
        return None, None
    if metric.name == "max":
        return max(values), None
    mean = math.fsum(values) / len(values)
    interval = mean_interval(values)
    if metric.name == "errors":
        return mean, _errors_interval(result, metric, interval)
    if interval is not None and metric.kind == "share":
        interval = (max(0.0, interval[0]), min(1.0, interval[1]))
    return mean, interval


def lacking(run: RunSummary, metric: Metric) -> str | None:
    """Why a run has too few transactions for a response time, in words; None where it has enough, and of other
    figures.
    """
    part = _part_of_run(run, metric)
    return None if part is None else _lack(part.outcomes, metric, _least(metric, len(run.by_group or ())))


def needs_more(run: RunSummary, metric: Metric) -> float | None:
    """By what to multiply the transactions of a run for a response time; None where it has enough, or none at all."""
    part, least = _part_of_run(run, metric), _least(metric, len(run.by_group or ()))
    count = 0 if part is None else _count(part.outcomes, metric)
    return least / count if 0 < count < least else None


def lacking_of_runs(result: Result, metric: Metric) -> str | None:
    """Why runs have too few transactions for a response time, in words, where each has to have it for itself, and all
    together enough; None where they have.
    """
    parts = [_part_of_run(run, metric) for run in result.runs]
    lacks = [_lack(part.outcomes, metric, _least(metric, groups=1)) for part in parts if part is not None]
    of_a_run = next((text for text in lacks if text is not None), None)
    return _lacking_together(result, metric) if of_a_run is None else f"{of_a_run} in a run"


def _lacking_together(result: Result, metric: Metric) -> str | None:
    """Why all runs together have too few transactions for a response time, in words; None where they have enough."""
    part = _part_of(result, metric)
    return None if part is None else _lack(part.outcomes, metric, _least(metric, len(result.groups)))


def _least(metric: Metric, groups: int) -> int:
    """Transactions that a figure needs, where there are so many groups; none but of response times."""
    if metric.kind != "duration":
        return 0
    of_group = LEAST if metric.group is not None and groups > 1 else 1
    return max(of_group, needed(metric.name) if metric.is_percentile else 1)


def _lack(outcomes: errors.Counts, metric: Metric, least: int) -> str | None:
    count = _count(outcomes, metric)
    if count >= least:
        return None
    kind = "transactions that ended" if metric.all else "ok transactions"
    why = ", as any response time of one of several groups" if least == LEAST else ""
    return f"{metric} needs {least:,} {kind}{why}, and there are {count:,}"


def check_measured(metric: Metric, result: Result) -> None:
    """Makes sure that the group which a figure is of is one of a result.

    Raises:
        InputError: it is none.
    """
    try:
        check_group(metric, [group.name for group in result.groups])
    except FieldError as error:
        where = f" (in {result.results})" if result.results else ""
        raise InputError.at(Argument("metric"), f"{error}{where}") from None


def _count(outcomes: errors.Counts, metric: Metric) -> int:
    """Transactions whose response times a figure is of."""
    return errors.ended(outcomes) if metric.all else outcomes.get("ok", 0)


def _errors_interval(result: Result, metric: Metric, over_runs: tuple[float, float] | None) -> tuple[float, float]:
    """The binomial interval over all transactions, or Student's t over the runs where that is wider: runs without an
    error do not vary, and yet do not show that there is none.
    """
    low, high = binomial_interval(*_all_errors(result, metric))
    return (low, high) if over_runs is None else (max(0.0, min(low, over_runs[0])), min(1.0, max(high, over_runs[1])))


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
        failed, ended = _all_errors(result, metric)
        return f" ({failed:,} of {ended:,} transactions)"
    times = _times(result, metric) if metric.is_percentile else None
    return " (no transaction took longer)" if times is not None and judged == times.max else ""


def shown(metric: Metric, value: float) -> str:
    """A figure with its unit."""
    unit, scale = _UNITS[metric.kind]
    scaled = value * scale
    digits = 3 if abs(scaled) < 10 else 1
    return f"{scaled:,.{digits}f} {unit}"


def junit(study: StudyResult) -> str:
    """Its checks as JUnit XML: a test case each, of which an undecided one is an error. Results that are not valid are
    an error of their own.
    """
    checks = study.checks
    failures, undecided = _counts(checks)
    suite = ElementTree.Element(
        "testsuite",
        name=f"wasp.{study.name}",
        tests=str(len(checks) + 1),
        failures=str(failures),
        errors=str(int(not study.valid) + undecided),
    )
    valid = ElementTree.SubElement(suite, "testcase", classname=f"wasp.{study.name}", name="the results are valid")
    if not study.valid:
        ElementTree.SubElement(valid, "error", message=_printable("; ".join(_reasons(study))))
    for check in checks:
        name = " at ".join(part for part in (check.condition, text_of(check.varied)) if part)
        case = ElementTree.SubElement(suite, "testcase", classname=f"wasp.{study.name}", name=_printable(name))
        if check.passed:
            ElementTree.SubElement(case, "system-out").text = _printable(check.why)
        else:
            kind = "error" if check.passed is None else "failure"
            ElementTree.SubElement(case, kind, message=_printable(check.why))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _counts(checks: Sequence[Check]) -> tuple[int, int]:
    """How many failed, and how many are undecided."""
    return sum(check.passed is False for check in checks), sum(check.passed is None for check in checks)


def _printable(text: str) -> str:
    """``text`` without characters that XML cannot hold."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _reasons(study: StudyResult) -> list[str]:
    found = []
    for point in study.points:
        at = f" ({text_of(point.varied)})" if point.varied else ""
        if point.result is None:
            found.append((f"no run came to its end: {point.failure}" if point.failure else "no run is finished") + at)
        else:
            found += [reason.message + at for reason in point.result.invalid_reasons]
    advice = longest(point.result.advice for point in study.points if point.result is not None)
    return found if advice is None else [*found, f"advice: {advice.text}"]


_RESULTS = {passed: word if passed else f"**{word.lower()}**" for passed, word in WORDS.items()}

_CHECKS = {
    "condition": Column("check", lambda text: f"`{text}`", left=True),
    "varied": Column("point", text_of, left=True),
    "passed": Column("result", of_row=lambda row: _RESULTS[row["passed"]], left=True),
    "why": Column("", left=True),
}


def markdown(study: StudyResult) -> str:
    """A summary for a pull request: the points, the checks, and what speaks against the results."""
    checks = study.checks
    lines = [f"### {study.name}: {_verdict(study)}", "", *study.listing.markdown()]
    if checks:
        lines += ["", *Listing(_CHECKS, [check.model_dump() for check in checks]).markdown()]
    reasons = _reasons(study)
    if reasons:
        lines += ["", "Not to be trusted:", "", *map(_item, reasons)]
    noted = notes(study)
    if noted:
        lines += ["", "Notes:", "", *map(_item, noted)]
    return "\n".join(lines) + "\n"


def _verdict(study: StudyResult) -> str:
    """What the results and their checks come to, in a few words."""
    failed, undecided = _counts(study.checks)
    said = [] if study.valid else ["not valid"]
    said += [f"{failed} of {len(study.checks)} checks failed"] if failed else []
    said += [f"{undecided} of {len(study.checks)} checks undecided"] if undecided else []
    return ", ".join(said) or "passed"


def _item(text: str) -> str:
    return f"- {' '.join(text.split())}"


def notes(study: StudyResult) -> list[str]:
    """What is to be known of the points and speaks not against them: each note with its points, unless it is of all."""
    found: dict[str, list[str]] = {}
    for point in study.points:
        for note in () if point.result is None else point.result.notes:
            found.setdefault(note, []).append(text_of(point.varied))
    return [
        note if len(places) == len(study.points) else f"{note} ({'; '.join(places)})" for note, places in found.items()
    ]
