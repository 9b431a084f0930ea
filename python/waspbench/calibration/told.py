"""What a calibration cannot tell, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from waspbench.calibration.counts import WORK
from waspbench.calibration.fit import FIELDS, INTERRUPT_INTERVAL, PROCESSES, WAKEUP_LATENCY
from waspbench.results.calibration import CalibratedCost, CalibratedPoint

SAME_NUMBER: Final = (
    "per_syn: every connection has one SYN. The model has the cost of any received packet for a SYN, and the rest in "
    "per_connection.",
    "per_data: a request is one packet. The model has the cost of any received packet for it, and the rest in "
    "per_request.",
)
"""What no run without loss tells apart."""

ASSUMED: Final = (
    "per_retransmission is 0: runs without loss have none. A segment that is sent again costs what a segment and its "
    "frame cost.",
    "per_duplicate_ack is the cost of any received packet: runs without loss have no duplicate ACKs.",
    "per_timer is the cost of a received packet: nothing counts the timers of TCP.",
    "accept_queue and syn_queue are unlimited.",
)
"""What no run without loss tells, and what the model assumes."""

OF_PROCESSES: Final = (
    "per_runnable is 0: nothing counts how many processes want to run.",
    f"processes is {PROCESSES}: no connection waits for a process.",
)

NO_INTERRUPTS: Final = (
    "per_interrupt is 0: no packet interrupted the server's CPUs, or nothing counted it. If the kernel's work for "
    "received packets is done on other CPUs (runs without root), it is missing in the costs."
)

NOT_AT_ITS_LIMIT: Final = (
    "concurrency is event: at full load the server's CPUs were never 90 % busy, so the runs do not tell whether each "
    "request wakes a thread of its own."
)

ONE_SIZE: Final = "per_kib is 0: all responses had the same size, and per_request has what their bodies cost."

OF_A_SERVER_THAT_RAN: Final = (
    "The kernel's work in interrupts is missing: the server ran already, so its CPU time is that of its processes."
)


def not_told(
    costs: Sequence[CalibratedCost],
    points: Sequence[CalibratedPoint],
    cores: str,
    *,
    one_size: bool,
    of_processes: bool | None,
    ran_already: bool,
) -> list[str]:
    """What the runs cannot tell, or cannot tell apart, and what the model assumes instead.

    Args:
        costs: the costs that were found.
        points: the points that they follow from.
        cores: how the number of CPUs is known, in words.
        one_size: whether all responses had the same size.
        of_processes: whether each connection has a process of its own in the model; None if no run tells.
        ran_already: whether the server ran before the calibration.
    """
    return [
        *SAME_NUMBER,
        *ASSUMED,
        *_missing(costs, points, one_size=one_size, of_processes=bool(of_processes)),
        *(said for cost in costs if (said := _of_cost(cost, "the server" if ran_already else "each CPU"))),
        *_assumed_times(costs),
        cores,
        *(OF_PROCESSES if of_processes else []),
        *([NOT_AT_ITS_LIMIT] if of_processes is None else []),
        *([OF_A_SERVER_THAT_RAN] if ran_already else []),
    ]


def _missing(
    costs: Sequence[CalibratedCost], points: Sequence[CalibratedPoint], *, one_size: bool, of_processes: bool
) -> Iterator[str]:
    """Of kinds of work without a cost."""
    found = {cost.work for cost in costs}
    for name in WORK:
        if name in found:
            continue
        fields = ", ".join(FIELDS[name])
        if name == "kib" and one_size:
            yield ONE_SIZE
        elif name == "interrupts" and any(point.counts[name] is not None for point in points if not point.left_out):
            yield NO_INTERRUPTS
        elif name == "wakeups" and of_processes:
            yield f"{fields} is 0: each request wakes a program, and per_request has what that costs."
        else:
            yield f"{fields} is 0: {_why(name, points)} ({WORK[name]})."


def _why(name: str, points: Sequence[CalibratedPoint]) -> str:
    """Why a kind of work has no cost."""
    numbers = [point.counts[name] for point in points if not point.left_out]
    if None in numbers:
        return "not every trial counted this work"
    if not any(numbers):
        return "this work did not occur"
    return "too few trials can be used, or this work was too rare in all of them"


def _of_cost(cost: CalibratedCost, busy: str) -> str:
    """What is to be said of a cost; empty if nothing is. ``busy`` is what has the cost of a second."""
    fields = ", ".join(cost.fields)
    if cost.known_with:
        others = ", ".join(cost.known_with)
        return f"{fields}: {cost.work} and {others} go together, so only their common cost is known."
    if cost.work == "seconds" and not cost.may_be_zero:
        low, high = (f"{end / 1e4:.2g}" for end in cost.ci90)
        share = f"{cost.us / 1e4:.2g} % of the time (90 %: {low} to {high} %)"
        return f"{fields}: {busy} was busy for {share} whatever was asked for."
    return ""


def _assumed_times(costs: Sequence[CalibratedCost]) -> Iterator[str]:
    """Of times that a model needs if it has certain costs, and that no run tells."""
    dear = {cost.work for cost in costs if cost.us}
    if "wakeups" in dear:
        yield f"wakeup_latency is {WAKEUP_LATENCY}: no run tells it."
    if "interrupts" in dear:
        yield (
            f"interrupt_interval is {INTERRUPT_INTERVAL}: the emulator of a live run hands over packets in batches, "
            "20 to 60us apart. A network card may moderate interrupts in another way."
        )
