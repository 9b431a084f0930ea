"""The real-time clock may be stepped at any time: it dates results, and nothing that is measured depends on it."""

from __future__ import annotations

import json
import time
from datetime import datetime, timedelta, tzinfo
from itertools import count, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from waspbench.results import manifest
from waspbench.results.study import JOURNAL
from waspbench.runner.pipeline import StudyProgress
from waspbench.runner.study import study

DOCUMENT: dict[str, Any] = {
    "name": "x",
    "mode": "sim",
    "clients": [{"count": 16, "rtt": "20ms"}],
    "measure": {"runs": 2, "warmup": "200ms", "duration": "500ms"},
}
BEGIN = 1_900_000_000
HOUR = 3_600


def tables(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*.parquet")}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The tables of a simulation whose real-time clock was left alone."""
    directory = tmp_path_factory.mktemp("undisturbed") / "out"
    study(DOCUMENT, output=directory)
    return tables(directory)


@pytest.fixture(params=[-HOUR, HOUR], ids=["back", "ahead"])
def step(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """A real-time clock that has been stepped by so many seconds, by an hour, whenever somebody looks at it."""
    seconds: int = request.param
    readings = count(BEGIN, seconds)

    def now(zone: tzinfo | None = None) -> datetime:
        return datetime.fromtimestamp(next(readings), zone)

    monkeypatch.setattr(time, "time", lambda: float(next(readings)))
    monkeypatch.setattr(time, "time_ns", lambda: next(readings) * 10**9)
    monkeypatch.setattr(manifest, "datetime", SimpleNamespace(now=now))
    return seconds


@pytest.mark.parametrize("mode", ["sim", pytest.param("live", marks=pytest.mark.root)])
def test_durations_estimates_and_records_do_not_follow_the_clock(mode: str, step: int, tmp_path: Path) -> None:
    seen: list[StudyProgress] = []
    result = study(DOCUMENT | {"mode": mode}, output=tmp_path / "out", on_progress=seen.append)
    journal = [json.loads(line) for line in (tmp_path / "out" / JOURNAL).read_text().splitlines()]
    dates = [datetime.fromisoformat(entry["at"]) for entry in journal]
    assert all((after - before) / timedelta(seconds=step) >= 1 for before, after in pairwise(dates))
    assert len(dates) >= 2
    assert all(0 < entry["seconds"] < 60 for entry in journal)
    left = [progress.left for progress in seen if progress.left is not None]
    assert left
    assert all(0 <= seconds < 60 for seconds in left)
    [point] = result.points
    assert point.result is not None
    assert [summary.interval_s for summary in point.result.runs] == [0.5, 0.5]
    paths = sorted((tmp_path / "out").rglob("transactions/*.parquet"))
    assert len(paths) == 2
    for path in paths:
        rows = pl.read_parquet(path)
        assert len(rows) > 0
        starts, ends = rows["start_ns"].to_list(), rows["end_ns"].to_list()
        assert ends == sorted(ends)
        assert all(0 <= start <= end <= 700_000_000 for start, end in zip(starts, ends, strict=True))


def test_simulated_tables_are_the_same_to_the_byte(undisturbed: dict[str, bytes], step: int, tmp_path: Path) -> None:
    study(DOCUMENT, output=tmp_path / "out")
    assert len(undisturbed) == 14
    assert tables(tmp_path / "out") == undisturbed
