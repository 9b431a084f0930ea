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
REFERENCES = ("#808080", "#404040")
REFERENCE_DASHES = ("dashed", "dotted", "dashdot", "longdash", "longdashdot")
WIDE = 2.2
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
        again, dash = divmod(place, len(REFERENCE_DASHES))
        looks[each] = Style(REFERENCES[again % len(REFERENCES)], REFERENCE_DASHES[dash], "none")
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
    first and the last in any case, and then those of marks; None where the renderer chooses. Each needs ``room``, a
    part of the axis.
    """
    places = {x for trace in _along(axis, figure) if trace.kind == "line" for x in trace.x if x > 0 or not axis.log}
    if axis.categories or not 1 <= len(places) <= MOST_TICKS:
        return None
    if len(places) == 1:
        return list(places)
    marks = [mark for mark in _marks(axis, figure) if min(places) <= mark <= max(places)]
    places |= set(marks)
    first, *between, last = sorted(places)
    along = {place: math.log(place) if axis.log else place for place in places}
    least = (along[last] - along[first]) * room
    kept = [first, last]
    order = [
        *(mark for mark in marks if mark in between),
        *(place for place in reversed(between) if place not in marks),
    ]
    for place in order:
        if all(abs(along[other] - along[place]) > least - 1e-9 for other in kept):
            kept.append(place)
    return sorted(kept)


def _marks(axis: Axis, figure: Figure) -> list[float]:
    """Where marks stand upright, in the order in which they come."""
    upright = [trace for trace in _along(axis, figure) if trace.kind == "reference" and len(set(trace.x)) == 1]
    return list(dict.fromkeys(trace.x[0] for trace in upright))


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
    several = any(len(panel.traces) > 1 and not is_matrix(panel) for panel in figure.panels)
    return [found[each] for each in order] if several else []


def together(panel: Panel, figure: Figure) -> Panel:
    """A panel with the traces of all panels of a figure that have the same axis of values, for limits in common."""
    alike = [each for each in figure.panels if each.y == panel.y]
    return Panel(panel.x, panel.y, tuple(trace for each in alike for trace in each.traces))


def from_zero(panel: Panel) -> bool:
    """Whether a linear axis of values begins at 0: where no value is below. An interval may be, and is cut."""
    if panel.y.log or not panel.y.from_zero:
        return False
    return all(value is None or value >= 0 for trace in panel.traces for value in trace.y)


def bottom(panel: Panel) -> float | None:
    """Where a logarithmic axis of values begins: below the least value and the least end of a bar. A band may go on
    below, and so may a bar that is much longer than what is seen of it. None where the renderer chooses.
    """
    seen = [value for trace in panel.traces for value in trace.y if value is not None and value > 0]
    ends = [low for trace in panel.traces if trace.kind != "steps" for low in trace.low if low is not None and low > 0]
    if not panel.y.log or not seen:
        return None
    return max(min(seen) / MOST_BELOW, min(*seen, *ends, min(seen))) / ROOM_BELOW


MOST_BELOW = 10.0
"""How far bars go below the least value of a logarithmic axis at most, as a factor."""
ROOM_BELOW = 1.5
"""How far a logarithmic axis goes below the least value, as a factor."""
ROOM_ABOVE = 1.3
"""How far a logarithmic axis goes above the greatest value, as a factor."""
ROOM_BESIDE = 0.06
"""How far a linear axis that does not begin at 0 goes beyond the values, as a part of their range."""
HEADROOM = 1.08
"""How far an axis of values goes beyond the greatest of them."""
ROOM = 1.15
"""How far a linear axis of values goes beyond the greatest of them, where a model goes on above."""


def limits(panel: Panel) -> tuple[float, float]:
    """The ends of the axis of values."""
    if from_zero(panel):
        return 0.0, end_of(panel)
    least = bottom(panel)
    values = [value for trace in panel.traces for value in (*trace.y, *trace.low, *trace.high) if value is not None]
    if least is not None:
        return least, ROOM_ABOVE * max(values)
    if panel.y.log or not values:
        return (0.1, 1.0) if panel.y.log else (0.0, 1.0)
    low, high = min(values), top(panel) or max(values)
    beside = ROOM_BESIDE * (high - low) or 0.5
    return low - beside, high + beside


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


HALO = 9.0
"""Size of the markers of points that stand below those of lines, so that both are seen where they are one."""


def is_halo(trace: Trace, panel: Panel) -> bool:
    """Whether points may be at the places of lines, where they are larger and behind these."""
    lines = any(each.kind == "line" for each in panel.traces)
    return trace.kind == "points" and lines and not panel.x.categories


def is_joined(trace: Trace, panel: Panel) -> bool:
    """Whether its values are joined. Those of names are not."""
    return trace.kind != "points" and (trace.kind != "line" or not panel.x.categories)


def is_hollow(trace: Trace) -> bool:
    """Whether none of its values may be trusted."""
    known = [place for place, value in enumerate(trace.y) if value is not None]
    return bool(known) and all(is_invalid(trace, place) for place in known)


DODGE = 0.5
"""Part of the room of a name along an axis in which the values of all curves are."""


def aside(trace: Trace, panel: Panel) -> float:
    """How far the values of a trace stand beside the names along an axis, so that those of others have room."""
    beside = [each for each in panel.traces if each.kind in ("line", "points")]
    return DODGE * ((beside.index(trace) + 0.5) / len(beside) - 0.5) if panel.x.categories else 0.0


def is_matrix(panel: Panel) -> bool:
    """Whether a panel is a matrix, whose rows are named beside it."""
    return any(trace.kind == "cells" for trace in panel.traces)


def cell(trace: Trace, index: int) -> str:
    """What stands in a cell of a matrix: the value and below it its interval, with a mark where the value must not be
    trusted. Of an interval that is not even it is told how far each end is, or both ends where one is the value.
    """
    value = trace.y[index]
    if value is None:
        return ""
    low, high = (trace.low[index], trace.high[index]) if trace.low else (None, None)
    decimals = _decimals(value)
    said = f"{value:,.{decimals}f}{' (!)' if is_invalid(trace, index) else ''}"
    if low is None or high is None:
        return said
    more, less, half = high - value, value - low, (high - low) / 2
    below_zero = value - half < 0 <= low
    if round(half, decimals) == 0 or (abs(more - less) <= 2 * UNEVEN * half and not below_zero):
        return f"{said}\n± {_digits(half, decimals)}"
    if round(less, decimals) == 0 or round(more, decimals) == 0:
        return f"{said}\n{low:,.{decimals}f} to {high:,.{decimals}f}"
    return f"{said}\n+{more:,.{decimals}f} -{less:,.{decimals}f}"


UNEVEN = 0.2
"""How far a value is from the middle of its interval, as a part of half of it, from which that is uneven."""


def _digits(value: float, decimals: int) -> str:
    """A length in a cell; less than its last digit can say is told as that."""
    text = f"{value:,.{decimals}f}"
    return f"<{10**-decimals:.{decimals}f}" if value > 0 and round(value, decimals) == 0 else text


def _decimals(value: float) -> int:
    """Decimals with which a value of a cell and its interval are written: three digits of a value from 1 on, and three
    decimals of one below.
    """
    return next((digits for digits, least in enumerate((100, 10, 1)) if abs(value) >= least), 3)


LIGHT = 0.5
"""The shade from which a cell is light, so that what is written on it is black."""


def shade(panel: Panel, value: float) -> float:
    """The shade of a value of a matrix: 0 for the least of them, 1 for the greatest."""
    known = [each for trace in panel.traces for each in trace.y if each is not None]
    least, most = min(known), max(known)
    if most == least:
        return 0.0
    if panel.y.log and least > 0:
        return math.log(value / least) / math.log(most / least)
    return (value - least) / (most - least)


def is_empty(panel: Panel) -> bool:
    """Whether nothing measured is drawn in a panel."""
    return all(value is None for trace in panel.traces if trace.kind != "reference" for value in trace.y)
