"""The house style: what tells traces apart, and how numbers stand beside them."""

from __future__ import annotations

import pytest

from waspbench.figures.figure import Axis, Figure, Panel, Trace
from waspbench.figures.style import (
    COLOURS,
    NARROW,
    WIDE,
    aside,
    bottom,
    end_of,
    ends,
    from_zero,
    is_empty,
    is_halo,
    is_hollow,
    is_joined,
    key,
    legend,
    limits,
    number,
    reference_width,
    shade,
    style_at,
    styles,
    ticks,
    together,
    top,
)


def figure_of(*traces: Trace, x: Axis | None = None) -> Figure:
    return Figure("f", "F", (Panel(x or Axis("x"), Axis("y"), traces),))


def test_the_first_twelve_are_told_apart_without_colour() -> None:
    assert len({style_at(index).marker for index in range(12)}) == 12


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_colour_stands_out_on_white_and_on_black() -> None:
    for colour in COLOURS:
        own = luminance(colour)
        assert 1.05 / (own + 0.05) >= 2, colour
        assert (own + 0.05) / 0.05 >= 3, colour


def test_a_name_looks_the_same_in_every_panel() -> None:
    one, two = (Trace(name, (1.0,), (1.0,)) for name in "ab")
    limit = Trace("limit", (1.0,), (1.0,), kind="reference")
    axes = (Axis("x"), Axis("y"))
    made = Figure("f", "F", (Panel(*axes, (one, limit)), Panel(*axes, (two, one))))
    looks = styles(made)
    assert [looks[key(trace)] for trace in (one, two)] == [style_at(0), style_at(1)]
    assert (looks[key(limit)].colour, looks[key(limit)].marker) == ("#808080", "none")
    assert [trace.name for trace in legend(made)] == ["a", "b", "limit"]
    assert legend(figure_of(one)) == []
    assert legend(Figure("f", "F", (Panel(*axes, (one,)), Panel(*axes, (one,))))) == []


def test_a_group_called_as_a_model_looks_like_a_measurement() -> None:
    group, model = Trace("limit", (1.0,), (1.0,)), Trace("limit", (1.0,), (2.0,), kind="reference")
    made = figure_of(model, group)
    assert styles(made)[key(group)] == style_at(0)
    assert legend(made) == [group, model]


def test_numbers_beside_an_axis_have_no_exponent() -> None:
    assert [number(value) for value in (0.0, -0.0, 1e-05, 0.25, 1.0, 20_000.0, -3.5)] == [
        "0",
        "0",
        "0.00001",
        "0.25",
        "1",
        "20,000",
        "-3.5",
    ]


def test_the_values_of_an_axis_are_written_where_they_are_few() -> None:
    few = figure_of(Trace("a", (8.0, 16.0, 128.0), (1.0, 1.0, 1.0)), x=Axis("x", log=True))
    assert ticks(few.panels[0].x, few) == [8, 16, 128]
    close = figure_of(Trace("a", (100.0, 101.0, 10_000.0), (1.0,) * 3), x=Axis("x", log=True))
    assert ticks(close.panels[0].x, close) == [100, 10_000]
    wide = figure_of(Trace("a", (1.0, 4.0, 16.0, 64.0), (1.0,) * 4), x=Axis("x", log=True))
    assert ticks(wide.panels[0].x, wide, 1 / 3) == [1, 4, 16, 64]
    assert ticks(wide.panels[0].x, wide, 0.4) == [1, 64]
    many = figure_of(Trace("a", tuple(map(float, range(1, 50))), (1.0,) * 49), x=Axis("x", log=True))
    assert ticks(many.panels[0].x, many) is None
    even = figure_of(Trace("a", (0.0, 3.0, 9.0), (1.0,) * 3))
    assert ticks(even.panels[0].x, even) == [0, 3, 9]
    steps = figure_of(Trace("a", (0.0, 3.0, 9.0), (1.0,) * 3, kind="steps"))
    assert ticks(steps.panels[0].x, steps) is None


