"""How often experiments whose runs are too short for their longest transactions are called so, over synthetic runs with
known truth.

Clients of a closed loop begin at uniform times of the first half of the warm-up, as the engine's do, and make one
transaction after another, whose times are independent and end after 60 s at the latest. What the engine says of an
experiment's runs together (`_core.judge_censoring`) is held against the bias of its configuration: the mean of what
ended in the intervals, over many experiments, less the truth.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from waspbench import _core
from waspbench.tabular import piped

TIMEOUT = 60.0
"""Seconds after which every transaction is over."""

RUNS = 3
"""Runs of an experiment: as many as are made by default."""

EXPERIMENTS = 100
MOST_EXPERIMENTS = 1000
"""Experiments of a configuration: more than the least until the bias has a standard error of 1 %."""

BIASED = 0.05
"""Bias above which at most 5 % of the experiments may pass."""
MOST_OF_ONE_PASSED = 6 / 40
"""And at most so many of one configuration."""

UNBIASED, MOST_DEVIATION = 0.01, 0.02
"""Bias, and deviation of an experiment's mean, below which at most 10 % may be refused."""
MOST_OF_ONE_REFUSED = 9 / 40
"""And at most so many of one configuration."""

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

    def __str__(self) -> str:
        times = f"{self.times.family} ({self.times.name})"
        return f"{times}, {self.warmup:g} s and {self.duration:g} s, {self.clients} clients"

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
    """What became of the experiments of a configuration."""

    configuration: Configuration
    bias: float
    """Mean reported over the truth, less 1."""
    deviation: float
    """Standard deviation of an experiment's mean, over the truth."""
    passed: float
    """Share of the experiments that were neither censored nor of too few transactions."""
    refused: float
    """Share of them that were censored."""
    covered: float
    """Share of those in which what lacks of the mean is no more than the upper estimate."""
    beyond_p99: float | None
    """P(T > p99) of the 99th percentile averaged over the experiments that passed with at least 10,000 transactions;
    None if there are none.
    """


def judged(runs: list[tuple[Array, Array]], configuration: Configuration) -> dict[str, float] | None:
    """What the engine says of runs together; None where too few transactions were seen."""
    nanos = [(np.round(1e9 * start).astype(np.int64), np.round(1e9 * end).astype(np.int64)) for start, end in runs]
    found: dict[str, float] | None = json.loads(
        _core.judge_censoring(nanos, configuration.warmup, configuration.duration, TIMEOUT, 1.0)
    )
    return found


def measure(configuration: Configuration, least: int = EXPERIMENTS, most: int = MOST_EXPERIMENTS) -> Found:
    """Makes the experiments of a configuration and has the engine judge each."""
    means: list[float] = []
    passed = refused = 0
    at_most: list[float] = []
    tails: list[float] = []
    truth = configuration.times.mean
    while len(means) < least or (_error(means) > 0.01 * truth and len(means) < most):
        runs = [configuration.transactions(RUNS * len(means) + run) for run in range(RUNS)]
        ended = [_ended(*run, configuration) for run in runs]
        times = np.concatenate(ended)
        verdict = judged(runs, configuration)
        censored = verdict is not None and bool(verdict["censored"])
        refused += censored
        at_most += [] if verdict is None else [verdict["at_most"]]
        passes = not censored and all(len(run) >= LEAST for run in ended)
        passed += passes
        means.append(float(np.mean([run.mean() for run in ended if len(run)])) if len(times) else math.nan)
        if passes and len(times) >= LEAST_FOR_P99:
            tails.append(float(np.quantile(times, 0.99, method="inverted_cdf")))
    bias = float(np.nanmean(means)) / truth - 1
    beyond = float(configuration.times.beyond(np.array([np.mean(tails)]))[0]) if tails else None
    deviation = float(np.nanstd(means)) / truth
    covered = float(np.mean(np.array(at_most) >= -bias)) if at_most else math.nan
    return Found(configuration, bias, deviation, passed / len(means), refused / len(means), covered, beyond)


def _ended(starts: Array, ends: Array, configuration: Configuration) -> Array:
    """The times of what ended in the measured interval."""
    over = (ends >= configuration.warmup) & (ends < configuration.warmup + configuration.duration)
    return np.asarray((ends - starts)[over])


def _error(means: list[float]) -> float:
    return float(np.nanstd(means) / math.sqrt(len(means)))


