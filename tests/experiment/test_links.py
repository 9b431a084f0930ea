"""Options of links: what a short value means, values for one direction, what is refused."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from waspbench import _core
from waspbench.errors import InputError
from waspbench.experiment import Clients, apply, parse
from waspbench.experiment.base import Part
from waspbench.experiment.queues import DISCIPLINES
from waspbench.experiment.resolve import accept, resolve

NORMAL = {"model": "normal", "deviation": "2ms", "order": "kept"}
FREE = {**NORMAL, "order": "free"}
LATE = {"share": "1%", "distance": 3, "wait": "100ms"}
CODEL = {
    "kind": "codel",
    "packets": 1000,
    "bytes": None,
    "target": "5ms",
    "interval": "100ms",
    "max_packet": "1500B",
    "ecn": False,
}
FIFO = {"kind": "drop-tail", "packets": None, "bytes": "64KiB"}
LTE = str(Path(__file__).parents[2] / "examples" / "traces" / "lte.down")
RECORDED = {"file": LTE, "repeat": True, "start": "random", "opportunity": "1504B", "overhead": "4B"}
OPTIONS: dict[str, list[tuple[Any, Any]]] = {
    "jitter": [
        ("2ms", NORMAL),
        ({"model": "uniform", "max": "3ms"}, {"model": "uniform", "min": "0ms", "max": "3ms", "order": "kept"}),
    ],
    "queue": [("64KiB", "64KiB"), ("codel", CODEL), ({"kind": "codel", "bytes": "1MB"}, CODEL | {"bytes": "1MB"})],
    "trace": [(LTE, RECORDED), ({"file": LTE, "start": "5s"}, RECORDED | {"start": "5s"})],
    "reorder": [("1%", LATE), ({"share": "1%", "distance": 8}, LATE | {"distance": 8})],
    "duplicate": [(0.01, {"share": "0.01"})],
    "corrupt": [("1%", {"share": "1%"})],
}
CASES: list[tuple[str, Any, Any]] = [(name, given, told) for name, values in OPTIONS.items() for given, told in values]


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
    (
        "queue",
        5,
        'clients.queue: 5: must be a size such as "64KiB", one of red, codel, fq-codel, pie, or a table',
    ),
    ("queue", "0B", 'clients.queue: "0B": must be above zero, such as "64KiB"'),
    ("queue", "64Ki", 'clients.queue: "64Ki": '),
    ("queue", "fqcodel", 'clients.queue: "fqcodel": did you mean fq-codel? must be a size such as "64KiB", '),
    ("queue", {"kind": "drop-tail"}, "clients.queue.bytes: missing; give packets, bytes or both"),
    ("queue", {"kind": "blue"}, "clients.queue.kind: "),
    ("queue", {"bytes": "1MB"}, "clients.queue.kind: missing; give one of drop-tail, red, codel, fq-codel, pie"),
    ("queue", {"up": {"kind": "codel", "limit": 5}}, "clients.queue.up.limit: unknown field"),
    ("queue", {"kind": "codel", "packets": 0}, "clients.queue.packets: 0: must be at least 1"),
    ("queue", {"kind": "red", "min": 5}, 'min: 5: must be a size such as "30KB", or a share of bytes such as "5%"'),
    ("queue", {"kind": "pie", "alpha": 0}, "clients.queue.alpha: 0: "),
    ("queue", {"kind": "fq-codel", "flows": 0}, "clients.queue.flows: 0: "),
    ("trace", "", 'clients.trace: "": must be the path of a rate trace such as "lte.down", or a table with'),
    ("trace", 5, "clients.trace: 5: must be the path of a rate trace"),
    ("trace", {"file": ""}, "clients.trace.file: "),
    ("trace", {}, "clients.trace.file: missing"),
    (
        "trace",
        {"file": LTE, "start": "anywhere"},
        'start: "anywhere": must be a time in the trace such as "10s", or random',
    ),
    ("trace", {"file": LTE, "start": 3}, "clients.trace.start: 3: must be a time in the trace"),
    ("trace", {"file": LTE, "loop": True}, "clients.trace.loop: unknown field"),
    ("trace", {"file": LTE, "opportunity": "0B"}, "clients.trace.opportunity: "),
    ("bandwidth", {"dwn": "1Mbit/s"}, "clients.bandwidth.dwn: unknown field; did you mean down?"),
]


@pytest.mark.parametrize(("name", "given", "said"), REFUSED)
def test_impossible_options_are_refused_with_what_would_be_valid(name: str, given: Any, said: str) -> None:
    with pytest.raises(InputError) as refused:
        parse({"name": "links", "clients": [{name: given}]})
    assert said in str(refused.value)
    assert len(refused.value.problems) == 1, "a value for both directions has one problem"


EXTENDED: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
    ({}, "jitter.deviation=2ms", {"up": NORMAL, "down": NORMAL}),
    ({"jitter": "2ms"}, "jitter.order=free", {"up": FREE, "down": FREE}),
    ({"jitter": "2ms"}, "jitter.up=5ms", {"up": {**NORMAL, "deviation": "5ms"}, "down": NORMAL}),
    ({"jitter": "2ms"}, "jitter.up.deviation=5ms", {"up": {**NORMAL, "deviation": "5ms"}, "down": NORMAL}),
    ({"jitter": {"down": "2ms"}}, "jitter.down.order=free", {"up": None, "down": FREE}),
    ({}, "queue.kind=codel", {"up": CODEL, "down": CODEL}),
    ({"queue": "codel"}, "queue.target=9ms", dict.fromkeys(("up", "down"), CODEL | {"target": "9ms"})),
    ({"queue": "64KiB"}, "queue.packets=9", dict.fromkeys(("up", "down"), FIFO | {"packets": 9})),
    ({"queue": "64KiB"}, "queue.down=codel", {"up": "64KiB", "down": CODEL}),
    ({"queue": {"down": "codel"}}, "queue.down.target=9ms", {"up": None, "down": CODEL | {"target": "9ms"}}),
    ({"queue": {"down": "codel"}}, "queue=64KiB", {"up": "64KiB", "down": "64KiB"}),
    ({}, f"trace.file={LTE}", dict.fromkeys(("up", "down"), RECORDED)),
    ({"trace": LTE}, "trace.start=0ms", dict.fromkeys(("up", "down"), RECORDED | {"start": "0ms"})),
    ({"trace": LTE}, "trace.repeat=false", dict.fromkeys(("up", "down"), RECORDED | {"start": "0ms", "repeat": False})),
    ({"trace": {"down": LTE}}, "trace.down.start=9s", {"up": None, "down": RECORDED | {"start": "9s"}}),
    ({"profile": "dsl"}, "queue.down=codel", {"up": "15000B", "down": CODEL}),
]


@pytest.mark.parametrize(("group", "setting", "told"), EXTENDED)
def test_a_setting_extends_a_short_value(group: dict[str, Any], setting: str, told: dict[str, Any]) -> None:
    document = apply({"name": "links", "clients": [group]}, [f"clients.{setting}"])
    assert resolved(document)["clients"][0][setting.partition(".")[0].partition("=")[0]] == told


@pytest.mark.parametrize(
    ("group", "ways"),
    [
        ({"bandwidth": {"down": "1Mbit/s"}}, ["down"]),
        ({"trace": {"up": LTE}}, ["up"]),
        ({"trace": {"up": LTE}, "bandwidth": {"down": "1Mbit/s"}}, ["up", "down"]),
        ({"bandwidth": "1Mbit/s"}, ["up", "down"]),
        ({"profile": "dsl", "trace": {"down": LTE}}, ["up", "down"]),
        ({}, ["up", "down"]),
    ],
)
def test_a_queue_for_both_directions_is_for_those_with_a_rate(group: dict[str, Any], ways: list[str]) -> None:
    queue = resolved({"clients": [{"queue": "codel", **group}]})["clients"][0]["queue"]
    assert queue == {way: CODEL if way in ways else None for way in ("up", "down")}
    given = Clients.model_validate({"queue": {"up": "64KiB", "down": "64KiB"}, **group}).queue
    assert given is not None
    assert given.up == given.down == "64KiB", "a table of both directions means both"


def test_a_queue_takes_the_place_of_that_of_a_profile() -> None:
    group = {"profile": "dsl", "queue": {"kind": "codel"}}
    assert resolved({"clients": [group]})["clients"][0]["queue"] == {"up": CODEL, "down": CODEL}
    assert resolved({"clients": [{"queue": {}}]})["clients"][0]["queue"] == {"up": None, "down": None}


def test_the_defaults_of_queues_are_those_of_the_engine() -> None:
    said = [(model, {"kind": kind} | _ROOM.get(kind, {})) for kind, model in DISCIPLINES.items()]
    ours = [_defaults(model.model_validate(given)) for model, given in said]
    assert [sorted(queue.items()) for queue in ours] == [sorted(queue.items()) for queue in _of_the_engine()]


_ROOM = {"drop-tail": {"packets": 1}}
"""What a queue needs that has no limit of its own."""


def _defaults(queue: Part) -> dict[str, Any]:
    """A queue with its values as numbers; drop-tail with no limit at all."""
    values = queue.model_dump() | dict.fromkeys(_ROOM.get(getattr(queue, "kind", ""), {}))
    return {name: _number(value) for name, value in values.items()}


def _of_the_engine() -> list[dict[str, Any]]:
    queues = json.loads(_core.queue_defaults())
    return [{name: _number(value) for name, value in queue.items()} for queue in queues]


def _number(value: Any) -> Any:
    """A size, a duration or a probability as a number, whatever its unit is."""
    for parse_text in (_core.parse_bytes, _core.parse_duration, _core.parse_probability):
        with suppress(TypeError, ValueError):
            return parse_text(value)
    return value


def of_queue(queue: Any) -> dict[str, Any]:
    return {"queue": {"down": queue}}


def of_trace(**options: Any) -> dict[str, Any]:
    return {"bandwidth": None, "trace": {"down": {"file": LTE, **options}}}


IMPOSSIBLE: list[tuple[dict[str, Any], str]] = [
    (of_queue({"kind": "codel", "target": "0.2s"}), "clients.queue.down.target: 200ms; must be at most interval, "),
    (of_queue({"kind": "red", "min": "20%"}), "clients.queue.down.min: 20%; must be below max, 15% of 150000B"),
    (of_queue({"kind": "fq-codel", "quantum": "9B"}), "clients.queue.down.quantum: 9B; must be from 256B to 65535B"),
    (
        of_queue({"kind": "fq-codel", "ecn": False, "ce_threshold": "1ms"}),
        "ce_threshold: 1ms; must be absent where ecn",
    ),
    (
        of_queue({"kind": "pie", "ecn_threshold": "20%"}),
        "clients.queue.down.ecn_threshold: 20%; must be absent where ecn",
    ),
    (of_queue("codel") | {"bandwidth": None}, "down: a queue never fills without a rate; set bandwidth.down or trace"),
    ({"trace": {"down": LTE}}, "clients.trace.down: stands in the place of bandwidth.down; leave one out"),
    (of_trace(start="10s"), "clients.trace.down.start: 10s; must be before the end of the trace, 10s"),
    (of_trace(start="random", repeat=False), "start: random; must be a time if the trace does not repeat"),
    (
        of_trace(repeat=False, start="9s"),
        "clients.trace.down.repeat: false; the trace ends 1s after the start of the run",
    ),
    (of_trace(overhead="1600B"), "trace.down.overhead: 1600B; must be less than opportunity, which is 1504B"),
]


@pytest.mark.parametrize(("group", "said"), IMPOSSIBLE)
def test_the_engine_refuses_options_that_contradict_each_other(group: dict[str, Any], said: str) -> None:
    group = {"bandwidth": {"down": "1Mbit/s"}} | group
    with pytest.raises(InputError) as refused:
        accept(parse({"name": "links", "clients": [group]}), "sim")
    assert said in str(refused.value)
