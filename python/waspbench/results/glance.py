"""Results at a glance: a line for a terminal, and for a notebook the line with a table and what is beside it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from waspbench.experiment.search import Find
from waspbench.results.answers import against, amount, answer, between
from waspbench.results.brief import Brief, Reported, brief_of, unmet
from waspbench.results.calibration import CalibrationResult
from waspbench.results.capacity import CapacityResult
from waspbench.results.check import Check, listing
from waspbench.results.columns import Line, shown
from waspbench.results.comparing import ComparisonResult
from waspbench.results.result import Result
from waspbench.results.shown import AtAGlance
from waspbench.results.study import StudyResult, study_of
from waspbench.results.twins import SIDES, TwinResult, verdict_text
from waspbench.results.verdicts import change
from waspbench.tabular import Column, Figures, Listing

MOST_ROWS = 40
"""Rows of a table in a notebook."""
MOST_TOLD = 10
"""Sentences of a list in a notebook."""


def line(results: AtAGlance) -> str:
    """Kind, name and mode, what was found with its 90 % interval, and whether it may be trusted, in one line:
    ``<Result 'x', sim: 640.0 ok/s (90 %: 630.2 to 649.8, 3 runs), p99 104.2 ms, valid>``.
    """
    return f"<{type(results).__name__} {_said(results)}>"


def _said(results: AtAGlance) -> str:
    if isinstance(results, CalibrationResult):
        error = "" if results.error is None else f", error {100 * results.error:.1f} %"
        return f"{results.name!r}, {results.mode}: {len(results.costs)} costs{error}{_validity(results)}"
    if isinstance(results, TwinResult):
        return f"{results.name!r}, {' and '.join(SIDES)}: {verdict_text(results)}{_validity(results)}"
    if isinstance(results, ComparisonResult):
        return f"{_comparison(results)}{_verdict(results)}"
    if isinstance(results, CapacityResult):
        return f"{results.name!r}, {results.mode}: {_capacity(results)}{_verdict(results)}"
    if isinstance(results, Result):
        return f"{results.name!r}, {results.mode}: {_line(results.line)}{_verdict(study_of(results))}"
    assert isinstance(results, StudyResult), "there are no results of other kinds"
    return f"{results.name!r}, {results.mode}: {_study(results)}{_verdict(results)}"


def _line(told: Line) -> str:
    """Throughput with its interval, the 99th percentile, and the share of errors where there are any."""
    runs = "1 run" if told.runs == 1 else f"{told.runs} runs"
    ends = told.throughput_ci90
    interval = "" if ends is None else f"90 %: {_text('throughput_ci90', told.figures)}, "
    said = [f"{_text('throughput', told.figures)} ok/s ({interval}{runs})"]
    if told.percentiles_ms.get("p99") is not None:
        said.append(f"p99 {_text('p99_ms', told.figures)} ms")
    if told.errors:
        said.append(f"{_text('errors', told.figures)} % errors")
    return ", ".join(said)


def _text(name: str, figures: Figures) -> str:
    """A figure as tables have it."""
    return shown(["p99"])[name].cell(name, figures)


def _study(study: StudyResult) -> str:
    lines = [point.result.line for point in study.points if point.result is not None]
    if len(study.points) == 1:
        return _line(lines[0]) if lines else "no figures"
    rates = [each.throughput for each in lines if each.throughput is not None]
    ends = list(dict.fromkeys(f"{choose(rates):,.1f}" for choose in (min, max))) if rates else []
    found = f"{' to '.join(ends)} ok/s" if ends else "no figures"
    worst = max((each.errors or 0.0 for each in lines), default=0.0)
    failed = f", up to {100 * worst:.2f} % errors" if worst else ""
    points = f"{len(lines)} of {len(study.points)}" if len(lines) < len(study.points) else f"{len(lines)}"
    return f"{points} points, {found}{failed}"


def _capacity(result: CapacityResult) -> str:
    """What was found; of several points from where to where."""
    if len(result.points) == 1:
        return " ".join(answer(result.points[0], result)[0].split())
    found = [point.capacity for point in result.points if point.capacity is not None]
    none = len(result.points) - len(found)
    said = [*([_range(found, result.find)] if found else []), *([f"none found at {none}"] if none else [])]
    return f"{len(result.points)} points: {', '.join(said)}"


def _range(found: Sequence[float], find: Find) -> str:
    low, high = min(found), max(found)
    return amount(low, find) if low == high else between(low, high, find)


def _comparison(result: ComparisonResult) -> str:
    """What B is against A; of several points how many are what."""
    verdicts = [str(point.verdict) for point in result.points]
    if len(verdicts) == 1:
        [point] = result.points
        said = [str(point.verdict), change(point), *([f"{point.note}"] if point.note else [])]
        found = ", ".join(filter(None, said))
    else:
        counted = ", ".join(f"{verdicts.count(each)} {each}" for each in dict.fromkeys(verdicts))
        found = f"{len(verdicts)} points: {counted}"
    return f"{result.metric} of {result.b!r} against {result.a!r}: {found}"


def _verdict(results: Reported) -> str:
    """Whether results may be trusted, and what became of their checks, after a comma."""
    return "".join([_validity(results), *(f", {each}" for each in unmet(results.checks))])


def _validity(results: Reported | CalibrationResult | TwinResult) -> str:
    """Whether results may be trusted, after a comma."""
    return f", {'valid' if results.valid else _invalidity(results)}"


def _invalidity(results: Reported | CalibrationResult | TwinResult) -> str:
    if isinstance(results, ComparisonResult):
        return "NOT VALID"
    if isinstance(results, CapacityResult) and results.complete:
        return f"NOT VALID: {against(results)[0]}"
    if isinstance(results, StudyResult):
        points = [point.result for point in results.points if point.result is not None]
        codes = dict.fromkeys(reason.code for result in points for reason in result.invalid_reasons)
        if codes:
            return f"NOT VALID: {', '.join(codes)}"
    return "NOT VALID" if results.complete else "NOT COMPLETE"


def html(results: AtAGlance) -> str:
    """The line, what was found, the table, the checks, and what is to be known beside it, as HTML. Every text of the
    results is escaped.
    """
    if isinstance(results, CalibrationResult | TwinResult):
        return f"<div><p>{_bold(line(results), alarming=not results.valid)}</p>{_with_tables(results)}</div>"
    told: Reported = study_of(results) if isinstance(results, Result) else results  # type: ignore[assignment]
    short = brief_of(told)
    head = _bold(line(results), alarming=not told.valid or bool(unmet(told.checks)))
    tables = f"{_drawn(short.table)}{_links(short.links)}{_checks(short.checks)}"
    return f"<div><p>{head}</p>{_found(short)}{tables}{_beside(short)}</div>"


def _with_tables(results: CalibrationResult | TwinResult) -> str:
    """The tables, and what is to be known beside them."""
    if isinstance(results, TwinResult):
        against = [reason.message for point in results.points for each in point.reasons for reason in each]
        failed = [failure for point in results.points for failure in point.failures if failure is not None]
        return _drawn(results.listing) + _list([*failed, *dict.fromkeys(against)]) + _list(results.notes)
    why = f"<p>{escape(results.why)}</p>" if results.why else ""
    return f"{why}{_drawn(results.costs_listing)}{_drawn(results.listing)}{_list(results.not_told)}"


def _found(short: Brief) -> str:
    return f"<p>{escape(short.asked)}:</p>{_list(short.found)}" if short.asked else _list(short.found)


def _beside(short: Brief) -> str:
    return "".join(f"<p>{escape(heading)}:</p>{_list(texts)}" for heading, texts in short.beside.items())


def _checks(checks: Sequence[Check]) -> str:
    return _drawn(listing(checks)) if checks else ""


def _links(table: Listing | None) -> str:
    return "" if table is None else _drawn(table)


def _drawn(table: Listing) -> str:
    head = "".join(_cell("th", column, column.head) for column in table.columns.values())
    rows = [
        "".join(
            _cell("td", column, text, alarming=column.alarms is not None and column.alarms(row))
            for column, text in zip(table.columns.values(), texts, strict=True)
        )
        for row, texts in zip(table.rows[:MOST_ROWS], table.cells, strict=False)
    ]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    more = len(table.rows) - MOST_ROWS
    rest = f"<p>and {more:,d} more rows, which data frames have</p>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _cell(tag: str, column: Column, text: str, *, alarming: bool = False) -> str:
    side = "left" if column.left else "right"
    shown_text = _bold(text, alarming=True) if alarming else escape(text)
    whole = "" if column.left else ";white-space:nowrap"
    return f'<{tag} style="text-align:{side};padding:0.1em 0.5em{whole}">{shown_text}</{tag}>'


def _bold(text: str, *, alarming: bool) -> str:
    """A text in bold, and where it tells that something is wrong in a red that can be read on white and on black."""
    look = " style='color:#d33'" if alarming else ""
    return f"<b{look}>{escape(text)}</b>"


def _list(texts: Sequence[str]) -> str:
    more = len(texts) - MOST_TOLD
    told = [*texts[:MOST_TOLD], *([f"and {more:,d} more"] if more > 0 else [])]
    return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in told)}</ul>" if told else ""
