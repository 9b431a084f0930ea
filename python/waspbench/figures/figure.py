"""A figure as data: what is drawn, over which axes, and what is to be said of it. How it looks is a renderer's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["line", "points", "steps", "cells", "reference"]
"""``line``: points that are joined; ``points``: the same, not joined; ``steps``: values that hold until the next, as in
a distribution; ``cells``: a row of a matrix, whose values are shades; ``reference``: a model, a limit or a mark, which
is no measurement.
"""


@dataclass(frozen=True)
class Axis:
    """One axis."""

    label: str
    """What is shown, with its unit in brackets: ``response time (ms)``."""
    log: bool = False
    """Whether it is logarithmic."""
    categories: tuple[str, ...] = ()
    """Names of the values 0, 1, 2 ... where they are no numbers."""
    from_zero: bool = True
    """Whether a linear axis of values begins at 0 if none is below."""


@dataclass(frozen=True)
class Trace:
    """One family of values; all sequences have the same length."""

    name: str
    """What the legend says of it."""
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    """None where there is no value; a line is broken there."""
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    """Ends of the 90 % interval of each value; empty where no value has one. Both are None where a value has none, and
    one of them where that end is not known: an arrow points there. Those of ``steps`` are drawn as a band.
    """
    kind: Kind = "line"
    invalid: tuple[bool, ...] = ()
    """Whether a value must not be trusted; empty where all may be."""


@dataclass(frozen=True)
class Panel:
    """A pair of axes with what is drawn on them."""

    x: Axis
    y: Axis
    traces: tuple[Trace, ...]
    title: str = ""


@dataclass(frozen=True)
class Figure:
    """One figure, of one panel or several."""

    name: str
    """By which it is asked for: ``throughput-vs-load``."""
    title: str
    panels: tuple[Panel, ...]
    warnings: tuple[str, ...] = ()
    """What speaks against its values, such as why some must not be trusted. No drawing leaves them out."""
    notes: tuple[str, ...] = ()
    """What else must be known of it, such as that a mean is of one run."""
    across: int = 3
    """Panels beside each other at most; the others are below them."""
    verdict: bool | None = None
    """Whether what it is about may be trusted where that does not depend on every value: a search rests on some of its
    runs. None where it does.
    """

    @property
    def valid(self) -> bool:
        """Whether what it is about may be trusted; without a `verdict`, whether every value that is drawn may."""
        if self.verdict is not None:
            return self.verdict
        return not any(any(trace.invalid) for panel in self.panels for trace in panel.traces)
