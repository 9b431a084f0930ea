"""Bootstrap intervals over runs: runs are drawn with replacement, as wholes, since transactions within one depend.

B. Efron, R. Tibshirani, An Introduction to the Bootstrap, chapters 13 and 14. The percentile interval and, for
statistics of one number a run, the bias-corrected and accelerated one (BCa), as scipy has it. With few runs both are
too narrow; docs/statistics.md has the measured coverage.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from waspbench.stats.levels import LEVEL

RESAMPLES = 10_000
Method = Literal["percentile", "BCa"]
Interval = tuple[float, float]


def bootstrap_mean(
    values: Sequence[float], level: float = LEVEL, method: Method = "BCa", *, resamples: int = RESAMPLES, seed: int = 0
) -> Interval | None:
    """The interval of the mean of ``values``, one a run. None for fewer than two."""
    if len(values) < 2:
        return None
    low, high = bootstrap_means(np.asarray([values]), level, method, resamples=resamples, seed=seed)
    return float(low[0]), float(high[0])


def bootstrap_means(
    samples: ArrayLike, level: float = LEVEL, method: Method = "BCa", *, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """`bootstrap_mean` for each row of ``samples``, which all see the same resamples."""
    rows = np.asarray(samples, dtype=np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows of equal values have no acceleration; they are answered below
        found = stats.bootstrap(
            (rows,),
            np.mean,
            n_resamples=resamples,
            axis=-1,
            vectorized=True,
            confidence_level=level,
            method=method,
            rng=np.random.default_rng(seed),
            batch=max(1, 4_000_000 // rows.size),
        ).confidence_interval
    equal = np.ptp(rows, axis=-1) == 0
    low, high = np.asarray(found.low), np.asarray(found.high)
    return np.where(equal, rows[..., 0], low), np.where(equal, rows[..., 0], high)
