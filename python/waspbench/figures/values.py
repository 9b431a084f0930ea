"""Figures of results as values of traces: with their intervals, and what speaks against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from waspbench.experiment.metrics import SCALES, Metric
from waspbench.figures.figure import Kind, Trace
from waspbench.results import errors
from waspbench.results.checks import estimate
from waspbench.results.groups import Group
from waspbench.results.reasons import Reason
from waspbench.results.result import Result

HOLLOW = "hollow"
"""What values are that must not be trusted."""
MOST_TOLD = 3
"""Points that a note names."""


@dataclass(frozen=True)
class Value:
    """A value with its interval, in the unit of its axis."""

    y: float | None = None
    low: float | None = None
    high: float | None = None
    """Ends of its interval; one of them is None where it is not known."""
    invalid: bool = False
    """Whether it must not be trusted."""


@dataclass(frozen=True)
class Part:
    """The runs of a point, or what they say of one group of clients, under a name."""

    name: str
    """What notes call it; it may be empty where there is one."""
    result: Result | None
    """None where no run is finished."""
    group: str | None = None
    """Name of the group; None of all clients together."""

    @property
    def whole(self) -> Result | Group | None:
        """The figures that it is about; None where there are none."""
        if self.result is None or self.group is None:
            return self.result
        return next((group for group in self.result.groups if group.name == self.group), None)

    @property
    def valid(self) -> bool:
        """Whether nothing speaks against them."""
        return self.whole is not None and self.whole.valid


def value_of(part: Part, metric: Metric) -> Value:
    """A figure as tables and checks have it, with its 90 % interval over the runs. A metric of no group is that of the
    part's own.
    """
    if part.result is None:
        return Value()
    of = replace(metric, group=metric.group or part.group)
    found, interval = estimate(part.result, of)
    if found is None:
        return Value(invalid=not part.valid)
    scale = SCALES[metric.kind][1]
    low, high = (None, None) if interval is None else (end * scale for end in interval)
    return Value(found * scale, low, high, not part.valid)


def trace(name: str, x: Sequence[float], values: Sequence[Value], kind: Kind = "line") -> Trace:
    """Values under a name; without intervals where none has one."""
    bounded = any(value.low is not None or value.high is not None for value in values)
    return Trace(
        name=name,
        x=tuple(x),
        y=tuple(value.y for value in values),
        low=tuple(value.low for value in values) if bounded else (),
        high=tuple(value.high for value in values) if bounded else (),
        kind=kind,
        invalid=tuple(value.invalid for value in values) if any(value.invalid for value in values) else (),
    )


def told(texts: Sequence[str], most: int = MOST_TOLD) -> str:
    """The first of many in one line."""
    more = f"; and {len(texts) - most} more" if len(texts) > most else ""
    return "; ".join(texts[:most]) + more


def at(name: str, said: str) -> str:
    """What is said of a point, after its name if it has one."""
    return f"{name}: {said}" if name else said


def trusted(result: Result) -> list[bool]:
    """Whether each run may be trusted: nothing speaks against it, nor against all runs together."""
    return [
        run.valid and not any(each.is_about(run.run, None) for each in result.invalid_reasons) for run in result.runs
    ]


def absent(values: Sequence[Value], parts: Sequence[Part], label: str) -> list[str]:
    """What is said where points with a finished run have no value."""
    none = sum(value.y is None and part.result is not None for value, part in zip(values, parts, strict=True))
    return (
        [f"no {label} at {none} of {len(parts)} points: too few transactions or sessions, or not known"] if none else []
    )


def warnings_of(parts: Sequence[Part], mark: str = HOLLOW) -> list[str]:
    """What speaks against the values of parts: why some must not be trusted, which have that ``mark``, and which have
    many errors or no runs.
    """
    return [*_missing(parts), *_untrusted(parts, mark), *_failing(parts)]


def _missing(parts: Sequence[Part]) -> list[str]:
    missing = [part.name for part in parts if part.result is None]
    if not missing:
        return []
    named = [name for name in missing if name]
    where = f": {told(named)}" if named else ""
    return [f"no finished run at {len(missing)} of {len(parts)} points{where}"]


def _untrusted(parts: Sequence[Part], mark: str) -> list[str]:
    made = [part for part in parts if part.whole is not None]
    invalid = [part for part in made if not part.valid]
    if not invalid:
        return []
    if len(parts) == 1:
        reasons = [f"{reason.message} [{reason.code}]" for reason in _reasons(invalid[0])]
        return [f"NOT TO BE TRUSTED ({mark}): {told(list(dict.fromkeys(reasons)))}"]
    return not_trusted([_with_codes(part) for part in invalid], len(made), mark)


def not_trusted(said: Sequence[str], of: int, mark: str = HOLLOW) -> list[str]:
    """What warns of the values that must not be trusted, each with its name and the reason, among ``of`` values."""
    if not said:
        return []
    every = "" if of == 1 else ", every value" if len(said) == of else f", {len(said)} of {of}"
    return [f"NOT TO BE TRUSTED ({mark}){every}: {told(said)}"]


def _reasons(part: Part) -> list[Reason]:
    """The reasons that are about a part."""
    reasons = [] if part.result is None else part.result.invalid_reasons
    return [reason for reason in reasons if part.group is None or reason.group in (None, part.group)]


def _with_codes(part: Part) -> str:
    """The name of a part, and the codes of what speaks against it."""
    codes = ", ".join(dict.fromkeys(reason.code for reason in _reasons(part)))
    return f"{part.name} [{codes}]"


def _failing(parts: Sequence[Part]) -> list[str]:
    found = [
        at(part.name, f"{100 * part.whole.errors:.1f} % of {errors.ended(part.whole.outcomes):,d}")
        for part in parts
        if part.whole is not None and part.whole.errors is not None and part.whole.errors > errors.NOTED
    ]
    return [f"transactions that were not ok: {told(found)}"] if found else []


def counted(parts: Sequence[Part]) -> list[tuple[str, int]]:
    """The runs of each part that has some, beside its name."""
    return [(part.name, len(part.result.runs)) for part in parts if part.result is not None]


def runs_note(runs: Sequence[tuple[str, int]], *, bounded: bool) -> list[str]:
    """Of how many runs values are, each of them named; ``bounded`` says whether any value has an interval."""
    counts = {count for _, count in runs}
    if not counts:
        return []
    if counts == {1}:
        return ["one run: no intervals"]
    if not bounded:
        return ["no intervals"]
    several = counts - {1}
    of = str(max(several)) if len(several) == 1 else f"{min(several)} to {max(several)}"
    single = [name for name, count in runs if count == 1]
    alone = f"; one run, and so no interval, at {told(single)}" if single else ""
    return [f"bars: 90 % intervals over {of} runs{alone}"]
