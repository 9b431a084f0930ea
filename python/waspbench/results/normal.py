"""Whether the runs of a result vary normally: paper 000, section 3.5, figures 6 and 7."""

from __future__ import annotations

from waspbench.experiment.metrics import Metric
from waspbench.results.checks import check_measured, lacking_of_runs, run_values
from waspbench.results.formats import Record
from waspbench.results.result import Result
from waspbench.stats.levels import NORMALITY_RUNS
from waspbench.stats.normality import POWER, ValuesError, normality, outliers

LEVEL = 0.05
"""Of the test."""


class NormalityResult(Record):
    """What ``wasp normality --json`` prints."""

    name: str
    metric: str
    runs: int
    mean: float
    deviation: float
    w: float
    """Shapiro and Wilk's W."""
    p: float
    normal: bool
    """Whether the test leaves normality standing at 5 %."""
    correlation: float
    """Of the probability plot."""
    outliers: list[int]
    """Runs whose modified z-score is above 3.5; they are part of all figures."""
    values: list[float]
    """Sorted: the CDF's and the probability plot's vertical axis."""
    cdf: list[float]
    normal_cdf: list[float]
    normal_quantiles: list[float]
    note: str
    outcomes: dict[str, int]
    """Transactions of the runs by outcome."""
    statuses: dict[str, int] | None
    """Whole responses by status code; None in results of older versions."""
    valid: bool
    """Whether the result is, of which the runs are."""
    notes: list[str]
    """Why it is not, and what else is to be known of it."""
    results: str | None = None

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
