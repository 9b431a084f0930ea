"""Histograms of counts in buckets, as the engine records them (HDR: buckets of constant relative width)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts of values in buckets from ``lower`` to ``upper``, both included, in rising order and without overlap."""

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, lower: ArrayLike, upper: ArrayLike, count: ArrayLike) -> Histogram:
        """The histogram of three columns. Empty buckets may be absent.

        Raises:
            ValueError: the columns differ in length, a count is negative, or the buckets overlap.
        """
        columns = [np.asarray(column, dtype=np.int64) for column in (lower, upper, count)]
        if len({column.shape for column in columns}) != 1 or columns[0].ndim != 1:
            raise ValueError("histogram: the columns differ in length")
        low, high, counts = columns
        if (counts < 0).any():
            raise ValueError("histogram: a count is negative")
        if (high < low).any() or (low[1:] <= high[:-1]).any():
            raise ValueError("histogram: the buckets overlap or are out of order")
        return cls(low, high, counts)

    @property
    def total(self) -> int:
        """Number of values."""
        return int(self.count.sum())


@dataclass(frozen=True, eq=False)
class Populations:
    """The response times of a run."""

    ok: Histogram
    """Of the ``ok`` transactions."""
    all: Histogram
    """Of all that ended; empty where a result of an older version does not tell."""
    groups: Sequence[Populations] = ()
    """Those of each group of clients, in the order of their index; none where a result does not tell."""
    requests: Mapping[str, Populations] = field(default_factory=dict)
    """Those of each named request of which there were transactions."""
    sessions: Populations | None = None
    """Those of whole sessions, if there were some."""

    def of_request(self, name: str) -> Populations:
        """Those of the request called so."""
        return self.requests.get(name) or Populations(merge(()), merge(()))

    def of_sessions(self) -> Populations:
        """Those of whole sessions."""
        return self.sessions or Populations(merge(()), merge(()))

    def of_group(self, index: int) -> Populations:
        """Those of the group with this index. The last groups may have none at all, and are not there then."""
        return self.groups[index] if index < len(self.groups) else Populations(merge(()), merge(()))


def merge(histograms: Iterable[Histogram]) -> Histogram:
    """The histogram of all values together; the buckets of all must come from one grid."""
    parts = list(histograms)
    if not parts:
        return Histogram.of([], [], [])
    lower = np.concatenate([part.lower for part in parts])
    upper = np.concatenate([part.upper for part in parts])
    count = np.concatenate([part.count for part in parts])
    edges, index = np.unique(lower, return_inverse=True)
    highest = np.zeros(len(edges), dtype=np.int64)
    np.maximum.at(highest, index, upper)
    if (upper != highest[index]).any():
        raise ValueError("histogram: the buckets of the parts differ")
    counts = np.zeros(len(edges), dtype=np.int64)
    np.add.at(counts, index, count)
    return Histogram.of(edges, highest, counts)


def percentiles(histogram: Histogram, fractions: Sequence[float], maximum: int | None = None) -> list[int | None]:
    """For each of ``fractions`` (0 to 1) a value that at least that part of all values does not exceed; None when
    there are no values.

    As HDR histograms do, this is the upper edge of the bucket in which the value of rank ceil(fraction * total) lies,
    but no more than ``maximum``, the largest value seen, when that is known.
    """
    for fraction in fractions:
        if not 0 <= fraction <= 1:
            raise ValueError(f"fraction: {fraction}: must lie from 0 to 1")
    total = histogram.total
    if total == 0:
        return [None for _ in fractions]
    running = np.cumsum(histogram.count)
    # 0.07 means seven hundredths, not the double nearest to it.
    ranks = [max(1, math.ceil(Fraction(repr(float(fraction))) * total)) for fraction in fractions]
    values = histogram.upper[np.searchsorted(running, ranks, side="left")]
    return [int(value) if maximum is None else min(int(value), maximum) for value in values]
