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

from waspbench.stats.histogram import Histogram
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


def bootstrap_quantile(
    runs: Sequence[Histogram], fraction: float, level: float = LEVEL, *, resamples: int = 2000, seed: int = 0
) -> Interval | None:
    """The percentile interval of the ``fraction`` quantile of all runs' values together, in the histograms' unit.

    None for fewer than two runs, or where there are no values.
    """
    filled = [run for run in runs if run.total]
    if len(filled) < 2:
        return None
    edges, counts = _grid(filled)
    drawn = np.random.default_rng(seed).multinomial(len(filled), [1 / len(filled)] * len(filled), size=resamples)
    running = np.cumsum(drawn.astype(np.float64) @ counts, axis=1)
    ranks = np.maximum(1, np.ceil(fraction * running[:, -1:]))
    values = edges[np.argmax(running >= ranks, axis=1)]
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _grid(runs: Sequence[Histogram]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Upper edges of all buckets that any run fills, and the counts: a row a run."""
    edges = np.unique(np.concatenate([run.upper for run in runs]))
    counts = np.zeros((len(runs), len(edges)))
    for row, run in zip(counts, runs, strict=True):
        row[np.searchsorted(edges, run.upper)] = run.count
    return edges, counts
