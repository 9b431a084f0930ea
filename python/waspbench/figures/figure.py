"""A figure as data: what is drawn, over which axes, and what is to be said of it. How it looks is a renderer's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["line", "points", "steps", "cells", "reference"]
"""``line``: points that are joined. ``points``: points that are not joined. ``steps``: values that hold until the next
one, as in a distribution. ``cells``: a row of a matrix, whose values are shades. ``reference``: a model, a limit or a
mark, which is no measurement.
"""


@dataclass(frozen=True)
class Axis:
    """An axis."""

    label: str
    """Quantity, with its unit in brackets: ``response time (ms)``."""
    log: bool = False
    """Whether the axis is logarithmic."""
    categories: tuple[str, ...] = ()
    """Names of the values 0, 1, 2 and so on, if they are no numbers; empty otherwise."""
    from_zero: bool = True
    """Whether a linear axis begins at 0 if no value is below 0."""


@dataclass(frozen=True)
class Trace:
    """A family of values. All its sequences have the same length."""

    name: str
    """Name in the legend."""
    x: tuple[float, ...]
    """Values along the horizontal axis."""
    y: tuple[float | None, ...]
    """Values along the vertical axis. None if there is no value; a line is broken there."""
    low: tuple[float | None, ...] = ()
    """Lower ends of the 90 % confidence intervals; empty if no value has an interval."""
    high: tuple[float | None, ...] = ()
    """Upper ends of the intervals. Both ends are None if the value has no interval. One of them is None if that end is
    not known, and an arrow points there. Intervals of ``steps`` are drawn as a band."""
    kind: Kind = "line"
    """How the values are drawn. line: joined. points: not joined. steps: each holds until the next one. cells: as
    shades in a row of a matrix. reference: as a model, a limit or a mark, which is no measurement."""
    invalid: tuple[bool, ...] = ()
    """Whether each value is not valid; empty if all are valid."""


@dataclass(frozen=True)
class Panel:
    """A pair of axes, and what is drawn on them."""

    x: Axis
    """The horizontal axis."""
    y: Axis
    """The vertical axis."""
    traces: tuple[Trace, ...]
    """What is drawn. In the legend, references come last."""
    title: str = ""
    """Title of the panel; empty if there is none."""


@dataclass(frozen=True)
class Figure:
    """A figure of one panel or several."""

    name: str
    """Name of the figure, such as ``throughput-vs-load``."""
    title: str
    """Title of the figure."""
    panels: tuple[Panel, ...]
    """The panels, row by row."""
    warnings: tuple[str, ...] = ()
    """Warnings, such as why some values are not valid. Every drawing has them."""
    notes: tuple[str, ...] = ()
    """Other remarks, such as that a mean is of one run."""
    across: int = 3
    """Largest number of panels side by side. Further panels are below them."""
    verdict: bool | None = None
    """Whether the figure is valid, if that does not depend on every value: a search rests on some of its runs. None if
    it does."""

    @property
    def valid(self) -> bool:
        """Whether the figure is valid: its ``verdict``, or without one whether every value is valid."""
        if self.verdict is not None:
            return self.verdict
        return not any(any(trace.invalid) for panel in self.panels for trace in panel.traces)
