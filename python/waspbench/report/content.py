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
"""How a text is meant: ``doubt`` asks for care, ``bad`` says that something is wrong."""


class Words(Record):
    """A paragraph."""

    kind: Literal["words"] = "words"
    text: str
    """One sentence or a few."""
    tone: Tone = "plain"
    """How it is meant."""


class Items(Record):
    """A list of sentences."""

    kind: Literal["list"] = "list"
    title: str
    """What stands above it; empty without."""
    items: list[str]
    """The sentences."""
    tone: Tone = "plain"
    """How they are meant."""


class Head(Record):
    """The head of a column."""

    text: str
    """Short, with the unit; it may be empty."""
    left: bool
    """Whether the column holds words, which stand to the left."""


class Cell(Record):
    """A cell of a table."""

    text: str
    """As every table of WASP shows it."""
    interval: str = ""
    """The 90 % interval of a figure, ``one run`` where it has none for that reason, or empty."""
    alarm: bool = False
    """Whether it tells that something is wrong."""


class Table(Record):
    """A table."""

    kind: Literal["table"] = "table"
    title: str
    """What stands above it."""
    heads: list[Head]
    """Its columns; none of facts, which are names and what there is to say of each."""
    rows: list[list[Cell]]
    """Its lines."""
    left_out: int = 0
    """Lines that are not shown, because there are too many."""


class Code(Record):
    """A text that is shown letter by letter: an experiment file, a server's configuration, commands."""

    kind: Literal["code"] = "code"
    title: str
    """What stands above it; empty without."""
    text: str
    """All of it, or its beginning."""
    language: str = ""
    """What the text is written in, such as toml; empty where it is not known."""
    folded: bool = False
    """Whether the page shows it only when asked."""


class Drawn(Record):
    """A figure."""

    kind: Literal["figure"] = "figure"
    figure: Figure
    """What is drawn, over which axes, with warnings and notes."""


Block = Words | Items | Table | Code | Drawn


class Section(Record):
    """One part of a report."""

    name: str
    """By which links find it: finding, trust, setting, tables, figures, groups, server, again."""
    title: str
    """What stands above it."""
    blocks: list[Block]
    """What it says, in this order."""


class Report(Record):
    """Everything that a report says."""

    format: int = FORMAT
    """Version of this format."""
    kind: Literal["bench", "sweep", "capacity", "comparison"]
    """What the results are."""
    title: str
    """What was measured, in a few words."""
    summary: str
    """The same in a sentence."""
    mode: str
    """live or sim; both where results that are compared differ in it."""
    metric: str | None = None
    """Name of the figure that is compared; null unless results are compared."""
    unit: str | None = None
    """Unit of that figure, such as /s or ms."""
    directories: list[str]
    """The results, as they were named."""
    created: str | None = None
    """When the first run began: UTC, ISO 8601; null where several results are compared."""
    complete: bool
    """Whether every point has all its runs."""
    valid: bool
    """Whether the results may be trusted."""
    alerts: list[Items]
    """What nobody may overlook: that figures must not be trusted, that runs are missing, errors, failed checks."""
    sections: list[Section]
    """All else, in the order in which a reader asks."""
    points: list[dict[str, Any]] = Field(default_factory=list)
    """The rows of the CSV, unrounded."""

    def to_json(self) -> str:
        """The report as one JSON object."""
        return self.model_dump_json(indent=2) + "\n"

    def save(self, path: str | Path, format: Format | None = None) -> None:
        """Writes it into a file, over one that is there.

        Args:
            path: the file.
            format: ``html``, ``markdown``, ``json`` or ``csv``; what the name of the file says unless given.

        Raises:
            InputError: the name says another format or none, or the file cannot be written.
            CannotRunError: what the page needs is not installed: jinja2, or plotly for figures.
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
