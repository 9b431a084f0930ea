"""Quantiles over runs: how many values one needs, and its interval, for which a run counts as a whole.

C. A. Francisco, W. A. Fuller, Quantile estimation with a complex survey design, Annals of Statistics 19 (1991),
454-469: the interval holds the values of which a test of the share below them does not say that the quantile lies
elsewhere. It needs no density, which a distribution with gaps (a response time with and without a timeout) does not
have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from waspbench.stats.histogram import Histogram, merge
from waspbench.stats.intervals import student_t
from waspbench.stats.levels import LEVEL

ABOVE = 0.95
"""Probability with which the largest of independent values lies above a quantile, and the least below one: with fewer
values the quantile may well be beyond all of them.
"""


def values_needed(fraction: float) -> int:
    """Values from which the ``fraction`` quantile says something, the least n with ``1 - fraction^n >= ABOVE``, which
    gives order statistics an upper bound: 29 for p90, 59 for p95, 299 for p99 and 2,995 for p99.9. Of a quantile below
    the median it is the lower bound.
    """
    return math.ceil(math.log1p(-ABOVE) / math.log(max(fraction, 1 - fraction)))


def quantile_intervals(
    runs: Sequence[Histogram], fractions: Sequence[float], level: float = LEVEL
) -> list[tuple[float, float] | None]:
    """The interval of each of these quantiles of all runs' values together, in the histograms' unit; None for fewer
    than two runs that have values.

    The share of values below the edge of a bucket is a ratio over runs (values below it to values), tested by Student's
    t. It is taken for no more exact than that of independent values, because few runs may agree by luck.
    """
    filled = [run for run in runs if run.total]
    if len(filled) < 2:
        return [None for _ in fractions]
    together = merge(filled)
    shares, errors = _shares(filled, together)
    clustered = student_t(level, len(filled) - 1) * errors
    return [_interval(together, shares, clustered, fraction, level) for fraction in fractions]


def _interval(
    together: Histogram,
    shares: NDArray[np.float64],
    clustered: NDArray[np.float64],
    fraction: float,
    level: float,
) -> tuple[float, float]:
    """The interval of one quantile; ``clustered`` is half that of each share."""
    independent = float(ndtri((1 + level) / 2)) * math.sqrt(fraction * (1 - fraction) / together.total)
    half = np.maximum(clustered, independent)
    # A bucket may hold the quantile unless too little lies below its end, or too much below its beginning.
    enough = shares + half >= fraction
    little = np.concatenate([[True], shares[:-1] - half[:-1] <= fraction])
    [may] = np.nonzero(enough & little)
    return float(together.lower[may[0]]), float(together.upper[may[-1]])


def _shares(runs: Sequence[Histogram], together: Histogram) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The share of all values up to the end of each bucket, and its standard error: that of a ratio over runs."""
    counts = np.zeros((len(runs), len(together.lower)))
    for row, run in zip(counts, runs, strict=True):
        row[np.searchsorted(together.lower, run.lower)] = run.count
    sizes = counts.sum(axis=1)
    running = np.cumsum(counts, axis=1)
    shares = running.sum(axis=0) / together.total
    beside = running - np.outer(sizes, shares)
    return shares, np.sqrt((beside**2).sum(axis=0) / (1 - 1 / len(runs))) / together.total
