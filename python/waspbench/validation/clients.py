"""The emulated `linux` client against the kernel's own, behind the same emulated network and before the same server."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from waspbench.experiment import parse
from waspbench.live import choose_mode
from waspbench.results.manifest import now
from waspbench.stats.comparison import ratio_interval
from waspbench.testbed.doctor import stolen
from waspbench.validation.page import Bar, Row, Table
from waspbench.validation.programs import Seen, emulated, programs
from waspbench.validation.simulation import mean

RTT, WARMUP = "50ms", "5s"
PAIRS, ATTEMPTS = 7, 30
"""Pairs of runs of a point, and how many are made at most to have so many that count."""
LEAST_BUSY, MOST_BUSY, STEAL = 0.20, 0.60, 0.01
AIM, ENOUGH, FITS = 0.38, (0.28, 0.50), 5
"""How busy the server is to be, between which shares the number of clients stays, and how often it is fitted."""
OVERLOADED, RELIEF = frozenset({"lag", "unread", "emulator_busy"}), 0.8
"""Why a run does not count whose emulator had too much to do, and the share of the clients that is tried then."""
MOST_SCALED = 4.0
"""How much the number of clients may grow, or shrink, at a time: a server that is busy all the time does not show how
much was asked of it.
"""
EQUAL_RATE = Bar.within(0.06)
WIDTH = 0.02
"""Half of the widest interval of a ratio by which it is judged."""
QUIET, PATIENCE = 2.0, 120.0
"""Seconds over which the machine must be quiet before a pair, and for which that is waited for at most."""
TIME, WORK = Bar.within(0.05), Bar.within(0.10)

Pair = tuple[Seen, Seen]
"""A run of the kernel's clients and one of the emulated ones, made one after the other."""


@dataclass(frozen=True)
class ClientCase:
    """What is asked for behind which loss, by about how many clients and for how long, so that the server is
    busy and there are enough responses.

    Clients think between requests. Without, whatever delays several of them at once has them go on in step, a round
    trip after the other, and such convoys grow: the programs' packets are handled at the times at which they really
    arrive, and nothing draws them apart.
    """

    size: str
    loss: str
    clients: int
    think: str
    """Mean of the exponential pauses."""
    duration: str

    def document(self) -> dict[str, Any]:
        """The experiment of both kinds of clients."""
        loss = {"model": "independent", "rate": self.loss}
        group = {
            "name": "clients",
            "count": self.clients,
            "rtt": RTT,
            "loss": {"up": loss, "down": loss},
            "think": {"model": "exponential", "mean": self.think},
            "http": {"requests_per_connection": 1},
        }
        return {
            "name": "validation",
            "workload": {"size": self.size},
            "server": {"kind": "nginx", "congestion": "cubic"},
            "clients": [group],
            "measure": {"warmup": WARMUP, "duration": self.duration, "runs": 1},
        }


CLIENT_CASES = (
    ClientCase("20KB", "1%", 1_000, "400ms", "17s"),
    ClientCase("20KB", "3%", 1_100, "400ms", "17s"),
    ClientCase("64KB", "1%", 850, "600ms", "12s"),
    ClientCase("64KB", "3%", 900, "600ms", "12s"),
    ClientCase("500KB", "1%", 140, "1s", "25s"),
    ClientCase("500KB", "3%", 200, "1s", "30s"),
)


def require() -> None:
    """Raises CannotRunError where no live run is possible."""
    choose_mode("live", parse(CLIENT_CASES[0].document()))


def pairs(point: ClientCase, wanted: int = PAIRS, attempts: int = ATTEMPTS) -> tuple[list[Pair], list[str]]:
    """Pairs of runs of a point that count, and why others did not. Which kind goes first alternates.

    Raises:
        RunFailedError: a run could not be made.
    """
    found: list[Pair] = []
    refused: list[str] = []
    document = point.document()
    for attempt in range(attempts):
        await_quiet()
        kinds = (programs, emulated) if attempt % 2 == 0 else (emulated, programs)
        first = kinds[0](document, attempt)
        against = disturbed(first)
        if not against:
            second = kinds[1](document, attempt)
            pair = (first, second) if attempt % 2 == 0 else (second, first)
            against = disturbed(second) or unequal(pair)
        if against:
            refused.append(against)
            continue
        found.append(pair)
        if len(found) == wanted:
            break
    return found, refused


def fitted(point: ClientCase, run: int) -> ClientCase:
    """The point with as many clients as keep this machine's server busy, and its emulator not too busy.

    The runs by which they are found are not counted. The programs make them, since each of their packets is read and
    written twice.
    """
    most = MOST_SCALED**FITS * point.clients
    for _ in range(FITS):
        await_quiet()
        seen = programs(point.document(), run)
        if OVERLOADED & set(seen.against):
            most = RELIEF * point.clients
            wanted = most
        elif ENOUGH[0] <= seen.busy <= ENOUGH[1] or not seen.busy > 0:
            break
        else:
            wanted = point.clients * min(max(AIM / seen.busy, 1 / MOST_SCALED), MOST_SCALED)
        clients = round(min(wanted, most))
        if clients == point.clients:
            break
        point = replace(point, clients=clients)
    return point


def await_quiet() -> None:
    """Waits, for a while, until the hypervisor leaves the CPUs alone: what it takes now it is likely to take of the
    next run.
    """
    stat = Path("/proc/stat")
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        before = stat.read_text()
        time.sleep(QUIET)
        if (stolen(stat.read_text(), before) or 0.0) < STEAL:
            return


