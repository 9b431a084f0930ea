"""What is to be known of a search beside its answer: the figures there, notes, what may find more, excluded loads."""

from __future__ import annotations

from collections.abc import Iterator

from waspbench.experiment.search import Find
from waspbench.results.capacity import PointCapacity
from waspbench.results.loads import LoadReading, load_number, load_text
from waspbench.stats.capacity import More

_NOT_CONFIRMED, _NOT_VALID = "NOT CONFIRMED:", "NOT VALID:"

ALARMS = (_NOT_CONFIRMED, _NOT_VALID)
"""What lines begin with that tell that something is wrong."""


def beside(point: PointCapacity, find: Find) -> list[str]:
    """What is said of a point after its answer, a line each."""
    return [*(_found(point, find) if point.capacity is not None else ()), *hints(point)]


def _found(point: PointCapacity, find: Find) -> Iterator[str]:
    yield from _there(point, find)
    yield f"bottleneck: {point.bottleneck}; {point.why}"
    if not point.confirmed:
        yield _unconfirmed(point, find)
    yield from _notes(point)


def _there(point: PointCapacity, find: Find) -> Iterator[str]:
    """What else is to be known of a largest load."""
    if find != "throughput":
        ends = point.line.throughput_ci90
        interval = "" if ends is None else f"   (90 %: {ends[0]:,.1f} to {ends[1]:,.1f})"
        yield f"throughput there: {point.line.throughput or 0:,.1f} /s{interval}"
        if point.again is not None:
            yield f"the objective is met again at {load_text(point.again, find)}"


def _unconfirmed(point: PointCapacity, find: Find) -> str:
    fresh = [reading for reading in point.readings if reading.confirming]
    here = [reading for reading in fresh if reading.load == point.load]
    if any(not (reading.counts and reading.meets) for reading in here):
        return f"{_NOT_CONFIRMED} fresh runs at this load failed or did not meet the objective"
    if fresh or find != "throughput":
        runs = "run" if len(here) == 1 else "runs"
        return f"{_NOT_CONFIRMED} {len(here)} fresh {runs} at this load, too few; --max-runs allows more"
    return "not confirmed: no fresh runs; the largest of several means is too high on average"


def _notes(point: PointCapacity) -> list[str]:
    """What speaks against the runs that make up a capacity: each note with its runs."""
    found: dict[tuple[bool, str], list[str]] = {}
    for reading in point.behind:
        for note in reading.notes:
            found.setdefault((reading.valid is False, note), []).append(str(reading.run + 1))
    return [
        f"{_NOT_VALID if wrong else 'note on'} run{'s' if len(runs) > 1 else ''} {', '.join(runs)}: {note}"
        for (wrong, note), runs in found.items()
    ]


UNEXPLORED = 1.1
"""How much more than what was found other loads may have without that being said."""

_MORE: dict[More, str] = {
    "below": "a lower --low",
    "above": "a higher --high",
}


def hints(point: PointCapacity) -> list[str]:
    """What may find more."""
    found = "some" if point.capacity is None else "more"
    lines = [f"{_MORE[point.more]} may find {found}"] if point.more is not None else []
    if point.outcome == "not reached" and point.more is None:
        lines.append("out of runs: more of them (--max-runs) may find more")
    if point.refined is False:
        lines.append("out of runs: more of them (--max-runs) would narrow the interval down")
    if point.bound is not None and point.bound > UNEXPLORED * (point.capacity or point.bound):
        may_have = f"loads between those that were tried may have up to {point.bound:,.0f} /s"
        lines.append(f"{may_have}: --max-runs allows more of them")
    return lines


def made(point: PointCapacity) -> str:
    """How many runs were made at a point."""
    again = sum(reading.attempts > 1 for reading in point.readings)
    runs = "1 run" if point.runs == 1 else f"{point.runs} runs"
    return f"{runs}{f' ({again} of them tried twice)' if again else ''}"


def excluded(point: PointCapacity, find: Find) -> list[str]:
    """What speaks against the loads of a point that do not count: of loads that are excluded for the same kind of
    reason what the least says.
    """
    found: dict[str, list[LoadReading]] = {}
    for load in sorted({reading.load for reading in point.readings}):
        reading = _excluding(point, load, find)
        if reading is not None:
            found.setdefault(_why_excluded(reading), []).append(reading)
    return [_told(why, readings, find) for why, readings in found.items()]


def _told(why: str, readings: list[LoadReading], find: Find) -> str:
    first, *others = readings
    said = f"at {load_text(first.load, find)}: {'; '.join(first.notes)}"
    if not others:
        return said
    loads = f"{', '.join(load_number(other.load) for other in others[:-1])}{', ' if others[1:] else ''}"
    return f"{said} ({why} at {loads}{load_text(others[-1].load, find)}, too; see --json)"


def _excluding(point: PointCapacity, load: float, find: Find) -> LoadReading | None:
    """The run that tells why a load does not count; None where that needs not be said."""
    behind = [reading.run for reading in point.behind]
    # Of loads that miss the objective the least tells why; the table shows the others.
    nearest = min((each.load for each in point.readings if each.counts and each.meets is False), default=None)
    found = [
        reading
        for reading in point.readings
        if reading.load == load
        and reading.run not in behind
        and (not (reading.counts and reading.meets) or reading.valid is False)
        and (find == "throughput" or load == nearest or not reading.counts)
    ]
    return next((each for each in found if each.meets is False), found[0]) if found else None


def _why_excluded(reading: LoadReading) -> str:
    if reading.failed:
        return "runs failed"
    if not reading.counts:
        return "the emulator was the limit"
    return "runs are not valid" if reading.meets else "the objective was missed"
