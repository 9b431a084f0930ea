"""The costs that follow from the runs of a calibration, and the model that has them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from waspbench.calibration.counts import WORK, counts_of, cpu_time
from waspbench.calibration.trials import Answered, Asked, asked_of, is_limited_by_server, load_of, pauses
from waspbench.results.calibration import CalibratedCost, CalibratedPoint
from waspbench.results.result import Result
from waspbench.results.server_time import busy_of, server_time
from waspbench.results.study import StudyPoint, StudyResult
from waspbench.stats.costs import CostFit, fit_costs

FULL_LOAD, PART_LOAD = "full-load", "part-load"
"""The stages, which are directories, in their order."""

FIELDS: dict[str, tuple[str, ...]] = {
    "connections": ("per_connection",),
    "requests": ("per_request",),
    "kib": ("per_kib",),
    "frames": ("per_frame",),
    "segments": ("per_segment",),
    "received": ("per_data", "per_ack", "per_duplicate_ack", "per_syn"),
    "interrupts": ("per_interrupt",),
    "wakeups": ("per_wakeup",),
    "doublings": ("per_doubling",),
    "seconds": ("per_tick",),
}
"""The fields of ``server.model`` that have the cost of each kind of work."""

TICKS: Final = 1000
"""Ticks of a CPU in a second."""

HARMLESS = frozenset({"censored", "emulator_busy", "lag", "opening", "overload", "too_few", "unread", "warmup"})
"""Codes of reasons against a run that do not speak against what its work cost. The packets were late, or the times are
not those of longer runs, but the server had this work and spent this time on it.
"""

OF_THE_EMULATOR = frozenset({"emulator_busy", "lag", "unread"})
"""Codes of the reasons which say that the emulator was at its limit."""

BUSY: Final = 0.9
"""Busy share of the server's CPUs from which a point shows what the server does at its limit."""

SPARE: Final = 0.2
"""CPU that threads besides those which serve may take."""

REACHED: Final = 0.7
"""Part of the load of clients with pauses that a server with idle CPUs answers at least, unless it has too few
processes or threads for their connections."""

NOT_REACHED: Final = "load not reached though the CPUs had time: too few processes or threads for the connections?"

LEAST_DEGREES: Final = 5
"""Points beyond the number of costs, without which the error of the costs would say little."""

HANDED_OVER: Final = 0.5
"""Threads put on a CPU for each request at full load from which each request wakes a thread of its own. The server's
wake-ups are no work beside requests and connections then.
"""

FIN_ALONE: Final = 4.5
"""Frames of a connection with one small response from which the FIN has a frame of its own. Otherwise there are four:
SYN-ACK, ACK of the request, the response with the FIN, and the ACK of the client's FIN.
"""

ONE_FRAME: Final = 8
"""KiB of a body that leaves in one frame, also on a new connection."""

WAKEUP_LATENCY: Final = "50us"
"""Time until a program that slept runs, which no run tells."""

INTERRUPT_INTERVAL: Final = "40us"
"""Shortest time between two interrupts. The emulator of a live run hands over packets in batches, 20 to 60 us apart."""

PROCESSES: Final = 65_536
"""Processes of a server that has one for each connection: as many as the model may have."""

_LEAST = {"doublings": 0.5}
"""How often a request of one point at least needs a kind of work whose cost can be told."""

DISPENSABLE = ("seconds", "doublings")
"""Kinds of work that go without a cost where points are few, in this order."""


@dataclass(frozen=True)
class Fitted:
    """Costs, and the points that they follow from."""

    points: list[CalibratedPoint]
    costs: list[CalibratedCost]
    """The costs; empty if there are none."""
    error: float | None
    worst: float | None
    why_not: str = ""
    """Why there are no costs; empty if there are some."""


def most_of(stage: StudyResult) -> dict[Asked, Answered]:
    """What the server answered at full load, by what it was asked for."""
    made = [(asked_of(point.varied), point.result) for point in stage.points if point.result is not None]
    return {asked: _answered(found) for asked, found in made if found.throughput.mean > 0}


def _answered(found: Result) -> Answered:
    goodput = sum(run.goodput_bps for run in found.runs) / len(found.runs)
    return Answered(found.throughput.mean, goodput / 8 / found.throughput.mean)


