"""Whether experiments whose lengths are found (``warmup = "auto"``, ``duration = "auto"``) are valid, and right.

``python tests/measured_auto.py`` makes the long run of each configuration of measured_advice.py and ten experiments of
it, and prints the table of docs/statistics.md. Arguments name configurations to measure alone.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import waspbench
from measured_advice import CONFIGURATIONS, RIGHT, measured
from waspbench.errors import RunFailedError
from waspbench.experiment.units import seconds


@dataclass(frozen=True)
class Found:
    """What became of an experiment."""

    length: float = 0.0
    """Seconds of the warm-up and the interval that were found; 0 if none were."""
    pilots: float = 0.0
    """Seconds of all pilots together."""
    valid: bool = False
    right: bool = False
    why: str = ""
    """Why it has no figures, or is not valid."""


def automatic(name: str, seed: int, truth: tuple[float, float]) -> Found:
    """An experiment of a configuration whose lengths are found."""
    document = CONFIGURATIONS[name] | {"seed": seed, "measure": {"warmup": "auto", "duration": "auto"}}
    with tempfile.TemporaryDirectory() as directory:
        try:
            [point] = waspbench.study(document, output=Path(directory) / "out", mode="sim").points
        except RunFailedError as error:
            return Found(why=str(error))
        result = point.result
        if result is None:
            return Found(why="failed")
        length = sum(seconds(result.scenario["measure"][field]) for field in ("warmup", "duration"))
        assert result.lengths is not None
        pilots = result.lengths.pilots_s
    errors = result.throughput.mean / truth[0] - 1, (result.response_time_ms.mean or 0.0) / truth[1] - 1
    why = ", ".join(sorted({reason.code for reason in result.invalid_reasons}))
    right = max(map(abs, errors)) <= RIGHT
    return Found(length, pilots, result.valid, right, why)


def table(found: Mapping[str, Sequence[Found]]) -> str:
    """The table of docs/statistics.md."""
    heads = ["configuration", "found", "median length", "pilots, of that", "valid", "within 5 %", "both"]
    lines = [heads, ["---"] * len(heads), *(_row(name, each) for name, each in found.items())]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(name: str, made: Sequence[Found]) -> list[str]:
    there = [each for each in made if each.length]
    length = median(each.length for each in there) if there else 0.0
    pilots = median(each.pilots / each.length for each in there) if there else 0.0
    counts = [sum(each.valid for each in there), sum(each.right for each in there)]
    both = sum(each.valid and each.right for each in there)
    return [name, str(len(there)), f"{length:.0f} s", f"{pilots:.1f}", *map(str, counts), str(both)]


if __name__ == "__main__":
    print(table(measured(sys.argv[1:], automatic)))
