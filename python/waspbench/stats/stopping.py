"""When enough runs have been made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from waspbench.stats.intervals import mean_interval
from waspbench.stats.levels import LEVEL


def relative_half_width(values: Sequence[float], level: float = LEVEL) -> float | None:
    """Half the width of the mean's Student-t interval over the mean; None when there is none or the mean is zero."""
    interval = mean_interval(values, level)
    mean = float(np.mean(values)) if len(values) else 0.0
    return None if interval is None or mean == 0 else (interval[1] - interval[0]) / 2 / abs(mean)


@dataclass(frozen=True)
class Until:
    """Runs are added until the interval is narrow enough: ``until = { ci = "5%", max_runs = 20 }``.

    Looking after each run and stopping when it suits makes the interval cover less often than it says; how much is
    measured in docs/statistics.md.
    """

    ci: float
    """Half width of the mean's interval, relative to the mean, that is enough."""
    least: int
    """Runs to make in any case, at least two."""
    most: int
    """Runs to make at most."""

    def enough(self, values: Sequence[float], level: float = LEVEL) -> bool:
        """Whether ``values``, one for each run so far in their order, are enough."""
        if len(values) >= self.most:
            return True
        width = relative_half_width(values, level)
        return len(values) >= max(2, self.least) and width is not None and width <= self.ci
