"""Tables: a column is declared once, and what the terminal, Markdown and JSON show of it follows from that."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from waspbench.colour import paint

NONE = "\N{EN DASH}"
"""What stands for a figure that does not exist."""

Figures = Mapping[str, Any]
"""The figures of a line of a table, by name. It may have more than the columns show: JSON has them all."""


@dataclass(frozen=True)
class Column:
    """What a table says of one figure."""

    head: str
    """Its first line, short and with the unit."""
    text: Callable[[Any], str] = str
    """The figure, where there is one, in words."""
    of_row: Callable[[Figures], str] | None = None
    """The same where one figure of the row does not tell all, instead of ``text``."""
    label: str = ""
    """What it is called where it has a line of its own; as in ``head`` unless told otherwise."""
    left: bool = False
    """Whether it holds words, which stand to the left and are broken where a terminal is narrow."""
    alarms: Callable[[Figures], bool] | None = None
    """Whether the cell of a row tells that something is wrong, so that a terminal shows it in colour."""

    def cell(self, name: str, row: Figures) -> str:
        """What ``row`` shows of the figure ``name``."""
        if self.of_row is not None:
            return self.of_row(row)
        figure = row.get(name)
        return NONE if figure is None else self.text(figure)


@dataclass(frozen=True)
class Listing:
    """Lines below the heads of their columns."""

    columns: Mapping[str, Column]
    """What is shown, by the name of the figure."""
    rows: Sequence[Figures]

    @property
    def heads(self) -> list[str]:
        """The first line."""
        return [column.head for column in self.columns.values()]

    @property
    def cells(self) -> list[list[str]]:
        """The other lines."""
        return [[column.cell(name, row) for name, column in self.columns.items()] for row in self.rows]

    def terminal(self, indent: int = 0) -> list[str]:
        """The table for people, a text a line; see `aligned`."""
        alarms = [
            [column.alarms is not None and column.alarms(row) for column in self.columns.values()] for row in self.rows
        ]
        return aligned(self.heads, self.cells, self._left, indent=indent, alarms=alarms)

    def markdown(self) -> list[str]:
        """The table in Markdown, a text a line."""
        return piped(self.heads, self.cells, self._left)

    @property
    def _left(self) -> list[bool]:
        return [column.left for column in self.columns.values()]


def decimals(digits: int = 1) -> Callable[[float], str]:
    """Of a figure so many digits after the point."""
    return lambda value: f"{value:,.{digits}f}"


def percent(digits: int = 1) -> Callable[[float], str]:
    """A share from 0 to 1 in per cent, without the sign."""
    return lambda part: f"{100 * part:.{digits}f}"


def span(interval: tuple[float, float]) -> str:
    """An interval."""
    return f"{interval[0]:,.1f} to {interval[1]:,.1f}"


def whole(value: int) -> str:
    """A count."""
    return f"{value:,d}"


def rate_text(bps: int | None) -> str:
    """A rate (bit/s) in the largest unit in which it is at least 1; None is no limit."""
    if bps is None:
        return UNLIMITED
    for unit, size in (("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3)):
        if bps >= size:
            return f"{bps / size:.4g} {unit}"
    return f"{bps} bit/s"


UNLIMITED = "unlimited"
"""What stands for a rate, or a length, that has no limit."""

_LEAST = 24
"""Characters that are left of a column of words at least."""

_GAP = "  "
"""What stands between columns."""

_FOLDED = "    "
"""What the second line of a row begins with."""


def aligned(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: Sequence[bool],
    *,
    indent: int = 0,
    room: int | None = None,
    alarms: Sequence[Sequence[bool]] = (),
) -> list[str]:
    """A table for people, a text a line; ``left`` says which columns hold words. Where it is wider than ``room`` (the
    terminal's width unless given), words are broken, and columns that still do not fit go on in a second line of each
    row; figures are never broken. Without a terminal each row is one line, however long. ``alarms`` says which cells
    of the ``rows`` are shown in colour.
    """
    lines = [[_printable(cell) for cell in line] for line in ([heads] if any(heads) else []) + list(rows)]
    if not lines:
        return []
    columns = list(zip(*lines, strict=True))
    widths = [max(map(_width, cells)) for cells in columns]
    room = terminal_width() if room is None else room
    room = sys.maxsize if room is None else room - indent
    least = [_least(cells) if words else width for cells, width, words in zip(columns, widths, left, strict=True)]
    parts = _parts(widths, least, room)
    shown: list[str] = []
    marked = [[False] * len(columns)] * (len(lines) - len(rows)) + list(alarms or [[False] * len(columns)] * len(rows))
    for line, marks in zip(lines, marked, strict=True):
        for number, part in enumerate(parts):
            begin = " " * indent + (_FOLDED if number else "")
            shown += [begin + text for text in _row(line, part, left, marks)]
    return shown


Part = list[tuple[int, int]]
"""Columns that stand side by side: the index of each, and its width."""


def _parts(widths: Sequence[int], least: Sequence[int], room: int) -> list[Part]:
    """The columns as they follow each other, in as few lines as ``room`` allows."""
    if sum(widths) + len(_GAP) * (len(widths) - 1) <= room:
        return [list(enumerate(widths))]
    parts: list[Part] = [[]]
    left = room
    for index, width in enumerate(least):
        gap = len(_GAP) if parts[-1] else 0
        if parts[-1] and width + gap > left:
            parts.append([])
            left, gap = room - len(_FOLDED), 0
        parts[-1].append((index, width))
        left -= width + gap
    return [_widened(part, widths, room - (len(_FOLDED) if number else 0)) for number, part in enumerate(parts)]


def _widened(part: Part, widths: Sequence[int], room: int) -> Part:
    """``part`` with the room that is left of the line given to its columns of words, the first first."""
    left = room - sum(width for _, width in part) - len(_GAP) * (len(part) - 1)
    found: Part = []
    for index, width in part:
        more = max(0, min(left, widths[index] - width))
        found.append((index, width + more))
        left -= more
    return found


def _row(line: Sequence[str], part: Part, left: Sequence[bool], marks: Sequence[bool]) -> list[str]:
    """The columns ``part`` of a line: a text, or more where words are broken. Those of ``marks`` are in colour."""
    broken = [_broken(line[index], width) for index, width in part]
    found = []
    for texts in zip_longest(*broken, fillvalue=""):
        cells = []
        for (index, width), text in zip(part, texts, strict=True):
            shown = paint(text, "bad") if text and marks[index] else text
            cells.append(_padded(shown, width - _width(text) + _width(shown), to_the_left=left[index]))
        found.append(_GAP.join(cells).rstrip())
    return found


def _broken(text: str, width: int) -> list[str]:
    """``text`` in lines of at most ``width`` where it can be broken: after commas, or else between words."""
    found = []
    for line in text.split("\n"):
        if _width(line) <= width:
            found.append(line)
            continue
        pieces = re.split(r"(?<=,) ", line)
        found += filled(pieces if all(_width(piece) <= width for piece in pieces) else line.split(" "), width)
    return found


def filled(pieces: Sequence[str], width: int, gap: str = " ") -> list[str]:
    """``pieces`` side by side, in as few lines of at most ``width`` as they need."""
    lines = [pieces[0]]
    for piece in pieces[1:]:
        longer = f"{lines[-1]}{gap}{piece}"
        if _width(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(piece)
    return lines


def _least(cells: Iterable[str]) -> int:
    """The least width of a column of words: that of its longest word, and no less than is good to read."""
    least = 0
    for cell in cells:
        least = max(least, min(_width(cell), _LEAST), *map(_width, cell.split()), 0)
    return least


def _padded(text: str, width: int, *, to_the_left: bool) -> str:
    space = " " * (width - _width(text))
    return text + space if to_the_left else space + text


def _width(text: str) -> int:
    """Columns of a terminal that the longest line of ``text`` takes."""
    if text.isascii() and "\n" not in text:
        return len(text)
    from rich.cells import cell_len

    return max(map(cell_len, text.split("\n")))


_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def _printable(text: str) -> str:
    """``text`` without characters that steer a terminal, but for the ends of lines."""
    return _CONTROL.sub(" ", text)


def terminal_width() -> int | None:
    """Columns of the terminal that standard output is; None where it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def piped(heads: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[bool] | None = None) -> list[str]:
    """A table in Markdown, a text a line; all columns stand to the left unless told which."""
    rules = ["---" if words else "---:" for words in left or [True] * len(heads)]
    return [f"| {' | '.join(map(_one_line, line))} |" for line in (heads, rules, *rows)]


def _one_line(text: str) -> str:
    """``text`` as a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")
