"""How often experiments whose congestion windows had not converged are called so, over simulated experiments of the
defaults against long runs.

``python tests/measured_windows.py`` makes the long run and 20 experiments of each configuration, prints each, and then
the table of docs/statistics.md. It takes a quarter of an hour of two CPUs. Arguments name families to measure alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

import waspbench
from waspbench.tabular import piped

EXPERIMENTS = 20
"""Experiments of a configuration."""

BIASED = 0.05
"""Bias above which an experiment ought to be refused."""

UNBIASED, MOST_DEVIATION = 0.01, 0.02
"""Bias, and deviation of an experiment's figures, below which it ought not to be refused."""

MOST_VALID, MOST_REFUSED = 0.15, 0.225
"""Shares of a configuration's experiments above which it is counted as valid, or refused, too often."""

SEGMENT = 1448
"""Bytes of a segment."""

Document = dict[str, Any]


@dataclass(frozen=True)
class Configuration:
    """An experiment and what it is an example of."""

    family: str
    name: str
    document: Document


@dataclass(frozen=True)
class Found:
    """What the experiments of a configuration came to."""

    about: Configuration
    bias: float
    """Relative error of their throughput or mean response time, whichever is larger, against the long run."""
    deviation: float
    """Relative standard deviation of the one of an experiment that varies more."""
    valid: float
    """Share of the experiments that were valid."""
    unsettled: float
    """Share that was refused as ``windows``."""


def document(count: int, size: str, rtt: int, loss: float = 0.0, **more: Any) -> Document:
    """Clients with kept connections that ask for one file again and again."""
    clients = {"count": count, "rtt": f"{rtt}ms", **more}
    if loss:
        clients["loss"] = {"rate": f"{loss:g}%"}
    return {"name": "windows", "workload": {"kind": "single", "size": size}, "clients": [clients]}


def grid(congestion: str) -> Iterator[Configuration]:
    """Sizes, losses and round-trip times in which windows may matter, and a few in which they hardly do."""
    for size in (10, 30, 100, 500):
        for loss in (0.001, 0.01, 0.03, 0.1, 0.3, 1, 3):
            for rtt in (20, 100, 300):
                segments = 1000 * size / SEGMENT
                window = 1.2 / (loss / 100) ** 0.5
                if congestion == "cubic":
                    window = max(window, 1.054 * (rtt / 1000 / (loss / 100)) ** 0.75)
                if not window / 12 < segments < 25 * window:
                    continue
                count = (64 if size <= 30 else 32 if size <= 100 else 16) // (2 if rtt == 20 else 1)
                made = document(count, f"{size}KB", rtt, loss)
                made["server"] = {"tcp": {"congestion": congestion}}
                yield Configuration(f"kept connections, {congestion}", f"{size} KB, {rtt} ms, {loss:g} %", made)


def pauses() -> Iterator[Configuration]:
    """Clients that pause, so that windows decay."""
    for size in (10, 20, 30, 40, 100):
        for pause in ("200ms", "1s", "5s"):
            for loss in (0.3, 1):
                made = document(256, f"{size}KB", 100, loss, think=pause)
                made["measure"] = {"warmup": "20s"}
                yield Configuration("pauses", f"{size} KB, {pause}, {loss:g} %", made)


def narrow() -> Iterator[Configuration]:
    """Links whose queues lose what does not fit."""
    for size in ("50KB", "200KB", "1MB"):
        for rate in ("2Mbit/s", "10Mbit/s", "20Mbit/s"):
            for queue in ("32KB", "128KB"):
                for loss in (0, 0.1):
                    sides = {"down": queue, "up": queue}
                    made = document(32, size, 50, loss, bandwidth={"down": rate, "up": rate}, queue=sides)
                    yield Configuration("narrow links", f"{size}, {rate}, {queue}, {loss:g} %", made)


