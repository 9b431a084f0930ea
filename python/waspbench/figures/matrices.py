"""The figure of every combination of two swept fields: a column for each value of the one along the axis, a row for
each of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from waspbench.experiment.metrics import Metric
from waspbench.figures.arrange import Arrangement, Curve, arrange
from waspbench.figures.choice import choose, left_out
from waspbench.figures.fields import field_name, spread
from waspbench.figures.figure import Axis, Figure, Panel
from waspbench.figures.options import Options
from waspbench.figures.sources import NoFigureError, Source, called, only_study
from waspbench.figures.sweeps import Quantity, parts_of, quantity_of, varied_points
from waspbench.figures.values import Part, Value, absent, counted, runs_note, trace, value_of, warnings_of
from waspbench.results.columns import label_of, value_text

MOST_ROWS = 24

BOTH = Quantity("matrix", "Throughput and tail", (Metric("throughput"), Metric("p99")))


def matrix(metric: Metric | None) -> Callable[[Sequence[Source], Options], Figure]:
    """What makes the matrix of a ``metric``, of throughput and p99 if there is none."""
    quantity = BOTH if metric is None else quantity_of(metric)

    def make(sources: Sequence[Source], options: Options) -> Figure:
        study = only_study(sources)
        varied, parts = zip(*parts_of(varied_points(study), quantity, options), strict=True)
        laid = arrange(varied, x=options.x, by=options.by)
        rows = _rows(laid)
        kept = choose([_throughput(row, parts) for row in rows], MOST_ROWS)
        columns = dict(sorted(zip(laid.places, (value_text(each.get(laid.path)) for each in varied), strict=True)))
        x = Axis(field_name(laid.path), categories=tuple(columns.values()))
        shown = [rows[index] for index in kept]
        drawn = [parts[index] for row in shown for index in row.points]
        panels = [_panel(shown, laid, list(columns), parts, of, x) for of in quantity.metrics]
        few = [absent([value_of(part, of) for part in drawn], drawn, label_of(of)) for of in quantity.metrics]
        bounded = any(trace.low for panel in panels for trace in panel.traces)
        return Figure(
            name="matrix" if metric is None else f"{metric}-matrix",
            title=f"{quantity.title} of every combination: {called(study)}",
            panels=tuple(panels),
            warnings=tuple(warnings_of(drawn, "!")),
            notes=(
                f"shades: the higher, the lighter{_logarithmic(panels)}; grey: none",
                *_of_intervals([quantity.note] if quantity.note else runs_note(counted(drawn), bounded=bounded)),
                *(note for each in few for note in each),
                *left_out(len(rows), len(kept), "rows"),
            ),
        )

    return make


def _rows(laid: Arrangement) -> tuple[Curve, ...]:
    """The rows of a matrix.

    Raises:
        NoFigureError: there is none of two rows or more with a point in each cell at most.
    """
    if len(laid.panels) > 1:
        raise NoFigureError.because("has a row for each value of what --by names; name all fields besides the axis")
    [(_, rows)] = laid.panels
    if len(rows) < 2:
        raise NoFigureError.because("needs a sweep of two fields or more")
    if any(len({laid.places[index] for index in row.points}) < len(row.points) for row in rows):
        raise NoFigureError.because("has several points in one cell; choose points (DIR@path=value)")
    return rows


def _throughput(row: Curve, parts: Sequence[Part]) -> float | None:
    found = [parts[index].whole for index in row.points]
    return max((each.throughput.mean for each in found if each is not None), default=None)


def _panel(
    rows: Sequence[Curve], laid: Arrangement, columns: Sequence[float], parts: Sequence[Part], of: Metric, x: Axis
) -> Panel:
    """The matrix of one figure: its name is the panel's title, since what is beside the axis are the rows."""
    label = label_of(of)
    traces = []
    for row in rows:
        at = {laid.places[index]: parts[index] for index in row.points}
        values = [value_of(at[place], of) if place in at else Value() for place in columns]
        traces.append(trace(row.name, [float(place) for place in range(len(columns))], values, "cells"))
    known = [y for each in traces for y in each.y if y is not None]
    return Panel(x, Axis(label, log=spread(known)), tuple(traces), label)


def _logarithmic(panels: Sequence[Panel]) -> str:
    """Which shades go by the logarithm of the values."""
    found = [panel.title for panel in panels if panel.y.log]
    if not found:
        return ""
    return ", by logarithm" + (f" of {' and '.join(found)}" if len(found) < len(panels) else "")


def _of_intervals(notes: Sequence[str]) -> list[str]:
    """What is below the values, of a note on bars."""
    return [note.replace("bars:", "below the values:", 1) for note in notes]
