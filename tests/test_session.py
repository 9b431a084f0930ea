"""An experiment from start to result, with a fake engine in simulation."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fake_core import FakeEngine
from waspbench import InputError, Progress, RunFailedError, load, run, start
from waspbench.results import store

EXPERIMENT: dict[str, Any] = {
    "name": "x",
    "mode": "sim",
    "seed": 5,
    "clients": [{"name": "homes", "count": 4}],
    "measure": {"runs": 3},
}


def test_each_run_is_a_scenario_of_its_own(engine: FakeEngine) -> None:
    run(EXPERIMENT)
    assert [(scenario["seed"], scenario["run"]) for scenario in engine.scenarios] == [(5, 0), (5, 1), (5, 2)]
    assert engine.options == [{}, {}, {}]


def test_the_result_combines_the_runs(engine: FakeEngine) -> None:
    result = run(EXPERIMENT)
    assert result.throughput.mean == pytest.approx(650)
    assert result.throughput.ci90 == pytest.approx((650 - 16.8585, 650 + 16.8585), abs=1e-3)
    assert result.outcomes == {"ok": 19_200, "reset": 3, "refused": 0}
    assert (result.network.down.packets, result.network.down.lost, result.network.down.dropped) == (24_000, 720, 3)
    assert result.network.down.loss_rate == pytest.approx(0.03)
    assert result.response_time_ms.mean == pytest.approx(101)
    assert result.response_time_ms.p50 == pytest.approx(100.131071)
    # 300.22 is the edge of the last bucket.
    assert result.response_time_ms.p99 == pytest.approx(300.22)
    assert result.response_time_ms.p50_ci90 == pytest.approx((100.0, 100.131071))
    assert result.response_time_ms.max == pytest.approx(303)
    assert result.server_cpu.busy == pytest.approx(0.42)
    assert result.emulator.cpu is None
    assert result.valid
    assert [summary.run for summary in result.runs] == [0, 1, 2]


def test_one_run_has_no_interval(engine: FakeEngine) -> None:
    result = run(EXPERIMENT | {"measure": {"runs": 1}})
    assert result.throughput.ci90 is None
    assert result.response_time_ms.ci90 is None
    assert result.response_time_ms.p50 == pytest.approx(100.131071)
    assert result.response_time_ms.p50_ci90 is None


def test_progress_is_reported_with_its_run(engine: FakeEngine) -> None:
    seen: list[Progress] = []
    run(EXPERIMENT, on_progress=seen.append)
    assert [(progress.run, progress.elapsed) for progress in seen] == [
        (n, t) for n in range(3) for t in (1.0, 2.0, 3.0)
    ]
    assert {progress.runs for progress in seen} == {3}


def test_a_run_that_is_not_valid_makes_the_result_invalid(engine: FakeEngine) -> None:
    engine.invalid = [{"code": "lag", "message": "lag p99 3 ms"}]
    result = run(EXPERIMENT | {"measure": {"runs": 2}})
    assert not result.valid
    assert [(reason.run, reason.code) for reason in result.invalid_reasons] == [(0, "lag"), (1, "lag")]


def test_an_interrupt_keeps_and_marks_what_was_measured(engine: FakeEngine, tmp_path: Path) -> None:
    engine.interrupt_at = (1, 2)
    result = run(EXPERIMENT, output=tmp_path / "out")
    assert result.interrupted
    assert not result.valid
    assert [summary.interval_s for summary in result.runs] == [10.0, 1.0]
    assert [(reason.run, reason.code) for reason in result.invalid_reasons] == [
        (1, "stopped"),
        (None, "interrupted"),
    ]
    assert load(tmp_path / "out") == result


def test_an_interrupt_in_the_warm_up_of_a_later_run_keeps_the_earlier_ones(engine: FakeEngine) -> None:
    engine.interrupt_at = (1, 0)
    result = run(EXPERIMENT)
    assert result.interrupted
    assert len(result.runs) == 1


def test_an_interrupt_while_a_run_is_put_away_is_marked(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = store.write_table

    def interrupted(frame: pl.DataFrame, path: Path) -> None:
        whole(frame, path)
        if path.name == "run-1.parquet" and path.parent.name == "transactions":
            raise KeyboardInterrupt

    monkeypatch.setattr(store, "write_table", interrupted)
    result = run(EXPERIMENT, output=tmp_path / "out")
    assert len(result.runs) == 2
    assert [(reason.run, reason.code) for reason in result.invalid_reasons] == [(None, "interrupted")]


def test_an_interrupt_before_anything_was_measured_leaves_nothing(engine: FakeEngine, tmp_path: Path) -> None:
    engine.interrupt_at = (0, 0)
    with pytest.raises(KeyboardInterrupt):
        run(EXPERIMENT, output=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_run_leaves_nothing(engine: FakeEngine, tmp_path: Path) -> None:
    engine.fail_in = 0
    with pytest.raises(RunFailedError, match=r"^the packet device failed: gone$"):
        run(EXPERIMENT, output=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_run_keeps_the_earlier_ones(engine: FakeEngine, tmp_path: Path) -> None:
    engine.fail_in = 2
    with pytest.raises(RunFailedError, match=r"the packet device failed: gone; what was measured is kept in .*out$"):
        run(EXPERIMENT, output=tmp_path / "out")
    kept = load(tmp_path / "out")
    assert len(kept.runs) == 2
    assert [reason.code for reason in kept.invalid_reasons] == ["failed"]


def test_the_handle_can_be_followed_and_stopped(engine: FakeEngine) -> None:
    with start(EXPERIMENT) as handle:
        assert handle.next_sample() is not None
        assert handle.next_sample() is not None
        handle.stop()
        result = handle.wait()
    assert handle.done
    assert handle.wait() is result
    assert len(result.runs) == 1
    assert result.interrupted


def test_leaving_a_handle_ends_the_run_and_removes_unfinished_results(engine: FakeEngine, tmp_path: Path) -> None:
    with start(EXPERIMENT, output=tmp_path / "out") as handle:
        handle.next_sample()
    assert handle.done
    assert list(tmp_path.iterdir()) == []


def test_stopping_when_all_is_done_changes_nothing(engine: FakeEngine) -> None:
    with start(EXPERIMENT) as handle:
        while not handle.done:
            handle.next_sample()
        handle.stop()
        assert not handle.wait().interrupted


def test_what_the_engine_refuses_is_an_input_error(engine: FakeEngine) -> None:
    engine.refusal = ("clients", "40000: the prefix has room for 32766")
    with pytest.raises(InputError, match=r"^clients: 40000: the prefix has room for 32766$"):
        run(EXPERIMENT)


def test_cpus_belong_to_live_runs(engine: FakeEngine) -> None:
    with pytest.raises(InputError, match=r'emulator_cpus: "1": only a live run places anything on CPUs'):
        run(EXPERIMENT, emulator_cpus="1")


def test_an_existing_output_is_refused_before_anything_runs(engine: FakeEngine, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="exists already"):
        run(EXPERIMENT, output=tmp_path)
    assert engine.scenarios == []


def test_a_full_disk_keeps_figures_without_the_tables_that_did_not_fit(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = store.write_table

    def full(frame: pl.DataFrame, path: Path) -> None:
        if path.name == "run-1.parquet" and path.parent.name == "transactions":
            path.write_bytes(b"the beginning")
            raise OSError(errno.ENOSPC, "No space left on device")
        whole(frame, path)

    monkeypatch.setattr(store, "write_table", full)
    out = tmp_path / "out"
    message = rf"^{out}/transactions: cannot be written: No space left on device; what was measured is kept in {out}$"
    with pytest.raises(RunFailedError, match=message):
        run(EXPERIMENT, mode="sim", output=out)
    kept = load(out)
    assert [summary.run for summary in kept.runs] == [0, 1]
    assert not kept.valid
    assert "No space left" in str(kept.invalid_reasons)
    assert sorted(path.name for path in (out / "transactions").iterdir()) == ["run-0.parquet"]
    assert sorted(path.name for path in (out / "histogram").iterdir()) == ["run-0.parquet", "run-1.parquet"]


def test_a_disk_that_is_full_from_the_start_fails_the_run_and_leaves_nothing(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(frame: pl.DataFrame, path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store, "write_table", full)
    with pytest.raises(RunFailedError, match=r"No space left on device$"):
        run(EXPERIMENT, mode="sim", output=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
