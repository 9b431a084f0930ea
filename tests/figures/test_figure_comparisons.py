"""Figures of comparisons."""

from __future__ import annotations

from typing import Any

import pytest

from comparison_results import compared, point
from figure_results import points, simulated
from measured_runs import result
from waspbench import StudyResult, compare_results
from waspbench.figures.figure import Axis
from waspbench.figures.kinds import figure, kind_named
from waspbench.figures.matplotlib import save
from waspbench.figures.sources import NoFigureError, load_source
from waspbench.results.comparing import NOT_COMPARABLE, Compared
from waspbench.results.differences import Difference

A, B = [100.0, 101.0, 99.0, 100.5, 99.5], [90.0, 91.0, 89.0, 90.5, 89.5]


def at(rtt: str, *, first: list[float] = A, second: list[float] = B, **more: Any) -> Compared:
    return point(first, second, varied={"clients.rtt": rtt}, **more)


def test_the_changes_are_those_of_the_comparison() -> None:
    found = [at("10ms"), at("20ms", second=A)]
    made = figure(compared(*found, a="runs/old", b="runs/20260101T000000Z-new"), "comparison")
    assert made.title == "Change of throughput: new against old"
    [panel] = made.panels
    assert (panel.x.label, panel.y) == ("round-trip time (ms)", Axis("change of throughput (%)", from_zero=False))
    change, level = panel.traces
    assert change.x == (10, 20)
    assert change.y == pytest.approx((-10, 0))
    for trace_end, index in ((change.low, 0), (change.high, 1)):
        assert trace_end == pytest.approx([100 * (each.ratio_ci90[index] - 1) for each in found if each.ratio_ci90])
    assert (level.kind, level.x, level.y) == ("reference", (10, 20), (0, 0))
    assert made.notes == (
        "slower: RTT 10ms; no difference shown: RTT 20ms; called at 5 % over all points (Holm)",
        "bars: 90 % intervals of the ratio",
    )
    assert made.warnings == ()


def test_one_point_stands_above_the_name_of_what_is_compared() -> None:
    made = figure(compared(point(A, B), b="new"), "comparison")
    assert made.panels[0].x.categories == ("new",)
    assert made.panels[0].traces[0].y == pytest.approx((-10,))
    assert made.notes[0] == "slower; called at 5 %"


def test_several_results_have_a_curve_each() -> None:
    twice = [compared(at("10ms"), at("20ms"), b="b"), compared(at("10ms", second=A), at("20ms", second=A), b="c")]
    made = figure(twice, "comparison")
    assert [trace.name for trace in made.panels[0].traces] == ["b", "c", "no change"]
    assert made.title == "Change of throughput: b, c against a"
    assert made.notes[0] == (
        "slower: b, RTT 10ms; b, RTT 20ms; no difference shown: c, RTT 10ms; c, RTT 20ms; "
        "called at 5 % for each result over its points (Holm)"
    )
    alone = figure([compared(point(A, B), b="x/same"), compared(point(A, A), b="y/same")], "comparison")
    assert alone.panels[0].x.categories == ("same (1)", "same (2)")
    for other in (compared(at("10ms"), a="other"), compared(at("10ms"), metric="p99")):
        with pytest.raises(NoFigureError, match="is of comparisons of one figure with one result, and these are of"):
            figure([twice[0], other], "comparison")


def test_what_must_not_be_trusted_is_hollow_and_told() -> None:
    found = compared(at("10ms"), at("20ms", valid=False), valid=False)
    made = figure(found, "comparison")
    assert made.panels[0].traces[0].invalid == (False, True)
    assert made.warnings == ("NOT TO BE TRUSTED (hollow), 1 of 2: RTT 20ms: a and b (wasp show says why)",)
    apart = compared(at("10ms", verdict=NOT_COMPARABLE), not_comparable=["objectives differ"])
    with pytest.raises(NoFigureError, match="comparison has nothing to compare: objectives differ"):
        figure(apart, "comparison")
    made = figure([compared(at("10ms"), unmatched=["A: clients.rtt=20ms"]), apart], "comparison")
    assert made.warnings == ("NOT COMPARABLE: b (2): objectives differ", "not compared: a: clients.rtt=20ms")
    assert made.panels[0].traces[0].x == (0, 1)
    mode = [Difference(field=field, a="sim", b="live") for field in ("mode", "seed", "machine.cpu")]
    made = figure(compared(at("10ms"), differences=mode), "comparison")
    assert made.warnings == ("one of the two was measured, and the other simulated: sim and live",)
    assert "b differs also in seed; machine.cpu (wasp compare)" in made.notes


