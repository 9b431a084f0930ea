"""Swept fields as axes and as families of curves: their names, and their values as numbers with a unit."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

from waspbench.experiment.clients import Clients
from waspbench.experiment.quantities import A_SECOND, BITS_A_SECOND, BYTES, MILLISECONDS, SHARE, Unit, quantity
from waspbench.figures.figure import Axis
from waspbench.results.columns import value_text

FieldKind = Literal["load", "rtt", "loss", "other"]

GROUP = "group"
"""Stands among swept fields where each group of clients has curves of its own."""
RESULT = "result"
"""Stands among swept fields where each of several results has curves of its own."""

_OF_CLIENTS: dict[tuple[str, ...], tuple[str, str, FieldKind]] = {
    ("count",): ("clients", "clients", "load"),
    ("arrivals", "rate"): ("arrivals", "arrivals", "load"),
    ("rtt",): ("RTT", "round-trip time", "rtt"),
    ("loss",): ("loss", "packet loss", "loss"),
    ("loss", "rate"): ("loss", "packet loss", "loss"),
    ("loss", "up"): ("loss up", "packet loss up", "loss"),
    ("loss", "up", "rate"): ("loss up", "packet loss up", "loss"),
    ("loss", "down"): ("loss down", "packet loss down", "loss"),
    ("loss", "down", "rate"): ("loss down", "packet loss down", "loss"),
    ("bandwidth",): ("bandwidth", "bandwidth", "other"),
    ("bandwidth", "down"): ("bandwidth down", "bandwidth down", "other"),
    ("bandwidth", "up"): ("bandwidth up", "bandwidth up", "other"),
    ("mtu",): ("MTU", "MTU", "other"),
    ("think",): ("pause", "pause", "other"),
    ("workload", "size"): ("file size", "file size", "other"),
    ("profile",): ("profile", "access profile", "other"),
    ("tcp", "congestion"): ("congestion control", "congestion control", "other"),
    ("tcp", "recovery"): ("loss recovery", "loss recovery", "other"),
    ("tcp", "ecn"): ("ECN", "ECN", "other"),
}
"""What fields of groups of clients are called, by the ends of their paths: in a legend, on an axis, and their kind."""

_IMPAIRMENTS: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    ("jitter", ("deviation", "mean", "max"), "jitter", "jitter"),
    ("reorder", ("share",), "reordering", "packets overtaken"),
    ("duplicate", ("share",), "duplication", "packets duplicated"),
    ("corrupt", ("share",), "corruption", "packets corrupted"),
)


def _parts(parts: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """What stands behind the name of an impairment in a path: nothing, or one of its parts."""
    return ((), *((part,) for part in parts))


_OF_CLIENTS |= {
    (name, *way, *part): (" ".join((short, *way)), " ".join((long, *way)), "other")
    for name, parts, short, long in _IMPAIRMENTS
    for way in ((), ("down",), ("up",))
    for part in _parts(parts)
}

_OF_CLIENTS |= {
    ("trace", *way, *part): (" ".join(("trace", *way)), " ".join(("rate trace", *way)), "other")
    for way in ((), ("down",), ("up",))
    for part in _parts(("file",))
}

_OF_CLIENTS |= {
    ("queue", *way, *part): (" ".join(("queue", *way)), " ".join(("queue", *way)), "other")
    for way in ((), ("down",), ("up",))
    for part in _parts(("kind",))
}

_OF_LINKS: tuple[tuple[str, str, FieldKind], ...] = (
    *((".".join((name, *part)), short, "other") for name, parts, short, _ in _IMPAIRMENTS for part in _parts(parts)),
    ("loss", "loss", "loss"),
    ("loss.rate", "loss", "loss"),
    ("rate", "rate", "other"),
    ("trace", "trace", "other"),
    ("trace.file", "trace", "other"),
    ("queue", "queue", "other"),
    ("queue.kind", "queue", "other"),
    ("delay", "delay", "other"),
    ("mtu", "MTU", "other"),
)

_OTHERS: dict[str, tuple[str, str, FieldKind]] = {
    "server.kind": ("server", "server", "other"),
    "workload.size": ("file size", "file size", "other"),
    **{
        f"network.shared.{way}.{field}": (f"shared link's {name} {way}", f"shared link's {name} {way}", kind)
        for way in ("up", "down")
        for field, name, kind in _OF_LINKS
    },
}
"""The same of other fields, by their paths."""

_AXES: dict[Unit, tuple[str, Callable[[float], float]]] = {
    MILLISECONDS: ("ms", float),
    BITS_A_SECOND: ("Mbit/s", lambda bps: bps / 1e6),
    BYTES: ("B", float),
    A_SECOND: ("1/s", float),
    SHARE: ("%", lambda share: 100 * share),
}
"""The units of axes, and what makes a number of it."""


def _named(path: str) -> tuple[str, str, FieldKind] | None:
    """The names of a field, and its kind; None of one that has none here."""
    first, *steps = path.split(".")
    if first != "clients":
        return _OTHERS.get(path) or _of_link(path) or _of_cross_traffic(path)
    for length in range(len(steps), 0, -1):
        found = _OF_CLIENTS.get(tuple(steps[-length:]))
        if found is not None:
            group = ".".join(steps[:-length])
            of = f" of {group}" if group else ""
            return found[0] + of, found[1] + of, found[2]
    return None


_LINK = re.compile(r"network\.(?P<link>shared|link|links\.[^.]+)\.(?:(?P<way>forward|backward)\.)?(?P<field>.+)")


def _of_link(path: str) -> tuple[str, str, FieldKind] | None:
    """The names of an option of a link, for both directions or for one."""
    found = _LINK.fullmatch(path)
    if found is None:
        return None
    for field, name, kind in _OF_LINKS:
        if field == found["field"]:
            of_kind = {"shared": "shared link", "link": "backbone"}
            link = of_kind.get(found["link"], found["link"].removeprefix("links."))
            text = " ".join([f"{link}'s {name}", *([found["way"]] if found["way"] else [])])
            return text, text, kind
    return None


_OF_CROSS_TRAFFIC = {"rate": "rate", "packet": "packet length", "model": "model"}


def _of_cross_traffic(path: str) -> tuple[str, str, FieldKind] | None:
    """The names of an option of cross traffic."""
    found = re.fullmatch(r"network\.cross_traffic\.([^.]+)\.(\w+)", path)
    name = None if found is None else _OF_CROSS_TRAFFIC.get(found[2])
    if found is None or name is None:
        return None
    text = f"{name} of cross traffic {found[1]}"
    return text, text, "other"


def kind_of(path: str) -> FieldKind:
    """What kind of field it is: a load, a round-trip time, a rate of loss, or another."""
    found = _named(path)
    return "other" if found is None else found[2]


def field_name(path: str) -> str:
    """What a legend calls a field."""
    found = _named(path)
    return _last(path) if found is None else found[0]


def _last(path: str) -> str:
    """The end of the path of a field that has no name here, and the group whose it is: ``workload.files of homes``."""
    first, *steps = path.split(".")
    fields = (place for place, step in enumerate(steps) if place and step in Clients.model_fields)
    place = next(fields, 0) if first == "clients" else 0
    last = ".".join((steps[place:] if place else [first, *steps])[-2:])
    return f"{last} of {'.'.join(steps[:place])}" if place else last


def setting(path: str, value: Any) -> str:
    """A field and its value, as a legend has them: ``loss 3%``. Groups and results are called by their names alone."""
    if path in (GROUP, RESULT):
        return str(value)
    is_share = kind_of(path) == "loss" and isinstance(value, (int, float))
    return f"{field_name(path)} {f'{100 * value:g}%' if is_share else value_text(value)}"


def axis_of(path: str, values: Sequence[Any]) -> tuple[Axis, list[float]]:
    """The axis of a field, and the place of each of its ``values``: numbers of one unit, or else names in the order in
    which they first come.
    """
    found = _named(path)
    label = _last(path) if found is None else found[1]
    numbers = numbers_of(path, values)
    if numbers is not None:
        places, unit = numbers
        return Axis(f"{label} ({unit})" if unit else label, log=spread(places)), places
    names = list(dict.fromkeys(value_text(value) for value in values))
    return Axis(label, categories=tuple(names)), [float(names.index(value_text(value))) for value in values]


def numbers_of(path: str, values: Sequence[Any]) -> tuple[list[float], str] | None:
    """The values of a field as numbers of one unit, which 0 need not have; None where they are none, or of several
    units.
    """
    read = [each for value in values if (each := _number(path, value)) is not None]
    units = {unit for number, unit in read if unit or number} or {""}
    if not read or len(read) < len(values) or len(units) > 1:
        return None
    numbers, [unit] = [number for number, _ in read], units
    return _sizes(numbers, values) if unit == "B" else (numbers, unit)


def _sizes(sizes: Sequence[float], values: Sequence[Any]) -> tuple[list[float], str]:
    """Bytes in the unit that their texts have: one that is binary as they are."""
    binary = any("i" in str(value) for value in values)
    least = min(filter(None, sizes), default=0)
    units = (("MiB", 1 << 20), ("KiB", 1 << 10)) if binary else (("MB", 10**6), ("KB", 10**3))
    unit, scale = next(((unit, scale) for unit, scale in units if least >= scale), ("B", 1))
    return [size / scale for size in sizes], unit


def _number(path: str, value: Any) -> tuple[float, str] | None:
    """A value and its unit."""
    if isinstance(value, bool):
        return None
    share = kind_of(path) == "loss"
    if isinstance(value, (int, float)):
        return (100 * value, "%") if share else (float(value), "")
    if not isinstance(value, str):
        return None
    try:
        plain = float(value)
    except ValueError:
        found = quantity(value)
    else:
        return (100 * plain, "%") if share else (plain, "")
    if found is None:
        return None
    unit, scaled = _AXES[found[1]]
    return scaled(found[0]), unit


LOG_FROM = 16.0
"""Ratio of the greatest to the least value from which an axis is logarithmic unless asked otherwise."""


def spread(places: Sequence[float]) -> bool:
    """Whether numbers are so far apart that their axis should be logarithmic."""
    return bool(places) and min(places) > 0 and max(places) / min(places) >= LOG_FROM
