"""What an operation of SURGE costs the server of Nahum et al. 2001, with loss and without.

With loss the mix of operations that *end* is another one: large files take longer than a client waits, or than a run
lasts, and those that end are the ones that lost little. So the mean over them says little about loss. Here clients with
loss never give up, in runs that are long enough for every file to end. The costs of files of one size are weighted by
how often they are asked for without loss (direct standardisation), so that the chance of large files is the same.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from waspbench import Result, StudyResult
from waspbench.experiment import parse
from waspbench.experiment.load import read
from waspbench.experiment.server_presets import PRESETS
from waspbench.experiment.units import seconds
from waspbench.experiment.uses import uses
from waspbench.results.server_work import KINDS, server_work
from waspbench.stats import mean_interval
from waspbench.workload.serving import build

FILE = Path(__file__).parents[1] / "experiments" / "wasp-2001" / "capacity-loss.toml"
USERS = 256
RUNS = 5
MEASURE = {"warmup": "60s", "duration": "600s"}
LABELS = ("0%", "3%", "6%")

TO_THE_END = {"warmup": "1h", "duration": "2h"}
"""Long enough for the largest file over the worst path."""
TO_THE_END_RUNS = 3

PRESET = "flash-2001"
GOAL = 1260.0
"""CPU microseconds of an operation at 6 % that the paper's server needs at least, if 1,024 users saturated it."""

CLASSES = (0, 1, 4, 16, 64, 256, 1024)
"""Sizes of files in KiB where a class of the table begins."""

LEAST = 10
"""Operations on files of one size that tell what one costs."""


def lossy(label: str) -> dict[str, Any]:
    """The paper's loss by the label of its table; none for 0 %."""
    return {"rate": "0%"} if label == "0%" else {"model": "wasp2001", "rate": label}


def document(labels: Sequence[str], measure: Mapping[str, Any], timeout: str | None = None) -> dict[str, Any]:
    """The experiment with these labels of loss, for the users of the table."""
    base = read(FILE)
    base["clients"][0]["count"] = USERS
    if timeout is not None:
        base["clients"][0]["http"] |= {"timeout": timeout}
    base["measure"] = dict(measure)
    base["sweep"] = {"clients.loss": [lossy(label) for label in labels]}
    return base


def costs_of_preset() -> dict[str, float]:
    """The costs of `PRESET` in microseconds, by field."""
    numbers = PRESETS[PRESET].values
    return {field: 1e6 * seconds(number.value) for field, number in numbers.items() if field.startswith("per_")}


@dataclass(frozen=True)
class Costs:
    """What work costs in the preset, in microseconds."""

    packet: float
    """A packet that arrives, of any kind, and a segment that leaves."""
    answer: float
    """A connection with its request."""

    @classmethod
    def of_preset(cls) -> Costs:
        """Those of `PRESET`, of whose packets all cost the same.

        Raises:
            ValueError: they do not, so that the table of connections does not tell the cost of one.
        """
        us = costs_of_preset()
        packets = {us[f"per_{kind}"] for kind in ("data", "ack", "duplicate_ack", "syn", "segment")}
        if len(packets) > 1:
            raise ValueError(f"{PRESET}: packets of different kinds have different costs")
        return cls(packets.pop(), us["per_connection"] + us["per_request"])


def sizes() -> pl.DataFrame:
    """The size of each file of the experiment, by its place."""
    [asking] = uses(parse(read(FILE)))
    found = [size for _, size in build(asking).files()]
    return pl.DataFrame({"file": range(len(found)), "size": found}, schema={"file": pl.UInt32, "size": pl.Int64})


def operations(result: Result) -> pl.DataFrame:
    """A row for each operation of all runs, each of which has a connection of its own: run, size of its file, outcome,
    whether it was begun and whether it ended in the measured interval, the packets that the server received and sent
    for it, and the CPU microseconds that these, its connection and its request cost. Timers, of which an operation has
    less than two at a microsecond each, are left out, because no table says whose they are.
    """
    begin = round(1e9 * seconds(result.scenario["measure"]["warmup"]))
    packets = result.connections().select("run", "client", "connection", "up_packets", "up_lost", "down_packets")
    costs = Costs.of_preset()
    answered = pl.when(pl.col("first_byte_ns").is_not_null()).then(costs.answer).otherwise(0.0)
    return (
        result.transactions()
        .join(packets, on=["run", "client", "connection"], how="inner")
        .join(sizes(), on="file", how="inner")
        .with_columns(
            received=pl.col("up_packets").cast(pl.Int64) - pl.col("up_lost").cast(pl.Int64),
            sent=pl.col("down_packets").cast(pl.Int64),
            ended=pl.col("measured"),
            begun=pl.col("start_ns") >= begin,
        )
        .with_columns(us=costs.packet * (pl.col("received") + pl.col("sent")) + answered)
        .select("run", "size", "outcome", "begun", "ended", "received", "sent", "us")
    )


