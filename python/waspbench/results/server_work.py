"""What the CPUs of a simulated server did, by kind of work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from waspbench.results.columns import settings, swept
from waspbench.results.summary import RunSummary, ServerWork
from waspbench.tabular import Column, Figures, Listing, decimals, percent, whole

if TYPE_CHECKING:
    from waspbench.results.study import StudyResult

KINDS = {
    "syn": ("SYNs received", "SYNs"),
    "data": ("data segments received", "data"),
    "ack": ("ACKs received", "ACKs"),
    "duplicate_ack": ("duplicate ACKs received", "dup ACKs"),
    "interrupt": ("interrupts by packets", "interrupts"),
    "timer": ("TCP timers", "timers"),
    "frame": ("frames sent", "frames"),
    "segment": ("segments sent", "segments"),
    "retransmission": ("segments sent again", "sent again"),
    "wakeup": ("programs woken", "wakeups"),
    "connection": ("connections accepted", "accepts"),
    "request": ("requests", "requests"),
    "byte": ("KiB of bodies", "bodies"),
    "doubling": ("requests with over 256 connections open", "over 256 open"),
    "runnable": ("processes that wait", "waiting"),
    "tick": ("kernel ticks", "ticks"),
}
"""What the kinds of work are called in tables, as a line and as a head, in their order."""

_ALL = "all"

_OF_A_RESULT = {
    "kind": Column("server work", left=True),
    "cost": Column("cost", left=True),
    "number": Column("number", whole),
    "each": Column("per ok transaction", decimals(2)),
    "us": Column("CPU us per ok", decimals(1)),
    "share": Column("% of the work", percent(1)),
}
"""The columns of the table of one result."""

_KIB = "byte"
"""The kind that is counted in bytes, and costs by the KiB."""


def server_work(runs: Sequence[RunSummary]) -> dict[str, ServerWork]:
    """The work of all runs together, by kind; empty where no run tells of any."""
    found: dict[str, ServerWork] = {}
    for run in runs:
        for work in run.server_work or ():
            before = found.get(work.kind, ServerWork(kind=work.kind, number=0, cpu_s=0.0))
            sums = {"number": before.number + work.number, "cpu_s": before.cpu_s + work.cpu_s}
            found[work.kind] = ServerWork(kind=work.kind, **sums)
    return found


def listing(study: StudyResult) -> Listing | None:
    """A table of the work that servers did for each ``ok`` transaction; None where no server tells of any.

    That of one result has a line for each kind of work; that of several points a line for each of them.
    """
    made = [(point.varied, point.result.runs) for point in study.points if point.result is not None]
    told = [(varied, runs) for varied, runs in made if server_work(runs)]
    if not told:
        return None
    if len(study.points) == 1:
        return Listing(_OF_A_RESULT, _rows_of_a_result(told[0][1]))
    rows = [{**settings(varied), **_us_by_kind(runs)} for varied, runs in told]
    columns = {_ALL: Column("server CPU us per ok", decimals(1))}
    for kind, (_, head) in KINDS.items():
        if any(row.get(kind) for row in rows):
            columns[kind] = Column(f"of it {head}" if len(columns) == 1 else head, decimals(1))
    return Listing({**swept(varied for varied, _ in told), **columns}, rows)


def _rows_of_a_result(runs: Sequence[RunSummary]) -> list[Figures]:
    work, operations = server_work(runs), _operations(runs)
    seconds = sum(each.cpu_s for each in work.values())
    rows: list[Figures] = [
        {
            "kind": KINDS[kind][0] if kind in KINDS else kind,
            "cost": "per_kib" if kind == _KIB else f"per_{kind}",
            "number": _number(each),
            "each": _number(each) / operations if operations else None,
            "us": 1e6 * each.cpu_s / operations if operations else None,
            "share": each.cpu_s / seconds if seconds else None,
        }
        for kind, each in _in_order(work).items()
        if each.number
    ]
    us = 1e6 * seconds / operations if operations else None
    return [*rows, {"kind": _ALL, "us": us, "share": 1.0 if seconds else None}]


def _number(work: ServerWork) -> int:
    return round(work.number / 1024) if work.kind == _KIB else work.number


def _us_by_kind(runs: Sequence[RunSummary]) -> Figures:
    """CPU microseconds of all work, and of each kind, for each ``ok`` transaction."""
    work, operations = server_work(runs), _operations(runs)
    if not operations:
        return {}
    spent = {kind: 1e6 * each.cpu_s / operations for kind, each in work.items()}
    return {**spent, _ALL: sum(spent.values())}


def _operations(runs: Sequence[RunSummary]) -> int:
    return sum(run.outcomes.get("ok", 0) for run in runs)


def _in_order(work: Mapping[str, ServerWork]) -> dict[str, ServerWork]:
    return {kind: work[kind] for kind in (*KINDS, *work) if kind in work}
