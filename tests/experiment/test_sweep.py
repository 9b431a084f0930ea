"""From a sweep to its points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from waspbench.errors import InputError
from waspbench.experiment import sweep
from waspbench.experiment.sweep import count, points, settings_of, text_of

GROUPS = [{"name": "homes", "loss": "3%"}, {"name": "offices"}]


def settings(table: dict[str, Any]) -> list[dict[str, Any]]:
    return list(sweep.settings_of(table))


def values(table: Any) -> list[Any]:
    return [point["x"] for point in settings({"x": table})]


def test_without_a_sweep_there_is_one_point() -> None:
    [point] = points({"name": "x", "clients": [{}]})
    assert (point.index, point.settings, point.experiment.name) == (0, {}, "x")


def test_fields_vary_independently_and_the_first_slowest() -> None:
    assert settings({"a": [1, 2], "b": ["x", "y"]}) == [
        {"a": 1, "b": "x"},
        {"a": 1, "b": "y"},
        {"a": 2, "b": "x"},
        {"a": 2, "b": "y"},
    ]


def test_zipped_fields_vary_together() -> None:
    assert settings({"zip": {"a": [1, 2], "b": ["x", "y"]}, "c": [True]}) == [
        {"a": 1, "b": "x", "c": True},
        {"a": 2, "b": "y", "c": True},
    ]
    assert len(settings({"zip": [{"a": [1, 2], "b": [3, 4]}, {"c": [1, 2, 3], "d": [1, 2, 3]}]})) == 6


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"from": 8, "to": 4096, "times": 2}, [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]),
        ({"from": 8, "to": 50, "times": 2}, [8, 16, 32]),
        ({"from": 10, "to": 30, "step": 10}, [10, 20, 30]),
        ({"from": 5, "to": 5, "step": 1}, [5]),
        ({"from": "20ms", "to": "100ms", "step": "40ms"}, ["20ms", "60ms", "100ms"]),
        ({"from": "0%", "to": "0.3%", "step": "0.1%"}, ["0%", "0.1%", "0.2%", "0.3%"]),
        ({"from": "1KiB", "to": "64KiB", "times": 4}, ["1KiB", "4KiB", "16KiB", "64KiB"]),
        ({"from": "0.5Mbit/s", "to": "2Mbit/s", "times": 2}, ["0.5Mbit/s", "1Mbit/s", "2Mbit/s"]),
        ({"from": 0.01, "to": 0.03, "step": 0.01}, [0.01, 0.02, 0.03]),
    ],
)
def test_ranges(table: dict[str, Any], expected: list[Any]) -> None:
    found = values(table)
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]


def test_a_path_below_clients_means_all_groups_and_one_with_a_name_that_group() -> None:
    found = points(
        {"name": "x", "clients": GROUPS, "sweep": {"clients.rtt": ["20ms"], "clients.homes.loss.rate": ["0%", "6%"]}}
    )
    assert [[group.rtt for group in point.experiment.clients] for point in found] == [["20ms", "20ms"]] * 2
    rates = [point.experiment.clients[0].loss for point in found]
    assert [getattr(loss, "rate", None) for loss in rates] == ["0%", "6%"]
    assert [point.experiment.clients[1].loss for point in found] == [None, None]


def test_points_do_not_share_what_is_set() -> None:
    document = {"name": "x", "clients": [{"http": {}}], "sweep": {"clients.http.timeout": ["1s", "2s"]}}
    found = points(document)
    assert [point.experiment.clients[0].http.timeout for point in found] == ["1s", "2s"]
    assert document["clients"] == [{"http": {}}]


def test_a_point_in_words() -> None:
    assert text_of({"clients.loss.rate": "3%", "clients.count": 64, "x": True}) == (
        "clients.loss.rate=3% clients.count=64 x=true"
    )


def broken() -> Iterator[tuple[dict[str, Any], str]]:
    lists = "must be a list of values, or a range { from, to, times } or { from, to, step }"
    yield {"x": []}, f"sweep.x: []: {lists}"
    yield {"x": 3}, f"sweep.x: 3: {lists}"
    yield {"x": [1, 2, 1]}, "sweep.x: 1: stands in the list twice"
    yield {"zip": {"a": [1, 2, 1], "b": [3, 3, 3]}}, "sweep.zip: [1, 3]: stands in the list twice"
    yield {"a.b": [1], "zip": {"a.b": [1], "c": [1]}}, 'sweep."a.b": is swept twice'
    yield {"name": ["x", "y"]}, "sweep.name: cannot be swept"
    yield {"measure.runs": [1, 2]}, 'sweep."measure.runs": cannot be swept'
    yield {"a..b": [1]}, 'sweep: "a..b": must name a field, such as clients.rtt'
    yield {"zip": 3}, "sweep.zip: 3: must be a table of fields that vary together, or a list of such"
    yield (
        {"zip": {"a": [1, 2], "b": [1]}},
        "sweep.zip: fields that vary together need equally many values: a has 2, b has 1",
    )
    yield (
        {"x": {"from": 1, "to": 2}},
        'sweep.x: {"from": 1, "to": 2}: must have from, to, and either times or step',
    )
    yield {"x": {"from": 1, "to": 2, "by": 2}}, "sweep.x.by: unknown field; valid here: from, to, and times or step"
    yield (
        {"x": {"from": 1, "to": 2, "times": 1}},
        'sweep.x: {"from": 1, "to": 2, "times": 1}: times must be a number above 1, and from above zero',
    )
    yield {"x": {"from": 1, "to": 2, "step": 0}}, "sweep.x.step: 0: must be above zero"
    yield {"x": {"from": 2, "to": 1, "step": 1}}, 'sweep.x: {"from": 2, "to": 1, "step": 1}: to must not be below from'
    yield (
        {"x": {"from": "1ms", "to": "1s", "step": "1ms"}},
        'sweep.x: {"from": "1ms", "to": "1s", "step": "1ms"}: from, to and step must have the same unit',
    )
    yield (
        {"x": {"from": True, "to": 2, "step": 1}},
        'sweep.x.from: true: must be a number, or text with a unit such as "20ms"',
    )
    yield {"x": {"from": 1, "to": 10**6, "step": 1}}, "sweep.x: has more than 100,000 values"
    yield (
        {f"x{place}": list(range(100)) for place in range(3)},
        "sweep: has 1,000,000 points; at most 100,000 are valid",
    )


@pytest.mark.parametrize(("table", "message"), list(broken()), ids=[message[:40] for _, message in broken()])
def test_what_is_no_sweep(table: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        points({"name": "x", "clients": [{}], "sweep": table})
    assert str(raised.value) == message


def test_a_point_that_is_not_valid_is_named() -> None:
    with pytest.raises(InputError) as raised:
        points({"name": "x", "clients": [{}], "sweep": {"clients.count": [1, 0], "clients.rtt": ["1ms", "2ms"]}})
    assert str(raised.value) == "clients.count: 0: must be at least 1 (at clients.count=0 clients.rtt=1ms)"


def test_an_unknown_field_is_named() -> None:
    with pytest.raises(InputError, match=r"clients\.hotels: neither a group nor a field of one"):
        points({"name": "x", "clients": GROUPS, "sweep": {"clients.hotels.rtt": ["1ms"]}})
    with pytest.raises(InputError, match=r'sweep: "seed\.x": seed is not a table but 5'):
        points({"name": "x", "seed": 5, "clients": GROUPS, "sweep": {"seed.x": [1]}})


def test_ten_thousand_points_are_planned_without_copying_what_they_share() -> None:
    found = points(
        {
            "name": "x",
            "clients": GROUPS,
            "server": {"model": {"cores": 1}},
            "sweep": {
                "clients.count": {"from": 1, "to": 100, "step": 1},
                "clients.homes.loss.rate": {"from": "0.1%", "to": "10%", "step": "0.1%"},
            },
        }
    )
    assert len(found) == 10_000
    assert all(point.experiment.server is found[0].experiment.server for point in found)
    assert found[137].settings == {"clients.count": 2, "clients.homes.loss.rate": "3.8%"}


@pytest.mark.parametrize("path", ["clients.2.rtt", "clients[2].rtt"])
def test_a_sweep_calls_groups_by_their_names(path: str) -> None:
    document = {"name": "x", "clients": [{}, {"name": "homes"}], "sweep": {path: ["10ms", "20ms"]}}
    with pytest.raises(
        InputError, match=r'^sweep\."clients.*": a sweep calls groups by their names: clients\.homes\.rtt$'
    ):
        sweep.points(document)
    named = {"name": "x", "clients": [{}, {"name": "2"}], "sweep": {"clients.2.rtt": ["10ms", "20ms"]}}
    assert [point.experiment.clients[1].rtt for point in sweep.points(named)] == ["10ms", "20ms"]


def test_a_zipped_field_may_have_a_value_twice_if_the_points_differ() -> None:
    assert list(settings_of({"zip": {"a": [1, 1, 2], "b": [3, 4, 3]}})) == [
        {"a": 1, "b": 3},
        {"a": 1, "b": 4},
        {"a": 2, "b": 3},
    ]


def test_as_many_values_as_there_may_be_points_are_checked_in_one_pass() -> None:
    assert count({"x": {"from": 1, "to": 100_000, "step": 1}}) == 100_000


def test_long_values_that_differ_at_their_ends_are_two() -> None:
    paths = [f"/{'a' * 100}/{name}" for name in ("one", "two")]
    assert count({"server.model.file": paths}) == 2
