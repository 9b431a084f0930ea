"""Capacities, comparisons and catalogues as plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from waspbench.colour import Tone, paint, tone_of
from waspbench.experiment.search import Find
from waspbench.experiment.sweep import text_of
from waspbench.results import errors
from waspbench.results.answers import against, answer, sought
from waspbench.results.capacity import CapacityResult, PointCapacity
from waspbench.results.catalogue import Entry
from waspbench.results.check import WORDS, Check
from waspbench.results.comparing import Compared, ComparisonResult
from waspbench.results.differences import listed as differences_listed
from waspbench.results.loads import LoadReading, load_columns, load_number, load_text
from waspbench.results.normal import NormalityResult
from waspbench.results.regression import untrusted
from waspbench.results.verdicts import change, means
from waspbench.stats.capacity import More
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
    find = result.find
    name = text_of(point.varied)
    lines = [f"{name}:"] if name else []
    lines += [f"  {sentence}" for sentence in answer(point, result)]
    if point.capacity is not None:
        lines += _there(point, find)
        lines.append(f"  bottleneck: {point.bottleneck}; {point.why}")
        if not point.confirmed:
            lines.append(_unconfirmed(point, find))
        lines += _notes(point)
    lines += _hints(point)
    again = sum(reading.attempts > 1 for reading in point.readings)
    runs = "1 run" if point.runs == 1 else f"{point.runs} runs"
    lines.append(f"  {runs}{f' ({again} of them tried twice)' if again else ''}:")
    return [*lines, *_loads(point, find, result.percentiles), ""]


def _bad(text: str) -> str:
    return paint(text, "bad")


def _unconfirmed(point: PointCapacity, find: Find) -> str:
    fresh = [reading for reading in point.readings if reading.confirming]
    here = [reading for reading in fresh if reading.load == point.load]
    if any(not (reading.counts and reading.meets) for reading in here):
        return f"  {_bad('NOT CONFIRMED:')} fresh runs at this load failed or did not meet the objective"
    if fresh or find != "throughput":
        runs = "run" if len(here) == 1 else "runs"
        return f"  {_bad('NOT CONFIRMED:')} {len(here)} fresh {runs} at this load, too few; --max-runs allows more"
    return "  not confirmed: no fresh runs; the largest of several means is too high on average"


def _there(point: PointCapacity, find: Find) -> list[str]:
    """What else is to be known of a largest load."""
    if find == "throughput":
        return []
    ends = point.line.throughput_ci90
    interval = "" if ends is None else f"   (90 %: {ends[0]:,.1f} to {ends[1]:,.1f})"
    lines = [f"  throughput there: {point.line.throughput or 0:,.1f} /s{interval}"]
    if point.again is not None:
        lines.append(f"  the objective is met again at {load_text(point.again, find)}")
    return lines


UNEXPLORED = 1.1
"""How much more than what was found other loads may have without that being said."""

_MORE: dict[More, str] = {
    "below": "a lower --low",
    "above": "a higher --high",
}


def _hints(point: PointCapacity) -> list[str]:
    """What may find more."""
    found = "some" if point.capacity is None else "more"
    lines = [f"  {_MORE[point.more]} may find {found}"] if point.more is not None else []
    if point.outcome == "not reached" and point.more is None:
        lines.append("  out of runs: more of them (--max-runs) may find more")
    if point.refined is False:
        lines.append("  out of runs: more of them (--max-runs) would narrow the interval down")
    if point.bound is not None and point.bound > UNEXPLORED * (point.capacity or point.bound):
        may_have = f"loads between those that were tried may have up to {point.bound:,.0f} /s"
        lines.append(f"  {may_have}: --max-runs allows more of them")
    return lines


def _loads(point: PointCapacity, find: Find, percentiles: Sequence[str]) -> list[str]:
    """A line for each load, and what speaks against those that do not count: of loads that are excluded for the same
    kind of reason by what the least says.
    """
    columns = load_columns(point.loads, percentiles, find)
    lines = Listing(columns, [load.figures for load in point.loads]).terminal(indent=4)
    excluded: dict[str, list[LoadReading]] = {}
    for load in sorted({reading.load for reading in point.readings}):
        reading = _excluding(point, load, find)
        if reading is not None:
            excluded.setdefault(_why_excluded(reading), []).append(reading)
    for why, (first, *others) in excluded.items():
        said = f"at {load_text(first.load, find)}: {'; '.join(first.notes)}"
        if others:
            loads = f"{', '.join(load_number(other.load) for other in others[:-1])}{', ' if others[1:] else ''}"
            said += f" ({why} at {loads}{load_text(others[-1].load, find)}, too; see --json)"
        lines += textwrap.wrap(said, 79, initial_indent="    ", subsequent_indent="      ")
    return lines


def _excluding(point: PointCapacity, load: float, find: Find) -> LoadReading | None:
    """The run that tells why a load does not count; None where that needs not be said."""
    behind = [reading.run for reading in point.behind]
    # Of loads that miss the objective the least tells why; the table shows the others.
    nearest = min((each.load for each in point.readings if each.counts and each.meets is False), default=None)
    excluded = [
        reading
        for reading in point.readings
        if reading.load == load
        and reading.run not in behind
        and (not (reading.counts and reading.meets) or reading.valid is False)
        and (find == "throughput" or load == nearest or not reading.counts)
    ]
    return next((each for each in excluded if each.meets is False), excluded[0]) if excluded else None


def _why_excluded(reading: LoadReading) -> str:
    if reading.failed:
        return "runs failed"
    if not reading.counts:
        return "the emulator was the limit"
    return "runs are not valid" if reading.meets else "the objective was missed"


def _notes(point: PointCapacity) -> list[str]:
    """What speaks against the runs that make up a capacity: each note with its runs."""
    found: dict[tuple[bool, str], list[str]] = {}
    for reading in point.behind:
        for note in reading.notes:
            found.setdefault((reading.valid is False, note), []).append(str(reading.run + 1))
    return [
        f"  {_bad('NOT VALID:') if wrong else 'note on'} run{'s' if len(runs) > 1 else ''} {', '.join(runs)}: {note}"
        for (wrong, note), runs in found.items()
    ]


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
    figures = f"  {means(point, figure)}{f'  {said}' if said else ''}"
    p = f"p = {point.p_holm:.3g}" if point.p_holm == point.p else f"p = {point.p:.3g}, corrected {point.p_holm:.3g}"
    test = f"  {point.test} test, {point.runs[0]} and {point.runs[1]} runs: {p}"
    note = [f"  {point.note}"] if point.note else []
    return [f"{name}{_painted(point.verdict)}", figures, test, *_noted(point), *note, ""]


_TONES: dict[str, Tone] = {"faster": "good", "slower": "bad"}


def _painted(verdict: str) -> str:
    return paint(verdict, _TONES[verdict]) if verdict in _TONES else verdict


def _noted(point: Compared) -> list[str]:
    """That many transactions of one side were not ok."""
    return [
        f"  note: more than {100 * errors.NOTED:.0f} % of {side}'s transactions were not ok"
        for side, line in zip("AB", point.lines, strict=True)
        if line.errors is not None and line.errors > errors.NOTED
    ]


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
