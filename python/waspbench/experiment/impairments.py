"""What a link does to packets beside losing them: jitter, reordering, duplication, corruption. The options are those of
the crate ``wasp-net`` (``crates/net/src/impairment``).
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from waspbench.experiment.base import Part, Tag, kinds
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.units import Duration, PositiveDuration, Probability, exact, seconds

Order = Literal["kept", "free"]

_LONGEST = 120
"""Longest delay that an impairment may add, in seconds."""


def _at_most_longest(part: Part, *fields: str) -> None:
    for field in fields:
        value = getattr(part, field)
        if seconds(value) > _LONGEST:
            raise FieldError(field, "must be at most 2min", value)


class _Jitter(Part):
    order: Order = "kept"
    """Whether packets may overtake each other. kept: a packet that would arrive before an earlier one arrives together
    with it, behind it. free: packets overtake each other."""


class NormalJitter(_Jitter):
    """The delay is normal, with the link's own delay as its mean. A delay that would be negative is zero, which makes
    the mean larger if the deviation is above a third of the link's delay."""

    model: Literal["normal"] = "normal"
    """Selects this distribution. It is the default."""
    deviation: Duration
    """Standard deviation of the delay; at most 2min."""

    @model_validator(mode="after")
    def _not_too_long(self) -> NormalJitter:
        _at_most_longest(self, "deviation")
        return self


class ParetoJitter(_Jitter):
    """A Pareto time is added to the link's delay. An additional delay above 2min counts as 2min."""

    model: Literal["pareto"]
    """Selects this distribution."""
    mean: Duration
    """Mean of the additional delay; at most 2min."""
    shape: Annotated[float, Field(gt=1, le=100)]
    """Tail index, above 1 and at most 100. The smaller it is, the longer are the longest delays."""

    @model_validator(mode="after")
    def _not_too_long(self) -> ParetoJitter:
        _at_most_longest(self, "mean")
        return self


class UniformJitter(_Jitter):
    """A time between two limits, all equally likely, is added to the link's delay."""

    model: Literal["uniform"]
    """Selects this distribution."""
    min: Duration = "0ms"
    """Least additional delay."""
    max: Duration
    """Greatest additional delay; at most 2min."""

    @model_validator(mode="after")
    def _in_order(self) -> UniformJitter:
        _at_most_longest(self, "max")
        if seconds(self.min) > seconds(self.max):
            raise FieldError("min", f"must be at most max, which is {self.max}", self.min)
        return self


class Reorder(Part):
    """Packets that packets sent later overtake."""

    share: Probability
    """Share of the packets that are held back; at most 50%."""
    distance: Annotated[int, Field(ge=1, le=1000)] = 3
    """Number of later packets that overtake a packet that is held back: its reordering extent (RFC 4737)."""
    wait: PositiveDuration = "100ms"
    """Longest time for which a packet is held back, if too few packets follow it; from 1us to 2min."""

    @model_validator(mode="after")
    def _possible(self) -> Reorder:
        if exact(self.share) * 2 > 1:
            raise FieldError("share", "must be at most 50%", self.share)
        if not 1e-6 <= seconds(self.wait) <= _LONGEST:
            raise FieldError("wait", "must be from 1us to 2min", self.wait)
        return self


class Duplicate(Part):
    """Packets that arrive twice."""

    share: Probability
    """Share of the packets that a copy follows."""


class Corrupt(Part):
    """Packets that arrive with a bit flipped. The receiver drops such a packet, because its checksum is wrong."""

    share: Probability
    """Share of the packets of which one bit is flipped; below 100%."""

    @model_validator(mode="after")
    def _below_one(self) -> Corrupt:
        if exact(self.share) == 1:
            raise FieldError("share", "must be below 100%", self.share)
        return self


SHORT = {"jitter": "deviation", "reorder": "share", "duplicate": "share", "corrupt": "share"}
"""The field of each option that its short form says, such as ``jitter = "5ms"``."""


def written_out(option: str, value: Any) -> Any:
    """The short form of an option as a table; anything else as it is."""
    is_short = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    return {SHORT[option]: value} if is_short else value


def _short(option: str) -> BeforeValidator:
    inputs: dict[str, Any] = {"jitter": Duration | _AnyJitter, "reorder": Probability | Reorder}
    inputs |= {"duplicate": Probability | Duplicate, "corrupt": Probability | Corrupt}
    return BeforeValidator(partial(written_out, option), json_schema_input_type=inputs[option])


_AnyJitter = Annotated[
    Annotated[NormalJitter, Tag("normal")]
    | Annotated[ParetoJitter, Tag("pareto")]
    | Annotated[UniformJitter, Tag("uniform")],
    kinds("model", "normal", "pareto", "uniform", default="normal"),
]
JitterOption = Annotated[_AnyJitter, _short("jitter")]
"""Jitter: the standard deviation of a normal delay, or a table with the distribution as ``model``."""
ReorderOption = Annotated[Reorder, _short("reorder")]
"""Reordering: a share of the packets, or a table."""
DuplicateOption = Annotated[Duplicate, _short("duplicate")]
"""Duplication: a share of the packets, or a table."""
CorruptOption = Annotated[Corrupt, _short("corrupt")]
"""Corruption: a share of the packets, or a table."""
