"""What figures are held to: each bar is met, missed, or not judged if its figure is missing or not to be trusted."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import wan
from repeats import too_few

SERVER_BUSY, GENERATOR_BUSY = 0.95, 0.90
"""Goals: the server's CPU at least, the emulator's thread less than this busy."""
IDLE_KIB = 4.0
"""Goal: memory of an idle connection."""


@dataclass(frozen=True)
class Bar:
    """A figure and its goal."""

    what: str
    value: float | None
    goal: float
    least: bool = False
    """Whether the goal is a lower bound."""
    doubt: str = ""
    """Why it is not judged although there is a figure."""

    @property
    def verdict(self) -> str:
        """met, missed or not judged."""
        if self.value is None or not math.isfinite(self.value) or self.doubt:
            return "not judged"
        return "met" if (self.value >= self.goal if self.least else self.value <= self.goal) else "missed"

    def __str__(self) -> str:
        value = "no figure" if self.value is None or not math.isfinite(self.value) else f"{self.value:.3g}"
        why = f" ({self.doubt})" if self.doubt else ""
        return (
            f"  {self.verdict:10}  {self.what}: {value}, {'at least' if self.least else 'at most'} {self.goal:g}{why}"
        )


def bars(report: dict[str, Any]) -> list[Bar]:
    """Every bar of the parts that were measured."""
    parts = (("live", _live), ("wan", _wan), ("scale", _scale))
    return [
        bar
        for part, of_part in parts
        if part in report and not {"skipped", "failed"} & report[part].keys()
        for bar in of_part(report[part])
    ]


def _live(found: dict[str, Any]) -> Iterator[Bar]:
    for comparison in found["comparisons"]:
        name, pairs = comparison["workload"], comparison["pairs"]
        counted = [pair for pair in pairs if pair["counts"]]
        doubt = too_few(len(counted), pairs) or ""
        sides = [pair["wasp"] for pair in counted or pairs]
        yield Bar(f"{name}, WASP / wrk", comparison["ratio"]["median"], comparison["goal"], True, doubt)
        yield Bar(f"{name}, least busy server", _of(min, sides, "server_busy"), SERVER_BUSY, True, doubt)
        yield Bar(f"{name}, busiest emulator", _of(max, sides, "generator_busy"), GENERATOR_BUSY, doubt=doubt)


def _of(choose: Any, sides: Sequence[dict[str, Any]], name: str) -> float | None:
    """The least or greatest of a figure; None if one is missing."""
    values = [side[name] for side in sides]
    return None if None in values else float(choose(values))


def _wan(found: dict[str, Any]) -> Iterator[Bar]:
    exact = next(row for row in found["rows"] if row["what"].endswith("no loss"))
    lossy = next(row for row in found["rows"] if row["what"].endswith("3 % loss"))
    for row in (found["rows"][0], lossy):
        yield Bar(f"{row['what']}, cost of a transaction", row["cost"], wan.COST, doubt="; ".join(row["complaints"]))
    doubts = [*exact["complaints"]]
    if exact["steal"] is None or exact["steal"] > wan.STEAL:
        doubts.append("the hypervisor took more than 1 % of the time, or does not tell")
    for name, goal in (("p50", wan.LAG_P50), ("p99", wan.LAG_P99)):
        yield Bar(f"packets leave late, {name} us", exact[f"lag_{name}_us"], goal, doubt="; ".join(doubts))
    yield Bar("bulk, bit/s", found["bulk_bps"], wan.BULK, True, "; ".join(found["bulk_complaints"]))


def _scale(found: dict[str, Any]) -> Iterator[Bar]:
    yield Bar(
        f"{found['clients']} clients, reasons against the run",
        float(len(found["complaints"]) + len(found["unsettled"])),
        0.0,
    )
    yield Bar("memory of an idle connection, KiB", found["bytes_per_connection"] / 1024, IDLE_KIB)
