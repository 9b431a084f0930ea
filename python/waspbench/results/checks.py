"""Thresholds: each condition at each point, judged at the interval's unfavourable end, and what CI makes of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from waspbench.experiment.conditions import ALL, METRICS, Condition
from waspbench.experiment.sweep import text_of
from waspbench.results import errors
from waspbench.results.check import Check
from waspbench.results.estimates import FRACTIONS, too_few
from waspbench.results.reasons import longest
from waspbench.results.result import Result
from waspbench.results.study import StudyResult
from waspbench.results.summary import RunSummary
from waspbench.stats import binomial_interval, mean_interval
from waspbench.stats.quantiles import values_needed
from waspbench.tabular import Column, Listing

_UNITS = {"count": ("/s", 1.0), "rate": ("Mbit/s", 1e-6), "duration": ("ms", 1.0), "share": ("%", 100.0)}


def run_value(run: RunSummary, metric: str) -> float | None:
    """A figure of one run; None where it has none."""
    if metric == "throughput":
        return run.throughput
    if metric == "goodput":
        return run.goodput_bps
    if metric == "server_cpu":
        return run.server_cpu.busy
    if metric == "errors":
        return errors.share(run.outcomes)
    value: float | None = _time(run, metric)
    return value


def _time(figures: RunSummary | Result, metric: str) -> Any:
    """A response time, or its interval: of ``ok`` transactions, or of all that ended where ``metric`` says so."""
    times = figures.all_response_time_ms if metric.startswith(ALL) else figures.response_time_ms
    return None if times is None else getattr(times, metric.removeprefix(ALL))


def _all_errors(result: Result) -> tuple[int, int]:
    """Transactions of all runs that ended other than ok, and all that ended."""
    outcomes = errors.total(run.outcomes for run in result.runs) or {}
    return errors.failed(outcomes), errors.ended(outcomes)


def run_values(result: Result, metric: str) -> list[float]:
    """A figure of each run that has it."""
    return [value for run in result.runs if (value := run_value(run, metric)) is not None]


def estimate(result: Result, metric: str) -> tuple[float | None, tuple[float, float] | None]:
    """A figure over the runs and the 90 % interval of the same figure; None for what does not exist."""
    name = metric.removeprefix(ALL)
    if name in FRACTIONS:
        return _time(result, metric), _time(result, f"{metric}_ci90")
    values = run_values(result, metric)
    if not values:
        return None, None
    if name == "max":
        return max(values), None
    mean = math.fsum(values) / len(values)
    interval = mean_interval(values)
    if metric == "errors":
        return mean, _errors_interval(result, interval)
    if interval is not None and METRICS[metric][0] == "share":
        interval = (max(0.0, interval[0]), min(1.0, interval[1]))
    return mean, interval


def lacking(outcomes: errors.Counts, metric: str) -> str | None:
    """Why transactions with such ``outcomes`` have no percentile ``metric``, in words; None where they have it, and of
    other figures.
    """
    name = metric.removeprefix(ALL)
    if name not in FRACTIONS:
        return None
    ended = metric.startswith(ALL)
    count = errors.ended(outcomes) if ended else outcomes.get("ok", 0)
    if not too_few(name, count):
        return None
    kind = "transactions that ended" if ended else "ok transactions"
    return f"{metric} needs {values_needed(FRACTIONS[name]):,} {kind}, and there are {count:,}"


def lacking_of_runs(result: Result, metric: str) -> str | None:
    """The same of a run, where each has to have the percentile for itself."""
    lacks = [text for run in result.runs if (text := lacking(run.outcomes, metric)) is not None]
    return f"{lacks[0]} in a run" if lacks else None


def _errors_interval(result: Result, over_runs: tuple[float, float] | None) -> tuple[float, float]:
    """The binomial interval over all transactions, or Student's t over the runs where that is wider: runs without an
    error do not vary, and yet do not show that there is none.
    """
    low, high = binomial_interval(*_all_errors(result))
    return (low, high) if over_runs is None else (max(0.0, min(low, over_runs[0])), min(1.0, max(high, over_runs[1])))


def judge(study: StudyResult, conditions: Sequence[Condition]) -> list[Check]:
    """Every condition at every point."""
    return [
        _judged(point.index, point.varied, point.result, condition)
        for point in study.points
        for condition in conditions
    ]


def _judged(index: int, varied: dict[str, Any], result: Result | None, condition: Condition) -> Check:
    value, interval = (None, None) if result is None else estimate(result, condition.metric)
    judged = value if interval is None else interval[1 if condition.upper else 0]
    if value is None or judged is None:
        passed, why = False, (result and lacking(result.outcomes, condition.metric)) or "there is no figure to judge"
    else:
        passed = condition.holds(judged)
        assert result is not None
        why = _why(condition, value, interval, judged) + _how(result, condition.metric)
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
        reason = "the longest of all runs" if metric.removeprefix(ALL) == "max" else "one run has no interval"
        return f"{metric} is {shown(metric, value)} ({reason})"
    end = "upper" if condition.upper else "lower"
    return f"{metric} is {shown(metric, value)}; the {end} end of its 90 % interval, {shown(metric, judged)}, counts"


def _how(result: Result, metric: str) -> str:
    """What the interval was made of, where that needs saying."""
    if metric == "errors":
        failed, ended = _all_errors(result)
        return f" ({failed:,} of {ended:,} transactions)"
    return ""


def shown(metric: str, value: float) -> str:
    """A figure with its unit."""
    unit, scale = _UNITS[METRICS[metric][0]]
    scaled = value * scale
    digits = 3 if abs(scaled) < 10 else 1
    return f"{scaled:,.{digits}f} {unit}"


def junit(study: StudyResult) -> str:
    """Its checks as JUnit XML: a test case each. Results that are not valid are an error of their own."""
    checks = study.checks
    failures = sum(not check.passed for check in checks)
    suite = ElementTree.Element(
        "testsuite",
        name=f"wasp.{study.name}",
        tests=str(len(checks) + 1),
        failures=str(failures),
        errors=str(int(not study.valid)),
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
            ElementTree.SubElement(case, "failure", message=_printable(check.why))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


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


_CHECKS = {
    "condition": Column("check", lambda text: f"`{text}`", left=True),
    "varied": Column("point", text_of, left=True),
    "passed": Column("result", lambda passed: "passed" if passed else "**failed**", left=True),
    "why": Column("", left=True),
}


def markdown(study: StudyResult) -> str:
    """A summary for a pull request: the points, the checks, and what speaks against the results."""
    checks = study.checks
    failed = sum(not check.passed for check in checks)
    verdict = "not valid" if not study.valid else f"{failed} of {len(checks)} checks failed" if failed else "passed"
    lines = [f"### {study.name}: {verdict}", "", *study.listing.markdown()]
    if checks:
        lines += ["", *Listing(_CHECKS, [check.model_dump() for check in checks]).markdown()]
    reasons = _reasons(study)
    if reasons:
        lines += ["", "Not to be trusted:", "", *map(_item, reasons)]
    noted = notes(study)
    if noted:
        lines += ["", "Notes:", "", *map(_item, noted)]
    return "\n".join(lines) + "\n"


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
