"""Random lengths of time: how long people pause between pages, and within one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from waspbench.experiment.base import Part, Tag, kinds
from waspbench.experiment.units import Duration, PositiveDuration

Shape = Annotated[float, Field(gt=0, le=1_000_000)]
Deviation = Annotated[float, Field(ge=0.001, le=20)]


class NoDelay(Part):
    """No time at all."""

    model: Literal["none"]
    """The distribution."""


class ConstantDelay(Part):
    """Always the same time."""

    model: Literal["constant"]
    """The distribution."""
    value: Duration
    """That time."""


class ExponentialDelay(Part):
    """An exponential time, as between Poisson arrivals."""

    model: Literal["exponential"]
    """The distribution."""
    mean: PositiveDuration
    """Its mean."""


class ParetoDelay(Part):
    """A Pareto time: the inactive OFF time of SURGE."""

    model: Literal["pareto"]
    """The distribution."""
    shape: Shape
    """Tail index, alpha; above 0."""
    scale: PositiveDuration
    """Least time, k."""
    cap: PositiveDuration | None = None
    """Longest time; 24h unless set."""


class WeibullDelay(Part):
    """A Weibull time: the active OFF time of SURGE."""

    model: Literal["weibull"]
    """The distribution."""
    shape: Shape
    """Exponent; above 0."""
    scale: PositiveDuration
    """Its 63rd percentile."""


class LognormalDelay(Part):
    """A lognormal time."""

    model: Literal["lognormal"]
    """The distribution."""
    mu: Annotated[float, Field(ge=-30, le=11)]
    """Mean of the natural logarithm of the seconds."""
    sigma: Deviation
    """Standard deviation of that logarithm."""


def _expanded(value: Any) -> Any:
    """The short form ``think = "1s"`` written out."""
    return {"model": "constant", "value": value} if isinstance(value, str) else value


_Delay = Annotated[
    Annotated[NoDelay, Tag("none")]
    | Annotated[ConstantDelay, Tag("constant")]
    | Annotated[ExponentialDelay, Tag("exponential")]
    | Annotated[ParetoDelay, Tag("pareto")]
    | Annotated[WeibullDelay, Tag("weibull")]
    | Annotated[LognormalDelay, Tag("lognormal")],
    kinds("model", "none", "constant", "exponential", "pareto", "weibull", "lognormal"),
]
Delay = Annotated[_Delay, BeforeValidator(_expanded, json_schema_input_type=Duration | _Delay)]
"""A time: always the same one (``"1s"``), or a table with the distribution as ``model``. None is longer than a day."""
