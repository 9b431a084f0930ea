"""Results drawn in text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measured_runs import study_of
from waspbench.cli.app import invoke
from waspbench.cli.drawing import drawing, side_by_side, spread
from waspbench.results import load
from waspbench.results.shape import throughput_by_second
from waspbench.stats import Histogram

MS = 1_000_000
FLAGS = "bench --mode sim --clients 4 --rtt 20ms --warmup 1s --duration 12s --quiet -o out"


def histogram(ms: list[float]) -> Histogram:
    values, counts = np.unique(np.array([round(value * MS) for value in ms]), return_counts=True)
    return Histogram.of(values, values, counts)


@pytest.mark.parametrize(
    ("ms", "bars"),
    [
        ([100.0, 105.0, 110.0], [("100 ms to 112 ms", 100.0)]),
        ([100.0] * 3 + [130.0], [("100 ms to 112 ms", 75.0), ("125 ms to 140 ms", 25.0)]),
        ([1.0, 10.0], [("1 ms to 1.25 ms", 50.0), ("10 ms to 12.5 ms", 50.0)]),
        ([0.5, 900.0], [("500 us to 1 ms", 50.0), ("500 ms to 1 s", 50.0)]),
        ([0.0], [("1 us to 1.12 us", 100.0)]),
        ([20.0] * 2000 + [90_000.0], [("20 ms to 22.4 ms", 100.0), ("above 22.4 ms", 0.05)]),
    ],
)
def test_response_times_are_shared_out_among_bars(ms: list[float], bars: list[tuple[str, float]]) -> None:
    lines = spread(histogram(ms))[2:]
    assert [(line[:20].strip(), share(line)) for line in lines if line[20:].strip() != "0.0 %"] == bars
    assert all(line.endswith(" 0.0 %") for line in lines if line[20:].strip() == "0.0 %")


def share(line: str) -> float:
    """Per cent, of which a very small one has no figure of its own."""
    return float(line.split()[-2].replace("<0.1", "0.05"))


@given(st.lists(st.floats(0, 1e7), min_size=1, max_size=200))
def test_a_drawing_fits_the_terminal_and_has_every_transaction(ms: list[float]) -> None:
    lines = spread(histogram(ms))[2:]
    assert len(lines) <= 14
    assert all(len(line) < 80 for line in lines)
    assert sum(map(share, lines)) == pytest.approx(100, abs=0.05 * len(lines) + 0.01)
    assert any(line[20] == "█" for line in lines)


def test_throughput_is_drawn_second_by_second_and_run_after_run(here: Path) -> None:
    assert invoke(FLAGS.split()) == 0
    result = load("out")
    lines = drawing(result)
    assert lines[-2] == "throughput, a second a character, from 0 to 200 /s, run after run"
    assert lines[-1] == " ".join(["█" * 12] * 3)
    set_ok("out", run=1, ok=[0, *range(0, 240, 20)])
    lines = drawing(result)
    assert lines[-2].startswith("throughput, a second a character, from 0 to 220 /s")
    assert lines[-1] == " ".join(["█" * 12, "_▁▂▃▃▄▅▆▆▇██", "█" * 12])


@pytest.mark.parametrize(("warmup", "seconds"), [("1s", 6), ("1500ms", 5)])
def test_only_whole_seconds_of_the_interval_are_drawn(warmup: str, seconds: int, here: Path) -> None:
    flags = ["--warmup", warmup, "--duration", "6s", "--runs", "1"]
    assert invoke(["bench", "--mode", "sim", "--clients", "4", "--rtt", "20ms", "-o", "out", *flags]) == 0
    [run] = throughput_by_second(load("out")) or []
    assert run == pytest.approx([200] * seconds, abs=1)
    assert drawing(load("out"))[-1] == "█" * seconds


@pytest.mark.parametrize(("columns", "widest"), [(200, 79), (60, 59), (41, 40), (40, 0)])
def test_a_narrow_terminal_has_shorter_bars(
    columns: int, widest: int, monkeypatch: pytest.MonkeyPatch, here: Path
) -> None:
    assert invoke(FLAGS.split()) == 0
    monkeypatch.setattr("waspbench.cli.drawing.terminal_width", lambda: columns)
    bars = [line for line in drawing(load("out")) if line.endswith("%")]
    assert max(map(len, bars), default=0) == widest


def set_ok(directory: str, run: int, ok: list[int]) -> None:
    """Other transactions a second, from the beginning of the run on."""
    path = Path(directory, "series", f"run-{run}.parquet")
    table = pl.read_parquet(path)
    values = [*ok, *[0] * (len(table) - len(ok))]
    table.with_columns(pl.Series("ok", values, dtype=table["ok"].dtype)).write_parquet(path)


@pytest.mark.parametrize("lost", ["histogram/run-1.parquet", "series/run-1.parquet"])
def test_what_is_not_there_is_not_drawn(lost: str, here: Path) -> None:
    assert invoke(FLAGS.split()) == 0
    result = load("out")
    Path("out", lost).unlink()
    heads = [line.partition(",")[0] for line in drawing(result) if line and not line[0].isdigit() and line[0].isascii()]
    assert heads == ([] if lost.startswith("histogram") else ["response times of ok transactions"])
    assert drawing(result.model_copy(update={"results": ""})) == []


def points(*means: float, name: str = "n") -> list[tuple[dict[str, Any], list[float]]]:
    return [({name: number}, [mean] * 3) for number, mean in enumerate(means)]


def test_points_stand_side_by_side() -> None:
    assert side_by_side(study_of(points(50.0, 100.0))) == [
        "",
        "throughput (ok/s)",
        f"{'n=0':<22}{'█' * 22 + '▌':<45}        50.0",
        f"{'n=1':<22}{'█' * 45}       100.0",
    ]


def test_a_long_name_leaves_less_room_for_the_bar() -> None:
    lines = side_by_side(study_of(points(50.0, 100.0, name="clients.somewhere.loss.rate")))
    assert all(len(line) < 80 for line in lines)
    assert [line.count("█") for line in lines[2:]] == [18, 36]


@pytest.mark.parametrize("made", [points(50.0), points(*[1.0] * 25), points(1.0, 2.0, name="x" * 40)], ids=len)
def test_one_point_or_very_many_are_not_drawn(made: list[tuple[dict[str, Any], list[float]]]) -> None:
    assert side_by_side(study_of(made)) == []
