"""The experiment file: its one declaration, from which validation, the JSON Schema and the ``--set`` paths follow.

Every field's documentation says what it is and in which unit; text values carry their unit.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from waspbench.errors import InputError
from waspbench.experiment.base import Part, one_of
from waspbench.experiment.capacity_table import CapacityTable
from waspbench.experiment.clients import Clients
from waspbench.experiment.conditions import check_share, checked, conditions, objective
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.location import Location, checked_url
from waspbench.experiment.loss import OneLoss
from waspbench.experiment.metrics import PERCENTILES, is_reserved, percentiles
from waspbench.experiment.tcp import PositiveCount, Tcp
from waspbench.experiment.units import (
    AUTO,
    AutoDuration,
    AutoPositiveDuration,
    Duration,
    Name,
    PositiveDuration,
    Probability,
    Rate,
    Size,
    UrlPath,
    exact,
)
from waspbench.experiment.workload import Single, Workload

Mode = Literal["live", "sim"]
ModeField = Annotated[Mode, BeforeValidator(one_of("live", "sim", later=("shim",)))]
ServerKind = Annotated[
    Literal["builtin", "nginx", "apache", "command", "url"],
    BeforeValidator(one_of("builtin", "nginx", "apache", "command", "url")),
]
Mpm = Annotated[Literal["event", "prefork"], BeforeValidator(one_of("event", "prefork"))]
Url = Annotated[str, BeforeValidator(checked_url)]


class ServerModel(Part):
    """What stands in for the server in simulation: the cost of its work on its CPUs."""

    cores: PositiveCount = 1
    """CPUs of the modelled server; one for now."""
    per_connection: Duration = "20us"
    """CPU time to accept and close a connection."""
    per_request: Duration = "30us"
    """CPU time to answer a request, whatever its size."""
    per_kib: Duration = "1us"
    """CPU time for each KiB of a body, of the response and of a POST."""
    per_packet: Duration = "0ms"
    """CPU time of the network stack for each packet that arrives."""
    requests_per_connection: PositiveCount | None = None
    """Requests before the server closes a connection; kept as long as the client wants unless set."""
    accept_queue: PositiveCount | None = None
    """Connections that may wait to be accepted; a SYN beyond is dropped. Unlimited unless set."""


class Server(Part):
    """The server under test."""

    kind: ServerKind = "builtin"
    """What runs in a live experiment: the built-in server, Debian's nginx or apache, any command, or a server that runs
    already on this machine."""
    mpm: Mpm | None = None
    """Processing module of apache: event (threads, the default) or prefork (a process for each connection)."""
    command: str | None = None
    """Start line of a server of any kind. It must stay in the foreground and listen on {address} and {port}; the files
    to serve are below {root}. No shell reads it; {{ and }} stand for braces."""
    stop: str | None = None
    """Line that stops the command, whose process is {pid}; SIGTERM to it unless set."""
    url: Url | None = None
    """A server that runs already on this machine, and what the clients ask it for, such as http://127.0.0.1:8080/a."""
    path: UrlPath | None = None
    """What the clients ask the command for; unless set, the file of workload.size, which is made below {root}."""
    access_log: bool = False
    """Whether nginx or apache logs each request, into access_log/run-0.log beside the results. What that costs the
    server is part of what is measured; live only."""
    ready_timeout: PositiveDuration = "15s"
    """Time within which the server must accept connections; live only."""
    congestion: Name = "cubic"
    """Congestion control of the server's kernel on the way to the clients; live only."""
    sysctl: dict[str, int | str] = Field(default_factory=dict)
    """Kernel settings of the server's network namespace, such as "net.ipv4.tcp_sack" = 0; live only."""
    tcp: Tcp = Field(default_factory=Tcp)
    """The server's TCP; simulation only."""
    model: ServerModel = Field(default_factory=ServerModel)
    """The server's cost; simulation only."""

    of_kind: ClassVar[dict[str, tuple[str, ...]]] = {
        "mpm": ("apache",),
        "command": ("command",),
        "stop": ("command",),
        "path": ("command",),
        "url": ("url",),
        "access_log": ("nginx", "apache"),
    }
    """Fields that only some kinds of server have."""

    @property
    def own(self) -> list[str]:
        """The fields of `of_kind` that are set."""
        return [field for field in self.of_kind if getattr(self, field) not in (None, False)]

    @model_validator(mode="after")
    def _fields_of_its_kind(self) -> Server:
        for field in self.own:
            kinds = self.of_kind[field]
            if self.kind not in kinds:
                which = " or ".join(f'"{kind}"' for kind in kinds)
                raise FieldError(field, f'is for kind = {which}, and this is "{self.kind}"', getattr(self, field))
        if self.kind == "command" and not (self.command or "").strip():
            raise FieldError("command", 'missing; kind = "command" needs a start line')
        if self.kind == "url" and self.url is None:
            raise FieldError("url", 'missing; kind = "url" needs one, such as http://127.0.0.1:8080/')
        if self.kind == "url" and self.sysctl:
            raise FieldError("sysctl", "a server that runs already has the machine's own settings; set them there")
        return self


