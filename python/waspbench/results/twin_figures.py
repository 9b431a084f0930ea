"""The figures that a live result and its simulation are held against each other by."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from waspbench.experiment.metrics import Metric
from waspbench.results.checks import lacking_of_runs, run_value
from waspbench.results.formats import Record
from waspbench.results.result import Result
from waspbench.results.server_time import ran_already, server_time
from waspbench.results.summary import RunSummary
from waspbench.stats import mean_interval
from waspbench.stats.comparison import ratio_interval

TwinVerdict = Literal["within", "outside", "undecided", "not judged"]
"""What a limit says of a figure: its interval is wholly within the limit, wholly outside, or neither. A figure that a
side does not have, or that is next to nothing on both sides, is not judged."""


class TwinRow(Record):
    """A figure of both sides."""

    group: str | None
    """Name of the group of clients; None for all clients together."""
    figure: str
    """Name of the figure: throughput, mean, p90, p99, errors, server_cpu, cpu_per_transaction, packets_up,
    packets_down or retransmitted."""
    live: float | None
    """Mean over the live runs, in /s, ms, us, or without a unit; None if they do not have it."""
    sim: float | None
    """Mean over the simulated runs."""
    ratio: float | None
    """sim / live."""
    ratio_ci90: tuple[float, float] | None
    """90 % confidence interval of the ratio (Fieller); None if a side has one run, or the live mean may be 0."""
    differs: bool
    """Whether the interval does not contain 1; also if all live runs have 0, and the interval of the simulated mean is
    above 0."""
    verdict: TwinVerdict
    """What the limit says of it: within, outside, undecided or not judged; not judged without a limit."""


@dataclass(frozen=True)
class TwinFigure:
    """A figure that both sides have."""

    label: str
    """What tables call it."""
    value: Callable[[Result, RunSummary, str | None], float | None]
    """Its value in a run: of all clients, or of a group of them."""
    digits: int = 1
    """Digits that tables show."""
    scale: float = 1.0
    """What tables multiply it by."""
    of_groups: bool = False
    """Whether groups of clients have it."""
    least: float = 0.0
    """If both sides are below this, the figure is next to nothing, and not judged."""


def _metric(name: str) -> Callable[[Result, RunSummary, str | None], float | None]:
    def value(result: Result, run: RunSummary, group: str | None) -> float | None:
        metric = Metric(name, group)
        return None if lacking_of_runs(result, metric) else run_value(run, metric)

    return value


def _busy(result: Result, run: RunSummary, group: str | None) -> float | None:
    """CPUs that the server keeps busy. Its busy share would depend on how many CPUs it may use."""
    time = server_time(result, run)
    return None if time is None else time / run.interval_s


def _cpu_time(result: Result, run: RunSummary, group: str | None) -> float | None:
    """CPU time of the server in microseconds for each ``ok`` transaction."""
    time = server_time(result, run)
    return None if time is None else _for_each(run, 1e6 * time)


def _up(result: Result, run: RunSummary, group: str | None) -> float | None:
    return _for_each(run, run.network.up.packets)


def _down(result: Result, run: RunSummary, group: str | None) -> float | None:
    return _for_each(run, run.network.down.packets)


def _for_each(run: RunSummary, number: float) -> float | None:
    """So much for each ``ok`` transaction."""
    ok = run.outcomes.get("ok", 0)
    return number / ok if ok else None


def _retransmitted(result: Result, run: RunSummary, group: str | None) -> float | None:
    """Segments that the server sent again, as a share of all that it sent. The kernel of a server that ran already has
    other connections, too.
    """
    if run.server_tcp is not None:
        sent = run.server_tcp.segments_sent
        return run.server_tcp.retransmitted / sent if sent else None
    counters = run.tcpext or {}
    again, new = counters.get("RetransSegs"), counters.get("OutSegs")
    # OutSegs leaves out segments that only send again (RFC 4022, tcpOutSegs).
    return None if ran_already(result) or again is None or not new else again / (new + again)


FIGURES: dict[str, TwinFigure] = {
    "throughput": TwinFigure("throughput, ok/s", _metric("throughput"), of_groups=True),
    "mean": TwinFigure("response time mean, ms", _metric("mean"), of_groups=True),
    "p90": TwinFigure("response time p90, ms", _metric("p90"), of_groups=True),
    "p99": TwinFigure("response time p99, ms", _metric("p99"), of_groups=True),
    "errors": TwinFigure("errors, %", _metric("errors"), 2, 100, of_groups=True, least=0.01),
    "server_cpu": TwinFigure("server CPUs busy", _busy, 3, least=0.01),
    "cpu_per_transaction": TwinFigure("server CPU time per transaction, us", _cpu_time),
    "packets_up": TwinFigure("packets up per transaction", _up, 2),
    "packets_down": TwinFigure("packets down per transaction", _down, 2),
    "retransmitted": TwinFigure("retransmitted by the server, %", _retransmitted, 2, 100, least=0.001),
}
"""What is held against each other, by name."""


def rows_of(live: Result, sim: Result, share: float | None = None) -> list[TwinRow]:
    """The figures of a live result and of its simulation: of all clients, then of each group if there are several.

    Args:
        live: the live result.
        sim: the result of the simulation.
        share: how far the ratio of a figure may be from 1; None if nothing is judged.
    """
    groups = [group.name for group in live.groups] if len(live.groups) > 1 else []
    parts: Iterable[tuple[str | None, str]] = [
        *((None, name) for name in FIGURES),
        *((group, name) for group in groups for name, figure in FIGURES.items() if figure.of_groups),
    ]
    rows = [_row(name, group, live, sim, share) for group, name in parts]
    return [row for row in rows if row is not None]


def _row(name: str, group: str | None, live: Result, sim: Result, share: float | None) -> TwinRow | None:
    """A figure of both sides; None if no side has it."""
    figure = FIGURES[name]
    first, second = (_values(figure, group, side) for side in (live, sim))
    if not first and not second:
        return None
    one, other = (math.fsum(values) / len(values) if values else None for values in (first, second))
    known = one is not None and other is not None and max(one, other) > 0 and max(one, other) >= figure.least
    ratio = other / one if known and one and other is not None else None
    interval = None if ratio is None else ratio_interval(first, second)
    # A ratio to nothing has no value. The simulated figure can be clearly more than nothing all the same.
    above = mean_interval(second) if known and one == 0 else None
    is_new = above is not None and above[0] > 0
    verdict = judged((math.inf, math.inf) if is_new else interval, share) if known else "not judged"
    return TwinRow(
        group=group,
        figure=name,
        live=one,
        sim=other,
        ratio=ratio,
        ratio_ci90=interval,
        differs=is_new or (interval is not None and not interval[0] <= 1 <= interval[1]),
        verdict=verdict,
    )


def _values(figure: TwinFigure, group: str | None, side: Result) -> list[float]:
    """The figure in each run that has it."""
    found = (figure.value(side, run, group) for run in side.runs)
    return [value for value in found if value is not None]


def judged(interval: tuple[float, float] | None, share: float | None) -> TwinVerdict:
    """What a limit says of a ratio with this interval."""
    if share is None:
        return "not judged"
    if interval is None:
        return "undecided"
    low, high = 1 - share, 1 + share
    if low <= interval[0] and interval[1] <= high:
        return "within"
    return "outside" if interval[1] < low or interval[0] > high else "undecided"