@dataclass(frozen=True)
class Stratum:
    """Operations on files of one size."""

    number: int
    us: float
    """CPU microseconds of all of them."""
    bytes: int
    """Bytes of their files."""
    received: int = 0
    """Packets that the server received for them."""
    sent: int = 0
    """Packets that it sent for them."""


def strata(rows: pl.DataFrame) -> dict[int, Stratum]:
    """The operations that ended well in the interval, by the size of their files."""
    sums = pl.col("us", "received", "sent").sum()
    ended = rows.filter(pl.col("ended") & (pl.col("outcome") == "ok"))
    found = ended.group_by("size").agg(sums, number=pl.len(), bytes=pl.col("size").sum().alias("bytes"))
    return {row.pop("size"): Stratum(**row) for row in found.to_dicts()}


Part = Literal["us", "received", "sent"]


def standardised(costs: Mapping[int, Stratum], mix: Mapping[int, Stratum], part: Part = "us") -> tuple[float, float]:
    """What an operation takes with the costs of one run and the mix of others (CPU microseconds, or packets), and which
    share of it had to be guessed: that of sizes with too few operations. They are taken to cost as much for each byte
    as the nearest size.

    Raises:
        ValueError: no size has enough operations.
    """
    told = {size: each for size, each in costs.items() if each.number >= LEAST}
    if not told:
        raise ValueError(f"no size of files has {LEAST} operations")
    total = guessed = 0.0
    for size, wanted in sorted(mix.items()):
        known = told.get(size)
        if known is not None:
            total += getattr(known, part) / known.number * wanted.number
            continue
        near = told[min(told, key=lambda other: (abs(other - size), other))]
        more = getattr(near, part) / near.bytes * wanted.bytes
        total += more
        guessed += more
    return total / _number(mix), guessed / total


def _number(mix: Mapping[int, Stratum]) -> int:
    return sum(each.number for each in mix.values())


def _with_half(values: Sequence[float], digits: int = 0) -> str:
    """A mean and half of its 90 % interval."""
    ends = mean_interval(values)
    half = "" if ends is None else f" ± {(ends[1] - ends[0]) / 2:,.{digits}f}"
    return f"{statistics.fmean(values):,.{digits}f}{half}"


def _each(result: Result, figure: Callable[[Any], float]) -> list[float]:
    return [figure(run) for run in result.runs]


def spent(result: Result) -> list[float]:
    """CPU microseconds of each run for each operation that ended well."""
    return _each(result, lambda run: 1e6 * sum(work.cpu_s for work in run.server_work) / run.outcomes["ok"])


def _bytes(run: Any) -> float:
    return float(run.goodput_bps * run.interval_s / 8 / run.outcomes["ok"])


def counted(result: Result) -> dict[str, float]:
    """How often the server did each kind of work for each operation that ended well."""
    operations = sum(run.outcomes["ok"] for run in result.runs)
    return {kind: work.number / operations for kind, work in server_work(result.runs).items() if kind in KINDS}


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}", *(f"| {' | '.join(row)} |" for row in rows)]


def by_class(found: Mapping[str, pl.DataFrame]) -> list[str]:
    """A line for each class of sizes: how often it is asked for, what it costs, and what becomes of it."""
    wanted = {label: rows.filter(pl.col("ended") & (pl.col("outcome") == "ok")) for label, rows in found.items()}
    none, worst = wanted[LABELS[0]], found[LABELS[-1]].filter(pl.col("begun"))
    lines = []
    for place, low in enumerate(CLASSES):
        high = CLASSES[place + 1] if place + 1 < len(CLASSES) else None
        here = pl.col("size") >= 1024 * low
        if high is not None:
            here &= pl.col("size") < 1024 * high
        name = f"{low:,d} KiB and more" if high is None else f"{low} to {high:,d} KiB"
        asked, begun = none.filter(here), worst.filter(here)
        shares = (asked.height / none.height, float(asked["us"].sum()) / float(none["us"].sum()))
        costs = [_mean(wanted[label].filter(here)["us"]) for label in LABELS]
        ends = [
            f"{100 * begun.filter(pl.col('outcome') == outcome).height / max(begun.height, 1):.1f}"
            for outcome in ("ok", "timed_out", "unfinished")
        ]
        lines.append([name, *(f"{100 * share:.1f}" for share in shares), *costs, *ends])
    heads = ["size of the file", "of the requests, %", "of the CPU without loss, %"]
    heads += [f"us at {label[:-1]} %" for label in LABELS]
    heads += [f"of those begun at {LABELS[-1][:-1]} %: ok, %", "given up, %", "under way at the end, %"]
    return _grid(heads, lines)


