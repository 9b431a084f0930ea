"""The simulated server with `reno` against the kernel's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from waspbench.results import Result, RunSummary
from waspbench.session import run
from waspbench.stats.comparison import ratio_interval
from waspbench.validation.linux import busiest, complete, counted, measured_with, server_of, unjudged
from waspbench.validation.page import Bar, Row, Table
from waspbench.validation.simulation import each, mean, shown, simulate

RTT, CLIENTS, WARMUP = "100ms", 384, "10s"
RUNS, TRANSACTIONS = 5, 25_000
BAR, WIDTH = Bar.within(0.03), 0.01
"""The ratio's limits, and half of the widest interval by which it is judged."""


@dataclass(frozen=True)
class _Point:
    size: str
    loss: str

    def document(self, duration: float) -> dict[str, Any]:
        """The experiment; the server's kernel and its model are set alike."""
        return {
            "name": "validation",
            "workload": {"size": self.size},
            "server": {"kind": "nginx", "congestion": "reno", "tcp": {"congestion": "reno"}},
            "clients": [
                {
                    "name": "clients",
                    "count": CLIENTS,
                    "rtt": RTT,
                    "loss": {"down": {"model": "independent", "rate": self.loss}},
                    "http": {"requests_per_connection": 1},
                    "tcp": {"delayed_ack": "0ms", "quickack_segments": 0},
                }
            ],
            "measure": {"warmup": WARMUP, "duration": f"{duration:.0f}s", "runs": RUNS},
        }


POINTS = tuple(_Point(size, loss) for size in ("64KB", "500KB") for loss in ("1%", "3%"))


def _simulated(point: _Point) -> list[RunSummary]:
    """Runs of so many transactions together, at least; the length follows from a short run."""
    duration = max(10.0, 1.1 * TRANSACTIONS / simulate(point.document(30)).throughput / RUNS)
    return [simulate(point.document(duration), number) for number in range(RUNS)]


def _row(point: _Point, twin: list[RunSummary], result: Result) -> Row:
    model = complete([summary.response_time_ms.mean for summary in twin])
    kernel = complete([summary.response_time_ms.mean for summary in result.runs])
    ratio = None if model is None or kernel is None else mean(model) / mean(kernel)
    interval = None if model is None or kernel is None else ratio_interval(kernel, model)
    busy = busiest(result)
    against = unjudged(result, twin, busy, [ratio], TRANSACTIONS)
    if not against and (interval is None or (interval[1] - interval[0]) / 2 > WIDTH):
        against = "interval too wide"
    spread = "" if interval is None else f" ({interval[0]:.3f} to {interval[1]:.3f})"
    cells = (
        point.size,
        point.loss,
        f"{counted(result):,}",
        "?" if busy is None else f"{100 * busy:.0f} %",
        "?" if kernel is None else shown(kernel),
        "?" if model is None else shown(model),
        "?" if ratio is None else f"{ratio:.3f}{spread}",
    )
    return Row(cells, None if against or ratio is None else BAR.met(ratio), against)


def compare() -> Table:
    """Mean response times, simulated and live.

    Raises:
        CannotRunError: this machine cannot run live.
    """
    twins = each(_simulated, POINTS)
    rows, servers = [], set()
    for point, twin in zip(POINTS, twins, strict=True):
        result = run(point.document(twin[0].interval_s), mode="live")
        servers.add(server_of(result))
        rows.append(_row(point, twin, result))
    return Table(
        "reno",
        "The simulated server with Reno against the kernel",
        "nginx before the kernel's TCP and the modelled server with the preset `linux`, both with the congestion "
        f"control `reno`, behind the same emulated network: {CLIENTS} clients at {RTT} that acknowledge every segment, "
        f"independent loss of what the server sends, a request a connection, {RUNS} runs. Measured with "
        f"{measured_with(servers)}.",
        f"mean response time within 3 %, with at least {TRANSACTIONS:,} transactions, an interval of the ratio of 1 % "
        "or less to either side, and the server's CPU below 60 % busy. Where that is not so, or a live run was not "
        "valid, nothing is judged.",
        ("size", "loss", "transactions", "server CPU", "kernel: mean, ms", "model", "ratio"),
        rows,
    )
