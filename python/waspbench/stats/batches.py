"""Batch means: an interval from within one run, whose values depend on those before them.

A. M. Law, Simulation Modeling and Analysis, section 9.5.3. Throughput in windows of a second is correlated over a few
round-trip times and retransmission timeouts, so the run is cut into batches that are long against that; their means
are nearly independent, and Student's t holds for them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from waspbench.stats.intervals import mean_interval
from waspbench.stats.levels import LEVEL

BATCHES = (30, 20, 15, 10)
"""Numbers of batches to try, most first: fewer are longer, hence less dependent."""

SIGNIFICANCE = 0.05
"""Of the one-sided test that the correlation of neighbouring batches is zero."""


@dataclass(frozen=True)
class BatchMeans:
    """A mean from within a run."""

    mean: float
    interval: tuple[float, float]
    batches: int
    size: int
    """Values in a batch."""
    lag1: float
    """Correlation of neighbouring batch means."""
    independent: bool
    """Whether that correlation is within chance; if not, the interval is too narrow: the run is too short."""


def lag1(values: ArrayLike) -> float:
    """The autocorrelation of ``values`` at lag 1; 0 for constant ones."""
    series = np.asarray(values, dtype=np.float64)
    centred = series - series.mean()
    power = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / power if power > 0 else 0.0


def lag1_limit(count: int) -> float:
    """The correlation at lag 1 that ``count`` independent values exceed once in twenty: z / sqrt(count)."""
    return float(ndtri(1 - SIGNIFICANCE)) / float(np.sqrt(count))


def batch_means(values: ArrayLike, level: float = LEVEL) -> BatchMeans | None:
    """The mean of ``values`` (the measured part of one run, equally spaced) with its interval.

    Takes the most batches that pass the test of their correlation, or else the fewest, marked as dependent. The
    values that fill no batch are left out at the beginning. None for fewer than 20 values.
    """
    series = np.asarray(values, dtype=np.float64)
    tries = [count for count in BATCHES if len(series) >= 2 * count]
    for count in tries:
        means = _means(series, count)
        correlation = lag1(means)
        if correlation < lag1_limit(count) or count == tries[-1]:
            interval = mean_interval(means.tolist(), level)
            assert interval is not None
            independent = correlation < lag1_limit(count)
            return BatchMeans(
                float(means.mean()), interval, count, len(series) // count, correlation, bool(independent)
            )
    return None


def _means(series: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    size = len(series) // count
    means: NDArray[np.float64] = series[len(series) - size * count :].reshape(count, size).mean(axis=1)
    return means
