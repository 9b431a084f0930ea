"""The frame of a comparison: a row a point that both sides have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import polars as pl

from waspbench.results.comparing import Compared, ComparisonResult
from waspbench.results.frames.columns import FrameColumn, frame_of, own, swept_columns, with_interval
from waspbench.results.verdicts import unit_of_means


def comparison_columns(figure: str = "throughput", swept: Sequence[FrameColumn] = ()) -> list[FrameColumn]:
    """The columns of the frame; ``figure`` is compared, and ``swept`` are fields of the points."""
    [ratio] = own(Compared, ["ratio"])
    return [
        *swept,
        FrameColumn("metric", "String", "Figure that is compared.", lambda row: figure),
        FrameColumn("unit", "String", "Unit of the means and of the shift.", lambda row: unit_of_means(figure)),
        *_sides("runs", "UInt32", "Number of runs", lambda row, side: row.runs[side]),
        *_sides("mean", "Float64", "Mean of the figure, in `unit`,", lambda row, side: row.means[side]),
        *_sides(
            "at_least", "Boolean", "Whether the mean is only a lower bound of the capacity",
            lambda row, side: row.at_least[side],
        ),
        *with_interval(ratio, lambda row: row.ratio_ends, ""),
        *own(Compared, ["shift", "test", "p", "p_holm", "verdict"]),
        *_sides(
            "errors", "Float64", "Share of the ended transactions that were not `ok`,",
            lambda row, side: row.lines[side].errors,
        ),
        *_sides(
            "server_cpu", "Float64", "Busy share of the server's CPUs,",
            lambda row, side: row.lines[side].server_cpu,
        ),
        *own(Compared, ["note", "valid"]),
    ]  # fmt: skip


def _sides(name: str, kind: str, meaning: str, value: Callable[[Compared, int], Any]) -> Iterator[FrameColumn]:
    """A column of A, and one of B."""
    for side, letter in enumerate("AB"):
        yield FrameColumn(f"{name}_{letter.lower()}", kind, f"{meaning} of {letter}.", _of_side(value, side))


def _of_side(value: Callable[[Compared, int], Any], side: int) -> Callable[[Compared], Any]:
    return lambda row: value(row, side)


def comparison_frame(result: ComparisonResult) -> pl.DataFrame:
    """A row for each point of a comparison."""
    swept = [*swept_columns([point.varied for point in result.points])]
    return frame_of(comparison_columns(result.metric, swept), result.points)
