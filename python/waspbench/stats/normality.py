"""Whether runs of one experiment vary normally, as Student's t assumes: paper 000, section 3.5, figures 6 and 7."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.special import ndtr, ndtri

LEAST = 3
"""Fewest values that the test is defined for."""

POWER = {3: 0.08, 5: 0.16, 10: 0.46, 36: 0.99}
"""Chance of the test (at 5 %) to notice that the values are exponential, by their number: 3 runs tell nothing."""


class ValuesError(ValueError):
    """There is nothing to test.

    Attributes:
        message: what is wrong with the values.
    """

    def __init__(self, message: str) -> None:
        super().__init__(f"values: {message}")
        self.message = message


@dataclass(frozen=True)
class Normality:
    """What speaks for and against normality, and the data of both figures."""

    count: int
    mean: float
    deviation: float
    statistic: float
    """W of Shapiro and Wilk."""
    p: float
    correlation: float
    """Of the probability plot's points; 1 if they lie on a line."""
    values: list[float]
    """Sorted."""
    cdf: list[float]
    """Share of the values up to each: (i - 0.5)/n."""
    normal_cdf: list[float]
    """The same of the normal distribution with the same mean and deviation (figure 6)."""
    normal_quantiles: list[float]
    """Where that distribution has the share: the probability plot's other axis (figure 7)."""


def normality(values: Sequence[float]) -> Normality:
    """Tests ``values``, one a run.

    Raises:
        ValuesError: fewer than three values, or all equal.
    """
    if len(values) < LEAST:
        raise ValuesError(f"{len(values)}: the test needs at least {LEAST}")
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    deviation = float(ordered.std(ddof=1))
    if deviation == 0:
        raise ValuesError("all are equal")
    mean, count = float(ordered.mean()), len(ordered)
    shares = (np.arange(1, count + 1) - 0.5) / count
    quantiles = mean + deviation * ndtri(shares)
    test = stats.shapiro(ordered)
    return Normality(
        count=count,
        mean=mean,
        deviation=deviation,
        statistic=float(test.statistic),
        p=float(test.pvalue),
        correlation=float(np.corrcoef(ordered, quantiles)[0, 1]),
        values=ordered.tolist(),
        cdf=shares.tolist(),
        normal_cdf=ndtr((ordered - mean) / deviation).tolist(),
        normal_quantiles=quantiles.tolist(),
    )


def outliers(values: Sequence[float]) -> list[int]:
    """Indices of the values that stand out: modified z-score above 3.5 (Iglewicz and Hoaglin, 1993).

    They are reported and never dropped. Fewer than five values have none.
    """
    if len(values) < 5:
        return []
    series = np.asarray(values, dtype=np.float64)
    distance = np.abs(series - np.median(series))
    spread = float(np.median(distance))
    if spread == 0:
        return []
    return [int(index) for index in np.flatnonzero(0.6745 * distance / spread > 3.5)]
