"""Statistics: pure functions on arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waspbench.lazy import attributes

if TYPE_CHECKING:
    from waspbench.stats.histogram import Histogram, Populations, merge, percentiles
    from waspbench.stats.intervals import binomial_interval, binomial_intervals, mean_interval, student_t
    from waspbench.stats.levels import LEVEL

__all__ = [
    "LEVEL",
    "Histogram",
    "Populations",
    "binomial_interval",
    "binomial_intervals",
    "mean_interval",
    "merge",
    "percentiles",
    "student_t",
]

_HOMES = {
    "Histogram": "histogram",
    "Populations": "histogram",
    "LEVEL": "levels",
    "binomial_interval": "intervals",
    "binomial_intervals": "intervals",
    "mean_interval": "intervals",
    "merge": "histogram",
    "percentiles": "histogram",
    "student_t": "intervals",
}

__getattr__, __dir__ = attributes(__name__, _HOMES)
