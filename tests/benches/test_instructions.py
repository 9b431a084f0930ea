"""What the gate on instructions lets pass."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import instructions
import perf


def test_growth_within_the_tolerance_passes_and_beyond_it_does_not() -> None:
    assert not instructions.Count("web", 1_019, 1_000).too_many
    assert instructions.Count("web", 1_030, 1_000).too_many
    assert not instructions.Count("web", 500, 1_000).too_many


def test_without_a_baseline_nothing_is_judged() -> None:
    count = instructions.Count("web", 1_000, None)
    assert (count.growth, count.too_many) == (None, False)


@pytest.mark.parametrize(("found", "status"), [(1_010, 0), (1_100, 1)])
def test_growth_decides_the_exit_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], found: int, status: int
) -> None:
    counts = [instructions.Count("web", found, 1_000)]
    monkeypatch.setattr(instructions, "measure", lambda renew: (counts, None))
    assert perf.main(["instructions"]) == status
    assert ("TOO MANY" in capsys.readouterr().out) == bool(status)


def test_another_compiler_is_said_loudly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    counts = [instructions.Count("web", 1_000, None)]
    monkeypatch.setattr(instructions, "measure", lambda renew: (counts, "NOT CHECKED: another compiler"))
    assert perf.main(["instructions"]) == 3
    assert "NOT CHECKED" in capsys.readouterr().out


def git(*words: str, root: Path) -> str:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    ours = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    ours |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    said = subprocess.run(["git", *identity, *words], cwd=root, env=ours, check=True, capture_output=True, text=True)
    return said.stdout.strip()


@pytest.fixture(params=[False, True], ids=["", "inside a git command"])
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """One with sources and a baseline of them, in the place of this."""
    if shutil.which("git") is None:
        pytest.skip("not installed: git")
    if request.param:  # as in a hook of the project's repository
        monkeypatch.setenv("GIT_DIR", str(tmp_path / "another"))
    (tmp_path / "crates").mkdir()
    for name in ("Cargo.lock", "Cargo.toml", "crates/lib.rs"):
        (tmp_path / name).write_text(name)
    git("init", "--quiet", root=tmp_path)
    monkeypatch.setattr(instructions, "_ROOT", tmp_path)
    monkeypatch.setattr(instructions, "BASELINE", tmp_path / "instructions.json")
    monkeypatch.setattr(instructions, "build", lambda: "binary")
    monkeypatch.setattr(instructions, "count_of", lambda binary, name: 0 if name == "none" else 1_000)
    monkeypatch.setattr(instructions, "which", lambda program: program)
    instructions.measure(renew=True)
    return tmp_path


def test_sources_have_the_names_that_they_have_once_committed(repository: Path) -> None:
    before = instructions.baseline().sources
    git("add", *instructions.SOURCES, root=repository)
    git("commit", "--quiet", "-m", "all", root=repository)
    assert before["crates"] == git("rev-parse", "HEAD:crates", root=repository)
    assert instructions.unchanged()


@pytest.mark.parametrize("changed", ["Cargo.lock", "Cargo.toml", "crates/lib.rs", "crates/new.rs"])
def test_a_change_to_any_source_is_counted_anew(
    repository: Path, changed: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def count(binary: str, name: str) -> int:
        counted.append(name)
        return 0 if name == "none" else 1_100

    counted: list[str] = []
    monkeypatch.setattr(instructions, "count_of", count)
    assert perf.main(["instructions", "--if-changed"]) == 0
    assert "not counted: " in capsys.readouterr().out
    (repository / changed).write_text("different")
    assert counted == []
    assert perf.main(["instructions", "--if-changed"]) == 1
    assert f"crates {instructions.baseline().sources['crates'][:10]}" in capsys.readouterr().out
    assert counted == ["none", *instructions.NAMES]


def test_a_baseline_that_does_not_say_of_what_it_is_counts_as_another(repository: Path) -> None:
    instructions.BASELINE.write_text('{"instructions": {"web": 1000}}')
    assert not instructions.unchanged()
    counts, why = instructions.measure()
    assert why is not None
    assert why.startswith("NOT CHECKED: the baseline is of nobody, this is rustc")
    assert all(count.baseline is None for count in counts)


def test_where_there_is_no_git_everything_is_counted(repository: Path) -> None:
    assert instructions.unchanged()
    (repository / ".git").rename(repository / "gone")
    assert not instructions.unchanged()
    assert instructions.measure()[1] is None
