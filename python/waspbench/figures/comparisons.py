"""The figure of comparisons: by how much other results differ from the first, at each point."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from waspbench.errors import InputError
from waspbench.experiment.metrics import Metric
from waspbench.experiment.metrics import metric as metric_of
from waspbench.figures.arrange import Arrangement, Curve, arrange
from waspbench.figures.families import panels
from waspbench.figures.fields import RESULT
from waspbench.figures.figure import Axis, Figure, Trace
from waspbench.figures.options import Options
from waspbench.figures.sources import NoFigureError, Source, settings_of, short_name
from waspbench.figures.values import Value, at, not_trusted, told
from waspbench.results.columns import label_of
from waspbench.results.comparing import NOT_COMPARABLE, Compared, ComparisonResult, compare_results
from waspbench.results.regression import CAPACITY


@dataclass(frozen=True)
class _Compared:
    """A comparison, and what its results are called."""

    found: ComparisonResult
    first: str
    other: str


@dataclass(frozen=True)
class _Point:
    """What one comparison says of a point."""

    of: _Compared
    point: Compared
    varied: dict[str, Any]
    name: str
    """What notes call it; nothing of a single one."""

    @property
    def comparable(self) -> bool:
        return self.point.verdict != NOT_COMPARABLE


def comparison(metric: Metric | None) -> Callable[[Sequence[Source], Options], Figure]:
    """What makes the figure of the changes of a ``metric``; of throughput, or what searches found, if there is none."""

    def make(sources: Sequence[Source], options: Options) -> Figure:
        compared = _compared(sources, metric)
        points = _points(compared)
        if not any(each.comparable for each in points):
            raise NoFigureError.because(f"has nothing to compare: {told(_apart(compared) + _lacking(compared))}")
        what = _what(compared[0].found.metric)
        others = ", ".join(each.other for each in compared)
        laid = _laid([each.varied for each in points], options, others)
        level = Trace("no change", _ends(laid), (0.0, 0.0), kind="reference")
        values = [_change(each) for each in points]
        drawn, places, left = panels(laid, values, Axis(f"change of {what} (%)", from_zero=False), "change", [level])
        shown = [points[place] for place in places]
        notes = [
            *_verdicts(shown, compared),
            *_differences(compared),
            *_intervals([(points[place].name, values[place]) for place in places], what),
            *left,
        ]
        return Figure(
            name="comparison" if metric is None else f"{metric}-comparison",
            title=f"Change of {what}: {others} against {compared[0].first}{_simulated(sources)}",
            panels=tuple(drawn),
            warnings=tuple(dict.fromkeys(_warnings(shown, compared))),
            notes=tuple(dict.fromkeys(notes)),
        )

    return make


def _compared(sources: Sequence[Source], metric: Metric | None) -> list[_Compared]:
    """The comparisons that are given, or those of the first result with each other."""
    given = [source.found for source in sources if isinstance(source.found, ComparisonResult)]
    if given and len(given) == len(sources):
        _check_alike(given, metric)
        labels = [source.label for source in sources]
        short = short_name(given[0].a)
        name = given[0].a if short in labels else short
        return [_Compared(found, name, label) for found, label in zip(given, labels, strict=True)]
    if len(sources) < 2:
        raise NoFigureError.because("is of several results: wasp plot A B")
    unnamed = [source.label for source in sources if source.given is None]
    if unnamed:
        raise NoFigureError.because(f"is of results with files, and {told(unnamed)} has none")
    (first, base), *others = [(source, source.given) for source in sources if source.given is not None]
    asked = "throughput" if metric is None else str(metric)
    try:
        return [_Compared(compare_results(base, other, asked), first.label, each.label) for each, other in others]
    except InputError as error:
        raise NoFigureError.because(f"cannot be made: {error}") from None


def _check_alike(given: list[ComparisonResult], metric: Metric | None) -> None:
    """Makes sure that comparisons are with the same result and of the same figure."""
    if len({(found.a, found.metric) for found in given}) > 1:
        raise NoFigureError.because("is of comparisons of one figure with one result, and these are of several")
    if metric is not None and given[0].metric != str(metric):
        raise NoFigureError.because(f"is of a comparison of {metric}, and this is one of {given[0].metric}")


def _simulated(sources: Sequence[Source]) -> str:
    """What a title says where nothing was measured; a comparison alone does not tell."""
    modes = {source.found.mode for source in sources if not isinstance(source.found, ComparisonResult)}
    return " (simulated)" if modes == {"sim"} else ""


def _what(name: str) -> str:
    """What is compared, in words and without its unit."""
    found = {CAPACITY: CAPACITY, "clients": "most clients", "rate": "highest rate of arrivals"}
    return found[name] if name in found else label_of(metric_of(name)).rpartition(" (")[0]


def _points(compared: Sequence[_Compared]) -> list[_Point]:
    """Every point of every comparison; of several with the result that it is of as one more field."""
    several = len(compared) > 1
    found = []
    for each in compared:
        for point in each.found.points:
            name = ", ".join(filter(None, [each.other if several else "", settings_of(point.varied)]))
            varied = {**point.varied, **({RESULT: each.other} if several else {})}
            found.append(_Point(each, point, varied, name))
    return found


def _laid(varied: Sequence[dict[str, Any]], options: Options, name: str) -> Arrangement:
    """The points as curves; a single one stands above the ``name`` of what is compared."""
    if len(varied) > 1 or options.x or options.by:
        return arrange(varied, x=options.x, by=options.by)
    return Arrangement(RESULT, Axis("", categories=(name,)), (0.0,), (("", (Curve("", (0,), {}),)),))


def _ends(laid: Arrangement) -> tuple[float, float]:
    """The ends of the axis along a panel, for a level line."""
    if laid.axis.categories:
        return -0.5, len(laid.axis.categories) - 0.5
    return min(laid.places), max(laid.places)


def _change(each: _Point) -> Value:
    """How much more the other result has in per cent. Where one of the two is only a lower bound, one end is open."""
    point, (first, second) = each.point, each.point.at_least
    ratio = point.means[1] / point.means[0] if point.ratio is None and first != second else point.ratio
    if ratio is None or (first and second) or not each.comparable:
        return Value(invalid=not point.valid)
    y, (low, high) = 100 * (ratio - 1), (None if end is None else 100 * (end - 1) for end in point.ratio_ends)
    return Value(y, y if second and low is None else low, y if first and high is None else high, not point.valid)


def _warnings(shown: Sequence[_Point], compared: Sequence[_Compared]) -> list[str]:
    """What speaks against the changes."""
    wrong = [at(each.name, _untrusted(each)) for each in shown if not each.point.valid]
    bounds = [each.name or "both" for each in shown if all(each.point.at_least)]
    modes = [f"{d.a} and {d.b}" for each in compared for d in each.found.differences if d.field == "mode"]
    missing, apart = _lacking(compared), _apart(compared)
    return [
        *([f"NOT COMPARABLE: {told(apart)}"] if apart else []),
        *not_trusted(wrong, len(shown)),
        *([f"one of the two was measured, and the other simulated: {told(modes)}"] if modes else []),
        *([f"not compared: {told(missing)}"] if missing else []),
        *([f"no change can be told, as both are only lower bounds: {told(bounds)}"] if bounds else []),
        *(at(each.name, _with_names(each.point.note, each.of)) for each in shown if each.point.note),
    ]


def _untrusted(each: _Point) -> str:
    """Which of the two results is not valid there, or both."""
    sides = zip((each.of.first, each.of.other), each.point.lines, strict=True)
    wrong = [side for side, line in sides if line.valid is False]
    return f"{' and '.join(wrong) or 'one of the two'} (wasp show says why)"


def _apart(compared: Sequence[_Compared]) -> list[str]:
    """Why results cannot be compared at all."""
    several = len(compared) > 1
    return [at(each.other if several else "", why) for each in compared for why in each.found.not_comparable]


def _lacking(compared: Sequence[_Compared]) -> list[str]:
    """Points that are not compared, and why."""
    return [_with_names(text, each) for each in compared for text in (*each.found.lacking, *each.found.unmatched)]


def _with_names(text: str, of: _Compared) -> str:
    """A text in which A and B have the names of the results."""
    names = {"A": of.first, "B": of.other}
    return re.sub(r"^[AB]\b|(?<=capacity of )[AB]\b", lambda found: names[found[0]], text)


def _differences(compared: Sequence[_Compared]) -> list[str]:
    """The fields in which results differ from the first besides those that are compared."""
    found = {each.other: [d.field for d in each.found.differences if d.field != "mode"] for each in compared}
    return [f"{other} differs also in {told(fields)} (wasp compare)" for other, fields in found.items() if fields]


def _verdicts(shown: Sequence[_Point], compared: Sequence[_Compared]) -> list[str]:
    """What is said of the other results, and where."""
    verdicts: dict[str, list[str]] = {}
    for each in shown:
        verdicts.setdefault(each.point.verdict, []).append(each.name)
    verdicts.pop(NOT_COMPARABLE, None)
    called = [verdict for verdict in verdicts if verdict != SAME] + [SAME] * (SAME in verdicts)
    said = [f"{verdict}: {told(verdicts[verdict], MOST_VERDICTS)}" if len(shown) > 1 else verdict for verdict in called]
    corrected = any(len(each.found.points) > 1 for each in compared)
    over = f" over {'its' if len(compared) > 1 else 'all'} points (Holm)" if corrected else ""
    of = " for each result" if len(compared) > 1 else ""
    return [f"{'; '.join(said)}; called at {100 * compared[0].found.alpha:.3g} %{of}{over}"] if said else []


MOST_VERDICTS = 8
"""Points that the note on a verdict names."""
SAME = "no difference shown"
"""The verdict that comes last."""


def _intervals(values: Sequence[tuple[str, Value]], what: str) -> list[str]:
    """What the bars and arrows are, and where there is none."""
    bounded = any(value.low is not None and value.high is not None for _, value in values)
    open_ended = any((value.low is None) != (value.high is None) for _, value in values)
    without = [name for name, value in values if value.y is not None and value.low is None and value.high is None]
    alone = f": {told(without)}" if bounded or open_ended else ""
    return [
        *(["bars: 90 % intervals of the ratio"] if bounded else []),
        *([f"arrows: one end is not known, as the {what} of one result is only a lower bound"] if open_ended else []),
        *([f"no interval, as a side has one run{alone}"] if without else []),
    ]
