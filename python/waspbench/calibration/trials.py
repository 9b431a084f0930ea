"""The trials of a calibration: few, and as different as they can be in the work that they give to a server.

All are without loss. Those of the first stage have as much load as the server can take, and so tell how much that is;
those of the second stage have parts of it. A small MSS, and clients that acknowledge every segment, draw apart what
goes together otherwise: bytes and segments, segments and acknowledgments. So do clients that are far away: their
congestion windows make frames of few segments, and no two of their requests wake the server together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from waspbench import _core
from waspbench.experiment import Experiment
from waspbench.experiment.units import seconds

MANY = 100
"""Requests of a connection that is kept."""

SMALL_MSS, FULL_MSS = 536, 1460

DELAYED_ACK = "40ms"
"""Longest delay of an acknowledgment, as in the TCP preset linux."""

FIRST_WINDOW = 10
"""Segments that a server sends before the first acknowledgment (RFC 6928)."""

Asked = tuple[str, int]
"""What clients ask a server for: the size of a response, and the requests of a connection. How many requests the server
can answer depends on it."""


@dataclass(frozen=True)
class Answered:
    """What a server answered at full load."""

    rate: float
    """Requests a second."""
    size: float
    """Bytes of a response's body."""


@dataclass(frozen=True)
class Trial:
    """A run, or several alike."""

    connections: int
    """Number of clients, with one connection each."""
    size: str
    """Size of a response."""
    requests: int
    """Requests of a connection."""
    load: float = 1.0
    """Load as a share of what the server can answer; at 1, clients do not pause."""
    rtt: str = "1ms"
    """Round-trip time. None is so short that all packets of a run are handled at one instant."""
    mss: int = FULL_MSS
    every_ack: bool = False
    """Whether clients acknowledge every segment at once."""

    @property
    def asked(self) -> Asked:
        """What the server is asked for."""
        return self.size, self.requests


FULL = tuple(Trial(256, size, requests) for size in ("1KiB", "16KiB", "64KiB") for requests in (MANY, 1))
"""The first stage."""

PARTS = (
    Trial(16, "1KiB", MANY, 0.01),
    Trial(256, "1KiB", 1, 0.02),
    Trial(16, "1KiB", MANY, 0.1),
    Trial(16, "64KiB", MANY, 0.4),
    Trial(16, "1KiB", 1, 0.1),
    Trial(256, "1KiB", MANY, 0.1),
    Trial(256, "1KiB", MANY, 0.4),
    Trial(256, "1KiB", 1, 0.1),
    Trial(256, "1KiB", 1, 0.4),
    Trial(256, "16KiB", MANY, 0.4),
    Trial(256, "64KiB", 1, 0.4),
    Trial(256, "64KiB", MANY, 0.1),
    Trial(256, "16KiB", MANY, 0.4, mss=SMALL_MSS),
    Trial(256, "64KiB", MANY, 0.4, mss=SMALL_MSS),
    Trial(256, "16KiB", MANY, 0.4, every_ack=True),
    Trial(256, "64KiB", 1, 0.4, every_ack=True),
    Trial(4096, "1KiB", MANY, 0.1, "20ms"),
    Trial(4096, "1KiB", MANY, 0.4, "20ms"),
    Trial(4096, "1KiB", MANY, 1.0, "20ms"),
    Trial(4096, "1KiB", 1, 0.4, "20ms"),
    Trial(4096, "16KiB", MANY, 0.4, "20ms"),
    Trial(1024, "1KiB", MANY, 0.1, "50ms"),
    Trial(4096, "1KiB", MANY, 0.5, "50ms"),
    Trial(4096, "1KiB", 1, 1.0, "50ms"),
    Trial(256, "64KiB", MANY, 0.1, "50ms"),
    Trial(1024, "1KiB", 1, 0.1, "100ms"),
    Trial(4096, "1KiB", MANY, 1.0, "100ms"),
    Trial(512, "64KiB", MANY, 0.5, "100ms"),
    Trial(512, "64KiB", 1, 0.1, "100ms"),
)
"""The second stage. At the lightest load, what the CPU does whatever is asked for is a large part of its work. Clients
that are far away and do not pause ask for less than what a fast server can answer.
"""

QUICK_PARTS = (
    Trial(16, "1KiB", MANY, 0.01),
    Trial(16, "1KiB", MANY, 0.1),
    Trial(16, "1KiB", 1, 0.1),
    Trial(256, "1KiB", MANY, 0.1),
    Trial(256, "1KiB", MANY, 0.4),
    Trial(256, "1KiB", 1, 0.4),
    Trial(256, "16KiB", MANY, 0.4),
    Trial(256, "64KiB", MANY, 0.4, mss=SMALL_MSS),
    Trial(256, "64KiB", MANY, 0.4, every_ack=True),
    Trial(256, "64KiB", 1, 0.1),
    Trial(4096, "1KiB", MANY, 0.4, "20ms"),
    Trial(4096, "1KiB", MANY, 0.1, "20ms"),
)
"""The second stage of a quick calibration."""

