"""Figures of results in words and cells, each with its interval, as every table of WASP shows it."""

from __future__ import annotations

from waspbench.experiment.metrics import SCALES, Metric
from waspbench.results.checks import estimate
from waspbench.results.columns import column_of
from waspbench.results.result import Result
from waspbench.tabular import NONE

ONE_RUN = "one run"
"""What stands in place of an interval that does not exist because there was one run."""


def unit(of: Metric) -> str:
    """The unit of a figure."""
    return "ok/s" if of.name == "throughput" else SCALES[of.kind][0]


def value(of: Metric, result: Result) -> float | None:
    """A figure over the runs; None where it does not exist."""
    return estimate(result, of)[0]


def text(of: Metric, result: Result) -> str:
    """The same in words, without its unit."""
    found = value(of, result)
    return NONE if found is None else column_of(of).text(found)


def interval(of: Metric, result: Result) -> str:
    """Its 90 % interval without the unit; `ONE_RUN` where that is why it has none, and empty for other reasons."""
    found, ends = estimate(result, of)
    if ends is not None:
        low, high = map(column_of(of).text, ends)
        return f"{low} to {high}"
    return ONE_RUN if found is not None and of.name != "max" and len(result.runs) == 1 else ""


def told(of: Metric, result: Result) -> str:
    """A figure with its unit and its interval: ``640.0 ok/s (90 %: 630.2 to 649.8)``."""
    found = interval(of, result)
    said = {"": "", ONE_RUN: f" ({ONE_RUN})"}.get(found, f" (90 %: {found})")
    return f"{text(of, result)} {unit(of)}{said}"


def change(ratio: float | None) -> str:
    """How much more a figure is than another; empty where that is not known."""
    if ratio is None:
        return ""
    return f"{ratio:,.1f} x" if ratio >= _TIMES else f"{_signed(ratio)} %"


def change_span(ratio: float, ends: tuple[float, float]) -> str:
    """The 90 % interval of the same."""
    low, high = ends
    if ratio >= _TIMES:
        return f"{low:,.1f} to {high:,.1f} x"
    return f"{_signed(low)} to {_signed(high)} %"


def _signed(ratio: float) -> str:
    """A ratio as a change in per cent; one that is rounded to nothing has no sign."""
    said = f"{100 * (ratio - 1):+.1f}"
    return "0.0" if said in ("-0.0", "+0.0") else said


_TIMES = 2.0
"""The ratio from which a change is told as a multiple."""


def ratio(first: float | None, last: float | None) -> float | None:
    """The second of two figures over the first; None where that is not known."""
    return None if first is None or last is None or first == 0 else last / first