def test_panels_with_one_axis_along_them_have_the_same_ends() -> None:
    x, y = Axis("x"), Axis("y")
    long, short = Trace("a", (0.0, 100.0), (1.0, None)), Trace("a", (0.0, 10.0), (1.0, 2.0))
    other = Panel(Axis("z"), y, (Trace("a", (5.0,), (1.0,)),))
    made = Figure("f", "F", (Panel(x, y, (short,)), Panel(x, y, (long,)), other))
    assert ends(x, made) == (-4.0, 104.0)
    assert ticks(x, made) == [0, 100]
    assert ends(other.x, made) == (4.5, 5.5)


def test_a_logarithmic_axis_of_near_values_has_round_ones() -> None:
    near, far = (figure_of(Trace("a", (50.0, high), (1.0, 1.0)), x=Axis("x", log=True)) for high in (50.1, 500.0))
    assert ends(near.panels[0].x, near) == (25.0, 100.2)
    low, high = ends(far.panels[0].x, far)
    assert 40 < low < 50 < 500 < high < 600


def test_panels_of_the_same_values_have_the_same_axis() -> None:
    x, y = Axis("x"), Axis("y")
    small, large, other = (Trace("a", (1.0,), (value,)) for value in (1.0, 50.0, 900.0))
    made = Figure("f", "F", (Panel(x, y, (small,)), Panel(x, y, (large,)), Panel(x, Axis("z"), (other,))))
    assert [end_of(together(panel, made)) for panel in made.panels] == pytest.approx([54.0, 54.0, 972.0])


def test_a_logarithmic_axis_of_values_begins_below_the_least_that_is_marked() -> None:
    def begins(*traces: Trace, log: bool = True) -> float | None:
        return bottom(Panel(Axis("x"), Axis("y", log=log), traces))

    line = Trace("a", (1.0, 2.0), (3.0, 0.0), (1.5, None), (4.0, None))
    assert begins(line) == 1.0
    assert begins(Trace("a", (1.0,), (3.0,), (0.001,), (4.0,), "steps")) == 2.0
    assert begins(line, log=False) is None
    assert begins(Trace("a", (1.0,), (None,))) is None


def test_an_axis_begins_at_zero_unless_something_is_below() -> None:
    assert from_zero(figure_of(Trace("a", (1.0,), (5.0,))).panels[0])
    assert not from_zero(figure_of(Trace("a", (1.0,), (-5.0,))).panels[0])
    assert from_zero(figure_of(Trace("a", (1.0,), (5.0,), (-1.0,), (6.0,))).panels[0])
    assert not from_zero(Panel(Axis("x"), Axis("y", log=True), (Trace("a", (1.0,), (5.0,)),)))


def test_a_model_does_not_press_the_measured_values_together() -> None:
    measured = Trace("a", (1.0, 2.0), (5.0, 10.0))
    diagonal = Trace("limit", (1.0, 2.0), (5.0, 1000.0), kind="reference")
    level = Trace("objective", (1.0, 2.0), (500.0, 500.0), kind="reference")
    assert top(figure_of(measured, diagonal).panels[0]) == 11.5
    assert top(figure_of(measured, diagonal, level).panels[0]) == 575
    assert top(figure_of(measured, level).panels[0]) is None
    assert top(figure_of(measured, Trace("limit", (1.0, 2.0), (5.0, 11.0), kind="reference")).panels[0]) is None
    assert top(figure_of(diagonal).panels[0]) is None


def test_a_panel_of_references_and_gaps_is_empty() -> None:
    limit = Trace("limit", (1.0,), (1.0,), kind="reference")
    assert is_empty(figure_of(Trace("a", (1.0,), (None,)), limit).panels[0])
    assert not is_empty(figure_of(Trace("a", (1.0,), (0.0,)), limit).panels[0])


def test_a_model_is_wider_than_a_curve_and_a_mark_is_not() -> None:
    model, level, upright = (
        Trace("r", x, y, kind="reference")
        for x, y in (((1.0, 2.0), (1.0, 3.0)), ((1.0, 2.0), (5.0, 5.0)), ((2.0, 2.0), (0.0, 9.0)))
    )
    assert [reference_width(each) for each in (model, level, upright)] == [WIDE, NARROW, NARROW]


