"""Values with their intervals, and references, in plotly.js's JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace

from waspbench.figures import style
from waspbench.figures.figure import Panel, Trace
from waspbench.figures.plotly.values import DIGITS, LINE, PAPER, Plotly, line_width, rounded, shown, text
from waspbench.figures.style import Style

MARKER, HALO = 8, 13
"""Pixels of a marker, and of one that stands behind others."""

DASHES = {
    "solid": "solid",
    "dashed": "dash",
    "dotted": "dot",
    "dashdot": "dashdot",
    "longdash": "longdash",
    "longdashdot": "longdashdot",
}


def reference(trace: Trace, look: Style) -> Plotly:
    """A model, a limit or a mark, below what was measured."""
    return {
        "name": text(trace.name),
        "x": rounded(trace.x),
        "y": rounded(trace.y),
        "mode": "lines",
        "line": {"color": look.colour, "dash": DASHES[look.dash], "width": line_width(trace)},
        "hoverinfo": "name",
        "zorder": -1,
    }


def points(trace: Trace, look: Style, panel: Panel) -> list[Plotly]:
    """Values with their intervals, joined if they are a line over numbers, and arrows to ends that are not known."""
    halo, aside = style.is_halo(trace, panel), style.aside(trace, panel)
    shown = replace(trace, x=tuple(x + aside for x in trace.x))
    hollow = [style.is_invalid(trace, place) for place in range(len(trace.x))]
    values: Plotly = {
        "name": text(trace.name),
        "x": rounded(shown.x),
        "y": rounded(shown.y),
        "mode": "lines+markers" if style.is_joined(trace, panel) else "markers",
        "line": {"color": look.colour, "dash": DASHES[look.dash], "width": line_width(trace)},
        "marker": marker(look, HALO if halo else MARKER, hollow),
        "text": [hover(trace, place, panel) for place in range(len(trace.x))],
        "hovertemplate": "%{text}<extra></extra>",
        "cliponaxis": False,
        "zorder": 0 if halo else 1,
    }
    if any(end is not None for end in (*trace.low, *trace.high)):
        values["error_y"] = _errors(trace, look)
    return [values, *_arrows(shown, look)]


def marker(look: Style, size: int, hollow: Sequence[bool]) -> Plotly:
    """Markers, hollow where values must not be trusted."""
    fills = [PAPER if each else look.colour for each in hollow]
    alike = len(set(fills)) <= 1
    return {
        "symbol": look.marker,
        "size": size,
        "color": fills[0] if fills and alike else fills,
        "line": {"color": look.colour, "width": 1.5},
    }


def _errors(trace: Trace, look: Style) -> Plotly:
    """Intervals as distances from the values."""
    ends = list(zip(trace.y, trace.low, trace.high, strict=True))
    return {
        "type": "data",
        "symmetric": False,
        "array": rounded([0.0 if y is None or high is None else max(0.0, high - y) for y, _, high in ends]),
        "arrayminus": rounded([0.0 if y is None or low is None else max(0.0, y - low) for y, low, _ in ends]),
        "color": look.colour,
        "thickness": 1.3,
        "width": 3,
    }


def _arrows(trace: Trace, look: Style) -> list[Plotly]:
    """A mark above each value whose high end is not known, and below each whose low end is not."""
    ends = list(zip(trace.x, trace.y, trace.low, trace.high, strict=False))
    up = [(x, y) for x, y, low, high in ends if y is not None and low is not None and high is None]
    down = [(x, y) for x, y, low, high in ends if y is not None and low is None and high is not None]
    return [
        {
            "x": rounded([x for x, _ in places]),
            "y": rounded([y for _, y in places]),
            "mode": "markers",
            "marker": {"symbol": "arrow-down", "size": 10, "angle": angle, "standoff": 20, "color": look.colour},
            "hoverinfo": "skip",
            "cliponaxis": False,
        }
        for places, angle in ((up, 180), (down, 0))
        if places
    ]


def hover(trace: Trace, place: int, panel: Panel) -> str:
    """What is said of a value that is pointed at: its place, the value with its interval, whether to trust it."""
    x, y = trace.x[place], trace.y[place]
    where = panel.x.categories[round(x)] if panel.x.categories else style.number(float(f"{x:.{DIGITS}g}"))
    lines = [trace.name, f"{panel.x.label}: {where}" if panel.x.label else where, f"{panel.y.label}: {shown(y)}"]
    lines += _interval(trace, place)
    if style.is_invalid(trace, place):
        lines.append("NOT VALID")
    return "<br>".join(text(part) for line in lines for part in textwrap.wrap(line, LINE))


def _interval(trace: Trace, place: int) -> list[str]:
    """The interval of a value; of one without an end at least where it begins."""
    y = trace.y[place]
    low, high = (trace.low[place], trace.high[place]) if trace.low else (None, None)
    if low is None and high is None:
        return []
    if low is None or high is None:
        known, side = (low, "least") if high is None else (high, "most")
        return [f"at {side} this" if known == y else f"90 %: at {side} {shown(known)}"]
    return [f"90 %: {shown(low)} to {shown(high)}"]
