"""The modelled server: what presets and model files make of it, what the engine is told, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from waspbench import run
from waspbench.errors import InputError
from waspbench.experiment import Experiment, ServerModel, accept, parse
from waspbench.experiment.inputs import Inputs, contents, unchanged_contents
from waspbench.experiment.load import load, read
from waspbench.experiment.model_files import model_of
from waspbench.experiment.resolve import resolve
from waspbench.experiment.server_model import PresetName
from waspbench.experiment.server_presets import PRESETS
from waspbench.experiment.sweep import points
from waspbench.results.store import load_manifest

MODEL = 'concurrency = "event"\ncores = 2\nper_data = "1.1us"\nper_ack = "0.9us"\nper_request = "2.5us"\n'
FITTED = MODEL + '[fit]\npoints = 33\nserver = "nginx"\n'


def experiment(model: dict[str, Any] | None = None, **server: Any) -> Experiment:
    return parse({"name": "x", "clients": [{}], "server": server | ({"model": model} if model else {})})


def told(model: dict[str, Any] | None = None, inputs: Inputs | None = None) -> dict[str, Any]:
    """What the engine is told of a model, but for what is not set."""
    found: dict[str, Any] = resolve(experiment(model), mode="sim", inputs=inputs)["server"]["model"]
    return {field: value for field, value in found.items() if value is not None}


def of_file(text: str, path: str = "m.toml", **own: Any) -> dict[str, Any]:
    """The same of a model whose file has this text."""
    return told({"file": path, **own}, Inputs({}, {}, {path: text}))


FLAT = {"cores": 1, "per_connection": "20us", "per_request": "30us", "per_kib": "1us", "per_packet": "0ms"}


def test_a_model_without_preset_is_flat() -> None:
    assert told() == told({"preset": "flat"}) == FLAT
    assert told({"per_request": "1ms"}) == FLAT | {"per_request": "1ms"}
    machine = told({"concurrency": "event", "per_ack": "1us"})
    assert machine == FLAT | {"concurrency": "event", "per_ack": "1us"}


@pytest.mark.parametrize("name", PRESETS)
def test_the_engine_takes_every_preset(name: str) -> None:
    accept(experiment({"preset": name}), "sim")
    assert name in get_args(get_args(PresetName)[0])
    assert told({"preset": name}) == FLAT | {field: number.value for field, number in PRESETS[name].values.items()}


@pytest.mark.parametrize("name", PRESETS)
def test_every_number_of_a_preset_is_one_of_the_model_and_has_an_origin(name: str) -> None:
    numbers = PRESETS[name].values
    ServerModel.model_validate({field: number.value for field, number in numbers.items()})
    assert all(number.origin for number in numbers.values())
    # What a preset does not name would be flat's, which is no cost of that server.
    assert {"cores", "per_connection", "per_request", "per_kib"} <= numbers.keys()


def test_fields_beside_a_preset_go_before_it() -> None:
    assert told({"preset": "flash-2001", "per_kib": "3us"})["per_kib"] == "3us"
    assert told({"preset": "flash-2001"})["per_kib"] == "0us"


def test_other_programs_than_the_presets_have_none_of_its_numbers_of_programs() -> None:
    processes = told({"preset": "flash-2001", "concurrency": "process"})
    assert "workers" not in processes
    workers = told({"preset": "apache-2003", "concurrency": "event"})
    assert not {"processes", "per_runnable"} & workers.keys()
    accept(experiment({"preset": "apache-2003", "concurrency": "event"}), "sim")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"preset": "flash-2001", "per_packet": "1us"}, r"server.model.per_packet: 1us; needs .*\(preset flash-2001\)"),
        ({"preset": "flash-2001", "processes": 3}, r"server.model.processes: 3; needs .*\(preset flash-2001\)"),
        ({"preset": "apache-2001", "workers": 3}, "server.model.workers: 3; needs server.model.concurrency"),
        ({"preset": "flash-2001", "file": "m.toml"}, "server.model.preset: .*stands beside file"),
        ({"preset": "flash"}, 'server.model.preset: "flash": did you mean flash-2001'),
        ({"file": ""}, "server.model.file: .*must be the path of a model file, such as server.toml"),
        ({"file": "missing.toml"}, "server.model.file: missing.toml: cannot be read: .*the path of a model file"),
    ],
)
def test_what_has_no_effect_is_refused(model: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        accept(experiment(model), "sim")


def test_a_model_file_is_read_from_beside_the_experiment(tmp_path: Path) -> None:
    (tmp_path / "model.toml").write_text(FITTED)
    text = 'name = "x"\n[server.model]\nfile = "model.toml"\nper_ack = "9us"\n[[clients]]\ncount = 1\n'
    (tmp_path / "x.toml").write_text(text)
    asked = load(tmp_path / "x.toml")
    assert asked.server.model.file == str(tmp_path / "model.toml")
    model = resolve(asked, mode="sim")["server"]["model"]
    assert (model["cores"], model["per_data"], model["per_request"]) == (2, "1.1us", "2.5us")
    assert model["per_ack"] == "9us"
    assert model["per_connection"] == "20us"


def test_a_model_file_may_be_json_and_have_a_preset() -> None:
    model = of_file('{"preset": "apache-2003", "per_ack": "9us", "fit": {"points": 3}}', "m.json", per_data="7us")
    assert model == told({"preset": "apache-2003", "per_ack": "9us", "per_data": "7us"})


def test_other_programs_than_the_files_have_none_of_its_numbers_of_programs() -> None:
    workers = of_file('concurrency = "process"\nprocesses = 64\n', concurrency="event")
    assert workers == FLAT | {"concurrency": "event"}


def test_numbers_of_programs_in_a_file_go_before_those_of_its_preset() -> None:
    apache = of_file('preset = "apache-2003"\nprocesses = 64\nper_runnable = "3us"\n')
    assert (apache["processes"], apache["per_runnable"]) == (64, "3us")
    assert of_file('preset = "flash-2001"\nworkers = 4\n')["workers"] == 4
    assert of_file('preset = "apache-2003"\nprocesses = 64\n', concurrency="process")["processes"] == 64


@pytest.mark.parametrize("text", ["workers = 4", 'concurrency = "event"\nper_runnable = "1us"'])
def test_fields_of_a_file_without_effect_are_refused_as_those_of_an_experiment(tmp_path: Path, text: str) -> None:
    file = tmp_path / "m.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=r"needs server.model.concurrency = .* \(the model is from .*m.toml\)"):
        accept(experiment({"file": str(file)}), "sim")


def test_a_model_whose_file_has_not_been_read_is_not_resolved() -> None:
    with pytest.raises(ValueError, match="this model file has not been read"):
        ServerModel(file="m.toml").resolve()


def test_model_files_of_a_sweep_stand_beside_the_experiment_too(tmp_path: Path) -> None:
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(MODEL)
    for text in (
        'zip = { "server.model.file" = ["a.toml", "b.toml"], "clients.rtt" = ["1ms", "2ms"] }',
        'zip = [{ "server.model.file" = ["a.toml", "b.toml"], "clients.rtt" = ["1ms", "2ms"] }]',
        '"server.model" = [{ file = "a.toml" }, { file = "b.toml" }]',
        '"server" = [{ model = { file = "a.toml" } }, { model = { file = "b.toml" } }]',
        '"server.model.file" = ["a.toml", "b.toml"]',
    ):
        (tmp_path / "x.toml").write_text(f'name = "x"\n[[clients]]\ncount = 1\n[sweep]\n{text}\n')
        found = points(read(tmp_path / "x.toml"))
        files = [point.experiment.server.model.file for point in found]
        assert files == [str(tmp_path / "a.toml"), str(tmp_path / "b.toml")], text
        assert contents(point.experiment for point in found).models == dict.fromkeys(files, MODEL)


def test_a_study_goes_on_with_the_model_that_it_began_with(tmp_path: Path) -> None:
    file = tmp_path / "model.toml"
    file.write_text(MODEL)
    asked = experiment({"file": str(file)})
    kept = contents([asked]).models
    file.unlink()
    assert unchanged_contents([asked], {}, tmp_path, kept).models == {str(file): MODEL}


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        ("m.json", "{", "m.json: not valid JSON"),
        ("m.json", "[" * 9999, "m.json: not valid JSON"),
        ("m.json", "[]", "m.json: must be a table"),
        ("m.toml", "{", "m.toml: not valid TOML"),
        ("m.toml", "per_ack = 3", r'm.toml: per_ack: 3: must be text with a unit, such as "100ms"'),
        ("m.toml", 'per_akc = "3us"', "m.toml: per_akc: unknown field; did you mean per_ack.*, fit$"),
        ("m.toml", 'file = "other.toml"', "m.toml: file: a model file cannot name another"),
        (
            "m.toml",
            '[server.model]\nper_ack = "1us"',
            r"m.toml: server: leave out \[server.model\]",
        ),
        ("m.toml", "fit = 3", "m.toml: fit: 3: must be a table"),
        ("m.toml", 'preset = "flash"', "m.toml: preset: .*did you mean flash-2001"),
    ],
)
def test_a_file_that_is_no_model_is_refused(path: str, content: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^server.model.file: {message}"):
        model_of(content, path)


def test_bytes_that_are_no_text_and_files_that_are_too_long_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    for content, message in (
        (b"\xff\xfe", "is not a UTF-8 text file"),
        (b" " * ((1 << 20) + 1), "may have at most 1,048,576"),
    ):
        file.write_bytes(content)
        with pytest.raises(InputError, match=message):
            accept(experiment({"file": str(file)}), "sim")


def test_an_error_in_a_value_of_the_file_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text('per_ack = "1us"\n')
    with pytest.raises(InputError, match=r"^server.model.per_ack: 1us; needs .*\(the model is from .*m.toml\)"):
        accept(experiment({"file": str(file)}), "sim")
    with pytest.raises(InputError, match=r"needs server.model.concurrency, event or process$"):
        accept(experiment({"per_ack": "1us"}), "sim")


def test_results_keep_the_content_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text(FITTED)
    document = {
        "name": "x",
        "server": {"model": {"file": str(file), "per_ack": "9us"}},
        "clients": [{"count": 1, "rtt": "10ms"}],
        "measure": {"warmup": "0s", "duration": "1s", "runs": 1},
    }
    run(document, mode="sim", output=tmp_path / "out")
    file.unlink()
    manifest = load_manifest(tmp_path / "out")
    assert manifest.server["files"] == {str(file): FITTED}
    model = manifest.server["model"]
    assert (model["file"], model["per_ack"], model["per_data"]) == (str(file), "9us", "1.1us")
    assert "preset" not in model


def test_results_tell_the_preset() -> None:
    document = {"name": "x", "clients": [{}], "measure": {"warmup": "0s", "duration": "1s", "runs": 1}}
    model = run(document | {"server": {"model": {"preset": "flash-2001"}}}, mode="sim").server["model"]
    assert (model["preset"], model["per_ack"]) == ("flash-2001", "39us")
    assert run(document, mode="sim").server["model"]["preset"] == "flat"


@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "flat"])
def test_the_costs_of_all_jobs_are_the_busy_time_to_the_nanosecond(preset: str, cores: int, tmp_path: Path) -> None:
    """Clients that ask once for what a list has: in the end nothing is under way, and what was paid for was worked."""
    urls = tmp_path / "urls"
    urls.write_text("".join(f"/{number} 0 {1 + 997 * number}\n" for number in range(150)))
    document = {
        "name": "x",
        "server": {"model": {"preset": preset, "cores": cores}},
        "workload": {"kind": "replay", "log": str(urls), "format": "urls", "repeat": False, "deal": "modulo"},
        "clients": [{"count": 40, "rtt": "10ms", "http": {"requests_per_connection": 2}}],
        "measure": {"warmup": "0s", "duration": "30s", "runs": 1},
    }
    [found] = run(document, mode="sim").runs
    assert found.outcomes["ok"] == 150
    assert found.server_work is not None
    assert found.server_cpu.busy is not None
    paid = sum(round(work.cpu_s * 1e9) for work in found.server_work)
    assert paid == round(found.server_cpu.busy * cores * 30 * 1e9) > 0
    assert {work.kind: work.number for work in found.server_work}["request"] == 150
