"""The end of a run's warm-up, found in the run's own records (MSER-5).

K. P. White Jr., "An effective truncation heuristic for bias reduction in simulation output", Simulation 69(6), 1997;
MSER-5 of White, Cobb and Spratt, WSC 2000: the series is averaged in batches of five, and the beginning is left out
that makes the estimated error of the mean of the rest least.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

BATCH = 5
"""Values in a batch: the 5 of MSER-5."""

LEAST_BINS = 300
"""Least number of bins, from the start of a run, for the rule to mean anything: 60 batches."""

STANDARD_ERRORS = 5.0
"""Distance that chance does not explain between what MSER-5 would leave out and the rest."""

NEGLIGIBLE = 0.01
"""Relative effect on the mean of the measured interval that is let pass however certain it is."""


@dataclass(frozen=True)
class Settling:
    """Where a series settles."""

    dropped: int
    """Values at the beginning that belong to the warm-up: a multiple of the batch."""
    values: int
    """Length of the series."""
    at_limit: bool
    """Whether half of the series would have to go, which says that it is too short to settle in."""


def mser(values: ArrayLike, batch: int = BATCH) -> Settling:
    """The truncation point of ``values``, equally spaced from the start of a run.

    It minimises sum((Y - mean(Y))^2) / m^2 over the m batch means Y that are kept; at most half of them may go.

    Raises:
        ValueError: fewer than two batches.
    """
    series = np.asarray(values, dtype=np.float64)
    count = len(series) // batch
    if count < 2:
        raise ValueError(f"values: {len(series)}: MSER-{batch} needs at least {2 * batch}")
    means = series[: count * batch].reshape(count, batch).mean(axis=1)
    means = means - means[count // 2 :].mean()  # sums of squares of small numbers lose no digits
    kept = np.arange(count, 0, -1)
    total = np.cumsum(means[::-1])[::-1]
    squares = np.cumsum(means[::-1] ** 2)[::-1]
    limit = count // 2
    statistic = ((squares - total**2 / kept) / kept**2.0)[: limit + 1]
    best = int(np.argmin(statistic))
    return Settling(dropped=best * batch, values=len(series), at_limit=best == limit)


def unsettled(values: ArrayLike, warmup: int) -> str | None:
    """Why the first ``warmup`` of ``values`` were too short a warm-up; None when they were not.

    MSER-5's minimum wanders even where nothing changes, so it only proposes: what it would leave out of the measured
    interval must differ from the rest by more than five standard errors of batch means, and move the interval's mean by
    more than 1 %: a long interval forgives a short beginning.
    """
    series = np.asarray(values, dtype=np.float64)
    found = mser(series)
    if found.dropped <= warmup:
        return None
    early, late = series[warmup : found.dropped], series[found.dropped :]
    rest = float(late.mean())
    difference = abs(float(early.mean()) - rest)
    error = float(np.hypot(_error(early), _error(late)))
    effect = difference * len(early) / (len(early) + len(late))
    if effect <= NEGLIGIBLE * rest or difference <= STANDARD_ERRORS * error:
        return None
    if not rest:
        return "nothing was completed after its beginning"
    share = 100 * (float(early.mean()) / rest - 1)
    more = "or later" if found.at_limit else ""
    return f"settled {100 * found.dropped / len(series):.0f} % into the run {more}".strip() + (
        f": until then throughput was {abs(share):.1f} % {'above' if share > 0 else 'below'} the rest's"
    )


def _error(values: NDArray[np.float64]) -> float:
    """Standard error of the mean of a stretch of a correlated series: from the differences between up to ten
    neighbouring batches' means (von Neumann), which a trend hardly widens. A single value tells nothing of its error,
    which may then be any.
    """
    batches = min(10, len(values))
    if batches < 2:
        return float("inf")
    size = len(values) // batches
    means = values[-size * batches :].reshape(batches, size).mean(axis=1)
    return float(np.sqrt((np.diff(means) ** 2).mean() / 2 / batches))
