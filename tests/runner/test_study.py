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
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from answered_runs import answered
from fake_core import FakeEngine
from measured_runs import summary
from small_disk import small_disk
from waspbench import InputError, RunFailedError, StudyResult, live, load, resume, run
from waspbench.results import FORMAT, Invalid, RunSummary
from waspbench.results.records import record_path, records_of
from waspbench.results.study import JOURNAL, STUDY, load_study, read_plan
from waspbench.results.whole_files import Room
from waspbench.runner import attempts
from waspbench.runner import study as module
from waspbench.runner.attempts import FirstAttempt, first_attempt
from waspbench.runner.job import Done, Job
from waspbench.runner.one_run import OneRun
from waspbench.runner.pipeline import StudyProgress
from waspbench.runner.study import prepare, study
from waspbench.runner.timing import estimate
from waspbench.stats import mean_interval
from waspbench.testbed.process import descendants, parents

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


def resumed(directory: Path) -> StudyResult:
    result = resume(directory)
    assert isinstance(result, StudyResult)
    return result


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

POINT = {key: value for key, value in LONG.items() if key != "sweep"} | {
    "measure": {"runs": 30, "warmup": "1s", "duration": "4s"}
}

MAKE = """
import json, sys
from pathlib import Path
from waspbench import resume, run, study
if __name__ == "__main__":
    document, out = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    if (out / "study.json").exists():
        resume(out)
    else:
        (study if "sweep" in document else run)(document, output=out)
"""


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("document", [LONG, POINT], ids=["a sweep", "a point"])
def test_killed_at_ten_random_moments_a_study_ends_with_the_same_bytes(
    document: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "e.json").write_text(json.dumps(document))
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
    assert resumed(directory).complete
    study(document, output=tmp_path / "whole")
    assert files(directory) == files(tmp_path / "whole")


def test_resuming_makes_only_what_is_missing(whole: Path, tmp_path: Path) -> None:
    directory = copied(whole, tmp_path)
    record_path(directory / "points" / "0001", 2).unlink()
    before = (directory / JOURNAL).read_text().splitlines()
    assert resumed(directory).complete
    made = map(json.loads, (directory / JOURNAL).read_text().splitlines()[len(before) :])
    assert [(entry["point"], entry["run"]) for entry in made] == [(1, 2)]
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
    with pytest.raises(InputError, match=rf"format: {FORMAT + 1}: .* newer than this version of waspbench"):
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
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_full_disk_ends_a_study_and_loses_nothing(jobs: int, tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "220k") as mount:
        with pytest.raises(RunFailedError, match=r"No space left on device.*what was measured is kept in"):
            study(DOCUMENT, output=mount / "out", jobs=jobs)
        kept = [record for n in range(4) for record in records_of(mount / "out" / "points" / f"{n:04d}")]
        assert 0 < len(kept) < 12
        assert list(mount.rglob("*.partial")) == []
        subprocess.run(["mount", "-o", "remount,size=10m", str(mount)], check=True)
        assert resumed(mount / "out").complete


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"^output: .*: cannot be made: Not a directory"):
        study(DOCUMENT, output=tmp_path / "file" / "out")
    with pytest.raises(InputError, match="exists already"):
        study(DOCUMENT, output=tmp_path)


def test_every_point_is_checked_before_anything_runs(tmp_path: Path) -> None:
    document = DOCUMENT | {"sweep": {"clients.count": [8, 100_000]}}
    too_many = r"^clients\.homes\.count: 100000: must be at most 32765 \(at clients\.count=100000\)$"
    with pytest.raises(InputError, match=too_many):
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


def test_a_failed_run_is_tried_once_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jobs = answered(monkeypatch, lambda job: "gone" if job.attempt == 1 and job.run == 1 else None)
    result = study(ONE, output=tmp_path / "out")
    assert [(job.run, job.attempt) for job in jobs] == [(0, 1), (1, 1), (1, 2), (2, 1)]
    [again] = [record for record in records_of(tmp_path / "out") if record.run == 1]
    assert (again.attempts, again.earlier) == (2, ["gone"])
    assert result.valid


