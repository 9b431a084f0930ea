"""How often a server did each kind of work in a result, as far as it can be counted from outside."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

import polars as pl

from waspbench.experiment.units import seconds
from waspbench.results import errors
from waspbench.results.result import Result
from waspbench.results.server_time import cpus_of, ran_already, server_time
from waspbench.results.summary import RunSummary

KIB: Final = 1024

CACHED: Final = 256
"""Open connections up to which their state stays in the CPU's caches (``server.model.per_doubling``)."""

Counts = dict[str, float | None]
"""How often each kind of `WORK` was done; None if it cannot be told."""

WORK: dict[str, str] = {
    "connections": "connections opened",
    "requests": "requests that ended",
    "kib": "KiB of bodies",
    "frames": "frames sent, of one or more segments each",
    "segments": "segments sent",
    "received": "packets received, of every kind",
    "interrupts": "interrupts by received packets",
    "wakeups": "times that a thread of the server was put on a CPU",
    "doublings": f"requests, times log2 of the open connections over {CACHED}",
    "seconds": "seconds of each CPU, whatever is asked for",
}
"""The kinds of work that are counted, in words."""


def cpu_time(result: Result) -> float | None:
    """CPU time of the server in microseconds, over the measured intervals of all runs; None if a run does not tell."""
    return _sum(None if time is None else 1e6 * time for time in (server_time(result, run) for run in result.runs))


def counts_of(result: Result) -> Counts:
    """How often each kind of work was done in the measured intervals of all runs."""
    connections, cpus = result.connections(), counted_cpus(result)
    begin = round(seconds(result.scenario["measure"]["warmup"]) * 1e9)
    found = [_of_run(run, connections.filter(pl.col("run") == run.run), begin, cpus) for run in result.runs]
    return {name: _sum(each[name] for each in found) for name in WORK}


def counted_cpus(result: Result) -> int:
    """CPUs of which each has its seconds. A server that ran already shares the machine's, and its own time is counted:
    its seconds are those of the clock.
    """
    return 1 if ran_already(result) else cpus_of(result)


def _sum(values: Iterable[float | None]) -> float | None:
    found = list(values)
    known = [value for value in found if value is not None]
    return None if len(known) < len(found) else math.fsum(known)


def _of_run(run: RunSummary, connections: pl.DataFrame, begin: int, cpus: int) -> Counts:
    end = begin + round(run.interval_s * 1e9)
    requests = errors.ended(run.outcomes)
    several = max(_open(connections, begin, end), 1.0)
    return {
        "connections": float(connections.filter(pl.col("opened_ns").is_between(begin, end, closed="left")).height),
        "requests": float(requests),
        "kib": run.goodput_bps * run.interval_s / 8 / KIB,
        "frames": _modelled(run, "frame") if run.device is None else run.device.get("tx_packets"),
        "segments": float(run.network.down.packets),
        "received": float(run.network.up.packets),
        "interrupts": _modelled(run, "interrupt") if run.softnet is None else run.softnet.get("received_rps"),
        "wakeups": _modelled(run, "wakeup") if run.server_cpu.switches is None else run.server_cpu.switches,
        "doublings": requests * max(0.0, math.log2(several / CACHED)),
        "seconds": cpus * run.interval_s,
    }


def _modelled(run: RunSummary, kind: str) -> float | None:
    """Jobs of a kind that the modelled server did; None if it has no such jobs."""
    return next((float(work.number) for work in run.server_work or () if work.kind == kind), None)


def _open(connections: pl.DataFrame, begin: int, end: int) -> float:
    """Mean number of open connections in an interval."""
    if end <= begin or connections.is_empty():
        return 0.0
    closed = pl.col("closed_ns").fill_null(end).clip(begin, end)
    within = connections.select((closed - pl.col("opened_ns").clip(begin, end)).cast(pl.Float64).sum()).item()
    return float(within) / (end - begin)
