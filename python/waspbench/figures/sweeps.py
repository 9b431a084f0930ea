"""Figures of sweeps: figures of tables against a swept field, with families of curves by the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from waspbench.errors import show
from waspbench.experiment.metrics import Metric
from waspbench.figures.arrange import MOST_PANELS, Arrangement, Curve, arrange
from waspbench.figures.families import families
from waspbench.figures.fields import GROUP, FieldKind, field_name, kind_of, setting, spread
from waspbench.figures.figure import Axis, Figure, Panel, Trace
from waspbench.figures.options import Options
from waspbench.figures.references import LIMIT, MODELS, Model
from waspbench.figures.sources import NoFigureError, Source, called, only_study, point_name
from waspbench.figures.values import Part, absent, counted, runs_note, value_of, warnings_of
from waspbench.results.checks import known_in_result
from waspbench.results.columns import label_of
from waspbench.results.result import Result
from waspbench.results.study import StudyPoint, StudyResult
from waspbench.suggestion import hint

MOST_MODELS = 4
"""Curves of one model at most; families that only a model tells apart share one where it is the same."""


@dataclass(frozen=True)
class Quantity:
    """What is drawn against a swept field."""

    name: str
    """In the names of figures."""
    title: str
    metrics: tuple[Metric, ...]
    """A panel each."""
    models: tuple[Model, ...] = ()
    note: str = ""
    """What must be known of its intervals, in place of how many runs they are over."""
    grows: bool = False
    """Whether it grows with the load: its axis is logarithmic where that of the load is, and its values are far apart,
    so that the growth is a straight line.
    """


SHARES = "bars: 90 % intervals of a share (Clopper and Pearson), or over the runs where these are wider"
"""What the intervals of errors are."""

QUANTITIES = (
    Quantity("throughput", "Throughput", (Metric("throughput"),), (LIMIT,), grows=True),
    Quantity("response-time", "Response time", (Metric("mean"), Metric("p99"))),
    Quantity("server-cpu", "Server CPU", (Metric("server_cpu"),)),
    Quantity("goodput", "Goodput", (Metric("goodput"),), MODELS, grows=True),
    Quantity("errors", "Errors", (Metric("errors"),), note=SHARES),
)


def quantity_of(metric: Metric) -> Quantity:
    """A figure that conditions name, such as ``phones.p99.9``."""
    title = label_of(metric).rpartition(" (")[0]
    note = SHARES if metric.name == "errors" else ""
    if metric.group is None:
        title = title[0].upper() + title[1:]
    return Quantity(str(metric), title, (metric,), note=note)


def against(quantity: Quantity, kind: FieldKind | None) -> Callable[[Sequence[Source], Options], Figure]:
    """What makes the figure of ``quantity`` against a field of a ``kind``, or against any."""

    def make(sources: Sequence[Source], options: Options) -> Figure:
        study = only_study(sources)
        points = varied_points(study)
        parts = parts_of(points, quantity, options)
        laid = arrange([varied for varied, _ in parts], x=options.x, by=options.by, kind=kind)
        if len(laid.panels) * len(quantity.metrics) > MOST_PANELS:
            raise NoFigureError.because(f"would have more than {MOST_PANELS} panels; make curves of fewer fields")
        own = [part for _, part in parts]
        made = [
            _drawn(title, metric, curves, laid, own, quantity)
            for title, curves in laid.panels
            for metric in quantity.metrics
        ]
        missing = len(study.points) - len(points)
        unbegun = [f"{missing} of {len(study.points)} points were not begun"] if missing else []
        drawn = [own[index] for index in sorted({index for each in made for index in each.points})]
        bounded = any(trace.low for each in made for trace in each.panel.traces)
        said = [quantity.note] if quantity.note else runs_note(counted(drawn), bounded=bounded)
        return Figure(
            name=quantity.name if kind is None else f"{quantity.name}-vs-{kind}",
            title=f"{quantity.title} against {against_what(laid)}: {called(study)}",
            panels=tuple(each.panel for each in made),
            warnings=(*warnings_of(drawn), *unbegun),
            notes=tuple(dict.fromkeys([*said, *(note for each in made for note in each.notes)])),
            across=len(quantity.metrics) if len(quantity.metrics) > 1 else 3,
        )

    return make


def varied_points(study: StudyResult) -> list[StudyPoint]:
    """The points of which it is known what they vary."""
    if not any(point.varied for point in study.points):
        raise NoFigureError.because("needs a sweep, and these results have one point")
    return [point for point in study.points if point.varied]


def _check_parts(quantity: Quantity, results: Sequence[Result]) -> None:
    """Makes sure that a result has the requests or the sessions that the figure is of.

    Raises:
        NoFigureError: none has.
    """
    found = [known_in_result(result) for result in results]
    for of in (metric for metric in quantity.metrics if metric.sessions):
        if not any(of.group in each.sessions for each in found):
            raise NoFigureError.because("is of whole sessions, and these clients make none")
    for of in (metric for metric in quantity.metrics if metric.request is not None):
        names = [name for each in found for name in (each.groups.get(of.group, ()) if of.group else each.requests)]
        if of.request not in names:
            known = list(dict.fromkeys(names))
            valid = f"valid here: {', '.join(known)}" if known else "no such request has a name"
            raise NoFigureError.because(f"is of a request that is not there; {hint(of.request, known)}{valid}")


def parts_of(points: Sequence[StudyPoint], quantity: Quantity, options: Options) -> list[tuple[dict[str, Any], Part]]:
    """The points with what they vary, or each group at each of them where the groups have curves of their own.

    Raises:
        NoFigureError: the figure is of a group that is not there, or has no curves for groups.
    """
    results = [point.result for point in points if point.result is not None]
    groups = list(dict.fromkeys(group.name for result in results for group in result.groups))
    [of] = {metric.group for metric in quantity.metrics}
    if of is not None and of not in groups:
        raise NoFigureError.because(
            f"is of a group that is not there; {hint(of, groups)}valid here: {', '.join(groups)}"
        )
    _check_parts(quantity, results)
    if GROUP not in options.by:
        return [(point.varied, Part(point_name(point), point.result, of)) for point in points]
    if of is not None or Metric("server_cpu") in quantity.metrics:
        raise NoFigureError.because(f"is of {of or 'all clients together'}, and has no curves for each group")
    return [
        ({**point.varied, GROUP: group}, Part(f"{point_name(point)}, {group}", point.result, group))
        for point in points
        for group in groups
    ]


def against_what(laid: Arrangement) -> str:
    """The field along the axis, in words."""
    name = field_name(laid.path)
    return {"clients": "load", "arrivals": "load"}.get(name, name)


@dataclass(frozen=True)
class _Drawn:
    """A panel of one figure of tables."""

    panel: Panel
    notes: list[str]
    """What must be known of it."""
    points: Sequence[int]
    """Places of the points that are drawn."""


def _drawn(
    title: str, metric: Metric, curves: Sequence[Curve], laid: Arrangement, parts: Sequence[Part], quantity: Quantity
) -> _Drawn:
    values = [value_of(part, metric) for part in parts]
    label = label_of(metric)
    unnamed = label.rpartition(" (")[0] if len(quantity.metrics) == 1 else quantity.title.lower()
    drawn = families(curves, laid, values, unnamed)
    few = absent([values[i] for i in drawn.points], [parts[i] for i in drawn.points], label)
    follows = quantity.grows and laid.axis.log and kind_of(laid.path) == "load"
    log = follows and spread([value.y for value in values if value.y is not None])
    references, notes = _models(drawn.curves, laid, parts, quantity.models)
    panel = Panel(laid.axis, Axis(label, log), (*drawn.traces, *references), title)
    return _Drawn(panel, [*few, *drawn.notes, *notes], drawn.points)


_Line = tuple[tuple[float, float | None], ...]


def _models(
    curves: Sequence[Curve], laid: Arrangement, parts: Sequence[Part], models: Sequence[Model]
) -> tuple[list[Trace], list[str]]:
    """The curves of the models at the points of the measured ones, each once, and the notes about them."""
    traces: list[Trace] = []
    notes: list[str] = []
    for model in models:
        lines = [tuple((laid.places[i], model.value(parts[i])) for i in curve.points) for curve in curves]
        known = [place for place, line in enumerate(lines) if sum(value is not None for _, value in line) > 1]
        first = {lines[place]: curves[place] for place in reversed(known)}
        if not 0 < len(first) <= MOST_MODELS:
            continue
        telling = _telling([curves[place] for place in known], [lines[place] for place in known])
        for line, curve in reversed(first.items()):
            of = [setting(field, curve.settings[field]) for field in telling] if len(first) > 1 else []
            name = ", ".join([model.name, *of])
            traces.append(Trace(name, tuple(x for x, _ in line), tuple(value for _, value in line), kind="reference"))
        notes.append(model.note)
    return traces, notes


def _telling(curves: Sequence[Curve], lines: Sequence[_Line]) -> list[str]:
    """The fields of curves on which the lines of a model depend: those of curves that differ in one of them alone are
    not the same.
    """
    found = []
    for field in curves[0].settings:
        alike: dict[str, set[_Line]] = {}
        for curve, line in zip(curves, lines, strict=True):
            rest = {each: value for each, value in curve.settings.items() if each != field}
            alike.setdefault(show(rest, 10_000), set()).add(line)
        found += [field] if any(len(each) > 1 for each in alike.values()) else []
    return found
