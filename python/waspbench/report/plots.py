"""The figures of a page: what plotly.js draws them from, and which of them have room."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal

from waspbench.figures.figure import Figure
from waspbench.figures.plotly.axes import height, least_width
from waspbench.figures.plotly.panels import drawn
from waspbench.figures.style import is_matrix
from waspbench.report.swatches import Swatch, swatches


@dataclass(frozen=True)
class Plot:
    """One panel."""

    title: str
    height: int
    """In pixels."""
    least_width: int
    """In pixels; 0 where it can be read at any width."""


@dataclass(frozen=True)
class Plots:
    """A figure of a page."""

    number: int
    """Of those of the page, from 1."""
    figure: Figure
    plots: list[Plot]
    legend: list[Swatch]
    data: str
    """A list of what plotly.js draws each panel from, as JSON in which nothing can be taken for HTML."""

    @property
    def arrangement(self) -> Literal["one", "below", "beside"]:
        """How the panels stand: one alone, below each other, or beside each other where there is room."""
        if len(self.plots) == 1:
            return "one"
        below = self.figure.across == 1 or any(plot.least_width > WIDE for plot in self.plots)
        return "below" if below else "beside"

    @property
    def shares_x(self) -> bool:
        """Whether all panels show the same part of the axis along them."""
        first, *others = self.figure.panels
        alike = all(panel.x == first.x for panel in others)
        return bool(others) and alike and not first.x.categories and not is_matrix(first)


WIDE = 560
"""Pixels of a panel from which no other stands beside it."""


def plots_of(number: int, figure: Figure) -> Plots:
    """The figure with a number on a page."""
    return Plots(
        number=number,
        figure=figure,
        plots=[Plot(panel.title, height(figure, panel), least_width(panel)) for panel in figure.panels],
        legend=swatches(figure),
        data=in_page([drawn(figure, panel) for panel in figure.panels]),
    )


def in_page(value: Any) -> str:
    """JSON within an element ``script``."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def digest(script: str) -> str:
    """What a Content-Security-Policy names a script by that may run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
