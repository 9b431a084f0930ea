"""Packet loss: the models of the experiment file and what they mean in (p, r).

Two-state loss is Gilbert's chain as the WASP paper has it: in *good* a packet is lost with probability p and the
state becomes *bad*; in *bad* a packet is lost with probability 1-r (the burst probability) and otherwise the state
returns to *good*. Its long-run loss rate is p/(p+r).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from waspbench.experiment.base import Part, Tag, kinds
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.units import Probability, exact, percentage

DEFAULT_BURST = "35%"

WASP2001_R = "65%"
WASP2001_P = {Fraction(3, 100): "2%", Fraction(6, 100): "4%", Fraction(9, 100): "7%"}
"""Table 1 of the WASP paper to the letter: the rate on the label, and its p; r is 65 % throughout."""

Scope = Literal["direction", "connection", "link"]


class _Scoped(Part):
    scope: Scope = "direction"
    """What has a loss process of its own: each direction of each connection, each connection, or each link."""


class TwoStateLoss(_Scoped):
    """Bursty loss (a two-state Markov chain), given by ``rate`` and ``burst``, or by ``p`` and ``r``."""

    model: Literal["two-state"] = "two-state"
    """Selects this loss model. It is the default if loss is set without a model."""
    rate: Probability | None = None
    """Long-run loss rate p/(p+r); it must be below 1/(1+r)."""
    burst: Probability | None = None
    """Probability 1-r that the packet after a lost one is lost, too. It goes with ``rate``; 35% unless set."""
    p: Probability | None = None
    """Probability that a packet is lost in the good state. It goes with ``r``."""
    r: Probability | None = None
    """Probability that a packet is delivered in the bad state. It goes with ``p``."""
    start: Literal["good", "stationary"] = "good"
    """State in which each loss process starts; stationary draws it by the long-run shares of the states."""

    @model_validator(mode="after")
    def _consistent(self) -> TwoStateLoss:
        if self.rate is not None:
            return self._consistent_rate(self.rate)
        if self.burst is not None:
            raise FieldError("burst", "goes with rate; give rate and burst, or p and r", self.burst)
        if self.p is None or self.r is None:
            raise FieldError("rate", "missing; give rate (and burst), or p and r")
        if exact(self.p) == 1:
            raise FieldError("p", "must be below 100%", self.p)
        if exact(self.r) == 0:
            raise FieldError("r", "must be above 0%, or a burst never ends", self.r)
        return self

    def _consistent_rate(self, rate: str) -> TwoStateLoss:
        for field, value in (("p", self.p), ("r", self.r)):
            if value is not None:
                raise FieldError(field, "contradicts rate; give rate and burst, or p and r", value)
        burst = exact(self.burst or DEFAULT_BURST)
        if burst == 1:
            raise FieldError("burst", "must be below 100%, or a burst never ends", self.burst)
        limit = 1 / (2 - burst)
        if exact(rate) >= limit:
            shown = f"{float(100 * limit):.4g}%"
            raise FieldError("rate", f"must be below {shown}, which is 1/(1+r) at r = {percentage(1 - burst)}", rate)
        return self

    def chain(self) -> tuple[str, str] | None:
        """(p, r) of the chain, None when nothing is ever lost."""
        if self.rate is not None:
            rate, r = exact(self.rate), 1 - exact(self.burst or DEFAULT_BURST)
            return (percentage(r * rate / (1 - rate)), percentage(r)) if rate else None
        assert self.p is not None
        assert self.r is not None
        return (self.p, self.r) if exact(self.p) else None

    def resolve(self) -> dict[str, str] | None:
        """As the engine takes it, None when nothing is ever lost."""
        chain = self.chain()
        return chain and {"model": "two-state", "p": chain[0], "r": chain[1], "start": self.start}


class IndependentLoss(_Scoped):
    """Each packet is lost with the same probability, whatever happened to others."""

    refused: ClassVar[dict[str, str]] = dict.fromkeys(("burst", "p", "r", "start"), "only two-state loss has it")
    model: Literal["independent"]
    """Selects this loss model."""
    rate: Probability
    """Probability that a packet is lost, below 100%."""

    @model_validator(mode="after")
    def _below_one(self) -> IndependentLoss:
        if exact(self.rate) == 1:
            raise FieldError("rate", "must be below 100%", self.rate)
        return self

    def resolve(self) -> dict[str, str] | None:
        """As the engine takes it, None when nothing is ever lost."""
        return {"model": "independent", "rate": self.rate} if exact(self.rate) else None


class PeriodicLoss(_Scoped):
    """Exactly one packet of each period is lost, for comparisons with formulas."""

    refused: ClassVar[dict[str, str]] = dict.fromkeys(("rate", "burst", "p", "r", "start"), "follows from every")
    model: Literal["periodic"]
    """Selects this loss model."""
    every: Annotated[int, Field(ge=2, le=2**53)]
    """Number of packets in a period; the last of them is lost."""

    def resolve(self) -> dict[str, str | int]:
        """As the engine takes it."""
        return {"model": "periodic", "every": self.every}


class Wasp2001Loss(_Scoped):
    """Two-state loss with exactly the parameters of Table 1 of the WASP paper."""

    refused: ClassVar[dict[str, str]] = dict.fromkeys(("burst", "p", "r", "start"), "follows from the label")
    model: Literal["wasp2001"]
    """Selects this loss model."""
    rate: Probability
    """Label in that table: 3% (p = 2%), 6% (p = 4%) or 9% (p = 7%); r = 65%."""

    @model_validator(mode="after")
    def _known_label(self) -> Wasp2001Loss:
        if exact(self.rate) not in WASP2001_P:
            raise FieldError("rate", "must be 3%, 6% or 9%, the labels of the wasp2001 table", self.rate)
        return self

    def resolve(self) -> dict[str, str] | None:
        """As the engine takes it."""
        return {"model": "two-state", "p": WASP2001_P[exact(self.rate)], "r": WASP2001_R, "start": "good"}


def loss_label(loss: Mapping[str, Any] | None) -> float:
    """What a resolved loss process is called by: its rate, the label of the WASP paper's table, or p/(p+r)."""
    if loss is None:
        return 0.0
    if loss["model"] == "independent":
        return float(exact(loss["rate"]))
    if loss["model"] == "periodic":
        return 1 / int(loss["every"])
    p, r = exact(loss["p"]), exact(loss["r"])
    labels = {exact(value): label for label, value in WASP2001_P.items()} if r == exact(WASP2001_R) else {}
    return float(labels.get(p, p / (p + r)))


