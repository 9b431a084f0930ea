"""The modelled server of a simulation: its table in the experiment file, and what the engine is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, model_validator

from waspbench.experiment.base import Part, one_of
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.server_presets import FLAT, PRESETS
from waspbench.experiment.tcp import PositiveCount
from waspbench.experiment.units import Duration

PresetName = Annotated[Literal["flat", "flash-2001", "apache-2001", "apache-2003"], BeforeValidator(one_of(*PRESETS))]
Concurrency = Annotated[Literal["event", "process"], BeforeValidator(one_of("event", "process"))]


def _named(value: Any) -> Any:
    if value == "":
        raise ValueError("must be the path of a model file, such as server.toml")
    return value


_Path = Annotated[str, BeforeValidator(_named)]

_PROGRAMS = {"event": ("workers",), "process": ("processes", "per_runnable")}
"""Fields that only programs of one concurrency have."""


class ModelValues(Part):
    """What the work of a modelled server costs: values of fields, and the preset that has the others."""

    preset: PresetName | None = None
    """Server whose values the other fields have unless they are set: flat, with the defaults that stand below, or a
    server of a paper. Unless set, it is flat, or what file says."""
    cores: PositiveCount | None = None
    """Number of CPUs of the simulated server, at most 1024; 1 unless set."""
    concurrency: Concurrency | None = None
    """How the programs of a machine share connections. event: workers that have many connections each, as in nginx.
    process: processes or threads that have one connection each, as in Apache. Unless set, the server is no machine:
    it handles packets at once."""
    workers: PositiveCount | None = None
    """Number of workers of concurrency event, at most 65536. A worker uses one CPU at a time. Unless set, one for each
    CPU."""
    processes: PositiveCount | None = None
    """Number of processes of concurrency process, at most 65536; 128 unless set. A connection that finds no free
    process waits until one closes its connection."""
    per_connection: Duration | None = None
    """CPU time to accept and close a connection; 20us unless set."""
    per_request: Duration | None = None
    """CPU time to answer a request, in addition to per_kib; 30us unless set."""
    per_kib: Duration | None = None
    """CPU time for each KiB of the body of a response or of a POST; 1us unless set."""
    per_packet: Duration | None = None
    """CPU time of the network stack for each packet that arrives. Zero unless set. Only without concurrency."""
    per_data: Duration | None = None
    """CPU time for each segment with data or FIN that arrives, and each packet that is not TCP. Zero unless set. Needs
    concurrency."""
    per_ack: Duration | None = None
    """CPU time for each acknowledgment without data that arrives. Zero unless set. Needs concurrency."""
    per_duplicate_ack: Duration | None = None
    """CPU time for each acknowledgment that arrives and acknowledges nothing new. Unless set, as per_ack. Needs
    concurrency."""
    per_syn: Duration | None = None
    """CPU time for each SYN that arrives. Zero unless set. Needs concurrency."""
    per_interrupt: Duration | None = None
    """CPU time for each interrupt: a packet arrives at a CPU that handles no other packet. Packets that wait together
    share one. Zero unless set. Needs concurrency."""
    per_timer: Duration | None = None
    """CPU time for each timer of TCP that fires. Zero unless set. Needs concurrency."""
    per_frame: Duration | None = None
    """CPU time for each frame that leaves. With segmentation offload, the default, several segments of a connection
    that leave together are one frame. Zero unless set. Needs concurrency."""
    per_segment: Duration | None = None
    """CPU time for each segment that leaves, in addition to per_frame. Zero unless set. Needs concurrency."""
    per_retransmission: Duration | None = None
    """CPU time for each segment that is sent again, in addition to per_frame and per_segment. Zero unless set. Needs
    concurrency."""
    per_wakeup: Duration | None = None
    """CPU time when a program that slept goes on. Requests that a worker finds together share it. A worker that finds
    more to do has not slept. Also for each piece of a response that waits for room in the send
    buffer. Zero unless set. Needs concurrency."""
    per_doubling: Duration | None = None
    """CPU time of a request for each doubling of the open connections above 256, whose state leaves the CPU's caches.
    Zero unless set. Needs concurrency."""
    per_runnable: Duration | None = None
    """CPU time of each job of a process for each other process that wants to run. Zero unless set. Needs
    concurrency process."""
    per_tick: Duration | None = None
    """CPU time of each CPU in each millisecond for the kernel's own work; less than 1ms. Zero unless set. Needs
    concurrency."""
    wakeup_latency: Duration | None = None
    """Time from the moment when a program that slept has something to do until it wants a CPU. It takes no CPU time.
    Zero unless set. Needs concurrency."""
    interrupt_interval: Duration | None = None
    """Shortest time between two interrupts of a CPU. A packet that arrives sooner causes none, and is not held back.
    Zero unless set. Needs concurrency."""
    fin_with_data: bool | None = None
    """Whether the FIN of a connection that the server closes leaves with the last data. Unless it is true, the FIN
    leaves in a frame of its own. Needs concurrency."""
    requests_per_connection: PositiveCount | None = None
    """Number of requests after which the server closes a connection. Unless set, the server keeps a connection as long
    as the client wants."""
    accept_queue: PositiveCount | None = None
    """Maximum number of connections that wait for the server to accept them. The server drops a SYN that finds this
    queue full. With concurrency the server also ignores the segment that completes a handshake. Unlimited unless
    set."""
    syn_queue: PositiveCount | None = None
    """Maximum number of connections whose handshake is not complete. The server drops a SYN that finds as many.
    Unlimited unless set. Needs concurrency."""

    @property
    def given(self) -> dict[str, Any]:
        """The values that are set here."""
        return {name: value for name in _VALUES if (value := getattr(self, name)) is not None}

    def resolve(self) -> dict[str, Any]:
        """What the engine is told: every field but preset."""
        given = self.given
        numbers = PRESETS[FLAT].values | PRESETS[self.preset or FLAT].values
        values = {field: number.value for field, number in numbers.items()}
        return dict.fromkeys(_VALUES) | values_beside(values, given) | given


_VALUES = tuple(field for field in ModelValues.model_fields if field != "preset")


class ServerModel(ModelValues):
    """The simulated server: how much CPU time its work takes.

    Without concurrency the server handles packets at once, and only connections, requests and bytes wait for a CPU.
    With it, the server is a machine: packets, TCP timers, output and programs wait for a CPU, packets first. Fields
    that are left out may have values of preset or file, and count as set then.
    """

    file: _Path | None = None
    """Path of a model file: TOML, or JSON if its name ends in .json. It has fields of this table, which count unless
    they are set here, and it may have a table fit with anything in it. Results keep its content. Not beside preset,
    which a model file may have. In an experiment file the path is relative to the directory of that file."""

    @model_validator(mode="after")
    def _one_source(self) -> ServerModel:
        if self.file is not None and self.preset is not None:
            message = "stands beside file, which may have a preset of its own; leave out one of them"
            raise FieldError("preset", message, self.preset)
        return self

    def resolve(self) -> dict[str, Any]:
        """What the engine is told: every field but preset and file.

        Raises:
            ValueError: the model has a file, which must be read first (`model_files.filled_in`).
        """
        if self.file is not None:
            raise ValueError(f"{self.file}: this model file has not been read")
        return super().resolve()


def values_beside(values: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a preset or file. If programs of a concurrency are ``given``, those of another are left out."""
    concurrency = given.get("concurrency")
    if concurrency is None:
        return dict(values)
    others = {field for kind, fields in _PROGRAMS.items() if kind != concurrency for field in fields}
    return {field: value for field, value in values.items() if field not in others}
