"""Comparisons, from which tests of them go."""

from __future__ import annotations

from typing import Any

from waspbench.results.columns import no_line
from waspbench.results.comparing import Compared, ComparisonResult
from waspbench.stats.comparison import compare


def point(first: list[float], second: list[float], **more: Any) -> Compared:
    [found] = compare([(first, second)])
    fields: dict[str, Any] = {
        "varied": {},
        "runs": (found.first, found.second),
        "means": found.means,
        "ratio": found.ratio,
        "ratio_ci90": found.interval,
        "ratio_ends": found.ends,
        "shift": found.shift,
        "test": found.test,
        "p": found.p,
        "p_holm": found.p_holm,
        "verdict": found.verdict,
        "lines": (no_line(()), no_line(())),
        "note": None,
        "valid": True,
    }
    return Compared(**(fields | more))


def compared(*points: Compared, **more: Any) -> ComparisonResult:
    fields: dict[str, Any] = {
        "a": "a",
        "b": "b",
        "metric": "throughput",
        "alpha": 0.05,
        "points": list(points),
        "unmatched": [],
        "differences": [],
        "not_comparable": [],
        "valid": True,
    }
    return ComparisonResult(**(fields | more))
