"""The figures of each group of clients, over the runs of an experiment."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import Field

from waspbench.results import errors
from waspbench.results.estimates import (
    Estimate,
    ResponseTime,
    estimate_of,
    no_time,
    response_time_of,
)
from waspbench.results.few import LEAST, lacking, left_out, notes_of_parts
from waspbench.results.formats import Record
from waspbench.results.named_requests import NamedRequest, requests_of
from waspbench.results.sessions import Sessions, sessions_of
from waspbench.results.summary import Censoring, RunGroup, RunSummary, Stability, Trend
from waspbench.results.together import GroupTogether, Together
from waspbench.stats import Populations

MOST_HIDDEN = 0.05
"""What may be hidden of a mean response time, relative to it, before a note says so: the bias that no valid result is
to have.
"""


class GroupArrivals(Record):
    """The arrivals of one group's open loop, of all runs."""

    arrivals: Estimate
    """Arrivals a second."""
    begun: Estimate
    """Arrivals a second whose transaction began."""
    shed: int
    """Number of arrivals in all runs that were dropped because too many were waiting (arrivals.outstanding)."""


class Group(Record):
    """The figures of one group of clients, of all runs."""

    name: str
    """Name of the group."""
    clients: int | None
    """Number of clients in the group; None if the results do not say."""
    background: bool
    """Whether the group is background load, which the figures of all clients leave out."""
    throughput: Estimate
    """``ok`` transactions a second."""
    goodput_bps: Estimate
    """Bits of the bodies of ``ok`` transactions a second."""
    response_time_ms: ResponseTime
    """Response times of ``ok`` transactions in milliseconds, from the intended start if there is one. If there are
    several groups, all of them are None with fewer than 100 ``ok`` transactions of the group."""
    all_response_time_ms: ResponseTime
    """Response times of all transactions that ended, whatever their outcome. If there are several groups, all of them
    are None with fewer than 100 such transactions of the group."""
    outcomes: dict[str, int]
    """Number of transactions of all runs by outcome."""
    statuses: dict[str, int]
    """Number of complete responses (``ok``, ``http_error`` and ``wrong``) of all runs by status code."""
    errors: float | None
    """Share of the ended transactions that were not ok; None if none ended."""
    requests: list[NamedRequest] = Field(default_factory=list)
    """Figures of each named request of the group; empty if its requests have no names, and in results of older
    versions."""
    sessions: Sessions | None = None
    """Figures of whole sessions of the group. None if its clients make none, and in results of older versions."""
    censoring: Censoring | None
    """How much the measured intervals of all runs together miss, because they were too short for some transactions.
    None with too few transactions to tell, and in results of older versions."""
    trend: Trend | None = None
    """Figures that say whether throughput had settled, of all runs together. None with too few transactions to tell,
    and in results of older versions."""
    stability: Stability | None = None
    """Figures that say whether the open loop was stable, of all runs together. None in a closed loop, with too few
    transactions to tell, and in results of older versions."""
    open_loop: GroupArrivals | None
    """Arrivals of the group's open loop; None in a closed loop."""
    valid: bool
    """Whether the group's figures are valid: no reason is about this group or about all clients."""


def groups_of(
    runs: Sequence[RunSummary],
    populations: Sequence[Populations],
    percentiles: Sequence[str],
    about: Mapping[str, Any],
    against: Collection[str | None],
    together: Together | None,
) -> list[Group]:
    """The figures of each group, in the order of their index; none where a run is of a version that does not tell.
    ``percentiles`` names those that they have, ``against`` are the groups that reasons are about (None: all clients),
    ``together`` is what all runs say.
    """
    clients = {group["name"]: group["count"] for group in about.get("clients", ())}
    told = [
        run.by_group for run in runs if run.by_group and all(group.throughput is not None for group in run.by_group)
    ]
    if len(told) < len(runs):
        return []
    return [
        _group(
            own,
            [each.of_group(index) for each in populations],
            percentiles,
            [run.interval_s for run in runs],
            clients=clients.get(own[0].name),
            several=len(told[0]) > 1,
            together=GroupTogether() if together is None else together.by_group[index],
            valid=not {None, own[0].name} & set(against),
        )
        for index, own in enumerate(zip(*told, strict=True))
    ]


