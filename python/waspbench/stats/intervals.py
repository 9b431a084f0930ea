"""Confidence intervals of means."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

LEVEL = 0.90
"""Confidence of the intervals, two-sided, as in the WASP papers."""


def student_t(level: float, degrees: int) -> float:
    """The t quantile that leaves (1 - ``level``)/2 on either side, with ``degrees`` degrees of freedom."""
    return float(stdtrit(degrees, (1 + level) / 2))


def mean_interval(values: Sequence[float], level: float = LEVEL) -> tuple[float, float] | None:
    """The interval that covers the mean of what ``values`` are independent samples of, by Student's t.

    None for fewer than two values, which say nothing of how they vary.
    """
    if not 0 < level < 1:
        raise ValueError(f"level: {level}: must lie between 0 and 1")
    count = len(values)
    if count < 2:
        return None
    samples = np.asarray(values, dtype=np.float64)
    mean = float(samples.mean())
    half = student_t(level, count - 1) * float(samples.std(ddof=1)) / math.sqrt(count)
    return (mean - half, mean + half)
