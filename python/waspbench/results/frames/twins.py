"""The frame of a twin: a row a figure of a point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from waspbench.results.frames.columns import POINT, FrameColumn, frame_of, own, swept_columns, with_interval
from waspbench.results.twin_figures import TwinRow
from waspbench.results.twins import TwinPoint, TwinResult


class _Row(NamedTuple):
    """What a row is about."""

    point: TwinPoint
    row: TwinRow

    @property
    def varied(self) -> dict[str, object]:
        return self.point.varied


def twin_columns(swept: Sequence[FrameColumn] = ()) -> list[FrameColumn]:
    """The columns of the frame; ``swept`` are fields of the points."""
    [ratio] = own(TwinRow, ["ratio"], _row)
    return [
        FrameColumn(POINT.name, POINT.kind, POINT.meaning, lambda found: found.point.index),
        *swept,
        *own(TwinRow, ["group", "figure", "live", "sim"], _row),
        *with_interval(ratio, lambda found: found.row.ratio_ci90, ""),
        *own(TwinRow, ["verdict"], _row),
    ]


def _row(found: _Row) -> TwinRow:
    return found.row


def twin_frame(result: TwinResult) -> pl.DataFrame:
    """A row for each figure at each point."""
    rows = [_Row(point, row) for point in result.points for row in point.rows]
    return frame_of(twin_columns([*swept_columns([point.varied for point in result.points])]), rows)
