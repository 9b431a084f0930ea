"""The simulated `linux` server against the kernel of this machine behind the same emulated network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from waspbench.experiment import parse
from waspbench.live import choose_mode
from waspbench.results import Result, RunSummary, errors
from waspbench.results.manifest import now
from waspbench.session import run
from waspbench.stats import mean_interval
from waspbench.validation.figure import Figure, Point
from waspbench.validation.page import Bar, Row, Table
from waspbench.validation.simulation import each, mean, shown, simulate

RTT, CLIENTS, RUNS, TRANSACTIONS, BUSIEST = "50ms", 96, 3, 5_000, 0.6
BAR = Bar.within(0.15)


@dataclass(frozen=True)
class _Point:
    size: str
    loss: str
    sack: bool

    def document(self, duration: float) -> dict[str, Any]:
        """The experiment; the server's kernel and its model are set alike."""
        loss = {"model": "independent", "rate": self.loss}
        return {
            "name": "validation",
            "workload": {"size": self.size},
            "server": {
                "kind": "nginx",
                "congestion": "cubic",
                "sysctl": {"net.ipv4.tcp_sack": int(self.sack)},
                "tcp": {"sack": self.sack},
            },
            "clients": [
                {
                    "name": "clients",
                    "count": CLIENTS,
                    "rtt": RTT,
                    "loss": {"up": loss, "down": loss},
                    "http": {"requests_per_connection": 1},
                }
            ],
            "measure": {"warmup": "5s", "duration": f"{duration:.0f}s", "runs": RUNS},
        }


def require() -> None:
    """Raises CannotRunError where no live run is possible."""
    choose_mode("live", parse(_Point("20KB", "1%", sack=True).document(10)))


def _simulated(point: _Point) -> list[RunSummary]:
    """Runs of five thousand transactions together, at least; the length follows from a short run."""
    throughput = simulate(point.document(30)).throughput
    duration = max(5.0, 1.3 * TRANSACTIONS / throughput / RUNS) if throughput > 0 else 30.0
    document = point.document(duration)
    return [simulate(document, number) for number in range(RUNS)]


@dataclass(frozen=True)
class _Side:
    """A point's response times in milliseconds, a figure a run; None where a run has none."""

    mean: list[float] | None
    p90: list[float] | None

    @classmethod
    def of(cls, runs: Sequence[RunSummary]) -> _Side:
        times = [summary.response_time_ms for summary in runs]
        return cls(complete([time.mean for time in times]), complete([time.p90 for time in times]))


def complete(values: list[float | None]) -> list[float] | None:
    """The values, unless one is missing or there is none."""
    known = [value for value in values if value is not None]
    return known if known and len(known) == len(values) else None


def _ratio(model: list[float] | None, kernel: list[float] | None) -> float | None:
    return None if model is None or kernel is None else mean(model) / mean(kernel)


def _said(values: list[float] | None) -> str:
    return "?" if values is None else f"{mean(values):,.0f}"


def busiest(result: Result) -> float | None:
    """Busy part of the server's CPUs in the run where it was most."""
    loads = complete([summary.server_cpu.busy for summary in result.runs])
    return None if loads is None else max(loads)


def counted(result: Result) -> int:
    """The ``ok`` transactions of all runs."""
    return sum(summary.outcomes.get("ok", 0) for summary in result.runs)


def measured_with(servers: set[str]) -> str:
    """On what the live runs were made."""
    return f"{', '.join(sorted(servers))} on Linux {os.uname().release}, {now()[:10]}"


def server_of(result: Result) -> str:
    """The server's name and version."""
    return f"{result.server.get('name', 'nginx')} {result.server.get('version') or 'of unknown version'}"


def unjudged(
    result: Result, twin: Sequence[RunSummary], busy: float | None, ratios: Sequence[float | None], least: int
) -> str:
    """What stands against judging a point of so many transactions at least, which ``twin`` simulated; empty where
    nothing does.
    """
    reasons = sorted({reason.code for reason in result.invalid_reasons})
    if not result.valid and not reasons:
        reasons.append("not valid")
    if any((errors.share(summary.outcomes) or 0.0) > errors.NOTED for summary in [*result.runs, *twin]):
        reasons.append("more than 1 % errors")
    if busy is None:
        reasons.append("server CPU unknown")
    elif busy >= BUSIEST:
        reasons.append("server CPU too busy")
    if counted(result) < least:
        reasons.append("too few transactions")
    if None in ratios:
        reasons.append("a run without response times")
    return ", ".join(reasons)


def _row(point: _Point, twin: Sequence[RunSummary], result: Result) -> tuple[Row, bool, Point | None]:
    """The line of a point, whether it is within the bar (judged or not), and its mark."""
    model, kernel = _Side.of(twin), _Side.of(result.runs)
    ratios = [_ratio(model.mean, kernel.mean), _ratio(model.p90, kernel.p90)]
    shares = ["?" if ratio is None else f"{ratio:.2f}" for ratio in ratios]
    busy = busiest(result)
    cells = (
        point.size,
        point.loss,
        "on" if point.sack else "off",
        f"{counted(result):,}",
        "?" if busy is None else f"{100 * busy:.0f} %",
        "?" if kernel.mean is None else shown(kernel.mean),
        _said(model.mean),
        shares[0],
        _said(kernel.p90),
        _said(model.p90),
        shares[1],
    )
    close = all(ratio is not None and BAR.met(ratio) for ratio in ratios)
    against = unjudged(result, twin, busy, ratios, TRANSACTIONS)
    mark = None
    if kernel.mean is not None and model.mean is not None:
        series = "sack" if point.sack else "no sack"
        mark = Point(mean(kernel.mean), mean(model.mean), mean_interval(model.mean), series)
    return Row(cells, None if against else close, against), close, mark


def compare() -> Table:
    """Mean and 90th percentile of response times, simulated and live.

    Raises:
        CannotRunError: this machine cannot run live.
    """
    points = [
        _Point(size, loss, sack)
        for sack in (True, False)
        for size in ("20KB", "64KB", "500KB")
        for loss in ("1%", "3%")
    ]
    simulated = each(_simulated, points)
    rows, marks, close, servers = [], [], 0, set()
    for point, twin in zip(points, simulated, strict=True):
        result = run(point.document(twin[0].interval_s), mode="live")
        servers.add(server_of(result))
        row, within, mark = _row(point, twin, result)
        rows.append(row)
        close += within
        marks += [] if mark is None else [mark]
    columns = ("size", "loss", "tcp_sack", "transactions", "server CPU", "kernel: mean, ms", "model", "ratio")
    return Table(
        "linux",
        "The simulated server against the kernel",
        "nginx before the kernel's TCP (`cubic`) and the modelled server with the preset `linux`, each behind the "
        f"same emulated network: {CLIENTS} clients at {RTT}, independent loss in both directions, a request a "
        f"connection, {RUNS} runs. Measured with {measured_with(servers)}.",
        "mean and 90th percentile of the response times within 15 %, with at least 5,000 transactions and the "
        "server's CPU below 60 % busy. Where that is not so, or a live run was not valid, nothing is judged.",
        (*columns, "kernel: p90, ms", "model", "ratio"),
        rows,
        f"Judged or not, both ratios are within 15 % at {close} of {len(rows)} points. The reasons that make a run "
        "invalid, such as `lag`, are explained in [concepts](concepts.md).",
        figure=Figure(tuple(marks), "mean response time, ms", BAR.low, BAR.high) if marks else None,
    )
