"""How often each interval covers and each test errs, measured over synthetic experiments with known truth.

Tests hold the figures to what is claimed; ``benches/coverage.py`` writes them into ``docs/statistics.md``. Every
measurement has a seed of its own and gives the same figures each time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

from bootstrap import Method, bootstrap_means
from waspbench import _core
from waspbench.stats import Histogram, mean_interval, percentiles
from waspbench.stats.batches import batch_means
from waspbench.stats.capacity import CapacitySearch, Reading
from waspbench.stats.comparison import p_values, ratio_interval, within
from waspbench.stats.levels import ALPHA
from waspbench.stats.normality import normality
from waspbench.stats.quantiles import quantile_intervals
from waspbench.stats.stopping import Until

EXPERIMENTS = 10_000
MEAN = 1000.0
"""Truth, in transactions a second."""
NOISE = 0.03
"""Deviation of a run, relative to the mean."""

Array = NDArray[np.float64]


def normal_runs(seed: int, runs: int, noise: float = NOISE) -> Array:
    """A row of independent normal runs for each experiment."""
    return np.random.default_rng(seed).normal(MEAN, noise * MEAN, (EXPERIMENTS, runs))


def student_t(runs: int) -> float:
    """Share of Student-t intervals of so many normal runs that cover the mean."""
    intervals = (mean_interval(row) for row in normal_runs(1, runs).tolist())
    return sum(low <= MEAN <= high for low, high in filter(None, intervals)) / EXPERIMENTS


def bootstrap_of_mean(runs: int, method: Method) -> float:
    """Share of bootstrap intervals of the mean that cover it."""
    low, high = bootstrap_means(normal_runs(2, runs), method=method, resamples=500, seed=3)
    return float(((low <= MEAN) & (high >= MEAN)).mean())


@dataclass(frozen=True)
class Times:
    """A distribution of response times over buckets, for percentiles."""

    edges: Array
    """Edges of the buckets in milliseconds, one more than there are buckets."""
    shares: Array
    """The share of a run's transactions in each bucket: experiments x runs x buckets."""
    overall: Array
    """The same of any run."""


def log_normal(runs: int, rng: np.random.Generator) -> Times:
    """Their deviation is 0.5 on the logarithmic scale, and their scale varies by 5 % from run to run."""
    spread, between = 0.5, 0.05
    edges = np.concatenate([[1e-6], np.exp(np.linspace(-2, 2, 1601)), [1e6]])
    shifts = rng.normal(0, between, (AT_ONCE, runs, 1))
    overall = np.diff(stats.norm.cdf(np.log(edges) / math.hypot(spread, between)))
    return Times(100 * edges, np.diff(stats.norm.cdf((np.log(edges) - shifts) / spread)), overall)


def with_timeouts(runs: int, rng: np.random.Generator) -> Times:
    """One transaction of a hundred meets a timeout: the 99th percentile lies at the edge of a gap of 0.9 s."""
    return _fast_and_slow(np.full((AT_ONCE, runs, 1), 0.01), 0.01, np.linspace(1000, 1050, 21), np.full(20, 0.05))


def round_trips(runs: int, rng: np.random.Generator) -> Times:
    """Half of the transactions take one round trip, a share that varies by 5 % between runs; 0.3 % take a timeout."""
    edges, sure = np.array([100.0, 101, 200, 201, 700, 750]), np.ones((AT_ONCE, runs, 1))
    one = 0.5 + 0.05 * rng.standard_normal((AT_ONCE, runs, 1))
    shares = np.concatenate([one, 0 * sure, 0.997 - one, 0 * sure, 0.003 * sure], axis=-1)
    return Times(edges, shares, np.array([0.5, 0, 0.497, 0, 0.003]))


def in_bursts(runs: int, rng: np.random.Generator) -> Times:
    """Two transactions of a hundred are slow, 500 ms in the mean; their share varies by 30 % from run to run."""
    edges = 300 + np.concatenate([np.linspace(0, 2000, 401), [1e6]])
    slow = -np.diff(np.exp((300 - edges) / 200))
    return _fast_and_slow(0.02 * rng.lognormal(0, 0.3, (AT_ONCE, runs, 1)), 0.02 * math.exp(0.3**2 / 2), edges, slow)


def _fast_and_slow(part: Array, mean: float, edges: Array, slow: Array) -> Times:
    """Times of 100 to 105 ms, and those of a ``part`` (``mean`` in all runs) in buckets of their own."""

    def mixed(part: Array) -> Array:
        return np.concatenate([(1 - part) * np.full(20, 0.05), 0 * part, part * slow], axis=-1)

    return Times(np.concatenate([np.linspace(100, 105, 21), edges]), mixed(part), mixed(np.array([mean])))


AT_ONCE = 1_000
"""Experiments that are drawn at once, for the sake of memory."""


