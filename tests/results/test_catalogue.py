"""The catalogue, which follows the directories whatever happens to them, and SQL over them."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fake_core import FakeEngine
from waspbench import CannotRunError, InputError, run
from waspbench.results.catalogue import entries, find, register
from waspbench.results.query import query
from waspbench.runner.study import study

EXPERIMENT: dict[str, Any] = {"name": "x", "mode": "sim", "clients": [{}], "measure": {"runs": 2}}


@pytest.fixture
def made(engine: FakeEngine, tmp_path: Path) -> Path:
    """A study in ``results/one``, registered."""
    directory = tmp_path / "results" / "one"
    study(EXPERIMENT, output=directory)
    register(directory)
    return directory


def test_results_are_listed(made: Path) -> None:
    [entry] = entries()
    assert (entry.name, entry.kind, entry.mode, entry.points, entry.runs, entry.valid) == (
        "x",
        "bench",
        "sim",
        1,
        2,
        True,
    )
    assert entry.path == str(made)


def test_results_of_older_versions_without_a_plan_are_listed_too(engine: FakeEngine, tmp_path: Path) -> None:
    run(EXPERIMENT, output=tmp_path / "out")
    (tmp_path / "out" / "study.json").unlink()
    assert register(tmp_path / "out").kind == "bench"
    assert register(tmp_path / "out").id == entries()[0].id


def test_a_deleted_directory_is_forgotten(made: Path) -> None:
    shutil.rmtree(made)
    assert entries() == []


def test_a_moved_directory_is_found_again(made: Path) -> None:
    moved = made.rename(made.with_name("two"))
    assert entries() == []
    [entry] = entries(made.parent)
    assert entry.path == str(moved)


def test_a_moved_directory_takes_its_old_place_in_the_catalogue_with_it(made: Path) -> None:
    before = entries()[0].id
    register(made.rename(made.with_name("two")))
    assert [entry.id for entry in entries()] == [before]


def test_a_catalogue_that_is_lost_is_made_again(made: Path, catalogue: Path) -> None:
    catalogue.unlink()
    assert [entry.name for entry in entries(made.parent)] == ["x"]


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to look at" * 50, b"SQLite format 3\0" + bytes(84)]
)
def test_a_broken_catalogue_is_put_aside_and_made_again(made: Path, catalogue: Path, content: bytes) -> None:
    for part in catalogue.parent.iterdir():
        part.unlink()
    catalogue.write_bytes(content)
    assert [entry.name for entry in entries(made.parent)] == ["x"]


def test_a_catalogue_of_the_future_is_refused(made: Path, catalogue: Path) -> None:
    with sqlite3.connect(catalogue) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(InputError, match="newer than this version"):
        entries()


def test_what_is_broken_below_the_root_is_passed_over(made: Path) -> None:
    broken = made.with_name("broken")
    broken.mkdir()
    (broken / "study.json").write_text("{")
    assert [entry.path for entry in entries(made.parent)] == [str(made)]


def test_many_processes_may_register_at_once(made: Path, catalogue: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from waspbench.results.catalogue import register\n"
        "for path in sorted(Path(sys.argv[1]).iterdir()): register(path)"
    )
    for number in range(8):
        copy = Path(shutil.copytree(made, made.parent / f"copy-{number}"))
        plan = json.loads((copy / "study.json").read_text())
        (copy / "study.json").write_text(json.dumps(plan | {"id": f"{number:032x}"}))
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path)), "WASP_CATALOGUE": str(catalogue)}
    command = [sys.executable, "-c", code, str(made.parent)]
    processes = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) for _ in range(4)]
    for process in processes:
        assert process.communicate()[1] == b""
    assert len(entries()) == 9


def test_results_are_found_by_directory_id_or_name(made: Path) -> None:
    [entry] = entries()
    assert find(str(made)) == find(entry.id[:6]) == find("x") == made
    with pytest.raises(InputError, match="neither a directory of results, nor an id or a name"):
        find("nonsense")


def test_sql_over_all_parquet(made: Path) -> None:
    names, rows = query("SELECT experiment, point, run, outcome FROM transactions ORDER BY ALL", entries())
    assert names == ["experiment", "point", "run", "outcome"]
    assert rows == [("x", "one", 0, "ok"), ("x", "one", 0, "reset"), ("x", "one", 1, "ok"), ("x", "one", 1, "reset")]
    assert query("SELECT name, runs FROM results", entries())[1] == [("x", 2)]


def test_sql_that_is_none(made: Path) -> None:
    with pytest.raises(InputError, match=r'query: "SELECT": Parser Error'):
        query("SELECT", entries())


def test_sql_without_duckdb_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(CannotRunError, match=r"pip install 'waspbench\[sql\]'"):
        query("SELECT 1", [])
