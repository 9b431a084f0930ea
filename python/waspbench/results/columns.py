"""The columns of tables, each declared once: what the terminal and Markdown show follows from the same declaration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from waspbench.results import errors
from waspbench.results.capacity import LoadReading
from waspbench.results.groups import Group
from waspbench.results.result import Result

R = TypeVar("R", contravariant=True)

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


Figures = Result | Group
"""What has a rate, response times and outcomes."""

_RATE: Column[Figures] = Column("ok/s", lambda part: number(part.throughput.mean))
_INTERVAL: Column[Figures] = Column("90 % interval", lambda part: _span(part.throughput.ci90))
_MEAN: Column[Figures] = Column("mean ms", lambda part: number(part.response_time_ms.mean))
_P50: Column[Figures] = Column("p50 ms", lambda part: number(part.response_time_ms.p50))
_P99: Column[Figures] = Column("p99 ms", lambda part: number(part.response_time_ms.p99))
_ERRORS: Column[Figures] = Column("errors %", lambda part: percent(part.errors, 2))

_OUTCOMES: Column[Figures] = Column(
    "outcomes and status codes", lambda part: errors.text(part.outcomes, part.statuses), numeric=False
)

POINTS: tuple[Column[Result], ...] = (
    _RATE,
    _INTERVAL,
    _P50,
    _P99,
    _ERRORS,
    Column("CPU %", lambda result: percent(result.server_cpu.busy)),
    Column("runs", lambda result: str(len(result.runs)), "0"),
    Column("valid", lambda result: "yes" if result.valid else "NO", "NO"),
    _OUTCOMES,
)
"""A point of an experiment."""

_VALID: Column[Group] = Column(
    "valid", lambda group: "background" if group.background else "yes" if group.valid else "NO"
)

POINT_OF_GROUP: tuple[Column[Group] | None, ...] = (
    _RATE,
    _INTERVAL,
    _P50,
    _P99,
    _ERRORS,
    None,
    None,
    _VALID,
    _OUTCOMES,
)
"""What stands there for a group of clients; None where nothing does."""

GROUPS: tuple[Column[Group], ...] = (_RATE, _MEAN, _P50, _P99, _ERRORS, _VALID)
"""A group of clients of a result."""

ALL_CLIENTS = "all clients"
"""What a line is called that is about all groups together; no group can have this name."""


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


def point_lines(result: Result | None, *, by_group: bool) -> list[list[str]]:
    """The lines of a table about one point by `POINTS`: of all clients and, where ``by_group`` says so, of each group,
    with its name before it.
    """
    whole = cells(POINTS, result)
    if not by_group:
        return [whole]
    groups = [] if result is None or len(result.groups) < 2 else result.groups
    of_groups = ([group.name, *_cells_of_group(group)] for group in groups)
    return [[ALL_CLIENTS, *whole], *of_groups]


def point_heads(*, by_group: bool) -> list[str]:
    """Their first line."""
    return [*([GROUP] if by_group else []), *heads_of(POINTS)]


GROUP = "group"
"""The head of the names of groups."""


def has_groups(results: Iterable[Result | None]) -> bool:
    """Whether a result has more than one group of clients."""
    return any(result is not None and len(result.groups) > 1 for result in results)


def _cells_of_group(group: Group) -> list[str]:
    return ["" if column is None else column.text(group) for column in POINT_OF_GROUP]


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
