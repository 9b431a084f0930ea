"""A calibration: known costs go in, and are found again; what is made, gone on with, and said of it."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from waspbench.calibration import trials
from waspbench.calibration.counts import WORK
from waspbench.calibration.fit import (
    FIELDS,
    FULL_LOAD,
    HANDED_OVER,
    NOT_REACHED,
    PART_LOAD,
    Fitted,
    cores_of,
    fitted,
    hands_over,
    model_of,
)
from waspbench.calibration.told import ASSUMED, NOT_AT_ITS_LIMIT, SAME_NUMBER, not_told
from waspbench.calibration.trials import Answered
from waspbench.cli import calibration_text
from waspbench.cli.app import invoke
from waspbench.errors import CannotRunError, InputError, RunFailedError
from waspbench.experiment import parse
from waspbench.experiment.model_files import model_of as model_in
from waspbench.experiment.units import seconds
from waspbench.results import catalogue
from waspbench.results.calibration import CALIBRATION, MODEL, CalibratedPoint, CalibrationResult, load_calibration
from waspbench.results.store import MANIFEST
from waspbench.results.study import StudyResult, load_study
from waspbench.results.summary import Invalid, RunSummary
from waspbench.runner import calibration
from waspbench.runner.api import resume, run
from waspbench.runner.calibration import Calibration, calibrate, prepare_calibration
from waspbench.runner.pipeline import StudyProgress
from waspbench.runner.timing import OVERHEAD

KNOWN: dict[str, Any] = {
    "concurrency": "event",
    "per_connection": "25us",
    "per_request": "30us",
    "per_kib": "0.3us",
    "per_data": "2us",
    "per_ack": "2us",
    "per_syn": "2us",
    "per_interrupt": "5us",
    "per_frame": "3us",
    "per_segment": "0.2us",
    "per_wakeup": "4us",
    "per_doubling": "1.5us",
    "per_tick": "5us",
}
"""A machine whose costs a calibration is to find."""
EXPECTED = {
    "connections": 25.0,
    "requests": 30.0,
    "kib": 0.3,
    "frames": 3.0,
    "segments": 0.2,
    "received": 2.0,
    "interrupts": 5.0,
    "wakeups": 4.0,
    "doublings": 1.5,
    "seconds": 5_000.0,
}
"""These costs in microseconds: 5 us in each millisecond are 5,000 us in a second."""
STEAL, LAG = (
    {"code": code, "message": code, "group": None, "enough_s": None, "enough_warmup_s": None}
    for code in ("steal", "lag")
)
DOCUMENT: dict[str, Any] = {"name": "known", "server": {"model": KNOWN}}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> CalibrationResult:
    """The quick calibration of a modelled server in the place of a live one."""
    return calibrate(DOCUMENT, output=tmp_path_factory.mktemp("calibration") / "out", quick=True, mode="sim")


def copied(made: CalibrationResult, to: Path) -> Path:
    assert made.results is not None
    shutil.copytree(made.results, to)
    return to


def changed(directory: Path, stage: str, index: int, **run: Any) -> None:
    """Puts other values into the record and the manifest of a point's only run."""
    folder = directory / stage / "points" / f"{index:04}"
    for path, where in ((folder / MANIFEST, ("runs", 0)), (folder / "runs" / "run-0.json", ("summary",))):
        content = json.loads(path.read_text())
        own = content
        for key in where:
            own = own[key]
        for field, value in run.items():
            own[field] = own[field] | value if isinstance(value, dict) else value
        path.write_text(json.dumps(content))


def points_of(made: CalibrationResult, stage: str) -> int:
    return sum(point.stage == stage for point in made.points)


