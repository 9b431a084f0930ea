"""The layout of a panel in plotly.js's JSON: its size, its axes, and what stands beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from waspbench.figures import style
from waspbench.figures.figure import Axis, Figure, Panel
from waspbench.figures.plotly.values import INK, MUTED, PAPER, RULE, Plotly, wrapped

HEIGHT = 330
"""Pixels of a panel."""
HEIGHT_BELOW = 210
"""Pixels of a panel of a figure that has its panels below each other."""
CELL = 46
"""Pixels of a row of a matrix."""
CELL_WIDTH = 84
"""Pixels that a column of a matrix has at least."""
BESIDE = 96
"""Pixels above and below a matrix, and on the left of it."""
LETTERS = 42
"""Letters of a label before it goes on below."""
NAME_LETTERS = 18
"""Letters of a name along an axis before it goes on below."""
FEW_DECADES = 2.0
"""Decades of a logarithmic axis up to which 2 and 5 are beside it, too."""
MOST_DECADES = 7
"""Decades that are beside such an axis at most."""


def layout(figure: Figure, panel: Panel) -> Plotly:
    """The layout of a panel."""
    clear = "rgba(0,0,0,0)"
    return {
        "height": height(figure, panel),
        "margin": {"l": 56, "r": 16, "t": 26, "b": 44},
        "paper_bgcolor": PAPER,
        "plot_bgcolor": PAPER,
        "font": {"color": INK, "size": 12},
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {"namelength": -1, "align": "left"},
        "modebar": {"bgcolor": clear, "color": MUTED, "activecolor": INK},
        "xaxis": _along(figure, panel),
        "yaxis": _up(figure, panel),
    }


def height(figure: Figure, panel: Panel) -> int:
    """Pixels of a panel."""
    if style.is_matrix(panel):
        return BESIDE + CELL * len(panel.traces)
    return HEIGHT_BELOW if figure.across == 1 else HEIGHT


def least_width(panel: Panel) -> int:
    """Pixels that a panel needs to be read."""
    return BESIDE + CELL_WIDTH * len(panel.x.categories) if style.is_matrix(panel) else 0


def _along(figure: Figure, panel: Panel) -> Plotly:
    below = figure.across == 1 and panel is not figure.panels[-1]
    axis = replace(panel.x, label="") if below else panel.x
    if axis.categories:
        return _named(axis.label, axis.categories)
    ends = style.ends(panel.x, figure)
    return _numbered(axis, ends, style.ticks(panel.x, figure) or _round_ticks(axis, *ends))


def _up(figure: Figure, panel: Panel) -> Plotly:
    if style.is_matrix(panel):
        return _named("", [trace.name for trace in panel.traces]) | {"range": [len(panel.traces) - 0.5, -0.5]}
    ends = style.limits(style.together(panel, figure))
    return _numbered(panel.y, ends, _round_ticks(panel.y, *ends))


def _round_ticks(axis: Axis, low: float, high: float) -> list[float] | None:
    """The round values of a logarithmic axis, powers of ten or also 2 and 5; None of a linear one, and where there are
    less than two.
    """
    if not axis.log:
        return None
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    digits = (1, 2, 5) if math.log10(high / low) < FEW_DECADES else (1,)
    every = max(1, -(-(last - first) // MOST_DECADES))
    powers = [power for power in range(first, last + 1) if power % every == 0]
    values = [digit * 10.0**power for power in powers for digit in digits if low <= digit * 10.0**power <= high]
    return values if len(values) > 1 else None


def _named(label: str, names: Sequence[str]) -> Plotly:
    """An axis of names."""
    return _axis(label) | {
        "tickvals": list(range(len(names))),
        "ticktext": [wrapped(name, NAME_LETTERS) for name in names],
        "showgrid": False,
        "range": [-0.6, len(names) - 0.4],
    }


def _numbered(axis: Axis, ends: tuple[float, float], ticks: Sequence[float] | None) -> Plotly:
    """An axis of numbers between two ends. Both are given: where plotly must choose one of them it chooses both."""
    made = _axis(axis.label) | {"type": "log" if axis.log else "linear"}
    made["range"] = [math.log10(end) if axis.log else end for end in ends]
    if axis.log:
        made["tickformat"] = ",~r"  # or else 20 would be a small 2 beside a part of the axis
    if ticks is not None:
        made |= {"tickvals": list(ticks), "ticktext": [style.number(value) for value in ticks]}
    return made


def _axis(label: str) -> Plotly:
    return {
        "title": {"text": wrapped(label, LETTERS), "standoff": 8},
        "gridcolor": RULE,
        "linecolor": RULE,
        "tickcolor": RULE,
        "showline": True,
        "zeroline": False,
        "ticks": "outside",
        "automargin": True,
        "exponentformat": "none",
        "separatethousands": True,
    }
