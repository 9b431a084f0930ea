"""Cross traffic: packets that load a link beside those of the clients."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from waspbench.experiment.base import Part, one_of
from waspbench.experiment.delay import Delay
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.units import NO_RATE, PositiveSize, RateOrZero

MODELS = ("poisson", "constant", "on-off")
DIRECTIONS = ("up", "down", "forward", "backward")


class CrossTraffic(Part):
    """UDP packets that load one direction of a link beside the packets of clients and server. They leave the network at
    the end of this link, and nobody answers them."""

    link: str
    """Name of the link: shared for the shared link of a star, or the name of a link of a graph (b1, b2 and so on for a
    backbone), or server for the link before their server. The name of a group of clients stands for their access links,
    and each client then has cross traffic of its own."""
    direction: Annotated[Literal["up", "down", "forward", "backward"], BeforeValidator(one_of(*DIRECTIONS))]
    """Direction that is loaded: up or down for the shared link and for access links, forward or backward for links
    between nodes."""
    model: Annotated[Literal["poisson", "constant", "on-off"], BeforeValidator(one_of(*MODELS))] = "poisson"
    """When packets come. poisson: each at a random time, independent of the others. constant: at equal distances.
    on-off: at equal distances in bursts, and none between bursts."""
    rate: RateOrZero
    """Rate in bits of IP packets per second; 0 for none at all. For on-off it is the rate within bursts. The mean rate
    is then this rate times the share of time that bursts take."""
    packet: PositiveSize = "1000B"
    """Length of each packet, headers of IP and UDP included."""
    flows: Annotated[int, Field(ge=1, le=65_535)] = 1
    """Number of flows, among which packets are dealt at random. Only fq-codel tells flows apart: it gives each the same
    part of a link."""
    on: Delay | None = None
    """Lengths of the bursts of on-off."""
    off: Delay | None = None
    """Lengths of the pauses between the bursts of on-off."""

    @model_validator(mode="after")
    def _bursts_of_its_model(self) -> CrossTraffic:
        for field in ("on", "off"):
            given = getattr(self, field) is not None
            if given and self.model != "on-off":
                raise FieldError(field, f'is for model = "on-off", and this is "{self.model}"')
            if not given and self.model == "on-off":
                example = '{ model = "exponential", mean = "200ms" }'
                message = f'missing; model = "on-off" needs the lengths of bursts and pauses, such as {example}'
                raise FieldError(field, message)
        return self

    def resolve(self) -> dict[str, Any]:
        """As the engine takes it, without its name."""
        told = self.model_dump()
        bursts = {name: told.pop(name) for name in ("on", "off")}
        if self.rate == NO_RATE:
            del told["rate"]
        told["model"] = {"kind": self.model, **(bursts if self.model == "on-off" else {})}
        return told