def _mean(values: pl.Series) -> str:
    mean = values.mean()
    return f"{mean:,.0f}" if isinstance(mean, float) else ""


def as_counted(
    results: Mapping[str, Result], found: Mapping[str, pl.DataFrame], ends: Mapping[str, Result]
) -> list[str]:
    """A line for each loss: the cost of an operation as it is counted; and to the end, with the mix without loss."""
    none = found[LABELS[0]]
    lines = []
    for label in LABELS:
        result, rows = results[label], found[label]
        accounted = float(rows.filter(pl.col("ended"))["us"].sum()) / sum(
            1e6 * work.cpu_s for work in server_work(result.runs).values()
        )
        lines.append(
            [
                f"{label[:-1]} %",
                f"{statistics.fmean(_each(result, lambda run: run.throughput)):,.0f}",
                f"{statistics.fmean(_each(result, _bytes)):,.0f}",
                _with_half(spent(result)),
                f"{100 * accounted:.1f}",
                *(_to_the_end(ends[label], none) if label in ends else [""] * 5),
            ]
        )
    heads = [
        "loss", "ok/s", "bytes an operation", "us an operation", "accounted for, %",
        "to the end: bytes", "us", "under way at the end, %", "with the mix without loss: % more us", "guessed, %",
    ]  # fmt: skip
    return _grid(heads, lines)


def _to_the_end(result: Result, none: pl.DataFrame) -> list[str]:
    """Of runs to the end: bytes and cost of an operation, and how many were under way when the runs ended; how much
    more it costs with the mix of the operations without loss, ``none``; and which share of that had to be guessed.
    """
    rows, mix = operations(result), strata(none)
    begun = rows.filter(pl.col("begun"))
    pairs = [standardised(strata(of_run), mix) for _, of_run in sorted(rows.group_by("run"))]
    without = [standardised(strata(of_run), mix)[0] for _, of_run in sorted(none.group_by("run"))]
    return [
        f"{statistics.fmean(_each(result, _bytes)):,.0f}",
        _with_half(spent(result)),
        f"{100 * begun.filter(pl.col('outcome') == 'unfinished').height / begun.height:.3f}",
        _more([us for us, _ in pairs], without),
        f"{100 * statistics.fmean(share for _, share in pairs):.1f}",
    ]


def _more(some: Sequence[float], none: Sequence[float]) -> str:
    """How many per cent the mean of ``some`` is above that of ``none``, with half of the 90 % interval."""
    means = [statistics.fmean(values) for values in (some, none)]
    ends = [mean_interval(values) for values in (some, none)]
    halves = [(end[1] - end[0]) / 2 / mean for end, mean in zip(ends, means, strict=True) if end is not None]
    ratio = means[0] / means[1]
    return f"{100 * (ratio - 1):.2f} ± {100 * ratio * math.hypot(*halves):.2f}"


def by_kind(results: Mapping[str, Result]) -> list[str]:
    """A line for each kind of work: how often an operation needs it, and its CPU microseconds."""
    numbers = {name: counted(result) for name, result in results.items()}
    lines = []
    for kind, (label, _) in KINDS.items():
        costs = any(server_work(result.runs)[kind].cpu_s for result in results.values())
        if not (costs or (kind == "retransmission" and any(each[kind] for each in numbers.values()))):
            continue
        cells = [label]
        for name, result in results.items():
            work = server_work(result.runs)[kind]
            operations = sum(run.outcomes["ok"] for run in result.runs)
            cells += [f"{numbers[name].get(kind, 0.0):.2f}", f"{1e6 * work.cpu_s / operations:,.0f}"]
        lines.append(cells)
    lines.append(["all", *(cell for result in results.values() for cell in ("", _with_half(spent(result))))])
    return _grid(["an operation", *(head for name in results for head in (name, "us"))], lines)


@dataclass(frozen=True)
class Need:
    """What a cost would have to be, alone, for an operation to take `GOAL` microseconds with loss."""

    cost: float
    """The microseconds that it would have to be."""
    without: float
    """What an operation without loss would take then."""


