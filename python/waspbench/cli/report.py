"""``wasp report``: results as a page for people, or as Markdown, JSON or CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from waspbench.cli import status
from waspbench.cli.options import OUTPUT, Text
from waspbench.cli.outputs import check_new
from waspbench.errors import InputError
from waspbench.report.written import Format, format_of, text_in, write

DEFAULT = Path("report.html")
"""Where a page goes unless told otherwise; the other formats are printed."""


def report(
    *sources: Annotated[
        str,
        Parameter(
            name="DIR",
            help="Results: DIR, or points of it: DIR@path=value,path=value. Several are each compared with the first.",
        ),
    ],
    format: Annotated[
        Format | None,
        Parameter(
            metavar="html|markdown|json|csv",
            group=OUTPUT,
            help="html: one file that needs no network. markdown: the same words and tables. json: all words and "
            "figures. csv: the table of points, unrounded. [default: as the name of the output says, or html]",
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
        Parameter(metavar="NAME", help="Figure to compare, as in wasp compare, such as p99. [default: throughput]"),
    ] = None,
    force: Annotated[bool, Parameter(group=OUTPUT, help="Write over a file that exists.")] = False,
) -> int:
    """Write a report on results, or a comparison of several: a page, Markdown, JSON or CSV."""
    if not sources:
        raise InputError.at("DIR", "missing; name a directory of results")
    chosen = (format or "html") if output is None else format_of(output, format)
    file = output if output is not None or chosen != "html" else DEFAULT
    if file is None and force:
        raise InputError.at("--force", "is for a file, and this report is printed; name one (-o), or leave it out")
    if file is not None:
        check_new(file, force=force)
    from waspbench.report import report_of

    made = report_of(sources, metric=metric)
    text = text_in(made, chosen)
    if file is None:
        print(text, end="")
    else:
        write(file, text)
        print(f"{file}: {made.title}")
    return status.Status.DONE if made.valid else status.Status.INVALID
