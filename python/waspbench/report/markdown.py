"""A report in Markdown: all its words and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from waspbench.report.content import Block, Cell, Code, Items, Report, Table, Words
from waspbench.tabular import piped


def to_markdown(report: Report) -> str:
    """The text of the report."""
    lines = [f"# {escaped(report.title)}", "", f"{escaped(report.summary)}", ""]
    for alert in report.alerts:
        lines += [f"> **{escaped(alert.title)}**", ">", *(f"> - {escaped(item)}" for item in alert.items), ""]
    for section in report.sections:
        if section.blocks:
            lines += [f"## {escaped(section.title)}", "", *(line for block in section.blocks for line in _block(block))]
    return "\n".join(lines).rstrip("\n") + "\n"


_SPECIAL = re.compile(r"([\\`*\[|&]|<(?=[A-Za-z/!?])|(?<!\w)_|_(?!\w))")
_START = re.compile(r"^(?:([#+>=-])|(\d+)([.)]\s))")


def escaped(text: str) -> str:
    """``text`` without a meaning of its own in Markdown or HTML, on one line."""
    return _START.sub(_not_a_start, _plain(text))


def _not_a_start(match: re.Match[str]) -> str:
    """What begins a heading, a list or a quotation, and shall not."""
    return f"\\{match[1]}" if match[1] else f"{match[2]}\\{match[3]}"


def _plain(text: str) -> str:
    """The same of a text that does not begin a line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Words):
        yield from (f"**{escaped(block.text)}**" if block.tone == "bad" else escaped(block.text), "")
    elif isinstance(block, Items):
        yield from _titled(block.title)
        yield from (f"- {escaped(item)}" for item in block.items)
        yield ""
    elif isinstance(block, Table):
        yield from _titled(block.title)
        yield from _piped(block) if block.heads else map(_fact, block.rows)
        yield ""
        if block.left_out:
            yield from (left_out_text(block.left_out), "")
    elif isinstance(block, Code):
        yield from _titled(block.title)
        fence = _fence(block.text)
        yield from (f"{fence}{block.language}", *block.text.rstrip("\n").split("\n"), fence, "")


def left_out_text(lines: int) -> str:
    """That a table does not show all its lines."""
    return f"{lines:,d} more lines are not shown; the CSV of this report (--format csv) has all."


def _titled(title: str) -> Iterable[str]:
    return (f"{escaped(title)}:", "") if title else ()


def _piped(table: Table) -> list[str]:
    heads = [_in_table(head.text) for head in table.heads]
    return piped(heads, [list(map(_cell, row)) for row in table.rows], [head.left for head in table.heads])


def _fact(row: Sequence[Cell]) -> str:
    """A name, and what there is to say of it."""
    return f"- {': '.join(escaped(cell.text) for cell in row)}"


def _cell(cell: Cell) -> str:
    text = _in_table(cell.text)
    shown = f"**{text}**" if cell.alarm else text
    return f"{shown} ({_in_table(cell.interval)})" if cell.interval else shown


def _in_table(text: str) -> str:
    """`piped` escapes the bars itself."""
    return _plain(text).replace("\\|", "|")


def _fence(text: str) -> str:
    """A fence longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    return "`" * max(3, longest + 1)
