"""Studies in simulation: what they make, and what is left of them when they are interrupted."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fake_core import FakeEngine
from measured_runs import summary
from small_disk import small_disk
from waspbench import InputError, RunFailedError, load, run
from waspbench.results import FORMAT, Invalid
from waspbench.results.records import record_path, records_of
from waspbench.results.study import STUDY, load_study, read_plan
from waspbench.runner import study as module
from waspbench.runner.campaign import StudyProgress
from waspbench.runner.executors import Here, Processes
from waspbench.runner.once import Done, Job
from waspbench.runner.study import Study, prepare, resume, study
from waspbench.runner.timing import estimate
from waspbench.stats import mean_interval

ROOT = Path(__file__).parents[2]

DOCUMENT: dict[str, Any] = {
    "name": "x",
    "mode": "sim",
    "seed": 5,
    "clients": [{"name": "homes", "count": 16, "rtt": "20ms"}],
    "measure": {"runs": 3, "warmup": "1s", "duration": "2s"},
    "sweep": {"clients.loss.rate": ["0%", "5%"], "clients.count": [16, 32]},
}
ONE = {key: value for key, value in DOCUMENT.items() if key != "sweep"}


def files(directory: Path) -> dict[str, bytes]:
    """Every file that must not depend on interruptions, by its path; the journal has the time of day."""
    found = {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name not in ("journal.jsonl", STUDY)
    }
    for path, content in found.items():
        if path.endswith("manifest.json"):
            found[path] = json.dumps(json.loads(content) | {"created": ""}).encode()
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of an uninterrupted study."""
    directory = tmp_path_factory.mktemp("study") / "whole"
    study(DOCUMENT, output=directory, jobs=2)
    return directory


def test_a_study_has_all_points_with_all_runs(whole: Path) -> None:
    result = load_study(whole)
    assert result.complete
    assert [(point.varied["clients.loss.rate"], point.varied["clients.count"]) for point in result.points] == [
        ("0%", 16),
        ("0%", 32),
        ("5%", 16),
        ("5%", 32),
    ]
    for point in result.points:
        assert point.result is not None
        assert [run.run for run in point.result.runs] == [0, 1, 2]
        assert point.result.throughput.ci90 == mean_interval([run.throughput for run in point.result.runs])


def test_a_point_is_a_results_directory_of_its_own(whole: Path) -> None:
    alone = load(whole / "points" / "0003")
    assert alone == load_study(whole).points[3].result
    assert pl.read_parquet(whole / "points" / "0003" / "transactions")["run"].unique().sort().to_list() == [0, 1, 2]


def test_points_share_their_random_numbers_and_runs_do_not(whole: Path) -> None:
    scenarios = [
        json.loads((whole / "points" / f"{n:04d}" / "manifest.json").read_text())["scenario"] for n in range(4)
    ]
    assert {scenario["seed"] for scenario in scenarios} == {5}
    first = load(whole / "points" / "0002").runs
    assert len({run.network.up.lost for run in first}) > 1


def test_side_by_side_and_one_after_the_other_is_the_same_to_the_byte(whole: Path, tmp_path: Path) -> None:
    study(DOCUMENT, output=tmp_path / "again", jobs=1)
    assert files(tmp_path / "again") == files(whole)


LONG = DOCUMENT | {
    "clients": [{"name": "homes", "count": 128, "rtt": "20ms"}],
    "measure": {"runs": 6, "warmup": "1s", "duration": "4s"},
    "sweep": {"clients.loss.rate": ["0%", "1%", "2%", "3%", "4%", "5%"]},
}

MAKE = """
import json, sys
from pathlib import Path
from waspbench.runner.study import resume, study
if __name__ == "__main__":
    out = Path(sys.argv[2])
    if (out / "study.json").exists():
        resume(out, jobs=2)
    else:
        study(json.loads(Path(sys.argv[1]).read_text()), output=out, jobs=2)
"""


