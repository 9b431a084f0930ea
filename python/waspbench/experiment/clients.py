"""Groups of clients: where they are, how they are connected, and what they do when."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from waspbench.experiment.base import Part
from waspbench.experiment.delay import Delay
from waspbench.experiment.http import Http
from waspbench.experiment.links import (
    Bandwidth,
    BandwidthWays,
    Corrupts,
    CorruptWays,
    Duplicates,
    DuplicateWays,
    Jitters,
    JitterWays,
    Mtu,
    Queue,
    QueueWays,
    Reorders,
    ReorderWays,
    Traces,
    TraceWays,
    queue_where_a_rate_is,
)
from waspbench.experiment.loss import Loss, resolve_loss
from waspbench.experiment.profiles import PROFILES, with_profile
from waspbench.experiment.tcp import PositiveCount, Tcp
from waspbench.experiment.units import Duration, Frequency, Name, PlaceName
from waspbench.experiment.workload import Workload
from waspbench.suggestion import hint


def _known_profile(value: Any) -> str:
    if not isinstance(value, str) or value not in PROFILES:
        raise ValueError(f"{hint(value, PROFILES)}must be one of {', '.join(PROFILES)} (wasp profiles shows them)")
    return value


ProfileName = Annotated[
    str, BeforeValidator(_known_profile), WithJsonSchema({"type": "string", "enum": list(PROFILES)})
]


DEFAULT_NAME = "clients"
"""Name of a group that is given none."""


class Arrivals(Part):
    """Open loop: pages arrive at times that do not depend on earlier responses (requests arrive, if a page is one
    file). A response time starts at the arrival, even if the client was busy then. If a page began late for that
    reason, the response times of its embedded files include the delay, too."""

    model: Literal["poisson", "constant"] = "poisson"
    """How arrivals are spread in time: independently of each other (poisson), or at equal intervals (constant)."""
    rate: Frequency
    """Rate of arrivals of the whole group. An arrival is a session, a page if pages have embedded files, or else a
    request."""
    outstanding: PositiveCount | None = None
    """Number of arrivals of the whole group that may wait for busy clients. It is divided equally among the clients,
    and rounded up for each. An arrival for a client whose part is full is dropped and counted as shed, even if other
    clients have room. Unless set, it is 1000, or the number of clients if that is larger."""


class Clients(Part):
    """A group of clients with the same settings."""

    name: Name = DEFAULT_NAME
    """Name of the group in results."""
    count: Annotated[int, Field(ge=1, le=32_765)] = 256
    """Number of clients."""
    background: bool = False
    """Whether the group is background load. Its own figures are shown. The figures of all clients leave it out, and no
    reason is about it, though its load may disturb the run."""
    observe: bool = False
    """Whether results tell how long packets wait at the access links of the clients, in the table of observed links and
    in link_series and link_waits. They always tell it of links that clients share. All groups with observe may have
    1,000 clients together, and fewer in runs of more than 1,000 s."""
    at: PlaceName | None = None
    """Node of a backbone or a graph at which the clients are, such as r2. In a backbone, all makes a group of this size
    at each router: the group homes becomes homes-r1, homes-r2 and so on in results and conditions."""
    profile: ProfileName | None = None
    """Access profile. It sets rtt, bandwidth and queue, and loss if its source gives a loss rate. A field that is set
    here overrides the profile; a trace overrides bandwidth and queue. wasp profiles lists all profiles with their
    sources."""
    rtt: Duration = "100ms"
    """Round-trip time of the access link without queues; half of it in each direction. In a backbone or a graph, the
    delays of the other links come on top, and it is 0ms unless set or set by a profile."""
    loss: Loss | None = None
    """Packet loss, in addition to packets that queues drop."""
    bandwidth: BandwidthWays = None
    """Bandwidth of each client's access link; unlimited unless set."""
    trace: TraceWays = None
    """Recorded rate of each client's access link in Mahimahi's format, in the place of bandwidth; none unless set."""
    queue: QueueWays = None
    """Queue of each client's access link; unlimited unless set. One value is for both directions, or for the only one
    that has a bandwidth or a trace."""
    jitter: JitterWays = None
    """Variation of the delay of each client's access link; none unless set."""
    reorder: ReorderWays = None
    """Packets that later ones overtake on each client's access link; none unless set."""
    duplicate: DuplicateWays = None
    """Packets that arrive twice over each client's access link; none unless set."""
    corrupt: CorruptWays = None
    """Packets in which each client's access link flips a bit, so that the receiver drops them; none unless set."""
    mtu: Mtu = 1500
    """Largest IP packet that the access link of a client carries, in bytes. A longer one is fragmented, or dropped if
    its header forbids that."""
    workload: Workload | None = None
    """What the clients of this group ask for, with the fields of [workload]. Unless set, they ask for what [workload]
    says, together with all other groups that have no workload of their own. A set of surge or prowgen has a seed of its
    own unless set, and the server has its files below /NAME, the name of the group."""
    http: Http = Field(default_factory=Http)
    """How the clients use HTTP."""
    think: Delay | None = None
    """Pause of a client between two pages, between two requests if a page is one file, or between two sessions. Unless
    set, it is inactive_off of a surge workload, and none for other workloads."""
    start: Literal["equilibrium", "together"] = "equilibrium"
    """How clients begin in a closed loop. equilibrium: as in the middle of a long run, where some clients pause, each
    for the rest of its pause. together: each client sends a request at the very beginning."""
    arrivals: Arrivals | None = None
    """Open loop: pages (or requests) arrive at a rate, whether or not earlier ones have been answered. Unless set, the
    group is a closed loop: a client asks again only when it has what it asked for before."""
    tcp: Tcp = Field(default_factory=Tcp)
    """TCP of the clients."""

    @model_validator(mode="before")
    @classmethod
    def _profiled(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return queue_where_a_rate_is(with_profile(data) if "profile" in data else data)

    @property
    def path(self) -> str:
        """Where the group stands, for errors: a group without a name is the table."""
        return "clients" if self.name == "clients" else f"clients.{self.name}"

    def resolve(self) -> dict[str, Any]:
        """As the engine takes it."""
        return {
            "name": self.name,
            "count": self.count,
            "background": self.background,
            "observe": self.observe,
            **({} if self.at is None else {"at": self.at}),
            "rtt": self.rtt,
            "loss": resolve_loss(self.loss),
            "bandwidth": (self.bandwidth or Bandwidth()).resolve(),
            "trace": (self.trace or Traces()).resolve(),
            "queue": (self.queue or Queue()).resolve(),
            "jitter": (self.jitter or Jitters()).resolve(),
            "reorder": (self.reorder or Reorders()).resolve(),
            "duplicate": (self.duplicate or Duplicates()).resolve(),
            "corrupt": (self.corrupt or Corrupts()).resolve(),
            "mtu": self.mtu,
            "http": self.http.resolve(),
            "think": None if self.think is None else self.think.model_dump(exclude_none=True),
            "start": self.start,
            "arrivals": None if self.arrivals is None else self.arrivals.model_dump(exclude_none=True),
            "tcp": self.tcp.resolve(),
        }
