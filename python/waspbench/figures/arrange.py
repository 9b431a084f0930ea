"""Points of a sweep as curves: one swept field along the axis, the others as families of curves or as panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from waspbench.errors import show
from waspbench.figures.fields import RESULT, FieldKind, axis_of, kind_of, setting
from waspbench.figures.figure import Axis
from waspbench.figures.sources import NoFigureError

MOST_PANELS = 6
"""Panels of a figure at most."""

Varied = Mapping[str, Any]


@dataclass(frozen=True)
class Curve:
    """The points of one curve, by their places among all, along the axis."""

    name: str
    points: tuple[int, ...]
    settings: Mapping[str, Any]
    """The values of the fields that make it a curve of its own."""


@dataclass(frozen=True)
class Arrangement:
    """Which points make which curves, over which axis."""

    path: str
    """The field along the axis."""
    axis: Axis
    places: tuple[float, ...]
    """Where each point stands on the axis."""
    panels: tuple[tuple[str, tuple[Curve, ...]], ...]
    """The curves of each panel, and the panel's title."""


def swept(points: Sequence[Varied]) -> list[str]:
    """The fields that have several values."""
    paths = list(dict.fromkeys(path for varied in points for path in varied))
    return [path for path in paths if len({_key(varied.get(path)) for varied in points}) > 1]


def _key(value: Any) -> str:
    return show(value, 10_000)


def arrange(
    points: Sequence[Varied],
    *,
    x: str | None = None,
    by: Sequence[str] = (),
    kind: FieldKind | None = None,
) -> Arrangement:
    """The curves of points.

    Args:
        points: The values of the swept fields at each point.
        x: The field along the axis; the first of ``kind`` unless given, or of any kind, a load if there is one.
        by: Fields whose values are families of curves; all others unless given. Those left out make panels.
        kind: What kind of field the axis must be of.

    Raises:
        NoFigureError: no such field is swept, or there are too many panels.
    """
    fields = swept(points)
    path = _along(fields, x, kind)
    others = [field for field in fields if field != path and not _follows(points, field, path)]
    others.sort(key=lambda field: field != RESULT)
    for field in by:
        if field == path:
            raise NoFigureError.because(
                f"has {field} along its axis; choose another axis (x), or curves of other fields"
            )
        if field not in fields:
            valid = ", ".join(each for each in fields if each != path) or "nothing"
            raise NoFigureError.because(f"has no curves for {field}; valid here: {valid}")
    families = list(by) or others
    rest = [field for field in others if field not in families]
    axis, places = axis_of(path, [varied.get(path) for varied in points])
    panels = [
        (
            title,
            tuple(_curve(points, name, chosen, places, families) for name, chosen in _split(points, indices, families)),
        )
        for title, indices in _split(points, range(len(points)), rest)
    ]
    if len(panels) > MOST_PANELS:
        raise NoFigureError.because(
            f"would have {len(panels)} panels for {', '.join(rest)}, and at most {MOST_PANELS} are drawn; "
            "choose points (DIR@path=value), or make curves of them too (by)"
        )
    return Arrangement(path, axis, tuple(places), tuple(panels))


def _along(fields: Sequence[str], x: str | None, kind: FieldKind | None) -> str:
    """The field along the axis."""
    known = ", ".join(fields) or "nothing"
    if x is not None:
        if x not in fields:
            raise NoFigureError.because(f"cannot be drawn against {x}, which does not vary here; what does: {known}")
        if kind is not None and kind_of(x) != kind:
            raise NoFigureError.because(
                f"cannot be drawn against {x}, which is no {_SPOKEN[kind]}; without -vs-{kind} it can"
            )
        return x
    fitting = [field for field in fields if kind_of(field) == (kind or "load")]
    if kind is None:
        fitting += fields
    if not fitting:
        needed = "a field" if kind is None else f"a {_SPOKEN[kind]} ({_EXAMPLES[kind]})"
        raise NoFigureError.because(f"needs a sweep of {needed}; what varies here: {known}")
    return fitting[0]


_SPOKEN: dict[FieldKind, str] = {"load": "load", "rtt": "round-trip time", "loss": "loss rate", "other": "field"}
_EXAMPLES: dict[FieldKind, str] = {
    "load": "clients.count or clients.arrivals.rate",
    "rtt": "clients.rtt",
    "loss": "clients.loss.rate",
    "other": "any",
}


def _follows(points: Sequence[Varied], field: str, path: str) -> bool:
    """Whether a field has one value only for each value of the one along the axis, as with ``zip``."""
    found: dict[str, set[str]] = {}
    for varied in points:
        found.setdefault(_key(varied.get(path)), set()).add(_key(varied.get(field)))
    return all(len(values) == 1 for values in found.values())


def _split(points: Sequence[Varied], indices: Sequence[int], fields: Sequence[str]) -> list[tuple[str, list[int]]]:
    """The points with the same values of ``fields``, and these values in words, in the order in which they come."""
    found: dict[str, list[int]] = {}
    names: dict[str, str] = {}
    for index in indices:
        values = [(field, points[index].get(field)) for field in fields]
        key = _key(values)
        found.setdefault(key, []).append(index)
        names[key] = ", ".join(setting(field, value) for field, value in values)
    return [(names[key], chosen) for key, chosen in found.items()]


def _curve(
    points: Sequence[Varied], name: str, chosen: Sequence[int], places: Sequence[float], families: Sequence[str]
) -> Curve:
    """The curve of the points ``chosen``, which have the same values of the fields ``families``."""
    ordered = tuple(sorted(chosen, key=lambda index: places[index]))
    return Curve(name, ordered, {field: points[ordered[0]].get(field) for field in families})
