"""How often runs that are too short for their longest transactions are called so, over synthetic runs with known truth.

Clients of a closed loop begin at uniform times of the first half of the warm-up, as the engine's do, and make one
transaction after another, whose times are independent and end after 60 s at the latest. What the engine says of each
run (`_core.judge_censoring`) is held against the bias of its configuration: the mean of what ended in the interval,
over at least 200 seeds, less the truth.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from waspbench import _core

TIMEOUT = 60.0
"""Seconds after which every transaction is over."""

SEEDS = 200
MOST_SEEDS = 2000
"""Seeds of a configuration: more than the least until the bias has a standard error of 1 %."""

BIASED, UNBIASED = 0.05, 0.01
"""Bias above which at most 5 % of the runs may pass, and below which at most 5 % may be refused."""

LEAST = 100
"""Transactions below which a run is refused as ``too_few``."""

LEAST_FOR_P99 = 10_000
"""Transactions from which the 99th percentile of a run that passes is to be right."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Times:
    """A distribution of response times in seconds."""

    family: str
    name: str
    draw: Callable[[np.random.Generator, int], Array]
    beyond: Callable[[Array], Array]
    """P(T >= t), before the timeout."""

    @cached_property
    def mean(self) -> float:
        """Its mean, with what takes longer ended by the timeout."""
        grid = np.concatenate([[0.0], np.geomspace(1e-5, TIMEOUT, 400_001)])
        share = self.beyond(grid)
        return float(((share[1:] + share[:-1]) / 2 * np.diff(grid)).sum())


def exponential(mean: float) -> Times:
    """The exponential distribution."""
    return Times(
        "exponential",
        f"mean {mean:g} s",
        lambda rng, count: rng.exponential(mean, count),
        lambda t: np.exp(-t / mean),
    )


def lognormal(median: float, sigma: float) -> Times:
    """The log-normal distribution."""
    return Times(
        "log-normal",
        f"median {median:g} s, sigma {sigma:g}",
        lambda rng, count: median * np.exp(sigma * rng.standard_normal(count)),
        lambda t: np.asarray(stats.norm.sf(np.log(np.maximum(t, 1e-12) / median) / sigma)),
    )


def pareto(least: float, exponent: float = 1.2) -> Times:
    """The Pareto distribution, cut at 60 s (truncated: nothing takes longer)."""
    within = 1 - (least / TIMEOUT) ** exponent
    return Times(
        "Pareto 1.2, cut at 60 s",
        f"from {least:g} s",
        lambda rng, count: least * (1 - rng.random(count) * within) ** (-1 / exponent),
        lambda t: 1 - (1 - (least / np.maximum(t, least)) ** exponent) / within,
    )


def doubling(base: float, first: float, begin: float, again: float) -> Times:
    """A base of 1 to 1.2 times ``base``, and with probability ``begin`` timeouts, of which each doubles the wait and
    follows the one before with probability ``again``: independent losses have both alike, losses in bursts do not.
    """

    def draw(rng: np.random.Generator, count: int) -> Array:
        timeouts = np.where(rng.random(count) < begin, rng.geometric(1 - again, count), 0.0)
        return np.asarray(base * (1 + 0.2 * rng.random(count)) + first * (2.0**timeouts - 1))

    def beyond(t: Array) -> Array:
        waits = first * (2.0 ** np.arange(13) - 1)
        weights = np.concatenate([[1 - begin], begin * (1 - again) * again ** np.arange(12)])
        within = np.clip(1 - (t[:, None] - waits - base) / (0.2 * base), 0, 1)
        return np.asarray(within @ weights)

    return Times("doubling timeouts", f"base {base:g} s, timeout {first:g} s, p = {begin:g}, {again:g}", draw, beyond)


@dataclass(frozen=True)
class Configuration:
    """A closed loop and how long it is measured."""

    times: Times
    warmup: float
    duration: float
    clients: int

    @property
    def expected(self) -> float:
        """Transactions of a run, about."""
        return self.clients * self.duration / self.times.mean

    def transactions(self, seed: int) -> tuple[Array, Array]:
        """Start and end of the transactions of one run in seconds since its start; some begin after its end."""
        rng = np.random.default_rng([seed, self.clients])
        end = self.warmup + self.duration
        now = rng.random(self.clients) * self.warmup / 2
        starts, ends = [], []
        while len(now):
            each = max(4, min(256, round(end / self.times.mean / 2)))
            times = np.minimum(self.times.draw(rng, len(now) * each), TIMEOUT).reshape(len(now), each)
            after = now[:, None] + np.cumsum(times, axis=1)
            starts.append((after - times).ravel())
            ends.append(after.ravel())
            now = after[:, -1][after[:, -1] < end]
        return np.concatenate(starts), np.concatenate(ends)


