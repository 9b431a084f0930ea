"""The frame of a calibration: a row a cost."""

from __future__ import annotations

import polars as pl

from waspbench.results.calibration import CalibratedCost, CalibrationResult
from waspbench.results.frames.columns import FrameColumn, frame_of, own, with_interval


def cost_columns() -> list[FrameColumn]:
    """The columns of the frame."""
    [us] = own(CalibratedCost, ["us"])
    return [
        *own(CalibratedCost, ["work", "counted"]),
        *with_interval(us, lambda row: row.ci90, ""),
        *own(CalibratedCost, ["fields", "may_be_zero", "inflation", "known_with"]),
    ]


def cost_frame(result: CalibrationResult) -> pl.DataFrame:
    """A row for each cost of a calibration."""
    return frame_of(cost_columns(), result.costs)
