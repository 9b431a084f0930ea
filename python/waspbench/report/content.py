"""What a report says, before anything of it is written: what must not be overlooked, and sections of words and tables.

`waspbench.report.kinds` makes it; `waspbench.report.html` and `waspbench.report.markdown` write it. Its JSON is what
``wasp report --format json`` prints.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from waspbench.figures.figure import Figure
from waspbench.report.written import Format, format_of, text_in, write
from waspbench.results.formats import Record
from waspbench.tabular import Figures, Listing

FORMAT = 1
"""Version of the JSON of reports. It rises when a field is removed or changes its meaning."""

MOST_ROWS = 1000
"""Lines of a table that a report shows; the CSV has all."""

MOST_ITEMS = 50
"""Texts of a list that a report shows."""

MOST_LETTERS = 100_000
"""Characters of a file, such as a server's configuration, that a report shows."""

Tone = Literal["plain", "good", "doubt", "bad"]
"""How a text is meant. ``doubt``: the reader has to be careful. ``bad``: something is wrong."""


class Words(Record):
    """A paragraph."""

    kind: Literal["words"] = "words"
    """Kind of the block."""
    text: str
    """One or several sentences."""
    tone: Tone = "plain"
    """How the paragraph is meant: plain, good, doubt (the reader has to be careful) or bad (something is wrong)."""


class Items(Record):
    """A list of sentences."""

    kind: Literal["list"] = "list"
    """Kind of the block."""
    title: str
    """Title of the list; empty if there is none."""
    items: list[str]
    """The sentences."""
    tone: Tone = "plain"
    """How the list is meant: plain, good, doubt (the reader has to be careful) or bad (something is wrong)."""


class Head(Record):
    """The head of a column."""

    text: str
    """Short name with the unit; it may be empty."""
    left: bool
    """Whether the column has words, which are aligned to the left."""


class Cell(Record):
    """A cell of a table."""

    text: str
    """Text of the cell, as in all tables of WASP."""
    interval: str = ""
    """The 90 % confidence interval of the figure, or ``one run`` if one run gives no interval; empty otherwise."""
    alarm: bool = False
    """Whether the cell says that something is wrong."""


class Table(Record):
    """A table."""

    kind: Literal["table"] = "table"
    """Kind of the block."""
    title: str
    """Title of the table."""
    heads: list[Head]
    """The columns; empty for a table of facts, whose rows are a name and a text."""
    rows: list[list[Cell]]
    """The rows."""
    left_out: int = 0
    """Number of rows that are left out because there are too many."""


class Code(Record):
    """A text that is shown letter by letter: an experiment file, a server's configuration, commands."""

    kind: Literal["code"] = "code"
    """Kind of the block."""
    title: str
    """Title of the text; empty if there is none."""
    text: str
    """The text, or its beginning if it is very long."""
    language: str = ""
    """Language of the text, such as toml; empty if it is not known."""
    folded: bool = False
    """Whether the page shows the text only after a click."""


class Drawn(Record):
    """A figure."""

    kind: Literal["figure"] = "figure"
    """Kind of the block."""
    figure: Figure
    """The figure: its panels, axes, values, warnings and notes."""


Block = Words | Items | Table | Code | Drawn


class Section(Record):
    """A part of a report."""

    name: str
    """Name of the section in links: finding, trust, setting, tables, figures, groups, server or again."""
    title: str
    """Title of the section."""
    blocks: list[Block]
    """Paragraphs, lists, tables, texts and figures of the section, in their order."""


class Report(Record):
    """A report on results: everything that its pages and tables say. Its JSON is what ``wasp report --format json``
    prints.
    """

    format: int = FORMAT
    """Version of the format of this JSON."""
    kind: Literal["bench", "sweep", "capacity", "comparison"]
    """Kind of the results: bench, sweep, capacity or comparison."""
    title: str
    """What was measured, in a few words."""
    summary: str
    """What was measured, in a sentence."""
    mode: str
    """live or sim; both if the results that are compared differ in it."""
    metric: str | None = None
    """Figure that is compared; None if no results are compared."""
    unit: str | None = None
    """Unit of that figure, such as /s or ms."""
    directories: list[str]
    """Directories of the results, as the user named them."""
    created: str | None = None
    """When the experiment was prepared: UTC, ISO 8601. None if several results are compared."""
    complete: bool
    """Whether every point has all its runs."""
    valid: bool
    """Whether the results are valid."""
    alerts: list[Items]
    """What the reader must not overlook: reasons why figures are not valid, missing runs, errors, failed checks."""
    sections: list[Section]
    """All else, in the order of the page."""
    points: list[dict[str, Any]] = Field(default_factory=list)
    """The rows of the CSV, not rounded."""

    def to_json(self) -> str:
        """The report as one JSON object."""
        return self.model_dump_json(indent=2) + "\n"

    def save(self, path: str | Path, format: Format | None = None) -> None:
        """Writes the report to a file. It replaces an existing file.

        Args:
            path: the file.
            format: ``html``, ``markdown``, ``json`` or ``csv``. By default the name of the file says it.

        Raises:
            InputError: the name of the file says none of these formats or another one than ``format``, or the file
                cannot be written.
            CannotRunError: jinja2, or plotly for figures, is not installed.
        """
        write(Path(path), text_in(self, format_of(Path(path), format)))

    def __repr__(self) -> str:
        said = "" if self.valid else ", NOT VALID"
        return f"<Report on {self.title!r}, {self.kind}, {self.mode}{said}>"

    __str__ = __repr__

    def _repr_markdown_(self) -> str:
        """What a notebook shows: its words and tables."""
        from waspbench.report.markdown import to_markdown

        return to_markdown(self)


Interval = Callable[[str, Figures], str]
"""What is said of the interval of a figure, by its name and its row."""


def table(title: str, listing: Listing, interval: Interval = lambda name, row: "") -> Table:
    """A table, of which at most `MOST_ROWS` lines are shown."""
    shown = listing.rows[:MOST_ROWS]
    return Table(
        title=title,
        heads=[Head(text=column.head, left=column.left) for column in listing.columns.values()],
        rows=[
            [
                Cell(
                    text=column.cell(name, row),
                    interval=interval(name, row),
                    alarm=column.alarms is not None and column.alarms(row),
                )
                for name, column in listing.columns.items()
            ]
            for row in shown
        ],
        left_out=len(listing.rows) - len(shown),
    )


def facts(title: str, pairs: Sequence[tuple[str, str]]) -> Table:
    """Names, and what there is to say of each."""
    rows = [[Cell(text=printable(name)), Cell(text=printable(text))] for name, text in pairs]
    return Table(title=title, heads=[], rows=rows)


def with_blocks(*sections: Section) -> list[Section]:
    """The sections that say something."""
    return [section for section in sections if section.blocks]


def items(title: str, texts: Sequence[str], tone: Tone = "plain") -> Items:
    """A list, of which at most `MOST_ITEMS` are shown."""
    more = len(texts) - MOST_ITEMS
    rest = [f"and {more:,d} more"] if more > 0 else []
    return Items(title=title, items=[*texts[:MOST_ITEMS], *rest], tone=tone)


def code(title: str, text: str, language: str = "", *, folded: bool = False) -> Code:
    """A text, of which at most `MOST_LETTERS` characters are shown."""
    more = len(text) - MOST_LETTERS
    shown = text if more <= 0 else f"{text[:MOST_LETTERS]}\n... and {more:,d} more characters\n"
    return Code(title=printable(title), text=printable(shown), language=language, folded=folded)


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """``text`` in which characters that steer a terminal are shown as such, but for tabs and the ends of lines."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)
