"""Intervals of quantiles from order statistics: no assumption on the distribution, but independent values.

H. A. David, H. N. Nagaraja, Order Statistics, section 7.1: the number of values below the q-quantile is binomial.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from waspbench.stats.histogram import Histogram
from waspbench.stats.levels import LEVEL


def quantile_ranks(count: int, fraction: float, level: float = LEVEL) -> tuple[int, int] | None:
    """Ranks (from 1) of the order statistics of ``count`` independent values that enclose the ``fraction`` quantile
    with at least ``level`` confidence, equally on both sides. None when there are too few values.
    """
    tail = (1 - level) / 2
    low = int(stats.binom.ppf(tail, count, fraction))
    high = int(stats.binom.ppf(1 - tail, count, fraction)) + 1
    return (low, high) if low >= 1 and high <= count else None


def least_values(fraction: float, level: float = LEVEL) -> int:
    """The fewest values whose order statistics enclose the ``fraction`` quantile: 299 for p99 at 95 % on one side."""
    tail = (1 - level) / 2
    return int(np.ceil(np.log(tail) / np.log(max(fraction, 1 - fraction))))


def quantile_interval(
    values: ArrayLike | Histogram, fraction: float, level: float = LEVEL
) -> tuple[float, float] | None:
    """The interval of the ``fraction`` quantile of what ``values`` are independent samples of.

    Response times within one run depend on each other, which makes this too narrow for them; over runs it holds.
    """
    if isinstance(values, Histogram):
        ranks = quantile_ranks(values.total, fraction, level)
        if ranks is None:
            return None
        low, high = np.searchsorted(np.cumsum(values.count), ranks, side="left")
        return float(values.lower[low]), float(values.upper[high])
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    ranks = quantile_ranks(len(ordered), fraction, level)
    return None if ranks is None else (float(ordered[ranks[0] - 1]), float(ordered[ranks[1] - 1]))
