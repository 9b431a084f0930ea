"""Results drawn in text: how response times are spread, how throughput went over time, points side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from waspbench.experiment.sweep import text_of
from waspbench.results import Result
from waspbench.results.shape import response_times, throughput_by_second
from waspbench.results.study import StudyResult
from waspbench.stats import Histogram, percentiles
from waspbench.tabular import terminal_width

_MS = 1_000_000
_WIDTH = 79
"""Characters of a line at most; fewer on a narrower terminal."""
_LEAST_WIDTH = 40
"""Characters without which nothing is drawn."""
_LABEL = 20
_SHARE = 9
"""Characters of a share at the end of a line."""
_THROUGHPUT = 12
_LEAST = 1e-3
"""Milliseconds at which the first bar begins at least."""
_MOST_ROWS = 12
"""Bars of response times at most, that of the longest left out."""
_TAIL = 0.999
"""The part of the response times that bars of their own are for; one more is for the rest."""
_MOST_POINTS = 24
"""Points that are drawn at most; a table says more of many."""
_LONGEST_NAME = 34
"""Characters of a point's name that stand beside its bar."""
_SPARKS = 60
"""Characters of a line of throughput at most."""
_LEAST_SPARKS = 5
"""Characters of each run that are worth a line."""

_STEPS: tuple[tuple[float, ...], ...] = (
    (1, 1.12, 1.25, 1.4, 1.6, 1.8, 2, 2.24, 2.5, 2.8, 3.15, 3.55, 4, 4.5, 5, 5.6, 6.3, 7.1, 8, 9),
    (1, 1.25, 1.6, 2, 2.5, 3.15, 4, 5, 6.3, 8),
    (1, 1.6, 2.5, 4, 6.3),
    (1, 2, 5),
    (1,),
)
"""Where bars may begin in each decade, from fine to coarse: preferred numbers (ISO 3: R 20, R 10, R 5), 1-2-5, 1."""

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_NOTHING = "_"
_LEVELS = "▁▂▃▄▅▆▇█"


def drawing(result: Result) -> list[str]:
    """Response times and throughput over time, each after an empty line. Nothing where a table of them is not kept,
    nothing was ok, or the terminal is very narrow.

    Raises:
        InputError: a table cannot be read.
    """
    times, runs = response_times(result), throughput_by_second(result)
    if times is None or not times.total or _room() < _LEAST_WIDTH:
        return []
    return [*spread(times), *over_time(runs or [])]


def _room() -> int:
    """Characters of a line."""
    width = terminal_width()
    return _WIDTH if width is None else min(_WIDTH, width - 1)


def spread(times: Histogram) -> list[str]:
    """A bar for each interval of response times in nanoseconds, with as fine ones as there is room for."""
    middle = (times.lower + times.upper) / 2 / _MS
    [end] = percentiles(times, [_TAIL])
    least = max(float(middle.min()), _LEAST)
    edges = _edges(least, max(least, float(end or 0) / _MS))
    counts, _ = np.histogram(np.maximum(middle, edges[0]), bins=[*edges, math.inf], weights=times.count)
    names = [f"{_time(low)} to {_time(high)}" for low, high in pairwise(edges)]
    names.append(f"above {_time(edges[-1])}")
    if not counts[-1]:
        names, counts = names[:-1], counts[:-1]
    room = _room() - _LABEL - _SHARE
    lines = ["", "response times of ok transactions"]
    for name, count in zip(names, counts, strict=True):
        share = _share(count / times.total)
        lines.append(f"{name:<{_LABEL}}{_bar(count / counts.max(), room):<{room}}{share:>{_SHARE}}")
    return lines


def _edges(low: float, high: float) -> list[float]:
    """Where bars begin and end, from the last preferred number up to ``low`` to the first above ``high``."""
    decades = range(math.floor(math.log10(low)) - 1, math.floor(math.log10(high)) + 2)
    for steps in _STEPS:
        values = [step * 10.0**decade for decade in decades for step in steps]
        first = max(index for index, value in enumerate(values) if value <= low)
        last = min(index for index, value in enumerate(values) if value > high)
        if last - first <= _MOST_ROWS:
            break
    return values[first : last + 1]


def _time(ms: float) -> str:
    """Milliseconds in the unit that people use for so many."""
    if ms >= 1000:
        return f"{ms / 1000:.6g} s"
    return f"{ms:.6g} ms" if ms >= 1 else f"{ms * 1000:.6g} us"


def _share(part: float) -> str:
    """A share in per cent, of which a small one is not none."""
    return "<0.1 %" if 0 < part < 0.0005 else f"{100 * part:.1f} %"


def _bar(part: float, room: int) -> str:
    """A bar of eighths of characters for a share of the longest; whatever is not zero can be seen."""
    eighths = max(round(8 * room * part), 1 if part > 0 else 0)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def over_time(runs: Sequence[Sequence[int]]) -> list[str]:
    """A line for the throughput of each second, one run after the other; nothing where there is no room for them, or
    little to see.
    """
    total = sum(map(len, runs))
    room = min(_SPARKS, _room()) - (len(runs) - 1)
    width = max(1, math.ceil(total / room)) if room > 0 else total
    if not total or min(map(len, runs)) < _LEAST_SPARKS * width:
        return []
    means = [[_mean(run[at : at + width]) for at in range(0, len(run), width)] for run in runs]
    top = max(map(max, means))
    if not top:
        return []
    each = "a second" if width == 1 else f"{width} s"
    order = ", run after run" if len(runs) > 1 else ""
    return [
        "",
        f"throughput, {each} a character, from 0 to {top:,.0f} /s{order}",
        " ".join("".join(_spark(value / top) for value in run) for run in means),
    ]


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values)


def _spark(part: float) -> str:
    """The character for a share of the largest value."""
    return _LEVELS[min(len(_LEVELS) - 1, int(part * len(_LEVELS)))] if part else _NOTHING


def side_by_side(study: StudyResult) -> list[str]:
    """A bar for the throughput of each point, after an empty line; nothing of one point or of very many."""
    made = [(text_of(point.varied), point.result) for point in study.points]
    found = [(name, result.throughput.mean) for name, result in made if result is not None]
    top = max((throughput for _, throughput in found), default=0.0)
    longest = max((len(name) for name, _ in found), default=0)
    if not 2 <= len(found) <= _MOST_POINTS or longest > _LONGEST_NAME or not top:
        return []
    label = max(longest, _LABEL) + 2
    room = _room() - label - _THROUGHPUT
    if room < _LEAST_WIDTH - _LABEL - _THROUGHPUT:
        return []
    lines = ["", "throughput (ok/s)"]
    for name, throughput in found:
        lines.append(f"{name:<{label}}{_bar(throughput / top, room):<{room}}{throughput:{_THROUGHPUT},.1f}")
    return lines
