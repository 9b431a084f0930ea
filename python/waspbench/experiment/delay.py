"""Random lengths of time: pauses of people between pages and within one, bursts of traffic."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from waspbench.experiment.base import Part, Tag, kinds
from waspbench.experiment.units import Duration, PositiveDuration

Shape = Annotated[float, Field(gt=0, le=1_000_000)]
Deviation = Annotated[float, Field(ge=0.001, le=20)]


class NoDelay(Part):
    """All lengths are zero."""

    model: Literal["none"]
    """Selects this distribution."""


class ConstantDelay(Part):
    """All lengths are equal."""

    model: Literal["constant"]
    """Selects this distribution."""
    value: Duration
    """Each length."""


class ExponentialDelay(Part):
    """Exponential lengths, like the times between Poisson arrivals."""

    model: Literal["exponential"]
    """Selects this distribution."""
    mean: PositiveDuration
    """Mean length."""


class ParetoDelay(Part):
    """Pareto lengths, as the inactive OFF time of SURGE. Without a cap their mean is scale * shape / (shape - 1)."""

    model: Literal["pareto"]
    """Selects this distribution."""
    shape: Shape
    """Tail index, alpha; above 0."""
    scale: PositiveDuration
    """Shortest length, k."""
    cap: PositiveDuration | None = None
    """Longest length; 24h unless set."""


class WeibullDelay(Part):
    """Weibull lengths, as the active OFF time of SURGE."""

    model: Literal["weibull"]
    """Selects this distribution."""
    shape: Shape
    """Shape, the exponent; above 0."""
    scale: PositiveDuration
    """Scale, which is the 63rd percentile of the lengths."""


class LognormalDelay(Part):
    """Lognormal lengths."""

    model: Literal["lognormal"]
    """Selects this distribution."""
    mu: Annotated[float, Field(ge=-30, le=11)]
    """Mean of the natural logarithm of the length in seconds."""
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