def test_a_run_that_fails_twice_is_kept_and_marked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answered(monkeypatch, lambda job: "gone" if job.run == 1 else None)
    result = study(ONE, output=tmp_path / "out")
    only = result.points[0].result
    assert only is not None
    assert [run.run for run in only.runs] == [0, 2]
    assert [(reason.code, reason.message) for reason in only.invalid_reasons] == [("failed", "run 2 failed: gone")]
    assert not result.valid
    monkeypatch.undo()
    assert resumed(tmp_path / "out").valid


def test_what_is_asked_for_and_fails_twice_is_not_tried_in_the_other_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ended = RunFailedError("the server ended with status 1", field="server.command")
    jobs = answered(monkeypatch, lambda job: ended)
    with pytest.raises(RunFailedError) as error:
        study(ONE, output=tmp_path / "out")
    assert (error.value.message, error.value.field, error.value.kept) == (ended.message, ended.field, None)
    assert [(job.run, job.attempt) for job in jobs] == [(0, 1), (0, 2)]
    assert list(tmp_path.iterdir()) == []


def test_a_point_whose_runs_all_fail_leaves_the_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    refused = RunFailedError("the kernel refuses 'x'", field="server.congestion")
    jobs = answered(monkeypatch, lambda job: refused if job.point == 2 else None)
    result = study(DOCUMENT, output=tmp_path / "out", jobs=1)
    assert [point.result is not None for point in result.points] == [True, True, False, True]
    assert sum(job.point == 2 for job in jobs) == 2
    assert [record.failure for record in records_of(tmp_path / "out" / "points" / "0002")] == [str(refused)] * 3


def test_a_point_with_figures_has_no_failure_also_where_its_manifest_is_not_written_yet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answered(monkeypatch, lambda job: "gone" if job.point == 1 or job.run == 0 else None)
    result = study(DOCUMENT, output=tmp_path / "out", jobs=1)
    assert [point.failure for point in result.points] == [None, "gone", None, None]
    for manifest in (tmp_path / "out").rglob("manifest.json"):
        manifest.unlink()
    assert [point.failure for point in load_study(tmp_path / "out").points] == [None, "gone", None, None]


def test_a_run_that_fails_when_others_have_figures_takes_none_with_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    late = RunFailedError("the server did not answer", field="server.command")
    answered(monkeypatch, lambda job: late if job.run == 1 else None)
    only = study(ONE, output=tmp_path / "out").points[0].result
    assert only is not None
    assert [run.run for run in only.runs] == [0, 2]


def test_a_live_run_that_the_machine_disturbed_is_tried_once_more() -> None:
    # What its transactions did would be selected away.
    invalid = [
        Invalid(code="censored", message="the interval was too short"),
        Invalid(code="steal", message="the hypervisor took 3 %"),
    ]
    job = Job(0, 0, {}, "", 1.0)
    done = Done(job, 1.0, summary=summary(100.0).model_copy(update={"invalid": invalid}))
    first = first_attempt(done, "live")
    assert first is not None
    assert (first.wrong, first.figures) == (("the hypervisor took 3 %",), done.summary)
    assert first_attempt(done, "sim") is None
    assert first_attempt(replace(done, job=replace(job, attempt=2)), "live") is None


def test_a_server_that_ended_is_not_tried_again() -> None:
    done = Done(Job(0, 0, {}, "", 1.0), 1.0, error=RunFailedError("gone"))
    assert first_attempt(done, "sim") is not None
    assert first_attempt(replace(done, final=True), "sim") is None


def test_both_attempts_of_a_run_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    disturbed = ["the hypervisor took 3 %"]
    first = summary(100.0, 1)
    attempt = FirstAttempt(tuple(disturbed), first)
    monkeypatch.setattr(module, "first_attempt", lambda done, mode: attempt if done.summary == first else None)
    answered(monkeypatch, lambda job: first if (job.run, job.attempt) == (1, 1) else None)
    result = study(ONE, output=tmp_path / "out")
    once, again, _ = records_of(tmp_path / "out")
    assert (once.attempts, once.earlier, once.first) == (1, [], None)
    assert (again.attempts, again.earlier, again.first) == (2, disturbed, first)
    assert again.summary is not None
    assert again.summary.throughput != first.throughput
    only = result.points[0].result
    assert only is not None
    assert [run.throughput for run in only.runs][1] == again.summary.throughput