@pytest.mark.slow
def test_known_costs_are_found_again(made: CalibrationResult) -> None:
    assert made.valid
    assert {cost.work for cost in made.costs} == set(EXPECTED)
    for cost in made.costs:
        # What is under way at the ends of an interval is counted in part, so that errors are no pure noise.
        assert cost.us == pytest.approx(EXPECTED[cost.work], rel=0.02), cost.work
        assert not cost.may_be_zero
        assert not cost.known_with
    assert made.error is not None
    assert made.error < 0.002
    assert all(point.error is not None and not point.left_out for point in made.points)
    # The runs asked for what they were to ask for, and the server did as much.
    parts = [point for point in made.points if point.stage == PART_LOAD]
    assert {round(point.load or 0, 2) for point in parts} == {0.01, 0.1, 0.4}
    assert all(point.reached == pytest.approx(point.load, rel=0.15) for point in parts)


@pytest.mark.slow
def test_the_model_file_has_the_model_and_what_it_was_fitted_on(made: CalibrationResult) -> None:
    assert made.results is not None
    text = (Path(made.results) / MODEL).read_text()
    model = model_in(text, MODEL)
    assert (model.cores, model.concurrency, model.fin_with_data) == (1, "event", False)
    assert seconds(model.per_request or "") == pytest.approx(30e-6, rel=0.02)
    assert seconds(model.per_tick or "") == pytest.approx(5e-6, rel=0.02)
    assert model.per_data == model.per_ack == model.per_duplicate_ack == model.per_syn == model.per_timer
    assert model.per_retransmission == "0us"
    fit = model.fit
    assert fit is not None
    assert fit["valid"]
    assert fit["points"] == len(made.points)
    assert {field for cost in fit["costs"] for field in cost["fields"]} == {
        name for each in FIELDS.values() for name in each
    }
    assert {*SAME_NUMBER, *ASSUMED} <= set(fit["not_told"])


