"""Results of every format that there was are still of use; what is newer, or not whole, is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fake_core import FakeEngine
from waspbench import InputError, load, run
from waspbench.cli.app import invoke
from waspbench.results import FORMAT, load_manifest
from waspbench.results.capacity import load_capacity
from waspbench.results.catalogue import entries, register
from waspbench.results.comparing import compare_results
from waspbench.results.query import query
from waspbench.results.records import records_of
from waspbench.results.store import read_table
from waspbench.results.study import load_study, read_plan
from waspbench.results.tables import TABLES

STORED = Path(__file__).with_name("stored")
ALL = sorted(path for path in STORED.glob("*/*") if path.is_dir())
BENCHES = [path for path in ALL if path.name == "bench"]
NAMES = [f"{path.parent.name}/{path.name}" for path in ALL]

BY_GROUP = ("2-last", "3-last")
"""Results that tell status codes and outcomes of each group."""

stored = pytest.mark.parametrize("old", ALL, ids=NAMES)


def copied(old: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(old, tmp_path / f"{old.parent.name}-{old.name}"))


def test_every_older_format_is_stored() -> None:
    formats = {json.loads(path.read_text())["format"] for path in STORED.rglob("manifest.json")}
    assert formats == set(range(1, FORMAT))


def test_what_is_stored_names_no_machine() -> None:
    for path in STORED.rglob("*.json"):
        machine = json.loads(path.read_text()).get("machine")
        assert not machine or (machine["cpu"], machine["kernel"]) == ("a CPU", "6.18.0"), path


def throughputs(directory: Path) -> list[str]:
    """What is shown of each point, of a search its capacity."""
    if directory.name.endswith("capacity"):
        found: list[float | None] = [point.capacity for point in load_capacity(directory).points]
    else:
        results = [point.result for point in load_study(directory).points]
        found = [None if result is None else result.throughput.mean for result in results]
    return [f"{figure:,.1f}" for figure in found if figure is not None]


@stored
def test_an_older_result_is_listed_and_shown(old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = copied(old, tmp_path)
    before = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    assert invoke(["list", "--root", str(tmp_path)]) == 0
    assert str(directory) in capsys.readouterr().out
    valid = register(directory).valid
    assert invoke(["show", str(directory)]) == (0 if valid else 5)
    shown = capsys.readouterr().out
    assert [figure for figure in throughputs(directory) if figure not in shown] == []
    assert invoke(["show", str(directory), "--json"]) == (0 if valid else 5)
    told = json.loads(capsys.readouterr().out)
    assert len(told.get("points", [told])) == len(throughputs(directory))
    assert {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("old", BENCHES, ids=lambda path: str(path.parent.name))
def test_figures_of_an_older_result_are_those_that_it_had(old: Path) -> None:
    manifest, found = json.loads((old / "manifest.json").read_text()), load(old)
    [made] = manifest["runs"]
    assert found.throughput.mean == made["throughput"]
    assert found.response_time_ms.p50 == made["response_time_ms"]["p50"]
    assert found.response_time_ms.p99 is None
    assert {name: count for name, count in found.outcomes.items() if count} == {
        "ok": made["outcomes"]["ok"],
        "unfinished": 5,
    }
    told = old.parent.name in BY_GROUP
    assert (found.statuses is not None, found.runs[0].by_group is not None) == (told, told)
    assert (bool(found.groups), found.errors) == (old.parent.name == "3-last", 0.0)
    few = "groups near, far: fewer than 100 ok transactions, whose response times are left out"
    rare = "p99 and p99.9 are left out: they need 299 and 2,995 ok transactions"
    assert found.notes == ([few] if found.groups else []) + [rare]
    assert found.retried == made.get("retried")
    assert set(found.links()["marked"]) == {None}
    with pytest.raises(InputError, match="link_series: results of formats before 4 do not have this table"):
        found.link_series()


def test_a_result_with_a_group_that_no_new_one_may_have_is_compared(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(STORED / "2-last" / "bench", tmp_path / "old"))
    for file in directory.glob("*.json"):
        file.write_text(file.read_text().replace('"near"', '"all"'))
    assert '"all"' in (directory / "manifest.json").read_text()
    [point] = compare_results(str(directory), str(STORED / "2-last" / "bench")).points
    assert point.ratio == 1
    with pytest.raises(InputError, match=r"near\.p95: the results do not tell the figures of groups"):
        compare_results(str(STORED / "2-last" / "bench"), str(directory), "near.p95")


def test_what_an_older_capacity_did_not_judge_is_unknown() -> None:
    [point] = load_capacity(STORED / "1-second" / "capacity").points
    assert point.valid is None
    assert {(reading.valid, reading.outcomes, reading.statuses) for reading in point.readings} == {(None, None, None)}


@stored
def test_an_older_result_is_compared_with_itself_and_with_one_of_the_present_format(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {point.verdict for point in compare_results(str(old), str(old)).points} == {"no difference shown"}
    newest = STORED / "3-last" / old.name
    found = compare_results(str(old), str(newest))
    assert found.points
    assert not [each for each in found.differences if each.field.startswith("measure.")]
    if old.name == "bench":
        fields = {"name": "new", "mode": "sim", "clients": [{"count": 5}], "measure": {"runs": 1, "duration": "2s"}}
        run(fields, output=tmp_path / "new")
        [point] = compare_results(str(old), str(tmp_path / "new")).points
        assert [line.statuses is not None for line in point.lines] == [old.parent.name in BY_GROUP, True]
    searched = old.name == "capacity" and old.parent.name in ("1-last", "2-last", "3-last")
    assert invoke(["compare", str(old), str(newest)]) == (0 if searched else 5)
    assert "no difference shown" in capsys.readouterr().out


@stored
def test_sql_has_null_for_what_an_older_result_does_not_have(old: Path, tmp_path: Path) -> None:
    register(copied(old, tmp_path))
    for table, (_, columns) in TABLES.items():
        names = ", ".join(f'"{column}"' for column, *_ in columns)
        has_rows = table not in ("link_series", "link_waits")
        assert bool(query(f"SELECT {names} FROM {table} LIMIT 1", entries())[1]) is has_rows, table
    if old.parent.name not in ("1-last", "2-last", "3-last"):
        assert query("SELECT DISTINCT file, intended_ns FROM transactions", entries())[1] == [(None, None)]


def test_sql_over_old_and_new_results_at_once(tmp_path: Path) -> None:
    for old in BENCHES:
        register(copied(old, tmp_path))
    rows = query(
        "SELECT experiment, count(DISTINCT result), count(file) < count(*) FROM transactions GROUP BY ALL", entries()
    )
    assert rows[1] == [("bench", len(BENCHES), True)]


@stored
def test_an_older_result_is_not_gone_on_with(old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = copied(old, tmp_path)
    before = sorted(directory.rglob("*"))
    assert invoke(["resume", str(directory)]) == 2
    said = capsys.readouterr().err
    if not (old / "study.json").exists():
        assert "study.json: cannot be read" in said  # as of any version: there is nothing to resume
    else:
        number = old.parent.name[0]
        wanted = "these results can be read, but not gone on with: this version writes"
        assert f"study.json: format: {number}: {wanted}" in said
    assert sorted(directory.rglob("*")) == before


def test_every_file_of_a_study_is_read(tmp_path: Path) -> None:
    for stage in ("1-second", "1-last", "2-last", "3-last"):
        sweep = STORED / stage / "sweep"
        assert read_plan(sweep).points == len(load_study(sweep).points) == 2
        for place in sorted((sweep / "points").iterdir()):
            [record] = records_of(place)
            [run] = load_manifest(place).runs
            # The manifest may have further percentiles.
            told = ("throughput", "outcomes", "statuses", "network", "fates", "packets", "little", "groups", "events")
            assert [getattr(record.summary, name) for name in told] == [getattr(run, name) for name in told]


def test_columns_that_a_file_does_not_have_are_null() -> None:
    series = read_table(STORED / "1-first" / "bench" / "series" / "run-0.parquet")
    assert set(series.columns) == {column for column, *_ in TABLES["series"][1]}
    assert series["up_packets"].null_count() == len(series)
    assert series.schema["lag_max_ns"] == pl.UInt64


def test_results_of_the_present_format_must_be_whole(engine: FakeEngine, tmp_path: Path) -> None:
    run({"name": "x", "mode": "sim", "clients": [{}]}, output=tmp_path / "out")
    file = tmp_path / "out" / "manifest.json"
    document = json.loads(file.read_text())
    assert document["format"] == FORMAT
    for name in ("statuses", "by_group", "notes", "open_loop"):
        file.write_text(json.dumps(without(document, name)))
        with pytest.raises(InputError, match=rf"manifest\.json: runs\.0: no valid manifest: {name}: missing"):
            load_manifest(tmp_path / "out")
        file.write_text(json.dumps(without(document, name) | {"format": FORMAT - 1}))
        assert getattr(load_manifest(tmp_path / "out").runs[0], name) in (None, [])
    file.write_text(json.dumps({**document, "format": FORMAT - 1, "seed": None}))
    with pytest.raises(InputError, match=r"manifest\.json: seed: no valid manifest"):
        load_manifest(tmp_path / "out")


def without(document: dict[str, Any], name: str) -> dict[str, Any]:
    """The manifest with runs that do not have a field."""
    return document | {"runs": [{key: run[key] for key in run if key != name} for run in document["runs"]]}
