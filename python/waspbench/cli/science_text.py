"""Capacities, comparisons and catalogues as plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from waspbench.colour import Tone, paint, tone_of
from waspbench.experiment.sweep import text_of
from waspbench.results import errors
from waspbench.results.answers import against, answer, sought
from waspbench.results.capacity import CapacityResult, PointCapacity, rows_by_request
from waspbench.results.catalogue import Entry
from waspbench.results.check import WORDS, Check
from waspbench.results.columns import of_requests
from waspbench.results.comparing import Compared, ComparisonResult
from waspbench.results.differences import listed as differences_listed
from waspbench.results.loads import load_columns, load_text
from waspbench.results.normal import NormalityResult
from waspbench.results.parts import WHOLE_SESSIONS
from waspbench.results.regression import untrusted
from waspbench.results.search_notes import ALARMS, beside, excluded, made
from waspbench.results.sessions import text_of as sessions_text
from waspbench.results.verdicts import change, failing, means, tested
from waspbench.tabular import NONE, Column, Listing, aligned, whole

__all__ = ["capacity", "check", "comparison", "entries", "normality", "table"]


def table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """The answer to a query: columns side by side, numbers to the right."""
    columns = list(zip(*rows, strict=True)) or [()] * len(heads)
    left = [not any(map(_is_number, column)) for column in columns]
    return "\n".join(aligned(heads, [[_cell(value) for value in row] for row in rows], left)) + "\n"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.6g}"
    return NONE if value is None else str(value)


def capacity(result: CapacityResult) -> str:
    """The capacity at each point, and what set it."""
    head = f"{result.name}: {sought(result.find, result.objectives)}, {result.mode}, by {result.method}"
    lines = [f"{head}, seed {result.seed}", ""]
    for point in result.points:
        lines += _capacity(point, result)
    if result.complete and not result.valid:
        lines.append(f"{_bad('NOT VALID:')} {'; '.join(against(result))}")
    if not result.complete:
        lines.append("Not complete: runs are missing.")
    return "\n".join([*lines, f"results: {result.results}"]) + "\n"


def _capacity(point: PointCapacity, result: CapacityResult) -> list[str]:
    name = text_of(point.varied)
    lines = [f"{name}:"] if name else []
    lines += [f"  {sentence}" for sentence in answer(point, result)]
    lines += [f"  {_alarmed(text)}" for text in beside(point, result.find)]
    columns = load_columns(point.loads, result.percentiles, result.find)
    lines += [f"  {made(point)}:", *Listing(columns, [load.figures for load in point.loads]).terminal(indent=4)]
    for said in excluded(point, result.find):
        lines += textwrap.wrap(said, 79, initial_indent="    ", subsequent_indent="      ")
    return [*lines, *_by_request(point, result), ""]


def _by_request(point: PointCapacity, result: CapacityResult) -> list[str]:
    """A line for each named request at the load that was found, and for whole sessions."""
    rows = rows_by_request(point)
    if not rows or point.load is None:
        return []
    listing = Listing(of_requests(result.percentiles, rows), rows)
    lines = [f"  each request at {load_text(point.load, result.find)}:", *listing.terminal(indent=4)]
    said = [] if point.sessions is None else [f"{WHOLE_SESSIONS}: {sessions_text(point.sessions)}"]
    return [*lines, *(f"    {text}" for text in said)]


def _bad(text: str) -> str:
    return paint(text, "bad")


def _alarmed(text: str) -> str:
    """``text`` with the word in colour that it begins with if it tells that something is wrong."""
    word = next((word for word in ALARMS if text.startswith(word)), "")
    return (_bad(word) if word else "") + text.removeprefix(word)


def check(judged: Check) -> str:
    """What became of a check, in a line."""
    word = WORDS[judged.passed]
    return paint(word, tone_of(judged.passed)) + judged.line.removeprefix(word)


def comparison(result: ComparisonResult) -> str:
    """The verdict at each point."""
    lines = [f"A: {result.a}", f"B: {result.b}", f"{result.metric}, B against A:", ""]
    for point in result.points if not result.not_comparable else ():
        lines += _compared(point, result.metric)
    lines += [*result.listing.terminal(), ""]
    if result.unmatched:
        lines += ["Only on one side:", *(f"  {point}" for point in result.unmatched), ""]
    if result.lacking:
        lines += ["Not compared:", *(f"  {text}" for text in result.lacking), ""]
    lines += _differences(result)
    if result.not_comparable:
        lines += [f"{_bad('NOT COMPARABLE:')} {'; '.join(result.not_comparable)}", ""]
    elif not result.valid:
        lines += [f"{_bad('NOT VALID:')} {text}" for text in _invalid(result)]
        lines.append("")
    holm = " (Holm over all points)" if len(result.points) > 1 else ""
    lines.append(f"called at {100 * result.alpha:g} %{holm}")
    lines += ["", *map(check, result.checks)] if result.checks else []
    return "\n".join(lines) + "\n"


def _invalid(result: ComparisonResult) -> list[str]:
    """Which side must not be trusted, and where."""
    found = [(text_of(point.varied), untrusted(point)) for point in result.points if not point.valid]
    return [f"{f'{at}: ' if at else ''}{side} must not be trusted; wasp show says why" for at, side in found]


def _differences(result: ComparisonResult) -> list[str]:
    lines = differences_listed(result.differences)
    return ["They differ also in:", *(f"  {line}" for line in lines), ""] if lines else []


def _compared(point: Compared, figure: str) -> list[str]:
    name = f"{text_of(point.varied)}: " if point.varied else ""
    said = change(point, "   ")
    figures = f"{means(point, figure)}{f'  {said}' if said else ''}"
    lines = [
        figures,
        tested(point),
        *(f"note: {text}" for text in failing(point)),
        *([point.note] if point.note else []),
    ]
    return [f"{name}{_painted(point.verdict)}", *(f"  {line}" for line in lines), ""]


_TONES: dict[str, Tone] = {"faster": "good", "slower": "bad"}


def _painted(verdict: str) -> str:
    return paint(verdict, _TONES[verdict]) if verdict in _TONES else verdict


def normality(result: NormalityResult) -> str:
    """The test's verdict in words."""
    verdict = "consistent with a normal distribution" if result.normal else _bad("NOT normal")
    lines = [
        f"{result.name}: {result.metric} of {result.runs} runs is {verdict}",
        f"  Shapiro-Wilk W = {result.w:.4f}, p = {result.p:.3g}; probability plot r = {result.correlation:.4f}",
        f"  mean {result.mean:,.2f}, standard deviation {result.deviation:,.2f}",
        f"  {result.note}",
    ]
    if result.outliers:
        lines.append(f"  stand out (and are kept): runs {', '.join(str(run + 1) for run in result.outliers)}")
    lines.append(f"  outcomes: {errors.text(result.outcomes, result.statuses)}")
    lines += [] if result.valid else [f"  {_bad('NOT VALID:')} these runs must not be trusted"]
    lines += [f"  - {note}" for note in result.notes]
    return "\n".join([*lines, f"results: {result.results}"]) + "\n"


_VALID = {True: "yes", False: "NO", None: "not complete"}

_ENTRY = {
    "id": Column("id", lambda name: name[:8], left=True),
    "created": Column("created", left=True),
    "name": Column("name", left=True),
    "kind": Column("kind", left=True),
    "mode": Column("mode", left=True),
    "points": Column("points", whole),
    "runs": Column("runs", whole),
    "valid": Column(
        "valid", of_row=lambda row: _VALID[row["valid"]], left=True, alarms=lambda row: row["valid"] is False
    ),
    "path": Column("directory", left=True),
}


def entries(found: Sequence[Entry]) -> str:
    """The catalogue."""
    if not found:
        return "no results\n"
    return "\n".join(Listing(_ENTRY, [dict(entry) for entry in found]).terminal()) + "\n"