def fitted(stages: Mapping[str, StudyResult], *, one_size: bool) -> Fitted:
    """The costs that say best what the runs of all stages took.

    Args:
        stages: the results of each stage, by its directory.
        one_size: whether all responses have the same size.
    """
    most = most_of(stages[FULL_LOAD]) if FULL_LOAD in stages else {}
    points = [
        _failed(name, point, most) if point.result is None else _point(name, point, point.result, most)
        for name, stage in stages.items()
        for point in stage.points
        if point.result is not None or point.failure is not None
    ]
    used = [point for point in points if not point.left_out]
    work = _work(used, one_size=one_size)
    if not used or len(used) < len(work) + LEAST_DEGREES:
        return Fitted(points, [], None, None, _too_few(len(used), len(work)))
    counts = {name: [point.counts[name] or 0.0 for point in used] for name in work}
    times = [(point.measured_us or 0.0) * (point.counts["requests"] or 0.0) for point in used]
    try:
        fit = fit_costs(times, counts)
    except RuntimeError as error:  # of scipy, where it finds no minimum
        return Fitted(points, [], None, None, f"no costs could be fitted: {error}")
    return Fitted(_with_fit(points, fit), _costs(fit), fit.error, fit.worst)


def _too_few(points: int, work: int) -> str:
    if points == 0:
        return "no trial can be used"
    return f"{points} trials can be used, and the costs of {work} kinds of work need {work + LEAST_DEGREES}"


def _failed(stage: str, point: StudyPoint, most: Mapping[Asked, Answered]) -> CalibratedPoint:
    """A point whose runs all failed."""
    return CalibratedPoint(
        stage=stage,
        index=point.index,
        varied=point.varied,
        load=load_of(point.varied, most),
        reached=None,
        busy=None,
        counts=dict.fromkeys(WORK),
        measured_us=None,
        fitted_us=None,
        error=None,
        left_out=f"failed: {point.failure}",
    )


def _point(stage: str, point: StudyPoint, result: Result, most: Mapping[Asked, Answered]) -> CalibratedPoint:
    result, against = _valid_part(result)
    time, counts, asked = cpu_time(result), counts_of(result), asked_of(point.varied)
    requests = counts["requests"]
    shares = [part for run in result.runs if (part := busy_of(run)) is not None]
    load, busy = load_of(point.varied, most), sum(shares) / len(shares) if shares else None
    reached = result.throughput.mean / most[asked].rate if asked in most else None
    waiting = pauses(point.varied) and _is_waiting(load, reached, busy)
    return CalibratedPoint(
        stage=stage,
        index=point.index,
        varied=point.varied,
        load=load,
        reached=reached,
        busy=busy,
        counts=counts,
        measured_us=time / requests if time is not None and requests else None,
        fitted_us=None,
        error=None,
        left_out=_why_left_out(against, time, requests) or (NOT_REACHED if waiting else ""),
    )


def _is_waiting(load: float | None, reached: float | None, busy: float | None) -> bool:
    """Whether clients waited for something else than the server's CPUs. Their connections are counted then, and the
    work that the server has with them is not done.
    """
    if load is None or reached is None or busy is None:
        return False
    return reached < REACHED * load and busy < BUSY


def _valid_part(result: Result) -> tuple[Result, list[str]]:
    """The runs of a result that tell what work cost; if there are none, all of them and what speaks against them."""
    against = {run.run: {reason.code for reason in run.invalid} - HARMLESS for run in result.runs}
    runs = [run for run in result.runs if not against[run.run]]
    if runs:
        return result.model_copy(update={"runs": runs}), []
    return result, sorted(set().union(*against.values()))


def _why_left_out(against: Sequence[str], time: float | None, requests: float | None) -> str:
    if against:
        return f"not valid: {', '.join(against)}"
    if not time:
        return "the server's CPU time is not known"
    return "" if requests else "no request was answered"


def _work(used: Sequence[CalibratedPoint], *, one_size: bool) -> list[str]:
    """The kinds of work whose costs these points tell."""
    found = [name for name in WORK if _is_told(name, used)]
    if one_size:
        found = [name for name in found if name != "kib"]
    if hands_over(used):
        found = [name for name in found if name != "wakeups"]
    for name in DISPENSABLE:
        if len(used) < len(found) + LEAST_DEGREES and name in found:
            found.remove(name)
    return found


def _is_told(name: str, used: Sequence[CalibratedPoint]) -> bool:
    """Whether this work was counted at all points, and occurred."""
    numbers = [(point.counts[name], point.counts["requests"] or 0.0) for point in used]
    if any(number is None for number, _ in numbers):
        return False
    return any((number or 0.0) > _LEAST.get(name, 0.0) * requests for number, requests in numbers)


def hands_over(points: Sequence[CalibratedPoint]) -> bool | None:
    """Whether the server wakes a thread for each request, however busy it is; None if no point has it at its limit."""
    ratios = [
        (point.counts["wakeups"] or 0.0) / (point.counts["requests"] or 1.0)
        for point in points
        if point.stage == FULL_LOAD and not point.left_out and (point.busy or 0.0) >= BUSY
    ]
    return median(ratios) > HANDED_OVER if ratios else None


