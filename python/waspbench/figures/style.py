"""The house style: what curves look like in every renderer, and how numbers stand beside them.

Each trace has a colour, a dash and a marker: no two of the first twelve have the same marker, so that a figure can be
read in grey and by the colour-blind. The colours are those of Okabe and Ito (2008) that stand out on
white as well as on black.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from waspbench.figures.figure import Axis, Figure, Panel, Trace

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31")
DASHES = ("solid", "dashed", "dotted", "dashdot")
MARKERS = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "x",
    "star",
    "triangle-down",
    "cross",
    "pentagon",
    "triangle-left",
    "hexagon",
    "triangle-right",
)
REFERENCE = "#808080"
REFERENCE_DASHES = ("dashed", "dotted", "dashdot")
WIDE = 2.8
"""Width in points of a model or a diagonal. It lies below the curves, and is wider, so that it is seen where both are
one."""
NARROW = 1.2
"""Width in points of a mark, which stands upright or is level."""

BAND = 0.2
"""How dense the band of the intervals of steps is, from 0 to 1."""
LEGEND_INSIDE = 6
"""Names in a legend that stands within the axes; of more it stands beside them."""
MOST_TICKS = 10
"""Values along an axis that are written beside it, each of them that has room; of more round numbers are."""
TICK_ROOM = 1 / 9
"""Part of an axis that a value beside it takes."""


@dataclass(frozen=True)
class Style:
    """How one trace looks, in every panel of a figure."""

    colour: str
    dash: str
    marker: str


Key = tuple[bool, str]
"""What has a style of its own: whether it is a reference, and its name."""


def key(trace: Trace) -> Key:
    """What the style of a trace goes by."""
    return trace.kind == "reference", trace.name


def styles(figure: Figure) -> dict[Key, Style]:
    """The style of each name in a figure, in the order in which they come, references last; these are grey."""
    keys = dict.fromkeys(key(trace) for panel in figure.panels for trace in panel.traces)
    measured = [each for each in keys if not each[0]]
    references = [each for each in keys if each[0]]
    looks = {each: style_at(place) for place, each in enumerate(measured)}
    for place, each in enumerate(references):
        looks[each] = Style(REFERENCE, REFERENCE_DASHES[place % len(REFERENCE_DASHES)], "none")
    return looks


def style_at(index: int) -> Style:
    """The style of the trace at a place."""
    return Style(
        colour=COLOURS[index % len(COLOURS)],
        dash=DASHES[index % len(DASHES)],
        marker=MARKERS[index % len(MARKERS)],
    )


def number(value: float) -> str:
    """A value as it stands beside an axis."""
    text = f"{value:,.10f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def reference_width(trace: Trace) -> float:
    """The width of a reference in points."""
    return NARROW if len(set(trace.x)) == 1 or len(set(trace.y)) == 1 else WIDE


def is_invalid(trace: Trace, index: int) -> bool:
    """Whether a value must not be trusted."""
    return bool(trace.invalid) and trace.invalid[index]


def ticks(axis: Axis, figure: Figure, room: float = TICK_ROOM) -> list[float] | None:
    """The values that are written beside the axis along panels: those at which there are lines, where they are few, the
    first and the last in any case; None where the renderer chooses. Each needs ``room``, a part of the axis.
    """
    places = {x for trace in _along(axis, figure) if trace.kind == "line" for x in trace.x if x > 0 or not axis.log}
    if axis.categories or not 2 <= len(places) <= MOST_TICKS:
        return None
    first, *between, last = sorted(places)
    along = {place: math.log(place) if axis.log else place for place in places}
    least = (along[last] - along[first]) * room
    kept = [first, last]
    for place in reversed(between):
        if all(abs(along[other] - along[place]) > least - 1e-9 for other in kept):
            kept.append(place)
    return sorted(kept)


def ends(axis: Axis, figure: Figure) -> tuple[float, float]:
    """The ends of the axis along panels, the same for all that have it."""
    places = [x for trace in _along(axis, figure) for x in trace.x if x > 0 or not axis.log] or [1.0]
    low, high = min(places), max(places)
    if axis.log:
        beside = (high / low) ** BESIDE if high / low > NEAR else 2.0
        return low / beside, high * beside
    beside = (high - low) * BESIDE or 0.5
    return low - beside, high + beside


def _along(axis: Axis, figure: Figure) -> list[Trace]:
    """The traces of all panels that have this axis along them."""
    return [trace for panel in figure.panels if panel.x == axis for trace in panel.traces]


BESIDE = 0.04
"""How far the axis along a panel goes on beyond its values, as a part of it."""
NEAR = 1.2
"""Ratio of the values along a logarithmic axis up to which it goes further on, so that round values are beside it."""


def legend(figure: Figure) -> list[Trace]:
    """A trace for each name of a legend: each once, and none where no panel has more than one."""
    found: dict[Key, Trace] = {}
    for trace in (trace for panel in figure.panels for trace in panel.traces):
        found.setdefault(key(trace), trace)
    order = styles(figure)
    several = any(len(panel.traces) > 1 for panel in figure.panels)
    return [found[each] for each in order] if several else []


def together(panel: Panel, figure: Figure) -> Panel:
    """A panel with the traces of all panels of a figure that have the same axis of values, for limits in common."""
    alike = [each for each in figure.panels if each.y == panel.y]
    return Panel(panel.x, panel.y, tuple(trace for each in alike for trace in each.traces))


def from_zero(panel: Panel) -> bool:
    """Whether a linear axis of values begins at 0: where no value is below. An interval may be, and is cut."""
    return not panel.y.log and all(value is None or value >= 0 for trace in panel.traces for value in trace.y)


def bottom(panel: Panel) -> float | None:
    """Where a logarithmic axis of values begins: below the least value and the least end of a bar. A band may go on
    below. None where the renderer chooses.
    """
    seen = [
        value
        for trace in panel.traces
        for value in (*trace.y, *(trace.low if trace.kind == "line" else ()))
        if value is not None and value > 0
    ]
    return min(seen) / ROOM_BELOW if panel.y.log and seen else None


ROOM_BELOW = 1.5
"""How far a logarithmic axis goes below the least value, as a factor."""
HEADROOM = 1.08
"""How far an axis of values goes beyond the greatest of them."""
ROOM = 1.15
"""How far a linear axis of values goes beyond the greatest of them, where a model goes on above."""


def end_of(panel: Panel) -> float:
    """Where a linear axis of values that begins at 0 ends."""
    greatest = max(
        (value for trace in panel.traces for value in (*trace.y, *trace.high) if value is not None), default=0
    )
    return top(panel) or (HEADROOM * greatest if greatest > 0 else 1.0)


def top(panel: Panel) -> float | None:
    """Where a linear axis of values ends, if a model or a diagonal would make it so long that the measured values are
    no longer told apart; None where everything fits. Level marks, such as an objective, are always within.
    """
    if panel.y.log:
        return None
    kept: list[float] = []
    models: list[float] = []
    for trace in panel.traces:
        values = [value for value in (*trace.y, *trace.high) if value is not None]
        if not values:
            continue
        rises = trace.kind == "reference" and min(trace.x) < max(trace.x) and min(values) < max(values)
        (models if rises else kept).extend(values)
    if not kept or not models or max(models) <= ROOM * max(kept) or max(kept) <= 0:
        return None
    return ROOM * max(kept)


def is_empty(panel: Panel) -> bool:
    """Whether nothing measured is drawn in a panel."""
    return all(value is None for trace in panel.traces if trace.kind != "reference" for value in trace.y)