def disturbed(seen: Seen) -> str:
    """Why a run does not count; empty if it does."""
    reasons = set(seen.against)
    if seen.steal >= STEAL:
        reasons.add("steal")
    if not LEAST_BUSY <= seen.busy <= MOST_BUSY:
        reasons.add(f"server {100 * seen.busy:.0f} % busy")
    return ", ".join(sorted(reasons))


def unequal(pair: Pair) -> str:
    """Why two runs are no pair; empty if they are one."""
    ratio = pair[1].rate / pair[0].rate if pair[0].rate else 0.0
    return "" if EQUAL_RATE.met(ratio) else "unequal rates"


@dataclass(frozen=True)
class _Ratio:
    """A figure of the kernel's clients, and that of the emulated ones over it."""

    kernel: float
    ratio: float
    interval: tuple[float, float] | None

    @classmethod
    def of(cls, found: Sequence[Pair], figure: Callable[[Seen], float]) -> _Ratio:
        kernel, model = ([figure(pair[side]) for pair in found] for side in (0, 1))
        return cls(mean(kernel), mean(model) / mean(kernel), ratio_interval(kernel, model))

    @property
    def wide(self) -> bool:
        """Whether so few runs do not show the ratio well enough to judge it."""
        return self.interval is None or (self.interval[1] - self.interval[0]) / 2 > WIDTH

    @property
    def cells(self) -> tuple[str, str]:
        """The figure and the ratio with its interval."""
        spread = "" if self.interval is None else f" ({self.interval[0]:.3f} to {self.interval[1]:.3f})"
        return f"{self.kernel:,.1f}", f"{self.ratio:.3f}{spread}"


def row(point: ClientCase, found: Sequence[Pair], refused: Sequence[str], wanted: int = PAIRS) -> Row:
    """The line of a point."""
    if not found:
        why = f"no pair counts: {'; '.join(dict.fromkeys(refused))}"
        named = (point.size, point.loss, f"{point.clients:,}")
        return Row((*named, *["?"] * (len(COLUMNS) - len(named))), unjudged=why)
    average, p90, packets = (
        _Ratio.of(found, figure) for figure in (lambda s: s.mean, lambda s: s.p90, lambda s: s.packets)
    )
    shares = sorted(model.cpu_us / kernel.cpu_us for kernel, model in found)
    cpu = statistics.median(shares)
    busy = [seen.busy for pair in found for seen in pair]
    counted = [sum(pair[side].responses for pair in found) for side in (0, 1)]
    cells = (
        point.size,
        point.loss,
        f"{point.clients:,}",
        f"{len(found)}",
        f"{counted[0]:,} / {counted[1]:,}",
        f"{100 * min(busy):.0f} to {100 * max(busy):.0f} %",
        *average.cells,
        *p90.cells,
        *packets.cells,
        f"{mean([kernel.cpu_us for kernel, _ in found]):,.0f}",
        f"{cpu:.3f} ({shares[0]:.3f} to {shares[-1]:.3f})",
    )
    reasons = [f"only {len(found)} of {wanted} pairs"] if len(found) < wanted else []
    reasons += [f"{name}: interval too wide" for name, one in (("mean", average), ("p90", p90)) if one.wide]
    close = TIME.met(average.ratio) and TIME.met(p90.ratio) and WORK.met(packets.ratio) and WORK.met(cpu)
    return Row(cells, None if reasons else close, ", ".join(reasons))


COLUMNS = (
    "size",
    "loss",
    "clients",
    "pairs",
    "responses, kernel / emulated",
    "server busy",
    "kernel: mean, ms",
    "ratio",
    "kernel: p90, ms",
    "ratio",
    "kernel: packets",
    "ratio",
    "kernel: server CPU, us",
    "ratio",
)


def compare(points: Sequence[ClientCase] = CLIENT_CASES, say: Callable[[str], None] = lambda line: None) -> Table:
    """Response times, packets and server CPU of emulated clients over those of the kernel's.

    Raises:
        CannotRunError: this machine cannot run live.
        RunFailedError: a run could not be made.
    """
    rows = []
    for point in points:
        point = fitted(point, ATTEMPTS)
        found, refused = pairs(point)
        rows.append(row(point, found, refused))
        say(f"{point.size} at {point.loss}: {' | '.join((*rows[-1].cells[2:], rows[-1].verdict))}")
        for why in refused:
            say(f"  a pair did not count: {why}")
    return Table(
        "clients",
        "The emulated client against the kernel's",
        "A closed loop of connections by programs of this machine, whose TCP is the kernel's, and emulated clients "
        f"with the preset `linux`, each behind the same emulated network of {RTT} with independent loss in both "
        "directions, before the same nginx (`cubic`), a request a connection. The number of clients is chosen so that "
        f"the server is about {100 * AIM:.0f} % busy, or less where the emulator would have too much to do; {PAIRS} "
        "pairs of runs, one after the other. Ratios are emulated over kernel. Packets are those that the server "
        "received, CPU is all that its CPU did, each a response; the ratio of CPU is the median of the pairs', with "
        "their range. "
        f"Measured on Linux {os.uname().release}, {now()[:10]}.",
        "mean and 90th percentile of the response times within 5 %, with intervals of 2 % or less to either side; "
        "packets and CPU within 10 %. A pair counts if both of its runs are valid, the server is 20 to 60 % busy, the "
        "hypervisor takes less than 1 %, and the rates differ by at most 6 %. An emulated run that the machine "
        "disturbed is made once more.",
        COLUMNS,
        rows,
    )
