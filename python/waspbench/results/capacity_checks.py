"""Whether what a search for capacity found is enough."""

from __future__ import annotations

from waspbench.results.answers import amount, between, flaws
from waspbench.results.capacity import CapacityResult, PointCapacity
from waspbench.results.check import Check
from waspbench.results.loads import LoadReading

_UNITS = {"throughput": "/s", "clients": "", "rate": "/s"}


def at_least(result: CapacityResult, least: float) -> list[Check]:
    """Whether ``least`` is reached at each point: passed where the lower end of the 90 % interval reaches it, failed
    where the upper end does not. Where no load met the objective, it failed if the least that was tried is shown to
    miss it and is not above. All else is undecided: what lies between, what is only a lower bound, what is not valid.
    """
    return [_at_least(point, result, least) for point in result.points]


def _at_least(point: PointCapacity, result: CapacityResult, least: float) -> Check:
    low, high = (None, None) if point.capacity is None else point.ends
    too_much = _too_much(point, result)
    judged: float | None = low
    passed: bool | None = None
    if _is_trusted(point):
        if low is not None and low >= least:
            passed = True
        elif high is not None and high < least:
            passed, judged = False, high
        elif too_much is not None and too_much <= least:
            passed, judged = False, too_much
    return Check(
        point=point.index,
        varied=point.varied,
        condition=f"{result.find} >= {least:.10g}{_UNITS[result.find]}",
        value=point.capacity,
        ci90=None if low is None else (low, None if high is None else (point.ci90 or (None, None))[1]),
        judged=judged,
        passed=passed,
        why=_why(point, result, passed),
    )


def _is_trusted(point: PointCapacity) -> bool:
    """Whether what was found, or that nothing was, says something."""
    return point.outcome is not None and (point.capacity is None or bool(point.valid))


def _too_much(point: PointCapacity, result: CapacityResult) -> float | None:
    """The least load that was tried, where nothing was found because it is too much for the server; else None."""
    if point.outcome != "none" or result.find == "throughput" or point.bottleneck == "clients":
        return None
    least = min((reading.load for reading in point.readings), default=None)
    there = [reading for reading in point.readings if reading.load == least]
    return least if there and all(_is_too_much(reading) for reading in there) else None


def _is_too_much(reading: LoadReading) -> bool:
    """Whether a run shows that the server does not meet the objective at its load."""
    return reading.misses if reading.counts else reading.failed and not reading.unmade


def _why(point: PointCapacity, result: CapacityResult, passed: bool | None) -> str:
    if point.outcome is None:
        return "the search is not over"
    if point.capacity is None:
        return f"{point.why}; fewer were not tried" if _too_much(point, result) is not None else point.why
    found = amount(point.capacity, result.find)
    if not point.valid:
        return (
            f"{found} were found, which must not be trusted: {'; '.join(flaws(point, result)) or 'a run is not valid'}"
        )
    low, high = point.ends
    if low is None:
        return f"{found} were found, and one run has no interval"
    if high is None:
        return f"the 90 % interval is from {amount(low, result.find)} on; {_beyond(point)}"
    _, end = point.ci90 or (None, None)
    interval = f"the 90 % interval is {between(low, end or high, result.find)}"
    more = f"; between the loads that were tried up to {amount(high, result.find)} may be reached"
    return interval if passed or high == end else f"{interval}{more}"


def _beyond(point: PointCapacity) -> str:
    """Why the upper end of the interval is not known."""
    if point.outcome == "emulator":
        return "the emulator was the limit beyond"
    return "more were not tried" if point.outcome == "not reached" else "the number of clients was the limit"
