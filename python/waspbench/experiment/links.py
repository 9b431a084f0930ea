"""What links do: the options of access links, a value for each direction, and the links that connections share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, ConfigDict, Field, field_validator, model_validator

from waspbench import _core
from waspbench.experiment.base import Part
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.impairments import CorruptOption, DuplicateOption, JitterOption, ReorderOption
from waspbench.experiment.loss import OneLoss
from waspbench.experiment.queues import QueueOption
from waspbench.experiment.traces import TraceOption
from waspbench.experiment.units import Duration, Ipv4Address, PlaceName, Rate

WAYS = ("up", "down")

Mtu = Annotated[int, Field(ge=128, le=65535)]
"""Largest IP packet that a link carries, in bytes."""


def _text_for_both(value: Any) -> Any:
    """A text for both directions; anything else as it is."""
    return dict.fromkeys(WAYS, value) if isinstance(value, str) else value


def for_both(value: Any) -> Any:
    """A value for both directions, unless it is a table with a value for each."""
    has_ways = isinstance(value, dict) and any(way in value for way in WAYS)
    return value if value is None or has_ways or isinstance(value, Ways) else dict.fromkeys(WAYS, value)


def queue_for_both(value: Any) -> Any:
    """The same for a queue, of which an empty table says nothing."""
    return value if value == {} else for_both(value)


def queue_where_a_rate_is(group: dict[str, Any]) -> dict[str, Any]:
    """The table of a group with its queue in one direction, if one value stands for both and only one has a rate."""
    queue = group.get("queue")
    if queue is None or queue == {} or for_both(queue) is queue:
        return group
    limits = [for_both(group.get(option)) for option in ("bandwidth", "trace")]
    ways = [way for way in WAYS if any(_of_way(limit, way) is not None for limit in limits)]
    return {**group, "queue": {ways[0]: queue}} if len(ways) == 1 else group


def _of_way(value: Any, way: str) -> Any:
    return value.get(way) if isinstance(value, dict) else getattr(value, way, None)


class Ways(Part):
    """A value for each direction of an access link."""

    def resolve(self) -> dict[str, Any]:
        """As the engine takes it."""
        return {way: _told(getattr(self, way)) for way in WAYS}


def _told(value: Any) -> Any:
    return value.model_dump() if isinstance(value, Part) else value


class Bandwidth(Ways):
    """Rates of an access link, in bits of IP packets per second. A direction that is left out is unlimited."""

    up: Rate | None = None
    """Rate from the client."""
    down: Rate | None = None
    """Rate to the client."""


class _OptionWays(Ways):
    """A table for a direction at least: an empty one could be that of the option itself."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})


class Traces(_OptionWays):
    """Rate traces of an access link. A direction that is left out has none."""

    up: TraceOption | None = None
    """Rate trace for packets from the client."""
    down: TraceOption | None = None
    """Rate trace for packets to the client."""


class Queue(Ways):
    """Queues in front of an access link. A direction that is left out is unlimited."""

    up: QueueOption | None = None
    """Queue for packets from the client."""
    down: QueueOption | None = None
    """Queue for packets to the client."""

    @field_validator("up", "down")
    @classmethod
    def _has_room(cls, queue: Any) -> Any:
        if isinstance(queue, str) and _core.parse_bytes(queue) == 0:
            raise ValueError('must be above zero, such as "64KiB"')
        return queue


class Jitters(_OptionWays):
    """Jitter of an access link. A direction that is left out has none."""

    up: JitterOption | None = None
    """Jitter from the client."""
    down: JitterOption | None = None
    """Jitter to the client."""


class Reorders(_OptionWays):
    """Reordering on an access link. A direction that is left out has none."""

    up: ReorderOption | None = None
    """Reordering of packets from the client."""
    down: ReorderOption | None = None
    """Reordering of packets to the client."""


class Duplicates(_OptionWays):
    """Duplication on an access link. A direction that is left out has none."""

    up: DuplicateOption | None = None
    """Duplication of packets from the client."""
    down: DuplicateOption | None = None
    """Duplication of packets to the client."""


class Corrupts(_OptionWays):
    """Corruption on an access link. A direction that is left out has none."""

    up: CorruptOption | None = None
    """Corruption of packets from the client."""
    down: CorruptOption | None = None
    """Corruption of packets to the client."""


BandwidthWays = Annotated[
    Bandwidth | None, BeforeValidator(_text_for_both, json_schema_input_type=Rate | Bandwidth | None)
]
QueueWays = Annotated[Queue | None, BeforeValidator(queue_for_both, json_schema_input_type=QueueOption | Queue | None)]
TraceWays = Annotated[Traces | None, BeforeValidator(for_both, json_schema_input_type=TraceOption | Traces | None)]
JitterWays = Annotated[Jitters | None, BeforeValidator(for_both, json_schema_input_type=JitterOption | Jitters | None)]
ReorderWays = Annotated[
    Reorders | None, BeforeValidator(for_both, json_schema_input_type=ReorderOption | Reorders | None)
]
DuplicateWays = Annotated[
    Duplicates | None, BeforeValidator(for_both, json_schema_input_type=DuplicateOption | Duplicates | None)
]
CorruptWays = Annotated[
    Corrupts | None, BeforeValidator(for_both, json_schema_input_type=CorruptOption | Corrupts | None)
]
"""What a field of a group holds: a value for both directions, or a table with a value for each."""


