"""Random lengths of time: how long people pause between pages, and within one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from waspbench.experiment.base import Part, Tag, kinds
from waspbench.experiment.units import Duration, PositiveDuration

Shape = Annotated[float, Field(gt=0, le=1_000_000)]
Deviation = Annotated[float, Field(ge=0.001, le=20)]


class NoDelay(Part):
    """There is no pause."""

    model: Literal["none"]
    """Selects this distribution."""


class ConstantDelay(Part):
    """All pauses are equally long."""

    model: Literal["constant"]
    """Selects this distribution."""
    value: Duration
    """Length of each pause."""


class ExponentialDelay(Part):
    """Exponential pauses, like the times between Poisson arrivals."""

    model: Literal["exponential"]
    """Selects this distribution."""
    mean: PositiveDuration
    """Mean pause."""


class ParetoDelay(Part):
    """Pareto pauses, as the inactive OFF time of SURGE."""

    model: Literal["pareto"]
    """Selects this distribution."""
    shape: Shape
    """Tail index, alpha; above 0."""
    scale: PositiveDuration
    """Shortest pause, k."""
    cap: PositiveDuration | None = None
    """Longest pause; 24h unless set."""


class WeibullDelay(Part):
    """Weibull pauses, as the active OFF time of SURGE."""

    model: Literal["weibull"]
    """Selects this distribution."""
    shape: Shape
    """Shape, the exponent; above 0."""
    scale: PositiveDuration
    """Scale, which is the 63rd percentile of the pauses."""


class LognormalDelay(Part):
    """Lognormal pauses."""

    model: Literal["lognormal"]
    """Selects this distribution."""
    mu: Annotated[float, Field(ge=-30, le=11)]
    """Mean of the natural logarithm of the pause in seconds."""
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
