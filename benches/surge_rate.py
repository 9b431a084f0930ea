"""Why 256 users of SURGE make fewer operations with loss than those of Nahum et al. 2001: what else a user could be."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from surge_cost import FILE, MEASURE, lossy
from waspbench import Result, StudyResult
from waspbench.experiment.load import read
from waspbench.stats import mean_interval

USERS = 256
RUNS = 5
LABEL, PAPER = "3%", 471
"""The label of the loss, and the paper's operations a second with it."""


@dataclass(frozen=True)
class Variant:
    """One thing that differs from the experiment."""

    name: str
    http: dict[str, Any] = field(default_factory=dict)
    tcp: dict[str, Any] = field(default_factory=dict)
    """Of both ends."""
    loss: dict[str, Any] = field(default_factory=dict)
    down_only: bool = False
    """Whether only what the server sends is lost."""
    files: str = "surge98"
    """The preset of the files."""

    def fields(self) -> dict[str, Any]:
        """What is set, by path."""
        tcp = {"preset": "bsd1999"} | self.tcp
        one = lossy(LABEL) | self.loss
        return {
            "clients.loss": {"down": one} if self.down_only else one,
            "clients.http": {"version": "1.0", "requests_per_connection": 1} | self.http,
            "clients.tcp": tcp,
            "server.tcp": tcp,
            "workload.preset": self.files,
        }


VARIANTS = (
    Variant("as in the file: one connection a user, a chain for each direction"),
    Variant("2 connections a user", http={"connections": 2}),
    Variant("4 connections a user", http={"connections": 4}),
    Variant("one chain for both directions of a connection", loss={"scope": "connection"}),
    Variant("one chain for all connections of a user and a direction", loss={"scope": "link"}),
    Variant("only what the server sends is lost", down_only=True),
    Variant("first RTO of 1 s (of 3 s)", tcp={"initial_rto": "1s"}),
    Variant(
        "timers of 10 ms, least RTO of 200 ms (of 500 ms and 1 s)",
        tcp={"timer_granularity": "10ms", "min_rto": "200ms"},
    ),
    Variant("no delayed ACKs", tcp={"delayed_ack": "0ms", "delayed_ack_sweep": False}),
    Variant("first window of 2 segments (of 1)", tcp={"initial_window": 2}),
    Variant("`newreno`", tcp={"recovery": "newreno"}),
    Variant("`sack`", tcp={"recovery": "sack", "sack": True}),
    Variant("the client gives up after 15 s (of 60 s)", http={"timeout": "15s"}),
    Variant("the client never gives up", http={"timeout": "10h"}),
    Variant("fewer large files (`surge-50MB`)", files="surge-50MB"),
    Variant("TCP of today (`linux`)", tcp={"preset": "linux"}),
)
"""What is varied, one thing at a time."""


def document() -> dict[str, Any]:
    """The experiment of all variants."""
    base = read(FILE)
    found = [variant.fields() for variant in VARIANTS]
    base["clients"][0]["count"] = USERS
    base["measure"] = MEASURE | {"runs": RUNS}
    base["sweep"] = {"zip": {path: [fields[path] for fields in found] for path in found[0]}}
    return base


def _rate(result: Result) -> str:
    """Operations a second with half of the interval over runs."""
    rates = [run.throughput for run in result.runs]
    ends = mean_interval(rates)
    half = "" if ends is None else f" ± {(ends[1] - ends[0]) / 2:.0f}"
    return f"{statistics.fmean(rates):.0f}{half}"


def section(making: Callable[[Mapping[str, Any], str], StudyResult]) -> list[str]:
    """The lines of the table."""
    found = making(document(), "rate").points
    lines = [
        f"Operations a second of {USERS} users with {LABEL[:-1]} % loss, {RUNS} runs of 600 s with 90 % intervals; the "
        f"paper has {PAPER}:",
        "",
        "| what differs | ok/s | of the paper's |",
        "| --- | --- | --- |",
    ]
    for variant, point in zip(VARIANTS, found, strict=True):
        if point.result is None:
            raise RuntimeError(f"{variant.name}: no run was made")
        lines.append(f"| {variant.name} | {_rate(point.result)} | {point.result.throughput.mean / PAPER:.2f} |")
    return lines
