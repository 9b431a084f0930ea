"""Queue disciplines of a link: which packets wait, and which are dropped.

Every default is the one of the paper or the RFC, or that of Linux where they name none. The crate ``wasp-net`` has the
same defaults (``crates/net/src/queue``); a test holds the two equal.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from waspbench import _core
from waspbench.experiment.base import Part, Tag, kinds
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.units import Duration, PositiveDuration, PositiveSize, Probability, Size
from waspbench.suggestion import hint

_THRESHOLD = 'must be a size such as "30KB", or a share of bytes such as "5%"'


def _threshold(value: Any) -> str:
    """A length of queue: bytes, or a share of the most that may wait."""
    for parse in (_core.parse_bytes, _core.parse_probability):
        try:
            parse(value)
        except (TypeError, ValueError):
            continue
        return str(value)
    raise ValueError(_THRESHOLD)


Threshold = Annotated[
    str,
    BeforeValidator(_threshold),
    WithJsonSchema({"type": "string", "format": "size, or share of bytes", "examples": ["30KB", "5%"]}),
]
Count = Annotated[int, Field(ge=1, le=2**32 - 1)]
Weight = Annotated[float, Field(gt=0, le=1000)]


class _Discipline(Part):
    kind: str
    """Selects this queue."""
    packets: Count | None = None
    """Largest number of packets that may wait; unlimited unless set."""
    bytes: PositiveSize | None = None
    """Largest number of bytes that may wait; unlimited unless set."""


class DropTail(_Discipline):
    """One queue in order of arrival. A packet for which there is no room is dropped. Set packets, bytes or both."""

    kind: Literal["drop-tail"]
    """Selects this queue."""

    @model_validator(mode="after")
    def _limited(self) -> DropTail:
        if self.packets is None and self.bytes is None:
            raise FieldError("bytes", "missing; give packets, bytes or both, or leave the queue out to have no limit")
        return self


class Red(_Discipline):
    """Random early detection (Floyd and Jacobson 1993), with queue lengths in bytes. The longer the average queue is,
    the more packets are dropped."""

    kind: Literal["red"]
    """Selects this queue."""
    bytes: PositiveSize = "150KB"
    """Largest number of bytes that may wait. The default is 100 packets of 1,500 bytes."""
    min: Threshold = "5%"
    """Average queue above which packets are dropped: a size, or a share of bytes (min_th)."""
    max: Threshold = "15%"
    """Average queue at which the probability of a drop is max_probability: a size, or a share of bytes (max_th)."""
    weight: Probability = "0.2%"
    """Weight of the present queue in the average, for each packet that arrives (w_q)."""
    max_probability: Probability = "10%"
    """Probability of a drop if the average queue is max, before the number of packets since the last drop raises it
    (max_p)."""
    gentle: bool = True
    """Whether the same probability rises from max_probability at max to 1 at twice max (Floyd 2000). If false, all
    packets are dropped above max."""
    mean_packet: PositiveSize = "500B"
    """Packet size by whose transmission time the average shrinks while the link is idle."""
    ecn: bool = False
    """Whether packets of senders with ECN are marked in place of early drops (RFC 3168). All packets are dropped where
    the probability of a drop is 1."""


class _Codel(_Discipline):
    target: PositiveDuration = "5ms"
    """Waiting time that is acceptable (TARGET)."""
    interval: PositiveDuration = "100ms"
    """Time for which packets must have waited longer than target before a packet is dropped (INTERVAL). It must be at
    least target, and should be close to the largest usual round-trip time."""
    max_packet: PositiveSize = "1500B"
    """No packet is dropped while at most this number of bytes waits (MAXPACKET)."""


class Codel(_Codel):
    """Controlled delay (RFC 8289). Packets are dropped while they wait longer than target."""

    kind: Literal["codel"]
    """Selects this queue."""
    packets: Count = 1000
    """Largest number of packets that may wait. The default is that of Linux."""
    ecn: bool = False
    """Whether packets of senders with ECN are marked in place of early drops (RFC 3168)."""


class FqCodel(_Codel):
    """A CoDel queue for each flow, served in turn (RFC 8290). A flow that sends little waits little."""

    kind: Literal["fq-codel"]
    """Selects this queue."""
    packets: Count = 10240
    """Largest number of packets of all flows that may wait."""
    quantum: PositiveSize = "1514B"
    """Number of bytes that a flow may send in its turn; from 256B to 65535B."""
    flows: Annotated[int, Field(ge=1, le=65535)] = 1024
    """Number of queues. A hash of a packet's addresses, ports and protocol selects its queue, so two flows may share
    one."""
    ecn: bool = True
    """Whether packets of senders with ECN are marked in place of early drops (RFC 3168)."""
    ce_threshold: PositiveDuration | None = None
    """Waiting time above which each packet of a sender with ECN is marked (RFC 8290, section 5.2.7); never unless set.
    It needs ecn."""


class Pie(_Discipline):
    """Proportional integral controller enhanced (RFC 8033). The probability of a drop follows the waiting time."""

    kind: Literal["pie"]
    """Selects this queue."""
    packets: Count = 1000
    """Largest number of packets that may wait. The default is that of Linux."""
    target: PositiveDuration = "15ms"
    """Waiting time at which the queue is held (QDELAY_REF)."""
    update: PositiveDuration = "15ms"
    """Time between two updates of the probability (T_UPDATE); at least 1ms."""
    max_burst: Duration = "150ms"
    """Time for which no packet is dropped early after a time without congestion (MAX_BURST)."""
    alpha: Weight = 0.125
    """Weight of the distance from target, per second; above 0 and at most 1000."""
    beta: Weight = 1.25
    """Weight of the change since the last update, per second; above 0 and at most 1000."""
    mean_packet: PositiveSize = "1500B"
    """No packet is dropped early while at most two packets of this size wait (MEAN_PKTSIZE)."""
    derandomize: bool = False
    """Whether early drops keep a distance from each other (RFC 8033, section 5.4)."""
    cap_adjustment: bool = False
    """Whether an update adds at most 2 % if the probability is 10 % or more (RFC 8033, section 5.5)."""
    ecn: bool = False
    """Whether packets of senders with ECN are marked in place of early drops (RFC 3168)."""
    ecn_threshold: Probability = "10%"
    """Probability from which packets of senders with ECN are dropped, too (RFC 8033, section 5.1). It needs ecn."""


DISCIPLINES: dict[str, type[Part]] = {
    "drop-tail": DropTail,
    "red": Red,
    "codel": Codel,
    "fq-codel": FqCodel,
    "pie": Pie,
}
"""The disciplines by their kinds."""

_SHORT = tuple(kind for kind in DISCIPLINES if kind != "drop-tail")
"""The disciplines whose name is a whole queue: they have limits of their own."""
_SIZE = "size"


def _named(value: Any) -> Any:
    """The name of a discipline as a table; a size or a table as it is."""
    if isinstance(value, (dict, Part)) or (isinstance(value, str) and not value[:1].isalpha()):
        return value
    if value in _SHORT:
        return {"kind": value}
    names = ", ".join(_SHORT)
    raise ValueError(f'{hint(value, _SHORT)}must be a size such as "64KiB", one of {names}, or a table with a kind')


def written_out(value: Any) -> Any:
    """A size or a name as a table of its discipline; anything else as it is."""
    if not isinstance(value, str):
        return value
    return {"kind": value} if value in DISCIPLINES else {"kind": "drop-tail", "bytes": value}


_Disciplines = (
    Annotated[DropTail, Tag("drop-tail")]
    | Annotated[Red, Tag("red")]
    | Annotated[Codel, Tag("codel")]
    | Annotated[FqCodel, Tag("fq-codel")]
    | Annotated[Pie, Tag("pie")]
)
_Queue = Annotated[
    Annotated[Size, Tag(_SIZE)] | _Disciplines,
    kinds("kind", *DISCIPLINES, besides=lambda value: _SIZE if isinstance(value, str) else None),
]
_Table = Annotated[_Disciplines, kinds("kind", *DISCIPLINES)]
_Name = Literal["red", "codel", "fq-codel", "pie"]
QueueOption = Annotated[_Queue, BeforeValidator(_named, json_schema_input_type=_Name | Size | _Table)]
"""A queue: the room of a drop-tail queue in bytes, the name of a discipline, or a table with its ``kind``."""
