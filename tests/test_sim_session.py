"""Whole simulated runs with the real engine."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from waspbench import _core, load, run
from waspbench.experiment import parse
from waspbench.experiment.resolve import resolve

HOMES = {"name": "homes", "count": 12, "rtt": "60ms", "loss": "3%", "bandwidth": {"down": "5Mbit/s"}}
OFFICES = {"name": "offices", "count": 5, "rtt": "20ms", "loss": {"up": "1%", "scope": "link"}}


def experiment(*groups: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "x",
        "mode": "sim",
        "seed": 3,
        "server": {"model": {"per_connection": "0ms", "per_request": "0ms", "per_kib": "0ms"}},
        "clients": list(groups),
        "measure": {"warmup": "1s", "duration": "4s", "runs": 2},
    }


def digests(directory: Path) -> dict[str, str]:
    files = sorted(directory.rglob("*.parquet"))
    return {str(file.relative_to(directory)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_the_same_seed_gives_the_same_files_in_this_process_and_in_another(tmp_path: Path) -> None:
    run(experiment(HOMES, OFFICES), output=tmp_path / "first")
    run(experiment(HOMES, OFFICES), output=tmp_path / "second")
    code = "import json, sys; from waspbench import run; run(json.loads(sys.argv[1]), output=sys.argv[2])"
    other = [sys.executable, "-c", code, json.dumps(experiment(HOMES, OFFICES)), str(tmp_path / "third")]
    subprocess.run(other, check=True)
    first = digests(tmp_path / "first")
    assert len(first) == 14
    assert digests(tmp_path / "second") == first
    assert digests(tmp_path / "third") == first


def test_another_seed_and_another_run_give_other_records(tmp_path: Path) -> None:
    run(experiment(HOMES), output=tmp_path / "a")
    run(experiment(HOMES) | {"seed": 4}, output=tmp_path / "b")
    a, b = digests(tmp_path / "a"), digests(tmp_path / "b")
    assert a["transactions/run-0.parquet"] != b["transactions/run-0.parquet"]
    runs = pl.read_parquet(tmp_path / "a" / "transactions").drop("run")
    assert not runs[: len(runs) // 2].equals(runs[len(runs) // 2 :])


def test_another_group_changes_nothing_of_the_first(tmp_path: Path) -> None:
    run(experiment(HOMES), output=tmp_path / "alone")
    run(experiment(HOMES, OFFICES), output=tmp_path / "both")
    for table in ("transactions", "connections"):
        keys = ["run", "client", "connection"] + (["request"] if table == "transactions" else [])
        alone = pl.read_parquet(tmp_path / "alone" / table).sort(keys)
        both = pl.read_parquet(tmp_path / "both" / table).filter(pl.col("group") == 0).sort(keys)
        assert alone.equals(both), table


def test_figures_follow_from_the_records(tmp_path: Path) -> None:
    result = run(experiment(HOMES), output=tmp_path / "out")
    rows = pl.read_parquet(tmp_path / "out" / "transactions").filter(pl.col("measured") & (pl.col("outcome") == "ok"))
    times = (rows["last_byte_ns"] - rows["start_ns"]) / 1e6
    assert result.outcomes["ok"] == len(rows)
    assert result.throughput.mean == pytest.approx(len(rows) / 8)
    assert result.goodput_bps.mean == pytest.approx(rows["bytes"].sum() * 8 / 8)
    assert result.response_time_ms.max == pytest.approx(times.max(), rel=1e-4)
    assert result.response_time_ms.p50 == pytest.approx(times.quantile(0.5, "lower"), rel=1e-3)
    assert load(tmp_path / "out") == result


def test_rows_are_in_the_order_of_their_end(tmp_path: Path) -> None:
    run(experiment(HOMES), output=tmp_path / "out")
    for number in (0, 1):
        assert pl.read_parquet(tmp_path / "out" / "transactions" / f"run-{number}.parquet")["end_ns"].is_sorted()


def test_handle_follows_a_run_of_the_real_engine() -> None:
    document = experiment(HOMES | {"count": 2000}) | {"measure": {"warmup": "1s", "duration": "1h", "runs": 1}}
    handle = _core.start(json.dumps(resolve(parse(document), mode="sim")))
    sample = handle.next_sample(5.0)
    assert sample is not None
    assert sample["elapsed"] > 0
    assert not handle.done()
    handle.stop()
    outcome = handle.wait()
    assert handle.done()
    assert "stopped" in [reason["code"] for reason in json.loads(outcome.summary())["invalid"]]
    with pytest.raises(_core.EngineError, match="taken before"):
        handle.wait()
    outcome.tables()
    with pytest.raises(_core.EngineError, match="taken before"):
        outcome.tables()
