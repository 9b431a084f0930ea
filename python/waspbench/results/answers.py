"""What a search for capacity found, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from waspbench.experiment.search import Find
from waspbench.experiment.sweep import text_of
from waspbench.results.capacity import CapacityResult, GroupLoad, PointCapacity
from waspbench.results.loads import LoadReading, load_number, load_text

_SOUGHT: dict[Find, str] = {"throughput": "capacity", "clients": "most clients", "rate": "highest rate of arrivals"}


def sought(find: Find, objectives: Sequence[str]) -> str:
    """What is looked for."""
    under = f" under {', '.join(objectives)}" if objectives else ""
    return f"{_SOUGHT[find]}{under}"


def answer(point: PointCapacity, result: CapacityResult) -> list[str]:
    """What was found at a point, and what a client does there; a sentence each."""
    find = result.find
    if point.capacity is None or point.load is None:
        return ["none found yet: the search is not over" if _going_on(point, result) else f"none found: {point.why}"]
    groups = point.groups or []
    measured = [group for group in groups if not group.background]
    pausing = find == "rate" or not measured or any(group.waits is not None for group in measured)
    least = "at least " if point.is_lower_bound else ""
    users = f"{load_text(point.load, find)}{_shares(measured)}{'' if pausing else ' without pauses'}"
    if find == "throughput":
        found = f"{least}{amount(point.capacity, find)} at {users}"
    else:
        found = f"{least}{users} with {', '.join(result.objectives)}"
    says_so = pausing and find != "rate"
    return [f"{found}{_interval(point, find)}", *_behaviour(measured, find, says_so), *_background(groups)]


def _going_on(point: PointCapacity, result: CapacityResult) -> bool:
    """Whether the search at a point is not over."""
    return point.outcome is None and not result.complete


def amount(value: float, find: Find) -> str:
    """What was looked for, with its unit."""
    return f"{value:,.1f} /s" if find == "throughput" else load_text(value, find)


def between(low: float, high: float, find: Find) -> str:
    """Both ends of an interval of what was looked for, with its unit."""
    return f"{_number(low, find)} to {amount(high, find)}"


def _number(value: float, find: Find) -> str:
    return f"{value:,.1f}" if find == "throughput" else load_number(value)


def interval(point: PointCapacity, find: Find) -> str:
    """The 90 % interval of what was found, without its unit; empty where an end of it is not known."""
    low, high = (point.ci90 or (None, None)) if find == "throughput" else point.ends
    return "" if low is None or high is None else f"{_number(low, find)} to {_number(high, find)}"


def _interval(point: PointCapacity, find: Find) -> str:
    """The same in brackets."""
    found = interval(point, find)
    return f"   (90 %: {found})" if found else ""


def against(result: CapacityResult) -> list[str]:
    """Why what was found must not be trusted, at each point where it must not, in few words."""
    found = []
    for point in result.points:
        runs = [str(reading.run + 1) for reading in _wrong(point)]
        said = [f"run {runs[0]} is not valid" if len(runs) == 1 else f"runs {_and(runs)} are not valid"] if runs else []
        found += [f"{_at(point)}{why}" for why in (*flaws(point, result), *said)]
    return found or ([] if result.valid else ["a point is not valid"])


def reasons(result: CapacityResult) -> list[str]:
    """The same with what speaks against each run."""
    found = []
    for point in result.points:
        runs = [f"run {reading.run + 1} is not valid: {'; '.join(reading.notes)}" for reading in _wrong(point)]
        found += [f"{_at(point)}{why}" for why in (*flaws(point, result), *runs)]
    return found or against(result)


def flaws(point: PointCapacity, result: CapacityResult) -> list[str]:
    """What is wrong with what was found at a point, but for its runs."""
    if _going_on(point, result):
        return ["the search is not over"]
    if point.capacity is None:
        return ["none found"]
    return ["not confirmed"] if result.method == "search" and not point.confirmed else []


def _wrong(point: PointCapacity) -> list[LoadReading]:
    """The runs that are not valid, of those from which what was found follows."""
    return [reading for reading in point.behind if reading.valid is False]


def _at(point: PointCapacity) -> str:
    return f"{text_of(point.varied)}: " if point.varied else ""


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]])


def _shares(measured: Sequence[GroupLoad]) -> str:
    """How many are of each group, where there are several."""
    if len(measured) < 2:
        return ""
    return f" ({', '.join(f'{group.name}: {load_number(group.load or 0)}' for group in measured)})"


def _behaviour(measured: Sequence[GroupLoad], find: Find, says_so: bool) -> list[str]:
    """What a client does, of each group where they differ. That one does not pause needs saying where others do."""
    said = [f"asks for {group.asks}{_waits(group, says_so)}" for group in measured]
    if len(set(said)) < 2:
        return [f"each {'arrival ' if find == 'rate' else ''}{said[0]}"] if said else []
    return [f"{group.name}: each {does}" for group, does in zip(measured, said, strict=True)]


def _waits(group: GroupLoad, says_so: bool) -> str:
    if group.waits is not None:
        return f", waits {group.waits}"
    return ", without pauses" if says_so else ""


def _background(groups: Sequence[GroupLoad]) -> list[str]:
    aside = [group for group in groups if group.background]
    does = [f"each asks for {group.asks}{_waits(group, says_so=False)}" for group in aside]
    return [
        f"in the background {load_number(group.load or 0)} of {group.name}: {said}"
        for group, said in zip(aside, does, strict=True)
    ]
