"""Figures of response times: the share of the transactions that took no longer, or longer, than each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from waspbench.figures.choice import choose, left_out
from waspbench.figures.figure import Axis, Figure, Panel, Trace
from waspbench.figures.options import Options
from waspbench.figures.sources import NoFigureError, Source, called, point_name, studies
from waspbench.figures.values import Part, told, warnings_of
from waspbench.results.columns import ALL_CLIENTS
from waspbench.results.estimates import NANOSECONDS_IN_MS
from waspbench.results.result import Result
from waspbench.results.shape import populations
from waspbench.stats import LEVEL, Histogram, Populations, binomial_intervals, merge, student_t


@dataclass(frozen=True)
class Sample:
    """Response times under one name."""

    name: str
    runs: tuple[Histogram, ...]
    """Those of each run in nanoseconds."""
    longest: float | None
    """The longest of them in milliseconds, as far as it is known."""
    valid: bool

    @property
    def times(self) -> Histogram:
        """Those of all runs together."""
        return merge(self.runs)

    @property
    def total(self) -> int:
        """Number of transactions."""
        return sum(run.total for run in self.runs)


ENDED = "all that ended"
"""The transactions of which some were not ok."""
MOST_BANDS = 4
"""Curves of a panel up to which each has its band; more bands hide each other."""


def distribution(*, above: bool) -> Callable[[Sequence[Source], Options], Figure]:
    """What makes the figure of the shares of response times up to each, or with ``above`` of those above each."""

    def make(sources: Sequence[Source], options: Options) -> Figure:
        parts = named_points(sources)
        finished = [(part.name, part.result) for part in parts if part.result is not None]
        if not finished:
            raise NoFigureError.because("needs a finished run, and there is none")
        shown = [finished[index] for index in choose([result.throughput.mean for _, result in finished])]
        samples = _parts(shown[0][1]) if len(parts) == 1 else [_whole(name, result) for name, result in shown]
        filled = [sample for sample in samples if sample.total]
        counted = told([f"{sample.name}: {sample.total:,d}" for sample in filled])
        of_counts = [f"transactions of all runs: {counted}"] if filled else []
        traces = tuple(curve(sample, above=above, banded=len(filled) <= MOST_BANDS) for sample in filled)
        x = Axis("response time (ms)", log=bool(traces) and all(each.x[0] > 0 for each in traces))
        what = ENDED if [sample.name for sample in filled] == [ENDED] else "transactions"
        y = Axis(f"share of {what} that took {'' if above else 'no '}longer", log=above and bool(traces))
        drawn = {name for name, _ in shown}
        judged = [part for part in parts if part.result is None or part.name in drawn]
        return Figure(
            name="response-time-ccdf" if above else "response-time-cdf",
            title=f"{'Tail of the response times' if above else 'Response times'}: {title_of(sources)}",
            panels=(Panel(x, y, traces),),
            warnings=(*warnings_of(judged), *(f"{each.name}: no transaction" for each in samples if not each.total)),
            notes=(*_of_bands(filled), *of_counts, *left_out(len(finished), len(shown), "points")),
        )

    return make


def named_points(sources: Sequence[Source]) -> list[Part]:
    """The points of all sources, each with its name."""
    several = len(sources) > 1
    return [
        Part(", ".join(filter(None, [label if several else "", point_name(point)])), point.result)
        for label, study in studies(sources)
        for point in study.points
    ]


def title_of(sources: Sequence[Source]) -> str:
    """The names of all sources in a title."""
    return ", ".join(dict.fromkeys(called(study) for _, study in studies(sources)))


def _histograms(result: Result) -> list[Populations]:
    found = populations(result)
    if found is None:
        raise NoFigureError.because("is made of the tables of runs (histogram), which these results do not have")
    return found


def _whole(name: str, result: Result) -> Sample:
    runs = tuple(population.ok for population in _histograms(result))
    return Sample(name, runs, result.response_time_ms.max, result.valid)


def _parts(result: Result) -> list[Sample]:
    """The ok transactions of all clients, those of each group where there are several, and, where some failed, all that
    ended.
    """
    runs = _histograms(result)
    several = len(result.groups) > 1
    made = [_whole(ALL_CLIENTS if several else "ok transactions", result)]
    for index, group in enumerate(result.groups if several else ()):
        own = tuple(population.of_group(index).ok for population in runs)
        made.append(Sample(group.name, own, group.response_time_ms.max, group.valid))
    if result.errors and result.all_response_time_ms is not None:
        every = tuple(population.all for population in runs)
        made.append(Sample(ENDED, every, result.all_response_time_ms.max, result.valid))
    return [made[index] for index in choose([sample.total for sample in made])]


def curve(sample: Sample, *, above: bool, banded: bool) -> Trace:
    """The staircase of a sample: each step at the upper edge of a bucket, and no further than the longest time seen.
    Shares above end there with that of one transaction. ``banded`` gives it the intervals over its runs.
    """
    times = sample.times
    x = np.concatenate([times.lower[:1], times.upper]) / NANOSECONDS_IN_MS
    if sample.longest is not None:
        x = np.minimum(x, sample.longest)
    shares = np.concatenate([[0.0], np.cumsum(times.count) / times.total])
    y = 1 - shares if above else shares
    if above:
        y[-1] = 1 / times.total  # none is above the longest, which has no place on a logarithmic axis: one is as long
    filled = [run for run in sample.runs if run.total]
    low, high = _band(times, filled, above=above) if banded and len(filled) > 1 else ((), ())
    return Trace(
        name=sample.name if sample.valid else f"{sample.name} (NOT VALID)",
        x=tuple(x.tolist()),
        y=tuple(y.tolist()),
        low=low,
        high=high,
        kind="steps",
        invalid=() if sample.valid else (True,) * len(x),
    )


def _band(times: Histogram, runs: Sequence[Histogram], *, above: bool) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The ends of the 90 % interval of the share at each step of a curve: Clopper and Pearson's of the transactions of
    all runs together, or Student's t over the runs where it goes further, as that of errors. Runs of which each has one
    long transaction do not vary, and yet do not tell the share to the last digit.

    It is pointwise at each response time, not at each share: every run has a share at every time, and buckets have the
    same edges in all runs, whereas a run of few transactions has no quantile far in the tail. It holds for one time,
    not for the whole curve. Shares stay within 0 and 1.
    """
    counted = [np.concatenate([[0], np.cumsum(run.count)]) for run in runs]
    places = [np.searchsorted(run.upper, times.upper, side="right") for run in runs]
    upto = np.array([counts[place] / counts[-1] for counts, place in zip(counted, places, strict=True)])
    shares = np.concatenate([np.zeros((len(upto), 1)), upto], axis=1)
    half = student_t(LEVEL, len(shares) - 1) * shares.std(axis=0, ddof=1) / math.sqrt(len(shares))
    middle = shares.mean(axis=0)
    counts = np.concatenate([[0], np.cumsum(times.count)])
    if above:
        counts[-1] -= 1  # as the curve has it
    exact = binomial_intervals(counts, times.total)
    low, high = np.minimum(exact[0], middle - half), np.maximum(exact[1], middle + half)
    low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
    low, high = (1 - high, 1 - low) if above else (low, high)
    return tuple(low.tolist()), tuple(high.tolist())


def _of_bands(samples: Sequence[Sample]) -> list[str]:
    """What the bands are, and which curves have none."""
    counts = {sum(run.total > 0 for run in sample.runs) for sample in samples}
    if counts <= {1}:
        return ["one run: no bands"] if samples else []
    if len(samples) > MOST_BANDS:
        return [f"no bands: more than {MOST_BANDS} would hide each other"]
    several = counts - {1}
    of = str(max(several)) if len(several) == 1 else f"{min(several)} to {max(several)}"
    single = [sample.name for sample in samples if sum(run.total > 0 for run in sample.runs) == 1]
    alone = f"; one run, and so no band: {told(single)}" if single else ""
    what = "bands: 90 % intervals of the share at each response time"
    return [f"{what}, Student's t over {of} runs or Clopper and Pearson where that is wider{alone}"]