class LinkDirection(Part):
    """One direction of a link that connections share."""

    rate: Rate | None = None
    """Rate in bits of IP packets per second; unlimited unless set."""
    trace: TraceOption | None = None
    """Recorded rate in Mahimahi's format, in the place of rate."""
    queue: QueueOption | None = None
    """Queue in front of the link; unlimited unless set."""
    delay: Duration | None = None
    """Propagation delay, in addition to that of the clients' own paths; none unless set."""
    mtu: Mtu | None = None
    """Largest IP packet that the link carries, in bytes; any unless set. In a star, the down direction sets the MTU of
    the server's network device, too. Otherwise that is the largest MTU of a group."""
    loss: OneLoss | None = None
    """Packet loss of the link."""
    jitter: JitterOption | None = None
    """Variation of the delay; none unless set."""
    reorder: ReorderOption | None = None
    """Packets that later ones overtake; none unless set."""
    duplicate: DuplicateOption | None = None
    """Packets that arrive twice; none unless set."""
    corrupt: CorruptOption | None = None
    """Packets that arrive with a bit flipped, so that the receiver drops them; none unless set."""

    @model_validator(mode="after")
    def _one_process(self) -> LinkDirection:
        if self.loss is not None and "scope" in self.loss.model_fields_set:
            message = "a link that connections share has one loss process a direction; leave scope out"
            raise FieldError("loss.scope", message, self.loss.scope)
        return self

    def options(self) -> dict[str, Any]:
        """The options that are set, by name."""
        found = {name: getattr(self, name) for name in LinkDirection.model_fields}
        return {name: value for name, value in found.items() if value is not None}

    def resolve(self) -> dict[str, Any]:
        """As the engine takes it."""
        loss = None if self.loss is None else self.loss.resolve()
        told = {name: _told(getattr(self, name)) for name in LinkDirection.model_fields}
        return told | {"delay": self.delay or "0ms", "loss": loss}


_LIMITS = {"rate", "trace"}
"""The options of which a direction has one at most."""


class BothDirections(LinkDirection):
    """A link whose own options hold for both directions, except those that a direction sets itself."""

    ways: ClassVar[tuple[str, str]]
    """The fields of the two directions."""

    def directions(self) -> dict[str, LinkDirection]:
        """Each direction by its name, with the options that hold for both. A rate or a trace of a direction takes the
        place of the other one for both; a queue for both is for the directions that have one of them, if any does.
        """
        own = {way: getattr(self, way).options() for way in self.ways}
        both = {way: {**self._common(options), **options} for way, options in own.items()}
        if any(_LIMITS & options.keys() for options in both.values()):
            for way, options in both.items():
                if not _LIMITS & options.keys() and "queue" not in own[way]:
                    options.pop("queue", None)
        return {way: LinkDirection.model_construct(**options) for way, options in both.items()}

    def _common(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """The options that hold for both, for a direction that has its ``own``."""
        left_out = _LIMITS if _LIMITS & own.keys() else set()
        return {name: value for name, value in self.options().items() if name not in left_out}

    def resolve(self) -> dict[str, Any]:
        """As the engine takes it."""
        return {way: direction.resolve() for way, direction in self.directions().items()}


class SharedLink(BothDirections):
    """The link between the access links and the server. An option here holds for both directions, unless a direction
    sets it itself."""

    ways: ClassVar[tuple[str, str]] = WAYS
    up: LinkDirection = Field(default_factory=LinkDirection)
    """Direction from the clients to the server."""
    down: LinkDirection = Field(default_factory=LinkDirection)
    """Direction from the server to the clients."""


class BackboneLink(BothDirections):
    """Each link between two routers of a backbone. An option here holds for both directions, unless a direction sets it
    itself. The link between the server and the first router has the same delay, and no other option."""

    ways: ClassVar[tuple[str, str]] = ("forward", "backward")
    forward: LinkDirection = Field(default_factory=LinkDirection)
    """Direction away from the server."""
    backward: LinkDirection = Field(default_factory=LinkDirection)
    """Direction towards the server."""


class NamedLink(BothDirections):
    """A link between two nodes of a graph. An option here holds for both directions, unless a direction has its own."""

    ways: ClassVar[tuple[str, str]] = ("forward", "backward")
    from_: Annotated[PlaceName, Field(alias="from")]
    """Node at the first end."""
    to: PlaceName
    """Node at the second end."""
    from_address: Ipv4Address | None = None
    """IPv4 address of the port at the first end, in network.prefix; that of the node unless set."""
    to_address: Ipv4Address | None = None
    """IPv4 address of the port at the second end, in network.prefix; that of the node unless set."""
    forward: LinkDirection = Field(default_factory=LinkDirection)
    """Direction from the first end to the second."""
    backward: LinkDirection = Field(default_factory=LinkDirection)
    """Direction from the second end to the first."""

    def resolve(self) -> dict[str, Any]:
        """As the engine takes it."""
        ends = {"from": self.from_, "from_address": self.from_address, "to": self.to, "to_address": self.to_address}
        return {name: value for name, value in ends.items() if value is not None} | super().resolve()
