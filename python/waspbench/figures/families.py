"""Panels of values over a swept field, with a curve for each of their families."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from waspbench.figures.arrange import Arrangement, Curve
from waspbench.figures.choice import choose, left_out
from waspbench.figures.figure import Axis, Panel, Trace
from waspbench.figures.values import Value, trace


@dataclass(frozen=True)
class Families:
    """The curves of a panel that are drawn."""

    curves: tuple[Curve, ...]
    traces: tuple[Trace, ...]
    points: tuple[int, ...]
    """Places of their points among all."""
    notes: tuple[str, ...]


def families(curves: Sequence[Curve], laid: Arrangement, values: Sequence[Value], unnamed: str) -> Families:
    """The curves of the ``values`` of all points; one that has no name is called ``unnamed``."""
    worth = [max((values[i].y or 0.0 for i in curve.points), default=None) for curve in curves]
    shown = tuple(curves[index] for index in choose(worth))
    traces = tuple(
        trace(curve.name or unnamed, [laid.places[i] for i in curve.points], [values[i] for i in curve.points])
        for curve in shown
    )
    points = tuple(i for curve in shown for i in curve.points)
    return Families(shown, traces, points, tuple(left_out(len(curves), len(shown), "curves")))


def panels(
    laid: Arrangement, values: Sequence[Value], label: Axis, unnamed: str, beside: Sequence[Trace] = ()
) -> tuple[list[Panel], list[int], list[str]]:
    """The panels of an arrangement with the ``values`` of all points and with what is drawn ``beside`` them in each,
    the places of the points that are drawn, and the notes.
    """
    made = [(title, families(curves, laid, values, unnamed)) for title, curves in laid.panels]
    drawn = sorted({i for _, each in made for i in each.points})
    notes = list(dict.fromkeys(note for _, each in made for note in each.notes))
    return [Panel(laid.axis, label, (*each.traces, *beside), title) for title, each in made], drawn, notes
