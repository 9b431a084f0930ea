"""What is to be said of results whose clients go through sessions."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from waspbench import _core
from waspbench.experiment.units import duration
from waspbench.results.asking import workload_in
from waspbench.results.few import named

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
    groups = [group for group in scenario.get("clients", ()) if workload_in(scenario, group).get("order") == "session"]
    seen = [group for group in groups if not group.get("background")]
    return [*_of_once(scenario, seen), *_of_warmup(scenario, seen), *_of_arrivals(scenario, seen)]


def _of_once(scenario: Mapping[str, Any], groups: list[Mapping[str, Any]]) -> Iterator[str]:
    steps = (step for group in groups for step in workload_in(scenario, group)["requests"])
    names = list(dict.fromkeys(step["name"] for step in steps if step.get("once")))
    if names:
        yield f"{named('request', names)}: made once by each client; what falls into the warm-up is in no figure"


def _of_warmup(scenario: Mapping[str, Any], groups: list[Mapping[str, Any]]) -> Iterator[str]:
    longest = max((pause_of(workload_in(scenario, group)) for group in groups), default=0.0)
    warmup = _core.parse_duration(scenario.get("measure", {}).get("warmup", "0s")) / 1e9
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
