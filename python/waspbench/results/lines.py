"""The lines that tables have of a result: of all clients, of groups of them, and by what they asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from waspbench.experiment.metrics import Metric
from waspbench.results.columns import Line, of_requests
from waspbench.results.groups import Group
from waspbench.results.named_requests import NamedRequest
from waspbench.results.parts import WHOLE_SESSIONS, RequestKey, part_of, requests_and_sessions
from waspbench.results.sessions import Sessions, text_of
from waspbench.tabular import Column, Figures, Listing

if TYPE_CHECKING:
    from waspbench.results.result import Result


def figures_line(
    part: Result | Group | NamedRequest | Sessions,
    runs: int,
    *,
    valid: bool,
    background: bool = False,
    server_cpu: float | None = None,
) -> Line:
    """What a table says of all clients, of a group of them, of a request or of whole sessions, whose figures are of so
    many ``runs``.
    """
    time = part.response_time_ms
    return Line(
        throughput=part.throughput.mean,
        throughput_ci90=part.throughput.ci90,
        goodput_bps=part.goodput_bps.mean,
        mean_ms=time.mean,
        percentiles_ms=time.percentiles,
        errors=part.errors,
        server_cpu=server_cpu,
        runs=runs,
        valid=valid,
        background=background,
        outcomes=part.outcomes,
        statuses=part.statuses,
    )


def line_of(result: Result, metric: Metric) -> Line:
    """The figures of what ``metric``, which a result has, is of: clients, requests or whole sessions."""
    if metric.request is None and not metric.sessions:
        return result.line if metric.group is None else result.group_lines[metric.group]
    figures = part_of(result, metric)
    if figures is None:
        raise ValueError(f"{metric}: the result has no such part")
    group = next((group for group in result.groups if group.name == metric.group), None)
    whole = result if group is None else group
    aside = group is not None and group.background
    return figures_line(figures, len(result.runs), valid=whole.valid, background=aside)


def rows_by_request(result: Result) -> list[Figures]:
    """The lines of the table by request; ``group`` is None for all clients."""
    found = requests_and_sessions(result.requests, result.sessions, result.groups)
    return [row_of(key, line_of(result, key.metric(Metric("throughput")))) for key in found]


def row_of(key: RequestKey, line: Line) -> Figures:
    """A line of the table by request."""
    name = WHOLE_SESSIONS if key.request is None else key.request
    return {"group": key.group, "request": name, **line.figures}


def key_of_row(row: Figures) -> RequestKey:
    """What such a line is of."""
    return RequestKey(row["group"], None if row["request"] == WHOLE_SESSIONS else row["request"])


def listing_by_request(
    results: Iterable[tuple[Figures, Result]], percentiles: Iterable[str], columns: Mapping[str, Column] | None = None
) -> Listing:
    """The table by request of some results. Of each it has what its lines are about, which ``columns`` show before the
    figures. It has no lines if requests have no names.
    """
    rows = [{**about, **row} for about, result in results for row in rows_by_request(result)]
    return Listing({**(columns or {}), **of_requests(percentiles, rows)}, rows)


def told_of_sessions(result: Result) -> list[str]:
    """How long the sessions in the table by request lasted, and at which steps some failed: a sentence for each line
    of whole sessions.
    """
    found = requests_and_sessions(result.requests, result.sessions, result.groups)
    return [f"{key.said}: {text_of(of)}" for key, of in found.items() if isinstance(of, Sessions)]
