"""Figures of one point's runs, second by second."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from waspbench.figures.choice import choose, left_out
from waspbench.figures.figure import Axis, Figure, Panel, Trace
from waspbench.figures.options import Options
from waspbench.figures.sources import NoFigureError, Source, called, only_point, only_study
from waspbench.figures.style import is_empty
from waspbench.figures.values import Part, trusted, warnings_of
from waspbench.results.result import Result
from waspbench.results.shape import series as tables_of
from waspbench.results.shape import warmup_of, whole_seconds
from waspbench.results.summary import RunSummary

SERIES = (
    ("ok", "throughput (ok/s)", 1.0),
    ("errors", "errors (1/s)", 1.0),
    ("in_flight", "in flight (transactions)", 1.0),
    ("server_busy", "server CPU busy (%)", 100.0),
)
"""Columns of the table ``series`` that are drawn, what is beside their axes, and what they are multiplied with."""


def series(sources: Sequence[Source], options: Options) -> Figure:
    """Throughput, errors, transactions in flight and server CPU in each second of each run."""
    study = only_study(sources)
    result = only_point(study)
    tables = tables_of(result)
    if tables is None:
        raise NoFigureError.because("is made of the tables of runs (series), which these results do not have")
    runs = list(zip(result.runs, tables, strict=True))
    shown = [runs[index] for index in choose([float(table["ok"].sum()) for _, table in runs])]
    failed = any(table["errors"].sum() for _, table in shown)
    columns = [each for each in SERIES if failed or each[0] != "errors"]
    panels = [_panel(shown, column, label, scale, result) for column, label, scale in columns]
    if all(is_empty(panel) for panel in panels):
        raise NoFigureError.because("needs a run of a second at least")
    return Figure(
        name="series",
        title=f"Second by second: {called(study)}",
        panels=tuple(panel for panel in panels if not is_empty(panel)),
        warnings=tuple(warnings_of([Part("", result)])),
        notes=(*([] if failed else ["no transaction failed"]), *left_out(len(runs), len(shown), "runs")),
        across=1,
    )


def _panel(
    runs: Sequence[tuple[RunSummary, pl.DataFrame]], column: str, label: str, scale: float, result: Result
) -> Panel:
    warmup = warmup_of(result)
    valid = dict(zip((run.run for run in result.runs), trusted(result), strict=True))
    lines = [
        _line(
            run,
            table.filter(table["second"] < whole_seconds(result, run)),
            column,
            scale,
            valid=valid[run.run],
        )
        for run, table in runs
    ]
    most = max((y for line in lines for y in line.y if y is not None), default=0.0)
    mark = [Trace("end of warm-up", (warmup, warmup), (0.0, most), kind="reference")] if warmup else []
    return Panel(Axis("time since the start of the run (s)"), Axis(label), (*lines, *mark))


def _line(run: RunSummary, whole: pl.DataFrame, column: str, scale: float, *, valid: bool) -> Trace:
    """A column by second; a last second that the run did not fill is left out."""
    x = [float(second) for second in whole["second"]]
    y = [None if value is None else scale * value for value in whole[column]]
    if x:  # the last value holds for a second, too
        x.append(x[-1] + 1)
        y.append(y[-1])
    name = f"run {run.run + 1}" if valid else f"run {run.run + 1} (NOT VALID)"
    return Trace(name, tuple(x), tuple(y), kind="steps", invalid=() if valid else (True,) * len(x))
