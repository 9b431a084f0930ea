"""``wasp report``: results as a page for people, or as Markdown, JSON or CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from waspbench.cli import status
from waspbench.cli.options import OUTPUT, Text
from waspbench.cli.outputs import check_new
from waspbench.errors import Argument, InputError

if TYPE_CHECKING:
    from waspbench.report import Report

Format = Literal["html", "markdown", "json", "csv"]

SUFFIXES: dict[str, Format] = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".csv": "csv",
}

DEFAULT = Path("report.html")
"""Where a page goes unless told otherwise; the other formats are printed."""


def report(
    *sources: Annotated[
        str,
        Parameter(
            name="DIR",
            help="Results: DIR, or points of it: DIR@path=value,path=value. Of several each is held against the first.",
        ),
    ],
    format: Annotated[
        Format | None,
        Parameter(
            metavar="html|markdown|json|csv",
            group=OUTPUT,
            help="html: one file that needs no network. markdown: the same words and tables. json: all that the report "
            "says. csv: the table of points, unrounded. [default: what the name of the output says, or html]",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Parameter(
            name=("--output", "-o"),
            metavar="FILE",
            group=OUTPUT,
            help=f"New file for the report. [default: {DEFAULT} for html; other formats are printed]",
        ),
    ] = None,
    metric: Annotated[
        Text,
        Parameter(
            metavar="NAME", help="What a comparison is of, as in wasp compare, such as p99. [default: throughput]"
        ),
    ] = None,
    force: Annotated[bool, Parameter(group=OUTPUT, help="Write over a file that exists.")] = False,
) -> int:
    """Write a report on results, or on several of them compared: a page, Markdown, JSON or CSV."""
    if not sources:
        raise InputError.at("DIR", "missing; name a directory of results")
    chosen = _format(format, output)
    file = output if output is not None or chosen != "html" else DEFAULT
    if file is None and force:
        raise InputError.at("--force", "is for a file, and this report is printed; name one (-o), or leave it out")
    if file is not None:
        check_new(file, force=force)
    from waspbench.report import report_of

    made = report_of(sources, metric=metric)
    text = _written(made, chosen)
    if file is None:
        print(text, end="")
    else:
        _write(file, text)
        print(f"{file}: {made.title}")
    return status.Status.DONE if made.valid else status.Status.INVALID


def _format(asked: Format | None, output: Path | None) -> Format:
    """The format that is asked for, or that the name of the output says.

    Raises:
        InputError: the two contradict each other, or the name says none that is known.
    """
    named = None if output is None else SUFFIXES.get(output.suffix.lower())
    if asked is not None and named is not None and asked != named:
        raise InputError.at("--format", f"contradicts the name of {output}, which says {named}; leave one out", asked)
    if output is not None and named is None and asked is None:
        message = f"says no format; {', '.join(SUFFIXES)} would be valid, or name one by --format"
        raise InputError.at(Argument("output"), message, str(output))
    return asked or named or "html"


def _written(made: Report, chosen: Format) -> str:
    """The report in a format. What writes another one is not imported."""
    if chosen == "json":
        return made.to_json()
    if chosen == "csv":
        from waspbench.report import to_csv

        return to_csv(made)
    if chosen == "markdown":
        from waspbench.report import to_markdown

        return to_markdown(made)
    from waspbench.report import to_html

    return to_html(made)


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError.at(Argument("output"), f"cannot be written: {error.strerror}", str(file)) from None
