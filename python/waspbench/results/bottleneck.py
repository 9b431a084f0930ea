"""What set the limit at the load that a search for capacity found."""

from __future__ import annotations

from collections.abc import Sequence

from waspbench import _core
from waspbench.experiment import Experiment
from waspbench.results.capacity import LINK_FULL, SATURATED, Bottleneck, LoadReading, readings_at
from waspbench.stats.capacity import Capacity


def bottleneck_of(
    experiment: Experiment, found: Capacity | None, cpu: float | None, goodput: float, readings: Sequence[LoadReading]
) -> tuple[Bottleneck, str]:
    """What set the limit at the load that was found, as far as can be told from all readings, and why."""
    if found is None:
        return _nothing_found(readings)
    busy = "server CPU unknown" if cpu is None else f"server CPU {100 * cpu:.0f} % busy"
    unmet = ""
    if found.limited_by == "objective":
        unmet = f"; the objective was not met from {found.limit} clients on"
    elif found.limited_by == "failed":
        unmet = f"; at {found.limit} clients a run {_failure(readings, found.limit)}"
    if cpu is not None and cpu >= SATURATED:
        return "server", f"saturated: {busy}{unmet}"
    if unmet:
        return "unknown", f"not saturated: {busy}{unmet}"
    if found.limited_by == "emulator":
        return "emulator", f"from {found.limit} clients on the emulator was the bottleneck; {busy}"
    rate = experiment.network.shared.down.rate
    if rate is not None and goodput >= LINK_FULL * _core.parse_rate(rate):
        return "network", f"the shared link ({rate}) was full; {busy}"
    if found.edge == "high":
        most = f"{found.load} clients are the most that were tried, and"
        if _grew(found, readings):
            return "clients", f"{most} throughput still grew; {busy}"
        return "unknown", f"not saturated: {busy}; {most} it is not shown that throughput still grew"
    return "unknown", f"not saturated: {busy}"


def _nothing_found(readings: Sequence[LoadReading]) -> tuple[Bottleneck, str]:
    if not readings or any(reading.counts for reading in readings):
        return "unknown", "no load counted and met the objective"
    last = readings[-1]
    bottleneck: Bottleneck = "unknown" if all(reading.failed for reading in readings) else "emulator"
    return bottleneck, f"no run counted; at {last.load} clients: {'; '.join(last.notes)}"


def _failure(readings: Sequence[LoadReading], load: int | None) -> str:
    """What the first run that failed at a load says of it."""
    return next(reading.notes[0] for reading in readings if reading.load == load and reading.failed)


def _grew(found: Capacity, readings: Sequence[LoadReading]) -> bool:
    """Whether throughput at the load found is above that of the next lower one by more than its interval allows."""
    lower = max((reading.load for reading in readings if reading.load < found.load and reading.counts), default=None)
    if lower is None or found.interval is None:
        return False
    below = [reading.throughput for reading in readings_at(readings, lower)]
    return bool(below) and found.interval[0] > sum(below) / len(below)
