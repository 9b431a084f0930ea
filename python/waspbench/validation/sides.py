"""What the modelled server and the kernel's do in one configuration: their runs, and all response times together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from waspbench.results import RunSummary
from waspbench.runner.batch import simulate
from waspbench.stats import Histogram
from waspbench.stats.histogram import merge, percentiles
from waspbench.validation.cases import RUNS, Case
from waspbench.validation.machine import Constants
from waspbench.validation.simulation import mean

TWINS = 24
"""Simulated runs of a configuration: so many that their share of the interval is small."""
RESPONSES = 7_000
"""Responses of the live runs together, at least."""
SHORTEST, LONGEST = 20.0, 60.0
"""Seconds of a run; with the longest ones in all configurations, a comparison takes three hours."""
STEP = 0.005
"""A difference of two response times that may be one of the hosts, and not of TCP."""
DEVIATION = 0.015
"""Relative standard deviation of the means of runs so long that six of them mostly give an interval of 2 % or less."""


@dataclass(frozen=True)
class Side:
    """What one side of a configuration did."""

    runs: Sequence[RunSummary]
    times: Histogram
    """Response times of all runs."""

    @property
    def means(self) -> list[float] | None:
        """Mean response time of each run in milliseconds; None where a run has none."""
        return complete([run.response_time_ms.mean for run in self.runs])

    @property
    def p90(self) -> int | None:
        """90th percentile of all response times in nanoseconds."""
        return percentiles(self.times, [0.9])[0]

    def rank(self, value: int | None) -> tuple[float, float] | None:
        """The shares of response times up to ``value`` less `STEP`, and up to ``value`` and as much more.

        Many responses take the same number of round trips. The model's then take the same time, and the kernel's differ
        by what it takes to handle them.
        """
        if value is None or not self.times.total:
            return None
        ends = ((1 - STEP) * value, (1 + STEP) * value)
        low, high = (float(self.times.count[self.times.upper <= end].sum() / self.times.total) for end in ends)
        return low, high

    @property
    def responses(self) -> int:
        """The ``ok`` transactions of all runs."""
        return sum(run.outcomes.get("ok", 0) for run in self.runs)

    @property
    def busiest(self) -> float | None:
        """Busy part of the server's CPUs in the run where it was most; None where a run does not tell."""
        loads = complete([run.server_cpu.busy for run in self.runs])
        return None if loads is None else max(loads)


def complete(values: list[float | None]) -> list[float] | None:
    """The values, unless one is missing or there is none."""
    known = [value for value in values if value is not None]
    return known if known and len(known) == len(values) else None


def simulated(
    cases: Sequence[Case], kernel: Constants, lengths: Mapping[str, float | None]
) -> Iterator[tuple[Case, float, Side]]:
    """The model's side of each configuration with the constants of ``kernel``, and the seconds that its runs take and
    the kernel's shall; in any order.

    Where ``lengths`` does not say it, short runs show how many responses there are in a second, and how much the means
    of runs differ. From these follows the length with which there are enough responses, and the interval of the
    kernel's mean is narrow enough.
    """
    long = [(case, duration) for case in cases if (duration := lengths[case.name]) is not None]
    for case, _, side in _twins([(case, SHORTEST) for case in cases if lengths[case.name] is None], kernel):
        duration = _long_enough(side)
        if duration == SHORTEST:
            yield case, duration, side
        else:
            long.append((case, duration))
    yield from _twins(long, kernel)


def _long_enough(first: Side) -> float:
    """Seconds of runs that tell enough, by what the shortest ones told."""
    means = first.means or [math.inf]
    deviation = float(np.std(means, ddof=1)) / mean(means) if len(means) > 1 else 0.0
    rate = mean([run.throughput for run in first.runs])
    enough = 1.1 * RESPONSES / rate / RUNS if rate else LONGEST
    return math.ceil(min(LONGEST, max(SHORTEST, enough, SHORTEST * (deviation / DEVIATION) ** 2)))


def _twins(cases: Sequence[tuple[Case, float]], kernel: Constants) -> Iterator[tuple[Case, float, Side]]:
    """The model's side of configurations with runs of so many seconds."""
    made = simulate([case.document(duration, kernel.tcp) for case, duration in cases], TWINS)
    for (case, duration), runs in zip(cases, made, strict=True):
        yield case, duration, Side([run.summary for run in runs], merge(run.times for run in runs))
