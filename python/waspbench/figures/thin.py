"""Figures of so few points that a page and a file stay small.

A page may be zoomed into: `thinned` bounds the points of a trace and keeps its extremes. A file is drawn once:
`distinct` leaves out what cannot be seen in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from waspbench.figures.figure import Axis, Figure, Panel, Trace

MOST_POINTS = 2_000
"""Points of a trace at most."""

GRAIN = 1 / 1_000
"""The part of a curve's extent that nobody sees: 0.15 mm of 15 cm."""

T = TypeVar("T")


def thinned(figure: Figure) -> Figure:
    """A figure of which each trace has at most `MOST_POINTS` points."""
    panels = (replace(panel, traces=tuple(map(thinned_trace, panel.traces))) for panel in figure.panels)
    return replace(figure, panels=tuple(panels))


def thinned_trace(trace: Trace, most: int = MOST_POINTS) -> Trace:
    """A trace of at most ``most`` points, in their order: the first and the last, and of each of equally long parts
    between them the least and the greatest value and ends of intervals, the first gap, and the first value that must
    not be trusted. A trace of no more points, and a row of a matrix, is what it was.
    """
    count = len(trace.x)
    if count <= most or trace.kind == "cells":
        return trace
    values = _values(trace)
    marks = [mark for mark in ([value is None for value in trace.y], trace.invalid) if any(mark)]
    parts = (most - 2) // (2 * len(values) + len(marks))
    kept = {0, count - 1}
    for part in range(parts):
        places = range(1 + part * (count - 2) // parts, 1 + (part + 1) * (count - 2) // parts)
        for each in values:
            kept |= _extremes(each, places)
        for mark in marks:
            kept.update([place for place in places if mark[place]][:1])
    return _at(trace, sorted(kept))


def distinct(trace: Trace, panel: Panel, grain: float = GRAIN) -> Trace:
    """A trace of a panel without the points that look as the last one before them that stays: place, value and ends of
    the interval differ by less than ``grain`` of what the trace takes up on an axis, and both may be trusted, or
    neither. A gap stays, and so do the ends of the trace.
    """
    looks = list(
        zip(
            _places(trace.x, panel.x, grain),
            *(_places(each, panel.y, grain) for each in _values(trace)),
            *([trace.invalid] if trace.invalid else []),
            strict=True,
        )
    )
    kept = [0] if looks else []
    for place, look in enumerate(looks[1:-1], 1):
        if any(abs(new - old) >= 1 for new, old in zip(look, looks[kept[-1]], strict=True)):
            kept.append(place)
    return _at(trace, [*kept, len(looks) - 1] if len(looks) > 1 else kept)


def _values(trace: Trace) -> list[Sequence[float | None]]:
    return [each for each in (trace.y, trace.low, trace.high) if each]


def _places(values: Sequence[float | None], axis: Axis, grain: float) -> list[float]:
    """Where values are along an axis, in grains. A gap is infinitely far up, and what a logarithmic axis cannot show
    infinitely far down.
    """
    placed = [math.inf if value is None or math.isnan(value) else _place(value, axis) for value in values]
    known = [each for each in placed if math.isfinite(each)]
    step = grain * (max(known) - min(known)) if known else 0.0
    return [each / step if step and math.isfinite(each) else each for each in placed]


def _place(value: float, axis: Axis) -> float:
    if not axis.log:
        return value
    return math.log(value) if value > 0 else -math.inf


def _extremes(values: Sequence[float | None], places: Sequence[int]) -> set[int]:
    """The places of the least and the greatest of some values."""
    known = [(value, place) for place in places if (value := values[place]) is not None]
    return {min(known)[1], max(known)[1]} if known else set()


def _at(trace: Trace, places: Sequence[int]) -> Trace:
    """The points at these places."""

    def at(values: Sequence[T]) -> tuple[T, ...]:
        return tuple(values[place] for place in places) if values else ()

    return replace(
        trace, x=at(trace.x), y=at(trace.y), low=at(trace.low), high=at(trace.high), invalid=at(trace.invalid)
    )
