"""The simulated `linux` server against the kernel of this machine behind the same emulated network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from waspbench.experiment import parse
from waspbench.live import choose_mode
from waspbench.results import RunSummary
from waspbench.session import run
from waspbench.stats import mean_interval
from waspbench.validation.figure import Figure, Point
from waspbench.validation.page import Bar, Row, Table
from waspbench.validation.simulation import each, mean, shown, simulate

RTT, CLIENTS, RUNS, TRANSACTIONS, BUSIEST = "50ms", 96, 3, 5_000, 0.6


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
    document = point.document(max(5.0, 1.3 * TRANSACTIONS / throughput / RUNS))
    return [simulate(document, number) for number in range(RUNS)]


def _figures(runs: Sequence[RunSummary]) -> dict[str, list[float]]:
    return {
        "mean": [summary.response_time_ms.mean or 0.0 for summary in runs],
        "p90": [summary.response_time_ms.p90 or 0.0 for summary in runs],
    }


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
    rows, marks, bar, close = [], [], Bar.within(0.15), 0
    for point, twin in zip(points, simulated, strict=True):
        result = run(point.document(twin[0].interval_s), mode="live")
        model, kernel = _figures(twin), _figures(result.runs)
        ratios = {name: mean(model[name]) / mean(kernel[name]) for name in model}
        transactions = sum(summary.outcomes["ok"] for summary in result.runs)
        busy = max(summary.server_cpu.busy or 0.0 for summary in result.runs)
        cells = (
            point.size,
            point.loss,
            "on" if point.sack else "off",
            f"{transactions:,}",
            f"{100 * busy:.0f} %",
            shown(kernel["mean"]),
            f"{mean(model['mean']):,.0f}",
            f"{ratios['mean']:.2f}",
            f"{mean(kernel['p90']):,.0f}",
            f"{mean(model['p90']):,.0f}",
            f"{ratios['p90']:.2f}",
            "yes" if result.valid else ", ".join(sorted({reason.code for reason in result.invalid_reasons})),
        )
        fair = result.valid and busy < BUSIEST and transactions >= TRANSACTIONS
        met = all(bar.met(ratio) for ratio in ratios.values())
        close += met
        rows.append(Row(cells, met if fair else None))
        interval = mean_interval(model["mean"])
        marks.append(Point(mean(kernel["mean"]), mean(model["mean"]), interval, "sack" if point.sack else "no sack"))
    columns = ("size", "loss", "tcp_sack", "transactions", "server CPU", "kernel: mean, ms", "model", "ratio")
    return Table(
        "linux",
        "The simulated server against the kernel",
        "nginx before the kernel's TCP (`cubic`) and the modelled server with the preset `linux`, each behind the "
        f"same emulated network: {CLIENTS} clients at {RTT}, independent loss in both directions, a request a "
        f"connection, {RUNS} runs.",
        "mean and 90th percentile of the response times within 15 %, with at least 5,000 transactions and the "
        "server's CPU below 60 % busy. Where the live runs were not valid or their CPU busier, nothing is judged.",
        (*columns, "kernel: p90, ms", "model", "ratio", "valid"),
        rows,
        f"Judged or not, both ratios are within 15 % at {close} of {len(rows)} points. What makes a run invalid "
        "(`lag`: packets left the emulator late, because other work kept the machine busy) adds to the kernel's times.",
        figure=Figure(tuple(marks), "mean response time, ms", bar.low, bar.high),
    )
