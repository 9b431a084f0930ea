"""The figure of how transactions ended: the share of each outcome, of groups, of points or of several results."""

from __future__ import annotations

from collections.abc import Sequence

from waspbench.figures.choice import choose, left_out
from waspbench.figures.distributions import named_points, title_of
from waspbench.figures.fields import spread
from waspbench.figures.figure import Axis, Figure, Panel
from waspbench.figures.options import Options
from waspbench.figures.sources import NoFigureError, Source
from waspbench.figures.sweeps import SHARES
from waspbench.figures.values import Part, Value, trace, warnings_of
from waspbench.results import errors
from waspbench.results.checks import share_of_runs
from waspbench.results.columns import ALL_CLIENTS
from waspbench.results.summary import RunGroup, RunSummary

Counts = dict[str, int]

ERROR = "http_error"
"""The outcome of which the status code says more."""


def outcomes(sources: Sequence[Source], options: Options) -> Figure:
    """The shares of the transactions that ended in each way, of each group or of each point."""
    points = named_points(sources)
    made = [part for part in points if part.result is not None]
    if not made:
        raise NoFigureError.because("needs a finished run, and there is none")
    parts = _groups(made[0]) if len(points) == 1 else made
    shown = [parts[index] for index in choose([_errors(part) for part in parts])]
    judged = [part for part in points if part.result is None or len(points) == 1 or part in shown]
    coded = all(_tells_codes(run) for part in shown for run in _runs(part))
    ways = _ways(shown, coded=coded)
    if ways == ["ok"]:
        raise NoFigureError.because("would show nothing: every transaction that ended was ok")
    shares = [[_value(part, way, coded=coded) for way in ways] for part in shown]
    log = spread([value.y for row in shares for value in row if value.y])
    places = [float(place) for place in range(len(ways))]
    traces = [
        trace(part.name, places, [_placed(value, log=log) for value in row], "points")
        for part, row in zip(shown, shares, strict=True)
    ]
    none = log and any(value.y == 0 for row in shares for value in row)
    return Figure(
        name="outcomes",
        title=f"How transactions ended: {title_of(sources)}",
        panels=(Panel(Axis("outcome", categories=tuple(ways)), Axis(LABEL, log), tuple(traces)),),
        warnings=tuple(warnings_of(judged)),
        notes=(
            SHARES,
            *(["no marker: no such transaction"] if none else []),
            *_unfinished(shown[:1] if len(points) == 1 else shown),
            *left_out(len(parts), len(shown), "groups" if len(points) == 1 else "points"),
        ),
    )


LABEL = "share of the transactions that ended (%)"


def _groups(only: Part) -> list[Part]:
    """All clients of a point, and each group where there are several."""
    result = only.result
    if result is None or len(result.groups) < 2:
        return [Part("transactions", result)]
    return [Part(ALL_CLIENTS, result), *(Part(group.name, result, group.name) for group in result.groups)]


def _errors(part: Part) -> float | None:
    return None if part.whole is None else part.whole.errors


def _runs(part: Part) -> list[RunSummary | RunGroup]:
    """What each run of a part says of its transactions."""
    runs = [] if part.result is None else part.result.runs
    if part.group is None:
        return list(runs)
    return [group for run in runs for group in run.by_group or () if group.name == part.group]


def _tells_codes(run: RunSummary | RunGroup) -> bool:
    """Whether the status of each response of an error is known: results of older versions do not tell, nor do those of
    named requests that expect errors.
    """
    return errors.tells_errors(run.outcomes, run.statuses)


def _codes(run: RunSummary | RunGroup) -> Counts:
    return {code: count for code, count in sorted((run.statuses or {}).items()) if int(code) >= 400}


def _counted(run: RunSummary | RunGroup, *, coded: bool) -> Counts:
    """The transactions that ended in each way, responses of errors by their status if that is asked for."""
    counts = {name: count for name, count in run.outcomes.items() if name != errors.UNFINISHED}
    if coded:
        counts.pop(ERROR, None)
        counts |= {f"{ERROR} {code}": count for code, count in _codes(run).items()}
    return counts


def _ways(parts: Sequence[Part], *, coded: bool) -> list[str]:
    """Every way in which a transaction of some part ended, ok first."""
    found = [_counted(run, coded=coded) for part in parts for run in _runs(part)]
    names = dict.fromkeys(name for counts in found for name, count in counts.items() if count)
    return sorted(names, key=lambda name: name != "ok")


def _value(part: Part, way: str, *, coded: bool) -> Value:
    """The share of one outcome in per cent."""
    counted = [_counted(run, coded=coded) for run in _runs(part)]
    share, interval = share_of_runs([(counts.get(way, 0), sum(counts.values())) for counts in counted])
    if share is None:
        return Value(invalid=not part.valid)
    low, high = (None, None) if interval is None else (100 * end for end in interval)
    return Value(100 * share, low, high, not part.valid)


def _placed(value: Value, *, log: bool) -> Value:
    """A value as it is drawn: 0 has no place on a logarithmic axis."""
    return Value(invalid=value.invalid) if log and not value.y else value


def _unfinished(parts: Sequence[Part]) -> list[str]:
    """The transactions that are no part of the shares."""
    cut = sum(part.whole.outcomes.get(errors.UNFINISHED, 0) for part in parts if part.whole is not None)
    return [f"{cut:,d} more were in progress when the runs ended"] if cut else []
