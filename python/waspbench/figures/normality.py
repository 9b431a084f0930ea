"""The figure of a normal probability plot: paper 000, figure 7."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from waspbench.experiment.metrics import SCALES, Metric
from waspbench.figures.figure import Axis, Figure, Panel, Trace
from waspbench.figures.options import Options
from waspbench.figures.sources import NoFigureError, Source, called, only_point, only_study
from waspbench.figures.values import Part, trusted, warnings_of
from waspbench.results.checks import run_values
from waspbench.results.columns import label_of
from waspbench.results.normal import LEVEL, judge_normality
from waspbench.stats.normality import LEAST, ValuesError

THROUGHPUT = Metric("throughput")


def normal_probability(metric: Metric | None) -> Callable[[Sequence[Source], Options], Figure]:
    """What makes the figure of the runs' values of a ``metric``, of throughput if there is none, against those that a
    normal distribution of the same mean and deviation would have.
    """

    def make(sources: Sequence[Source], options: Options) -> Figure:
        of = THROUGHPUT if metric is None else metric
        study = only_study(sources)
        result = only_point(study)
        if len(result.runs) < LEAST:
            there = "there is one" if len(result.runs) == 1 else f"there are {len(result.runs)}"
            raise NoFigureError.because(f"needs at least {LEAST} runs, and {there}")
        try:
            found = judge_normality(result, of)
        except ValuesError as error:
            raise NoFigureError.because(f"cannot be made of the {of} of these runs: {error.message}") from None
        scale = SCALES[of.kind][1]
        x, y = (tuple(value * scale for value in values) for values in (found.normal_quantiles, found.values))
        ordered = sorted(zip(run_values(result, of), trusted(result), strict=True), key=lambda each: each[0])
        invalid = tuple(not valid for _, valid in ordered)
        runs = Trace("runs", x, y, kind="points", invalid=invalid if any(invalid) else ())
        ends = (min(x[0], y[0]), max(x[-1], y[-1]))
        label = label_of(of)
        return Figure(
            name="normal-probability" if metric is None else f"{metric}-normal-probability",
            title=f"Normal probability plot of {found.runs} runs: {called(study)}",
            panels=(
                Panel(
                    Axis(f"{label} of a normal distribution"),
                    Axis(label, from_zero=False),
                    (runs, Trace("normal", ends, ends, kind="reference")),
                ),
            ),
            warnings=tuple(warnings_of([Part("", result)])),
            notes=(
                f"Shapiro and Wilk: W = {found.w:.4f}, p = {found.p:.3g}: normality is "
                f"{'not rejected' if found.normal else 'REJECTED'} at {100 * LEVEL:g} %; {found.note}",
                f"correlation of the points: {found.correlation:.4f}",
            ),
        )

    return make