@dataclass(frozen=True)
class Found:
    """What became of the runs of a configuration."""

    configuration: Configuration
    bias: float
    """Mean reported over the truth, less 1."""
    error: float
    """Its standard error."""
    passed: float
    """Share of the runs that were neither censored nor of too few transactions."""
    refused: float
    """Share of the runs that were censored."""
    beyond_p99: float | None
    """P(T > p99) of the 99th percentile averaged over the runs that passed with at least 10,000 transactions; None if
    there are none.
    """


def judged(starts: Array, ends: Array, configuration: Configuration) -> dict[str, float] | None:
    """What the engine says of a run; None where too few transactions were seen."""
    begun, over = (np.round(times * 1e9).astype(np.int64) for times in (starts, ends))
    found: dict[str, float] | None = json.loads(
        _core.judge_censoring(begun, over, configuration.warmup, configuration.duration, TIMEOUT, 1.0)
    )
    return found


def measure(configuration: Configuration, most: int = MOST_SEEDS) -> Found:
    """Makes the runs of a configuration and has the engine judge each."""
    end = configuration.warmup + configuration.duration
    means: list[float] = []
    passed = refused = 0
    tails: list[float] = []
    truth = configuration.times.mean
    while len(means) < SEEDS or (_error(means) > 0.01 * truth and len(means) < most):
        starts, ends = configuration.transactions(len(means))
        over = (ends >= configuration.warmup) & (ends < end)
        times = (ends - starts)[over]
        verdict = judged(starts, ends, configuration)
        censored = verdict is not None and bool(verdict["censored"])
        refused += censored
        passes = not censored and len(times) >= LEAST
        passed += passes
        means.append(float(times.mean()) if len(times) else math.nan)
        if passes and len(times) >= LEAST_FOR_P99:
            tails.append(float(np.quantile(times, 0.99, method="inverted_cdf")))
    bias = float(np.nanmean(means)) / truth - 1
    beyond = float(configuration.times.beyond(np.array([np.mean(tails)]))[0]) if tails else None
    runs = len(means)
    return Found(configuration, bias, _error(means) / truth, passed / runs, refused / runs, beyond)


def _error(means: list[float]) -> float:
    return float(np.nanstd(means) / math.sqrt(len(means)))


TIMES = [
    *(exponential(mean) for mean in (0.1, 1.0, 4.0, 10.0)),
    *(lognormal(median, sigma) for sigma in (0.5, 1.0, 1.5, 2.0) for median in (0.1, 1.0)),
    *(pareto(least) for least in (0.03, 0.1, 0.5)),
    *(doubling(0.1, 0.2, again, again) for again in (0.06, 0.2)),
    *(doubling(0.1, 1.0, again, again) for again in (0.03, 0.12, 0.3)),
    *(doubling(0.3, 3.0, again, again) for again in (0.03, 0.12, 0.3)),
    *(doubling(0.05, 0.25, begin, 0.35) for begin in (0.03, 0.06, 0.12)),
    *(doubling(0.2, 1.0, begin, 0.35) for begin in (0.03, 0.06, 0.12)),
]
WINDOWS = [(5.0, 10.0), (5.0, 60.0), (30.0, 60.0), (5.0, 300.0), (60.0, 120.0)]
CLIENTS = [16, 64, 256, 1024]
MOST_TRANSACTIONS = 40_000
"""Transactions of a run at most: larger runs are easier to judge and longer to make."""


def configurations() -> list[Configuration]:
    """All that a run may be made of, if it has enough transactions and not too many."""
    every = [
        Configuration(times, warmup, duration, clients)
        for times in TIMES
        for warmup, duration in WINDOWS
        for clients in CLIENTS
    ]
    return [each for each in every if LEAST <= each.expected <= MOST_TRANSACTIONS]
