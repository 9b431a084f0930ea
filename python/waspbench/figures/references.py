"""What a measurement can be held against: the throughput that clients could have at most, and models of TCP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from waspbench import _core
from waspbench.experiment.units import seconds
from waspbench.figures.values import Part
from waspbench.results.asking import workload_in
from waspbench.results.result import Result
from waspbench.results.wording import impairments, of_link
from waspbench.stats import theory

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
    return _summed(part, _limit_of)


def _summed(part: Part, of_group: Callable[[Mapping[str, Any], Result], float | None]) -> float | None:
    """The sum over the groups of clients that a part is of; None where one of them has none."""
    if part.result is None:
        return None
    groups = [group for group in part.result.clients if _is_meant(group, part.group)]
    found = [of_group(group, part.result) for group in groups]
    known = [each for each in found if each is not None]
    return sum(known) if known and len(known) == len(found) else None


def _is_meant(group: Mapping[str, Any], name: str | None) -> bool:
    return not group.get("background", False) if name is None else group["name"] == name


def _limit_of(group: Mapping[str, Any], result: Result) -> float | None:
    size = _size(group, result)
    if size is None:
        return None
    shortest = _shortest(group, result, size)
    if group.get("arrivals") is not None:
        rate = _core.parse_frequency(group["arrivals"]["rate"])
        return min(rate, group["count"] / shortest) if shortest else rate
    pause = _pause(group)
    if shortest is None or pause is None or not shortest + pause:
        return None
    count: int = group["count"]
    return count / (shortest + pause)


def _size(group: Mapping[str, Any], result: Result) -> str | None:
    """The size of the file that the clients of a group ask for; None if there are several."""
    workload = workload_in(result.scenario, group)
    size: str | None = workload.get("size") if workload.get("kind") == "single" else None
    return size


def _shortest(group: Mapping[str, Any], result: Result, size: str) -> float | None:
    """Seconds that a transaction takes a client at least; None where more than round trips decides."""
    http = group.get("http", {})
    alone = (http.get("connections"), http.get("pipeline")) == (1, 1)
    long = any(_core.parse_bytes(each or "0B") > INITIAL_WINDOW for each in (size, http.get("body")))
    if not alone or long or http.get("read_rate") is not None or _is_impaired(group, result):
        return None
    kept, round_trip = http.get("requests_per_connection"), _round_trip(group, result)
    besides = 2 if http.get("next_after") == "close" else 1
    return None if round_trip is None else round_trip * (1 + besides / kept if kept else 1.0)


def _pause(group: Mapping[str, Any]) -> float | None:
    """Mean seconds before a client asks again; None where they have no mean that is written down."""
    think: Mapping[str, Any] = group.get("think") or {"model": "none"}
    means = {"none": "0s", "constant": think.get("value"), "exponential": think.get("mean")}
    mean = means.get(think["model"])
    return None if mean is None else seconds(mean)


def _round_trip(group: Mapping[str, Any], result: Result) -> float | None:
    """Seconds of a round trip, the shared link's delay included; None in a network that is no star, of which the models
    here know nothing.
    """
    network = result.scenario.get("network", {})
    if network.get("kind", "star") != "star":
        return None
    shared = network.get("shared", {})
    delays = [shared[way]["delay"] for way in ("up", "down") if shared.get(way, {}).get("delay")]
    return seconds(group["rtt"]) + sum(map(seconds, delays))


LIMIT = Model(
    "limit",
    limit,
    "limit: clients / (RTT + pause), each new connection one RTT more, and in an open loop at most the rate of "
    "arrivals; it knows neither loss, nor the server, nor rates of links",
)

HEADERS = 40
"""Bytes of the headers of IP and TCP in a packet."""
LONG = 100
"""Segments of an answer from which the models of endless transfers are drawn: slow start says little then."""
SEGMENTS_PER_ACK = 1
"""b of the models, by which delayed acknowledgments slow the growth of the window down. Linux counts the segments that
are acknowledged, and not the acknowledgments (RFC 3465 with L unlimited), so that they do not.
"""
LEAST_RTO = 0.2
"""What a timeout of Linux has above the round-trip time, in seconds."""

Rate = Callable[[theory.Path], float]
"""Segments a second."""


def modelled(rate: Rate) -> Callable[[Part], float | None]:
    """What makes the goodput in Mbit/s of clients who take long answers one after the other, by a model of TCP under
    loss; None where their behaviour or their path is another, or an end's TCP is not that of Linux.
    """

    def of_group(group: Mapping[str, Any], result: Result) -> float | None:
        size, segment = _size(group, result), _mtu(group, result) - HEADERS
        if size is None or _core.parse_bytes(size) < LONG * segment:
            return None
        loss, rtt = chance((group.get("loss") or {}).get("down")), _round_trip(group, result)
        fits = _is_endless(group) and not _has_more(group, result) and _is_linux(group, result)
        if not loss or not rtt or not fits:
            return None
        count: int = group["count"]
        return count * rate(theory.Path(loss, rtt, rtt + LEAST_RTO, SEGMENTS_PER_ACK)) * segment * 8 / 1e6

    return lambda part: _summed(part, of_group)


def _mtu(group: Mapping[str, Any], result: Result) -> int:
    """The largest packet that goes from the server to a client of a group, in bytes."""
    shared = (result.scenario.get("network") or {}).get("shared") or {}
    return min(int(mtu) for mtu in (group.get("mtu", 1500), (shared.get("down") or {}).get("mtu")) if mtu)


def _is_linux(group: Mapping[str, Any], result: Result) -> bool:
    """Whether both ends have Linux's TCP, whatever its congestion control; a live server has its kernel's."""
    ends = [group.get("tcp"), result.scenario.get("server", {}).get("tcp")]
    known = [end for end in ends if end is not None]
    return all(end.get("preset") == "linux" and end.keys() <= {"preset", "congestion"} for end in known)


def _is_endless(group: Mapping[str, Any]) -> bool:
    """Whether its clients have one kept connection each, which is never idle."""
    http = group.get("http", {})
    kept = (http.get("connections"), http.get("pipeline"), http.get("requests_per_connection")) == (1, 1, None)
    return kept and http.get("read_rate") is None and group.get("arrivals") is None and _pause(group) == 0


def _has_more(group: Mapping[str, Any], result: Result) -> bool:
    """Whether links do what the models do not know: a rate or a loss of the shared link towards the clients, or an
    impairment beside loss.
    """
    shared = result.scenario.get("network", {}).get("shared", {}).get("down", {})
    own = [(group.get(option) or {}).get("down") for option in ("bandwidth", "trace")]
    limits = any(each is not None for each in (*own, *(shared.get(option) for option in ("rate", "trace", "loss"))))
    return limits or _is_impaired(group, result)


def _is_impaired(group: Mapping[str, Any], result: Result) -> bool:
    """Whether links do more to packets of a group than lose and delay them, in whichever direction."""
    shared = result.scenario.get("network", {}).get("shared", {})
    return bool(impairments(group)) or any(of_link(shared.get(way) or {}) for way in ("up", "down"))


def chance(loss: Mapping[str, Any] | None) -> float | None:
    """Probability that a packet is lost after one that was not, of a resolved process of loss: p of the models, which
    take what is lost together for one loss. None without loss, and of a process that is not known here.
    """
    if loss is None:
        return None
    if loss["model"] == "periodic":
        return 1 / int(loss["every"])
    of = {"independent": "rate", "two-state": "p"}.get(loss["model"])
    return None if of is None else _core.parse_probability(loss[of])


def mathis(path: theory.Path) -> float:
    """Segments a second that arrive, by Mathis, Semke, Mahdavi and Ott (1997): sqrt(3 / (2 b p)) / RTT."""
    return theory.aimd_window(path.segments_per_ack * path.loss) / path.rtt


_OF_MODELS = (
    "PFTK (Padhye et al., 1998) and Mathis (Mathis et al., 1997): goodput of Reno, which CUBIC exceeds where losses "
    "are rare, with one loss in 1/p packets, b = 1, first timeout RTT + 200 ms, and no other limit"
)
MODELS = (
    Model("PFTK", modelled(theory.pftk_throughput), _OF_MODELS),
    Model("Mathis", modelled(mathis), _OF_MODELS),
)
