"""Experiments whose modelled server is a preset or stands in a file, from file to results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from waspbench.cli.app import invoke
from waspbench.experiment.search import Search
from waspbench.experiment.server_presets import PRESETS
from waspbench.report import report_of, to_markdown
from waspbench.results.differences import differences, facts
from waspbench.results.store import load_manifest
from waspbench.results.study import load_study
from waspbench.runner.capacity import CapacityStudy, capacity
from waspbench.runner.study import Study, study

DOCUMENT: dict[str, Any] = {
    "name": "modelled",
    "clients": [{"count": 4, "rtt": "10ms"}],
    "measure": {"warmup": "0s", "duration": "1s", "runs": 2},
}
MODEL = 'concurrency = "event"\nper_request = "3ms"\n[fit]\nby = "hand"\n'


def modelled(**model: Any) -> dict[str, Any]:
    return DOCUMENT | {"server": {"model": model}}


def test_results_are_read_and_resumed_without_the_file(tmp_path: Path) -> None:
    file, output = tmp_path / "our.toml", tmp_path / "out"
    file.write_text(MODEL)
    before = study(modelled(file=str(file)), output=output, mode="sim").points[0].result
    file.unlink()
    (output / "runs" / "run-1.json").unlink()
    with Study.open(output) as again:
        again.run()
    after = load_study(output).points[0].result
    assert before is not None
    assert after is not None
    assert [run.throughput for run in after.runs] == [run.throughput for run in before.runs]
    manifest = load_manifest(output)
    assert manifest.server["files"] == {str(file): MODEL}
    assert manifest.server["model"]["per_request"] == "3ms"


def test_a_search_is_opened_without_its_file_and_its_report_tells_the_model(tmp_path: Path) -> None:
    file, output = tmp_path / "our.toml", tmp_path / "out"
    file.write_text(MODEL)
    capacity(modelled(file=str(file)), output=output, mode="sim", search=Search(low=1, high=2, confirm=1))
    file.unlink()
    CapacityStudy.open(output).close()
    text = to_markdown(report_of(output))
    assert 'per_request = "3ms"' in text
    assert 'by = "hand"' in text


def test_a_sweep_of_presets_names_each_server(tmp_path: Path) -> None:
    presets = ["flat", "flash-2001", "apache-2003"]
    document = DOCUMENT | {"sweep": {"server.model.preset": presets}}
    found = study(document, output=tmp_path / "out", mode="sim")
    results = [point.result for point in found.points]
    assert [result and result.server["model"]["preset"] for result in results] == presets
    text = to_markdown(report_of(tmp_path / "out"))
    assert "modelled server, modelled server flash-2001, modelled server apache-2003" in text


def test_headings_name_the_preset_or_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "our.toml"
    file.write_text(MODEL)
    for number, (model, name) in enumerate(
        [
            ({}, "modelled server"),
            ({"preset": "flash-2001"}, "modelled server flash-2001"),
            ({"file": str(file)}, "modelled server of our.toml"),
        ]
    ):
        study(modelled(**model), output=tmp_path / str(number), mode="sim")
        invoke(["show", str(tmp_path / str(number))])
        assert capsys.readouterr().out.startswith(f"modelled: {name}, 4 clients")


def made(directory: Path, sweep: dict[str, Any] | None = None, **model: Any) -> dict[str, Any]:
    study(modelled(**model) | {"sweep": sweep or {}}, output=directory, mode="sim")
    return facts(directory)


def fields(one: dict[str, Any], two: dict[str, Any], apart: list[str] | None = None) -> list[str]:
    return [each.field for each in differences(one, two, apart or [])]


def test_models_are_compared_by_their_values(tmp_path: Path) -> None:
    file = tmp_path / "our.toml"
    file.write_text('per_request = "3ms"\n')
    one, two = made(tmp_path / "one", per_request="3ms"), made(tmp_path / "two", file=str(file))
    assert fields(one, two) == []
    file.write_text('per_request = "4ms"\n')
    [found] = differences(one, made(tmp_path / "three", file=str(file)), [])
    assert (found.field, found.a, found.b) == ("server.model.per_request", "3ms", "4ms")


def test_a_preset_is_compared_by_its_values(tmp_path: Path) -> None:
    preset = made(tmp_path / "preset", preset="flash-2001")
    values = {field: number.value for field, number in PRESETS["flash-2001"].values.items()}
    assert fields(preset, made(tmp_path / "values", **values)) == []
    other = fields(preset, made(tmp_path / "other", preset="apache-2001"))
    assert {"server.model.preset", "server.model.per_request", "server.model.concurrency"} <= set(other)
    assert "server.model.per_ack" not in other


def test_sweeps_of_models_are_compared_by_what_is_set_beside_and_by_their_files(tmp_path: Path) -> None:
    presets = {"server.model.preset": ["flash-2001", "apache-2003"]}
    plain, own = made(tmp_path / "plain", presets), made(tmp_path / "own", presets, per_request="3ms")
    assert fields(plain, own, list(presets)) == ["server.model.per_request"]
    one, two = (facts(tmp_path / "plain" / "points" / f"000{number}") for number in (0, 1))
    assert fields(one, two, list(presets)) == []
    files = [tmp_path / "a.toml", tmp_path / "b.toml"]
    swept = {"server.model.file": [str(file) for file in files]}
    for file in files:
        file.write_text(MODEL)
    before = made(tmp_path / "before", swept)
    assert fields(before, made(tmp_path / "again", swept), list(swept)) == []
    one, two = (facts(tmp_path / "before" / "points" / f"000{number}") for number in (0, 1))
    assert fields(one, two, list(swept)) == []
    files[1].write_text('per_request = "9ms"\n')
    assert fields(before, made(tmp_path / "after", swept), list(swept)) == ["files.b.toml"]


def test_a_point_of_a_sweep_of_models_is_compared_with_other_results_by_its_values(tmp_path: Path) -> None:
    made(tmp_path / "swept", {"server.model.preset": ["flash-2001", "apache-2001"]})
    flash, apache = (facts(tmp_path / "swept" / "points" / f"000{number}") for number in (0, 1))
    plain = made(tmp_path / "plain", preset="flash-2001")
    assert fields(flash, plain) == []
    assert "server.model.per_request" in fields(apache, plain)
    # The study has no one model: what both set themselves is compared.
    assert fields(facts(tmp_path / "swept"), plain) == []


def test_a_live_result_has_no_modelled_server_to_compare(tmp_path: Path) -> None:
    simulated = made(tmp_path / "sim", preset="flash-2001")
    live = {field: value for field, value in simulated.items() if not field.startswith("server.model")}
    assert fields(simulated, live | {"mode": "live"}) == ["mode"]


def test_changed_presets_are_said_to_be_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study(modelled(preset="flash-2001", per_request="3ms"), output=tmp_path / "out", mode="sim")
    invoke(["show", str(tmp_path / "out")])
    assert capsys.readouterr().out.startswith("modelled: modelled server flash-2001 (changed), 4 clients")


def test_several_processes_make_runs_with_a_model_file(tmp_path: Path) -> None:
    file = tmp_path / "our.toml"
    file.write_text(MODEL)
    document = modelled(file=str(file)) | {"sweep": {"clients.rtt": ["10ms", "20ms"]}}
    alone, together = (study(document, output=tmp_path / str(jobs), mode="sim", jobs=jobs) for jobs in (1, 2))
    rates = [[point.result and point.result.throughput.mean for point in found.points] for found in (alone, together)]
    assert rates[0] == rates[1]
