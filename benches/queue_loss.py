"""Table 2 of Simmonds et al. 2003: loss at the queue before the backbone, by its length and the number of clients."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from waspbench import Result, StudyResult
from waspbench.experiment.load import read
from waspbench.experiment.sweep import text_of
from waspbench.experiment.units import seconds
from waspbench.stats import mean_interval

FILE = Path(__file__).parents[1] / "experiments" / "ip-tne-2003" / "packet-loss.toml"
QUEUES = ("2KiB", "4KiB", "8KiB")
RUNS = 5
PAPER: dict[int, tuple[float, float, float]] = {
    4: (0.2413, 0.0666, 0.0013),
    8: (0.2218, 0.1444, 0.0241),
    16: (0.2375, 0.2245, 0.0448),
    32: (0.2662, 0.2769, 0.1316),
    64: (0.2920, 0.3400, 0.2850),
    128: (0.4113, 0.5295, 0.6459),
    256: (0.9506, 1.9817, 0.9182),
    512: (6.3393, 2.2179, 1.1224),
    1024: (10.0216, 2.3915, 1.1355),
    2048: (12.4610, 2.4845, 1.0854),
    4096: (18.3911, 2.4829, 1.1111),
}
"""Loss in per cent by the number of clients, for the queues in their order."""


def losses(result: Result) -> list[float]:
    """The share of packets that the queue of link b1 drops in the measured interval of each run, in per cent."""
    begin, length = (math.ceil(seconds(result.scenario["measure"][name])) for name in ("warmup", "duration"))
    there = (pl.col("link") == "b1") & (pl.col("direction") == "forward")
    inside = pl.col("second").is_between(begin, begin + length, closed="left")
    sums = result.link_series().filter(there & inside).group_by("run").agg(pl.col("dropped", "packets").sum())
    return [100 * row["dropped"] / row["packets"] for row in sums.sort("run").to_dicts()]


def shown(values: Sequence[float]) -> str:
    """A mean with half of its interval; two places where it is small."""
    mean, ends = statistics.fmean(values), mean_interval(values)
    digits = 1 if mean >= 1 else 2 if mean >= 0.1 else 3
    half = "" if ends is None else f" ± {(ends[1] - ends[0]) / 2:.{digits}f}"
    return f"{mean:.{digits}f}{half}"


def _text(length: str) -> str:
    """A length of time in the words of a page."""
    return f"{seconds(length):g} s"


def section(making: Callable[[Mapping[str, Any], str], StudyResult]) -> list[str]:
    """The lines of the table."""
    document = read(FILE)
    document["measure"] |= {"runs": RUNS}
    cells, rates = {}, {}
    for point in making(document, "queue").points:
        if point.result is None:
            raise RuntimeError(f"{text_of(point.varied)}: no run was made")
        cell = 4 * int(point.varied["clients.count"]), str(point.varied["network.links.b1.queue"])
        cells[cell], rates[cell] = losses(point.result), point.result.throughput.mean
    measure = document["measure"]
    heads = ["clients", *(head for queue in QUEUES for head in (queue.replace("iB", "B").replace("K", " K"), "paper"))]
    lines = [
        "Table 2, loss in per cent at the queue before the backbone, "
        f"{RUNS} runs of {_text(measure['duration'])} after {_text(measure['warmup'])} for each cell with 90 % "
        "intervals; the paper measured as long:",
        "",
        f"| {' | '.join(heads)} |",
        f"|{' --- |' * len(heads)}",
    ]
    for clients, paper in PAPER.items():
        both = [(shown(cells[clients, queue]), shown([loss])) for queue, loss in zip(QUEUES, paper, strict=True)]
        lines.append(f"| {clients:,d} | {' | '.join(cell for pair in both for cell in pair)} |")
    asked = ", ".join(f"{rates[512, queue]:.0f}/s with {queue}" for queue in QUEUES)
    return [*lines, "", f"At 512 clients the server answers {asked}."]
