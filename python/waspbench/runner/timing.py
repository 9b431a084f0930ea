"""How long runs take: from what is asked for, and in simulation by a short trial."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from waspbench import _core, live
from waspbench.experiment import Experiment, Mode
from waspbench.experiment.resolve import duration_of, resolve, warmup_of
from waspbench.experiment.sweep import Point
from waspbench.experiment.units import seconds

OVERHEAD = 2.0
"""Seconds that a live run takes beyond its warm-up and measured interval, before any has told."""


def length(experiment: Experiment) -> float:
    """Seconds of warm-up and measured interval."""
    return seconds(warmup_of(experiment)) + seconds(duration_of(experiment))


def time_limit(experiment: Experiment, scenario: Mapping[str, Any]) -> float:
    """Wall-clock seconds after which a run is given up; of one that is longer than the first lengths of ``auto``, in
    proportion.
    """
    span = seconds(scenario["measure"]["warmup"]) + seconds(scenario["measure"]["duration"])
    if experiment.measure.time_limit is not None:
        return seconds(experiment.measure.time_limit) * max(1.0, span / length(experiment))
    return 60 + 10 * span


def estimate(found: Sequence[Point], mode: Mode, jobs: int | None = None) -> float:
    """Wall-clock seconds that the runs of ``found`` will take, without extra ones that a stopping rule may ask for.

    In simulation the point with the most clients is simulated for about a second, and the rest is taken to go by the
    number of clients.
    """
    planned = [(point, length(point.experiment), point.experiment.measure.runs) for point in found]
    if mode == "live":
        return sum(runs * (span + OVERHEAD) for _, span, runs in planned)
    largest = max(found, key=lambda point: _clients(point.experiment))
    cost = _pace(largest) / _clients(largest.experiment)
    total = sum(runs * span * cost * _clients(point.experiment) for point, span, runs in planned)
    side_by_side = min(jobs or len(os.sched_getaffinity(0)), len(found)) if len(found) > 1 else 1
    return total / side_by_side


def _clients(experiment: Experiment) -> int:
    return sum(group.count for group in experiment.clients)


def _pace(point: Point) -> float:
    """Wall-clock seconds that a simulated second of a point takes."""
    scenario = resolve(point.experiment, 0, mode="sim")
    started = time.monotonic()
    engine = _core.start(json.dumps(scenario))
    reached = 0.0
    while not engine.done() and time.monotonic() - started < 1.0:
        sample = engine.next_sample(0.2)
        reached = sample["elapsed"] if sample else reached
    taken = time.monotonic() - started
    if engine.done():
        reached = length(point.experiment)
    engine.stop()
    with live.running():
        engine.wait()
    return taken / max(reached, 0.1)
