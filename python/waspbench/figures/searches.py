"""The figure of a search for capacity: what each load that was tried brought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from waspbench.experiment.conditions import Condition, objective
from waspbench.experiment.metrics import SCALES, Metric, metric
from waspbench.experiment.search import Find
from waspbench.figures.capacities import against_found
from waspbench.figures.choice import choose, left_out
from waspbench.figures.fields import spread
from waspbench.figures.figure import Axis, Figure, Kind, Panel, Trace
from waspbench.figures.options import Options
from waspbench.figures.sources import NoFigureError, Source, called, only_search, point_name
from waspbench.figures.values import Value, trace
from waspbench.results.answers import answer
from waspbench.results.capacity import CapacityResult, PointCapacity
from waspbench.results.columns import label_of
from waspbench.results.loads import Load

LOADS: dict[Find, str] = {"throughput": "clients", "clients": "clients", "rate": "arrivals (1/s)"}
"""What is beside the axis of loads."""

LOG_FROM = 4.0
"""Ratio of the highest to the lowest load from which their axis is logarithmic: a search goes by factors."""

THROUGHPUT = Metric("throughput")


@dataclass(frozen=True)
class _Search:
    """What the panels of a search have in common."""

    points: tuple[PointCapacity, ...]
    objectives: tuple[Condition, ...]
    find: Find
    x: Axis

    @property
    def alone(self) -> bool:
        """Whether it is of one point."""
        return len(self.points) == 1


def load_search(sources: Sequence[Source], options: Options) -> Figure:
    """Throughput, and what the objectives judge, at each load that was tried, and what was found."""
    result = only_search(sources)
    points = [point for point in result.points if point.loads]
    if not points:
        raise NoFigureError.because("needs a search with a finished run, and there is none")
    kept = choose([None if point.capacity is None else float(point.capacity) for point in points])
    shown = tuple(points[index] for index in kept)
    loads = [float(load.load) for point in shown for load in point.loads]
    search = _Search(
        shown,
        tuple(objective(text, "objectives") for text in result.objectives),
        result.find,
        Axis(LOADS[result.find], log=max(loads) / min(loads) >= LOG_FROM),
    )
    judged = dict.fromkeys(metric(name) for point in shown for load in point.loads for name in load.judged)
    panels = [_panel(search, each) for each in dict.fromkeys([THROUGHPUT, *judged])]
    return Figure(
        name="load-search",
        title=f"Search for capacity: {called(result)}",
        panels=tuple(panels),
        warnings=tuple(against_found(shown, result, "what was found")),
        notes=(*_said(search, result), *_of_marks(search), *left_out(len(points), len(kept), "points")),
        verdict=all(point.valid is not False for point in shown),
    )


def _said(search: _Search, result: CapacityResult) -> list[str]:
    """What was found at a single point, in the words of ``wasp show``."""
    return answer(search.points[0], result)[:1] if search.alone and search.points[0].capacity is not None else []


def _of_marks(search: _Search) -> list[str]:
    """What is drawn."""
    wrong = [load for point in search.points for load in point.loads if load.valid is False]
    hollow = (
        ["hollow: a run at this load is not valid; what was found rests on the runs at its own load"] if wrong else []
    )
    if search.alone:
        of = "each value is of all runs at its load, as in the table of wasp show; bars: 90 % intervals of several"
        return [of, *hollow]
    return ["lines: the runs by which the capacity was looked for; found: those from which it follows", *hollow]


def _panel(search: _Search, of: Metric) -> Panel:
    """The panel of one figure."""
    traces = _of_one(search.points[0], search, of) if search.alone else _of_several(search.points, of)
    known = [y for each in traces for y in each.y if y is not None]
    label = Axis(label_of(of), log=of.kind == "duration" and spread(known))
    if known:
        traces += _limits(search, of)
    if known and search.alone:
        traces += _found_marks(search.points[0], search.find, min(known) if label.log else 0.0, max(known))
    return Panel(search.x, label, tuple(traces))


def _value(load: Load, of: Metric) -> Value:
    """A figure of the runs at a load, in the unit of its axis."""
    invalid = load.valid is False
    if of == THROUGHPUT:
        low, high = load.throughput_ci90 or (None, None)
        return Value(load.throughput, low, high, invalid)
    value = load.judged.get(str(of))
    return Value(None if value is None else value * SCALES[of.kind][1], invalid=invalid)


def _trace(name: str, loads: Sequence[Load], of: Metric, kind: Kind = "line") -> Trace:
    return trace(name, [float(load.load) for load in loads], [_value(load, of) for load in loads], kind)


def _of_one(point: PointCapacity, search: _Search, of: Metric) -> list[Trace]:
    """The loads of one point, by what became of them. Fresh runs that were made at another load than the one that was
    found did not confirm that.
    """
    found: dict[str, list[Load]] = {}
    for load in sorted(point.loads, key=lambda load: load.fresh):
        elsewhere = load.fresh and load.load != point.load
        became = FRESH if load.fresh and not elsewhere else _became(load, search)
        found.setdefault(f"{became}, {FRESH}" if elsewhere else became, []).append(load)
    return [_trace(name, loads, of, "points" if loads[0].fresh else "line") for name, loads in found.items()]


FRESH = "fresh runs"
"""Those that were made at the load that others had found."""


def _became(load: Load, search: _Search) -> str:
    """What became of the runs at a load."""
    several = len(search.objectives) > 1
    asked = "the objectives" if several else search.objectives[0].text if search.objectives else ""
    return {
        "yes": f"meets {asked}" if asked else "counts",
        "objective": f"misses {'an objective' if several else asked}",
        "failed": "failed",
        "emulator": "emulator at its limit",
        "undecided": "too few transactions to tell",
    }[load.counts]


def _of_several(points: Sequence[PointCapacity], of: Metric) -> list[Trace]:
    """The loads of each point, and what was found at each."""
    traces = [_trace(point_name(point), [load for load in point.loads if not load.fresh], of) for point in points]
    found: dict[str, list[Load]] = {}
    for point in points:
        behind = _behind(point)
        if behind is not None:
            found.setdefault(_found(point), []).append(behind)
    return traces + [_trace(name, loads, of, "points") for name, loads in found.items()]


def _found(point: PointCapacity) -> str:
    """What a legend calls what was found."""
    return "found, at least" if point.is_lower_bound else "found"


def _behind(point: PointCapacity) -> Load | None:
    """The runs from which what was found follows."""
    here = [load for load in point.loads if load.load == point.load]
    return next((load for load in here if load.fresh), here[0] if here else None)


def _limits(search: _Search, of: Metric) -> list[Trace]:
    """Level lines at what the objectives allow."""
    loads = [float(load.load) for point in search.points for load in point.loads]
    ends = (min(loads), max(loads)) if min(loads) < max(loads) else (0.8 * loads[0], 1.25 * loads[0])
    asked = [each for each in search.objectives if each.metric == of]
    scale = SCALES[of.kind][1]
    return [Trace(each.text, ends, (each.limit * scale, each.limit * scale), kind="reference") for each in asked]


def _found_marks(point: PointCapacity, find: Find, low: float, high: float) -> list[Trace]:
    """Upright lines at the load that was found, and at the ends of the interval of one that was looked for."""
    if point.load is None:
        return []
    marks = [(_found(point), float(point.load))]
    if find != "throughput":
        marks += [("90 % interval", float(end)) for end in point.ends if end is not None and end != point.load]
    return [Trace(name, (load, load), (low, high), kind="reference") for name, load in marks]
