"""What searches for capacity found, from which tests of them go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from waspbench.experiment.search import Find
from waspbench.results.capacity import CapacityResult, GroupLoad, PointCapacity
from waspbench.results.columns import no_line
from waspbench.results.loads import Load, LoadReading


def group(name: str, load: float, *, asks: str = "/", waits: str | None = "5s", background: bool = False) -> GroupLoad:
    return GroupLoad(name=name, load=load, background=background, asks=asks, waits=waits)


def reading(load: float, *, meets: bool | None = True, valid: bool = True, run: int = 0, **more: Any) -> LoadReading:
    fields: dict[str, Any] = {
        "throughput": 1.0,
        "server_cpu": None,
        "counts": True,
        "confirming": True,
        "notes": [] if valid else ["lag"],
    }
    return LoadReading(run=run, load=load, meets=meets, valid=valid, **(fields | more))


def load(clients: float, throughput: float, p99: float | None = None, **more: Any) -> Load:
    """The runs at a load, with the p99 of all that ended in milliseconds."""
    fields: dict[str, Any] = dict(no_line()) | {"load": clients, "fresh": False, "counts": "yes", "valid": True}
    judged = {} if p99 is None else {"all.p99": p99}
    return Load(**(fields | {"throughput": throughput, "judged": judged} | more))


def point(**fields: Any) -> PointCapacity:
    """A point at which 500 clients were found unless ``fields`` say otherwise."""
    told: dict[str, Any] = {
        "index": 0,
        "varied": {},
        "capacity": 500,
        "ci90": (490, 520),
        "load": 500,
        "groups": [group("people", 500)],
        "outcome": "found",
        "server_cpu": None,
        "saturated": None,
        "bottleneck": "server",
        "why": "saturated",
        "confirmed": True,
        "valid": True,
        "runs": 4,
        "readings": [reading(500)],
    }
    return PointCapacity(**(told | fields))


def searched(points: Sequence[PointCapacity], **about: Any) -> CapacityResult:
    """The result of a search at these points."""
    fields: dict[str, Any] = {
        "name": "e",
        "mode": "sim",
        "seed": 1,
        "method": "search",
        "find": "clients",
        "objectives": ["all.p99 < 1s"],
        "complete": True,
        "valid": all(each.valid for each in points),
        "points": list(points),
    }
    return CapacityResult(**(fields | about))


def found(find: Find = "clients", method: str = "search", **fields: Any) -> CapacityResult:
    """A result of one point, at which 500 clients were found unless ``fields`` say otherwise."""
    return searched([point(**fields)], find=find, method=method)
