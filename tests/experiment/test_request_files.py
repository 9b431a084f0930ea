"""Files of named requests: where they are, what is refused, what results keep of them."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from waspbench.errors import InputError
from waspbench.experiment import Experiment, parse, request_files
from waspbench.experiment.inputs import Inputs, contents, described, digests, located, unchanged_contents
from waspbench.experiment.load import load
from waspbench.experiment.resolve import accept, resolve

USERS = b"ann,1\nbob,2\n"
ORDER = b'{"user": "{line:users.csv:1}", "bytes": "\xff"}'


def requests(*given: dict[str, Any], **options: Any) -> dict[str, Any]:
    named = [{"name": f"r{number}", "path": "/", **fields} for number, fields in enumerate(given)]
    return {"kind": "requests", "requests": named, **options}


def experiment(*given: dict[str, Any], **options: Any) -> Experiment:
    return parse({"name": "x", "clients": [{}], "workload": requests(*given, **options)})


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "users.csv").write_bytes(USERS)
    (tmp_path / "order.json").write_bytes(ORDER)
    (tmp_path / "text.json").write_bytes(ORDER.replace(b"\xff", b""))
    return str(tmp_path)


@pytest.mark.parametrize(
    ("document", "there"),
    [
        ({"workload": requests({})}, {"workload": requests({}, folder="in")}),
        ({"workload": requests({}, folder="data")}, {"workload": requests({}, folder="in/data")}),
        ({"workload": requests({}, folder="..")}, {"workload": requests({})}),
        ({"workload": requests({}, folder="/data")}, {"workload": requests({}, folder="/data")}),
        ({"clients": [{"workload": requests({})}]}, {"clients": [{"workload": requests({}, folder="in")}]}),
        ({"sweep": {"workload": [requests({})]}}, {"sweep": {"workload": [requests({}, folder="in")]}}),
        ({"sweep": {"workload.folder": ["a", "/b"]}}, {"sweep": {"workload.folder": ["in/a", "/b"]}}),
        (
            {"sweep": {"zip": {"clients.homes.workload.folder": ["."], "seed": [1]}}},
            {"sweep": {"zip": [{"clients.homes.workload.folder": ["in"], "seed": [1]}]}},
        ),
        ({"workload": {"kind": "single"}}, {"workload": {"kind": "single"}}),
        ({"workload": requests({}, folder="")}, {"workload": requests({}, folder="")}),
        (
            {"clients": [{"http": {"headers": {"kind": "requests"}}}]},
            {"clients": [{"http": {"headers": {"kind": "requests"}}}]},
        ),
        ({"workload": {"kind": "requests", "folder": 5}}, {"workload": {"kind": "requests", "folder": 5}}),
    ],
)
def test_the_folder_is_that_of_the_experiment_file(document: dict[str, Any], there: dict[str, Any]) -> None:
    assert located(document, Path("in")) == there


def test_an_experiment_file_names_files_beside_it(tmp_path: Path, folder: str) -> None:
    del folder
    text = 'name = "x"\nworkload.kind = "requests"\n[[clients]]\n[[workload.requests]]\nname = "a"\n'
    (tmp_path / "x.toml").write_text(f'{text}path = "/{{line:users.csv}}"\n')
    assert contents([load(tmp_path / "x.toml")]).files == {f"{tmp_path}/users.csv": USERS}


def test_all_files_that_requests_use_are_read(folder: str) -> None:
    both = experiment(
        {"path": "/{line:users.csv}", "headers": {"X": "{line:text.json}"}},
        {"method": "POST", "body": {"file": "order.json"}},
        {"method": "POST", "body": "{line:no.csv} is {{line:none}}"},
        folder=folder,
    )
    (Path(folder) / "no.csv").write_bytes(b"x")
    assert {Path(path).name for path in contents([both]).files} == {"users.csv", "text.json", "order.json", "no.csv"}


def test_a_body_that_is_a_template_may_name_files_too(folder: str) -> None:
    plain = experiment({"method": "POST", "body": {"file": "text.json"}}, folder=folder)
    assert set(contents([plain]).files) == {f"{folder}/text.json"}
    template = experiment({"method": "POST", "body": {"file": "text.json", "template": True}}, folder=folder)
    assert set(contents([template]).files) == {f"{folder}/text.json", f"{folder}/users.csv"}
    accept(template, "sim")


def test_a_group_has_files_of_its_own(folder: str) -> None:
    own = requests({"path": "/{line:users.csv:2}"}, folder=folder)
    found = parse({"name": "x", "clients": [{"name": "homes", "workload": own}, {"name": "phones"}]})
    assert contents([found]).files == {f"{folder}/users.csv": USERS}
    Path(folder, "users.csv").unlink()
    with pytest.raises(InputError, match=r"^clients\.homes\.workload\.requests\.r0\.path: .*: cannot be read"):
        contents([found])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"path": "/{line:none}"}, "workload.requests.r0.path: {folder}/none: cannot be read: No such file or "),
        ({"headers": {"X": "{line:none}"}}, "workload.requests.r0.headers.X: {folder}/none: cannot be read: No such "),
        ({"body": {"file": "none"}}, "workload.requests.r0.body.file: {folder}/none: cannot be read: No such file or "),
        ({"body": {"file": "."}}, "workload.requests.r0.body.file: {folder}/.: is no regular file; the path of a file"),
        ({"body": {"file": "long"}}, "workload.requests.r0.body.file: {folder}/long: has 99 bytes; a file may have at"),
        (
            {"body": {"file": "order.json", "template": True}},
            "workload.requests.r0.body.file: order.json; must be text in UTF-8 for a template",
        ),
        (
            {"path": "/{line:users.csv:3}"},
            "workload.requests.r0.path: {{line:users.csv:3}}; must name a field from 1 t",
        ),
        (
            {"path": "/{line:users.csv:name}"},
            "workload.requests.r0.path: name is no field of {folder}/users.csv; the n",
        ),
        ({"path": "/{user}"}, "workload.requests.r0.path: {{user}}; must be {{client}}, {{request}}"),
    ],
)
def test_what_cannot_be_used_is_named_by_its_field(
    fields: dict[str, Any], message: str, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_files, "MOST", 60)
    (Path(folder) / "long").write_bytes(b"x" * 99)
    with pytest.raises(InputError) as refused:
        accept(experiment({"method": "POST", **fields}, folder=folder), "sim")
    assert str(refused.value).startswith(message.format(folder=folder))


def test_results_keep_what_tells_a_file_from_others(folder: str) -> None:
    scenario = resolve(experiment({"path": "/{line:users.csv}"}, folder=folder), mode="sim")
    path = f"{folder}/users.csv"
    assert scenario["files"] == {path: b64encode(USERS).decode()}
    assert described(scenario)["files"] == {path: {"sha256": hashlib.sha256(USERS).hexdigest(), "bytes": 12}}
    assert "files" not in resolve(experiment({}), mode="sim")


def test_a_file_that_has_changed_is_told(folder: str) -> None:
    found = experiment({"path": "/{line:users.csv}"}, folder=folder)
    known = digests(contents([found]).files)
    assert unchanged_contents([found], known, Path()) == contents([found])
    (Path(folder) / "users.csv").write_bytes(b"cleo")
    with pytest.raises(InputError, match=r"users\.csv: the file has changed since these results were begun"):
        unchanged_contents([found], known, Path())


def test_contents_that_are_known_are_not_read_again(folder: str) -> None:
    Path(folder, "users.csv").unlink()
    found = experiment({"path": "/{line:users.csv}"}, folder=folder)
    known = Inputs({}, {f"{folder}/users.csv": b"x", "other": b"y"}, {})
    assert resolve(found, mode="sim", inputs=known)["files"] == {f"{folder}/users.csv": "eA=="}
