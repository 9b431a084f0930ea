"""Where a figure crosses its limit: inverse regression of the logarithm of figure over limit on that of the load."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from waspbench.stats.intervals import student_t
from waspbench.stats.levels import LEVEL

REACH = math.log(1.5)
"""Distance from the crossing, in logarithms of the load, from which a run says nothing of it."""

STEEP = math.log(2.0)
"""Logarithm of a figure over its limit from which the curve is not straight any more."""

Point = tuple[float, float]
"""Logarithms of a load, and of figure over limit there."""


@dataclass(frozen=True)
class Line:
    """A straight line through runs near the crossing, by least squares, that rises."""

    centre: float
    height: float
    """At the centre."""
    slope: float
    deviation: float
    """Of a run from the line."""
    count: int
    spread: float
    """Sum of squared distances from the centre."""
    ends: tuple[float, float]
    """Logarithms of the least and the most load of these runs."""

    @classmethod
    def through(cls, points: Sequence[Point], about: float) -> Line | None:
        """The line through the points near ``about``; None where they are too few, lie on one side of the limit, or do
        not rise.
        """
        near = [point for point in points if abs(point[0] - about) <= REACH and abs(point[1]) < STEEP]
        if len(near) < 3:
            return None
        x, y = np.array(near).T
        if not y.min() < 0 < y.max() or x.min() == x.max():
            return None
        centre, height = float(x.mean()), float(y.mean())
        spread = float(((x - centre) ** 2).sum())
        slope = float(((x - centre) * y).sum() / spread)
        if slope <= 0:
            return None
        residuals = y - height - slope * (x - centre)
        deviation = math.sqrt(float((residuals**2).sum()) / (len(near) - 2))
        return cls(centre, height, slope, deviation, len(near), spread, (float(x.min()), float(x.max())))

    def load_below(self, deviations: float) -> float:
        """The load where the line lies so many deviations of a run below the limit."""
        return self._load(self.centre - (self.height + deviations * self.deviation) / self.slope)

    def interval(self) -> tuple[float, float] | None:
        """Fieller's interval of the load at which the line crosses the limit (E. C. Fieller, 1954), as far as the runs
        reach; None where the slope could as well be none.
        """
        t = student_t(LEVEL, self.count - 2)
        variance = (t * self.deviation) ** 2
        square = self.slope**2 - variance / self.spread
        if square <= 0:
            return None
        root = math.sqrt(max(0.0, variance * (self.height**2 / self.spread + square / self.count)))
        low, high = sorted((-self.slope * self.height + sign * root) / square for sign in (-1, 1))
        return self._load(self.centre + low), self._load(self.centre + high)

    def _load(self, logarithm: float) -> float:
        """The load with this logarithm, but none that is far from all runs."""
        return math.exp(min(max(logarithm, self.ends[0] - REACH), self.ends[1] + REACH))