def stalls(base: float, lasting: float, share: float) -> Times:
    """0.9 to 1.1 times ``base``, but for a share that takes so many seconds."""
    return Times(
        "rare stalls",
        f"base {base:g} s, {share:g} of {lasting:g} s",
        lambda rng, count: np.where(rng.random(count) < share, lasting, base * (0.9 + 0.2 * rng.random(count))),
        lambda t: (1 - share) * np.clip((1.1 * base - t) / (0.2 * base), 0, 1) + share * (t <= lasting),
    )


TIMES = [
    *(exponential(mean) for mean in (0.1, 1.0, 4.0, 10.0)),
    *(lognormal(median, sigma) for sigma in (0.5, 1.0, 1.5, 2.0) for median in (0.1, 1.0)),
    *(pareto(least) for least in (0.03, 0.1, 0.5)),
    *(doubling(0.1, 0.2, again, again) for again in (0.06, 0.2)),
    *(doubling(0.1, 1.0, again, again) for again in (0.03, 0.12, 0.3)),
    *(doubling(0.3, 3.0, again, again) for again in (0.03, 0.12, 0.3)),
    *(doubling(0.05, 0.25, begin, 0.35) for begin in (0.03, 0.06, 0.12)),
    *(doubling(0.2, 1.0, begin, 0.35) for begin in (0.03, 0.06, 0.12)),
    *(stalls(0.1, 55.0, share) for share in (2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 2e-3)),
    *(stalls(0.1, 20.0, share) for share in (1e-4, 5e-4, 2e-3)),
    *(stalls(0.1, 7.0, share) for share in (1e-4, 1e-3, 1e-2)),
    *(stalls(0.5, 55.0, share) for share in (1e-4, 1e-3)),
    *(stalls(0.02, 55.0, share) for share in (1e-5, 1e-4)),
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


def table(found: list[Found]) -> str:
    """What became of the configurations of each family, in Markdown."""
    heads = ["times", "bias above 5 %", "passed", "too often", "bias below 1 %", "refused", "too often"]
    rows = []
    families = dict.fromkeys(each.configuration.times.family for each in found)
    for family in [*families, "all"]:
        own = [each for each in found if family in (each.configuration.times.family, "all")]
        biased = [each.passed for each in own if abs(each.bias) > BIASED]
        sound = [each.refused for each in own if abs(each.bias) < UNBIASED and each.deviation <= MOST_DEVIATION]
        cells = [family]
        for rates, most in ((biased, MOST_OF_ONE_PASSED), (sound, MOST_OF_ONE_REFUSED)):
            mean = f"{100 * float(np.mean(rates)):.1f} %" if rates else "-"
            cells += [str(len(rates)), mean, str(sum(rate > most for rate in rates))]
        # What lacks is known to half a percent.
        lacking = [each.covered for each in own if each.bias < -UNBIASED / 2]
        cells.append(f"{100 * (1 - float(np.mean(lacking))):.1f} %" if lacking else "-")
        rows.append(cells)
    return "\n".join(piped([*heads, "above `at_most`"], rows))


def _rates(index: int) -> tuple[float, float, float, float, float, float | None]:
    """What was found of a configuration, without its functions, which cannot be sent to another process."""
    found = measure(configurations()[index])
    return found.bias, found.deviation, found.passed, found.refused, found.covered, found.beyond_p99


def main() -> None:
    """Judges every configuration, prints each, and then the table of `docs/statistics.md`."""
    found = []
    made = configurations()
    with ProcessPoolExecutor() as workers:
        for about, rates in zip(made, workers.map(_rates, range(len(made))), strict=True):
            each = Found(about, *rates)
            print(
                f"{about}: bias {100 * each.bias:6.1f} %, deviation {100 * each.deviation:5.1f} %, "
                f"passed {100 * each.passed:5.1f} %, refused {100 * each.refused:5.1f} %, "
                f"covered {100 * each.covered:5.1f} %",
                flush=True,
            )
            found.append(each)
    print(f"\n{table(found)}")
    beyond = [each.beyond_p99 for each in found if each.beyond_p99 is not None]
    print(f"\np99 of {len(beyond)} configurations: exceeded by {100 * min(beyond):.2f} to {100 * max(beyond):.2f} %")


if __name__ == "__main__":
    main()
