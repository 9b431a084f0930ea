"""Statistics: pure functions on arrays."""

from waspbench.stats.histogram import Histogram, merge, percentiles
from waspbench.stats.intervals import LEVEL, binomial_interval, mean_interval, student_t

__all__ = ["LEVEL", "Histogram", "binomial_interval", "mean_interval", "merge", "percentiles", "student_t"]
