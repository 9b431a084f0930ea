"""Reports: what results say, in the order in which a reader asks, as HTML, Markdown, JSON or CSV."""

from __future__ import annotations

from waspbench.report.content import Report
from waspbench.report.html import to_html
from waspbench.report.kinds import report_of
from waspbench.report.markdown import to_markdown
from waspbench.report.rows import to_csv

__all__ = ["Report", "report_of", "to_csv", "to_html", "to_markdown"]
