"""Workloads of groups: who asks for what, and by which seeds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from waspbench import _core
from waspbench.errors import InputError
from waspbench.experiment import Experiment, apply, parse
from waspbench.experiment.resolve import accept, resolve
from waspbench.experiment.uses import as_document, uses, workload_of

SURGE: dict[str, Any] = {"kind": "surge", "files": 20}
MIXED: dict[str, Any] = {
    "name": "x",
    "seed": 3,
    "workload": {"size": "9KB"},
    "clients": [
        {"name": "far", "workload": SURGE},
        {"name": "homes"},
        {"name": "phones", "workload": SURGE | {"seed": 5}},
    ],
}


def own(*workloads: dict[str, Any]) -> Experiment:
    groups = [{"name": f"g{index}", "workload": workload} for index, workload in enumerate(workloads)]
    return parse({"name": "x", "clients": groups})


def test_groups_share_the_workload_of_the_file_unless_they_have_their_own() -> None:
    experiment = parse(MIXED)
    found = uses(experiment)
    assert [(use.field, [group.name for group in use.groups]) for use in found] == [
        ("workload", ["homes"]),
        ("clients.far.workload", ["far"]),
        ("clients.phones.workload", ["phones"]),
    ]
    assert [use.seed for use in found] == [3, _core.seed_of_group(3, "far"), 5]
    assert [workload_of(experiment, group).kind for group in experiment.clients] == ["surge", "single", "surge"]


def test_the_engine_is_told_of_each_workload() -> None:
    scenario = resolve(parse(MIXED), mode="sim")
    assert scenario["workload"]["size"] == "9KB"
    assert [group.get("workload", {}).get("kind") for group in scenario["clients"]] == ["surge", None, "surge"]
    _core.check_scenario(json.dumps(scenario))
    alone = resolve(own({"size": "1KB"}), mode="sim")
    assert "workload" not in alone
    _core.check_scenario(json.dumps(alone))


def test_a_groups_own_single_file_is_that_of_the_url() -> None:
    server = {"kind": "url", "url": "http://127.0.0.1:8080/a"}
    experiment = parse({"name": "x", "server": server, "clients": [{"workload": {"size": "1KB"}}]})
    assert resolve(experiment, mode="live")["clients"][0]["workload"]["path"] == "/a"
    assert resolve(experiment, mode="sim")["clients"][0]["workload"]["path"] == "/1000"


def test_a_document_has_no_workload_that_nobody_uses() -> None:
    document = as_document(own({"size": "1KB"}))
    assert "workload" not in document
    assert parse(document) == own({"size": "1KB"})
    assert as_document(parse(MIXED))["workload"]["size"] == "9KB"


def test_settings_reach_the_workload_of_a_group() -> None:
    changed = parse(apply(MIXED, ["clients.far.workload.files=30", "clients.far.workload.embedded.cap=9"]))
    far = changed.clients[0].workload
    assert far is not None
    options = far.options()
    assert options["files"] == 30
    assert options["embedded"] == {"model": "pareto", "shape": 2.43, "scale": 1.0, "cap": 9, "counts_base": False}
    given = parse(apply({"name": "x", "clients": [{}]}, ["clients.workload.size=3KB"]))
    assert [group.workload.options()["size"] for group in given.clients if group.workload] == ["3KB"]


def test_what_the_engine_refuses_names_the_group() -> None:
    log = {"kind": "replay", "log": "a.log", "times": True}
    with pytest.raises(InputError, match=r'^clients\.workload\.deal: "own"; each of the 256 clients'):
        accept(parse({"name": "x", "clients": [{"workload": log}]}), "sim")
    thinks = {"name": "x", "clients": [{"count": 1, "workload": log, "think": "1s"}]}
    with pytest.raises(InputError, match=r"^clients\.think: the times .* leave it out, or times of the workload$"):
        accept(parse(thinks), "sim")
