"""What is to be known of the two sides of a twin beside their figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from waspbench.experiment.server_presets import FLAT
from waspbench.results.result import Result
from waspbench.results.server_time import cpus_of

UNLIKE = 0.05
"""Part by which the mean size of responses may differ between the sides before it is told."""


def notes_of(pairs: Sequence[tuple[Result, Result]]) -> list[str]:
    """In what the live and the simulated results of the same points differ besides what was measured, and the notes of
    each side.
    """
    told = [said for live, sim in pairs for said in _unlike(live, sim)]
    own = [f"{result.mode}: {note}" for pair in pairs for result in pair for note in result.notes]
    return list(dict.fromkeys([*told, *own]))


def _unlike(live: Result, sim: Result) -> Iterator[str]:
    """What makes the sides two different servers."""
    if sim.server.get("model", {}).get("preset") == FLAT:
        yield (
            "the modelled server is the preset flat, whose costs are round numbers and no server's; "
            "wasp calibrate makes a model of yours"
        )
    real, modelled = cpus_of(live), cpus_of(sim)
    if real != modelled:
        yield (
            f"the live server had {real} CPUs, and the modelled one {modelled} (server.model.cores): their busy shares "
            "are of different machines"
        )
    one, other = _body(live), _body(sim)
    if one is not None and other is not None and abs(one - other) > UNLIKE * max(one, other):
        yield (
            f"a response had {one:,.0f} bytes live and {other:,.0f} in simulation: a modelled server answers with "
            "workload.size, or with the size of each named request"
        )


def _body(result: Result) -> float | None:
    """Mean bytes of the body of an ``ok`` response."""
    ok = sum(run.outcomes.get("ok", 0) for run in result.runs)
    return math.fsum(run.goodput_bps * run.interval_s / 8 for run in result.runs) / ok if ok else None
