"""A drawn curve has the points that a reader can tell apart, and no others."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from waspbench.figures.figure import Axis, Figure, Panel, Trace
from waspbench.figures.matplotlib import draw
from waspbench.figures.thin import GRAIN, distinct

LINEAR = Panel(Axis("x"), Axis("y"), ())
LOGARITHMIC = Panel(Axis("x", log=True), Axis("y", log=True), ())


def steps(*values: tuple[float, float | None]) -> Trace:
    x, y = zip(*values, strict=True)
    return Trace("a", x, y, kind="steps")


def test_points_that_look_like_the_one_before_are_left_out() -> None:
    trace = steps((0, 0), (0.0004, 0.0004), (0.0011, 0), (0.0012, 0), (0.0013, 0.5), (1, 1))
    assert distinct(trace, LINEAR) == steps((0, 0), (0.0011, 0), (0.0013, 0.5), (1, 1))


def test_nearness_is_that_of_the_drawn_axis() -> None:
    trace = steps((1, 1), (500, 1), (500.1, 1), (2000, 1), (1e6, 1))
    assert distinct(trace, LINEAR) == steps((1, 1), (2000, 1), (1e6, 1))
    assert distinct(trace, LOGARITHMIC) == steps((1, 1), (500, 1), (2000, 1), (1e6, 1))


def test_small_steps_that_add_up_stay() -> None:
    trace = steps(*((place / 10_000, 0.0) for place in range(10_001)))
    assert 900 <= len(distinct(trace, LINEAR).x) <= 1_001


def test_gaps_and_what_a_logarithmic_axis_cannot_show_stay() -> None:
    trace = steps((1, 1), (1.0001, None), (1.00011, math.nan), (1.0002, 1), (1.0003, 0), (1.0004, 0), (9, 1))
    assert distinct(trace, LOGARITHMIC) == steps((1, 1), (1.0001, None), (1.0002, 1), (1.0003, 0), (9, 1))


def test_ends_of_an_interval_count_and_flags_follow_their_values() -> None:
    x, y, low, high = (0.0, 0.0001, 0.0002, 1.0), (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, -0.5, 0.5), (0.0, 0.0, 0.5, 1.5)
    found = distinct(Trace("a", x, y, low, high, "steps", (False, False, True, True)), LINEAR)
    assert (found.x, found.low, found.invalid) == ((0.0, 0.0002, 1.0), (0.0, -0.5, 0.5), (False, True, True))


def test_a_value_that_may_be_trusted_stays_among_those_that_must_not() -> None:
    trace = Trace(
        "a", (0.0, 0.0001, 0.0002, 1.0), (0.0, 0.0, 0.0, 0.0), kind="steps", invalid=(True, True, False, True)
    )
    assert distinct(trace, LINEAR).invalid == (True, False, True)


def test_traces_of_nothing_and_of_one_point_stay() -> None:
    for trace in (Trace("a", (), (), kind="steps"), steps((1, 2)), steps((1, None)), steps((1, 2), (1, 2))):
        assert distinct(trace, LOGARITHMIC) == trace


@given(
    st.lists(
        st.tuples(st.floats(1e-6, 1e6), st.one_of(st.none(), st.floats(0, 1e6)), st.floats(-10, 1e3)),
        min_size=2,
        max_size=60,
    ),
    st.booleans(),
    st.sampled_from([GRAIN, 0.1]),
)
def test_what_is_left_out_is_near_what_stays_before_it(
    values: list[tuple[float, float | None, float]], log: bool, grain: float
) -> None:
    x, y, low = zip(*sorted(values, key=lambda value: value[0]), strict=True)
    panel = LOGARITHMIC if log else LINEAR
    trace = Trace("a", x, y, low, low, "steps")
    found = distinct(trace, panel, grain)
    places = [0]
    for point in list(zip(found.x, found.y, found.low, strict=True))[1:-1]:
        places.append(next(at for at in range(places[-1] + 1, len(x)) if (x[at], y[at], low[at]) == point))
    assert (found.x[0], found.x[-1]) == (x[0], x[-1])
    for values_of in (x, y, low):
        placed = [_placed(value, log) for value in values_of]
        known = [place for place in placed if math.isfinite(place)]
        reach = grain * (max(known) - min(known)) if known else 0
        for before, after in pairwise([*places, len(x) - 1]):
            for left_out in range(before + 1, after):
                assert placed[left_out] == placed[before] or abs(placed[left_out] - placed[before]) <= reach * 1.001


def _placed(value: float | None, log: bool) -> float:
    if value is None:
        return math.inf
    if not log:
        return value
    return math.log(value) if value > 0 else -math.inf


def test_matplotlib_is_given_no_more() -> None:
    trace = steps(*((place / 50_000, place / 50_000) for place in range(50_001)))
    [line] = draw(Figure("f", "F", (Panel(Axis("x"), Axis("y"), (trace,)),))).axes[0].lines
    assert np.size(line.get_xdata()) <= 1_001