@pytest.mark.slow
def test_what_was_found_can_be_read_shown_and_listed(
    made: CalibrationResult, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = Path(str(made.results))
    assert load_calibration(directory) == made
    assert invoke(["show", str(directory)]) == 0
    shown = capsys.readouterr().out
    for said in ("requests that ended", "What the runs cannot tell:", f"model: {directory}/{MODEL}"):
        assert said in shown
    assert invoke(["show", str(directory), "--percentiles", "50"]) == 2
    assert invoke(["report", str(directory)]) == 2
    assert "holds a calibration, which has no report" in capsys.readouterr().err
    entry = catalogue.describe(directory)
    assert (entry.kind, entry.valid, entry.points, entry.runs) == ("calibration", True, 18, 18)
    with pytest.raises(InputError, match="holds a calibration, which wasp show prints and load_calibration reads"):
        load_study(directory)
    with pytest.raises(InputError, match="which load_study reads"):
        load_calibration(directory / FULL_LOAD)
    assert load_study(directory / FULL_LOAD).complete
    frame = made.to_frame()
    assert frame["work"].to_list() == list(EXPECTED)
    assert frame["us_low"][1] < frame["us"][1] < frame["us_high"][1]


@pytest.mark.slow
def test_a_calibration_goes_on_where_it_was(
    made: CalibrationResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = copied(made, tmp_path / "out")
    lost = directory / PART_LOAD / "points" / "0003" / "runs" / "run-0.json"
    for path in (lost, directory / CALIBRATION, directory / MODEL):
        path.unlink()
    assert catalogue.describe(directory).valid is None
    with pytest.raises(InputError, match=r"out: is not complete; wasp resume .*out makes the rest$"):
        load_calibration(directory)
    assert invoke(["resume", str(directory), "--junit", str(tmp_path / "x.xml")]) == 2
    assert invoke(["resume", str(directory), "--json", "--quiet"]) == 0
    again = CalibrationResult.model_validate_json(capsys.readouterr().out)
    assert again.costs == made.costs
    assert lost.exists()
    assert (directory / MODEL).exists()


@pytest.mark.slow
def test_an_interrupted_calibration_says_what_is_missing(made: CalibrationResult, tmp_path: Path) -> None:
    directory, told = copied(made, tmp_path / "out"), []
    shutil.rmtree(directory / PART_LOAD)
    (directory / MODEL).unlink()

    def stop(progress: StudyProgress) -> None:
        told.append(progress)
        if progress.done > 8:
            raise KeyboardInterrupt

    found = resume(directory, jobs=1, on_progress=stop)
    assert isinstance(found, CalibrationResult)
    assert not found.complete
    assert found.why == "runs are missing"
    assert not (directory / MODEL).exists()
    assert told[0].total == len(made.points)
    assert told[0].done >= points_of(made, FULL_LOAD)
    again = resume(directory)
    assert isinstance(again, CalibrationResult)
    assert again.costs == made.costs


@pytest.mark.slow
def test_an_interrupt_loses_nothing_that_was_measured(made: CalibrationResult, tmp_path: Path) -> None:
    directory = copied(made, tmp_path / "out")
    before = (directory / CALIBRATION).read_bytes()

    def stop(progress: StudyProgress) -> None:
        raise KeyboardInterrupt

    opened = Calibration.open(directory)
    found = opened.run(jobs=1, on_progress=stop)
    assert opened.stopped
    assert found.complete
    assert (directory / CALIBRATION).read_bytes() == before


@pytest.mark.slow
@pytest.mark.usefixtures("heard")
def test_an_interrupt_waits_for_the_result(made: CalibrationResult, tmp_path: Path) -> None:
    opened = Calibration.open(copied(made, tmp_path / "out"))
    written = 0

    def summarise(stages: Mapping[str, StudyResult]) -> CalibrationResult:
        nonlocal written
        written += 1
        signal.raise_signal(signal.SIGINT)
        return Calibration.summarise(opened, stages)

    opened.summarise = summarise  # type: ignore[method-assign, assignment]
    assert opened.run(jobs=1).costs == made.costs
    assert (opened.stopped, written) == (True, 1)


@pytest.mark.slow
def test_one_process_at_a_time_has_a_calibration(made: CalibrationResult, tmp_path: Path) -> None:
    directory = copied(made, tmp_path / "out")
    opened = Calibration.open(directory)
    with pytest.raises(InputError, match="process"):
        Calibration.open(directory)
    opened.run(jobs=1)
    assert resumed(directory).valid


@pytest.mark.slow
def test_a_second_stage_that_cannot_be_made_keeps_the_first(
    made: CalibrationResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = copied(made, tmp_path / "out")
    shutil.rmtree(directory / PART_LOAD)
    (directory / CALIBRATION).unlink()

    def fail(*_: object) -> None:
        raise CannotRunError("nginx is not installed")

    monkeypatch.setattr(Calibration, "prepared", fail)
    with pytest.raises(RunFailedError, match="nginx is not installed") as caught:
        resume(directory, jobs=1)
    assert caught.value.kept == directory
    assert load_calibration(directory).why == "runs are missing"


def test_a_directory_in_which_nothing_can_be_written_is_not_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, _ = prepare_calibration(DOCUMENT, tmp_path / "out", mode="sim", quick=True)

    def full(*_: object) -> None:
        raise RunFailedError("the disk is full")

    monkeypatch.setattr("waspbench.runner.stages.write_text", full)
    with pytest.raises(RunFailedError, match="the disk is full"):
        Calibration.begin(plan, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_second_stage_takes_the_model_file_of_the_first(
    made: CalibrationResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it is resumed in another directory, and where the file is another one by then."""
    begun = tmp_path / "begun"
    begun.mkdir()
    monkeypatch.chdir(begun)
    (begun / "model.json").write_text(json.dumps(KNOWN))
    document = {"name": "known", "server": {"model": {"file": "model.json"}}}

    def stop(progress: StudyProgress) -> None:
        if progress.done > 5:
            raise KeyboardInterrupt

    found = calibrate(document, output=tmp_path / "out", quick=True, mode="sim", jobs=1, on_progress=stop)
    assert not found.complete
    assert not (tmp_path / "out" / PART_LOAD / "study.json").exists()
    (begun / "model.json").write_text(json.dumps(KNOWN | {"per_request": "1ms"}))
    monkeypatch.chdir(tmp_path)
    assert [cost.us for cost in resumed(tmp_path / "out").costs] == [cost.us for cost in made.costs]


def test_nothing_is_left_of_what_was_interrupted_before_anything_was_measured(tmp_path: Path) -> None:
    def stop(progress: StudyProgress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        calibrate(DOCUMENT, output=tmp_path / "out", quick=True, mode="sim", jobs=1, on_progress=stop)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_point_that_is_not_valid_is_left_out_unless_only_its_packets_were_late(
    made: CalibrationResult, tmp_path: Path
) -> None:
    directory = copied(made, tmp_path / "out")
    changed(directory, PART_LOAD, 1, invalid=[STEAL])
    changed(directory, PART_LOAD, 2, invalid=[LAG])
    found = resumed(directory)
    assert [point.left_out for point in found.points if point.left_out] == ["not valid: steal"]
    assert found.valid


@pytest.mark.slow
def test_of_several_runs_of_a_point_the_valid_ones_count(made: CalibrationResult, tmp_path: Path) -> None:
    directory = copied(made, tmp_path / "out")
    full, part = load_study(directory / FULL_LOAD), load_study(directory / PART_LOAD)
    first = part.points[0]
    assert first.result is not None
    connections = directory / PART_LOAD / "points" / "0000" / "connections"
    shutil.copy(connections / "run-0.parquet", connections / "run-1.parquet")
    [good] = first.result.runs
    busy = good.server_cpu.model_copy(update={"busy": 1.0})
    bad = good.model_copy(update={"run": 1, "server_cpu": busy, "invalid": [Invalid.model_validate(STEAL)]})

    def with_runs(*runs: RunSummary) -> Fitted:
        assert first.result is not None
        point = first.model_copy(update={"result": first.result.model_copy(update={"runs": list(runs)})})
        changed = part.model_copy(update={"points": [point, *part.points[1:]]})
        return fitted({FULL_LOAD: full, PART_LOAD: changed}, one_size=False)

    assert with_runs(good, bad).costs == made.costs
    assert [each.left_out for each in with_runs(bad, bad).points if each.left_out] == ["not valid: steal"]


@pytest.mark.slow
def test_a_slow_server_is_calibrated_by_what_few_requests_took(made: CalibrationResult, tmp_path: Path) -> None:
    directory = copied(made, tmp_path / "out")
    for stage in (FULL_LOAD, PART_LOAD):
        for index in range(points_of(made, stage)):
            changed(directory, stage, index, invalid=[{**STEAL, "code": "too_few"}])
    assert resumed(directory).valid


@pytest.mark.slow
def test_a_load_that_idle_cpus_do_not_reach_is_left_out(tmp_path: Path) -> None:
    """300 processes for 4,096 connections that are kept: most of these wait, and what they cost is not spent."""
    known = {**KNOWN, "concurrency": "process", "processes": 300, "per_wakeup": "0us", "per_doubling": "0us"}
    found = calibrate({"name": "x", "server": {"model": known}}, output=tmp_path / "out", quick=True, mode="sim")
    assert {point.varied["clients.count"] for point in found.points if point.left_out} == {4096}
    assert {point.left_out for point in found.points if point.left_out} == {NOT_REACHED}
    costs = {cost.work: cost.us for cost in found.costs}
    assert costs["connections"] == pytest.approx(25, rel=0.1)
    assert costs["requests"] == pytest.approx(30, rel=0.1)


@pytest.mark.slow
def test_few_points_tell_fewer_costs(made: CalibrationResult, tmp_path: Path) -> None:
    """Ten costs need fifteen points. Below, what a second and what a doubling costs is given up."""
    directory = copied(made, tmp_path / "out")
    for index, costs in ((0, 10), (2, 10), (4, 10), (6, 9), (8, 8), (9, 0)):
        changed(directory, PART_LOAD, index, invalid=[STEAL])
        found = resumed(directory)
        assert len(found.costs) == costs, index
    assert found.why == "12 trials can be used, and the costs of 8 kinds of work need 13"
    assert found.model == {}


@pytest.mark.slow
def test_what_follows_from_too_few_points_is_not_valid(made: CalibrationResult, tmp_path: Path) -> None:
    directory = copied(made, tmp_path / "out")
    for index in range(7):
        changed(directory, PART_LOAD, index, invalid=[STEAL])
    found = resumed(directory)
    assert found.why == "11 trials can be used, and the costs of 8 kinds of work need 13"
    assert found.model == {}
    assert not (directory / MODEL).exists()
    assert invoke(["show", str(directory)]) == 5


@pytest.mark.slow
def test_more_than_a_third_of_the_points_cannot_be_left_out(made: CalibrationResult) -> None:
    left_out = [point.model_copy(update={"left_out": "not valid: steal"}) for point in made.points[:12]]

    def why(*points: CalibratedPoint) -> str:
        found = Fitted([*made.points[:6], *made.points, *points], made.costs, 0.01, 0.02)
        return calibration._why_invalid(found, complete=True, planned=24 + len(points))

    assert why(*left_out) == ""
    said = why(*left_out, left_out[0])
    assert said == "13 of 37 trials had to be left out (13 not valid: steal), and at most a third may be"


@pytest.mark.slow
def test_costs_that_do_not_say_what_was_measured_are_not_valid(made: CalibrationResult, tmp_path: Path) -> None:
    directory = copied(made, tmp_path / "out")
    for index in range(4):
        changed(directory, PART_LOAD, index, server_cpu={"busy": 0.9})
    found = resumed(directory)
    assert found.why.startswith("the costs miss what was measured by ")
    assert json.loads((directory / MODEL).read_text())["fit"]["valid"] is False


@pytest.mark.slow
def test_a_server_of_one_thread_has_one_core_on_however_many_cpus_it_may_run(
    made: CalibrationResult, tmp_path: Path
) -> None:
    full = load_study(copied(made, tmp_path / "out") / FULL_LOAD)

    def at(busy: float, threads: float | None, *reasons: Invalid, rate: float | None = None) -> tuple[int, str]:
        points = []
        for point in full.points:
            assert point.result is not None
            [run] = point.result.runs
            cpu = {"busy": busy, "processes_s": None if threads is None else threads * run.interval_s}
            runs = [run.model_copy(update={"server_cpu": run.server_cpu.model_copy(update=cpu)})]
            server = point.result.scenario["server"]
            scenario = {**point.result.scenario, "server": {**server, "model": {**server["model"], "cores": 4}}}
            update: dict[str, Any] = {"runs": runs, "scenario": scenario, "invalid_reasons": list(reasons)}
            if rate is not None:
                update["throughput"] = point.result.throughput.model_copy(update={"mean": rate})
            points.append(point.model_copy(update={"result": point.result.model_copy(update=update)}))
        return cores_of(full.model_copy(update={"points": points}), 4)

    said = "at full load the server kept 1.60 of the 4 CPUs busy, and its threads took the time of 0.95"
    assert at(0.4, 0.95) == (1, f"cores is 1: {said}.")
    # Of two threads interrupts take a part.
    assert at(0.5, 1.4)[0] == 2
    assert at(0.25, None)[0] == 1
    # Where no CPU is idle, interrupts take the rest.
    assert at(0.99, 2.8) == (4, "cores is 4: at full load the server kept 3.96 of the 4 CPUs busy.")
    # An emulator that was at its limit did not show the server's; nor did clients that waited for the network.
    lag = Invalid.model_validate({"code": "emulator_busy", "message": "95 % busy"})
    for cores, told in (at(0.25, 0.9, lag), at(0.25, 0.9, rate=250_000), cores_of(None, 4)):
        assert cores == 4
        assert "in no run at full load was it the server that made clients wait" in told


@pytest.mark.slow
def test_a_server_that_wakes_a_thread_for_each_request_is_one_of_processes(
    made: CalibrationResult, tmp_path: Path
) -> None:
    directory = copied(made, tmp_path / "out")
    stages = {name: load_study(directory / name) for name in (FULL_LOAD, PART_LOAD)}
    for name, stage in stages.items():
        for point in stage.points:
            assert point.result is not None
            [run] = point.result.runs
            switches = (HANDED_OVER + 0.1) * sum(run.outcomes.values())
            changed(directory, name, point.index, server_cpu={"switches": switches})
    stages = {name: load_study(directory / name) for name in (FULL_LOAD, PART_LOAD)}
    found = fitted(stages, one_size=False)
    assert "wakeups" not in {cost.work for cost in found.costs}
    model = model_of(found.costs, found.points, cores=1, counted_cpus=1, prefork=False)
    assert (model["concurrency"], model["processes"], model["per_wakeup"]) == ("process", 65_536, "0us")
    assert "wakeup_latency" not in model
    # A server with time to spare wakes up for each request whatever it is.
    idle = [point.model_copy(update={"busy": 0.8}) for point in found.points]
    assert hands_over(found.points)
    assert hands_over(idle) is None
    assert model_of(found.costs, idle, cores=1, counted_cpus=1, prefork=False)["concurrency"] == "event"
    assert NOT_AT_ITS_LIMIT in not_told(found.costs, idle, "", one_size=False, of_processes=None, ran_already=False)


@pytest.mark.slow
def test_the_cost_of_a_second_is_that_of_each_core(made: CalibrationResult) -> None:
    """5 us in each millisecond of each CPU that was counted."""

    def per_tick(cores: int, counted: int) -> float:
        model = model_of(made.costs, made.points, cores=cores, counted_cpus=counted, prefork=False)
        return seconds(model["per_tick"])

    assert per_tick(1, 1) == per_tick(4, 4) == pytest.approx(5e-6, rel=0.02)
    # Of one CPU, by a server that four cores model; and of four CPUs, of which it uses one.
    assert per_tick(4, 1) == pytest.approx(1.25e-6, rel=0.02)
    assert per_tick(1, 4) == pytest.approx(20e-6, rel=0.02)


@pytest.mark.slow
def test_a_point_whose_runs_failed_is_left_out(made: CalibrationResult, tmp_path: Path) -> None:
    directory = copied(made, tmp_path / "out")
    full, part = load_study(directory / FULL_LOAD), load_study(directory / PART_LOAD)
    failed = part.points[3].model_copy(update={"result": None, "failure": "run 1 failed: no"})
    points = [failed if point.index == 3 else point for point in part.points]
    found = Calibration.open(directory).summarise(
        {FULL_LOAD: full, PART_LOAD: part.model_copy(update={"points": points, "complete": False})}
    )
    assert (found.complete, found.valid) == (True, True)
    assert [point.left_out for point in found.points if point.left_out] == ["failed: run 1 failed: no"]
    assert len(found.costs) == 10
    assert "failed: run 1 failed: no" in calibration_text.text(found)


def resumed(directory: Path) -> CalibrationResult:
    found = resume(directory, jobs=1)
    assert isinstance(found, CalibrationResult)
    return found


def test_a_simulation_with_the_model_of_an_invalid_calibration_says_so(tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    experiment: dict[str, Any] = {
        "name": "x",
        "server": {"model": {"file": str(file)}},
        "clients": [{"count": 2, "rtt": "10ms"}],
        "measure": {"warmup": "0s", "duration": "1s", "runs": 1},
    }

    def notes(fit: Mapping[str, Any]) -> list[str]:
        file.write_text(json.dumps({"per_request": "1ms", "fit": fit}))
        return run(experiment, mode="sim").notes

    said = f"{file}: the calibration that wrote this model is not valid: runs are missing"
    assert said in notes({"valid": False, "why": "runs are missing"})
    assert notes({"valid": True, "why": ""}) == notes({}) == notes({"valid": "of course"})


def test_the_loads_follow_from_what_the_server_can_answer() -> None:
    stage = (
        trials.Trial(256, "1KiB", 100, 0.1),
        trials.Trial(4096, "1KiB", 1, 0.4, "20ms"),
        trials.Trial(256, "1KiB", 1),
    )
    most = {("1KiB", 100): Answered(50_000.0, 1024), ("1KiB", 1): Answered(20_000.0, 1024)}
    thinks = trials.document({"name": "x"}, stage, most, runs=1, quick=False)["sweep"]["zip"]["clients.think"]
    # 256 clients that ask for 5,000/s: each once in 51.2 ms, of which 1.01 round trips of 1 ms are the network's.
    assert thinks[0] == {"model": "exponential", "mean": f"{round((256 / 5_000 - 1.01e-3) * 1e6)}us"}
    assert thinks[1] == {"model": "exponential", "mean": f"{round((4096 / 8_000 - 0.04) * 1e6)}us"}
    assert thinks[2] == {"model": "none"}


def test_the_pause_leaves_out_the_round_trips_in_which_the_window_grows() -> None:
    """64 KiB are 45 segments: windows of 10, 20 and 40 take three round trips, and one more goes to the handshake."""
    stage = (trials.Trial(512, "64KiB", 1, 0.1, "100ms"), trials.Trial(512, "64KiB", 100, 0.1, "100ms"))
    most = {("64KiB", 1): Answered(5_000.0, 65_536), ("64KiB", 100): Answered(10_000.0, 65_536)}
    swept = trials.document({"name": "x"}, stage, most, runs=1, quick=False)["sweep"]["zip"]
    pauses = [seconds(think["mean"]) for think in swept["clients.think"]]
    assert pauses == [pytest.approx(512 / 500 - 0.4, abs=1e-6), pytest.approx(512 / 1_000 - 0.103, abs=1e-6)]
    points = [{path: values[index] for path, values in swept.items()} for index in range(2)]
    assert [trials.load_of(point, most) for point in points] == [pytest.approx(0.1), pytest.approx(0.1)]
    assert trials.load_of(points[0], {}) is None


def test_runs_that_come_to_the_same_are_made_once() -> None:
    stage = (trials.Trial(16, "1KiB", 100, 0.1), trials.Trial(16, "1KiB", 100, 0.4))
    made = trials.document({"name": "x"}, stage, {("1KiB", 100): Answered(1e9, 1024)}, runs=1, quick=False)
    assert len(made["sweep"]["zip"]["clients.count"]) == 1


def described(**server: Any) -> Any:
    return parse({"name": "x", "server": server, "clients": [{}]})


@pytest.mark.parametrize("quick", [False, True])
def test_the_runs_are_as_different_as_the_costs_need(quick: bool) -> None:
    full, parts = trials.stages(described(), quick=quick)
    assert all(trial.load == 1 for trial in full)
    assert {trial.asked for trial in parts} <= {trial.asked for trial in full}, "parts of an unknown load"
    points = [*full, *parts]
    assert len(points) > len(WORK) + 2
    assert {trial.connections for trial in points} >= {16, 256, 4096}
    assert {trial.load for trial in points} >= {0.1, 0.4, 1.0}
    assert {trial.mss for trial in points} == {536, 1460}
    assert {trial.requests for trial in points} == {1, trials.MANY}
    if not quick:
        assert {trial.rtt for trial in points} >= {"50ms", "100ms"}


def test_the_usual_delay_of_acknowledgments_is_that_of_linux() -> None:
    def packets(**fields: str) -> int:
        clients = [{"count": 4, "rtt": "30ms", "tcp": fields, "http": {"requests_per_connection": 3}}]
        measure = {"warmup": "0s", "duration": "2s", "runs": 1}
        made = run({"name": "x", "clients": clients, "workload": {"size": "9KB"}, "measure": measure}, mode="sim")
        return made.runs[0].network.up.packets

    assert packets() == packets(delayed_ack=trials.DELAYED_ACK)
    assert packets() < packets(delayed_ack="0ms")


def test_the_pause_for_a_resource_of_the_servers_own_follows_from_its_size() -> None:
    """Of 64 KiB as of a file of that size, whatever size the trial has."""
    stage = (trials.Trial(512, "1KiB", 1, 0.1, "100ms"),)
    swept = trials.document({"name": "x"}, stage, {("1KiB", 1): Answered(5_000.0, 65_536)}, runs=1, quick=False)
    assert seconds(swept["sweep"]["zip"]["clients.think"][0]["mean"]) == pytest.approx(512 / 500 - 0.4, abs=1e-6)


def test_a_calibration_lasts_less_than_seven_minutes() -> None:
    """A run takes two seconds beside its own, and one of five is made again."""
    runs = sum(len(stage) for stage in trials.stages(described(), quick=False))
    each = seconds(trials.MEASURE["warmup"]) + seconds(trials.MEASURE["duration"]) + OVERHEAD
    assert 1.2 * each * runs < 7 * 60


def test_a_resource_of_the_servers_own_has_one_size() -> None:
    full, parts = trials.stages(described(kind="url", url="http://127.0.0.1:8080/api"), quick=False)
    assert {trial.size for trial in (*full, *parts)} == {"1KiB"}
    assert len(set(parts)) == len(parts)


def test_a_calibration_takes_only_the_server_of_an_experiment(tmp_path: Path) -> None:
    document = {
        "name": "x",
        "seed": 4,
        "server": {"kind": "nginx", "model": {"per_request": "1us"}},
        "clients": [{"loss": {"rate": "3%"}}],
        "sweep": {"clients.rtt": ["1ms", "2ms"]},
    }
    plan, _ = prepare_calibration(document, tmp_path / "out", mode="sim")
    assert plan.document == {"name": "x", "seed": 4, "server": document["server"]}
    assert calibration._base(document, "live")["server"] == {"kind": "nginx"}
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"server": {"kind": "nginx", "access_log": True}}, r"^server\.access_log: true: takes CPU time of the server"),
        ({"sweep": {"server.kind": ["nginx", "apache"]}}, r'^sweep: "server\.kind": varies the server'),
        (
            {"sweep": {"zip": {"server.mpm": ["event", "prefork"], "clients.rtt": ["1ms", "2ms"]}}},
            r'^sweep: "server\.mpm": varies the server',
        ),
    ],
)
def test_what_a_calibration_cannot_measure_is_refused(document: Mapping[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        prepare_calibration({"name": "x", "clients": [{}], **document}, tmp_path / "out", mode="sim")


def test_a_dry_run_says_what_the_stages_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out"
    assert invoke(["calibrate", "--mode", "sim", "--quick", "--dry-run", "-o", str(output)]) == 0
    said = capsys.readouterr().out
    for part in ("6 points, 1 runs each:", "12 points, 1 runs each:", "follow from what the server answers"):
        assert part in said
    assert not output.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--set clients.count=4", "--set: "),
        ("--set server.model.per_request=1us", "--set: "),
        ("--set server.at=r1 --mode sim", "--set: "),
        ("nothing.toml --seed 4", "--seed: "),
        ("nothing", "FILE.toml|URL: "),
        ("--mode fast", "--mode: "),
        ("http://127.0.0.1:1/ --mode sim", "URL: "),
        ("--clients 4", "Unknown option: --clients. It is a flag of wasp "),
        ("--server nginx --mpm event", "--mpm: "),
        ("--dry-run --json --mode sim", "--json: "),
    ],
)
def test_a_mistake_is_one_line(arguments: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["calibrate", *arguments.split()]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"wasp: {said}")
    assert told.count("\n") == 1


def test_stages_that_fail_leave_nothing(tmp_path: Path) -> None:
    document = {"name": "x", "server": {"model": {"per_request": "10s", "cores": 1}}}
    plan, _ = prepare_calibration(document, tmp_path / "out", mode="sim", quick=True)
    started = Calibration.begin(plan, tmp_path / "out")

    def fail(*_: object) -> None:
        raise RunFailedError("no")

    started.prepared = fail  # type: ignore[method-assign, assignment]
    with pytest.raises(RunFailedError, match=r"^no$"):
        started.run()
    assert not (tmp_path / "out").exists()
