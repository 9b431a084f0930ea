"""Whether a run's warm-up was long enough, by its own records (MSER-5; see `waspbench.stats.warmup`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from waspbench.results import Invalid
from waspbench.results.summary import RunGroup
from waspbench.stats.warmup import LEAST_BINS, mser, unsettled

LEAST_PER_BIN = 4
"""Transactions that a bin must hold on average for the rule to mean anything."""


def bins_of(transactions: pl.DataFrame, seconds: float, bins: int = LEAST_BINS) -> NDArray[np.int64]:
    """``ok`` transactions that ended in each of ``bins`` equal parts of the ``seconds`` since the start of the run."""
    ends = transactions.filter(pl.col("outcome") == "ok")["end_ns"].to_numpy()
    counts, _ = np.histogram(ends, bins=bins, range=(0, seconds * 1e9))
    return np.asarray(counts, dtype=np.int64)


def late_settling(
    transactions: pl.DataFrame,
    warmup: float,
    duration: float,
    groups: Sequence[RunGroup],
    known: Collection[str | None] = (),
) -> list[Invalid]:
    """The reasons against a run whose throughput settled only after its warm-up (seconds): in the groups of clients in
    which it did, or in none of them but in all together. Of the groups that are ``known`` to have settled late (None:
    all together) nothing more is said.
    """
    said = [
        _reason(group.name, found)
        for group, rows in _parts(transactions, groups)
        if group.name not in known and (found := _late(rows, warmup, duration)) is not None
    ]
    whole = None if said or known else _late(_measured(transactions, groups), warmup, duration)
    return said if whole is None else [_reason(None, whole)]


def settled_at(transactions: pl.DataFrame, warmup: float, duration: float, groups: Sequence[RunGroup]) -> float | None:
    """Seconds from the start of a run after which MSER-5 calls its throughput settled; None when it never is, or when
    there are too few transactions to tell. A group of clients counts only if it settles later than the warm-up
    (seconds) by more than chance explains.
    """
    length = warmup + duration
    late = [rows for _, rows in _parts(transactions, groups) if _late(rows, warmup, duration) is not None]
    found = [_settled_at(rows, length) for rows in (_measured(transactions, groups), *late)]
    known = [each for each in found if each is not None]
    return max(known) if len(known) == len(found) else None


def _reason(group: str | None, found: str) -> Invalid:
    whose = "" if group is None else f"group {group}: "
    return Invalid(code="mser", group=group, message=f"{whose}the warm-up was too short (MSER-5): {found}")


def _parts(transactions: pl.DataFrame, groups: Sequence[RunGroup]) -> Iterator[tuple[RunGroup, pl.DataFrame]]:
    """The transactions of each group that is measured beside others."""
    measured = [(index, group) for index, group in enumerate(groups) if not group.background]
    for index, group in measured if len(measured) > 1 else ():
        yield group, transactions.filter(pl.col("group") == index)


def _measured(transactions: pl.DataFrame, groups: Sequence[RunGroup]) -> pl.DataFrame:
    """The transactions of all groups that are no background."""
    aside = [index for index, group in enumerate(groups) if group.background]
    return transactions.filter(~pl.col("group").is_in(aside)) if aside else transactions


def _enough(bins: NDArray[np.int64]) -> bool:
    return bool(bins.mean() >= LEAST_PER_BIN)


def _late(transactions: pl.DataFrame, warmup: float, duration: float) -> str | None:
    bins = bins_of(transactions, warmup + duration)
    return unsettled(bins, int(np.ceil(len(bins) * warmup / (warmup + duration)))) if _enough(bins) else None


def _settled_at(transactions: pl.DataFrame, length: float) -> float | None:
    bins = bins_of(transactions, length)
    found = mser(bins) if _enough(bins) else None
    return None if found is None or found.at_limit else found.dropped / len(bins) * length
