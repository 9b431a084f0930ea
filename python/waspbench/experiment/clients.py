"""Groups of clients: where they are, how they are connected, and what they do when."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from waspbench.experiment.base import Part
from waspbench.experiment.delay import Delay
from waspbench.experiment.http import Http
from waspbench.experiment.loss import Loss, resolve_loss
from waspbench.experiment.profiles import PROFILES, with_profile
from waspbench.experiment.tcp import PositiveCount, Tcp
from waspbench.experiment.units import Duration, Frequency, Name, PositiveSize, Rate
from waspbench.suggestion import hint


def _both_ways(value: Any) -> Any:
    return {"up": value, "down": value} if isinstance(value, str) else value


def _known_profile(value: Any) -> str:
    if not isinstance(value, str) or value not in PROFILES:
        raise ValueError(f"{hint(value, PROFILES)}must be one of {', '.join(PROFILES)} (wasp profiles shows them)")
    return value


ProfileName = Annotated[
    str, BeforeValidator(_known_profile), WithJsonSchema({"type": "string", "enum": list(PROFILES)})
]


DEFAULT_NAME = "clients"
"""Name of a group that is given none."""


class Bandwidth(Part):
    """Rates of an access link in bits of IP packets a second; a direction left out is unlimited."""

    up: Rate | None = None
    """From the client."""
    down: Rate | None = None
    """To the client."""


class Queue(Part):
    """Drop-tail queues before an access link, in bytes; a direction left out is unlimited."""

    up: PositiveSize | None = None
    """From the client."""
    down: PositiveSize | None = None
    """To the client."""


class Arrivals(Part):
    """When clients ask for pages (requests, where a page is one file), whatever became of what they asked before (open
    loop). Response times count from then on, whether or not a client was free to ask; those of a page's embedded files
    from as much before they were asked for as the page was late."""

    model: Literal["poisson", "constant"] = "poisson"
    """How arrivals are spread: independently of each other, or at equal distances."""
    rate: Frequency
    """Arrivals of the whole group: pages, where pages have embedded files."""
    outstanding: PositiveCount | None = None
    """Most arrivals of the whole group that wait, one for each client at least: a client has an equal part, rounded up.
    What comes to a client whose part is full is counted (shed) and not asked for, even if others have room. 1000, or
    one for each client if those are more, unless set."""


class Clients(Part):
    """A group of clients that are alike."""

    name: Name = DEFAULT_NAME
    """Name of the group in results."""
    count: Annotated[int, Field(ge=1, le=32_765)] = 256
    """Number of clients."""
    background: bool = False
    """Whether the group is load beside what is measured: its figures are shown, those of all clients leave it out, and
    no reason is about it."""
    profile: ProfileName | None = None
    """Access profile, which sets rtt, bandwidth and queue, and loss where its source has some; fields that are given
    win. wasp profiles lists them with their sources."""
    rtt: Duration = "100ms"
    """Round-trip time without queues, split evenly between the directions."""
    loss: Loss | None = None
    """Packet loss, on top of what full queues lose."""
    bandwidth: Annotated[
        Bandwidth | None, BeforeValidator(_both_ways, json_schema_input_type=Rate | Bandwidth | None)
    ] = None
    """Bandwidth of each client's access link; unlimited unless set."""
    queue: Annotated[Queue | None, BeforeValidator(_both_ways, json_schema_input_type=PositiveSize | Queue | None)] = (
        None
    )
    """Queue of each client's access link; unlimited unless set."""
    mtu: Annotated[int, Field(ge=128, le=65535)] = 1500
    """Largest IP packet of the path, in bytes."""
    http: Http = Field(default_factory=Http)
    """HTTP behaviour."""
    think: Delay | None = None
    """Pause of a client between two pages (requests, where a page is one file). Unless set it is the workload's own:
    inactive_off with surge, none with the others."""
    start: Literal["equilibrium", "together"] = "equilibrium"
    """How clients begin in a closed loop: as though the run had been going on long before, so that as many of them
    pause as would, each for what would be left of its pause; or all of them with a request at the very beginning."""
    arrivals: Arrivals | None = None
    """Open loop: when clients ask. Unless set, a client asks when it has what it asked for before (closed loop)."""
    tcp: Tcp = Field(default_factory=Tcp)
    """The clients' TCP."""

    @model_validator(mode="before")
    @classmethod
    def _profiled(cls, data: Any) -> Any:
        return with_profile(data) if isinstance(data, dict) and "profile" in data else data

    @property
    def path(self) -> str:
        """Where the group stands, for errors: a group without a name is the table."""
        return "clients" if self.name == "clients" else f"clients.{self.name}"

    def resolve(self) -> dict[str, Any]:
        """As the engine takes it."""
        bandwidth, queue = self.bandwidth or Bandwidth(), self.queue or Queue()
        return {
            "name": self.name,
            "count": self.count,
            "background": self.background,
            "rtt": self.rtt,
            "loss": resolve_loss(self.loss),
            "bandwidth": bandwidth.model_dump(),
            "queue": queue.model_dump(),
            "mtu": self.mtu,
            "http": self.http.resolve(),
            "think": None if self.think is None else self.think.model_dump(exclude_none=True),
            "start": self.start,
            "arrivals": None if self.arrivals is None else self.arrivals.model_dump(exclude_none=True),
            "tcp": self.tcp.resolve(),
        }