def others() -> Iterator[Configuration]:
    """Connections that are closed, several of a client, pipelines, uploads, a slow server, and open loops."""
    for loss in (0.1, 0.3, 1):
        for requests in (1, 10, 30):
            made = document(64, "50KB", 100, loss, http={"requests_per_connection": requests})
            yield Configuration("closed after some requests", f"{requests} requests, {loss:g} %", made)
        made = document(32, "30KB", 100, loss, http={"connections": 4})
        yield Configuration("four connections", f"{loss:g} %", made)
        for requests in (30, 100):
            made = document(64, "30KB", 300, loss, http={"requests_per_connection": requests})
            yield Configuration("closed after some requests", f"{requests} requests, 300 ms, {loss:g} %", made)
        made = document(64, "30KB", 100, loss, http={"pipeline": 4})
        yield Configuration("pipelines", f"{loss:g} %", made)
        made = document(64, "1KB", 100, http={"method": "POST", "body": "100KB"})
        made["clients"][0]["loss"] = {"up": {"rate": f"{loss:g}%"}}
        yield Configuration("uploads", f"{loss:g} %", made)
        made = document(64, "100KB", 100)
        made["clients"][0]["loss"] = {"up": {"rate": f"{loss:g}%"}}
        yield Configuration("losses upwards only", f"{loss:g} %", made)
        made = document(16, "50KB", 100, loss)
        made["server"] = {"model": {"cores": 16, "per_request": "500ms"}}
        yield Configuration("a slow server", f"{loss:g} %", made)
        made = document(64, "30KB", 100, loss, arrivals={"rate": "100/s"})
        yield Configuration("open loop", f"{loss:g} %", {**made, "measure": {"warmup": "20s"}})


def configurations() -> list[Configuration]:
    """All of them."""
    return [*grid("cubic"), *grid("reno"), *pauses(), *narrow(), *others()]


def figures(made: Document, seed: int) -> tuple[float, float, bool, bool]:
    """Throughput and mean response time (ms) of an experiment, whether it is valid, and whether it is ``windows``."""
    result = waspbench.run({**made, "seed": seed}, mode="sim")
    codes = {reason.code for reason in result.invalid_reasons}
    return result.throughput.mean, result.response_time_ms.mean or 0.0, result.valid, "windows" in codes


def measure(place: int) -> Found:
    """The long run and the experiments of one configuration."""
    about = configurations()[place]
    long = {**about.document, "measure": {"warmup": "300s", "duration": "900s", "runs": 1}}
    truth = figures(long, 1000)
    made = [figures(about.document, seed) for seed in range(1, EXPERIMENTS + 1)]
    rates, means = (np.array([each[column] for each in made]) for column in (0, 1))
    of_rate, of_mean = rates.mean() / truth[0] - 1, means.mean() / truth[1] - 1
    deviation = max(rates.std(ddof=1) / rates.mean(), means.std(ddof=1) / means.mean())
    return Found(
        about,
        float(of_rate if abs(of_rate) > abs(of_mean) else of_mean),
        float(deviation),
        float(np.mean([each[2] for each in made])),
        float(np.mean([each[3] for each in made])),
    )


def table(found: Sequence[Found]) -> str:
    """A Markdown table with a row for each family."""
    heads = [
        "",
        "bias above 5 %",
        "valid",
        "valid more often than 15 %",
        "bias below 1 %",
        "`windows`",
        "more often than 22.5 %",
    ]
    rows = []
    families = list(dict.fromkeys(each.about.family for each in found))
    for family in (*families, "all"):
        of_family = [each for each in found if family in (each.about.family, "all")]
        off = [each for each in of_family if abs(each.bias) > BIASED]
        right = [each for each in of_family if abs(each.bias) < UNBIASED and each.deviation <= MOST_DEVIATION]
        valid = f"{100 * np.mean([each.valid for each in off]):.1f} %" if off else ""
        refused = f"{100 * np.mean([each.unsettled for each in right]):.1f} %" if right else ""
        often = sum(each.valid > MOST_VALID for each in off), sum(each.unsettled > MOST_REFUSED for each in right)
        cells = [family, len(off), valid, often[0], len(right), refused, often[1]]
        rows.append([str(cell) for cell in cells])
    return "\n".join(piped(heads, rows))


def main() -> None:
    """Measures every configuration, prints each, and then the table of `docs/statistics.md`."""
    found = []
    families = set(sys.argv[1:])
    wanted = [place for place, each in enumerate(configurations()) if not families or each.family in families]
    with ProcessPoolExecutor(os.cpu_count()) as workers:
        for each in workers.map(measure, wanted):
            print(
                f"{each.about.family}: {each.about.name}: bias {100 * each.bias:+.1f} %, deviation "
                f"{100 * each.deviation:.1f} %, valid {100 * each.valid:.0f} %, windows {100 * each.unsettled:.0f} %",
                flush=True,
            )
            found.append(each)
    print(f"\n{table(found)}")


if __name__ == "__main__":
    main()
