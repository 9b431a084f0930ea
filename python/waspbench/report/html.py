"""A report as one HTML file that asks nothing of any network: its style is inside."""

from __future__ import annotations

import shlex
from pathlib import Path

from waspbench.extras import needed
from waspbench.report.again import metric_flag
from waspbench.report.content import Report
from waspbench.report.markdown import left_out_text

KEPT = ("valid", "result")
"""Heads of columns that stay in sight while a table is scrolled: whether a line is valid, or a check passed."""

TEMPLATES = Path(__file__).with_name("templates")


def to_html(report: Report) -> str:
    """The page of a report.

    Raises:
        MissingLibraryError: jinja2 is not installed.
    """
    jinja = needed("jinja2", "report")
    environment = jinja.Environment(
        loader=jinja.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja.StrictUndefined,
    )
    page = environment.get_template("report.html").render(
        report=report,
        left_out_text=left_out_text,
        kept=KEPT,
        command=shlex.join(["wasp", "report", *report.directories, *metric_flag(report.metric)]),
    )
    return str(page)
