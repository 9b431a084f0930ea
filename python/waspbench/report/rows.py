"""The table of points, unrounded: ``--format csv``, and ``points`` in the JSON of a report. It is the data frame that
the results have in Python.
"""

from __future__ import annotations

import csv
import io
from typing import Any

from waspbench.report.content import Report


def to_csv(report: Report) -> str:
    """The rows of a report as CSV with a head; what does not exist is empty."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    if report.points:
        writer.writerow(report.points[0])
    writer.writerows([[_cell(value) for value in row.values()] for row in report.points])
    return output.getvalue()


def _cell(value: Any) -> Any:
    return ("false", "true")[value] if isinstance(value, bool) else value
