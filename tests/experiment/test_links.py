"""Options of links: what a short value means, values for one direction, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from waspbench.errors import InputError
from waspbench.experiment import apply, parse
from waspbench.experiment.resolve import resolve

NORMAL = {"model": "normal", "deviation": "2ms", "order": "kept"}
FREE = {**NORMAL, "order": "free"}
LATE = {"share": "1%", "distance": 3, "wait": "100ms"}
OPTIONS: dict[str, list[tuple[Any, dict[str, Any]]]] = {
    "jitter": [
        ("2ms", NORMAL),
        ({"model": "uniform", "max": "3ms"}, {"model": "uniform", "min": "0ms", "max": "3ms", "order": "kept"}),
    ],
    "reorder": [("1%", LATE), ({"share": "1%", "distance": 8}, LATE | {"distance": 8})],
    "duplicate": [(0.01, {"share": "0.01"})],
    "corrupt": [("1%", {"share": "1%"})],
}
CASES = [(name, given, told) for name, values in OPTIONS.items() for given, told in values]


def resolved(document: dict[str, Any]) -> dict[str, Any]:
    return resolve(parse({"name": "links", "clients": [{}], **document}), mode="sim")


@pytest.mark.parametrize(("name", "given", "told"), CASES)
def test_an_option_means_the_same_on_access_and_shared_links(name: str, given: Any, told: Any) -> None:
    access = resolved({"clients": [{name: given}]})["clients"][0][name]
    assert access == {"up": told, "down": told}
    shared = resolved({"network": {"shared": {"up": {name: given}}}})["network"]["shared"]
    assert (shared["up"][name], shared["down"][name]) == (told, None)


@pytest.mark.parametrize(("name", "given", "told"), CASES)
def test_an_option_may_be_for_one_direction(name: str, given: Any, told: Any) -> None:
    assert resolved({"clients": [{name: {"down": given}}]})["clients"][0][name] == {"up": None, "down": told}


@pytest.mark.parametrize(("name", "given", "told"), CASES)
def test_settings_say_options_of_links(name: str, given: Any, told: Any) -> None:
    if not isinstance(given, str):
        return
    document = apply({"name": "links", "clients": [{}]}, [f"clients.{name}.up={given}"])
    assert resolved(document)["clients"][0][name] == {"up": told, "down": None}


REFUSED: list[tuple[str, Any, str]] = [
    ("jitter", 3, 'clients.jitter.deviation: 3: must be text with a unit, such as "100ms"'),
    ("jitter", "3min", 'clients.jitter.deviation: "3min": must be at most 2min'),
    ("jitter", {"model": "gauss"}, "clients.jitter.model: "),
    ("jitter", {"model": "pareto", "mean": "1ms", "shape": 1}, "clients.jitter.shape: 1: "),
    ("jitter", {"model": "uniform", "min": "3ms", "max": "2ms"}, 'min: "3ms": must be at most max, which is 2ms'),
    ("reorder", "60%", 'clients.reorder.share: "60%": must be at most 50%'),
    ("reorder", {"share": "1%", "distance": 0}, "clients.reorder.distance: 0: "),
    ("reorder", {"share": "1%", "wait": "3min"}, "clients.reorder.wait: "),
    ("reorder", {"up": {"share": "1%", "places": 3}}, "clients.reorder.up.places: unknown field"),
    ("reorder", {}, "clients.reorder.share: missing"),
    ("duplicate", "200%", "clients.duplicate.share: "),
    ("corrupt", "100%", 'clients.corrupt.share: "100%": must be below 100%'),
    ("bandwidth", {"dwn": "1Mbit/s"}, "clients.bandwidth.dwn: unknown field; did you mean down?"),
]


@pytest.mark.parametrize(("name", "given", "said"), REFUSED)
def test_impossible_options_are_refused_with_what_would_be_valid(name: str, given: Any, said: str) -> None:
    with pytest.raises(InputError) as refused:
        parse({"name": "links", "clients": [{name: given}]})
    assert said in str(refused.value)
    assert len(refused.value.problems) == 1, "a value for both directions has one problem"


EXTENDED: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
    ({}, "clients.jitter.deviation=2ms", {"up": NORMAL, "down": NORMAL}),
    ({"jitter": "2ms"}, "clients.jitter.order=free", {"up": FREE, "down": FREE}),
    ({"jitter": "2ms"}, "clients.jitter.up=5ms", {"up": {**NORMAL, "deviation": "5ms"}, "down": NORMAL}),
    ({"jitter": "2ms"}, "clients.jitter.up.deviation=5ms", {"up": {**NORMAL, "deviation": "5ms"}, "down": NORMAL}),
    ({"jitter": {"down": "2ms"}}, "clients.jitter.down.order=free", {"up": None, "down": FREE}),
]


@pytest.mark.parametrize(("group", "setting", "told"), EXTENDED)
def test_a_setting_extends_a_short_value(group: dict[str, Any], setting: str, told: dict[str, Any]) -> None:
    document = apply({"name": "links", "clients": [group]}, [setting])
    assert resolved(document)["clients"][0]["jitter"] == told