def needed(none: float, some: float, now: float, totals: tuple[float, float], goal: float = GOAL) -> Need:
    """Of work that an operation needs ``none`` times without loss and ``some`` times with it, at ``now`` microseconds
    each, where operations take ``totals`` microseconds without and with loss.
    """
    more = (goal - totals[1]) / some
    return Need(now + more, totals[0] + more * none)


_PACKETS = ("data", "ack", "duplicate_ack", "syn", "segment")
_VARIED: dict[str, tuple[str, ...]] = {
    "any packet": _PACKETS,
    "a segment sent": ("segment",),
    "a packet received": _PACKETS[:-1],
    "a duplicate ACK": ("duplicate_ack",),
    "a segment sent again": ("retransmission",),
    "a timer": ("timer",),
    "a connection": ("connection",),
    "a request": ("request",),
}
"""The costs that are varied, and the kinds of work that have each."""


def by_need(before: Mapping[str, float], after: Mapping[str, float], totals: tuple[float, float]) -> list[str]:
    """A line for each cost: what it would have to be. The kinds of work of an operation without and with loss are
    counted in ``before`` and ``after``, and their microseconds are ``totals``.
    """
    us = costs_of_preset()
    lines = []
    for name, kinds in _VARIED.items():
        often = [sum((each.get(kind, 0.0) for kind in kinds), 0.0) for each in (before, after)]
        now = us.get(f"per_{kinds[0]}", 0.0)
        need = needed(often[0], often[1], now, totals)
        lines.append(
            [name, *(f"{each:.2f}" for each in often), f"{now:g}", f"{need.cost:,.0f}", f"{need.without:,.0f}"]
        )
    heads = ["cost", "times without loss", "times at 6 %", "us now", f"us for {GOAL:,.0f}", "us without loss then"]
    return _grid(heads, lines)


def with_mix(counts: Mapping[str, float], received: float, sent: float) -> dict[str, float]:
    """The kinds of work of an operation that ``counts`` has, if the server received and sent so many packets for it. A
    connection has as many SYNs and requests whatever its file, so that acknowledgments make the difference.
    """
    fixed = counts["syn"] + counts["data"]
    acks = (received - fixed) / (counts["ack"] + counts["duplicate_ack"])
    segments = sent / counts["segment"]
    scales = {"ack": acks, "duplicate_ack": acks, "segment": segments, "retransmission": segments}
    return {kind: scales.get(kind, 1.0) * number for kind, number in counts.items()}


def section(making: Callable[[Mapping[str, Any], str], StudyResult]) -> list[str]:
    """The lines of all tables."""
    short = making(document(LABELS, MEASURE | {"runs": RUNS}), "cost")
    long = making(document(LABELS[1:], TO_THE_END | {"runs": TO_THE_END_RUNS}, timeout="24h"), "cost-to-the-end")
    results = {label: _of(point.result) for label, point in zip(LABELS, short.points, strict=True)}
    ends = {label: _of(point.result) for label, point in zip(LABELS[1:], long.points, strict=True)}
    found = {label: operations(result) for label, result in results.items()}
    kinds = {f"{label[:-1]} %": result for label, result in results.items()} | {"6 %, to the end": ends["6%"]}
    return [
        f"{USERS} users, {RUNS} runs of 600 s (to the end: {TO_THE_END_RUNS} of 2 h after 1 h), 90 % intervals:",
        "",
        *as_counted(results, found, ends),
        "",
        "By the size of the file:",
        "",
        *by_class(found),
        "",
        "By kind of work, times and CPU microseconds an operation:",
        "",
        *by_kind(kinds),
        "",
        f"What one cost alone would have to be for {GOAL:,.0f} us at 6 % with the mix without loss, and what an "
        "operation would take without loss then:",
        "",
        *_needs(results["0%"], found["0%"], ends["6%"]),
    ]


def _needs(none: Result, rows: pl.DataFrame, some: Result) -> list[str]:
    """`by_need` of runs without and with loss, of which ``rows`` are the operations without."""
    mix, costs = strata(rows), strata(operations(some))
    received, sent = (standardised(costs, mix, part)[0] for part in ("received", "sent"))
    totals = (standardised(mix, mix)[0], standardised(costs, mix)[0])
    return by_need(counted(none), with_mix(counted(some), received, sent), totals)


def _of(result: Result | None) -> Result:
    if result is None:
        raise RuntimeError("a point has no figures")
    return result
