"""An experiment from start to result, with a fake engine in simulation."""

from __future__ import annotations

import errno
import gc
import signal
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fake_core import FakeEngine
from waspbench import CannotRunError, InputError, Progress, RunFailedError, load, resume, run, start, study
from waspbench.experiment import parse
from waspbench.results import records, write_table
from waspbench.results.study import read_plan
from waspbench.runner.api import Handle, only
from waspbench.runner.study import Study, prepare

EXPERIMENT: dict[str, Any] = {
    "name": "x",
    "mode": "sim",
    "seed": 5,
    "clients": [{"name": "homes", "count": 4}],
    "measure": {"runs": 3},
}


def interrupting(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """Lets Ctrl-C come at the end of the first call of a method of `Study`."""
    real = getattr(Study, method)

    def interrupted(self: Study, *arguments: Any) -> Any:
        found = real(self, *arguments)
        monkeypatch.undo()
        signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(Study, method, interrupted)


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


def test_progress_tells_a_second_attempt_and_why_it_is_made(engine: FakeEngine) -> None:
    engine.fail_in = 0
    seen: list[Progress] = []
    run(EXPERIMENT, on_progress=seen.append)
    assert [(each.run, each.attempt, each.earlier) for each in seen if each.elapsed == 1.0] == [
        (0, 1, ()),
        (0, 2, ("the packet device failed: gone",)),
        (1, 1, ()),
        (2, 1, ()),
    ]
    with start(EXPERIMENT) as handle:
        attempts = [progress.attempt for _ in iter(lambda: handle.done, True) if (progress := handle.next_sample())]
    assert attempts == [1] * 3 + [2] * 3 + [1] * 6


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


def test_an_interrupt_while_a_run_is_put_away_waits_until_it_is_and_is_marked(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heard: None
) -> None:
    whole = write_table

    def interrupted(frame: pl.DataFrame, path: Path) -> None:
        whole(frame, path)
        if path.name == ".run-1.parquet.partial" and path.parent.name == "transactions":
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(records, "write_table", interrupted)
    result = run(EXPERIMENT, output=tmp_path / "out")
    assert len(result.runs) == 2
    assert [(reason.run, reason.code) for reason in result.invalid_reasons] == [(None, "interrupted")]


@pytest.mark.parametrize("method", ["_next", "_log", "_take", "_finished"])
@pytest.mark.parametrize("kept", [True, False])
def test_an_interrupt_between_runs_loses_none(
    kept: bool, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heard: None
) -> None:
    asked = EXPERIMENT | {"measure": {"runs": 2, "warmup": "1s", "duration": "2s"}}
    output = tmp_path / "out" if kept else None
    interrupting(monkeypatch, method)
    if method == "_next":  # nothing is measured then
        with pytest.raises(KeyboardInterrupt):
            run(asked, output=output)
        assert list(tmp_path.iterdir()) == []
        return
    result = run(asked, output=output)
    assert len(result.runs) == (2 if method == "_finished" else 1)
    assert result.interrupted is (method != "_finished")
    if output is not None:
        resume(output)
        assert load(output).runs == run(asked).runs


@pytest.mark.parametrize("method", ["_next", "_log", "_take", "_finished"])
def test_a_handle_can_be_gone_on_with_after_an_interrupt(
    method: str, monkeypatch: pytest.MonkeyPatch, heard: None
) -> None:
    asked = EXPERIMENT | {"measure": {"runs": 2, "warmup": "1s", "duration": "2s"}}
    with start(asked) as handle:
        interrupting(monkeypatch, method)
        with pytest.raises(KeyboardInterrupt):
            handle.wait()
        assert handle.wait().runs == run(asked).runs


def test_an_interrupt_before_anything_was_measured_leaves_nothing(engine: FakeEngine, tmp_path: Path) -> None:
    engine.interrupt_at = (0, 0)
    with pytest.raises(KeyboardInterrupt):
        run(EXPERIMENT, output=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_run_leaves_nothing(engine: FakeEngine, tmp_path: Path) -> None:
    engine.fail_in = 0
    with pytest.raises(RunFailedError, match=r"^the packet device failed: gone$"):
        run(EXPERIMENT | {"measure": {"runs": 1}}, output=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_fails_twice_keeps_the_others(engine: FakeEngine, tmp_path: Path) -> None:
    engine.fail_in = 1
    kept = run(EXPERIMENT, output=tmp_path / "out")
    assert load(tmp_path / "out") == kept
    assert [summary.run for summary in kept.runs] == [0, 2]
    assert [(reason.code, reason.message) for reason in kept.invalid_reasons] == [
        ("failed", "run 2 failed: the packet device failed: gone")
    ]
    assert [scenario["run"] for scenario in engine.scenarios] == [0, 1, 1, 2]


def test_the_handle_can_be_followed_and_stopped(engine: FakeEngine) -> None:
    with start(EXPERIMENT) as handle:
        assert handle.next_sample() is not None
        assert handle.next_sample() is not None
        handle.stop()
        result = handle.wait()
    assert handle.done
    assert handle.wait() == result
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
    whole = write_table

    def full(frame: pl.DataFrame, path: Path) -> None:
        if path.name == ".run-1.parquet.partial" and path.parent.name == "transactions":
            path.write_bytes(b"the beginning")
            raise OSError(errno.ENOSPC, "No space left on device")
        whole(frame, path)

    monkeypatch.setattr(records, "write_table", full)
    out = tmp_path / "out"
    with pytest.raises(RunFailedError) as error:
        run(EXPERIMENT, mode="sim", output=out)
    assert error.value.message == f"{out}/transactions/run-1.parquet: cannot be written: No space left on device"
    assert error.value.kept == out
    kept = load(out)
    assert [summary.run for summary in kept.runs] == [0, 1]
    assert not kept.valid
    assert "No space left" in str(kept.invalid_reasons)
    assert sorted(path.name for path in (out / "transactions").iterdir()) == ["run-0.parquet"]
    assert sorted(path.name for path in (out / "histogram").iterdir()) == ["run-0.parquet", "run-1.parquet"]
    monkeypatch.undo()
    engine.install(monkeypatch)
    resume(out)
    assert load(out).valid
    assert pl.read_parquet(out / "transactions")["run"].unique().sort().to_list() == [0, 1, 2]


def test_a_disk_that_is_full_from_the_start_fails_the_run_and_leaves_nothing(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(frame: pl.DataFrame, path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(records, "write_table", full)
    with pytest.raises(RunFailedError, match=r"No space left on device$"):
        run(EXPERIMENT, mode="sim", output=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_stopped_run_is_made_again_when_its_directory_is_resumed(engine: FakeEngine, tmp_path: Path) -> None:
    engine.interrupt_at = (1, 2)
    run(EXPERIMENT, output=tmp_path / "out")
    resume(tmp_path / "out")
    whole = load(tmp_path / "out")
    assert whole.valid
    assert [summary.interval_s for summary in whole.runs] == [10.0, 10.0, 10.0]
    assert [scenario["run"] for scenario in engine.scenarios] == [0, 1, 1, 2]
    assert whole == run(EXPERIMENT, output=tmp_path / "other").model_copy(update={"results": str(tmp_path / "out")})


def test_a_run_and_a_study_of_one_point_leave_the_same_files(engine: FakeEngine, tmp_path: Path) -> None:
    run(EXPERIMENT, output=tmp_path / "run")
    study(EXPERIMENT, output=tmp_path / "study")
    first, second = (
        {
            str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file() and path.name not in ("study.json", "manifest.json", "journal.jsonl")
        }
        for folder in (tmp_path / "run", tmp_path / "study")
    )
    assert first == second
    assert "runs/run-2.json" in first
    assert {path.name for path in (tmp_path / "run").iterdir() if path.is_file()} == {
        "study.json", "manifest.json", "journal.jsonl",
    }  # fmt: skip


def test_without_a_directory_nothing_is_left(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = run(EXPERIMENT)
    assert (result.results, len(result.runs)) == (None, 3)
    del result
    engine.fail_in = 0
    with pytest.raises(RunFailedError):
        run(EXPERIMENT | {"measure": {"runs": 1}})
    with start(EXPERIMENT) as handle:
        handle.next_sample()
    with start(EXPERIMENT) as handle:
        handle.stop()
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_conditions_of_the_experiment_are_judged(engine: FakeEngine, tmp_path: Path) -> None:
    asked = EXPERIMENT | {"assert": {"throughput": "> 600", "errors": "< 0.001%"}}
    result = run(asked)
    assert [(check.condition, check.passed) for check in result.checks] == [
        ("throughput > 600", True),
        ("errors < 0.001%", False),
    ]
    made = study(asked, output=tmp_path / "out")
    assert [check.passed for check in made.checks] == [True, False]
    with start(asked) as handle:
        assert handle.wait().checks == result.checks


def test_a_stopping_rule_is_followed(engine: FakeEngine) -> None:
    result = run(EXPERIMENT | {"measure": {"runs": 2, "until": {"ci": "1%", "max_runs": 4}}})
    assert len(result.runs) == 4


def test_lengths_are_found() -> None:
    result = run(EXPERIMENT | {"measure": {"runs": 1, "warmup": "1s", "duration": "auto", "max_errors": "50%"}})
    assert result.lengths is not None
    assert result.lengths.pilots
    assert result.scenario["measure"]["duration"] == result.lengths.measure["duration"]


def test_progress_tells_pilots_by_their_number(engine: FakeEngine) -> None:
    seen: list[Progress] = []
    run(EXPERIMENT | {"measure": {"runs": 1, "warmup": "1s", "duration": "auto"}}, on_progress=seen.append)
    told = [progress.pilot for progress in seen if progress.elapsed == 1.0]
    assert told == [1, 2, None]


def test_a_sweep_is_for_a_study(engine: FakeEngine) -> None:
    for function in (run, start):
        with pytest.raises(InputError, match=r"^sweep: makes many results .* waspbench\.study"):
            function(EXPERIMENT | {"sweep": {"clients.count": [1, 2]}})
    assert engine.scenarios == []


def test_an_experiment_is_taken_as_its_file_is(engine: FakeEngine, tmp_path: Path) -> None:
    run(parse(EXPERIMENT), output=tmp_path / "out")
    run(EXPERIMENT, output=tmp_path / "other")
    assert engine.scenarios[:3] == engine.scenarios[3:]
    assert read_plan(tmp_path / "out").document == read_plan(tmp_path / "other").document


def test_processes_side_by_side_are_for_sweeps(engine: FakeEngine, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^jobs: 2: only simulated runs of a sweep"):
        study(EXPERIMENT, output=tmp_path / "out", jobs=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("jobs", [0, -1])
def test_there_is_no_study_without_processes(engine: FakeEngine, tmp_path: Path, jobs: int) -> None:
    with pytest.raises(InputError, match=rf"^jobs: {jobs}: must be at least 1$"):
        study(EXPERIMENT, output=tmp_path / "out", jobs=jobs)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_before_the_first_run_leaves_results_as_they_are(engine: FakeEngine, tmp_path: Path) -> None:
    engine.interrupt_at = (1, 0)
    before = run(EXPERIMENT | {"measure": {"runs": 2, "duration": "20s"}}, output=tmp_path / "out")
    resumed = Study.open(tmp_path / "out")
    with resumed:
        resumed.stop()
        assert only(resumed.wait()) == before
    assert load(tmp_path / "out") == before


def test_what_was_measured_before_all_failed_is_kept_and_told(engine: FakeEngine, tmp_path: Path) -> None:
    engine.invalid = [{"code": "failed", "message": "the server ended during the run"}]
    with pytest.raises(RunFailedError, match=r"^the server ended during the run; what was measured is kept in .*out$"):
        run(EXPERIMENT, output=tmp_path / "out")
    kept = load(tmp_path / "out")
    assert len(kept.runs) == 3
    assert not kept.valid


def test_a_place_that_cannot_be_written_ends_a_study_of_processes(tmp_path: Path) -> None:
    document = EXPERIMENT | {"sweep": {"clients.count": [2, 4]}}
    plan, found = prepare(document, tmp_path / "out")
    begun = Study.begin(plan, found, tmp_path / "out")
    (tmp_path / "out" / "points").touch()
    with pytest.raises(RunFailedError, match=r"points/000[01]/.*: cannot be written: Not a directory"):
        begun.run(jobs=2)
    assert list(tmp_path.iterdir()) == []


def followed(handle: Handle) -> None:
    while not handle.done:
        handle.next_sample()


def test_after_an_error_nothing_is_made_any_more(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = write_table

    def full(frame: pl.DataFrame, path: Path) -> None:
        if path.name == ".run-1.parquet.partial":
            raise OSError(errno.ENOSPC, "No space left on device")
        whole(frame, path)

    monkeypatch.setattr(records, "write_table", full)
    with start(EXPERIMENT, output=tmp_path / "out") as handle:
        with pytest.raises(RunFailedError, match="No space left on device; what was measured is kept in") as first:
            followed(handle)
        assert handle.done
        assert handle.next_sample() is None
        handle.stop()
        with pytest.raises(RunFailedError) as second:
            handle.wait()
    assert second.value is first.value
    assert len(engine.scenarios) == 2
    assert len(load(tmp_path / "out").runs) == 1


def test_a_handle_that_was_closed_has_no_result(engine: FakeEngine, tmp_path: Path) -> None:
    handle = start(EXPERIMENT, output=tmp_path / "out")
    handle.close()
    assert handle.done
    with pytest.raises(RunFailedError, match=r"^it was closed before its end$"):
        handle.wait()


def test_without_a_place_for_temporary_files_that_is_said(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(
        CannotRunError, match=r"no room for what is removed at the end: No such file or directory; name"
    ):
        run(EXPERIMENT)
