"""Tables of measured figures, and the pages of the documentation that have them between two marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from waspbench.tabular import piped

DOCS = Path(__file__).parents[1] / "docs"


def share(value: float) -> str:
    """A share as a percentage."""
    return f"{100 * value:.1f} %"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join(piped(heads, rows))


def with_tables(page: str, tables: Mapping[str, str]) -> str:
    """The page with each table between its marks: ``<!-- measured: NAME -->`` and ``<!-- end -->``.

    Raises:
        ValueError: one of them has no marks in it.
    """
    for name, made in tables.items():
        begin, end = f"<!-- measured: {name} -->", "<!-- end -->"
        before, found, rest = page.partition(begin)
        _, ended, after = rest.partition(end)
        if not found or not ended:
            raise ValueError(f"there are no marks for the table {name}")
        page = f"{before}{begin}\n{made}\n{end}{after}"
    return page


def write(name: str, tables: Mapping[str, str]) -> None:
    """Puts tables into a page of the documentation.

    Raises:
        SystemExit: one of them has no marks in it.
    """
    path = DOCS / name
    try:
        path.write_text(with_tables(path.read_text(encoding="utf-8"), tables), encoding="utf-8")
    except ValueError as error:
        raise SystemExit(f"{path}: {error}") from None
