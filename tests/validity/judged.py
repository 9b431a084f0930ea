"""Whether experiments that are wrong are called valid, and whether those that are right are refused.

The truth of a configuration is the figures of long runs after a long warm-up. Experiments are made as a user makes
them: three runs of the default lengths, with one seed each.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import waspbench
from validity.configurations import Configuration
from waspbench.experiment import parse
from waspbench.experiment.resolve import resolve
from waspbench.results import Group, Result, RunSummary, populations_of
from waspbench.results.estimates import NANOSECONDS_IN_MS
from waspbench.runner.one_run import OneRun
from waspbench.stats import Histogram, Populations, merge

EXPERIMENTS = 40
"""Experiments of a configuration, of seeds from 1."""

LONG_RUNS = 8
"""Long runs of a configuration."""

BIASED = 0.05
"""Bias above which an experiment is not to be valid."""

UNBIASED, STEADY = 0.01, 0.02
"""Bias, and standard deviation of an experiment's figures, up to which it is not to be refused."""

RANKS = 0.475, 0.525
"""Between these quantiles of the long runs the median of an experiment is to be."""

ALL = ""
"""The name of all groups together."""


@dataclass(frozen=True)
class Figures:
    """What an experiment says of all clients, or of a group."""

    throughput: float
    """``ok`` transactions a second."""
    mean: float | None
    """Response time in milliseconds; None where none ended."""
    median: float | None
    """Median response time in milliseconds; None where too few ended."""


@dataclass(frozen=True)
class Truth:
    """What long runs say of all clients, or of a group."""

    throughput: float
    """``ok`` transactions a second."""
    mean: float | None
    """Response time in milliseconds; None where none ended."""
    medians: tuple[float, float] | None
    """Response times in milliseconds at `RANKS`."""
    error: float
    """The larger of the relative standard errors of throughput and mean."""


@dataclass(frozen=True)
class Experiment:
    """What an experiment says."""

    valid: bool
    reasons: tuple[str, ...]
    """The codes of its reasons, each once."""
    figures: Mapping[str, Figures]
    """The figures of all clients as `ALL`, and those of each of several groups by its name."""


def experiment(configuration: Configuration, seed: int) -> Experiment:
    """Makes one with the defaults."""
    result = waspbench.run(configuration.document() | {"seed": seed}, mode="sim")
    codes = sorted({reason.code for reason in result.invalid_reasons})
    return Experiment(result.valid, tuple(codes), _figures(result))


def _figures(result: Result) -> dict[str, Figures]:
    groups = result.groups if len(result.groups) > 1 else []
    told: dict[str, Result | Group] = {ALL: result, **{group.name: group for group in groups}}
    return {
        name: Figures(each.throughput.mean, each.response_time_ms.mean, each.response_time_ms.p50)
        for name, each in told.items()
    }


LongRun = tuple[RunSummary, Populations]
"""A run, and the histograms of its response times."""


def long_run(configuration: Configuration, number: int) -> LongRun:
    """One of those that the truth is made of."""
    lengths = {"warmup": f"{configuration.settles:g}s", "duration": f"{configuration.lasts:g}s", "runs": LONG_RUNS}
    with OneRun(resolve(parse(configuration.document(**lengths) | {"seed": 1000}), number, mode="sim"), None) as run:
        while not run.done:
            run.next_sample(1.0)
        summary, tables = run.finish()
    return summary, populations_of(tables["histogram"])


def truth(runs: Sequence[LongRun]) -> dict[str, Truth]:
    """The figures of long runs, as those of an experiment."""
    found = {ALL: _truth([(run.throughput, run.response_time_ms.mean) for run, _ in runs], [of.ok for _, of in runs])}
    groups = runs[0][0].by_group or []
    for index, group in enumerate(groups if len(groups) > 1 else []):
        figures = []
        for run, _ in runs:
            assert run.by_group is not None
            of_group = run.by_group[index]
            assert of_group.throughput is not None
            assert of_group.response_time_ms is not None
            figures.append((of_group.throughput, of_group.response_time_ms.mean))
        found[group.name] = _truth(figures, [of.groups[index].ok for _, of in runs])
    return found


def _truth(figures: Sequence[tuple[float, float | None]], times: Sequence[Histogram]) -> Truth:
    throughputs = [throughput for throughput, _ in figures]
    means = [mean for _, mean in figures if mean is not None]
    return Truth(
        throughput=statistics.fmean(throughputs),
        mean=statistics.fmean(means) if means else None,
        medians=_medians(merge(times)),
        error=max(_error(throughputs), _error(means)),
    )


def _medians(times: Histogram) -> tuple[float, float] | None:
    """The response times in milliseconds at `RANKS`: the edges of their buckets; None where nothing ended."""
    if not times.total:
        return None
    low, high = np.searchsorted(np.cumsum(times.count) / times.total, RANKS)
    return float(times.lower[low]) / NANOSECONDS_IN_MS, float(times.upper[high]) / NANOSECONDS_IN_MS


def _error(values: Sequence[float]) -> float:
    """The standard error of their mean, over it."""
    if len(values) < 2 or not (mean := statistics.fmean(values)):
        return 0.0
    return statistics.stdev(values) / math.sqrt(len(values)) / mean


