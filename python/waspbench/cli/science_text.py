"""Capacities, comparisons and catalogues as plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from waspbench.experiment.metrics import Kind, metric
from waspbench.experiment.search import FINDS, Find
from waspbench.experiment.sweep import text_of
from waspbench.results import errors
from waspbench.results.capacity import UNITS, CapacityResult, PointCapacity, load_columns, load_number, load_text
from waspbench.results.catalogue import Entry
from waspbench.results.comparing import CAPACITY, Compared, ComparisonResult
from waspbench.results.normal import NormalityResult
from waspbench.tabular import NONE, Column, Listing, aligned, whole

__all__ = ["capacity", "comparison", "entries", "normality", "table"]

_COUNTED = {CAPACITY: ("/s", 1.0)} | {find: (UNITS[find], 1.0) for find in FINDS[1:]}
"""Units of what searches find."""

_UNITS: dict[Kind, tuple[str, float]] = {"count": ("/s", 1.0), "rate": ("Mbit/s", 1e-6), "duration": ("ms", 1.0)}


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


_SOUGHT: dict[Find, str] = {"throughput": "capacity", "clients": "most clients", "rate": "highest rate of arrivals"}


def capacity(result: CapacityResult) -> str:
    """The capacity at each point, and what set it."""
    under = f" under {', '.join(result.objectives)}" if result.objectives else ""
    sought = f"{_SOUGHT[result.find]}{under}"
    lines = [f"{result.name}: {sought}, {result.mode}, by {result.method}, seed {result.seed}", ""]
    for point in result.points:
        lines += _capacity(point, result)
    if result.complete and not result.valid:
        lines.append("NOT VALID: a capacity was not found, not confirmed, or has runs that are not valid.")
    if not result.complete:
        lines.append("Not complete: runs are missing.")
    return "\n".join([*lines, f"results: {result.results}"]) + "\n"


def _capacity(point: PointCapacity, result: CapacityResult) -> list[str]:
    find, complete = result.find, result.complete
    name = text_of(point.varied)
    lines = [f"{name}:"] if name else []
    if point.capacity is None:
        lines.append(f"  none found{'' if complete else ' yet'}: {point.why if complete else 'the search is not over'}")
    else:
        lines += _largest_throughput(point) if find == "throughput" else _largest_load(point, find)
        lines.append(f"  bottleneck: {point.bottleneck}; {point.why}")
        if not point.confirmed:
            lines.append(_unconfirmed(point, find))
        lines += _notes(point)
    again = sum(reading.attempts > 1 for reading in point.readings)
    lines.append(f"  {point.runs} runs{f' ({again} of them tried twice)' if again else ''}:")
    return [*lines, *_loads(point, find, result.percentiles), ""]


def _unconfirmed(point: PointCapacity, find: Find) -> str:
    fresh = [reading for reading in point.readings if reading.confirming]
    here = [reading for reading in fresh if reading.load == point.load]
    if any(not (reading.counts and reading.meets) for reading in here):
        return "  NOT CONFIRMED: fresh runs at this load failed or did not meet the objective"
    if fresh or find != "throughput":
        runs = "run" if len(here) == 1 else "runs"
        return f"  NOT CONFIRMED: {len(here)} fresh {runs} at this load, too few; --max-runs allows more"
    return "  not confirmed: no fresh runs; the largest of several means is too high on average"


def _largest_throughput(point: PointCapacity) -> list[str]:
    return [f"  {point.capacity:,.1f} /s at {load_text(point.load or 0, 'throughput')}{_throughput_span(point)}"]


def _throughput_span(point: PointCapacity) -> str:
    return "" if point.ci90 is None else f"   (90 %: {point.ci90[0]:,.1f} to {point.ci90[1]:,.1f})"


def _largest_load(point: PointCapacity, find: Find) -> list[str]:
    assert point.load is not None
    low, high = point.load_ci90 or (point.load, None)
    least = "" if high is not None else "at least "
    span = "" if high is None else f"   (90 %: {load_number(low)} to {load_number(high)})"
    lines = [f"  {least}{load_text(point.load, find)}{span}"]
    lines.append(f"  throughput there: {point.capacity:,.1f} /s{_throughput_span(point)}")
    if point.again is not None:
        lines.append(f"  the objective is met again at {load_text(point.again, find)}")
    if point.outcome == "not reached":
        lines.append("  a higher --high may find more")
    if point.refined is False:
        lines.append("  out of runs: more of them (--max-runs) would narrow the interval down")
    return lines


def _loads(point: PointCapacity, find: Find, percentiles: Sequence[str]) -> list[str]:
    """A line for each load, and what speaks against those that do not count."""
    columns = load_columns(point.loads, percentiles, find)
    lines = Listing(columns, [load.figures for load in point.loads]).terminal(indent=4)
    behind = [reading.run for reading in point.behind]
    # Of loads that miss the objective the least tells why; the table shows the others.
    nearest = min((each.load for each in point.readings if each.counts and each.meets is False), default=None)
    for load in dict.fromkeys(each.load for each in point.loads):
        excluded = [
            reading
            for reading in point.readings
            if reading.load == load
            and reading.run not in behind
            and (not (reading.counts and reading.meets) or reading.valid is False)
            and (find == "throughput" or load == nearest or not reading.counts)
        ]
        if excluded:
            telling = next((each for each in excluded if each.meets is False), excluded[0])
            said = f"at {load_text(load, find)}: {'; '.join(telling.notes)}"
            lines += textwrap.wrap(said, 79, initial_indent="    ", subsequent_indent="      ")
    return lines


def _notes(point: PointCapacity) -> list[str]:
    """What speaks against the runs that make up a capacity."""
    return [
        f"  {'NOT VALID:' if reading.valid is False else 'note on'} run {reading.run + 1}: {note}"
        for reading in point.behind
        for note in reading.notes
    ]


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
        lines += [f"NOT COMPARABLE: {'; '.join(result.not_comparable)}", ""]
    elif not result.valid:
        lines += ["NOT VALID: at least one of the results must not be trusted; wasp show says why.", ""]
    holm = " (Holm over all points)" if len(result.points) > 1 else ""
    return "\n".join([*lines, f"called at {100 * result.alpha:g} %{holm}"]) + "\n"


_MOST_DIFFERENCES = 12
"""Fields that are shown; ``--json`` has all."""


def _differences(result: ComparisonResult) -> list[str]:
    found = result.differences
    if not found:
        return []
    lines = [f"  {each.field}: {_cell(each.a)} -> {_cell(each.b)}" for each in found[:_MOST_DIFFERENCES]]
    if len(found) > _MOST_DIFFERENCES:
        lines.append(f"  and {len(found) - _MOST_DIFFERENCES} more, which --json lists")
    return ["They differ also in:", *lines, ""]


def _compared(point: Compared, figure: str) -> list[str]:
    unit, scale = _COUNTED[figure] if figure in _COUNTED else _UNITS[metric(figure).kind]
    name = f"{text_of(point.varied)}: " if point.varied else ""
    change = ""
    if point.ratio is not None:
        change = f"  {100 * (point.ratio - 1):+.1f} %"
        if point.ratio_ci90 is not None:
            low, high = (100 * (end - 1) for end in point.ratio_ci90)
            change += f"   (90 %: {low:+.1f} to {high:+.1f} %)"
    before, after = (f"{mean * scale:,.{1 if scale == 1 else 2}f}" for mean in point.means)
    means = f"  {before} -> {after} {unit}"
    p = f"p = {point.p_holm:.3g}" if point.p_holm == point.p else f"p = {point.p:.3g}, corrected {point.p_holm:.3g}"
    test = f"  {point.test} test, {point.runs[0]} and {point.runs[1]} runs: {p}"
    note = [f"  {point.note}"] if point.note else []
    return [f"{name}{point.verdict}", means + change, test, *_noted(point), *note, ""]


def _noted(point: Compared) -> list[str]:
    """That many transactions of one side were not ok."""
    return [
        f"  note: more than {100 * errors.NOTED:.0f} % of {side}'s transactions were not ok"
        for side, line in zip("AB", point.lines, strict=True)
        if line.errors is not None and line.errors > errors.NOTED
    ]


def normality(result: NormalityResult) -> str:
    """The test's verdict in words."""
    verdict = "consistent with a normal distribution" if result.normal else "NOT normal"
    lines = [
        f"{result.name}: {result.metric} of {result.runs} runs is {verdict}",
        f"  Shapiro-Wilk W = {result.w:.4f}, p = {result.p:.3g}; probability plot r = {result.correlation:.4f}",
        f"  mean {result.mean:,.2f}, standard deviation {result.deviation:,.2f}",
        f"  {result.note}",
    ]
    if result.outliers:
        lines.append(f"  stand out (and are kept): runs {', '.join(str(run + 1) for run in result.outliers)}")
    lines.append(f"  outcomes: {errors.text(result.outcomes, result.statuses)}")
    lines += [] if result.valid else ["  NOT VALID: these runs must not be trusted"]
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
    "valid": Column("valid", of_row=lambda row: _VALID[row["valid"]], left=True),
    "path": Column("directory", left=True),
}


def entries(found: Sequence[Entry]) -> str:
    """The catalogue."""
    if not found:
        return "no results\n"
    return "\n".join(Listing(_ENTRY, [dict(entry) for entry in found]).terminal()) + "\n"