@pytest.mark.parametrize(
    ("at_least", "ends", "low", "high"),
    [
        ((False, True), (0.85, None), -15, None),
        ((False, True), (None, None), -10, None),
        ((True, False), (None, 0.95), None, -5),
        ((True, False), (None, None), None, -10),
        ((False, False), (None, None), None, None),
    ],
)
def test_a_lower_bound_leaves_one_end_open(
    at_least: tuple[bool, bool], ends: Any, low: float | None, high: float | None
) -> None:
    found = at("10ms", at_least=at_least, ratio_ends=ends, ratio=None if any(at_least) else 0.9)
    [change, _] = figure(compared(found, at("20ms"), metric="capacity"), "comparison").panels[0].traces
    assert change.y == pytest.approx((-10, -10))
    assert (change.low[0], change.high[0]) == (
        None if low is None else pytest.approx(low),
        None if high is None else pytest.approx(high),
    )


def test_two_lower_bounds_tell_no_change() -> None:
    made = figure(compared(at("10ms", at_least=(True, True)), at("20ms"), metric="clients"), "comparison")
    assert made.panels[0].traces[0].y[0] is None
    assert made.panels[0].y.label == "change of most clients (%)"
    assert made.warnings == ("no change can be told, as both are only lower bounds: RTT 10ms",)


def test_runs_without_an_interval_say_so() -> None:
    made = figure(compared(at("10ms", first=[5.0], second=[6.0])), "comparison")
    assert "no interval, as a side has one run" in made.notes
    made = figure(compared(at("10ms", first=[5.0], second=[6.0]), at("20ms")), "comparison")
    assert made.notes[-2:] == ("bars: 90 % intervals of the ratio", "no interval, as a side has one run: RTT 10ms")


def test_why_no_difference_could_be_shown_speaks_against_the_figure() -> None:
    bound = "the capacity of A is only a lower bound, and may be larger than the other's"
    made = figure(compared(at("10ms", note=bound), at("20ms"), a="old"), "comparison")
    assert made.warnings == ("RTT 10ms: the capacity of old is only a lower bound, and may be larger than the other's",)


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> list[StudyResult]:
    folder = tmp_path_factory.mktemp("sides")
    clients = [[{"rtt": "50ms", "loss": "0%", **more}] for more in ({}, {"http": {"requests_per_connection": 1}})]
    sweep = {"clients.count": [4, 8]}
    return [simulated(folder / name, clients=each, sweep=sweep) for name, each in zip("ab", clients, strict=True)]


def test_results_are_compared_as_the_command_does(sides: list[StudyResult], tmp_path: Any) -> None:
    a, b = (side.results for side in sides)
    for name, metric in (("comparison", "throughput"), ("p50-comparison", "p50")):
        expected = compare_results(a, b, metric)
        made = figure([load_source(a), load_source(b)], name)
        assert made.name == name
        change = made.panels[0].traces[0]
        assert change.x == (4, 8)
        assert change.y == tuple(100 * (each.ratio - 1) for each in expected.points if each.ratio)
    assert figure(sides, "comparison").title == "Change of throughput: sim (2) against sim (1) (simulated)"
    save(figure([*sides, sides[0]], "comparison", by="result"), tmp_path / "a.svg")
    with pytest.raises(NoFigureError, match="is of several results: wasp plot A B"):
        figure(sides[0], "comparison")
    with pytest.raises(NoFigureError, match=r"cannot be made: .*p99.999 needs 299,572 ok transactions"):
        figure(sides, "p99.999-comparison")


def test_results_in_memory_cannot_be_compared() -> None:
    made = points(({"clients.count": 1}, result([1.0])), ({"clients.count": 2}, result([1.0])))
    with pytest.raises(NoFigureError, match=r"is of results with files, and s \(1\); s \(2\) has none"):
        figure([made, made], "comparison")
    with pytest.raises(NoFigureError, match="is of a comparison of p99, and this is one of throughput"):
        figure(compared(point(A, B)), "p99-comparison")
    assert kind_named("phones.p99-comparison").name == "phones.p99-comparison"
