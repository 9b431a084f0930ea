"""The interval from within one run, and runs that stand out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from measured_runs import result
from waspbench.results.remarks import remarks, standing_out, within_run

MEASURE = {"measure": {"warmup": "4500ms", "duration": "60s"}}


def with_series(tmp_path: Path, ok: list[int], runs: int = 1, duration: str = "60s") -> object:
    folder = tmp_path / "series"
    folder.mkdir()
    pl.DataFrame({"second": range(len(ok)), "ok": ok}).write_parquet(folder / "run-0.parquet")
    scenario = {"measure": {"warmup": "4500ms", "duration": duration}}
    return result([640.0] * runs, results=str(tmp_path), scenario=scenario)


def test_one_long_run_has_an_interval_of_its_own_seconds(tmp_path: Path) -> None:
    ok = [0] * 5 + np.random.default_rng(1).poisson(640, 59).tolist() + [9999]
    made = with_series(tmp_path, ok)
    inside = within_run(made)  # type: ignore[arg-type]
    assert inside is not None
    # Whole seconds from 5 to 64: neither the warm-up's nor the last, which is half measured.
    assert inside.mean == pytest.approx(640, rel=0.02)
    assert inside.interval[0] < 640 < inside.interval[1]
    [remark] = remarks(made)  # type: ignore[arg-type]
    assert remark.startswith("throughput within the one run: ")
    assert remark.endswith(f"{inside.batches} batches of {inside.size} s)")


def test_a_short_run_and_several_runs_have_none(tmp_path: Path) -> None:
    assert within_run(with_series(tmp_path, [640] * 20, duration="10s")) is None  # type: ignore[arg-type]
    assert within_run(result([640.0, 650.0], results=str(tmp_path))) is None
    assert within_run(result([640.0])) is None


def test_runs_that_stand_out_are_named_by_their_number() -> None:
    made = result([640.0, 641.0, 639.0, 640.5, 900.0, 640.2])
    assert standing_out(made) == [4]
    assert remarks(made) == ["throughput stands out (and is kept) in run 5"]
    assert remarks(result([640.0, 641.0, 900.0])) == []
