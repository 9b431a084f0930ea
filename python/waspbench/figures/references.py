"""What a measurement can be held against: the throughput that clients could have at most."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from waspbench import _core
from waspbench.experiment.units import seconds
from waspbench.figures.values import Part
from waspbench.results.result import Result

INITIAL_WINDOW = 10 * 1460
"""Bytes that a server sends at once (RFC 6928, section 2); longer answers take more than one round trip."""


@dataclass(frozen=True)
class Model:
    """A curve that is computed for the points of a measured one."""

    name: str
    value: Callable[[Part], float | None]
    """In the unit of the axis; None where it does not apply."""
    note: str
    """What it is, for people."""


def limit(part: Part) -> float | None:
    """Most transactions a second that clients make before a server and links that take no time; None where their
    behaviour sets no such bound that is known here.

    In a closed loop it is N / (R + Z) with the least response time R, a round trip, and the mean pause Z (the
    asymptotic bound of operational analysis; Denning and Buzen, 1978). Clients with one connection have an answer of no
    more than an initial window in each round trip, and a connection of k requests takes one round trip more, or two
    where clients wait until it is closed. In an open loop it is the rate of arrivals, and no more than clients without
    a pause can make.
    """
    if part.result is None:
        return None
    groups = [group for group in part.result.clients if _is_meant(group, part.group)]
    found = [_limit_of(group, part.result) for group in groups]
    known = [each for each in found if each is not None]
    return sum(known) if known and len(known) == len(found) else None


def _is_meant(group: Mapping[str, Any], name: str | None) -> bool:
    return not group.get("background", False) if name is None else group["name"] == name


def _limit_of(group: Mapping[str, Any], result: Result) -> float | None:
    workload = result.scenario.get("workload", {})
    if workload.get("kind") != "single":
        return None
    shortest = _shortest(group, result, workload["size"])
    if group.get("arrivals") is not None:
        rate = _core.parse_frequency(group["arrivals"]["rate"])
        return min(rate, group["count"] / shortest) if shortest else rate
    pause = _pause(group)
    if shortest is None or pause is None or not shortest + pause:
        return None
    count: int = group["count"]
    return count / (shortest + pause)


def _shortest(group: Mapping[str, Any], result: Result, size: str) -> float | None:
    """Seconds that a transaction takes a client at least; None where more than round trips decides."""
    http = group.get("http", {})
    alone = (http.get("connections"), http.get("pipeline")) == (1, 1)
    long = any(_core.parse_bytes(each or "0B") > INITIAL_WINDOW for each in (size, http.get("body")))
    if not alone or long or http.get("read_rate") is not None:
        return None
    kept = http.get("requests_per_connection")
    besides = 2 if http.get("next_after") == "close" else 1
    return _round_trip(group, result) * (1 + besides / kept if kept else 1.0)


def _pause(group: Mapping[str, Any]) -> float | None:
    """Mean seconds before a client asks again; None where they have no mean that is written down."""
    think: Mapping[str, Any] = group.get("think") or {"model": "none"}
    means = {"none": "0s", "constant": think.get("value"), "exponential": think.get("mean")}
    mean = means.get(think["model"])
    return None if mean is None else seconds(mean)


def _round_trip(group: Mapping[str, Any], result: Result) -> float:
    """Seconds of a round trip, the shared link's delay included."""
    shared = result.scenario.get("network", {}).get("shared", {})
    delays = [shared[way]["delay"] for way in ("up", "down") if shared.get(way, {}).get("delay")]
    return seconds(group["rtt"]) + sum(map(seconds, delays))


LIMIT = Model(
    "limit",
    limit,
    "limit: clients / (RTT + pause), each new connection one RTT more, and in an open loop at most the rate of "
    "arrivals; it knows neither loss, nor the server, nor rates of links",
)
