"""Tables of reports, every figure with its interval."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from waspbench.experiment.metrics import Metric
from waspbench.report import amounts
from waspbench.report.content import Cell, Head, Interval, Table, facts, table
from waspbench.results.checks import estimate
from waspbench.results.columns import column_of, every, label_of, settings, swept
from waspbench.results.frames.columns import column_name, metrics
from waspbench.results.lines import key_of_row
from waspbench.results.result import Result
from waspbench.results.study import StudyResult
from waspbench.results.workload import arrival_text
from waspbench.tabular import NONE, Column, Figures, Listing, decimals, percent, span

_INTERVAL = "throughput_ci90"
"""The column of tables whose interval a cell has beside its figure here."""


def points_table(title: str, study: StudyResult) -> Table:
    """A line for each point, and for each group of clients at it where there are several."""
    intervals = _intervals(study, lambda of, row: replace(of, group=row["group"]))
    return table(title, _without(study.listing, _INTERVAL), intervals)


def _intervals(study: StudyResult, of_row: Callable[[Metric, Figures], Metric]) -> Interval:
    """What knows the intervals of the figures of a study's table; ``of_row`` is the figure of what a line is of."""
    results = {point.index: point.result for point in study.points}
    known = {column_name(of): of for of in metrics(study.percentiles)}

    def interval(name: str, row: Figures) -> str:
        of, result = known.get(name), results[row["point"]]
        if of is None or result is None or row.get(name) is None:
            return ""
        return amounts.interval(of_row(of, row), result)

    return interval


def requests_table(title: str, study: StudyResult) -> Table:
    """A line for each named request at each point, and for whole sessions."""
    return table(title, study.listing_by_request, _intervals(study, lambda of, row: key_of_row(row).metric(of)))


def loads_table(title: str, listing: Listing) -> Table:
    """The loads of a search, of which throughput has an interval. Their mean response times have none, and are left to
    the results.
    """

    def interval(name: str, row: Figures) -> str:
        if name != "throughput" or row.get(name) is None:
            return ""
        if row.get(_INTERVAL) is not None:
            return listing.columns[_INTERVAL].cell(_INTERVAL, row)
        return amounts.ONE_RUN if row.get("runs") == 1 else ""

    return table(title, _without(listing, _INTERVAL, "mean_ms"), interval)


def _without(listing: Listing, *names: str) -> Listing:
    return Listing({name: column for name, column in listing.columns.items() if name not in names}, listing.rows)


def figures_table(result: Result) -> Table:
    """A line for each figure of a result, with its interval."""
    of_line = every(result.percentiles)
    count = "one run" if len(result.runs) == 1 else f"{len(result.runs)} runs"
    heads = (("figure", True), ("value", False), ("90 % interval", False))
    return Table(
        title=f"All clients, {count}",
        heads=[Head(text=text, left=left) for text, left in heads],
        rows=[
            *(_row(label_of(of), column_of(of), amounts.text(of, result), result, of) for of in _shown(result)),
            *_open_loop(result),
            *(
                _row(column.label or column.head, column, column.cell(name, result.line.figures), result)
                for name, column in of_line.items()
                if name in ("outcomes", "valid")
            ),
        ],
    )


def _row(label: str, column: Column, text: str, result: Result, of: Metric | None = None) -> list[Cell]:
    alarm = column.alarms is not None and column.alarms(result.line.figures)
    interval = "" if of is None else amounts.interval(of, result)
    return [Cell(text=label), Cell(text=text, alarm=alarm), Cell(text=interval)]


def _open_loop(result: Result) -> Iterator[list[Cell]]:
    """The arrivals, and the times from the actual start, which leave the wait for a client out."""
    loop = result.open_loop
    if loop is None:
        return
    offered, text = arrival_text(result.scenario), decimals()
    for label, found in ((f"{offered} that arrived (/s)", loop.arrivals), (f"{offered} that began (/s)", loop.begun)):
        interval = amounts.ONE_RUN if found.ci90 is None else span(found.ci90)
        yield [Cell(text=label), Cell(text=text(found.mean)), Cell(text=interval)]
    for name in ("mean", "p50", "p90", "p99", "max"):
        time = getattr(loop.from_start_ms, name)
        shown = NONE if time is None else text(time)
        yield [Cell(text=f"response time from the actual start {name} (ms)"), Cell(text=shown), Cell(text="")]


def _shown(result: Result) -> Iterator[Metric]:
    """The figures of a result; where transactions failed, also the times of all that ended."""
    for of in metrics(result.percentiles):
        if not of.all or (result.errors and estimate(result, of)[0] is not None):
            yield of


def emulator_table(study: StudyResult) -> Table | None:
    """How busy the emulator was and how late, at each point of a live study; None of a simulated one."""
    made = [(point.varied, point.result.emulator) for point in study.points if point.result is not None]
    if all(emulator.cpu is None for _, emulator in made):
        return None
    rows: list[Figures] = [
        {
            **settings(varied),
            "cpu": emulator.cpu,
            "lag": emulator.lag_us.p99,
            "unread": emulator.unread_us.p99,
            "others": emulator.others,
        }
        for varied, emulator in made
    ]
    if len(made) == 1:
        return facts("The emulator", [(column.head, column.cell(name, rows[0])) for name, column in _EMULATOR.items()])
    return table("The emulator", Listing({**swept(varied for varied, _ in made), **_EMULATOR}, rows))


_EMULATOR = {
    "cpu": Column("CPU busy %", percent()),
    "lag": Column("packets late, p99 us", decimals(0)),
    "unread": Column("frames unread, p99 us", decimals(0)),
    "others": Column("CPU used by other programs %", percent()),
}
