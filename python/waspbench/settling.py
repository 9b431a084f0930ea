"""Whether a run's warm-up was long enough, by its own records (MSER-5; see `waspbench.stats.warmup`)."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from waspbench.results import Invalid
from waspbench.stats.warmup import LEAST_BINS, mser, unsettled

LEAST_PER_BIN = 4
"""Transactions that a bin must hold on average for the rule to mean anything."""


def bins_of(transactions: pl.DataFrame, seconds: float, bins: int = LEAST_BINS) -> NDArray[np.int64]:
    """``ok`` transactions that ended in each of ``bins`` equal parts of the ``seconds`` since the start of the run."""
    ends = transactions.filter(pl.col("outcome") == "ok")["end_ns"].to_numpy()
    counts, _ = np.histogram(ends, bins=bins, range=(0, seconds * 1e9))
    return np.asarray(counts, dtype=np.int64)


def late_settling(transactions: pl.DataFrame, warmup: float, duration: float) -> Invalid | None:
    """The reason against a run whose throughput settled only after its warm-up (seconds), if it did."""
    bins = bins_of(transactions, warmup + duration)
    if bins.mean() < LEAST_PER_BIN:
        return None
    said = unsettled(bins, int(np.ceil(len(bins) * warmup / (warmup + duration))))
    return None if said is None else Invalid(code="mser", message=f"the warm-up was too short (MSER-5): {said}")


def settled_at(transactions: pl.DataFrame, warmup: float, duration: float) -> float | None:
    """Seconds from the start of a run after which MSER-5 calls its throughput settled; None when it never is, or when
    there are too few transactions to tell.
    """
    bins = bins_of(transactions, warmup + duration)
    if bins.mean() < LEAST_PER_BIN:
        return None
    found = mser(bins)
    return None if found.at_limit else found.dropped / len(bins) * (warmup + duration)
