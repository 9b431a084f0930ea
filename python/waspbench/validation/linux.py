"""The simulated `linux` server against the kernel of this machine behind the same emulated network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from waspbench.experiment.units import seconds
from waspbench.results import errors
from waspbench.stats import mean_interval
from waspbench.stats.comparison import ratio_interval
from waspbench.tabular import Column, Figures, Listing
from waspbench.validation.cases import CASES, RUNS, WARMUP, Case
from waspbench.validation.counts import BAR as COUNTS
from waspbench.validation.counts import MANY, retransmissions, timeouts
from waspbench.validation.figure import Figure, Point
from waspbench.validation.kept import REFUSED, Measured, kept, measured
from waspbench.validation.machine import Constants, this_kernel
from waspbench.validation.page import Bar, Row, Table
from waspbench.validation.sides import RESPONSES, STEP, TWINS, Side, simulated
from waspbench.validation.simulation import mean, shown

BUSIEST = 0.6
MEAN, WIDTH = Bar.within(0.05), 0.02
"""The limits of the ratio of means, and half of the widest interval by which it is judged."""
RANK = Bar(0.88, 0.92)
"""The share of the model's response times up to the kernel's 90th percentile, give or take `STEP` of that."""


def unjudged(live: Measured, model: Side, interval: tuple[float, float] | None) -> str:
    """What stands against judging a configuration; empty where nothing does."""
    reasons, kernel = [], live.side
    if len(kernel.runs) < RUNS:
        why = ", ".join(dict.fromkeys(live.refused))
        reasons.append(f"only {len(kernel.runs)} of {RUNS} runs count ({why})")
    if any((errors.share(summary.outcomes) or 0.0) > errors.NOTED for summary in (*kernel.runs, *model.runs)):
        reasons.append("more than 1 % errors")
    busy = kernel.busiest
    if busy is None:
        reasons.append("server CPU unknown")
    elif busy >= BUSIEST:
        reasons.append("server CPU too busy")
    if kernel.responses < RESPONSES:
        reasons.append("too few responses")
    if interval is None or (interval[1] - interval[0]) / 2 > WIDTH:
        reasons.append("interval too wide")
    return ", ".join(reasons)


def row(case: Case, live: Measured, model: Side) -> tuple[Row, Point | None]:
    """The line of a configuration and its mark."""
    kernel = live.side
    one, other = kernel.means, model.means
    ratio = None if one is None or other is None else mean(other) / mean(one)
    interval = None if one is None or other is None else ratio_interval(one, other)
    rank = model.rank(kernel.p90)
    again, expired = retransmissions(kernel, model), timeouts(kernel, model)
    spread = "" if interval is None else f" ({interval[0]:.3f} to {interval[1]:.3f})"
    cells = (
        case.name,
        f"{kernel.responses:,}",
        "?" if kernel.busiest is None else f"{100 * kernel.busiest:.0f} %",
        "?" if one is None else shown(one),
        "?" if ratio is None else f"{ratio:.3f}{spread}",
        *("?" if side.p90 is None else f"{side.p90 / 1e6:,.0f}" for side in (kernel, model)),
        "?" if rank is None else f"{100 * rank[0]:.1f} to {100 * rank[1]:.1f}",
        *again.cells,
        *expired.cells,
    )
    bars = {
        "mean": ratio is not None and MEAN.met(ratio),
        "90th percentile": rank is not None and rank[0] <= RANK.high and rank[1] >= RANK.low,
        f"segments sent again{again.doubt}": again.met,
        f"timeouts{expired.doubt}": expired.met,
    }
    against = unjudged(live, model, interval)
    missed = ", ".join(name for name, met in bars.items() if not met)
    if missed and case.short:
        missed += f" ({case.short})"
    mark = (
        None if one is None or other is None else Point(mean(one), mean(other), mean_interval(other), case.congestion)
    )
    return Row(cells, None if against else not missed, against, "" if against else missed), mark


COLUMNS = (
    "configuration",
    "responses",
    "server CPU",
    "kernel: mean, ms",
    "mean: model / kernel",
    "kernel: p90, ms",
    "model: p90, ms",
    "kernel's p90 in the model, %",
    "kernel: segments sent again a response",
    "sent again: model / kernel",
    "kernel: timeouts a response",
    "timeouts: model / kernel",
)


def compare(results: Path, cases: Sequence[Case] = CASES, say: Callable[[str], None] = lambda line: None) -> Table:
    """Response times, retransmissions and timeouts, simulated and live. The live runs are kept in ``results``.

    Raises:
        CannotRunError: this machine cannot run live.
        InputError: what is in ``results`` are not such runs.
        KeyboardInterrupt: a live run was interrupted. Those before it are kept.
    """
    kernel = this_kernel()
    lengths = {case.name: kept(case, results / case.name) for case in cases}

    twins = {}
    for case, duration, model in simulated(cases, kernel, lengths):
        say(f"{case.name}: simulated, {TWINS} runs of {duration:.0f} s")
        twins[case.name] = (duration, model)
    minutes = sum(seconds(WARMUP) + duration for duration, _ in twins.values()) * RUNS / 60
    say(f"the kernel's runs take at least {minutes:.0f} min, less what is kept of them")
    lives, rows, marks = [], [], []
    for case in cases:
        duration, model = twins[case.name]
        live = measured(case, duration, results / case.name)
        line, mark = row(case, live, model)
        lives.append(live)
        rows.append(line)
        marks += [] if mark is None else [mark]
        say(" | ".join((*line.cells, line.verdict)))
        for why in live.refused:
            say(f"  a run did not count: {why}")
    return table(cases, rows, marks, made_with(lives, kernel))


def made_with(lives: Sequence[Measured], kernel: Constants) -> str:
    """The servers, kernels and days of the live runs."""
    servers = sorted(set().union(*(live.servers for live in lives)))
    days = sorted(set().union(*(live.days for live in lives)))
    span = " to ".join(dict.fromkeys([*days[:1], *days[-1:]]))
    return f"{', '.join(servers)} with {kernel}, {span}"


def table(cases: Sequence[Case], rows: list[Row], marks: Sequence[Point], made: str) -> Table:
    """The part of the page; ``made`` says with what."""
    return Table(
        "linux",
        "The simulated server against the kernel",
        "nginx before the kernel's TCP and the modelled server with the preset `linux`, each behind the same emulated "
        f"network, {RUNS} live and {TWINS} simulated runs of a configuration. A live run is made anew, at most "
        f"{REFUSED} times a configuration, where it is not valid for a reason other than its length, such as `lag` "
        f"([concepts](concepts.md)). Measured with {made}.\n\n" + configurations(cases),
        f"mean response time within 5 %, with an interval of {100 * WIDTH:.0f} % or less to either side; the share of "
        f"the model's response times up to the kernel's 90th percentile, give or take {100 * STEP:.1f} % of that, from "
        f"{100 * RANK.low:.0f} to {100 * RANK.high:.0f} %; the interval of the ratio of segments sent again, and of "
        f"timeouts, from {COUNTS.low:.1f} to {COUNTS.high:.1f} where each side counted {MANY:,}, else containing 1, "
        f"which one in ten does not by chance. With fewer than {RESPONSES:,} responses or {RUNS} runs, more than 1 % "
        f"errors, or a server that is {100 * BUSIEST:.0f} % busy, nothing is judged. In brackets stands why the model "
        "is known to fall short ([fidelity](fidelity.md#tcp)).",
        COLUMNS,
        rows,
        figure=Figure(tuple(marks), "mean response time, ms", MEAN.low, MEAN.high) if marks else None,
    )


def configurations(cases: Sequence[Case]) -> str:
    """What the names stand for, as a table."""
    return "\n".join(Listing(_CONFIGURATION, [vars(case) for case in cases]).markdown())


def _link(row: Figures) -> str:
    return f"{row['bandwidth']}, {row['queue']}" if row["bandwidth"] else ""


def _congestion(row: Figures) -> str:
    return f"{row['congestion']}" + ("" if row["sack"] else ", without SACK")


_CONFIGURATION = {
    "name": Column("configuration", left=True),
    "clients": Column("clients", left=True),
    "rtt": Column("RTT", left=True),
    "size": Column("size", left=True),
    "loss": Column("loss of each direction", left=True),
    "kept": Column("connections", lambda kept: "kept" if kept else "one a request", left=True),
    "think": Column("think time", lambda think: f"{think}, exponential" if think else "none", left=True),
    "bandwidth": Column("access link, queue", of_row=_link, left=True),
    "congestion": Column("congestion control", of_row=_congestion, left=True),
}
