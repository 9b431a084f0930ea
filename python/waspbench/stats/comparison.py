"""Whether two sets of runs differ, by how much, and whether so few runs could tell.

Exact permutation test of the difference of means (R. A. Fisher; E. Edgington, Randomization Tests) where all ways to
divide the runs can be counted, else the Mann-Whitney test (scipy). Holm's correction over several comparisons.
Effects: the ratio of the means with Fieller's interval (E. C. Fieller, 1954), and the Hodges-Lehmann shift.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from waspbench.stats.levels import ALPHA, LEVEL

MOST_DIVISIONS = 20_000
"""The permutation test counts every division of the runs up to so many, 8 and 8 runs (12,870); beyond, ranks do."""

MOST_EXACT_RANKS = 50
"""Runs on a side up to which the Mann-Whitney test is exact."""

_ROUNDING = 1e-12

Ends = tuple[float | None, float | None]
"""Of an interval; None where there is none."""

TestName = Literal["permutation", "Mann-Whitney", "interval"]
Verdict = Literal["faster", "slower", "no difference shown"]


def test_for(first: int, second: int) -> Literal["permutation", "Mann-Whitney"]:
    """The test that `p_value` uses for so many runs."""
    return "permutation" if math.comb(first + second, first) <= MOST_DIVISIONS else "Mann-Whitney"


def p_value(first: Sequence[float], second: Sequence[float]) -> float:
    """The chance of a difference at least as large, on either side, if both sets were of one kind."""
    return float(p_values(np.asarray([first]), np.asarray([second]))[0])


def p_values(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """`p_value` for each pair of rows."""
    rows, others = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if test_for(rows.shape[1], others.shape[1]) == "permutation":
        return permutation(rows, others)
    return mann_whitney(rows, others)


def permutation(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Exact two-sided p of the difference of means for each pair of rows: the share of all divisions of the runs into
    two sets of these sizes whose means differ by at least as much.
    """
    size = first.shape[1]
    together = np.concatenate([first, second], axis=1)
    together = together - together.mean(axis=1, keepdims=True)
    # The means' difference follows from the sum of the first set alone.
    divisions = _divisions(size, together.shape[1])
    found = np.empty(len(together))
    step = max(1, 8_000_000 // len(divisions))
    for start in range(0, len(together), step):
        part = together[start : start + step]
        sums = np.abs(part @ divisions.T)
        scale = np.abs(part).sum(axis=1, keepdims=True)
        # Sums that are equal but for rounding count as equal.
        found[start : start + step] = (sums >= sums[:, :1] - 1e-12 * scale).mean(axis=1)
    return found


@lru_cache(maxsize=16)
def _divisions(size: int, total: int) -> NDArray[np.float64]:
    """A row for each way to choose ``size`` of ``total``; the first row is the way they came."""
    chosen = np.array(list(combinations(range(total), size)))
    rows = np.zeros((len(chosen), total))
    np.put_along_axis(rows, chosen, 1.0, axis=1)
    return rows


def mann_whitney(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Two-sided p of the Mann-Whitney test for each pair of rows: exact, or by the normal approximation where values
    are tied or a side has more than 50.
    """
    together = np.sort(np.concatenate([first, second], axis=1), axis=1)
    tied = (np.diff(together, axis=1) == 0).any(axis=1) | (max(first.shape[1], second.shape[1]) > MOST_EXACT_RANKS)
    found = np.empty(len(first))
    methods: tuple[Literal["exact", "asymptotic"], ...] = ("exact", "asymptotic")
    for rows, method in zip((~tied, tied), methods, strict=True):
        if rows.any():
            found[rows] = stats.mannwhitneyu(first[rows], second[rows], axis=1, method=method).pvalue
    return found


def least_p(first: int, second: int) -> float:
    """The least p that so many runs can give, however far apart they are: 0.1 for 3 and 3."""
    ways = math.comb(first + second, first)
    mirrored = first == second or test_for(first, second) == "Mann-Whitney"
    return min(1.0, (2 if mirrored else 1) / ways)


def runs_needed(alpha: float = ALPHA, comparisons: int = 1) -> int:
    """The fewest runs on either side with which a difference can be shown at all."""
    return next(count for count in range(1, 100) if least_p(count, count) * comparisons <= alpha)


def holm(values: Sequence[float]) -> list[float]:
    """Holm's adjusted p (S. Holm, 1979): calling those up to alpha keeps the chance of any wrong call at alpha."""
    order = np.argsort(np.asarray(values, dtype=np.float64), kind="stable")
    adjusted, highest = [0.0] * len(values), 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - rank) * float(values[index])))
        adjusted[index] = highest
    return adjusted


def hodges_lehmann(first: Sequence[float], second: Sequence[float]) -> float:
    """The median of all differences, second less first: a shift that no outlier moves far."""
    return float(np.median(np.subtract.outer(np.asarray(second, dtype=float), np.asarray(first, dtype=float))))


def ratio_interval(first: Sequence[float], second: Sequence[float], level: float = LEVEL) -> tuple[float, float] | None:
    """Fieller's interval of mean(second) / mean(first), with Welch's degrees of freedom.

    None for fewer than two values on a side, or where the first mean is not clearly different from zero.
    """
    if len(first) < 2 or len(second) < 2:
        return None
    one, two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    base, other = float(one.mean()), float(two.mean())
    base_error, other_error = (float(side.var(ddof=1)) / len(side) for side in (one, two))
    if base == 0:
        return None
    ratio = other / base
    weights = (ratio**2 * base_error, other_error)
    total = sum(weights)
    if total == 0:
        return (ratio, ratio)
    degrees = total**2 / (weights[0] ** 2 / (len(one) - 1) + weights[1] ** 2 / (len(two) - 1))
    t = float(stats.t.ppf((1 + level) / 2, degrees))
    square = base**2 - t**2 * base_error
    if square <= 0:
        return None
    root = math.sqrt(max(0.0, (base * other) ** 2 - square * (other**2 - t**2 * other_error)))
    return ((base * other - root) / square, (base * other + root) / square)


