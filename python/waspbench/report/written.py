"""A report as the text of a file, in each of its formats. What a format needs is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from waspbench.errors import Argument, InputError

if TYPE_CHECKING:
    from waspbench.report.content import Report

Format = Literal["html", "markdown", "json", "csv"]
"""``html``: one file that needs no network. ``markdown``: the same words and tables. ``json``: all that the report
says. ``csv``: the table of points, unrounded.
"""

SUFFIXES: dict[str, Format] = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".csv": "csv",
}
"""How the names of files end, and the format of each."""


def format_of(file: Path, asked: Format | None = None) -> Format:
    """The format that is ``asked`` for, or else that the name of a file says.

    Raises:
        InputError: there is no such format, the two contradict each other, or the name says none that is known.
    """
    if asked is not None and asked not in get_args(Format):
        raise InputError.at(Argument("format"), f"must be one of {', '.join(get_args(Format))}", asked)
    found = SUFFIXES.get(file.suffix.lower(), asked)
    if found is None:
        message = f"says no format; {', '.join(SUFFIXES)} would be valid, or name the format"
        raise InputError.at(Argument("output"), message, str(file))
    if asked not in (None, found):
        message = f"contradicts the name of {file}, which says {found}; leave one out"
        raise InputError.at(Argument("format"), message, asked)
    return found


def text_in(report: Report, chosen: Format) -> str:
    """The text of a report in a format.

    Raises:
        MissingLibraryError: what the page needs is not installed.
    """
    from waspbench import report as reports

    writers: dict[Format, Callable[[Report], str]] = {
        "html": lambda made: reports.to_html(made),
        "markdown": lambda made: reports.to_markdown(made),
        "json": lambda made: made.to_json(),
        "csv": lambda made: reports.to_csv(made),
    }
    return writers[chosen](report)


def write(file: Path, text: str) -> None:
    """Writes a file, over one that is there.

    Raises:
        InputError: it cannot be written.
    """
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError.at(Argument("output"), f"cannot be written: {error.strerror}", str(file)) from None
