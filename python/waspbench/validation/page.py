"""Tables of what was measured against what it is held to, and the page that they make."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from waspbench.errors import Argument, InputError, RunFailedError
from waspbench.tabular import piped
from waspbench.validation.figure import Figure


@dataclass(frozen=True)
class Bar:
    """What a ratio of measurement to expectation must be."""

    low: float
    high: float

    def met(self, ratio: float) -> bool:
        """Whether ``ratio`` is within."""
        return self.low <= ratio <= self.high

    @classmethod
    def within(cls, share: float) -> Bar:
        """The ratio differs from one by at most ``share``."""
        return cls(1 - share, 1 + share)


@dataclass(frozen=True)
class Row:
    """A line of a table."""

    cells: tuple[str, ...]
    met: bool | None = None
    """Whether the bar is met; None where there is none, or where it could not be judged."""
    unjudged: str = ""
    """Why the bar that this row has could not be judged."""
    missed: str = ""
    """Which of several figures misses the bar."""

    @property
    def verdict(self) -> str:
        """What the last column says."""
        if self.unjudged:
            return f"not judged: {self.unjudged}"
        if self.missed:
            return f"**no**: {self.missed}"
        return {True: "yes", False: "**no**", None: ""}[self.met]


@dataclass(frozen=True)
class Table:
    """One comparison."""

    name: str
    """For file names."""
    title: str
    what: str
    """What was measured and how, as Markdown."""
    bar: str
    columns: tuple[str, ...]
    rows: list[Row]
    notes: str = ""
    """What the figures say, as Markdown."""
    figure: Figure | None = field(default=None)

    @property
    def judged(self) -> list[bool]:
        """Of each row that was judged, whether its bar is met."""
        return [row.met for row in self.rows if row.met is not None]

    @property
    def unjudged(self) -> int:
        """Rows that have a bar and could not be judged."""
        return sum(bool(row.unjudged) for row in self.rows)

    @property
    def summary(self) -> str:
        """How many bars are met, of how many."""
        bars = len(self.judged) + self.unjudged
        if bars == 0:
            return "none set"
        left = f" ({self.unjudged} not judged)" if self.unjudged else ""
        return f"{sum(self.judged)} of {bars}{left}"

    def markdown(self) -> str:
        """The section."""
        barred = bool(self.judged or self.unjudged)
        columns = (*self.columns, "met") if barred else self.columns
        lines = [f"## {self.title}", "", self.what, "", f"**Bar:** {self.bar}", ""]
        lines += piped(columns, [(*row.cells, *((row.verdict,) if barred else ())) for row in self.rows])
        if self.figure is not None:
            lines += ["", f"![{self.title}](validation/{self.name}.svg)"]
        if self.notes:
            lines += ["", self.notes]
        return "\n".join(lines) + "\n"


def text(tables: Sequence[Table]) -> str:
    """The summary of all tables, for a terminal and for the page's beginning."""
    lines = piped(["comparison", "bars met"], [(table.title, table.summary) for table in tables])
    return "\n".join(lines) + "\n"


INTRODUCTION = """# Validation of TCP

What senders ([tcp](tcp.md)) and clients are held to. `wasp validate tcp -o docs` measures the simulated senders anew
and writes their part of this page and its figures, `wasp validate kernel -o docs` that of the simulated server beside
the kernel's, and `wasp validate clients -o docs` that of the emulated clients beside the kernel's. The last two take
root. Intervals are 90 %, by Student's t over runs with different seeds; those of ratios are Fieller's
([statistics](statistics.md)).
"""

SECTIONS = ("simulated", "kernel", "clients")
"""The parts of the page. Each lies between marks of its own, and a command that does not measure it leaves it alone."""

PAGE = "validation.md"


def _marks(section: str) -> tuple[str, str]:
    return f"<!-- {section} -->", f"<!-- /{section} -->"


def check(directory: Path) -> None:
    """Makes ``directory`` and looks whether the page can be written there.

    Raises:
        InputError: it cannot, or another page of that name is there.
    """
    page = directory / PAGE
    try:
        directory.mkdir(parents=True, exist_ok=True)
        before = page.read_text() if page.exists() else None
    except OSError as error:
        raise InputError.at(Argument("output"), f"cannot be written to: {error.strerror}", str(directory)) from error
    if not os.access(directory if before is None else page, os.W_OK):
        raise InputError.at(Argument("output"), "cannot be written to", str(directory))
    if before is not None and not all(mark in before for section in SECTIONS for mark in _marks(section)):
        message = f"has a {PAGE} that this command has not written: choose another directory"
        raise InputError.at(Argument("output"), message, str(directory))


def write(directory: Path, measured: Mapping[str, Sequence[Table]]) -> Path:
    """Writes the tables of some sections into ``validation.md`` in ``directory``, and their figures beside it; returns
    the page's path.

    Raises:
        InputError: another page of that name is there.
        RunFailedError: a file cannot be written.
    """
    check(directory)
    page = directory / PAGE
    try:
        figures = directory / "validation"
        figures.mkdir(parents=True, exist_ok=True)
        for table in (table for tables in measured.values() for table in tables):
            if table.figure is not None:
                (figures / f"{table.name}.svg").write_text(table.figure.svg())
        before = page.read_text() if page.exists() else ""
        parts = [INTRODUCTION]
        for section in SECTIONS:
            begin, end = _marks(section)
            kept = before.partition(begin)[2].partition(end)[0]
            tables = measured.get(section)
            body = kept if tables is None else "\n".join([text(tables), *(table.markdown() for table in tables)])
            parts += [begin, "", body.strip("\n"), "", end, ""]
        page.write_text("\n".join(parts[:-1]) + "\n")
    except OSError as error:
        raise RunFailedError(f"{page}: cannot be written: {error.strerror}") from error
    return page
