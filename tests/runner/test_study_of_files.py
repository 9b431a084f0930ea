"""Experiments whose named requests use files, from file to results."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from waspbench import InputError, resume, run, study
from waspbench.cli.app import invoke
from waspbench.results.differences import _held, differences, facts
from waspbench.results.store import load_manifest

EXPERIMENT = """\
name = "users"
[measure]
warmup = "0s"
duration = "2s"
runs = 2
[[clients]]
count = 2
http = { requests_per_connection = 1 }
[workload]
kind = "requests"
[[workload.requests]]
name = "login"
method = "POST"
path = "/login?user={client:users.csv:1}"
headers = { X-Id = "{uuid}" }
body = '{"password": "{client:users.csv:2}"}'
[[workload.requests]]
name = "upload"
method = "PUT"
path = "/{line:users.csv:1}"
body = { size = "700KiB" }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The experiment and its file, in a folder beside the current directory."""
    there = tmp_path / "experiment"
    there.mkdir()
    (there / "users.toml").write_text(EXPERIMENT)
    (there / "users.csv").write_text("ann,secret 1\nbob,secret 2\n")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return there


def made(folder: Path, **options: Any) -> Path:
    output = folder.parent / f"out-{len(list(folder.parent.glob('out-*')))}"
    study("../experiment/users.toml", output=output, mode="sim", **options)
    return output


def test_results_are_resumed_only_with_the_same_files_and_read_without_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = made(folder)
    kept = load_manifest(output).scenario["files"]
    assert list(kept) == ["../experiment/users.csv"]
    assert kept["../experiment/users.csv"]["bytes"] == 26
    monkeypatch.chdir(folder)
    assert resume(output).complete, "its paths are relative to where it began"
    (folder / "users.csv").write_text("cleo,secret 3\n")
    with pytest.raises(InputError, match=r"path: \.\./experiment/users\.csv: the file has changed since these results"):
        resume(output)
    (folder / "users.csv").unlink()
    assert facts(output)["files.users.csv"].startswith("SHA-256 ")


def test_results_of_other_files_differ_and_those_of_another_directory_do_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = facts(made(folder))
    monkeypatch.chdir(folder)
    study("users.toml", output=folder / "out", mode="sim")
    assert differences(first, facts(folder / "out"), ()) == []
    monkeypatch.chdir(folder.parent / "here")
    (folder / "users.csv").write_text("ann,secret 1\nbob,secret 3\n")
    assert [each.field for each in differences(first, facts(made(folder)), ())] == ["files.users.csv"]
    both = [_held({"in/a/users.csv": one, "in/b/users.csv": two}) for one, two in (("1", "2"), ("2", "1"))]
    assert both[0] == {"files.a/users.csv": "SHA-256 1", "files.b/users.csv": "SHA-256 2"} != both[1]
    assert list(_held({"/in/users.csv": "1", "users.csv": "2"})) == ["files./in/users.csv", "files.users.csv"]


def test_the_values_of_a_request_do_not_change_what_is_measured_twice(folder: Path) -> None:
    one, two = (run(folder / "users.toml", mode="sim") for _ in range(2))
    assert one.outcomes == two.outcomes
    assert one.response_time_ms.mean == two.response_time_ms.mean
    assert not one.outcomes["wrong"]


def test_a_dry_run_shows_a_request_of_each_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "users.toml").write_text(EXPERIMENT.replace("/{line:users.csv:1}", "/{line:users.csv:1}?{client}"))
    assert invoke(["run", "../experiment/users.toml", "--mode", "sim", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    expected = (
        "requests, each as the first one of a client:\n\n  login\n    POST /login?user=ann HTTP/1.1\n"
        "    Host: 198.18.0.1\n    User-Agent: wasp/"
    )
    assert printed.startswith(expected)
    assert re.search(r"\n    X-Id: [0-9a-f-]{36}\n    Content-Length: 24\n    Connection: close\n\n    {", printed)
    assert '{"password": "secret 1"}\n\n  upload\n    PUT /' in printed
    assert "?0 HTTP/1.1\n" in printed
    assert printed.endswith("\n\n    (716,800 bytes without meaning)\n\n1 point, 2 runs each:\n2 runs, about 1 s\n")


def test_a_dry_run_names_groups(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    group = '[[clients]]\nname = "{}"\nhttp = {{ headers = {{ X-Group = "{}" }} }}\n'
    (folder / "users.toml").write_text(
        EXPERIMENT.replace("[[clients]]", '[[clients]]\nname = "a"') + group.format("b", "of {client}")
    )
    assert invoke(["run", "../experiment/users.toml", "--mode", "sim", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if " of " in line] == [
        "requests, each as the first one of a client:",
        "  login of a",
        "  upload of a",
        "  login of b",
        "    X-Group: of {client}",
        "  upload of b",
        "    X-Group: of {client}",
    ]


def test_a_dry_run_shows_much_in_short(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    requests = "".join(f'[[workload.requests]]\nname = "r{number}"\npath = "/"\n' for number in range(25))
    (folder / "users.toml").write_text(EXPERIMENT + requests)
    (folder / "users.csv").write_text(f"ann,{'x' * 1000}\n")
    assert invoke(["run", "../experiment/users.toml", "--mode", "sim", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert f'{{"password": "{"x" * 586}... (1,016 characters)\n' in printed
    assert "  r17\n" in printed
    assert "  r18\n" not in printed
    assert "\n  and 7 more\n" in printed