@pytest.mark.usefixtures("pretended_live")
def test_a_second_attempt_that_an_interrupt_prevented_is_made_by_resuming(
    monkeypatch: pytest.MonkeyPatch, engine: FakeEngine, tmp_path: Path
) -> None:
    engine.invalid = [{"code": "steal", "message": "the hypervisor took 3 %"}]

    def interrupted(job: Job) -> None:
        if job.attempt == 2:
            raise KeyboardInterrupt

    jobs = answered(monkeypatch, interrupted)
    asked = ONE | {"mode": "live", "measure": {"runs": 2}}
    assert not study(asked, output=tmp_path / "out").complete
    assert [(job.run, job.attempt) for job in jobs] == [(0, 1), (1, 1), (0, 2)]
    assert "stopped before all runs were made: 0 of 2" in load(tmp_path / "out").invalid_reasons[-1].message
    engine.invalid = []
    monkeypatch.undo()
    engine.install(monkeypatch)
    monkeypatch.setattr(live, "spec", lambda experiment, placement: None)
    monkeypatch.setattr(live, "accounted", lambda run, bed: run)
    assert resumed(tmp_path / "out").valid
    assert [(record.run, record.attempts) for record in records_of(tmp_path / "out")] == [(0, 2), (1, 2)]
    assert all(record.first and record.first.invalid for record in records_of(tmp_path / "out"))


