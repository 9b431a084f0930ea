"""What is to be known of the two sides of a twin beside their figures."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from waspbench.experiment.server_presets import FLAT, PRESETS
from waspbench.experiment.sweep import text_of
from waspbench.results.result import Result
from waspbench.results.server_time import cpus_of

UNLIKE = 0.05
"""Part by which the mean size of responses may differ between the sides before it is told."""


def notes_of(points: Sequence[tuple[Mapping[str, Any], Result, Result]]) -> list[str]:
    """In what the live and the simulated results of the same points differ besides what was measured, and the notes of
    each side.

    Args:
        points: the values of the swept fields, the live result and the simulated one of each point.
    """
    told = [said for _, live, sim in points for said in _servers(live, sim)]
    sizes = [f"{at(varied)}{said}" for varied, live, sim in points for said in _sizes(live, sim)]
    own = [f"{side.mode}: {at(varied)}{note}" for varied, *sides in points for side in sides for note in side.notes]
    return list(dict.fromkeys([*told, *_shared(points), *sizes, *own]))


def _shared(points: Sequence[tuple[Mapping[str, Any], Result, Result]]) -> Iterator[str]:
    """Kinds of servers of which one modelled server takes the place."""
    kinds: dict[str, dict[str, None]] = {}
    for _, live, sim in points:
        model = json.dumps(sim.server.get("model"), sort_keys=True)
        kinds.setdefault(model, {})[str(live.server.get("kind"))] = None
    for of_model in kinds.values():
        if len(of_model) > 1:
            yield f"one modelled server takes the place of {' and '.join(of_model)}"


def _servers(live: Result, sim: Result) -> Iterator[str]:
    """What makes the sides two different servers."""
    model = sim.server.get("model", {})
    flat = PRESETS[FLAT].values
    if model.get("preset") == FLAT and all(model.get(name) == number.value for name, number in flat.items()):
        yield (
            "the modelled server is the preset flat, whose costs are round numbers and no server's; "
            "wasp calibrate makes a model of yours"
        )
    real, modelled = cpus_of(live), cpus_of(sim)
    if real != modelled:
        yield (
            f"CPUs of the live server: {real}; of the modelled one: {modelled} (server.model.cores). If the server can "
            "use all of its own, the two have different limits"
        )


def _sizes(live: Result, sim: Result) -> Iterator[str]:
    """What makes the responses different."""
    one, other = _body(live), _body(sim)
    if one is not None and other is not None and abs(one - other) > UNLIKE * max(one, other):
        yield (
            f"a response had {one:,.0f} bytes live and {other:,.0f} in simulation: a modelled server answers with "
            "workload.size, or with the size of each named request"
        )


def at(varied: Mapping[str, Any]) -> str:
    """Which point is meant, before what is said of it; empty without a sweep."""
    return f"{text_of(varied)}: " if varied else ""


def _body(result: Result) -> float | None:
    """Mean bytes of the body of an ``ok`` response."""
    ok = sum(run.outcomes.get("ok", 0) for run in result.runs)
    return math.fsum(run.goodput_bps * run.interval_s / 8 for run in result.runs) / ok if ok else None