class SharedDirection(Part):
    """One direction of the link that all clients share."""

    rate: Rate | None = None
    """Bits of IP packets a second; unlimited unless set."""
    queue: Size | None = None
    """Drop-tail queue in bytes; unlimited unless set."""
    delay: Duration = "0ms"
    """Propagation delay, on top of the clients' own."""
    loss: OneLoss | None = None
    """Packet loss of the link."""

    @model_validator(mode="after")
    def _one_process(self) -> SharedDirection:
        if self.loss is not None and "scope" in self.loss.model_fields_set:
            raise FieldError(
                "loss.scope", "the shared link has one loss process a direction; leave scope out", self.loss.scope
            )
        return self

    def resolve(self) -> dict[str, Any]:
        """As the engine takes it."""
        loss = None if self.loss is None else self.loss.resolve()
        return {"rate": self.rate, "queue": self.queue, "delay": self.delay, "loss": loss}


class SharedLink(Part):
    """The link between all access links and the server."""

    up: SharedDirection = Field(default_factory=SharedDirection)
    """Towards the server."""
    down: SharedDirection = Field(default_factory=SharedDirection)
    """Towards the clients."""


class Network(Part):
    """The star: an access link for each client, and one link that all share."""

    shared: SharedLink = Field(default_factory=SharedLink)
    """The shared link; unlimited and without delay unless set."""


class Until(Part):
    """When enough runs have been made."""

    ci: Probability
    """Enough is an interval of throughput (90 %, Student's t) with half a width of at most this part of the mean."""
    max_runs: Annotated[int, Field(ge=2, le=1000)] = 20
    """Runs to make at most."""

    @model_validator(mode="after")
    def _reachable(self) -> Until:
        if not 0 < exact(self.ci) < 1:
            raise FieldError("ci", "must be above 0% and below 100%", self.ci)
        return self


_CONDITIONS: dict[str, Any] = {
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "object"}]
}
"""What a figure may have: TOML takes ``phones.p95`` for a table with ``p95``."""


def _checked_percentiles(value: Any) -> Any:
    numbers = isinstance(value, list) and all(isinstance(each, (int, float)) for each in value)
    if not value or not numbers:
        raise ValueError("must be a list of numbers, such as [50, 99.9]")
    percentiles(value)
    return value


Percentiles = Annotated[
    list[Annotated[float, Field(gt=0, lt=100)]], Field(min_length=1), BeforeValidator(_checked_percentiles)
]
"""Percentiles in per cent."""


class Measure(Part):
    """How long and how often to measure."""

    warmup: AutoDuration = "5s"
    """Time before the measured interval, in which the clients start one after another. auto: found by pilot runs, the
    first with 5 s, until throughput settles within it, kept connections have been opened, their congestion windows have
    converged, and a run twice as long agrees; 30 min at most."""
    duration: AutoPositiveDuration = "10s"
    """Length of the measured interval. auto: found by pilot runs, the first of 10 s, until none of the longest
    transactions is missing, no queue is near its capacity, 1,000 transactions have ended, and a run twice as long
    agrees; 30 min at most. Pilots are in no figure, and take three to five times as long as a run of what they find."""
    runs: Annotated[int, Field(ge=1, le=1000)] = 3
    """Independent repeats, from which means and intervals follow; with ``until``, those to make in any case."""
    until: Until | None = None
    """Adds runs until the interval is narrow enough."""
    max_errors: Probability = "10%"
    """Share of the transactions that end in the measured interval which may be other than ok, of all clients and of
    each group; those count too that clients give up (http.abort). Above it a run is not valid (errors); 100% allows
    any."""
    percentiles: Percentiles = [float(name[1:]) for name in PERCENTILES]  # noqa: RUF012 - pydantic copies it
    """Percentiles of response times that tables show, in per cent, such as [50, 99.9]. Each is shown where there are
    enough transactions for it: p99 needs 299, p99.9 needs 2,995."""
    time_limit: PositiveDuration | None = None
    """Wall-clock time after which a run is given up; a minute and ten times its own length unless set. Where auto finds
    lengths it is that of the first, and of longer ones in proportion."""
    order: Literal["shuffled", "listed"] = "shuffled"
    """Order of the runs of a sweep: shuffled by the seed, so that a machine that slows down favours no point, or as
    listed."""

    @property
    def open_ended(self) -> bool:
        """Whether what to run depends on what runs find, so that only a study can make it."""
        return self.until is not None or AUTO in (self.warmup, self.duration)

    @model_validator(mode="after")
    def _consistent(self) -> Measure:
        if self.until is not None and self.until.max_runs < self.runs:
            raise FieldError("until.max_runs", f"must be at least runs, which is {self.runs}", self.until.max_runs)
        return self