def test_a_disturbed_run_whose_second_attempt_fails_keeps_its_figures(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    disturbed = ("the hypervisor took 3 %",)
    monkeypatch.setattr(attempts, "disturbed_attempt", lambda summary, mode: FirstAttempt(disturbed, summary))
    jobs = answered(monkeypatch, lambda job: "gone" if job.attempt == 2 else None)
    result = study(ONE, output=tmp_path / "out")
    assert result.complete
    assert [(record.attempts, record.earlier) for record in records_of(tmp_path / "out")] == [
        (2, ["attempt 2: gone"])
    ] * 3
    assert len(jobs) == 6
    resumed(tmp_path / "out")
    assert len(jobs) == 6


def test_a_stopped_run_is_kept_until_one_takes_its_place(
    monkeypatch: pytest.MonkeyPatch, engine: FakeEngine, tmp_path: Path
) -> None:
    asked = ONE | {"measure": {"runs": 1}}
    engine.interrupt_at = (0, 2)
    stopped = study(asked, output=tmp_path / "out").points[0].result
    assert stopped is not None
    # One that is stopped earlier, or fails, does not.
    engine.interrupt_at = (0, 1)
    assert resumed(tmp_path / "out").points[0].result == stopped
    with monkeypatch.context() as patch:
        answered(patch, lambda job: RunFailedError("the server does not answer", field="server.command"))
        with pytest.raises(RunFailedError, match=r"does not answer; what was measured is kept in .*out$"):
            resume(tmp_path / "out")
    assert load(tmp_path / "out").runs == stopped.runs
    assert resumed(tmp_path / "out").valid


def test_a_server_that_ends_has_no_second_attempt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    begun: list[int] = []
    real = OneRun.__init__

    def counted(self: OneRun, scenario: dict[str, Any], *more: Any) -> None:
        begun.append(scenario["run"])
        real(self, scenario, *more)

    monkeypatch.setattr(OneRun, "__init__", counted)
    monkeypatch.setattr(OneRun, "server_ended", True)
    monkeypatch.setattr(RunSummary, "failure", "the server ended")
    with pytest.raises(RunFailedError, match=r"^the server ended; what was measured is kept in "):
        study(ONE, output=tmp_path / "out")
    assert begun == [0, 1, 2]
    assert [(record.attempts, record.earlier) for record in records_of(tmp_path / "out")] == [(1, [])] * 3


def test_a_run_that_fails_twice_with_figures_keeps_the_first_ones_and_counts_for_no_rule(
    engine: FakeEngine, tmp_path: Path
) -> None:
    engine.invalid = [{"code": "failed", "message": "the device went"}]
    measure = {"runs": 2, "until": {"ci": "50%", "max_runs": 3}}
    with pytest.raises(RunFailedError, match="the device went"):
        study(ONE | {"measure": measure}, output=tmp_path / "out")
    assert len(engine.scenarios) == 6
    records = records_of(tmp_path / "out")
    assert [(record.attempts, record.earlier) for record in records] == [(2, ["attempt 2: the device went"])] * 3
    assert not load(tmp_path / "out").interrupted


def test_an_interrupt_of_a_sweep_in_this_process_keeps_the_run_under_way(engine: FakeEngine, tmp_path: Path) -> None:
    engine.interrupt_at = (0, 2)
    result = study(DOCUMENT, output=tmp_path / "out", jobs=1)
    assert not result.complete
    [cut] = [run for point in result.points if point.result is not None for run in point.result.runs if run.stopped]
    assert 0 < cut.interval_s < 10
    assert resumed(tmp_path / "out").complete


def simulating() -> int:
    """Processes below this one whose engine has computed for 0.2 s, which is more than a warm-up takes."""
    found = 0
    for pid in descendants(os.getpid(), parents()):
        for thread in Path(f"/proc/{pid}/task").glob("*"):
            with contextlib.suppress(OSError):  # it ended meanwhile
                used = int((thread / "schedstat").read_text().split()[0])
                found += (thread / "comm").read_text() == "wasp-engine\n" and used > 200_000_000
    return found


def test_an_interrupt_of_processes_keeps_what_is_under_way_in_each(tmp_path: Path) -> None:
    asked = LONG | {"measure": {"runs": 2, "warmup": "1s", "duration": "24h"}}

    def interrupt(progress: StudyProgress) -> None:
        if simulating() == 2:
            raise KeyboardInterrupt

    result = study(asked, output=tmp_path / "out", jobs=2, on_progress=interrupt)
    assert not result.complete
    cut = [run for point in result.points if point.result is not None for run in point.result.runs]
    assert [(run.stopped, run.interval_s > 0) for run in cut] == [(True, True)] * 2


def test_one_process_at_a_time_makes_the_runs_of_a_directory(tmp_path: Path) -> None:
    plan, found = prepare(ONE, tmp_path / "out")
    with module.Study.begin(plan, found, tmp_path / "out") as begun:
        with pytest.raises(InputError, match="its runs are being made by another process"):
            resume(tmp_path / "out")
        assert begun.run().valid
    assert resumed(tmp_path / "out").valid


def test_a_directory_that_could_not_be_taken_is_free_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    study(ONE, output=tmp_path / "out")

    def full(self: Room) -> None:
        raise RunFailedError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(Room, "take", full)
        with pytest.raises(RunFailedError, match="no room"):
            resume(tmp_path / "out")
    assert resumed(tmp_path / "out").valid


def test_a_run_past_its_time_limit_is_given_up(tmp_path: Path) -> None:
    measure = {"runs": 1, "warmup": "1s", "duration": "20h", "time_limit": "300ms"}
    with pytest.raises(RunFailedError, match=r"^given up after 0\.3 s, its time limit \(measure\.time_limit\)$"):
        study(ONE | {"measure": measure}, output=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_keeps_what_is_finished(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(job: Job) -> None:
        if job.run == 2:
            raise KeyboardInterrupt

    answered(monkeypatch, interrupted)
    result = study(ONE, output=tmp_path / "out")
    assert not result.complete
    kept = load(tmp_path / "out")
    assert kept == result.points[0].result
    assert kept.interrupted
    assert [run.run for run in kept.runs] == [0, 1]
    assert "stopped before all runs were made: 2 of 3" in kept.invalid_reasons[-1].message
    monkeypatch.undo()
    assert resumed(tmp_path / "out").valid
    assert not load(tmp_path / "out").interrupted


def test_the_engine_is_told_each_run_in_turn(engine: FakeEngine, tmp_path: Path) -> None:
    study(ONE | {"measure": {"runs": 3, "order": "listed"}}, output=tmp_path / "out")
    assert [(scenario["seed"], scenario["run"]) for scenario in engine.scenarios] == [(5, 0), (5, 1), (5, 2)]
