"""What the legend of a page shows beside names: a piece of each curve, as a drawing of SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from waspbench.figures import style
from waspbench.figures.figure import Figure, Panel, Trace
from waspbench.figures.plotly.values import line_width
from waspbench.figures.style import Style

WIDTH, HEIGHT = 36, 14
"""Pixels of a swatch."""
RADIUS = 4.5
"""Pixels of a marker, from its middle."""
THIN = 0.4
"""What is between the points of a star, and how wide the arms of a cross are, as a part of the radius."""

_DASHES = {
    "solid": "none",
    "dashed": "7 4",
    "dotted": "2 3",
    "dashdot": "7 3 2 3",
    "longdash": "11 4",
    "longdashdot": "10 3 2 3",
}
_CORNERS = {
    "square": (4, 45.0),
    "diamond": (4, 0.0),
    "triangle-up": (3, 0.0),
    "triangle-right": (3, 90.0),
    "triangle-down": (3, 180.0),
    "triangle-left": (3, 270.0),
    "pentagon": (5, 0.0),
    "hexagon": (6, 0.0),
}
"""Corners of a marker, and the degrees from upwards of the first."""


@dataclass(frozen=True)
class Swatch:
    """A name of a legend with a piece of its curve."""

    name: str
    group: str
    """What its traces in the plots say as ``legendgroup``."""
    colour: str
    dashes: str
    """Of the line, as SVG has it; empty without a line."""
    width: float
    """Of the line in pixels."""
    marker: str
    """The path of the marker; empty without one."""
    hollow: bool
    """Whether none of its values may be trusted."""


def swatches(figure: Figure) -> list[Swatch]:
    """The names of a figure's legend; none where no panel has more than one."""
    looks = style.styles(figure)
    groups = {key: str(place) for place, key in enumerate(looks)}
    return [
        _swatch(trace, looks[style.key(trace)], groups[style.key(trace)], figure.panels[0])
        for trace in style.legend(figure)
    ]


def _swatch(trace: Trace, look: Style, group: str, panel: Panel) -> Swatch:
    return Swatch(
        name=trace.name,
        group=group,
        colour=look.colour,
        dashes=_DASHES[look.dash] if style.is_joined(trace, panel) else "",
        width=line_width(trace),
        marker=marker(look.marker),
        hollow=style.is_hollow(trace),
    )


def marker(name: str) -> str:
    """The path of a marker in the middle of a swatch; empty of none."""
    if name == "none":
        return ""
    if name == "circle":
        half = f"a{RADIUS:g},{RADIUS:g} 0 1 0"
        return f"M{WIDTH / 2 - RADIUS:g},{HEIGHT / 2:g}{half} {2 * RADIUS:g},0{half} {-2 * RADIUS:g},0Z"
    return "M" + "L".join(f"{x:.2f},{y:.2f}" for x, y in _outline(name)) + "Z"


def _outline(name: str) -> Iterator[tuple[float, float]]:
    """The corners of a marker in their order."""
    if name == "star":
        for corner in range(10):
            yield _at(36.0 * corner, RADIUS * (1.2 if corner % 2 == 0 else 1.2 * THIN))
    elif name in ("x", "cross"):
        turned = 45.0 if name == "x" else 0.0
        inner, outer = THIN * RADIUS * math.sqrt(2) / 1.2, math.hypot(RADIUS, THIN * RADIUS / 1.2)
        tip = math.degrees(math.atan(THIN / 1.2))
        for arm in range(4):
            yield _at(90.0 * arm + turned - tip, outer)
            yield _at(90.0 * arm + turned + tip, outer)
            yield _at(90.0 * arm + turned + 45.0, inner)
    else:
        corners, first = _CORNERS[name]
        for corner in range(corners):
            yield _at(first + 360.0 * corner / corners, RADIUS * 1.2)


def _at(degrees: float, radius: float) -> tuple[float, float]:
    """A place around the middle, so many degrees clockwise from upwards."""
    angle = math.radians(degrees)
    return WIDTH / 2 + radius * math.sin(angle), HEIGHT / 2 - radius * math.cos(angle)
