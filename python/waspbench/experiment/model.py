"""The experiment file: its one declaration, from which validation, the JSON Schema and the ``--set`` paths follow.

Every field's documentation says what it is and in which unit; text values carry their unit.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from waspbench.errors import InputError
from waspbench.experiment.base import Part, one_of
from waspbench.experiment.capacity_table import CapacityTable
from waspbench.experiment.clients import DEFAULT_NAME, Clients
from waspbench.experiment.conditions import check_share, checked, conditions, objective
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.location import Location, checked_url
from waspbench.experiment.metrics import PERCENTILES, Known, is_reserved, percentiles
from waspbench.experiment.network import Network
from waspbench.experiment.places import placed
from waspbench.experiment.requests import Requests
from waspbench.experiment.server_model import ServerModel
from waspbench.experiment.tcp import Tcp
from waspbench.experiment.units import (
    AUTO,
    AutoDuration,
    AutoPositiveDuration,
    Name,
    PlaceName,
    PositiveDuration,
    Probability,
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


class Server(Part):
    """The server under test."""

    kind: ServerKind = "builtin"
    """Server of a live run: the built-in one (builtin), Debian's nginx or apache, one that a command line starts
    (command), or one that already runs on this machine (url)."""
    mpm: Mpm | None = None
    """Processing module of apache: threads (event, the default), or a process for each connection (prefork)."""
    command: str | None = None
    """Command line that starts the server. The program must stay in the foreground and listen on {address} and {port}.
    The files that it serves are in the directory {root}. WASP starts it without a shell; {{ and }} stand for braces."""
    stop: str | None = None
    """Command line that stops the server; {pid} stands for the server's process. Unless set, WASP sends SIGTERM to that
    process."""
    url: Url | None = None
    """URL that the clients ask for, of a server that already runs on this machine, such as http://127.0.0.1:8080/a."""
    path: UrlPath | None = None
    """Path that the clients ask for; with command only. Unless set, they ask for a file of workload.size, which WASP
    writes to {root}."""
    access_log: bool = False
    """Whether nginx or apache logs each request. The log of the first run is access_log/run-0.log in the results.
    Logging takes CPU time of the server, and the figures include it. Live only."""
    ready_timeout: PositiveDuration = "15s"
    """Longest time from the start of the server until it accepts connections. A server that takes longer is an error.
    Live only."""
    at: PlaceName | None = None
    """Node of a graph at which the server is. The server of a backbone is before r1."""
    congestion: Name = "cubic"
    """Congestion control of the server's kernel towards the clients; live only."""
    sysctl: dict[str, int | str] = Field(default_factory=dict)
    """Kernel settings of the server's network namespace, such as "net.ipv4.tcp_sack" = 0; live only."""
    tcp: Tcp = Field(default_factory=Tcp)
    """TCP of the simulated server; simulation only."""
    model: ServerModel = Field(default_factory=ServerModel)
    """CPU time that the simulated server takes; simulation only."""

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