def expand_loss(value: Any) -> Any:
    """The short form ``loss = "3%"`` written out."""
    return {"rate": value} if isinstance(value, (str, int, float)) and not isinstance(value, bool) else value


def _directions(value: Any) -> str | None:
    given = isinstance(value, dict) and ("up" in value or "down" in value)
    return "directions" if given or isinstance(value, DirectionsLoss) else None


_NAMES = ("two-state", "independent", "periodic", "wasp2001")
_Models = (
    Annotated[TwoStateLoss, Tag("two-state")]
    | Annotated[IndependentLoss, Tag("independent")]
    | Annotated[PeriodicLoss, Tag("periodic")]
    | Annotated[Wasp2001Loss, Tag("wasp2001")]
)
_OneLoss = Annotated[_Models, kinds("model", *_NAMES, default="two-state")]
OneLoss = Annotated[_OneLoss, BeforeValidator(expand_loss, json_schema_input_type=Probability | _OneLoss)]
"""One loss process: a rate, which is two-state loss with bursts of 35%, or a table."""


class DirectionsLoss(_Scoped):
    """A loss process for each direction. A direction that is left out loses nothing."""

    up: OneLoss | None = None
    """Loss from the clients to the server."""
    down: OneLoss | None = None
    """Loss from the server to the clients."""

    @model_validator(mode="after")
    def _one_scope(self) -> DirectionsLoss:
        for name, side in (("up", self.up), ("down", self.down)):
            if side is not None and "scope" in side.model_fields_set:
                raise FieldError(f"{name}.scope", "belongs beside up and down, for both", side.scope)
        return self


_AnyLoss = Annotated[
    _Models | Annotated[DirectionsLoss, Tag("directions")],
    kinds("model", *_NAMES, default="two-state", besides=_directions),
]
Loss = Annotated[_AnyLoss, BeforeValidator(expand_loss, json_schema_input_type=Probability | _AnyLoss)]
"""Loss of a path: a rate, a table for both directions, or a table with ``up`` and ``down``."""


def resolve_loss(
    loss: TwoStateLoss | IndependentLoss | PeriodicLoss | Wasp2001Loss | DirectionsLoss | None,
) -> dict[str, Any]:
    """The engine's ``{up, down, scope}``."""
    if loss is None:
        return {"up": None, "down": None, "scope": "direction"}
    if isinstance(loss, DirectionsLoss):
        up, down = (side and side.resolve() for side in (loss.up, loss.down))
    else:
        up = down = loss.resolve()
    return {"up": up, "down": down, "scope": loss.scope}