MEASURED = "measured"
"""What says in the context of a validation that the experiment was made already."""


class Experiment(Part):
    """An experiment: a server, clients at a distance, and what to measure."""

    name: Name
    """Name of the experiment; it names the results directory too."""
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    """Seed from which every random choice follows."""
    mode: ModeField | None = None
    """live or sim; live where the machine can do it unless set."""
    server: Server = Field(default_factory=Server)
    """The server under test."""
    workload: Workload = Field(default_factory=Single)
    """What the clients ask for."""
    network: Network = Field(default_factory=Network)
    """What lies between all clients and the server."""
    clients: Annotated[list[Clients], Field(min_length=1)]
    """Groups of clients."""
    measure: Measure = Field(default_factory=Measure)
    """How long and how often to measure."""
    sweep: Annotated[
        dict[str, Any], Field(json_schema_extra={"additionalProperties": {"type": ["array", "object"]}})
    ] = Field(default_factory=dict)
    """Fields that vary, by path: a list of values, or a range { from, to, times } or { from, to, step }. Every
    combination is a point; fields in the table zip vary together."""
    thresholds: Annotated[
        dict[str, str | list[str]],
        BeforeValidator(checked),
        Field(alias="assert", default_factory=dict, json_schema_extra={"additionalProperties": _CONDITIONS}),
    ]
    """Conditions that every point must meet, such as p99 = "< 800ms" or, of a group, phones.p95 = "< 2s"; judged at the
    interval's unfavourable end."""
    capacity: CapacityTable | None = None
    """What wasp capacity looks for; wasp run leaves it alone."""

    @model_validator(mode="after")
    def _one_target(self) -> Experiment:
        workload, server = self.workload, self.server
        if workload.kind == "single" and workload.files is None:
            return self
        message = "says what is asked for, and so does the workload, which has more than one file; leave it out"
        if server.path is not None:
            raise FieldError("server.path", message, server.path)
        if server.url is not None and Location.of(server.url).target != "/":
            raise FieldError("server.url", f"its path {message}", server.url)
        return self

    @model_validator(mode="after")
    def _distinct_names(self, info: ValidationInfo) -> Experiment:
        names = [group.name for group in self.clients]
        for name in names:
            if names.count(name) > 1:
                raise FieldError("clients", "two groups have this name; give each [[clients]] a name of its own", name)
            if name in Clients.model_fields:
                raise FieldError("clients", "a group cannot be named like a field of [[clients]]", name)
            if is_reserved(name) and not (info.context or {}).get(MEASURED):
                near = f"{name.replace('.', '-')}-clients"
                message = f"has a meaning of its own in conditions; call the group something else, such as {near}"
                raise FieldError("clients", message, name)
        return self

    @model_validator(mode="after")
    def _known_groups(self, info: ValidationInfo) -> Experiment:
        names = [group.name for group in self.clients]
        try:
            for asked in conditions(self.thresholds, names):
                if not (info.context or {}).get(MEASURED):
                    check_share(asked)
        except FieldError as error:
            raise FieldError(f"assert.{error.field}", str(error)) from None
        for text in () if self.capacity is None else self.capacity.slo:
            try:
                objective(text, "capacity.slo", names)
            except InputError as error:
                raise FieldError("capacity.slo", error.problems[0].message, text) from None
        return self