def truth_from(kept: Mapping[str, Any]) -> Truth:
    """The truth whose fields a file has."""
    medians = kept["medians"]
    return Truth(**{**kept, "medians": None if medians is None else (medians[0], medians[1])})


def experiment_from(kept: Mapping[str, Any]) -> Experiment:
    """The experiment whose fields a file has."""
    figures = {group: Figures(**each) for group, each in kept["figures"].items()}
    return Experiment(kept["valid"], tuple(kept["reasons"]), figures)


@dataclass(frozen=True)
class Bias:
    """How far the experiments' throughput or mean response time is from the truth."""

    figure: str
    """Whose it is and which: ``rate`` or ``mean``, with the group before it where there are several."""
    value: float
    """Relative; infinite where no figure is right."""
    error: float
    """Its standard error, by chance in the experiments and in the long runs."""
    deviation: float
    """Relative standard deviation of one experiment's."""


NONE_IS_RIGHT = Bias("", math.inf, 0.0, 0.0)
"""The bias where there is no truth, or nothing ends."""


@dataclass(frozen=True)
class Outcome:
    """What became of the experiments of a configuration."""

    configuration: Configuration
    bias: Bias
    """The largest of all groups' figures."""
    is_off: bool
    """Whether the median of the experiments' medians, of any group, is not between the quantiles `RANKS`."""
    deviation: float
    """Relative standard deviation of the figure, of any group, that varies most between experiments."""
    experiments: int
    valid: int
    reasons: Counter[str]
    """How many experiments gave each."""

    @property
    def is_wrong(self) -> bool:
        """Whether none of the experiments is to be valid."""
        return abs(self.bias.value) > BIASED or self.is_off

    @property
    def is_right(self) -> bool:
        """Whether none of the experiments is to be refused."""
        return abs(self.bias.value) < UNBIASED and not self.is_off and self.deviation <= STEADY

    @property
    def refused(self) -> int:
        """Experiments that are not valid."""
        return self.experiments - self.valid


def outcome(configuration: Configuration, made: Sequence[Experiment], true: Mapping[str, Truth] | None) -> Outcome:
    """Holds experiments against the truth; None where there is none.

    Raises:
        ValueError: there is one, and it is not known.
    """
    if (true is None) == configuration.is_stable:
        raise ValueError(f"{configuration.name}: no truth is kept; benches/verdicts.py --truths makes it")
    biases = [NONE_IS_RIGHT] if true is None else list(_biases(made, true))
    return Outcome(
        configuration,
        bias=max(biases, key=lambda bias: abs(bias.value)),
        is_off=true is not None and any(_is_off(made, group, true[group]) for group in true),
        deviation=max(bias.deviation for bias in biases),
        experiments=len(made),
        valid=sum(each.valid for each in made),
        reasons=Counter(code for each in made for code in each.reasons),
    )


def _biases(made: Sequence[Experiment], true: Mapping[str, Truth]) -> Iterator[Bias]:
    """Those of each figure of each group."""
    for group, truth in true.items():
        figures = [each.figures[group] for each in made]
        name = f"{group}: " if group else ""
        rates = [each.throughput for each in figures]
        means = [each.mean for each in figures if each.mean is not None]
        yield _bias(f"{name}rate", rates, truth.throughput, truth.error)
        yield _bias(f"{name}mean", means, truth.mean, truth.error)


def _bias(figure: str, values: Sequence[float], truth: float | None, error: float) -> Bias:
    if not truth or not values:
        return NONE_IS_RIGHT
    deviation = statistics.pstdev(values) / truth
    by_chance = math.hypot(deviation / math.sqrt(len(values)), error)
    return Bias(figure, statistics.fmean(values) / truth - 1, by_chance, deviation)


def _is_off(made: Sequence[Experiment], group: str, truth: Truth) -> bool:
    medians = [median for each in made if (median := each.figures[group].median) is not None]
    if truth.medians is None or not medians:
        return False
    low, high = truth.medians
    return not low <= statistics.median(medians) <= high


MOST_VALID, MOST_REFUSED = 0.05, 0.10
"""Shares of all experiments of biased configurations that may be valid, and of sound ones that may be refused."""

MOST_VALID_OF_ONE, MOST_REFUSED_OF_ONE = 6, 9
"""Of 40 experiments of one configuration."""


def pooled(outcomes: Sequence[Outcome]) -> tuple[float, float]:
    """The share of the experiments of wrong configurations that are valid, and of right ones that are refused."""
    wrong, right = [each for each in outcomes if each.is_wrong], [each for each in outcomes if each.is_right]
    valid, refused = sum(each.valid for each in wrong), sum(each.refused for each in right)
    of_wrong, of_right = sum(each.experiments for each in wrong), sum(each.experiments for each in right)
    return valid / max(of_wrong, 1), refused / max(of_right, 1)


def falls_short(each: Outcome) -> bool:
    """Whether a configuration that is wrong has too many valid experiments, or one that is right too many refused."""
    part = each.experiments / EXPERIMENTS
    valid, refused = MOST_VALID_OF_ONE * part, MOST_REFUSED_OF_ONE * part
    return (each.is_wrong and each.valid > valid) or (each.is_right and each.refused > refused)
