"""The results directory."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest

from fake_core import FakeEngine
from waspbench import InputError, _core, load, run
from waspbench.results import FORMAT, check_free, load_manifest, write_table
from waspbench.results.tables import TABLES

EXPERIMENT = {"name": "x", "mode": "sim", "clients": [{}], "measure": {"runs": 2}}
SMALL = EXPERIMENT | {"clients": [{"count": 2}], "measure": {"runs": 2, "warmup": "1s", "duration": "1s"}}


def frame() -> pl.DataFrame:
    count = 300_000
    index = pl.int_range(0, count, eager=True, dtype=pl.UInt32)
    return pl.DataFrame({"client": index, "bytes": index * 7 % 1000, "outcome": ["ok", "reset", "ok"] * (count // 3)})


def test_equal_frames_make_equal_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_table(frame(), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_frame_in_pieces_makes_the_same_file(tmp_path: Path) -> None:
    whole = frame()
    write_table(whole, tmp_path / "whole")
    write_table(pl.concat([whole[:1000], whole[1000:]], rechunk=False), tmp_path / "pieces")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "pieces").read_bytes()


def test_a_table_of_all_runs_is_read_as_one(tmp_path: Path) -> None:
    run(SMALL, output=tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir() if path.name in TABLES} == set(TABLES)
    for name, (_, columns) in TABLES.items():
        table = pl.read_parquet(tmp_path / "out" / name)
        assert [(column, str(kind)) for column, kind in table.schema.items()] == [column[:2] for column in columns]
        # No link of these results keeps packets waiting.
        assert table["run"].unique(maintain_order=True).to_list() == ([] if name == "link_waits" else [0, 1])


def test_a_result_is_read_back_as_it_was(engine: FakeEngine, tmp_path: Path) -> None:
    result = run(EXPERIMENT, output=tmp_path / "out")
    assert load(tmp_path / "out") == result


def test_the_manifest_says_what_was_measured(engine: FakeEngine, tmp_path: Path) -> None:
    run(EXPERIMENT, output=tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["format"] == FORMAT
    assert manifest["scenario"] == engine.scenarios[0]
    assert manifest["settings"] == {
        "used": ["tcp", "model"],
        "unused": ["kind", "congestion", "sysctl", "ready_timeout"],
    }
    assert manifest["tables"] == ["histogram", "series", "transactions"]
    assert manifest["machine"]["kernel"] == os.uname().release
    assert manifest["versions"]["waspbench"] == _core.version()
    assert [entry["throughput"] for entry in manifest["runs"]] == [640.0, 650.0]


@pytest.mark.parametrize("kind", ["file", "directory", "dangling link"])
def test_what_exists_is_not_overwritten(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "out"
    if kind == "file":
        path.touch()
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to("nowhere")
    with pytest.raises(InputError, match=r"exists already; name a new directory"):
        check_free(path)


def test_a_newer_format_is_refused(engine: FakeEngine, tmp_path: Path) -> None:
    run(EXPERIMENT, output=tmp_path / "out")
    file = tmp_path / "out" / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": FORMAT + 1}))
    with pytest.raises(
        InputError, match=rf"format: {FORMAT + 1}: these results are newer than this version of waspbench"
    ):
        load_manifest(tmp_path / "out")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no valid manifest: Expecting value"),
        ("[]", "no valid manifest: not a table"),
        ("{}", "format: null: must be a whole number"),
        ('{"format": 1}', "created: no valid manifest: Field required"),
    ],
)
def test_what_is_no_manifest(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(InputError, match=message):
        load_manifest(tmp_path)


def test_a_directory_without_manifest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"manifest\.json: cannot be read: No such file or directory"):
        load_manifest(tmp_path)