@pytest.mark.full
@pytest.mark.slow
def test_killed_at_ten_random_moments_a_study_ends_with_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "e.json").write_text(json.dumps(LONG))
    (tmp_path / "make.py").write_text(MAKE)
    directory = tmp_path / "killed"
    command = [sys.executable, str(tmp_path / "make.py"), str(tmp_path / "e.json"), str(directory)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    rng = random.Random(1)
    at_work = 0
    for _ in range(10):
        before = len(list(directory.rglob("run-*.json")))
        with subprocess.Popen(command, env=environment) as process:
            limit = time.monotonic() + 60
            while not (directory / STUDY).exists() and process.poll() is None and time.monotonic() < limit:
                time.sleep(0.01)
            # Half of the moments lie about where the first runs of a process are written.
            while rng.random() < 0.5 and len(list(directory.rglob("run-*.json"))) == before and process.poll() is None:
                time.sleep(0.01)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(0.0, 0.5))
            process.kill()
        at_work += process.returncode == -signal.SIGKILL
        for path in directory.rglob("run-*.json"):
            json.loads(path.read_text())
        for path in directory.rglob("run-*.parquet"):
            pl.read_parquet(path, glob=False)
    assert at_work == 10
    resume(directory, jobs=2)
    study(LONG, output=tmp_path / "whole", jobs=2)
    assert files(directory) == files(tmp_path / "whole")


def test_resuming_makes_only_what_is_missing(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = copied(whole, tmp_path)
    record_path(directory / "points" / "0001", 2).unlink()
    made: list[tuple[int, int]] = []
    following = module.Study._take

    def followed(self: Study, schedule: Any, task_of: Any, done: Done) -> None:
        made.append((done.job.point, done.job.run))
        following(self, schedule, task_of, done)

    monkeypatch.setattr(module.Study, "_take", followed)
    assert resume(directory, jobs=1).complete
    assert made == [(1, 2)]
    assert files(directory) == files(whole)


def copied(directory: Path, to: Path) -> Path:
    return Path(shutil.copytree(directory, to / "copy"))


def test_a_deleted_results_file_is_named_and_resuming_makes_its_run_again(whole: Path, tmp_path: Path) -> None:
    directory = copied(whole, tmp_path)
    lost = directory / "points" / "0002" / "histogram" / "run-1.parquet"
    lost.unlink()
    with pytest.raises(InputError, match=r"histogram/run-1\.parquet: cannot be read: missing"):
        load_study(directory)
    resume(directory, jobs=1)
    assert files(directory) == files(whole)


def test_a_file_that_was_cut_short_is_made_again(whole: Path, tmp_path: Path) -> None:
    directory = copied(whole, tmp_path)
    cut = directory / "points" / "0000" / "transactions" / "run-0.parquet"
    cut.write_bytes(cut.read_bytes()[:100])
    resume(directory, jobs=1)
    assert files(directory) == files(whole)


@pytest.mark.parametrize("name", [STUDY, "points/0000/manifest.json", "points/0000/runs/run-0.json"])
def test_results_of_the_future_are_refused_and_left_alone(whole: Path, tmp_path: Path, name: str) -> None:
    directory = copied(whole, tmp_path)
    file = directory / name
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": FORMAT + 1}))
    before = files(directory)
    with pytest.raises(InputError, match=r"format: 4: .* newer than this version of waspbench"):
        load_study(directory) if name.endswith("manifest.json") else resume(directory, jobs=1)
    assert files(directory) == before


@pytest.mark.parametrize("text", ["", "[]", "{}", "\x00"])
def test_what_is_no_plan(tmp_path: Path, text: str) -> None:
    (tmp_path / STUDY).write_text(text)
    with pytest.raises(InputError, match="no valid plan"):
        read_plan(tmp_path)


def test_summaries_read_no_transactions(whole: Path, tmp_path: Path) -> None:
    directory = copied(whole, tmp_path)
    for table in ("transactions", "connections", "links", "series"):
        for folder in directory.rglob(table):
            shutil.rmtree(folder)
    # Everything but where it is.
    elsewhere: Any = {"results": True, "points": {"__all__": {"result": {"results"}}}}
    read = load_study(directory).model_dump(exclude=elsewhere)
    assert read == load_study(whole).model_dump(exclude=elsewhere)
    assert all(point["result"]["throughput"]["mean"] > 0 for point in read["points"])


@pytest.mark.root(live=False)
def test_a_full_disk_ends_a_study_and_loses_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "220k") as mount:
        with pytest.raises(RunFailedError, match=r"No space left on device.*finished runs are kept: wasp resume"):
            study(DOCUMENT, output=mount / "out", jobs=1)
        kept = [record for n in range(4) for record in records_of(mount / "out" / "points" / f"{n:04d}")]
        assert 0 < len(kept) < 12
        assert list(mount.rglob("*.partial")) == []
        subprocess.run(["mount", "-o", "remount,size=10m", str(mount)], check=True)
        assert resume(mount / "out", jobs=1).complete


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"^output: .*: cannot be made: Not a directory"):
        study(DOCUMENT, output=tmp_path / "file" / "out")
    with pytest.raises(InputError, match="exists already"):
        study(DOCUMENT, output=tmp_path)