def test_an_upright_mark_has_its_value_beside_the_axis_before_others() -> None:
    line = Trace("a", (100.0, 130.0, 141.0, 800.0), (1.0,) * 4)
    mark = Trace("found", (130.0, 130.0), (0.0, 1.0), kind="reference")
    axis = Axis("clients", log=True)
    assert ticks(axis, figure_of(line, x=axis)) == [100, 141, 800]
    assert ticks(axis, figure_of(line, mark, x=axis)) == [100, 130, 800]
    end = Trace("90 % interval", (141.0, 141.0), (0.0, 1.0), kind="reference")
    assert ticks(axis, figure_of(line, mark, end, x=axis)) == [100, 130, 800]
    assert ticks(axis, figure_of(Trace("a", (300.0,), (1.0,)), x=axis)) == [300]


def test_points_are_seen_behind_the_markers_of_lines() -> None:
    line, found = Trace("a", (1.0,), (1.0,)), Trace("found", (1.0,), (1.0,), kind="points")
    [panel] = figure_of(line, found).panels
    assert (is_halo(found, panel), is_halo(line, panel)) == (True, False)
    assert not is_halo(found, figure_of(found).panels[0])


def test_the_ends_of_an_axis_of_values_are_beyond_them() -> None:
    def panel(y: Axis, *traces: Trace) -> Panel:
        return Panel(Axis("x"), y, traces)

    bars = Trace("a", (1.0, 2.0), (3.0, 8.0), (2.0, 5.0), (4.0, 9.0))
    assert limits(panel(Axis("y"), bars)) == pytest.approx((0.0, 1.08 * 9))
    assert limits(panel(Axis("y", from_zero=False), bars)) == pytest.approx((2 - 0.42, 9 + 0.42))
    assert limits(panel(Axis("y", log=True), bars)) == pytest.approx((2 / 1.5, 1.3 * 9))
    flat = Trace("a", (1.0,), (5.0,))
    assert limits(panel(Axis("y", from_zero=False), flat)) == (4.5, 5.5)
    nothing = Trace("a", (1.0,), (None,))
    for y in (Axis("y"), Axis("y", log=True), Axis("y", from_zero=False)):
        low, high = limits(panel(y, nothing))
        assert low < high
    model = Trace("m", (1.0, 2.0), (0.0, 900.0), kind="reference")
    assert limits(panel(Axis("y", from_zero=False), bars, model))[1] < 20


def test_values_of_names_stand_beside_each_other_whatever_else_is_drawn() -> None:
    names = Axis("server", categories=("a", "b"))
    limit = Trace("limit", (0.0, 1.0), (1.0, 1.0), kind="reference")
    one, two = (Trace(name, (0.0, 1.0), (1.0, 2.0)) for name in "ab")
    assert aside(one, Panel(names, Axis("y"), (limit, one))) == 0.0
    assert [aside(each, Panel(names, Axis("y"), (limit, one, two))) for each in (one, two)] == [-0.125, 0.125]
    assert aside(two, Panel(Axis("x"), Axis("y"), (one, two))) == 0.0
    assert not is_joined(one, Panel(names, Axis("y"), (one,)))
    assert is_joined(one, Panel(Axis("x"), Axis("y"), (one,)))


def test_a_name_is_hollow_where_nothing_of_it_may_be_trusted() -> None:
    assert is_hollow(Trace("a", (1.0, 2.0), (None, 1.0), invalid=(False, True)))
    assert not is_hollow(Trace("a", (1.0, 2.0), (1.0, 1.0), invalid=(False, True)))
    assert not is_hollow(Trace("a", (1.0,), (1.0,)))
    assert not is_hollow(Trace("a", (1.0,), (None,), invalid=(True,)))


@pytest.mark.parametrize(("log", "middle"), [(True, 0.5), (False, 9 / 99)])
def test_shades_go_from_the_least_value_to_the_greatest(log: bool, middle: float) -> None:
    cells = Trace("a", (0.0, 1.0, 2.0), (1.0, 10.0, 100.0), kind="cells")
    made = Panel(Axis("x"), Axis("y", log=log), (cells,))
    assert [shade(made, value) for value in (1.0, 10.0, 100.0)] == pytest.approx([0.0, middle, 1.0])
    alone = Panel(Axis("x"), Axis("y"), (Trace("a", (0.0,), (7.0,), kind="cells"),))
    assert shade(alone, 7.0) == 0.0
