"""A panel of a figure in plotly.js's JSON."""

from __future__ import annotations

from waspbench.figures import style
from waspbench.figures.figure import Figure, Panel
from waspbench.figures.plotly.axes import layout
from waspbench.figures.plotly.marks import hover, points, reference
from waspbench.figures.plotly.steps import steps
from waspbench.figures.plotly.values import Plotly, rounded, text

CELL_SIZE = 11
"""Pixels of the letters in a cell of a matrix."""


def drawn(figure: Figure, panel: Panel) -> Plotly:
    """A panel of a figure as plotly.js takes it: its traces and its layout. Each trace names the style it has in the
    figure by ``legendgroup``, its place among the figure's styles.
    """
    groups = {key: str(place) for place, key in enumerate(style.styles(figure))}
    traces = _matrix(panel) if style.is_matrix(panel) else _traces(figure, panel, groups)
    return {"data": traces, "layout": layout(figure, panel)}


def _traces(figure: Figure, panel: Panel, groups: dict[style.Key, str]) -> list[Plotly]:
    looks = style.styles(figure)
    made: list[Plotly] = []
    for order, trace in enumerate(panel.traces):
        look, common = looks[style.key(trace)], {"type": "scatter", "legendgroup": groups[style.key(trace)]}
        if trace.kind == "steps":
            made += [common | each for each in steps(trace, look, panel, style.ends(panel.x, figure), order)]
        elif trace.kind == "reference":
            made.append(common | reference(trace, look))
        else:
            made += [common | each for each in points(trace, look, panel)]
    return made


def _matrix(panel: Panel) -> list[Plotly]:
    """A row a trace, a shade a value; then the values, written in their cells."""
    across = range(len(panel.x.categories))
    cells = [(row, place, trace) for row, trace in enumerate(panel.traces) for place in across]
    written = [(row, place, trace) for row, place, trace in cells if trace.y[place] is not None]
    light = [style.shade(panel, trace.y[place] or 0.0) > style.LIGHT for _, place, trace in written]
    shades = [[None if y is None else style.shade(panel, y) for y in trace.y] for trace in panel.traces]
    return [
        {
            "type": "heatmap",
            "x": list(across),
            "y": list(range(len(panel.traces))),
            "z": [rounded(row) for row in shades],
            "zmin": 0,
            "zmax": 1,
            "text": [[hover(trace, place, panel) for place in across] for trace in panel.traces],
            "colorscale": "Cividis",
            "showscale": False,
            "xgap": 1,
            "ygap": 1,
            "hoverongaps": False,
            "hovertemplate": "%{text}<extra></extra>",
        },
        {
            "type": "scatter",
            "mode": "text",
            "x": [place for _, place, _ in written],
            "y": [row for row, _, _ in written],
            "text": [text(style.cell(trace, place)).replace("\n", "<br>") for _, place, trace in written],
            "textfont": {"size": CELL_SIZE, "color": ["#000" if each else "#fff" for each in light]},
            "hoverinfo": "skip",
        },
    ]
