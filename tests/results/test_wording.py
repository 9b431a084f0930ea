"""The network in words."""

from __future__ import annotations

from typing import Any

import pytest

from waspbench.experiment import Clients, parse
from waspbench.experiment.resolve import resolve
from waspbench.results.wording import impairments, queues, shared_link

CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"jitter": "2ms"}, ["jitter 2ms normal"]),
    (
        {"jitter": {"down": {"model": "pareto", "mean": "2ms", "shape": 3, "order": "free"}}},
        ["jitter down 2ms pareto (shape=3) out of order"],
    ),
    ({"jitter": {"model": "uniform", "max": "4ms"}, "corrupt": 0.001}, ["jitter 0ms to 4ms", "corrupt 0.1%"]),
    ({"reorder": {"up": "1%", "down": {"share": "2%", "distance": 5}}}, ["reorder up 1% by 3", "reorder down 2% by 5"]),
    ({"duplicate": "1%"}, ["duplicate 1%"]),
    ({"jitter": "0ms", "reorder": "0%", "duplicate": "0%", "corrupt": {"down": "0%"}}, []),
]


@pytest.mark.parametrize(("given", "told"), CASES)
def test_impairments_are_told_in_each_direction_unless_both_are_alike(given: dict[str, Any], told: list[str]) -> None:
    assert impairments(Clients.model_validate(given).resolve()) == told


def test_scenarios_of_older_versions_have_no_impairments() -> None:
    assert impairments({"name": "clients", "loss": {"up": None, "down": None}}) == []


QUEUES: list[tuple[dict[str, Any], str]] = [
    ({}, ""),
    ({"queue": "64KiB"}, "64KiB"),
    ({"queue": {"up": "64KiB", "down": {"kind": "codel", "target": "10ms"}}}, "up 64KiB, down codel (target=10ms)"),
    ({"queue": {"kind": "drop-tail", "packets": 100}}, "drop-tail (packets=100)"),
    ({"queue": {"down": {"kind": "red", "gentle": False, "packets": 9}}}, "down red (packets=9 gentle=false)"),
]


@pytest.mark.parametrize(("given", "told"), QUEUES)
def test_queues_are_told_with_the_options_that_are_not_the_default(given: dict[str, Any], told: str) -> None:
    assert queues(Clients.model_validate(given).resolve()) == told


DOWN = "down 10Mbit/s, queue 64KB, loss one packet of 50"
SHARED: list[tuple[dict[str, Any], str]] = [
    ({}, ""),
    ({"down": {"delay": "0s"}}, ""),
    ({"down": {"rate": "10Mbit/s", "queue": "64KB", "loss": {"model": "periodic", "every": 50}}}, DOWN),
    ({"up": {"delay": "5ms"}, "down": {"delay": "5ms"}}, "delay 5ms"),
    ({"down": {"rate": "1Mbit/s", "queue": "fq-codel"}}, "down 1Mbit/s, queue fq-codel"),
    ({"up": {"delay": "5ms"}, "down": {"jitter": "1ms"}}, "up delay 5ms; down jitter 1ms normal"),
]


@pytest.mark.parametrize(("given", "told"), SHARED)
def test_what_the_shared_link_does_is_told(given: dict[str, Any], told: str) -> None:
    experiment = parse({"name": "x", "clients": [{}], "network": {"shared": given}})
    assert shared_link(resolve(experiment, mode="sim")) == told
