"""Whether the next experiment is valid, and right, where the lengths are as the result before advised.

``python tests/measured_advice.py`` makes the long run of each configuration and ten experiments of it, takes the advice
of those that are refused, and prints the table of docs/statistics.md. It takes ten minutes of two CPUs. Arguments name
configurations to measure alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import waspbench
from waspbench.results import Advice, Result

EXPERIMENTS = 10
"""Experiments of a configuration."""

RIGHT = 0.05
"""Relative error of throughput and of the mean response time below which an experiment is right."""

LONGEST = 600.0
"""Seconds of an interval that is advised above which the next experiment is not made."""

Document = dict[str, Any]


def document(count: int, rtt: int, size: str = "1KiB", *, measure: Document | None = None, **group: Any) -> Document:
    """Clients that ask for one file again and again."""
    clients = {"count": count, "rtt": f"{rtt}ms", **group}
    made = {"name": "advice", "mode": "sim", "workload": {"kind": "single", "size": size}, "clients": [clients]}
    return made | {"measure": measure or {}}


def open_loop(count: int, rate: str, *, limited: bool = True) -> Document:
    """Arrivals before a server that answers 1,000 requests a second at most, or before the clients' connections."""
    made = document(count, 100, arrivals={"rate": rate, "outstanding": 100_000})
    model = {"cores": 1, "per_connection": "0us", "per_request": "1ms", "per_kib": "0us"}
    return made | ({"server": {"model": model}} if limited else {})


def two_groups() -> Document:
    """Quick clients beside others none of which ends anything in 15 s."""
    narrow = {"down": "8kbit/s", "up": "8kbit/s"}
    groups = [
        {"name": "quick", "count": 16, "rtt": "20ms"},
        {"name": "slow", "count": 16, "rtt": "600ms", "bandwidth": narrow},
    ]
    return document(16, 20, "20KB") | {"clients": groups}


CONFIGURATIONS = {
    "64 clients, 1 % loss in bursts of 98 %": document(64, 100, loss={"rate": "1%", "burst": "98%"}),
    "16 clients, 3 % loss": document(16, 100, loss={"rate": "3%"}),
    "128 clients, 5 % loss": document(128, 100, loss={"rate": "5%"}),
    "16 clients, 20 KB, 600 ms, 3 % loss": document(16, 600, "20KB", loss={"rate": "3%"}),
    "64 clients, 30 KB, 300 ms, 0.3 % loss": document(64, 300, "30KB", loss={"rate": "0.3%"}),
    "64 clients, 100 KB, 0.1 % loss": document(64, 100, "100KB", loss={"rate": "0.1%"}),
    "32 clients, 2 MB, 300 ms, after 2 s": document(32, 300, "2MB", measure={"warmup": "2s"}),
    "256 clients, 92 KB over 64 kbit/s": document(256, 100, "92KB", bandwidth={"down": "64kbit/s"}),
    "a quick group, and one over 8 kbit/s": two_groups(),
    "256 clients, 15 arrivals/s": document(256, 100, arrivals={"rate": "15/s"}),
    "512 clients that pause for 30 s": document(512, 100, think="30s"),
    "970 arrivals/s of at most 1,000": open_loop(3_000, "970/s"),
    "980 arrivals/s, 30,000 clients": open_loop(30_000, "980/s"),
    "2,200 arrivals/s on 256 connections": open_loop(256, "2200/s", limited=False),
}


@dataclass(frozen=True)
class Next:
    """What became of an experiment that was refused."""

    advised: bool
    made: bool
    """Whether the next one was made: what is advised may take too long."""
    valid: bool
    right: bool


def experiment(name: str, seed: int, **measure: str) -> Result:
    """One of a configuration, with other lengths."""
    made = CONFIGURATIONS[name]
    return waspbench.run(made | {"seed": seed, "measure": made["measure"] | measure}, mode="sim")


def long_run(name: str) -> tuple[float, float]:
    """Throughput and mean response time (ms) of 1,800 s after 300 s."""
    found = experiment(name, 1000, warmup="300s", duration="1800s").runs[0]
    return found.throughput, found.response_time_ms.mean or 0.0


def taken(advice: Advice) -> dict[str, str]:
    """The lengths that are advised, as fields of ``measure``."""
    lengths = {"warmup": advice.warmup_s, "duration": advice.duration_s}
    return {field: f"{seconds:g}s" for field, seconds in lengths.items() if seconds is not None}


def follow(name: str, seed: int, truth: tuple[float, float]) -> Next | None:
    """What the advice of an experiment leads to; None if the experiment is valid."""
    first = experiment(name, seed)
    if first.valid:
        return None
    if first.advice is None:
        return Next(False, False, False, False)
    if max(first.advice.warmup_s or 0.0, first.advice.duration_s or 0.0) > LONGEST:
        return Next(True, False, False, False)
    second = experiment(name, seed + 100, **taken(first.advice))
    errors = second.throughput.mean / truth[0] - 1, (second.response_time_ms.mean or 0.0) / truth[1] - 1
    return Next(True, True, second.valid, second.valid and max(map(abs, errors)) <= RIGHT)


def table(found: Mapping[str, Sequence[Next | None]]) -> str:
    """The table of docs/statistics.md."""
    heads = ["configuration", "refused", "advice", "followed", "then valid", "and within 5 %"]
    rows = {**found, "all": [each for one in found.values() for each in one]}
    lines = [heads, ["---"] * len(heads), *(_row(name, each) for name, each in rows.items())]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(name: str, found: Sequence[Next | None]) -> list[str]:
    refused = [each for each in found if each is not None]
    fields = ("advised", "made", "valid", "right")
    return [name, str(len(refused)), *(str(sum(getattr(each, field) for each in refused)) for field in fields)]


T = TypeVar("T")


def measured(names: Sequence[str], make: Callable[[str, int, tuple[float, float]], T]) -> dict[str, list[T]]:
    """What ``make`` finds of ten experiments of each of these configurations, or of all: by name, seed and truth."""
    chosen = names or list(CONFIGURATIONS)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        truths = dict(zip(chosen, pool.map(long_run, chosen), strict=True))
        jobs = [(name, seed) for name in chosen for seed in range(1, 1 + EXPERIMENTS)]
        made = pool.map(make, *zip(*jobs, strict=True), [truths[name] for name, _ in jobs])
        found: dict[str, list[T]] = {name: [] for name in chosen}
        for (name, seed), each in zip(jobs, made, strict=True):
            found[name].append(each)
            print(f"{name}, {seed}: {each}", flush=True)
    return found


if __name__ == "__main__":
    print(table(measured(sys.argv[1:], follow)))
