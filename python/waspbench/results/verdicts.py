"""What a comparison says of a point, in words."""

from __future__ import annotations

from waspbench.experiment.metrics import SCALES, metric
from waspbench.experiment.search import FINDS
from waspbench.results import errors
from waspbench.results.comparing import Compared
from waspbench.results.loads import UNITS
from waspbench.results.regression import CAPACITY

_COUNTED = {CAPACITY: ("/s", 1.0)} | {find: (UNITS[find], 1.0) for find in FINDS[1:]}
"""Units of what searches find."""


def unit_of_means(figure: str) -> str:
    """The unit in which the means of a comparison of a figure are."""
    if figure in _COUNTED:
        return _COUNTED[figure][0]
    kind = metric(figure).kind
    return "bit/s" if kind == "rate" else SCALES[kind][0]


def means(point: Compared, figure: str) -> str:
    """What A and B have of the figure that is compared: ``640.0 -> 611.2 /s``."""
    unit, scale = _COUNTED[figure] if figure in _COUNTED else SCALES[metric(figure).kind]
    digits = 2 if scale != 1 else 0 if figure == "clients" else 1
    before, after = (
        f"{'at least ' if is_bound else ''}{mean * scale:,.{digits}f}"
        for mean, is_bound in zip(point.means, point.at_least, strict=True)
    )
    return f"{before} -> {after} {unit}"


def change(point: Compared, gap: str = " ") -> str:
    """How much more B has than A, with the interval after ``gap``; empty where that is not known."""
    if point.ratio is None:
        return ""
    said = f"{100 * (point.ratio - 1):+.1f} %"
    if point.ratio_ci90 is None:
        return said
    low, high = (100 * (end - 1) for end in point.ratio_ci90)
    return f"{said}{gap}(90 %: {low:+.1f} to {high:+.1f} %)"


def sentence(point: Compared, figure: str) -> str:
    """The verdict with the figures."""
    said = change(point)
    return f"{point.verdict}: {means(point, figure)}{f', {said}' if said else ''}"


def tested(point: Compared) -> str:
    """The test, and the chance of such a difference where there is none."""
    p = f"p = {point.p_holm:.3g}" if point.p_holm == point.p else f"p = {point.p:.3g}, corrected {point.p_holm:.3g}"
    return f"{point.test} test, {point.runs[0]} and {point.runs[1]} runs: {p}"


def failing(point: Compared, letters: str = "AB") -> list[str]:
    """That many transactions of one side were not ok; ``letters`` is what the sides are called."""
    return [
        f"more than {100 * errors.NOTED:.0f} % of {side}'s transactions were not ok"
        for side, line in zip(letters, point.lines, strict=True)
        if line.errors is not None and line.errors > errors.NOTED
    ]
