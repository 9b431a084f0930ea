"""What a bench or a sweep found, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waspbench.experiment.metrics import Metric, fraction_of
from waspbench.figures.sources import settings_of
from waspbench.report import amounts
from waspbench.report.amounts import told
from waspbench.report.costs import Cost, trusted_costs
from waspbench.report.sources import StudySource
from waspbench.results import errors
from waspbench.results.capacity import SATURATED
from waspbench.results.checks import estimate, run_values
from waspbench.results.result import Result
from waspbench.results.study import StudyPoint
from waspbench.results.workload import arrival_text
from waspbench.stats.comparison import ratio_interval
from waspbench.stats.levels import LEVEL

Made = tuple[StudyPoint, Result]

THROUGHPUT = Metric("throughput")
SERVER_CPU = Metric("server_cpu")
MEDIAN = Metric("p50")


def bench(result: Result) -> list[str]:
    """A result in sentences: throughput, response times, errors, and how busy the server was."""
    return [f"Throughput is {told(THROUGHPUT, result)}.", *_times(result), failures(result), *_rest(result)]


def _times(result: Result) -> Iterator[str]:
    """The median and the tail of the response times of ok transactions."""
    count = result.outcomes.get("ok", 0)
    if result.response_time_ms.p50 is None:
        yield f"Response times cannot be told: {count:,d} transactions were ok."
        return
    yield f"The median response time of ok transactions is {told(MEDIAN, result)}."
    tail = _tail([result])
    if tail != MEDIAN:
        yield f"{tail.name.removeprefix('p')} of 100 took at most {told(tail, result)}."


def ends_of_times(results: Sequence[Result]) -> list[Metric]:
    """The median, and the tail where there is another."""
    return list(dict.fromkeys([MEDIAN, _tail(results)]))


def _tail(results: Sequence[Result]) -> Metric:
    """Of the percentiles above the median that all results can tell the highest up to p99, or else the lowest above it;
    the median where there is none.
    """
    shown = sorted(results[0].percentiles, key=fraction_of)
    above = [name for name in shown if fraction_of(name) > fraction_of(MEDIAN.name)]
    known = [name for name in above if all(amounts.value(Metric(name), result) is not None for result in results)]
    far = [name for name in known if fraction_of(name) <= _FAR]
    return Metric(far[-1] if far else known[0]) if known else MEDIAN


_FAR = fraction_of("p99")


def failures(result: Result) -> str:
    """How many transactions failed, and how."""
    ended = errors.ended(result.outcomes)
    if not ended:
        return "No transaction ended."
    if not errors.failed(result.outcomes):
        return f"No transaction failed: all {ended:,d} that ended were ok."
    said = errors.text(result.outcomes, result.statuses)
    return f"{_failed(result)} transactions that ended were not ok. Outcomes: {said}."


def _failed(result: Result) -> str:
    """How many transactions failed of how many: ``17 (less than 0.01 %) of the 539,770``."""
    failed, ended = errors.failed(result.outcomes), errors.ended(result.outcomes)
    share = failed / ended
    said = "less than 0.01 %" if share < _LEAST else f"{100 * share:.2f} %"
    return f"{failed:,d} ({said}) of the {ended:,d}"


_LEAST = 0.0001
"""The share of failed transactions below which two digits of per cent would say that there is none."""


def _rest(result: Result) -> Iterator[str]:
    loop = result.open_loop
    if loop is not None:
        offered = arrival_text(result.scenario)
        shed = f", and {loop.shed:,d} were shed" if loop.shed else ""
        yield f"Of {loop.arrivals.mean:,.1f} {offered} a second that arrived, {loop.begun.mean:,.1f} began{shed}."
        yield "Response times count from the arrival, with the wait for a client that is free."
    busy = result.server_cpu.busy
    if busy is not None:
        yield f"The server's CPUs were busy for {told(SERVER_CPU, result)} of the time{_limit(busy)}."
    known = [each for each in result.groups if not each.background and each.response_time_ms.p50 is not None]
    if len(known) > 1:
        slowest = max(known, key=lambda group: group.response_time_ms.p50 or 0.0)
        median = Metric(MEDIAN.name, slowest.name)
        every = sum(not each.background for each in result.groups)
        of = "Of the groups" if len(known) == every else "Of the groups with enough transactions"
        yield f"{of}, {slowest.name} has the longest median response time: {told(median, result)}."


def _limit(busy: float) -> str:
    return ": the server was the limit" if busy >= SATURATED else ""


def sweep(source: StudySource) -> list[str]:
    """The points of a sweep in sentences: where throughput, the tail and the server's load are least and most, of
    points that may be trusted; and where most fails.
    """
    made, trusted = source.made, trusted_of(source)
    extremes = [*_throughput(trusted), *_tails(trusted), *_busiest(trusted)] if trusted else []
    return [_counted(source), *extremes, _failing(made, len(source.study.points))]


def trusted_of(source: StudySource) -> list[Made]:
    """The points that may be trusted."""
    return [each for each in source.made if each[1].valid]


def _counted(source: StudySource) -> str:
    made, count, trusted = len(source.made), len(source.study.points), len(trusted_of(source))
    said = f"All {count} points have results" if made == count else f"{made} of {count} points have results"
    if not trusted:
        return f"{said}, and none of these may be trusted. The table has their figures."
    if trusted == made:
        return f"{said}, and all of these are valid."
    valid, those = ("is", "that one") if trusted == 1 else ("are", "these")
    return f"{said}, and {trusted} of these {valid} valid. What follows of throughput and response times is of {those}."


def _throughput(made: Sequence[Made]) -> Iterator[str]:
    best, worst = (choose(made, key=lambda each: each[1].throughput.mean) for choose in (max, min))
    if len(made) == 1:
        yield f"Throughput at {at(best)} is {told(THROUGHPUT, best[1])}."
    elif best[1].throughput.mean == worst[1].throughput.mean:
        yield f"Throughput is the same at every point: {told(THROUGHPUT, best[1])}."
    else:
        yield f"Throughput is highest at {at(best)}: {told(THROUGHPUT, best[1])}."
        yield f"It is lowest at {at(worst)}: {told(THROUGHPUT, worst[1])}."


def _tails(made: Sequence[Made]) -> Iterator[str]:
    tail = _tail([result for _, result in made])
    known = [(value, each) for each in made if (value := amounts.value(tail, each[1])) is not None]
    if not known:
        return
    (least, quick), (most, slow) = (choose(known, key=lambda pair: pair[0]) for choose in (min, max))
    name = f"The {tail.name} of the response times"
    if len(known) == 1:
        yield f"{name} there is {told(tail, quick[1])}."
    elif least == most:
        yield f"{name} is the same at every point: {told(tail, quick[1])}."
    else:
        yield f"{name} is least at {at(quick)}: {told(tail, quick[1])}."
        yield f"It is greatest at {at(slow)}: {told(tail, slow[1])}."


def _busiest(made: Sequence[Made]) -> Iterator[str]:
    known = [(busy, each) for each in made if (busy := each[1].server_cpu.busy) is not None]
    if len(known) > 1:
        busy, most = max(known, key=lambda pair: pair[0])
        yield f"The server's CPUs are busiest at {at(most)}: {told(SERVER_CPU, most[1])} of the time{_limit(busy)}."


def _failing(made: Sequence[Made], points: int) -> str:
    """Where most transactions fail, of all points, because errors are often why one is not valid."""
    failing = [each for each in made if each[1].errors]
    if not failing:
        return f"No transaction failed at {'any point' if len(made) == points else 'these points'}."
    most = max(failing, key=lambda each: each[1].errors or 0.0)
    doubt = "" if most[1].valid else ", which is not valid"
    return f"The largest share of failures is at {at(most)}{doubt}: {_failed(most[1])} that ended."


def at(made: Made) -> str:
    """A point in words."""
    return settings_of(made[0].varied) or "the only point"


def costs(source: StudySource) -> list[str]:
    """What loss and distance cost, at the points with the most of either that may be trusted."""
    made = {point.index: (point, result) for point, result in trusted_of(source)}
    return [_cost(cost, made) for cost in trusted_costs(source.points, made)]


def _cost(cost: Cost, made: dict[int, Made]) -> str:
    here, there = made[cost.index], made[cost.baseline]
    ratio, interval = throughput_change(there[1], here[1])
    bounded = f", 90 %: {interval}" if interval and interval != amounts.ONE_RUN else ""
    changed = "" if ratio is None else f" ({amounts.change(ratio)}{bounded})"
    tail = _tail([here[1], there[1]])
    parts = [f"throughput {_both(THROUGHPUT, there, here)}{changed}", f"{tail.name} {_both(tail, there, here)}"]
    return f"{cost.what.capitalize()}: {at(here)}, against {at(there)}: {'; '.join(parts)}."


def _both(of: Metric, first: Made, last: Made) -> str:
    return f"{amounts.text(of, first[1])} -> {amounts.text(of, last[1])} {amounts.unit(of)}"


def throughput_change(first: Result, last: Result) -> tuple[float | None, str]:
    """The ratio of the throughputs of two results, and its 90 % interval (Fieller) as a change in words."""
    ratio = amounts.ratio(estimate(first, THROUGHPUT)[0], estimate(last, THROUGHPUT)[0])
    if ratio is None:
        return None, ""
    ends = ratio_interval(run_values(first, THROUGHPUT), run_values(last, THROUGHPUT), LEVEL)
    if ends is not None:
        return ratio, amounts.change_span(ratio, ends)
    return ratio, amounts.ONE_RUN if min(len(first.runs), len(last.runs)) == 1 else ""