def fin_with_data(points: Sequence[CalibratedPoint]) -> bool | None:
    """Whether the server's FIN leaves with the last data; None if no point tells."""
    ratios = [
        point.counts["frames"] / point.counts["requests"]
        for point in points
        if asked_of(point.varied) == ("1KiB", 1)
        and not point.left_out
        and point.counts["frames"]
        and point.counts["requests"]
        and (point.counts["kib"] or 0.0) / point.counts["requests"] <= ONE_FRAME
    ]
    return median(ratios) < FIN_ALONE if ratios else None


def _with_fit(points: Sequence[CalibratedPoint], fit: CostFit) -> list[CalibratedPoint]:
    times = iter(fit.fitted)
    found = []
    for point in points:
        if not point.left_out and point.measured_us:
            us = next(times) / (point.counts["requests"] or 1.0)
            point = point.model_copy(update={"fitted_us": us, "error": point.measured_us / us - 1 if us else None})
        found.append(point)
    return found


def _costs(fit: CostFit) -> list[CalibratedCost]:
    return [
        CalibratedCost(
            work=cost.name,
            counted=WORK[cost.name],
            fields=list(FIELDS[cost.name]),
            us=cost.value,
            ci90=(cost.low, cost.high),
            may_be_zero=cost.low <= 0,
            inflation=cost.inflation,
            known_with=list(cost.mixed_with),
        )
        for cost in fit.costs
    ]


def cores_of(full: StudyResult | None, cpus: int) -> tuple[int, str]:
    """The number of CPUs that a server can use of those that it may, and in words how that is known.

    At its limit it keeps all busy, or it has fewer threads than CPUs: a program of one thread uses one, on however many
    it may run. The kernel's work for the network may be done on other CPUs then, so the time of its threads is what
    counts; each has less than a CPU where interrupts take the rest. A run in which the emulator was at its limit, or
    clients waited for the network, does not tell.

    Args:
        full: the first stage; None if it was not made.
        cpus: number of CPUs that the server may use.
    """
    if cpus == 1:
        return 1, "cores is 1: the server had one CPU."
    runs = [(result, run) for result in _at_the_limit(full) for run in result.runs]
    used = [time / run.interval_s for result, run in runs if (time := server_time(result, run)) is not None]
    if not used:
        why = "in no run at full load was it the server that made clients wait"
        return cpus, f"cores is {cpus}, the number of CPUs that the server may use: {why}."
    said = f"at full load the server kept {max(used):.2f} of the {cpus} CPUs busy"
    if max(used) >= BUSY * cpus:
        return cpus, f"cores is {cpus}: {said}."
    times = [time / run.interval_s for _, run in runs if (time := run.server_cpu.processes_s) is not None]
    threads = max(times or used)
    cores = min(max(1, math.ceil(threads - SPARE)), cpus)
    return cores, f"cores is {cores}: {said}, and its threads took the time of {threads:.2f}."


def _at_the_limit(full: StudyResult | None) -> Iterator[Result]:
    """The results in which the server made clients wait."""
    if full is None:
        return
    most = most_of(full)
    for point in full.points:
        answered = most.get(asked_of(point.varied))
        if point.result is None or answered is None or not is_limited_by_server(point.varied, answered):
            continue
        if not OF_THE_EMULATOR & {reason.code for reason in point.result.invalid_reasons}:
            yield point.result


def model_of(
    costs: Sequence[CalibratedCost],
    points: Sequence[CalibratedPoint],
    *,
    cores: int,
    counted_cpus: int,
    prefork: bool,
) -> dict[str, Any]:
    """The fields of ``server.model``.

    Args:
        costs: the costs that were found.
        points: the points that they follow from.
        cores: number of CPUs that the server can use.
        counted_cpus: number of CPUs whose seconds were counted.
        prefork: whether each connection has a process of its own.
    """
    of_processes = prefork or bool(hands_over(points))
    found: dict[str, Any] = {"cores": cores, "concurrency": "process" if of_processes else "event"}
    if of_processes:
        found["processes"] = PROCESSES
    with_data = fin_with_data(points)
    if with_data is not None:
        found["fin_with_data"] = with_data
    us = {cost.work: cost.us for cost in costs}
    us["seconds"] = us.get("seconds", 0.0) / TICKS * counted_cpus / cores
    for work, names in FIELDS.items():
        found |= dict.fromkeys(names, _duration(us.get(work, 0.0)))
    if us.get("wakeups"):
        found["wakeup_latency"] = WAKEUP_LATENCY
    if us.get("interrupts"):
        found["interrupt_interval"] = INTERRUPT_INTERVAL
    return found | {"per_retransmission": "0us", "per_timer": _duration(us.get("received", 0.0))}


def _duration(us: float) -> str:
    """A cost as the experiment file has it, to the nanosecond."""
    return f"{us:.3f}".rstrip("0").rstrip(".") + "us"
