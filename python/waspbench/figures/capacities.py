"""Figures of capacity over a swept field: what a search found at each point, or the largest throughput over the loads
of a sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from waspbench.errors import show
from waspbench.experiment.metrics import Metric
from waspbench.experiment.search import Find
from waspbench.figures.arrange import Varied, arrange, swept
from waspbench.figures.families import panels
from waspbench.figures.fields import FieldKind, field_name, kind_of, numbers_of
from waspbench.figures.figure import Axis, Figure
from waspbench.figures.options import Options
from waspbench.figures.references import limit
from waspbench.figures.sources import NoFigureError, Source, called, only_search, only_study, point_name, settings_of
from waspbench.figures.sweeps import against_what, varied_points
from waspbench.figures.values import (
    HOLLOW,
    Part,
    Value,
    at,
    counted,
    not_trusted,
    runs_note,
    told,
    value_of,
    warnings_of,
)
from waspbench.results.answers import flaws, sought
from waspbench.results.capacity import SATURATED, CapacityResult, PointCapacity
from waspbench.results.study import StudyPoint, StudyResult
from waspbench.stats.objective import Outcome

LABELS: dict[Find, str] = {
    "throughput": "capacity (ok/s)",
    "clients": "most clients",
    "rate": "highest rate of arrivals (1/s)",
}


@dataclass(frozen=True)
class Capacities:
    """What was found at each point."""

    title: str
    """What it is."""
    of: str
    """The name of the experiment."""
    label: str
    """What is beside the axis."""
    varied: tuple[Varied, ...]
    values: tuple[Value, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def capacity(kind: FieldKind | None) -> Callable[[Sequence[Source], Options], Figure]:
    """What makes the figure of capacity against a field of a ``kind``, or against any."""

    def make(sources: Sequence[Source], options: Options) -> Figure:
        searched = len(sources) == 1 and isinstance(sources[0].found, CapacityResult)
        found = _searched(only_search(sources)) if searched else _largest(only_study(sources), kind)
        laid = arrange(found.varied, x=options.x, by=options.by, kind=kind)
        drawn, _, left = panels(laid, found.values, Axis(found.label), "capacity")
        return Figure(
            name="capacity" if kind is None else f"capacity-vs-{kind}",
            title=f"{found.title} against {against_what(laid)}: {found.of}",
            panels=tuple(drawn),
            warnings=found.warnings,
            notes=(*found.notes, *left),
        )

    return make


def _searched(result: CapacityResult) -> Capacities:
    """What a search found at each point."""
    points = [point for point in result.points if point.varied]
    if not points:
        raise NoFigureError.because("needs a search at the points of a sweep, and this one has one point")
    title = sought(result.find, result.objectives)
    return Capacities(
        title=title[0].upper() + title[1:],
        of=called(result),
        label=LABELS[result.find],
        varied=tuple(point.varied for point in points),
        values=tuple(value_found(point, result.find) for point in points),
        warnings=tuple(against_found(points, result)),
        notes=(*_intervals(points, result.find), *_bounds(points, result.find), *_bottlenecks(points)),
    )


def value_found(point: PointCapacity, find: Find) -> Value:
    """What was found at a point. Where it is only a lower bound, no upper end is known."""
    if point.capacity is None:
        return Value(invalid=point.valid is False)
    low, high = point.ends if point.is_lower_bound or find != "throughput" else point.ci90 or (None, None)
    y = float(point.capacity)
    return Value(y, y if low is None and point.is_lower_bound else low, high, point.valid is False)


def against_found(points: Sequence[PointCapacity], result: CapacityResult, mark: str = HOLLOW) -> list[str]:
    """What speaks against what was found at some of a search's points. What is wrong has that ``mark``."""
    over = [point for point in points if point.outcome is not None or result.complete]
    going_on = [point_name(point) for point in points if point not in over]
    nothing = [at(point_name(point), point.why) for point in over if point.capacity is None]
    wrong = [point for point in over if point.capacity is not None and point.valid is False]
    found = sum(point.capacity is not None for point in points)
    return [
        *([f"the search is not over at {len(going_on)} of {len(points)} points: {told(going_on)}"] if going_on else []),
        *([f"nothing found: {told(nothing)}"] if nothing else []),
        *not_trusted([_why(point, result) for point in wrong], found, mark),
    ]


def _why(point: PointCapacity, result: CapacityResult) -> str:
    """What is wrong with what was found at a point, or with the runs from which it follows."""
    notes = [note for reading in point.behind if reading.valid is False for note in reading.notes]
    return at(point_name(point), next(iter([*flaws(point, result), *notes]), "a run is not valid"))


def _intervals(points: Sequence[PointCapacity], find: Find) -> list[str]:
    """What the bars are."""
    if all(point.ci90 is None for point in points):
        return ["no intervals"]
    if find != "throughput":
        return ["bars: the loads between which the objective ceases to be met (90 %)"]
    runs = [(point_name(point), len(point.behind)) for point in points if point.behind]
    return runs_note(runs, bounded=True)


_WHY_OPEN: dict[Outcome | None, str] = {
    "not reached": "more was not tried",
    "emulator": "the emulator was the limit",
}


def _bounds(points: Sequence[PointCapacity], find: Find) -> list[str]:
    """Where there may be more than what was found, and why."""
    reasons: dict[str, list[str]] = {}
    for point in points:
        value = value_found(point, find)
        if value.low is not None and value.high is None:
            why = _WHY_OPEN.get(point.outcome, "no load was too much for the server")
            reasons.setdefault(why, []).append(point_name(point))
    said = [why if len(some) == len(points) else f"{why}: {told(some)}" for why, some in reasons.items()]
    return [f"arrows: at least so much; {'; '.join(said)}"] if said else []


