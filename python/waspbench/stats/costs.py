"""What work costs: times of a whole as sums of costs and counts, by non-negative least squares (C. L. Lawson and
R. J. Hanson, Solving Least Squares Problems, 1974, chapter 23), with intervals, and which costs cannot be told apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from waspbench.stats.levels import LEVEL

Array = NDArray[np.float64]

MOST_INFLATION = 100.0
"""Variance inflation from which a count is taken for a mixture of others, if its cost may be zero: its interval is then
ten times as wide as it would be by itself."""

INSEPARABLE = 1e10
"""Variance inflation from which a count is the same as a sum of others, but for rounding."""

RELATED = 0.2
"""Least part of a count's variation that another one must explain, beside the rest, to be named as mixed with it."""


@dataclass(frozen=True)
class FittedCost:
    """What one piece of work costs."""

    name: str
    value: float
    """In the unit of the times."""
    low: float
    """Ends of the interval."""
    high: float
    inflation: float
    """Variance inflation factor: by how much the variance of this cost is larger than if its count were orthogonal to
    those of other work. 1 / (1 - R^2) of the count on the others, without a mean."""
    mixed_with: tuple[str, ...]
    """Other work whose counts go with this one's so closely that the costs cannot be told apart."""

    @property
    def zero(self) -> bool:
        """Whether the interval holds zero, so that the work may cost nothing."""
        return self.low <= 0.0


@dataclass(frozen=True)
class CostFit:
    """The costs of all work, and how well they say what was measured."""

    costs: tuple[FittedCost, ...]
    fitted: tuple[float, ...]
    """The time of each observation as the costs have it."""
    error: float
    """Standard deviation of a time relative to what was fitted, from the residuals and the degrees of freedom."""
    worst: float
    """Largest relative error."""
    degrees: int
    """Observations less costs."""


def fit_costs(times: Sequence[float], counts: Mapping[str, Sequence[float]], level: float = LEVEL) -> CostFit:
    """The costs c >= 0 of ``times`` = sum of c x count, by least squares weighted with the fitted times.

    So errors are relative: a run that is busy ten times as long is not measured ten times as well. The intervals are
    Student's t of ordinary least squares from the residuals, cut at zero: they hold the true costs at least as often as
    ``level`` says where relative errors are independent and normal (G. A. F. Seber and A. J. Lee, Linear Regression
    Analysis, 2003, section 3.5), because cutting takes away only what cannot be. They are widened to the fitted cost
    where the bounds of other costs push it out.

    Args:
        times: the time of each observation, above zero.
        counts: how often each piece of work was done in each observation.
        level: of the intervals.

    Raises:
        ValueError: there are not more observations than costs, a time is not above zero, or a count never occurs.
    """
    measured = np.asarray(times, dtype=np.float64)
    names = list(counts)
    matrix = np.column_stack([np.asarray(counts[name], dtype=np.float64) for name in names])
    if len(measured) <= len(names):
        raise ValueError(f"{len(measured)} observations do not tell {len(names)} costs: there must be more")
    if not bool((measured > 0).all()):
        raise ValueError("a time is not above zero")
    absent = [name for name, column in zip(names, matrix.T, strict=True) if not column.any()]
    if absent:
        raise ValueError(f"never done: {', '.join(absent)}")
    values, weights = _fitted(matrix, measured)
    weighted = matrix / weights[:, None]
    scale = np.linalg.norm(weighted, axis=0)
    scaled = weighted / scale
    middle, half = _interval(scaled, measured / weights, level)
    fitted = matrix @ values
    errors = measured / fitted - 1
    inflation = _inflation(scaled)
    degrees = len(measured) - len(names)
    costs = []
    for index, name in enumerate(names):
        value = float(values[index])
        low = max(0.0, min(float(middle[index] - half[index]) / float(scale[index]), value))
        # A cost that the bound holds at zero is as uncertain as one that is zero by itself.
        high = max(float(max(middle[index], 0.0) + half[index]) / float(scale[index]), value)
        inseparable = bool(inflation[index] > INSEPARABLE)
        mixed = inseparable or (low <= 0 and bool(inflation[index] > MOST_INFLATION))
        others = _mixed(scaled, index, names) if mixed else ()
        if inseparable:
            low, high = 0.0, _most(matrix[:, index], fitted)
        costs.append(FittedCost(name, value, low, high, float(inflation[index]), others))
    return CostFit(
        costs=tuple(costs),
        fitted=tuple(float(value) for value in fitted),
        error=float(np.sqrt(np.sum(errors**2) / degrees)),
        worst=float(np.max(np.abs(errors))),
        degrees=degrees,
    )


ROUNDS = 20
"""Rounds of weighting by what was fitted in the round before."""


def _fitted(matrix: Array, measured: Array) -> tuple[Array, Array]:
    """The costs, and the weights with which they were found: the fitted times.

    Errors relative to the measured times would make costs too low, because a time that is measured too short by chance
    would weigh more (J. A. Nelder and R. W. M. Wedderburn, Generalized Linear Models, 1972: constant coefficient of
    variation, identity link).
    """
    weights = measured
    values = np.zeros(matrix.shape[1])
    for _ in range(ROUNDS):
        weighted = matrix / weights[:, None]
        scale = np.linalg.norm(weighted, axis=0)
        before, values = values, optimize.nnls(weighted / scale, measured / weights)[0] / scale
        # A time that no cost explains keeps its weight.
        fitted = matrix @ values
        weights = np.where(fitted > 0, fitted, measured)
        if np.allclose(values, before, rtol=1e-9, atol=0.0):
            break
    return values, weights


def _most(column: Array, fitted: Array) -> float:
    """The largest cost with which this work alone takes no more than any of the fitted times."""
    done = column > 0
    return float(np.min(fitted[done] / column[done]))


def _interval(scaled: Array, target: Array, level: float) -> tuple[Array, Array]:
    """Costs by ordinary least squares, in the unit of the scaled columns, and half the widths of their intervals by
    Student's t.
    """
    _, singular, rows = np.linalg.svd(scaled, full_matrices=False)
    kept = singular > singular[0] * max(scaled.shape) * np.finfo(np.float64).eps
    inverse = (rows[kept].T / singular[kept] ** 2) @ rows[kept]
    middle = inverse @ scaled.T @ target
    residuals = target - scaled @ middle
    degrees = len(scaled) - int(np.count_nonzero(kept))
    deviation = np.sqrt(float(residuals @ residuals) / degrees * np.diag(inverse))
    return middle, float(stats.t.ppf((1 + level) / 2, degrees)) * deviation


def _inflation(scaled: Array) -> Array:
    """The variance inflation of each column of length 1: how much of it the others leave unexplained, without a mean,
    because the model has no constant.
    """
    found = np.empty(scaled.shape[1])
    for index in range(scaled.shape[1]):
        rest = np.delete(scaled, index, axis=1)
        left = scaled[:, index] - rest @ np.linalg.lstsq(rest, scaled[:, index], rcond=None)[0]
        found[index] = 1 / max(float(left @ left), 1e-12)
    return found


def _mixed(scaled: Array, index: int, names: Sequence[str]) -> tuple[str, ...]:
    """The columns of which column ``index`` is a mixture, those that explain most of it first."""
    others = [other for other in range(scaled.shape[1]) if other != index]
    parts = np.linalg.lstsq(scaled[:, others], scaled[:, index], rcond=None)[0]
    order = sorted(range(len(others)), key=lambda place: -abs(float(parts[place])))
    return tuple(names[others[place]] for place in order if abs(float(parts[place])) >= RELATED)
