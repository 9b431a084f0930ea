"""Frames of searches for capacity: a row a point, a row a load, or a row a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from waspbench.experiment.metrics import metric
from waspbench.experiment.search import Find
from waspbench.results.capacity import CapacityResult, PointCapacity
from waspbench.results.columns import Line
from waspbench.results.frames.columns import (
    POINT,
    FrameColumn,
    column_name,
    frame_of,
    meaning_of,
    outcome_columns,
    own,
    swept_columns,
    with_interval,
)
from waspbench.results.loads import Load, LoadReading


@dataclass(frozen=True)
class _SearchRow:
    """A point of a search, and the runs or the load that a row is about."""

    point: PointCapacity
    line: Line | None = None
    reading: LoadReading | None = None

    @property
    def index(self) -> int:
        """Number of the point."""
        return self.point.index

    @property
    def varied(self) -> Mapping[str, Any]:
        """Values of the swept fields."""
        return self.point.varied


def _point(row: _SearchRow) -> PointCapacity:
    return row.point


def _line(row: _SearchRow) -> Line | None:
    return row.line


def _reading(row: _SearchRow) -> LoadReading | None:
    """The run, if it came to its end."""
    return row.reading


def _ended(row: _SearchRow) -> LoadReading | None:
    return None if row.reading is None or row.reading.unmade else row.reading


def _of_line(percentiles: Sequence[str], names: Sequence[str]) -> Iterator[FrameColumn]:
    """What runs say together: the figures with these names, and the percentiles of these names after the mean."""
    for name in names:
        [column] = own(Line, [name], _line)
        if name == "throughput":
            yield from with_interval(column, lambda row: row.line and row.line.throughput_ci90)
        else:
            yield column
        for percentile in percentiles if name == "mean_ms" else ():
            of = metric(percentile)
            yield FrameColumn(column_name(of), "Float64", meaning_of(of), _percentile(percentile))


def _percentile(name: str) -> Callable[[_SearchRow], float | None]:
    return lambda row: None if row.line is None else row.line.percentiles_ms.get(name)


_FIGURES = ("throughput", "goodput_bps", "mean_ms", "errors")


def point_columns(
    percentiles: Sequence[str], swept: Sequence[FrameColumn] = (), find: Find = "throughput"
) -> list[FrameColumn]:
    """The columns of a frame with a row a point, at which ``find`` was looked for."""
    [capacity] = own(PointCapacity, ["capacity"], _point)
    return [
        POINT,
        *swept,
        FrameColumn("find", "String", "What the search looked for: throughput, clients or rate.", lambda row: find),
        *with_interval(capacity, lambda row: row.point.ci90 if find == "throughput" else row.point.ends, ""),
        *own(PointCapacity, ["load", "outcome"], _point),
        FrameColumn(
            "is_lower_bound", "Boolean", "Whether the capacity is only a lower bound.",
            lambda row: row.point.is_lower_bound,
        ),
        *own(PointCapacity, ["refined", "more", "bound", "again"], _point),
        *own(PointCapacity, ["server_cpu", "saturated", "bottleneck", "why", "confirmed"], _point),
        *_of_line(percentiles, _FIGURES),
        *own(PointCapacity, ["runs", "valid"], _point),
    ]  # fmt: skip


def load_columns(
    percentiles: Sequence[str], judged: Sequence[str] = (), swept: Sequence[FrameColumn] = ()
) -> list[FrameColumn]:
    """The columns of a frame with a row a load; ``judged`` names the figures that objectives name."""
    shown = [*_of_line(percentiles, (*_FIGURES, "server_cpu", "runs", "valid"))]
    return [
        POINT,
        *swept,
        *own(Load, ["load", "fresh", "counts"], _line),
        *_judged(judged, _line, {column.name for column in shown}),
        *shown,
        *outcome_columns(lambda row: None if row.line is None else row.line.outcomes),
    ]


def run_columns(judged: Sequence[str] = (), swept: Sequence[FrameColumn] = ()) -> list[FrameColumn]:
    """The columns of a frame with a row a run; ``judged`` names the figures that objectives name."""
    shown = [*own(LoadReading, ["throughput", "goodput_bps", "server_cpu"], _ended)]
    return [
        POINT,
        *swept,
        *own(LoadReading, ["run", "load", "confirming", "counts", "meets", "misses", "failed", "ratio"], _reading),
        *own(LoadReading, ["interval_s"], _ended),
        *_judged(judged, _ended, {column.name for column in shown}),
        *shown,
        *outcome_columns(lambda row: None if row.reading is None else row.reading.outcomes),
        *own(LoadReading, ["attempts", "valid", "notes"], _reading),
    ]


def _judged(names: Sequence[str], of: Callable[[_SearchRow], Any], taken: set[str]) -> Iterator[FrameColumn]:
    """The figures that objectives name, but for those that have a column anyway."""
    for name in names:
        figure = metric(name)
        if column_name(figure) not in taken:
            yield FrameColumn(column_name(figure), "Float64", meaning_of(figure), _told(name, of))


def _told(name: str, of: Callable[[_SearchRow], Any]) -> Callable[[_SearchRow], float | None]:
    def value(row: _SearchRow) -> float | None:
        found = of(row)
        told: float | None = None if found is None else found.judged.get(name)
        return told

    return value


def _swept(result: CapacityResult) -> list[FrameColumn]:
    return [*swept_columns([point.varied for point in result.points])]


def _points(result: CapacityResult) -> pl.DataFrame:
    columns = point_columns(result.percentiles, _swept(result), result.find)
    return frame_of(columns, [_SearchRow(point, point.line) for point in result.points])


def _loads(result: CapacityResult) -> pl.DataFrame:
    judged = dict.fromkeys(name for point in result.points for load in point.loads for name in load.judged)
    columns = load_columns(result.percentiles, list(judged), _swept(result))
    return frame_of(columns, [_SearchRow(point, load) for point in result.points for load in point.loads])


def _runs(result: CapacityResult) -> pl.DataFrame:
    judged = dict.fromkeys(name for point in result.points for each in point.readings for name in each.judged)
    rows = [_SearchRow(point, reading=reading) for point in result.points for reading in point.readings]
    return frame_of(run_columns(list(judged), _swept(result)), rows)


FRAMES: dict[str, Callable[[CapacityResult], pl.DataFrame]] = {"points": _points, "loads": _loads, "runs": _runs}
"""The frame of a search by what has a row each."""