def _bottlenecks(points: Sequence[PointCapacity]) -> list[str]:
    """What set the limit, and where."""
    found: dict[str, list[str]] = {}
    for point in points:
        if point.capacity is not None and not point.is_lower_bound:
            found.setdefault(point.bottleneck, []).append(point_name(point))
    if len(found) == 1:
        [only] = found
        return [f"bottleneck: {only}"]
    return [f"bottleneck: {'; '.join(f'{name} at {told(where)}' for name, where in found.items())}"] if found else []


@dataclass(frozen=True)
class _Loads:
    """The points of a sweep that differ in their load only."""

    rest: dict[str, Any]
    """The values of the other fields."""
    points: tuple[StudyPoint, ...]


def _largest(study: StudyResult, kind: FieldKind | None) -> Capacities:
    """The largest throughput over the loads of a sweep, as the WASP papers have capacity."""
    points = varied_points(study)
    fields = swept([point.varied for point in points])
    loads = [field for field in fields if kind_of(field) == "load" and not _is_background(field, points)]
    alike = _by_load(points, loads)
    if not loads or len(loads) == len(fields) or all(len(each.points) < 2 for each in alike):
        raise NoFigureError.because(
            "needs a search for capacity, or a sweep of a load (clients.count) and of another field besides, each with "
            "each"
        )
    if kind == "load":
        raise NoFigureError.because("is of a search for capacity; over the loads of a sweep there is one capacity")
    best = [_best(each) for each in alike]
    parts = [Part(settings_of(each.rest), point.result) for each, point in zip(alike, best, strict=True)]
    opens = [_why_open(each, point, loads) for each, point in zip(alike, best, strict=True)]
    values = [
        _bounded(value_of(part, Metric("throughput")), open_ended=why is not None)
        for part, why in zip(parts, opens, strict=True)
    ]
    named = ", ".join(map(field_name, loads))
    bounded = any(value.low is not None for value in values)
    return Capacities(
        title="Capacity",
        of=called(study),
        label=LABELS["throughput"],
        varied=tuple(each.rest for each in alike),
        values=tuple(values),
        warnings=(*warnings_of(parts), *_unfinished(alike)),
        notes=(
            f"capacity: the largest throughput over the sweep of {named}; its interval is that of the runs there",
            *runs_note(counted(parts), bounded=bounded),
            *_open_ended(alike, opens),
        ),
    )


def _by_load(points: Sequence[StudyPoint], loads: Sequence[str]) -> list[_Loads]:
    found: dict[str, list[StudyPoint]] = {}
    for point in points:
        found.setdefault(show(_rest(point, loads), 10_000), []).append(point)
    return [_Loads(_rest(some[0], loads), tuple(some)) for some in found.values()]


def _rest(point: StudyPoint, loads: Sequence[str]) -> dict[str, Any]:
    return {path: value for path, value in point.varied.items() if path not in loads}


def _is_background(field: str, points: Sequence[StudyPoint]) -> bool:
    """Whether a field is one of a group that is load beside what is measured."""
    groups = [group for point in points if point.result is not None for group in point.result.clients]
    return any(group.get("background", False) and field.startswith(f"clients.{group['name']}.") for group in groups)


def _best(alike: _Loads) -> StudyPoint:
    """The point of the largest throughput."""
    return max(alike.points, key=lambda point: -1.0 if point.result is None else point.result.throughput.mean)


def _bounded(value: Value, *, open_ended: bool) -> Value:
    """A capacity, without an upper end where it is only a lower bound."""
    if not open_ended or value.y is None:
        return value
    return Value(value.y, value.y if value.low is None else value.low, None, value.invalid)


def _unfinished(alike: Sequence[_Loads]) -> list[str]:
    """Where some of the loads have no run yet, so that the largest throughput may be another."""
    some = [
        f"{missing} of {len(each.points)} loads{f' at {name}' if (name := settings_of(each.rest)) else ''}"
        for each in alike
        if 0 < (missing := sum(point.result is None for point in each.points)) < len(each.points)
    ]
    return [f"no finished run at {told(some)}"] if some else []


OF_LIMIT = 0.95
"""Part of what clients can ask for at most from which they are the limit."""


def _why_open(alike: _Loads, best: StudyPoint, loads: Sequence[str]) -> str | None:
    """Why the server may have more than the largest throughput; None where it is saturated, or where more load brought
    less and clients could have asked for more.
    """
    if best.result is None:
        return None
    cpu = best.result.server_cpu.busy
    if cpu is not None and cpu >= SATURATED:
        return None
    asked = limit(Part("", best.result))
    if asked is not None and best.result.throughput.mean >= OF_LIMIT * asked:
        return "clients could not ask for more"
    higher = [each for each in alike.points if _amounts(each.varied, loads) > _amounts(best.varied, loads)]
    if not any(each.result is not None for each in higher):
        return "no higher load was tried"
    return None


def _amounts(varied: Varied, loads: Sequence[str]) -> list[float]:
    found = [numbers_of(path, [varied.get(path)]) for path in loads]
    return [each[0][0] if each else 0.0 for each in found]


def _open_ended(alike: Sequence[_Loads], opens: Sequence[str | None]) -> list[str]:
    """Where there may be more than the largest throughput, and why."""
    reasons: dict[str, list[str]] = {}
    for each, why in zip(alike, opens, strict=True):
        if why is not None:
            reasons.setdefault(why, []).append(settings_of(each.rest))
    said = [why if len(some) == len(alike) else f"{why}: {told(some)}" for why, some in reasons.items()]
    return [f"arrows: at least so much; {'; '.join(said)}"] if said else []
