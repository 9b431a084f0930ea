"""What is to be said of results whose clients go through sessions."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from waspbench import _core
from waspbench.experiment.units import duration
from waspbench.results import errors
from waspbench.results.asking import workload_in
from waspbench.results.few import LEAST, lacking, left_out, named
from waspbench.results.named_requests import NamedRequest
from waspbench.results.parts import RequestKey
from waspbench.results.sessions import Sessions, length

_CLIENTS_FOR_EACH = 10
"""Clients for each session in progress, with which few arrivals meet a client that is busy."""


def pause_of(workload: Mapping[str, Any]) -> float:
    """Seconds that the pauses between the steps of a session take on average; 0 for other workloads. Steps that are
    made once do not count.
    """
    if workload.get("order") != "session":
        return 0.0
    steps = (step for step in workload.get("requests", ()) if not step.get("once"))
    thinks = (step.get("think") for step in steps)
    return sum(_core.mean_of_delay(json.dumps(think)) for think in thinks if think)


def notes_of_sessions(scenario: Mapping[str, Any]) -> list[str]:
    """Which steps hardly count since they are made once, and whether the warm-up is short beside the pauses of a
    session, or clients are few for their arrivals.
    """
    seen = _groups(scenario)
    return [*_of_once(scenario, seen), *_of_warmup(scenario, seen), *_of_arrivals(scenario, seen)]


def notes_of_figures(
    found: Mapping[RequestKey, NamedRequest | Sessions],
    outcomes: errors.Counts,
    percentiles: Sequence[str],
    scenario: Mapping[str, Any],
) -> list[str]:
    """What is to be said of the whole sessions in ``found``: whether none ended, many failed, or many are longer than
    the warm-up, and which response times are left out for lack of sessions. ``outcomes`` are those of all transactions.
    """
    sessions = {key.said: figures for key, figures in found.items() if isinstance(figures, Sessions)}
    short = any(_of_warmup(scenario, _groups(scenario)))
    return [
        *(f"{said}: {text}" for said, own in sessions.items() for text in _of_ends(own)),
        *([] if short else _of_durations(sessions, _warmup(scenario))),
        *_of_lack(sessions, percentiles, lacking(percentiles, outcomes.get("ok", 0))),
    ]


def _of_ends(sessions: Sessions) -> Iterator[str]:
    if not errors.ended(sessions.outcomes):
        yield "none ended in the measured interval, and so they have no figures; measure for longer"
    elif (sessions.errors or 0.0) > errors.NOTED:
        share = f"{100 * (sessions.errors or 0.0):.2f} %"
        yield f"{share} of {errors.ended(sessions.outcomes):,} failed, as a session does with the first step that fails"


def _of_durations(sessions: Mapping[str, Sessions], warmup: float) -> Iterator[str]:
    lasted = {said: own.duration_s.mean for said, own in sessions.items() if own.duration_s is not None}
    for said, mean in sorted(lasted.items(), key=lambda each: -each[1])[:1]:
        if 2 * mean > warmup:
            yield (
                f"{said}: {length(mean)} long on average, which is more than half of the warm-up of "
                f"{duration(warmup)}: the longest may be missing from the figures; a warm-up of "
                f"{duration(math.ceil(2 * mean))} would do"
            )


def _of_lack(sessions: Mapping[str, Sessions], percentiles: Sequence[str], of_all: tuple[str, ...]) -> Iterator[str]:
    lacks: dict[tuple[str, ...], list[str]] = {}
    for said, figures in sessions.items():
        count = figures.outcomes.get("ok", 0)
        if count and figures.response_time_ms.mean is None:
            yield f"{said}: fewer than {LEAST} ok sessions, whose response times are left out"
        elif count and (lack := lacking(percentiles, count)) and lack != of_all:
            lacks.setdefault(lack, []).append(said)
    yield from (f"{', '.join(said)}: {left_out(lack, 'sessions')}" for lack, said in lacks.items())


def _groups(scenario: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The groups that make sessions, background groups left out."""
    groups = (group for group in scenario.get("clients", ()) if not group.get("background"))
    return [group for group in groups if workload_in(scenario, group).get("order") == "session"]


def _warmup(scenario: Mapping[str, Any]) -> float:
    """Seconds of the warm-up."""
    return _core.parse_duration(scenario.get("measure", {}).get("warmup", "0s")) / 1e9


def _of_once(scenario: Mapping[str, Any], groups: list[Mapping[str, Any]]) -> Iterator[str]:
    steps = (step for group in groups for step in workload_in(scenario, group)["requests"])
    names = list(dict.fromkeys(step["name"] for step in steps if step.get("once")))
    if names:
        yield f"{named('request', names)}: made once by each client; those made in the warm-up are not in its figures"


def _of_warmup(scenario: Mapping[str, Any], groups: list[Mapping[str, Any]]) -> Iterator[str]:
    longest = max((pause_of(workload_in(scenario, group)) for group in groups), default=0.0)
    warmup = _warmup(scenario)
    if 2 * longest > warmup:
        yield (
            f"the pauses of a session take {duration(longest)} on average, which is more than half of the warm-up of "
            f"{duration(warmup)}: when measuring began, clients may not have been spread evenly over the steps; a "
            f"warm-up of {duration(math.ceil(2 * longest))} would do"
        )


def _of_arrivals(scenario: Mapping[str, Any], groups: list[Mapping[str, Any]]) -> Iterator[str]:
    for group in groups:
        arrivals = group.get("arrivals")
        rate = _core.parse_frequency(arrivals["rate"]) if arrivals else 0.0
        in_progress = rate * pause_of(workload_in(scenario, group))
        enough = math.ceil(_CLIENTS_FOR_EACH * in_progress)
        if group["count"] < enough:
            paused = f"{in_progress:,.0f}" if in_progress >= 10 else f"{in_progress:.1f}"
            yield (
                f"{group['name']}: about {paused} sessions pause at any time, and an arrival waits until the session "
                f"of its client is over; with at least {enough:,d} clients, few arrivals would wait"
            )