def _group(
    own: Sequence[RunGroup],
    populations: Sequence[Populations],
    percentiles: Sequence[str],
    intervals: Sequence[float],
    *,
    clients: int | None,
    several: bool,
    together: GroupTogether,
    valid: bool,
) -> Group:
    outcomes = errors.total(group.outcomes for group in own) or {}
    least = LEAST if several else 0
    ok, ended = outcomes.get("ok", 0), errors.ended(outcomes)
    times = [group.response_time_ms for group in own if group.response_time_ms is not None]
    everything = [group.all_response_time_ms for group in own if group.all_response_time_ms is not None]
    return Group(
        name=own[0].name,
        clients=clients,
        background=own[0].background,
        throughput=estimate_of([group.throughput or 0.0 for group in own]),
        goodput_bps=estimate_of([group.goodput_bps or 0.0 for group in own]),
        response_time_ms=response_time_of(times, [each.ok for each in populations], percentiles)
        if ok >= least
        else no_time(percentiles),
        all_response_time_ms=response_time_of(everything, [each.all for each in populations], percentiles)
        if ended >= least
        else no_time(percentiles),
        outcomes=outcomes,
        statuses=errors.total(group.statuses for group in own) or {},
        errors=errors.share(outcomes),
        requests=requests_of([group.requests or [] for group in own], populations, percentiles, several=several),
        sessions=sessions_of([group.sessions for group in own], populations, percentiles, several=several),
        censoring=together.censoring,
        trend=together.trend,
        stability=together.stability,
        open_loop=_arrivals(own, intervals),
        valid=valid,
    )


def _arrivals(own: Sequence[RunGroup], intervals: Sequence[float]) -> GroupArrivals | None:
    loops = [(group.open_loop, length) for group, length in zip(own, intervals, strict=True) if group.open_loop]
    if not loops:
        return None
    return GroupArrivals(
        arrivals=estimate_of([loop.arrivals / length for loop, length in loops]),
        begun=estimate_of([loop.begun / length for loop, length in loops]),
        shed=sum(loop.shed for loop, _ in loops),
    )


def notes_of_dropped(runs: Sequence[RunSummary], groups: Sequence[Group], told: Collection[str | None]) -> list[str]:
    """How many of the arrivals of each group were dropped, unless a reason (``overload``) tells; of background groups
    nothing. ``told`` are the groups that such a reason is about (None: all clients).
    """
    notes = []
    for index, group in enumerate(groups):
        if group.background or {None, group.name} & set(told):
            continue
        loops = [run.by_group[index].open_loop for run in runs if run.by_group]
        came, dropped = (sum(getattr(loop, name) for loop in loops if loop) for name in ("arrivals", "shed"))
        if dropped:
            whose = f"group {group.name}: " if len(groups) > 1 else ""
            notes.append(
                f"{whose}{dropped:,d} of {came:,d} arrivals were dropped, since as many as may wait did "
                "(arrivals.outstanding)"
            )
    return notes


def notes_of(groups: Sequence[Group]) -> list[str]:
    """That the response times of groups with few ``ok`` transactions are left out; of background groups nothing."""
    measured = [group for group in groups if not group.background]
    few = [group.name for group in measured if group.outcomes.get("ok", 0) < LEAST]
    if not few or len(groups) == 1:
        return []
    kind = "group" if len(few) == 1 else "groups"
    return [f"{kind} {', '.join(few)}: fewer than {LEAST} ok transactions, whose response times are left out"]


def notes_of_percentiles(ok: int, groups: Sequence[Group], percentiles: Sequence[str]) -> list[str]:
    """Which of the ``percentiles`` that are shown are left out because fewer ``ok`` transactions ended than they need:
    of all clients, and of groups where it is not the same; of background groups nothing.
    """
    if not ok:
        return []
    of_all = lacking(percentiles, ok)
    notes = [left_out(of_all)] if of_all else []
    counts = {
        group.name: group.outcomes.get("ok", 0) for group in (groups if len(groups) > 1 else ()) if not group.background
    }
    return notes + notes_of_parts("group", counts, percentiles, of_all)


def notes_of_unseen(groups: Sequence[Group]) -> list[str]:
    """What is too rare to have been seen, by group, where it could be more than `MOST_HIDDEN`; of background groups
    nothing.
    """
    said = []
    for group in groups:
        if group.background or group.censoring is None or group.censoring.censored:
            continue
        unseen, mean = group.censoring.unseen, group.all_response_time_ms.mean
        if unseen is None or not mean or unseen.adds_s * 1e3 <= MOST_HIDDEN * mean:
            continue
        whose = f"group {group.name}: " if len(groups) > 1 else ""
        said.append(
            f"{whose}stalls of fewer than one in {_rounded(unseen.one_in):,d} transactions may not have been seen; if "
            f"each lasted {unseen.lasting_s:g} s, as long as clients wait, the mean response time of all that ended "
            f"would be up to {100e3 * unseen.adds_s / mean:.0f} % higher"
        )
    return said


def _rounded(count: float) -> int:
    """Two digits."""
    return int(float(f"{count:.1e}"))
