"""Reports: what results say, in the order in which a reader asks, as HTML, Markdown, JSON or CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waspbench.lazy import attributes

if TYPE_CHECKING:
    from waspbench.report.content import Report
    from waspbench.report.html import to_html
    from waspbench.report.kinds import report_of
    from waspbench.report.markdown import to_markdown
    from waspbench.report.rows import to_csv

__all__ = ["Report", "report_of", "to_csv", "to_html", "to_markdown"]

_HOMES = {
    "Report": "content",
    "report_of": "kinds",
    "to_csv": "rows",
    "to_html": "html",
    "to_markdown": "markdown",
}

__getattr__, __dir__ = attributes(__name__, _HOMES)
