"""Figures of so few points that a page stays small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from waspbench.figures.figure import Figure, Trace

MOST_POINTS = 2_000
"""Points of a trace at most."""

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
    values = [each for each in (trace.y, trace.low, trace.high) if each]
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
