"""Each point against the one without loss and with the least round-trip time."""

from __future__ import annotations

from typing import Any

import pytest

from waspbench.experiment.sweep import Point, points
from waspbench.report import amounts
from waspbench.report.content import Cell
from waspbench.report.costs import Cost, baselines, changed, costs_table, largest, place_of, trusted_costs, validity

GROUP: dict[str, Any] = {"name": "far", "count": 4, "rtt": "50ms"}


def swept(**sweep: Any) -> list[Point]:
    return points({"name": "x", "clients": [GROUP], "sweep": sweep.pop("sweep", sweep)})


def test_the_baseline_has_no_loss_and_the_least_distance() -> None:
    found = swept(sweep={"clients.loss.rate": ["3%", "0%"], "clients.rtt": ["200ms", "50ms"]})
    assert baselines(found) == dict.fromkeys(range(4), 3)
    assert largest(found, baselines(found)) == [Cost("loss", 1, 3), Cost("distance", 2, 3)]


def test_points_that_differ_in_something_else_have_baselines_of_their_own() -> None:
    found = swept(sweep={"clients.count": [4, 8], "clients.loss.rate": ["0%", "3%", "6%"]})
    assert baselines(found) == {0: 0, 1: 0, 2: 0, 3: 3, 4: 3, 5: 3}
    assert largest(found, baselines(found)) == [Cost("loss", 2, 0), Cost("loss", 5, 3)]


@pytest.mark.parametrize(
    "sweep",
    [{"clients.count": [4, 8]}, {"clients.loss.rate": ["3%", "6%"]}, {"clients.rtt": ["50ms"]}, {}],
    ids=["no distance or loss", "loss everywhere", "one point", "no sweep"],
)
def test_there_is_none_without_something_to_hold_against(sweep: dict[str, Any]) -> None:
    found = swept(sweep=sweep)
    assert baselines(found) == {}
    assert largest(found, {}) == []
    assert costs_table(found, range(2), ["ok/s"], lambda index, baseline: [Cell(text="")]) is None


def test_the_shared_link_counts_too() -> None:
    found = swept(sweep={"network.shared.down.delay": ["0ms", "40ms"], "network.shared.up.loss.rate": ["0%", "2%"]})
    assert [place_of(point.experiment).distance for point in found] == pytest.approx([0.05, 0.05, 0.09, 0.09])
    assert [place_of(point.experiment).loss > 0 for point in found] == [False, True, False, True]
    assert set(baselines(found).values()) == {0}


def test_a_line_of_the_table_has_its_place_and_what_is_held_against_the_baseline() -> None:
    found = swept(sweep={"clients.rtt": ["50ms", "100ms", "200ms"]})
    values = {0: 80.0, 1: 40.0, 2: None}

    def held(index: int, baseline: int) -> list[Cell]:
        value = values[index]
        ratio = None if value is None else value / 80
        said = changed(amounts.change(ratio), is_baseline=index == baseline)
        return [Cell(text=str(value)), said, validity(True, index != 1)]

    table = costs_table(found, range(3), ["ok/s", "change", "valid"], held)
    assert table is not None
    assert [head.text for head in table.heads] == ["rtt", "ok/s", "change", "valid"]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["50ms", "80.0", "baseline", "yes"],
        ["100ms", "40.0", "-50.0 %", "NO"],
        ["200ms", "None", "\N{EN DASH}", "yes"],
    ]
    assert [row[-1].alarm for row in table.rows] == [False, True, False]


def test_points_that_were_not_made_have_no_line_and_are_baselines_all_the_same() -> None:
    found = swept(sweep={"clients.rtt": ["50ms", "100ms", "200ms"]})
    table = costs_table(found, [1, 2], ["against"], lambda index, baseline: [Cell(text=str(baseline))])
    assert table is not None
    assert [[cell.text for cell in row] for row in table.rows] == [["100ms", "0"], ["200ms", "0"]]


def test_costs_are_told_of_points_and_baselines_that_may_be_trusted() -> None:
    found = swept(sweep={"clients.loss.rate": ["0%", "3%"], "clients.rtt": ["50ms", "200ms"]})
    assert trusted_costs(found, range(4)) == [Cost("loss", 2, 0), Cost("distance", 1, 0)]
    assert trusted_costs(found, [0, 1, 3]) == [Cost("distance", 1, 0)]
    # The point at 200 ms without loss does not take the baseline's place.
    assert trusted_costs(found, [1, 2, 3]) == []


@pytest.mark.parametrize(
    ("ratio", "said"),
    [(0.0, "-100.0 %"), (0.5, "-50.0 %"), (0.9999, "0.0 %"), (1.0, "0.0 %"), (1.234, "+23.4 %"), (2.5, "2.5 x")],
)
def test_a_change_is_told_in_per_cent_or_as_a_multiple(ratio: float, said: str) -> None:
    assert amounts.change(ratio) == said


def test_what_is_not_known_of_one_of_the_two_is_not_known() -> None:
    assert validity(True, None) == Cell(text="\N{EN DASH}")