def test_every_point_is_checked_before_anything_runs(tmp_path: Path) -> None:
    document = DOCUMENT | {"sweep": {"clients.count": [8, 100_000]}}
    with pytest.raises(InputError, match=r"at clients\.count=100000"):
        study(document, output=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_stopping_rule_adds_runs_until_the_interval_is_narrow_enough(tmp_path: Path) -> None:
    measure = {"runs": 2, "warmup": "1s", "duration": "1s", "until": {"ci": "3%", "max_runs": 8}}
    document = DOCUMENT | {"measure": measure, "sweep": {"clients.loss.rate": ["0%", "10%"]}}
    result = study(document, output=tmp_path / "out", jobs=2)
    counts = [len(point.result.runs) for point in result.points if point.result]
    assert counts[0] == 2
    assert 2 < counts[1] <= 8
    assert result.complete


def test_a_warm_up_can_be_found(tmp_path: Path) -> None:
    document = ONE | {"measure": {"runs": 1, "warmup": "auto", "duration": "5s"}}
    result = study(document, output=tmp_path / "out")
    only = result.points[0].result
    assert only is not None
    assert only.scenario["measure"]["warmup"] == "5s"
    assert only.lengths is not None
    assert only.lengths.measure == {"warmup": "5s"}
    assert only.valid


def test_a_warm_up_is_found_in_which_throughput_settles(tmp_path: Path) -> None:
    # 1 MB over 500 ms is slow start for the first 7 s.
    group = {"count": 32, "rtt": "500ms"}
    measure = {"runs": 1, "warmup": "auto", "duration": "10s"}
    document = {"name": "x", "mode": "sim", "clients": [group], "workload": {"kind": "single", "size": "1MB"}}
    early = run(document | {"measure": measure | {"warmup": "5s"}})
    assert "warmup" in {reason.code for reason in early.invalid_reasons}
    only = study(document | {"measure": measure}, output=tmp_path / "out").points[0].result
    assert only is not None
    assert only.scenario["measure"]["warmup"] in ("10s", "15s", "20s")
    assert "warmup" not in {reason.code for reason in only.invalid_reasons}


def test_without_a_sweep_the_directory_is_that_of_its_only_point(tmp_path: Path) -> None:
    result = study(ONE, output=tmp_path / "out")
    assert load(tmp_path / "out").throughput == result.points[0].result.throughput  # type: ignore[union-attr]
    assert load_study(tmp_path / "out").points == [point.model_copy(update={"varied": {}}) for point in result.points]


def test_the_progress_ends_with_all_runs_done(tmp_path: Path) -> None:
    seen: list[StudyProgress] = []
    study(DOCUMENT, output=tmp_path / "out", jobs=2, on_progress=seen.append)
    assert (seen[-1].done, seen[-1].total, seen[-1].failed, seen[-1].left) == (12, 12, 0, 0.0)
    assert [progress.done for progress in seen] == sorted(progress.done for progress in seen)
    assert any(progress.left for progress in seen)


def test_the_time_of_live_runs_is_their_length_and_a_little(tmp_path: Path) -> None:
    _, found = prepare(DOCUMENT, tmp_path / "out")
    assert estimate(found, "live") == pytest.approx(12 * (3 + 2))
    assert 0 < estimate(found, "sim", 1) < 60


# Failures, with runs made up in this process.


def outcomes(monkeypatch: pytest.MonkeyPatch, answer: Any) -> list[Job]:
    """Lets ``answer`` (job) -> Done replace a run; collects the jobs."""
    jobs: list[Job] = []
    real = Here.collect

    def collect(self: Any, timeout: float) -> list[Done]:
        job, _ = self._jobs[0]
        jobs.append(job)
        made = answer(job)
        if made is not None:
            self._jobs.popleft()
            return [made]
        return real(self, timeout)

    monkeypatch.setattr(Here, "collect", collect)
    return jobs


def test_a_failed_run_is_tried_once_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jobs = outcomes(
        monkeypatch, lambda job: Done(job, 0.1, failure="gone") if job.attempt == 1 and job.run == 1 else None
    )
    result = study(ONE, output=tmp_path / "out")
    assert sorted((job.run, job.attempt) for job in jobs) == [(0, 1), (1, 1), (1, 2), (2, 1)]
    [again] = [record for record in records_of(tmp_path / "out") if record.run == 1]
    assert (again.attempts, again.earlier) == (2, ["gone"])
    assert result.valid


def test_a_run_that_fails_twice_is_kept_and_marked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    outcomes(monkeypatch, lambda job: Done(job, 0.1, failure="gone") if job.run == 1 else None)
    result = study(ONE, output=tmp_path / "out")
    only = result.points[0].result
    assert only is not None
    assert [run.run for run in only.runs] == [0, 2]
    assert [(reason.code, reason.message) for reason in only.invalid_reasons] == [("failed", "run 2 failed: gone")]
    assert not result.valid
    monkeypatch.undo()
    assert resume(tmp_path / "out").valid


def test_a_live_run_that_the_machine_disturbed_is_tried_once_more() -> None:
    # What its transactions did would be selected away.
    invalid = [
        Invalid(code="censored", message="the interval was too short"),
        Invalid(code="steal", message="the hypervisor took 3 %"),
    ]
    job = Job(0, 0, {}, "", 1.0)
    done = Done(job, 1.0, summary=summary(100.0).model_copy(update={"invalid": invalid}))
    assert module._wrong(done, "live") == ["the hypervisor took 3 %"]
    assert module._wrong(done, "sim") == []


def test_both_attempts_of_a_run_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    disturbed = ["the hypervisor took 3 %"]
    first = summary(100.0)
    monkeypatch.setattr(module, "_wrong", lambda done, mode: disturbed if done.summary == first else [])
    outcomes(monkeypatch, lambda job: Done(job, 0.1, summary=first) if (job.run, job.attempt) == (1, 1) else None)
    result = study(ONE, output=tmp_path / "out")
    once, again, _ = records_of(tmp_path / "out")
    assert (once.attempts, once.earlier, once.first) == (1, [], None)
    assert (again.attempts, again.earlier, again.first) == (2, disturbed, first)
    assert again.summary is not None
    assert again.summary.throughput != first.throughput
    only = result.points[0].result
    assert only is not None
    assert [run.throughput for run in only.runs][1] == again.summary.throughput


def test_a_run_past_its_time_limit_is_given_up(tmp_path: Path) -> None:
    measure = {"runs": 1, "warmup": "1s", "duration": "20h", "time_limit": "300ms"}
    study(ONE | {"measure": measure}, output=tmp_path / "out")
    [record] = records_of(tmp_path / "out")
    assert record.failure == "given up after 0 s, its time limit (measure.time_limit)"
    assert record.attempts == 2


def test_an_interrupt_keeps_what_is_finished(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(job: Job) -> None:
        if job.run == 2:
            raise KeyboardInterrupt

    outcomes(monkeypatch, interrupted)
    with pytest.raises(KeyboardInterrupt):
        study(ONE | {"measure": ONE["measure"] | {"order": "listed"}}, output=tmp_path / "out")
    kept = load(tmp_path / "out")
    assert kept.interrupted
    assert [run.run for run in kept.runs] == [0, 1]
    assert "stopped before all runs were made: 2 of at least 3" in kept.invalid_reasons[-1].message
    monkeypatch.undo()
    assert resume(tmp_path / "out").valid
    assert not load(tmp_path / "out").interrupted


def test_a_worker_that_dies_fails_its_run(tmp_path: Path) -> None:
    scenario = {"measure": {"warmup": "1s", "duration": "1s"}, "nonsense": True}
    executor = Processes(1)
    with executor:
        executor.submit(Job(0, 0, scenario, str(tmp_path), 5.0))
        os.kill(executor._workers[0].process.pid or 0, signal.SIGKILL)
        [done] = executor.collect(10.0)
    assert done.failure == "the run ended with its process (exit status -9)"


def test_the_engine_is_told_each_run_in_turn(engine: FakeEngine, tmp_path: Path) -> None:
    study(ONE | {"measure": {"runs": 3, "order": "listed"}}, output=tmp_path / "out")
    assert [(scenario["seed"], scenario["run"]) for scenario in engine.scenarios] == [(5, 0), (5, 1), (5, 2)]