def within(ends: Ends, limit: float) -> bool | None:
    """Whether a figure with this interval is at most ``limit``; None where that cannot be told."""
    low, high = ends
    if high is not None and high <= limit + _ROUNDING:
        return True
    return False if low is not None and low > limit + _ROUNDING else None


@dataclass(frozen=True)
class Comparison:
    """B against A in one figure at one point."""

    first: int
    """Runs of A."""
    second: int
    """Runs of B."""
    means: tuple[float, float]
    ratio: float | None
    """mean(B) / mean(A); None where mean(A) is zero."""
    interval: tuple[float, float] | None
    """Of the ratio."""
    ends: Ends
    """Of the ratio's interval, each where it exists."""
    shift: float
    """Hodges-Lehmann: B less A."""
    test: TestName
    p: float
    p_holm: float
    """Corrected for all comparisons made together."""
    verdict: Verdict
    able: bool
    """Whether so few runs could have shown any difference."""


def compare(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]],
    *,
    larger_is_faster: bool = True,
    level: float = LEVEL,
    alpha: float = ALPHA,
) -> list[Comparison]:
    """Compares B with A for each of ``pairs`` (A, B), with Holm's correction over all of them.

    Raises:
        ValueError: a side has no values.
    """
    if any(not first or not second for first, second in pairs):
        raise ValueError("pairs: a side has no runs")
    raw = [p_value(first, second) for first, second in pairs]
    made = []
    for (first, second), p, corrected in zip(pairs, raw, holm(raw), strict=True):
        base, other = float(np.mean(first)), float(np.mean(second))
        interval = ratio_interval(first, second, level)
        made.append(
            Comparison(
                first=len(first),
                second=len(second),
                means=(base, other),
                ratio=other / base if base else None,
                interval=interval,
                ends=interval or (None, None),
                shift=hodges_lehmann(first, second),
                test=test_for(len(first), len(second)),
                p=p,
                p_holm=corrected,
                verdict=_verdict(corrected, alpha, (other > base) == larger_is_faster),
                able=least_p(len(first), len(second)) * len(pairs) <= alpha,
            )
        )
    return made


def _verdict(p: float, alpha: float, faster: bool) -> Verdict:
    if p > alpha:
        return "no difference shown"
    return "faster" if faster else "slower"


@dataclass(frozen=True)
class Span:
    """A figure above zero that is known by its interval alone; ``high`` is None where it has no upper end."""

    value: float
    """What was found, which the interval holds."""
    low: float
    high: float | None
    runs: int
    """From which it follows."""

    @property
    def middle(self) -> float:
        """Between the ends (of their logarithms); the lower one where there is no other."""
        return self.low if self.high is None else math.sqrt(self.low * self.high)

    def deviation(self, level: float) -> float:
        """Of the logarithm, if the interval is that of a normal distribution; none of one without an upper end."""
        if self.high is None:
            return 0.0
        return math.log(self.high / self.low) / (2 * float(stats.norm.ppf((1 + level) / 2)))


def compare_spans(
    pairs: Sequence[tuple[Span, Span]], *, level: float = LEVEL, alpha: float = ALPHA
) -> list[Comparison]:
    """Compares B with A for each of ``pairs`` (A, B), with intervals of ``level``, by a z test of their logarithms,
    with Holm's correction over all of them. Intervals that overlap show no difference. One without an upper end may lie
    above another by at least what its lower end says; then there is no ratio.
    """
    tested = [_tested(one, other, level) for one, other in pairs]
    corrected = holm([p for p, _ in tested])
    return [
        Comparison(
            first=one.runs,
            second=other.runs,
            means=(one.value, other.value),
            ratio=None if interval is None else other.value / one.value,
            interval=interval,
            ends=_ends(one, other),
            shift=other.value - one.value,
            test="interval",
            p=p,
            p_holm=p_holm,
            verdict=_verdict(p_holm, alpha, other.middle > one.middle),
            able=one.high is not None or other.high is not None,
        )
        for (one, other), (p, interval), p_holm in zip(pairs, tested, corrected, strict=True)
    ]


def _ends(one: Span, other: Span) -> Ends:
    """The ratios of the farthest ends, each where it exists."""
    return (
        None if one.high is None else other.low / one.high,
        None if other.high is None else other.high / one.low,
    )


def _tested(one: Span, other: Span, level: float) -> tuple[float, tuple[float, float] | None]:
    """The chance of a difference at least as large without one, and the interval of the ratio.

    The interval's ends are the ratios of the farthest ends: where only runs on either side bound a figure, it may be at
    an end as well as in the middle. So intervals that overlap show no difference, whatever the z test says.
    """
    low, high = _ends(one, other)
    interval = None if low is None or high is None else (low, high)
    above = one.high is not None and other.low > one.high
    below = other.high is not None and one.low > other.high
    if not above and not below:
        return 1.0, interval
    deviation = math.hypot(one.deviation(level), other.deviation(level))
    difference = abs(math.log(other.middle / one.middle))
    return 2 * float(stats.norm.sf(difference / deviation)) if deviation else 0.0, interval