def percentile(
    times: Callable[[int, np.random.Generator], Times],
    runs: int,
    transactions: int,
    fraction: float,
    *,
    own: bool = False,
) -> float:
    """Share of the intervals that cover a percentile of response times, of so many transactions of all runs at least;
    of the intervals of the mean of the runs' ``own`` ones instead.
    """
    covered = 0
    for low, truth, high in percentile_intervals(times, runs, transactions, fraction, own=own):
        covered += low <= truth <= high
    return covered / EXPERIMENTS


def percentile_intervals(
    times: Callable[[int, np.random.Generator], Times], runs: int, transactions: int, fraction: float, *, own: bool
) -> Iterator[tuple[float, float, float]]:
    """The intervals, and between their ends what they are to cover, in nanoseconds."""
    rng = np.random.default_rng(4)
    for _ in range(EXPERIMENTS // AT_ONCE):
        found = times(runs, rng)
        upper = np.round(found.edges[1:] * 1e6).astype(np.int64)
        lower = np.concatenate([[0], upper[:-1] + 1])
        truth = upper[np.searchsorted(np.cumsum(found.overall), fraction - 1e-9)]
        counts = rng.multinomial(
            math.ceil(transactions / runs), found.shares / found.shares.sum(axis=-1, keepdims=True)
        )
        for rows in counts:
            histograms = [Histogram(lower, upper, row) for row in rows]
            if own:
                values = [float(percentiles(each, [fraction])[0] or 0) for each in histograms]
                low, high = mean_interval(values) or (1.0, 0.0)
            else:
                low, high = quantile_intervals(histograms, [fraction])[0] or (1.0, 0.0)
            yield low, float(truth), high


def missed_percentile(transactions: int, clump: int, runs: int = 3) -> float:
    """Share of the experiments in which the upper end of p99 is below half a second. 1.5 % of the transactions, so many
    at a time, take a second, and the others 100 ms.
    """
    rng = np.random.default_rng(6)
    edges = np.array([100_000_000, 1_000_000_000])
    each = math.ceil(transactions / runs)
    slow = clump * rng.binomial(each // clump, 0.015, (EXPERIMENTS, runs))
    missed = 0
    for row in slow:
        histograms = [Histogram(edges, edges, np.array([each - many, many])) for many in row]
        [interval] = quantile_intervals(histograms, [0.99])
        missed += interval is not None and interval[1] < 5e8
    return missed / EXPERIMENTS


@dataclass(frozen=True)
class Batched:
    """What batch means did."""

    covered: float
    flagged: float
    """Share of runs said to be too short."""
    covered_unflagged: float
    """Coverage of the others."""


def batch_means_of(length: int, correlation: float) -> Batched:
    """Batch means of a run of ``length`` values with the given correlation at lag 1 (first-order autoregressive)."""
    rng = np.random.default_rng(7)
    warm = 200
    noise = rng.normal(0, 1, (EXPERIMENTS, length + warm))
    series = signal.lfilter([1.0], [1.0, -correlation], noise, axis=1)[:, warm:]
    found = [batch_means(row) for row in series]
    covered = np.array([made is not None and made.interval[0] <= 0 <= made.interval[1] for made in found])
    independent = np.array([made is not None and made.independent for made in found])
    return Batched(
        float(covered.mean()),
        float(1 - independent.mean()),
        float(covered[independent].mean()) if independent.any() else 0.0,
    )


@dataclass(frozen=True)
class Stopped:
    """What a stopping rule did."""

    covered: float
    runs: float
    """Mean number of runs."""


def until(noise: float, ci: float = 0.05, least: int = 3, most: int = 20) -> Stopped:
    """Coverage of the interval with which ``until`` stops."""
    rule = Until(ci, least, most)
    covered = total = 0
    for row in normal_runs(8, most, noise).tolist():
        count = next(count for count in range(least, most + 1) if rule.enough(row[:count]))
        low, high = mean_interval(row[:count]) or (1.0, 0.0)
        covered += low <= MEAN <= high
        total += count
    return Stopped(covered / EXPERIMENTS, total / EXPERIMENTS)


def ratio(runs: int) -> float:
    """Share of intervals of the ratio of two means (truth: 1.1) that cover it."""
    rng = np.random.default_rng(9)
    first = rng.normal(MEAN, NOISE * MEAN, (EXPERIMENTS, runs)).tolist()
    second = rng.normal(1.1 * MEAN, 2 * NOISE * MEAN, (EXPERIMENTS, runs)).tolist()
    intervals = (ratio_interval(one, two) for one, two in zip(first, second, strict=True))
    return sum(low <= 1.1 <= high for low, high in filter(None, intervals)) / EXPERIMENTS


def differences(runs: int, deviations: float, draw: str = "normal") -> float:
    """Share of comparisons, of so many runs on either side, that call a difference; its size is in deviations of a
    run: 0 makes it the rate of false positives, anything else the power.
    """
    rng = np.random.default_rng(10)
    sample: Callable[..., Array] = rng.standard_normal if draw == "normal" else rng.standard_exponential
    first, second = sample((EXPERIMENTS, runs)), sample((EXPERIMENTS, runs))
    return float((p_values(first, second + deviations) <= ALPHA).mean())


def regressions(runs: int, deviation: float, slowdown: float, limit: float = 0.05) -> tuple[float, float]:
    """Shares of comparisons of so many runs a side that pass, and that fail, a limit of the slowdown of throughput,
    where the true one is ``slowdown`` and runs have this standard deviation.
    """
    rng = np.random.default_rng(14)
    sides = [mean * (1 + deviation * rng.standard_normal((EXPERIMENTS, runs))) for mean in (1.0, 1.0 - slowdown)]
    verdicts = []
    for first, second in zip(*(side.tolist() for side in sides), strict=True):
        low, high = ratio_interval(first, second) or (None, None)
        verdicts.append(within((None if high is None else 1 - high, None if low is None else 1 - low), limit))
    return verdicts.count(True) / EXPERIMENTS, verdicts.count(False) / EXPERIMENTS


def shapiro_rejects(runs: int, draw: str) -> float:
    """Share of normality tests of so many runs that reject at 5 %."""
    rng = np.random.default_rng(11)
    sample: Callable[..., Array] = rng.standard_normal if draw == "normal" else rng.standard_exponential
    return sum(normality(row).p < 0.05 for row in sample((EXPERIMENTS // 4, runs)).tolist()) / (EXPERIMENTS // 4)


def warmup_alarms(ramp: float) -> float:
    """Share of runs called unsettled: 300 bins of 20 transactions on average, a third of them warm-up, throughput
    approaching its level with a time constant of ``ramp`` of the run; 0 is settled from the start.
    """
    rng = np.random.default_rng(12)
    at = (np.arange(300) + 0.5) / 300
    level = 20.0 * (1 - np.exp(-at / ramp)) if ramp else np.full(300, 20.0)
    bins = rng.poisson(level, (EXPERIMENTS // 4, 300))
    found = (json.loads(_core.judge_trend(row, 5.0, 10.0)) for row in bins.tolist())
    return sum(bool(trend["late"]) for trend in found) / (EXPERIMENTS // 4)


Curve = Callable[[float], float]
KINDS = ("rising", "flat", "collapsing", "collapsing from a corner", "falling off a cliff")


def curve(rng: np.random.Generator) -> tuple[str, Curve]:
    """A throughput curve: a third each rising to the end, flat past the knee, or collapsing past the peak (and of
    these again a third each: gently, from a sharp corner, off a cliff).
    """
    top = 10 ** rng.uniform(2, 5)
    knee, sharpness = 2 ** rng.uniform(4, 11.5), rng.uniform(2, 12)

    def saturating(load: float) -> float:
        return float(top * ((load / knee) ** -sharpness + 1) ** (-1 / sharpness))

    kind = rng.integers(3)
    if kind == 0:
        far, slow = 10 ** rng.uniform(2.5, 5), rng.uniform(1, 8)
        if far < 4096:
            slow = 1.0
        return KINDS[0], lambda load: float(top * ((load / far) ** -slow + 1) ** (-1 / slow))
    if kind == 1:
        return KINDS[1], saturating
    decay, later = rng.uniform(0.5, 3), knee * 2 ** rng.uniform(0, 3)
    how = rng.integers(3)
    if how == 0:
        return KINDS[2], lambda load: saturating(load) / (1 + (load / later) ** decay)
    if how == 1:
        slow = rng.uniform(0.2, 1.5)
        return KINDS[3], lambda load: float(top * min(load / knee, (knee / load) ** slow))
    edge, left = min(later, 4000.0), rng.uniform(0.3, 0.8)
    return KINDS[4], lambda load: saturating(load) * (left if load > edge else 1.0)


@dataclass(frozen=True)
class Search:
    """One capacity search."""

    kind: str
    ratio: float
    """Capacity found over the peak's height."""
    runs: int
    covered: bool
    """Whether its interval covers the throughput at the load that it found."""


@cache
def capacity_searches(count: int = 1000) -> list[Search]:
    """Searches from 8 to 4,096 clients with 3 % noise."""
    rng = np.random.default_rng(13)
    grid = np.unique(np.round(np.geomspace(8, 4096, 1500)))
    made = []
    for _ in range(count):
        kind, throughput = curve(rng)
        peak = max(throughput(float(load)) for load in grid)
        search = CapacitySearch()
        while (load := search.next_load()) is not None:
            search.tell(Reading(load, throughput(load) * (1 + NOISE * rng.standard_normal())))
        found = search.found()
        assert found is not None
        assert found.interval is not None
        low, high = found.interval
        made.append(Search(kind, found.mean / peak, found.runs, low <= throughput(found.load) <= high))
    return made