class Until(Part):
    """When enough runs have been made."""

    ci: Probability
    """Enough runs have been made when half the width of the 90 % confidence interval of throughput (Student's t) is at
    most this share of the mean."""
    max_runs: Annotated[int, Field(ge=2, le=1000)] = 20
    """Maximum number of runs."""

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
    """Time before the measured interval, in which the clients start one after another. auto: pilot runs find it,
    beginning with a warm-up of 5 s; it is at most 30 min. It is long enough when throughput settles within it, kept
    connections are open, their congestion windows have converged, and a run twice as long agrees."""
    duration: AutoPositiveDuration = "10s"
    """Length of the measured interval. auto: pilot runs find it, beginning with an interval of 10 s; it is at most 30
    min. It is long enough when it misses none of the longest transactions, the load is not near capacity, 1,000
    transactions have ended, and a run twice as long agrees. Figures do not include pilot runs. Pilot runs take three to
    five times as long as one run of the length that they find."""
    runs: Annotated[int, Field(ge=1, le=1000)] = 3
    """Number of independent runs, from which means and intervals follow. With until, at least this many runs are made.
    """
    until: Until | None = None
    """When to stop making runs: when the confidence interval of throughput is narrow enough."""
    max_errors: Probability = "10%"
    """Largest share of errors among the transactions that end in the measured interval, for all clients and for each
    group. An error is any outcome but ok, also a request that a client gave up (http.abort). A run with more errors is
    not valid (errors), unless chance explains the excess in one of several groups. 100% allows any number."""
    percentiles: Percentiles = [float(name[1:]) for name in PERCENTILES]  # noqa: RUF012 - pydantic copies it
    """Percentiles of response times that tables show, in per cent, such as [50, 99.9]. A table shows a percentile if
    enough transactions ended: p99 needs 299, p99.9 needs 2,995."""
    time_limit: PositiveDuration | None = None
    """Wall-clock time after which WASP gives up a run. Unless set, it is one minute plus ten times the length of the
    run. With auto it is the limit of the first pilot run; longer runs get more in proportion."""
    order: Literal["shuffled", "listed"] = "shuffled"
    """Order of the runs of a sweep: shuffled by the seed, so that a machine that slows down favours no point; or as the
    file lists the points."""

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
    """Name of the experiment. The results directory gets this name, too."""
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    """Seed of all random choices."""
    mode: ModeField | None = None
    """Measure a real server (live) or a simulated one (sim). Unless set, WASP measures live if the machine can."""
    server: Server = Field(default_factory=Server)
    """The server under test."""
    workload: Workload = Field(default_factory=Single)
    """What the clients ask for, except in groups with a workload of their own."""
    network: Network = Field(default_factory=Network)
    """Network between the clients and the server."""
    clients: Annotated[list[Clients], Field(min_length=1)]
    """Groups of clients."""
    measure: Measure = Field(default_factory=Measure)
    """How long and how often to measure."""
    sweep: Annotated[
        dict[str, Any], Field(json_schema_extra={"additionalProperties": {"type": ["array", "object"]}})
    ] = Field(default_factory=dict)
    """Fields to vary, each by its path, with a list of values or a range: { from, to, times } or { from, to, step }.
    Each combination of values is a point. Fields in the table zip vary together."""
    thresholds: Annotated[
        dict[str, str | list[str]],
        BeforeValidator(checked),
        Field(alias="assert", default_factory=dict, json_schema_extra={"additionalProperties": _CONDITIONS}),
    ]
    """Conditions that every point must meet, such as p99 = "< 800ms", or phones.p95 = "< 2s" for the group phones. WASP
    judges a condition by the unfavourable end of the 90 % confidence interval."""
    capacity: CapacityTable | None = None
    """What wasp capacity looks for; wasp run ignores it."""

    @model_validator(mode="before")
    @classmethod
    def _placed(cls, data: Any) -> Any:
        return placed(data, DEFAULT_NAME)

    @model_validator(mode="after")
    def _workload_for_somebody(self) -> Experiment:
        if "workload" in self.model_fields_set and all(group.workload is not None for group in self.clients):
            message = "every group of clients has a workload of its own, so nobody uses it"
            raise FieldError("workload", f"{message}; leave it out, or one of theirs")
        return self

    @model_validator(mode="after")
    def _one_target(self) -> Experiment:
        server = self.server
        workloads = {
            "the workload" if group.workload is None else f"{group.path}.workload": group.workload or self.workload
            for group in self.clients
        }
        several = (name for name, each in workloads.items() if each.kind != "single" or each.files is not None)
        name = next(several, None)
        if name is None:
            return self
        what = "named requests" if workloads[name].kind == "requests" else "more than one file"
        message = f"says what is asked for, and so does {name}, which has {what}; leave it out"
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
            if name in Clients.model_fields and not (info.context or {}).get(MEASURED):
                raise FieldError("clients", "a group cannot be named like a field of [[clients]]", name)
            if is_reserved(name) and not (info.context or {}).get(MEASURED):
                near = f"{name.replace('.', '-')}-clients"
                message = f"has a meaning of its own in conditions; call the group something else, such as {near}"
                raise FieldError("clients", message, name)
        return self

    @model_validator(mode="after")
    def _known_groups(self, info: ValidationInfo) -> Experiment:
        known = known_in(self)
        try:
            for asked in conditions(self.thresholds, known):
                if not (info.context or {}).get(MEASURED):
                    check_share(asked)
        except FieldError as error:
            raise FieldError(f"assert.{error.field}", str(error)) from None
        for text in () if self.capacity is None else self.capacity.slo:
            try:
                objective(text, "capacity.slo", known)
            except InputError as error:
                raise FieldError("capacity.slo", error.problems[0].message, text) from None
        return self


def known_in(experiment: Experiment) -> Known:
    """What figures of an experiment may be of: its groups of clients, and their requests that have names."""
    asked = {group.name: group.workload or experiment.workload for group in experiment.clients}
    groups = {
        name: [request.name for request in workload.requests] if isinstance(workload, Requests) else []
        for name, workload in asked.items()
    }
    measured = [group.name for group in experiment.clients if not group.background]
    sessions = [name for name, own in asked.items() if isinstance(own, Requests) and own.order == "session"]
    of_all = [None] if any(name in sessions for name in measured) else []
    return Known(groups, list(dict.fromkeys(each for name in measured for each in groups[name])), (*sessions, *of_all))
