"""Whether the runs of a result vary normally: paper 000, section 3.5, figures 6 and 7."""

from __future__ import annotations

from waspbench.experiment.metrics import Metric
from waspbench.results.checks import check_measured, lacking_of_runs, run_values
from waspbench.results.formats import Record
from waspbench.results.result import Result
from waspbench.stats.levels import NORMALITY_RUNS
from waspbench.stats.normality import POWER, ValuesError, normality, outliers

LEVEL = 0.05
"""Significance level of the test."""


class NormalityResult(Record):
    """Whether the runs of a result vary normally. Its JSON is what ``wasp normality --json`` prints."""

    name: str
    """Name of the experiment."""
    metric: str
    """Figure that is tested, such as ``throughput``."""
    runs: int
    """Number of runs."""
    mean: float
    """Mean of the figure over the runs."""
    deviation: float
    """Standard deviation of the figure over the runs."""
    w: float
    """Statistic W of Shapiro and Wilk."""
    p: float
    """P-value of the test."""
    normal: bool
    """Whether the test does not reject normality at 5 %."""
    correlation: float
    """Correlation of the normal probability plot."""
    outliers: list[int]
    """Numbers of the runs whose modified z-score is above 3.5. All figures include them."""
    values: list[float]
    """The figure of each run, sorted: the vertical axis of the probability plot."""
    cdf: list[float]
    """Empirical distribution function at these values."""
    normal_cdf: list[float]
    """Distribution function of the fitted normal distribution at these values."""
    normal_quantiles: list[float]
    """Quantiles of the standard normal distribution: the horizontal axis of the probability plot."""
    note: str
    """How often the test notices an exponential distribution with this number of runs."""
    outcomes: dict[str, int]
    """Number of transactions of all runs by outcome."""
    statuses: dict[str, int] | None
    """Number of complete responses of all runs by status code. None in results of older versions."""
    valid: bool
    """Whether the result of these runs is valid."""
    notes: list[str]
    """Reasons why the result is not valid, and other remarks."""
    results: str | None = None
    """Directory of the results; None if none was named."""

    def to_json(self) -> str:
        """The result as one JSON object."""
        return self.model_dump_json(indent=2)


def judge_normality(result: Result, metric: Metric) -> NormalityResult:
    """Tests a figure of the runs of ``result``.

    Raises:
        InputError: it is the figure of a group that the result does not have.
        ValuesError: there are fewer than three runs, or all are equal, or too few transactions for a response time.
    """
    check_measured(metric, result)
    lacks = lacking_of_runs(result, metric)
    if lacks is not None:
        raise ValuesError(lacks)
    values = run_values(result, metric)
    found = normality(values)
    return NormalityResult(
        name=result.name,
        metric=str(metric),
        runs=found.count,
        mean=found.mean,
        deviation=found.deviation,
        w=found.statistic,
        p=found.p,
        normal=found.p >= LEVEL,
        correlation=found.correlation,
        outliers=outliers(values),
        values=found.values,
        cdf=found.cdf,
        normal_cdf=found.normal_cdf,
        normal_quantiles=found.normal_quantiles,
        note=_note(found.count),
        outcomes=result.outcomes,
        statuses=result.statuses,
        valid=result.valid,
        notes=[
            *(f"{reason.message} [{reason.code}]" for reason in result.invalid_reasons),
            *([] if result.advice is None else [f"advice: {result.advice.text}"]),
            *result.notes,
        ],
        results=result.results,
    )


def _note(count: int) -> str:
    known = max((runs for runs in POWER if runs <= count), default=min(POWER))
    if count >= NORMALITY_RUNS:
        return f"with {count} runs the test notices an exponential distribution {100 * POWER[known]:.0f} times in 100"
    return (
        f"{count} runs say little: with {known} the test notices even an exponential distribution only "
        f"{100 * POWER[known]:.0f} times in 100"
    )
