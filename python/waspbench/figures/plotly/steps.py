"""Steps in plotly.js's JSON, such as distributions: they answer wherever they are pointed at."""

from __future__ import annotations

import math
import textwrap
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TypeVar

from waspbench.figures import style
from waspbench.figures.figure import Axis, Panel, Trace
from waspbench.figures.plotly.marks import DASHES, MARKER, marker
from waspbench.figures.plotly.values import LINE, SAID, Plotly, line_width, rounded, text
from waspbench.figures.style import Style

T = TypeVar("T")

MARKERS_A_TRACE = 8
"""Markers along steps, so that they are told apart in grey."""
GRID = 100
"""Places along steps that answer the pointer where there are none of their own."""


def steps(trace: Trace, look: Style, panel: Panel, ends: tuple[float, float], order: int) -> list[Plotly]:
    """The band of the intervals of steps if they have one, the steps, and a few markers along them."""
    shown = _with_grid(trace, panel.x, ends)
    common: Plotly = {"x": rounded(shown.x), "mode": "lines"}
    label = "<br>".join(text(line) for line in textwrap.wrap(panel.y.label, LINE))
    said = f"%{{meta[0]}}<br>%{{meta[1]}}: %{{x:{SAID}}}<br>%{{meta[2]}}: %{{y:{SAID}}}"
    line: Plotly = {
        **common,
        "name": text(trace.name),
        "meta": [text(trace.name), text(panel.x.label), label],
        "y": rounded(shown.y),
        "line": {"color": look.colour, "dash": DASHES[look.dash], "width": line_width(trace), "shape": "hv"},
    }
    marked = _along_steps(trace, panel, order)
    markers: Plotly = {
        "x": rounded([trace.x[place] for place in marked]),
        "y": rounded([trace.y[place] for place in marked]),
        "mode": "markers",
        "marker": marker(look, MARKER, [style.is_hollow(trace)]),
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
    if not shown.low:
        return [{**line, "hovertemplate": f"{said}<extra></extra>"}, markers]
    edge = {**common, "line": {"shape": "hv", "width": 0, "color": look.colour}, "hoverinfo": "skip"}
    red, green, blue = (int(look.colour[place : place + 2], 16) for place in (1, 3, 5))
    band = {"fill": "tonexty", "fillcolor": f"rgba({red},{green},{blue},{style.BAND})"}
    bounds = [rounded(pair) for pair in zip(shown.low, shown.high, strict=True)]
    return [
        {**edge, "y": rounded(shown.low)},
        {**edge, "y": rounded(shown.high), **band},
        {
            **line,
            "customdata": bounds,
            "hovertemplate": f"{said}<br>90 %: %{{customdata[0]:{SAID}}} to %{{customdata[1]:{SAID}}}<extra></extra>",
        },
        markers,
    ]


def _with_grid(trace: Trace, axis: Axis, ends: tuple[float, float]) -> Trace:
    """Steps with more places along their level parts, all over the axis, so that they answer wherever they are pointed
    at. What is drawn is the same.
    """
    if not trace.x:
        return trace
    low, high = (math.log(end) if axis.log else end for end in ends)
    along = [low + (high - low) * (place + 0.5) / GRID for place in range(GRID)]
    grid = [math.exp(place) if axis.log else place for place in along]
    every = sorted([*((x, place) for place, x in enumerate(trace.x)), *_between(trace, grid)])

    def at(values: Sequence[T]) -> tuple[T, ...]:
        return tuple(values[place] for _, place in every) if values else ()

    return replace(
        trace,
        x=tuple(x for x, _ in every),
        y=at(trace.y),
        low=at(trace.low),
        high=at(trace.high),
        invalid=at(trace.invalid),
    )


def _between(trace: Trace, grid: Sequence[float]) -> list[tuple[float, int]]:
    """Each of the places in a grid that is within the steps, with the number of the value that holds there."""
    return [(x, bisect_right(trace.x, x) - 1) for x in grid if trace.x[0] < x < trace.x[-1]]


def _along_steps(trace: Trace, panel: Panel, order: int) -> list[int]:
    """Places of values that are about equally far from each other along what is drawn, those of each curve a little
    further on than those of the curve before.
    """
    known = [
        place
        for place, (x, y) in enumerate(zip(trace.x, trace.y, strict=True))
        if y is not None and (y > 0 or not panel.y.log) and (x > 0 or not panel.x.log)
    ]
    if not known:
        return []
    x = _parts([trace.x[place] for place in known], [value for each in panel.traces for value in each.x], panel.x)
    values = [value for each in panel.traces for value in each.y if value is not None]
    y = _parts([trace.y[place] or 0.0 for place in known], values, panel.y)
    steps = zip(zip(x, y, strict=True), zip(x[1:], y[1:], strict=True), strict=False)
    along = [0.0, *accumulate(abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in steps)]
    wanted = [along[-1] * (mark + 0.3 + 0.06 * (order % 8)) / MARKERS_A_TRACE for mark in range(MARKERS_A_TRACE)]
    places = [min(range(len(along)), key=lambda place: abs(along[place] - each)) for each in wanted]
    return [known[place] for place in dict.fromkeys(places)]


def _parts(values: Sequence[float], of: Sequence[float], axis: Axis) -> list[float]:
    """Values as parts of an axis, from 0 at the least of those that are along it to 1 at the greatest."""
    placed = [math.log10(value) if axis.log else value for value in values]
    every = [math.log10(value) if axis.log else value for value in of if value > 0 or not axis.log]
    least, most = min(every), max(every)
    return [(value - least) / (most - least) if most > least else 0.0 for value in placed]