SUPPOSED = 10_000.0
"""Requests a second that a server is supposed to answer where the first stage did not tell."""

MEASURE: dict[str, Any] = {"warmup": "2s", "duration": "5s"}
QUICK_MEASURE: dict[str, Any] = {"warmup": "1s", "duration": "2s"}


def has_one_size(server: Experiment) -> bool:
    """Whether clients ask for a resource of the server's own, whose size the calibration does not choose."""
    return server.server.path is not None or server.server.url is not None


def stages(server: Experiment, *, quick: bool) -> tuple[tuple[Trial, ...], tuple[Trial, ...]]:
    """The runs of both stages, none twice."""
    parts = QUICK_PARTS if quick else PARTS
    if not has_one_size(server):
        return FULL, parts
    first, second = (tuple(dict.fromkeys(replace(each, size="1KiB") for each in stage)) for stage in (FULL, parts))
    return first, second


def document(
    base: Mapping[str, Any], stage: Sequence[Trial], most: Mapping[Asked, Answered], *, runs: int, quick: bool
) -> dict[str, Any]:
    """The experiment file of a stage.

    Args:
        base: fields of the file besides clients, workload and measure.
        stage: the runs.
        most: what the server can answer, by what is asked for; empty in the first stage.
        runs: number of runs of each trial.
        quick: whether runs are short.
    """
    # Of a slow server, several parts of the load may come to the same run.
    found = list({str(run): run for run in (_settings(each, most) for each in stage)}.values())
    return {
        **base,
        "clients": [{"name": "clients"}],
        "workload": {"kind": "single"},
        "measure": {**(QUICK_MEASURE if quick else MEASURE), "runs": runs},
        "sweep": {"zip": {path: [run[path] for run in found] for path in found[0]}},
    }


def asked_of(varied: Mapping[str, Any]) -> Asked:
    """What the server is asked for in a run with these fields."""
    return str(varied["workload.size"]), int(varied["clients.http.requests_per_connection"])


def load_of(varied: Mapping[str, Any], most: Mapping[Asked, Answered]) -> float | None:
    """The load of a run with these fields, as a share of what the server can answer: 1 where clients do not pause, None
    if it is not known how much that is.
    """
    think, asked = varied["clients.think"], asked_of(varied)
    if think["model"] == "none":
        return 1.0
    if asked not in most:
        return None
    full = most[asked]
    every = seconds(think["mean"]) + _round_trips(full, asked) * seconds(varied["clients.rtt"])
    return int(varied["clients.count"]) / every / full.rate


def pauses(varied: Mapping[str, Any]) -> bool:
    """Whether clients pause in a run with these fields."""
    return bool(varied["clients.think"]["model"] != "none")


def is_limited_by_server(varied: Mapping[str, Any], full: Answered) -> bool:
    """Whether clients that did not pause waited for the server longer than for the network."""
    network = _round_trips(full, asked_of(varied)) * seconds(varied["clients.rtt"])
    return int(varied["clients.count"]) / full.rate > 2 * network


def _settings(trial: Trial, most: Mapping[Asked, Answered]) -> dict[str, Any]:
    """The fields of a run, by path."""
    return {
        "clients.count": trial.connections,
        "workload.size": trial.size,
        "clients.http.requests_per_connection": trial.requests,
        "clients.tcp.mss": trial.mss,
        "clients.tcp.delayed_ack": "0ms" if trial.every_ack else DELAYED_ACK,
        "clients.rtt": trial.rtt,
        "clients.think": _think(trial, most),
    }


def _think(trial: Trial, most: Mapping[Asked, Answered]) -> dict[str, Any]:
    """The pauses that make the load: each client asks once in connections / (load x most) seconds."""
    if trial.load >= 1:
        return {"model": "none"}
    full = most.get(trial.asked) or Answered(SUPPOSED, _core.parse_bytes(trial.size))
    every = trial.connections / (trial.load * full.rate)
    pause = every - _round_trips(full, trial.asked) * seconds(trial.rtt)
    return {"model": "none"} if pause <= 0 else {"model": "exponential", "mean": f"{max(1, round(pause * 1e6))}us"}


def _round_trips(full: Answered, asked: Asked) -> float:
    """Round trips that a request takes: one for the response, and of each connection one for the handshake and those in
    which the congestion window grows until it holds a response.
    """
    _, requests = asked
    growing = max(0, math.ceil(math.log2(full.size / FULL_MSS / FIRST_WINDOW + 1)) - 1)
    return 1 + (1 + growing) / requests
