"""The columns of tables, each declared once: what the terminal and Markdown show follows from the same declaration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from waspbench.results import errors
from waspbench.results.capacity import LoadReading
from waspbench.results.result import Result

R = TypeVar("R")

NONE = "-"
"""What stands for a figure that does not exist."""


@dataclass(frozen=True)
class Column(Generic[R]):
    """A figure of what a line of the table is about."""

    head: str
    text: Callable[[R], str]
    absent: str = NONE
    """What a line shows that is about nothing."""
    numeric: bool = True
    """Whether it stands to the right."""


def number(value: float | None, digits: int = 1) -> str:
    """A figure, or that there is none."""
    return NONE if value is None else f"{value:,.{digits}f}"


def percent(part: float | None, digits: int = 1) -> str:
    """A share from 0 to 1 in per cent, without the sign."""
    return NONE if part is None else f"{100 * part:.{digits}f}"


def _span(interval: tuple[float, float] | None) -> str:
    return NONE if interval is None else f"{interval[0]:,.1f} to {interval[1]:,.1f}"


POINTS: tuple[Column[Result], ...] = (
    Column("ok/s", lambda result: number(result.throughput.mean)),
    Column("90 % interval", lambda result: _span(result.throughput.ci90)),
    Column("p50 ms", lambda result: number(result.response_time_ms.p50)),
    Column("p99 ms", lambda result: number(result.response_time_ms.p99)),
    Column("errors %", lambda result: percent(result.errors, 2)),
    Column("CPU %", lambda result: percent(result.server_cpu.busy)),
    Column("runs", lambda result: str(len(result.runs)), "0"),
    Column("valid", lambda result: "yes" if result.valid else "NO", "NO"),
    Column("outcomes and status codes", lambda result: errors.text(result.outcomes, result.statuses), numeric=False),
)
"""A point of an experiment."""


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _share(readings: Sequence[LoadReading]) -> float | None:
    outcomes = errors.total(reading.outcomes for reading in readings if not reading.unmade)
    return None if outcomes is None else errors.share(outcomes)


def _outcomes(readings: Sequence[LoadReading]) -> str:
    made = [reading for reading in readings if not reading.unmade]
    outcomes = errors.total(reading.outcomes for reading in made)
    return errors.text(outcomes, errors.total(reading.statuses for reading in made)) if made and outcomes else NONE


def _counted(readings: Sequence[LoadReading]) -> str:
    """Whether the runs at a load let it count, or what spoke against one of them."""
    if any(reading.failed for reading in readings):
        return "failed"
    if not all(reading.counts for reading in readings):
        return "emulator"
    return "yes" if all(reading.meets for reading in readings) else "objective"


def _valid(readings: Sequence[LoadReading]) -> str:
    if any(reading.valid is None for reading in readings):
        return NONE
    return "yes" if all(reading.valid for reading in readings) else "NO"


LOADS: tuple[Column[Sequence[LoadReading]], ...] = (
    Column("clients", lambda readings: f"{readings[0].load:,d}"),
    Column("runs", lambda readings: str(len(readings))),
    Column("ok/s", lambda readings: number(_mean([each.throughput for each in readings if not each.unmade]))),
    Column("errors %", lambda readings: percent(_share(readings), 2)),
    Column("CPU %", lambda readings: percent(_mean([each.server_cpu for each in readings]))),
    Column("counts", _counted),
    Column("valid", _valid),
    Column("outcomes and status codes", _outcomes, numeric=False),
)
"""The runs of a search for capacity at one load."""


def cells(columns: Sequence[Column[R]], line: R | None) -> list[str]:
    """A line of a table."""
    return [column.absent if line is None else column.text(line) for column in columns]


def aligned(heads: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str] = ()) -> list[str]:
    """A table for the terminal, a text a line; the columns with the heads ``left`` stand to the left."""
    lines = [heads, *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(heads))]
    return [
        "  ".join(
            cell.ljust(width) if head in left else cell.rjust(width)
            for head, cell, width in zip(heads, line, widths, strict=True)
        ).rstrip()
        for line in lines
    ]


def heads_of(columns: Sequence[Column[R]]) -> list[str]:
    """The first line of a table."""
    return [column.head for column in columns]


def left_of(columns: Sequence[Column[R]]) -> list[str]:
    """The heads of the columns that hold no numbers."""
    return [column.head for column in columns if not column.numeric]


def piped(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table in Markdown, a text a line."""
    lines = [heads, ["---"] * len(heads), *([cell(text) for text in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def cell(text: str) -> str:
    """``text`` as a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ")
