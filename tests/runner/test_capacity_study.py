"""Capacity by runs of the simulated engine, and what is said of the bottleneck."""

from __future__ import annotations

import json
import re
import shutil
from itertools import count, groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from answered_runs import Answer, answered
from fake_core import FakeEngine
from measured_runs import summary
from waspbench import CannotRunError, InputError, RunFailedError, live, resume, run
from waspbench.cli import science_text
from waspbench.experiment import Experiment, parse
from waspbench.experiment.inputs import Inputs
from waspbench.experiment.metrics import PERCENTILES
from waspbench.experiment.search import Method, Search
from waspbench.experiment.units import seconds
from waspbench.results import FORMAT, Invalid, RunSummary
from waspbench.results.bottleneck import bottleneck_of, rates_of
from waspbench.results.capacity import CAPACITY, CapacityResult, load_capacity
from waspbench.results.comparing import compare_results
from waspbench.results.loads import Load, LoadReading, readings_at
from waspbench.results.records import read_record, record_path
from waspbench.results.store import write_table
from waspbench.runner.capacity import CapacityStudy, capacity
from waspbench.runner.job import Job
from waspbench.runner.lengths import LONGEST
from waspbench.runner.load import with_load
from waspbench.runner.pipeline import Begun, StudyProgress
from waspbench.runner.readings import full_links
from waspbench.stats.capacity import Capacity, CapacitySearch, Reading
from waspbench.tabular import NONE
from waspbench.topology import resolved

DOCUMENT: dict[str, Any] = {
    "name": "c",
    "mode": "sim",
    "clients": [{"count": 8, "rtt": "20ms"}],
    "server": {"model": {"per_request": "1ms"}},
    "measure": {"warmup": "500ms", "duration": "1s"},
}
SEARCH = Search(high=128)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("capacity") / "whole"
    capacity(DOCUMENT, output=directory, search=SEARCH)
    return directory


def point(result: CapacityResult) -> Any:
    [only] = result.points
    return only


def test_a_simulated_server_has_the_capacity_of_its_cpu(whole: Path) -> None:
    found = load_capacity(whole)
    # 1 ms a request and 1 us a KiB, and what a packet costs.
    assert point(found).capacity == pytest.approx(1000, rel=0.02)
    assert point(found).saturated
    assert point(found).bottleneck == "server"
    assert point(found).confirmed
    assert found.valid
    assert point(found).runs <= 15
    assert [reading.run for reading in point(found).readings] == list(range(point(found).runs))


def test_confirming_runs_are_fresh(whole: Path) -> None:
    confirming = [reading for reading in point(load_capacity(whole)).readings if reading.confirming]
    assert len(confirming) == 4
    records = [json.loads((whole / f"load-{r.load}" / "runs" / f"run-{r.run}.json").read_text()) for r in confirming]
    assert [record["summary"]["throughput"] for record in records] == [reading.throughput for reading in confirming]


def test_an_interrupted_search_goes_on_where_it_was(whole: Path, tmp_path: Path) -> None:
    directory = Path(shutil.copytree(whole, tmp_path / "copy"))
    readings = point(load_capacity(whole)).readings
    for reading in readings[5:]:
        (directory / f"load-{reading.load}" / "runs" / f"run-{reading.run}.json").unlink()
    (directory / CAPACITY).unlink()
    again = CapacityStudy.open(directory).run()
    assert point(again) == point(load_capacity(whole))


def test_an_interrupt_keeps_what_is_finished(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, whole: Path) -> None:
    def interrupted(job: Job) -> None:
        if job.run == 3:
            raise KeyboardInterrupt

    answered(monkeypatch, interrupted)
    cut = capacity(DOCUMENT, output=tmp_path / "out", search=SEARCH)
    assert cut == load_capacity(tmp_path / "out")
    assert not cut.complete
    assert point(cut).runs == 3
    monkeypatch.undo()
    assert point(CapacityStudy.open(tmp_path / "out").run()) == point(load_capacity(whole))


def test_every_point_of_a_sweep_has_its_capacity(tmp_path: Path) -> None:
    document = DOCUMENT | {"sweep": {"server.model.per_request": ["1ms", "2ms"]}}
    result = capacity(document, output=tmp_path / "out", search=SEARCH, jobs=2)
    assert [round(point.capacity or 0, -2) for point in result.points] == [1000, 500]


def test_the_papers_way_is_every_power_of_two(tmp_path: Path) -> None:
    measure = DOCUMENT["measure"] | {"runs": 2}
    result = capacity(DOCUMENT | {"measure": measure}, output=tmp_path / "out", search=Search("sweep", low=8, high=64))
    assert [reading.load for reading in point(result).readings] == [8, 8, 16, 16, 32, 32, 64, 64]
    assert point(result).capacity == pytest.approx(1000, rel=0.02)


def test_an_objective_bounds_the_load(tmp_path: Path) -> None:
    # Past saturation each client adds a millisecond of waiting.
    search = Search(high=128, objectives=("p99 < 40ms",))
    found = point(capacity(DOCUMENT, output=tmp_path / "out", search=search))
    assert found.capacity == pytest.approx(1000, rel=0.05)
    assert found.load <= 40
    assert any("not all.p99 < 40ms" in reading.notes for reading in found.readings if not reading.meets)


def test_a_run_whose_emulator_was_the_bottleneck_never_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def answer(job: Job) -> Answer:
        load = job.load or 0
        made = summary(float(load), job.run, busy=0.5)
        if load > 50:
            made = made.model_copy(update={"invalid": [Invalid(code="lag", message="the emulator fell behind")]})
        return made

    answered(monkeypatch, answer)
    found = point(capacity(DOCUMENT, output=tmp_path / "out", search=SEARCH))
    assert 45 <= found.load <= 50
    assert found.bottleneck == "emulator"
    assert all(reading.load > 50 for reading in found.readings if not reading.counts)


def test_a_run_that_fails_twice_does_not_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def answer(job: Job) -> Answer:
        if job.load == 128:
            return "gone"
        return summary(float(job.load or 0), job.run)

    jobs = answered(monkeypatch, answer)
    found = point(capacity(DOCUMENT, output=tmp_path / "out", search=SEARCH))
    assert [job.attempt for job in jobs if job.load == 128] == [1, 2]
    assert [reading.attempts for reading in found.readings if reading.load == 128] == [2]
    assert found.load < 128
    assert found.confirmed
    # The emulator has nothing to do with it, and what is wrong is said.
    assert found.bottleneck == "unknown"
    assert found.why == "not saturated: server CPU 50 % busy; at 128 clients a run failed: gone"


@pytest.mark.usefixtures("pretended_live")
@pytest.mark.parametrize(
    ("code", "attempts"), [("steal", 2), ("others", 2), ("run_delay", 2), ("lag", 2), ("warmup", 1), ("loss", 1)]
)
def test_a_run_that_the_machine_spoilt_is_made_once_more(
    code: str, attempts: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def answer(job: Job) -> Answer:
        against = [Invalid(code=code, message=f"because of {code}")] if job.run == 1 else []
        return summary(float(job.load or 0), job.run).model_copy(update={"invalid": against})

    jobs = answered(monkeypatch, answer)
    found = point(capacity(DOCUMENT, mode="live", output=tmp_path / "out", search=SEARCH))
    second = [job for job in jobs if job.run == 1]
    assert [job.attempt for job in second] == list(range(1, attempts + 1))
    assert {job.load for job in second} == {found.readings[1].load}
    assert found.readings[1].attempts == attempts
    assert all(job.attempt == 1 and job.first is None for job in jobs if job.run != 1)
    if attempts == 2:
        assert second[1].first is not None


@pytest.mark.usefixtures("pretended_live")
def test_a_disturbed_run_whose_second_attempt_fails_keeps_its_figures(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def answer(job: Job) -> Answer:
        against = [Invalid(code="steal", message="the hypervisor took 3 %")] if job.run == 1 else []
        made = summary(float(job.load or 0), job.run).model_copy(update={"invalid": against})
        return "gone" if job.attempt == 2 else made

    answered(monkeypatch, answer)
    result = capacity(DOCUMENT, mode="live", output=tmp_path / "out", search=SEARCH)
    reading = point(result).readings[1]
    assert (reading.attempts, reading.failed, reading.throughput) == (2, False, float(reading.load))
    record = read_record(record_path(tmp_path / "out" / f"load-{reading.load}", 1))
    assert (record.attempts, record.earlier) == (2, ["attempt 2: gone"])
    jobs = answered(monkeypatch, answer)
    resumed = resume(tmp_path / "out")
    assert isinstance(resumed, CapacityResult)
    assert point(resumed).readings == point(result).readings
    assert jobs == []


@pytest.mark.usefixtures("pretended_live")
def test_a_second_attempt_that_an_interrupt_prevented_is_made_by_resuming(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calm = False

    def answer(job: Job) -> Answer:
        if job.attempt == 2 and not calm:
            raise KeyboardInterrupt
        against = [] if calm else [Invalid(code="steal", message="the hypervisor took 3 %")]
        return summary(float(job.load or 0), job.run).model_copy(update={"invalid": against})

    jobs = answered(monkeypatch, answer)
    cut = capacity(DOCUMENT, mode="live", output=tmp_path / "out", search=SEARCH)
    assert not cut.complete
    assert point(cut).readings == []
    calm = True
    result = resume(tmp_path / "out")
    assert isinstance(result, CapacityResult)
    assert [job.attempt for job in jobs if job.run == 0] == [1, 2, 2]
    assert point(result).readings[0].attempts == 2
    assert all(reading.attempts == 1 for reading in point(result).readings[1:])


def test_a_resumed_search_knows_what_was_made_longer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def answer(job: Job) -> Answer:
        length = seconds(job.scenario["measure"]["duration"])
        made = summary(10.0 * (job.load or 0), job.run)
        times = {
            "all_response_time_ms": made.response_time_ms,
            "interval_s": length,
            "outcomes": {"ok": round(50 * length)},
        }
        return made.model_copy(update=times)

    def interrupted(job: Job) -> Answer:
        if job.run == 6:
            raise KeyboardInterrupt
        return answer(job)

    search = Search("search", high=128, objectives=("p99 < 60s",))
    whole = answered(monkeypatch, answer)
    capacity(DOCUMENT, output=tmp_path / "whole", search=search)
    monkeypatch.undo()
    cut = answered(monkeypatch, interrupted)
    capacity(DOCUMENT, output=tmp_path / "cut", search=search)
    monkeypatch.undo()
    rest = answered(monkeypatch, answer)
    resume(tmp_path / "cut")

    def lengths(jobs: list[Job]) -> list[tuple[int, str]]:
        return [(job.run, job.scenario["measure"]["duration"]) for job in jobs]

    assert lengths(cut[:-1] + rest) == lengths(whole)


def latest(progress: StudyProgress) -> Begun:
    assert progress.latest is not None
    return progress.latest


def test_progress_counts_the_runs_of_a_search(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[StudyProgress] = []
    answered(monkeypatch, lambda job: summary(float(job.load or 0), job.run))
    capacity(DOCUMENT, output=tmp_path / "out", search=SEARCH, on_progress=seen.append)
    numbers = [latest(progress).run for progress in seen]
    assert numbers == sorted(numbers)
    assert numbers[-1] == seen[-1].done - 1 > 5


def test_a_server_is_not_saturated_by_what_other_programs_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def answer(job: Job) -> Answer:
        made = summary(1000.0, job.run, busy=0.99)
        cpu = made.server_cpu.model_copy(update={"others": 0.6})
        return made.model_copy(update={"server_cpu": cpu})

    answered(monkeypatch, answer)
    found = point(capacity(DOCUMENT, output=tmp_path / "out", search=SEARCH))
    assert found.saturated is False
    assert found.server_cpu == pytest.approx(0.39)
    assert "server CPU 39 % busy" in found.why


def test_a_search_of_which_all_runs_fail_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jobs = answered(monkeypatch, lambda job: f"gone at {job.load}")
    with pytest.raises(RunFailedError) as raised:
        capacity(DOCUMENT, output=tmp_path / "out", search=SEARCH)
    assert (raised.value.message, raised.value.kept) == (f"gone at {jobs[0].load}", None)
    assert len({job.load for job in jobs}) > 1
    assert list(tmp_path.iterdir()) == []


def test_what_is_asked_for_wrongly_is_tried_at_one_load_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jobs = answered(monkeypatch, lambda job: RunFailedError("it ended with status 1", field="server.command"))
    with pytest.raises(RunFailedError, match=r"^server\.command: it ended with status 1$") as raised:
        capacity(DOCUMENT, output=tmp_path / "out", search=SEARCH)
    assert raised.value.field == "server.command"
    assert [(job.load, job.attempt) for job in jobs] == [(jobs[0].load, 1), (jobs[0].load, 2)]


@pytest.mark.usefixtures("pretended_live")
def test_a_point_of_which_all_runs_fail_is_not_the_emulators_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = DOCUMENT | {"mode": "live", "sweep": {"clients.rtt": ["20ms", "30ms"]}}
    answered(monkeypatch, lambda job: "gone" if job.point == 1 else summary(float(job.load or 0), job.run))
    result = capacity(asked, output=tmp_path / "out", search=SEARCH)
    assert result.complete
    assert not result.valid
    found = result.points[1]
    assert (found.capacity, found.valid, found.bottleneck) == (None, False, "unknown")
    assert found.why.endswith("clients: failed: gone")


def test_a_second_attempt_says_what_was_wrong_with_the_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def answer(job: Job) -> Answer:
        return "gone" if (job.run, job.attempt) == (1, 1) else summary(float(job.load or 0), job.run)

    seen: list[StudyProgress] = []
    jobs = answered(monkeypatch, answer)
    result = capacity(DOCUMENT, output=tmp_path / "out", search=SEARCH, on_progress=seen.append)
    assert [job.earlier for job in jobs if job.run == 1] == [(), ("gone",)]
    assert [each.earlier for progress in seen for each in progress.again] == [("gone",)]
    assert (point(result).readings[1].attempts, seen[-1].failed) == (2, 0)


def few(job: Job) -> RunSummary:
    """Fewer transactions than a percentile of an objective needs, unless the interval is longer than the file's."""
    length = seconds(job.scenario["measure"]["duration"])
    made = summary(10.0 * (job.load or 0), job.run)
    changes = {"outcomes": {"ok": round(2000 * (length - 1)) + 50}, "interval_s": length}
    return made.model_copy(update=changes | {"all_response_time_ms": made.response_time_ms})


TAIL = Search(high=128, objectives=("p99 < 60s",))


def test_figures_of_a_run_that_was_too_short_do_not_stand_for_one_that_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def answer(job: Job) -> Answer:
        found = few(job)
        return "gone" if job.load == 128 and found.interval_s > 1 else found

    seen: list[StudyProgress] = []
    jobs = answered(monkeypatch, answer)
    result = capacity(DOCUMENT, output=tmp_path / "out", search=TAIL, on_progress=seen.append)
    at = [reading for reading in point(result).readings if reading.load == 128]
    assert [(reading.failed, reading.notes) for reading in at] == [(True, ["failed: gone"])]
    made = [job for job in jobs if job.load == 128]
    assert [(job.run, job.attempt) for job in made] == [(made[0].run, attempt) for attempt in (1, 1, 2)]
    record = read_record(record_path(tmp_path / "out" / "load-128", made[0].run))
    assert (record.failure, record.summary) == ("gone", None)
    told = [latest(progress).earlier for progress in seen if latest(progress).at == "128 clients"]
    told = [earlier for earlier, _ in groupby(told)]
    length = made[1].scenario["measure"]["duration"]
    assert told == [(), (f"it was too short; now {length} after a warm-up of 500ms",), ("gone",)]


@pytest.mark.usefixtures("pretended_live")
def test_a_search_that_is_over_stays_as_it_is_when_it_is_resumed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def answer(job: Job) -> Answer:
        if (job.run, job.attempt) == (1, 2):
            return "gone"
        against = [Invalid(code="steal", message="the hypervisor took 3 %")] if job.run == 1 else []
        return few(job).model_copy(update={"invalid": against})

    answered(monkeypatch, answer)
    result = capacity(DOCUMENT, mode="live", output=tmp_path / "out", search=TAIL)
    assert result.complete
    jobs = answered(monkeypatch, answer)
    assert resume(tmp_path / "out") == result
    assert jobs == []


@pytest.mark.usefixtures("pretended_live")
def test_a_server_must_be_ready_for_the_most_clients(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[int] = []

    def spec(experiment: Experiment, placement: Any) -> None:
        asked.append(experiment.clients[0].count)
        if asked[-1] > 64:
            raise CannotRunError("it cannot keep so many connections open", "server.kind")

    monkeypatch.setattr(live, "spec", spec)
    jobs = answered(monkeypatch, lambda job: summary(float(job.load or 0), job.run))
    with pytest.raises(CannotRunError) as raised:
        capacity(DOCUMENT, mode="live", output=tmp_path / "out", search=SEARCH)
    message = "search.high: 128: server.kind: it cannot keep so many connections open"
    assert (str(raised.value), raised.value.field) == (message, "search.high")
    assert asked == [8, 128]
    assert list(tmp_path.iterdir()) == []
    # A sweep goes up in powers of two.
    capacity(DOCUMENT, mode="live", output=tmp_path / "out", search=Search("sweep", low=8, high=127))
    assert max(asked[2:]) == max(job.load or 0 for job in jobs) == 64


def test_figures_whose_tables_are_lost_do_not_stand_for_a_run_that_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = capacity(DOCUMENT, output=tmp_path / "out", search=SEARCH)
    lost = point(whole).readings[1]
    folder = tmp_path / "out" / f"load-{lost.load}"
    (folder / "transactions" / "run-1.parquet").unlink()
    with monkeypatch.context() as patch:
        answered(patch, lambda job: "gone")
        failed = resume(tmp_path / "out")
    assert isinstance(failed, CapacityResult)
    reading = point(failed).readings[1]
    assert (reading.load, reading.failed, reading.notes) == (lost.load, True, ["failed: gone"])
    assert not (folder / "histogram" / "run-1.parquet").exists()
    assert resume(tmp_path / "out") == whole


def test_a_search_of_which_the_only_run_was_cut_short_goes_on(engine: FakeEngine, tmp_path: Path) -> None:
    engine.interrupt_at = (0, 2)
    cut = capacity(DOCUMENT, output=tmp_path / "out", search=SEARCH)
    assert not cut.complete
    assert point(cut).readings == []
    rest = resume(tmp_path / "out")
    assert isinstance(rest, CapacityResult)
    assert rest.complete


def test_a_point_that_was_given_up_is_tried_again_by_resuming(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wrong = RunFailedError("it ended with status 1", field="server.command")
    mended = False

    def answer(job: Job) -> Answer:
        return wrong if job.point == 1 and not mended else summary(float(job.load or 0), job.run)

    asked = DOCUMENT | {"sweep": {"clients.rtt": ["20ms", "30ms"]}}
    jobs = answered(monkeypatch, answer)
    result = capacity(asked, output=tmp_path / "out", search=SEARCH, jobs=1)
    assert result.complete
    assert result.points[1].why.endswith("failed: server.command: it ended with status 1")
    assert sum(job.point == 1 for job in jobs) == 2
    mended = True
    again = resume(tmp_path / "out", jobs=1)
    assert isinstance(again, CapacityResult)
    assert again.points[0] == result.points[0]
    assert again.points[1].capacity is not None


def test_an_interrupt_while_earlier_runs_are_read_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, whole: Path, tmp_path: Path
) -> None:
    directory = Path(shutil.copytree(whole, tmp_path / "copy"))
    real, told = CapacitySearch.tell, count()

    def interrupted(self: CapacitySearch, reading: Reading) -> None:
        if next(told) == 2:
            raise KeyboardInterrupt
        real(self, reading)

    monkeypatch.setattr(CapacitySearch, "tell", interrupted)
    again = CapacityStudy.open(directory).run()
    assert again == load_capacity(directory)
    assert (again.complete, point(again)) == (True, point(load_capacity(whole)))


def test_a_failure_after_figures_of_a_run_that_was_too_short_gives_no_point_up(
    monkeypatch: pytest.MonkeyPatch, pretended_live: None, tmp_path: Path
) -> None:
    def answer(job: Job) -> Answer:
        if job.attempt == 2:
            return RunFailedError("it ended with status 1", field="server.command")
        against = [Invalid(code="steal", message="the hypervisor took 3 %")] if len(jobs) == 1 else []
        return few(job).model_copy(update={"invalid": against})

    jobs = answered(monkeypatch, answer)
    assert capacity(DOCUMENT, mode="live", output=tmp_path / "out", search=TAIL).complete
    assert [(job.run, job.attempt) for job in jobs[:3]] == [(0, 1), (0, 2), (0, 1)]


def test_numbers_of_a_resumed_search_count_what_was_made_before(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answered(monkeypatch, lambda job: summary(float(job.load or 0), job.run))
    readings = point(capacity(DOCUMENT, output=tmp_path / "out", search=SEARCH)).readings
    for reading in (readings[1], readings[-1]):
        record_path(tmp_path / "out" / f"load-{reading.load}", reading.run).unlink()
    seen: list[StudyProgress] = []
    resume(tmp_path / "out", on_progress=seen.append)
    told = [(latest(progress).run, progress.done) for progress in seen]
    last = len(readings) - 1
    assert [each for each, _ in groupby(told)] == [(1, 1), (1, 2), (last, last), (last, last + 1)]


def test_runs_of_several_points_have_numbers_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def answer(job: Job) -> Answer:
        return "gone" if (job.run, job.attempt) == (0, 1) else summary(float(job.load or 0), job.run)

    seen: list[StudyProgress] = []
    answered(monkeypatch, answer)
    asked = DOCUMENT | {"sweep": {"clients.rtt": ["20ms", "30ms"]}}
    capacity(asked, output=tmp_path / "out", search=SEARCH, jobs=1, on_progress=seen.append)
    again = {(each.run, each.at.partition(" ")[0]) for progress in seen for each in progress.again}
    assert len({run for run, _ in again}) == len({at for _, at in again}) == 2


@pytest.mark.parametrize("method", ["search", "sweep"])
@pytest.mark.parametrize(
    ("code", "valid"),
    [
        (None, True),
        ("server_queue", True),
        ("steal", False),
        ("others", False),
        ("warmup", False),
        ("loss", False),
        ("too_few", False),
    ],
)
def test_a_capacity_is_as_valid_as_the_runs_it_is_made_of(
    code: str | None, valid: bool, method: Method, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    against = [] if code is None else [Invalid(code=code, message=f"because of {code}")]

    def answer(job: Job) -> Answer:
        made = summary(1000.0, job.run, busy=0.97)
        return made.model_copy(update={"invalid": against})

    answered(monkeypatch, answer)
    result = capacity(DOCUMENT, output=tmp_path / "out", search=Search(method, high=128))
    assert (result.valid, point(result).valid) == (valid, valid)
    assert point(result).confirmed is (method == "search")
    text = science_text.capacity(result)
    assert ("NOT VALID" in text) is not valid
    assert (f"because of {code}" in text) is (code is not None)
    again = compare_results(str(tmp_path / "out"), str(tmp_path / "out"))
    assert again.valid is valid


TOO_MANY = Invalid(code="errors", message="58.3 % of the 1200 transactions that ended were not ok (timed_out 700)")


def with_errors(monkeypatch: pytest.MonkeyPatch, above: int, busy: float, p99: float = 10.0) -> None:
    """Every run above a load has too many errors, and the largest throughput."""

    def answer(job: Job) -> Answer:
        load = job.load or 0
        made = summary(10.0 * load, job.run, busy=busy)
        time = made.response_time_ms.model_copy(update={"p99": p99 if load > above else 10.0})
        made = made.model_copy(update={"response_time_ms": time, "all_response_time_ms": time})
        if load > above:
            outcomes = {"ok": 500, "timed_out": 700}
            made = made.model_copy(update={"invalid": [TOO_MANY], "outcomes": outcomes, "statuses": {"200": 500}})
        return made

    answered(monkeypatch, answer)


@pytest.mark.parametrize(
    ("busy", "p99", "objectives"),
    [(0.97, 10.0, ()), (0.5, 900.0, ("p99 < 500ms",)), (0.5, 10.0, ("errors < 5%",))],
    ids=["saturated", "above the objective", "errors above the objective"],
)
@pytest.mark.parametrize("method", ["search", "sweep"])
def test_errors_of_a_server_that_has_too_much_to_do_exclude_the_load(
    method: Method,
    busy: float,
    p99: float,
    objectives: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    with_errors(monkeypatch, 50, busy, p99)
    result = capacity(DOCUMENT, output=tmp_path / "out", search=Search(method, high=128, objectives=objectives))
    found = point(result)
    assert (result.valid, found.valid) == (True, True)
    assert (32 if method == "sweep" else 45) <= found.load <= 50
    excluded = [reading for reading in found.readings if reading.load > 50]
    assert excluded
    for reading in excluded:
        assert (reading.failed, reading.counts, reading.unmade) == (True, False, False)
        assert (reading.outcomes, reading.statuses) == ({"ok": 500, "timed_out": 700}, {"200": 500})
        assert reading.notes[0] == "failed: the load was too much for the server"
        assert any("all errors are timeouts" in note for note in reading.notes)
    assert f"at {min(reading.load for reading in excluded)} clients a run failed: the load was too much" in found.why
    text = science_text.capacity(result)
    heads = "ok/s +90 % interval +mean ms +p50 ms +p90 ms +p95 ms +p99 ms +p99.9 ms +errors % +CPU % +runs +valid +out"
    judged = r"all\.p99 ms +" if p99 > 10 else ""
    assert re.search(rf"^    clients +(fresh +)?counts +{judged}{heads}", text, re.MULTILINE)
    line = r"^ +\d+ +(no +)?failed +[\d,.]+ .* 58\.33 .* NO  ok [\d,]+ \(200\), timed_out [\d,]+$"
    assert re.search(line, text, re.MULTILINE)
    assert result == load_capacity(tmp_path / "out")


def test_errors_at_a_server_with_time_to_spare_speak_against_the_search(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_errors(monkeypatch, 0, busy=0.5)
    result = capacity(DOCUMENT, output=tmp_path / "out", search=SEARCH)
    found = point(result)
    assert (found.load, found.valid, result.valid) == (128, False, False)
    assert all(reading.counts and not reading.failed for reading in found.readings)
    assert TOO_MANY.message in science_text.capacity(result)


@pytest.mark.parametrize(("a_second", "length", "valid"), [(1.5, LONGEST, False), (500, 6, True), (5000, 1, True)])
def test_runs_are_long_enough_for_the_percentiles_of_an_objective(
    a_second: float, length: float, valid: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lengths: list[float] = []

    def answer(job: Job) -> Answer:
        lengths.append(seconds(job.scenario["measure"]["duration"]))
        made = summary(10.0 * (job.load or 0), job.run)
        outcomes = {"ok": round(a_second * lengths[-1])}
        times = {"all_response_time_ms": made.response_time_ms, "interval_s": lengths[-1], "outcomes": outcomes}
        return made.model_copy(update=times)

    answered(monkeypatch, answer)
    search = Search("search", high=128, objectives=("ok.p99.9 < 60s", "throughput > 0"))
    result = capacity(DOCUMENT, output=tmp_path / "out", search=search)
    found = point(result)
    assert lengths[-1] == pytest.approx(length, rel=0.6)
    assert lengths[-1] >= length
    assert (found.confirmed, found.valid, result.valid) == (True, valid, valid)
    lacks = f"p99.9 needs 2,995 ok transactions, and there are {round(a_second * LONGEST):,}"
    fresh = ", ".join(str(reading.run + 1) for reading in found.readings if reading.confirming)
    assert (f"NOT VALID: runs {fresh}: {lacks}\n" in science_text.capacity(result)) is not valid
    assert result == load_capacity(tmp_path / "out")


def test_clients_are_shared_among_the_groups_as_in_the_file() -> None:
    experiment = parse({"name": "x", "clients": [{"name": "a", "count": 300}, {"name": "b", "count": 100}]})
    for load, counts in ((8, [6, 2]), (101, [76, 25]), (2, [1, 1])):
        assert [group.count for group in with_load(experiment, load).clients] == counts


def test_background_groups_are_not_shared_out() -> None:
    aside = {"name": "aside", "count": 50, "background": True}
    experiment = parse({"name": "x", "clients": [{"name": "a", "count": 300}, aside, {"name": "b", "count": 100}]})
    assert [group.count for group in with_load(experiment, 8).clients] == [6, 50, 2]


@pytest.mark.parametrize(
    ("changes", "search", "message"),
    [
        ({"sweep": {"clients.count": [1, 2]}}, SEARCH, r"sweep\.clients\.count: is what a search .* varies"),
        ({"measure": {"warmup": "auto"}}, SEARCH, r"measure\.warmup: a search for capacity does not follow it"),
        ({"measure": {"until": {"ci": "5%"}}}, SEARCH, r"measure\.until: a search for capacity does not follow it"),
        ({}, Search(low=9, high=8), r"search.low: 9: must lie from 1 to high, which is 8"),
        ({}, Search(most=7), r"search.most: 7: must be at least 8, the confirming runs and 4"),
        (
            {},
            Search(high=10**6),
            r"search.high: 1000000: network.prefix: .* has addresses for 32765 clients, and there are 1000000",
        ),
        ({}, Search(objectives=("p99",)), r'search.objectives: "p99": must be <'),
        (
            {"clients": [{"name": "a", "arrivals": {"rate": "9/s"}}]},
            SEARCH,
            r"clients\.a\.arrivals: an open loop's rate does not follow the number of clients",
        ),
        ({"clients": [{"name": "a"}, {"name": "b"}]}, Search(low=1), r"search.low: 1: must be at least 2"),
    ],
)
def test_what_cannot_be_searched(changes: dict[str, Any], search: Search, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        capacity(DOCUMENT | changes, output=tmp_path / "out", search=search)
    assert list(tmp_path.iterdir()) == []


def reading(load: int, throughput: float, **changes: Any) -> LoadReading:
    fields: dict[str, Any] = {
        "run": 0, "load": load, "throughput": throughput, "server_cpu": 0.5, "meets": True, "counts": True,
        "confirming": False, "valid": True,
    }  # fmt: skip
    return LoadReading(**(fields | changes))


def found(**changes: Any) -> Capacity:
    fields: dict[str, Any] = {
        "load": 64, "values": [1000.0], "mean": 1000.0, "interval": None, "edge": None, "limit": None,
        "limited_by": None, "confirmed": True, "runs": 9, "bound": 1000.0, "more": None,
    }  # fmt: skip
    return Capacity(**(fields | changes))


@pytest.mark.parametrize(
    ("capacity", "cpu", "bottleneck"),
    [
        (found(), 0.97, "server"),
        (found(limited_by="objective", limit=80), 0.5, "unknown"),
        (found(limited_by="objective", limit=80), 0.97, "server"),
        (found(limited_by="emulator", limit=80), 0.5, "emulator"),
        (found(limited_by="failed", limit=80), 0.5, "unknown"),
        (found(limited_by="failed", limit=80), 0.97, "server"),
        (found(edge="high", interval=(960.0, 1040.0)), 0.5, "clients"),
        # 950 /s at half the clients is within what it may be.
        (found(edge="high", interval=(940.0, 1060.0)), 0.5, "unknown"),
        (found(edge="high"), 0.5, "unknown"),
        (found(), 0.5, "network"),
        (found(mean=100.0), 0.5, "unknown"),
        (None, None, "unknown"),
    ],
)
def test_who_was_the_bottleneck(capacity: Capacity | None, cpu: float | None, bottleneck: str) -> None:
    experiment = parse({"name": "x", "clients": [{}], "network": {"shared": {"down": {"rate": "9Mbit/s"}}}})
    goodput = 0.0 if capacity is None or capacity.edge or capacity.limit else capacity.mean * 8192
    readings = [
        reading(32, 950.0),
        reading(64, 1000.0, server_cpu=cpu, goodput_bps=goodput),
        reading(80, 0.0, failed=True, counts=False, notes=["gone"]),
    ]
    assert bottleneck_of(experiment, capacity, readings)[0] == bottleneck


def test_a_shared_link_with_a_trace_is_full_at_its_mean_rate() -> None:
    experiment = parse({"name": "x", "clients": [{}], "network": {"shared": {"down": {"trace": "twelve.down"}}}})
    inputs = Inputs({"twelve.down": "1\n"}, {}, {})  # 1,500 bytes each millisecond
    for goodput, bottleneck in ((11.5e6, "network"), (9e6, "unknown")):
        who, why = bottleneck_of(experiment, found(), [reading(64, 1000.0, goodput_bps=goodput)], inputs=inputs)
        assert who == bottleneck
        assert ("the shared link (trace twelve.down (mean 12 Mbit/s)) was full" in why) is (who == "network")


def test_a_shared_link_with_cross_traffic_is_full_by_what_it_carried() -> None:
    others = {"link": "shared", "direction": "down", "rate": "4Mbit/s"}
    network = {"shared": {"rate": "9Mbit/s"}, "cross_traffic": {"others": others}}
    experiment = parse({"name": "x", "clients": [{}], "network": network})
    assert rates_of(resolved(experiment)) == {("shared", "up"): 9_000_000, ("shared", "down"): 9_000_000}
    who, why = bottleneck_of(experiment, found(), [reading(64, 1000.0, full_links=["shared down"])])
    said = "the link shared down (9 Mbit/s, to which cross traffic offers 4 Mbit/s) was full"
    assert (who, said in why) == ("network", True)
    assert bottleneck_of(experiment, found(), [reading(64, 1000.0)])[0] == "unknown"


GRAPH: dict[str, Any] = {
    "kind": "graph",
    "nodes": ["village", "town", "core"],
    "links": {
        "outer": {"from": "village", "to": "town", "delay": "1ms", "rate": "5Mbit/s"},
        "inner": {"from": "town", "to": "core", "delay": "1ms", "rate": "9Mbit/s"},
    },
}


def graph() -> Experiment:
    groups = [{"name": "far", "at": "village"}, {"name": "near", "at": "town"}]
    return parse({"name": "x", "server": {"at": "core"}, "network": GRAPH, "clients": groups})


@pytest.mark.parametrize(
    ("full", "bottleneck", "said"),
    [
        (["inner backward"], "network", "the link inner backward (9 Mbit/s) was full"),
        (["outer backward", "inner backward"], "network", "the links outer backward (5 Mbit/s), inner backward (9 M"),
        # Those in town do not cross it, and may have more.
        (["outer backward"], "unknown", "the link outer backward (5 Mbit/s) was full, which far of 2 groups crosses"),
        ([], "unknown", "not saturated"),
    ],
)
def test_links_of_a_graph_are_the_bottleneck_if_all_groups_cross_a_full_one(
    full: list[str], bottleneck: str, said: str
) -> None:
    who, why = bottleneck_of(graph(), found(), [reading(64, 1000.0, full_links=full)])
    assert (who, said in why) == (bottleneck, True)


def test_a_link_is_full_by_what_it_carried_in_the_whole_run(tmp_path: Path) -> None:
    rates = rates_of(resolved(graph()))
    assert rates["outer", "forward"] == 5_000_000
    # 20 s at 5 Mbit/s are 12.5 MB, of which the file's own warm-up says nothing.
    group = SimpleNamespace(ages=SimpleNamespace(window=SimpleNamespace(warmup=15.0, duration=5.0)))
    run: Any = SimpleNamespace(run=0, by_group=[group])
    (tmp_path / "links").mkdir()
    for megabytes, full in ((11.4, True), (11.0, False)):
        row = {"link": "outer", "direction": "backward", "carried_bytes": int(megabytes * 1e6)}
        other = {"link": "outer", "direction": "forward", "carried_bytes": 0}
        write_table(pl.DataFrame([row, other]), tmp_path / "links" / "run-0.parquet")
        assert (full_links(run, tmp_path, rates) == ["outer backward"]) is full
    assert full_links(run, tmp_path, {}) == []


def test_a_capacity_of_the_future_is_refused(whole: Path, tmp_path: Path) -> None:
    document = json.loads((whole / CAPACITY).read_text()) | {"format": FORMAT + 1}
    (tmp_path / CAPACITY).write_text(json.dumps(document))
    with pytest.raises(InputError, match="newer than this version"):
        load_capacity(tmp_path)
    (tmp_path / CAPACITY).unlink()
    with pytest.raises(InputError, match=r"capacity\.json: cannot be read"):
        load_capacity(tmp_path)


def test_capacities_are_compared_by_the_runs_that_confirmed_them(whole: Path, tmp_path: Path) -> None:
    field = "server.model.per_request"
    directory = tmp_path / "two"
    capacity({**DOCUMENT, "sweep": {field: ["1ms", "1200us"]}}, output=directory, search=SEARCH)
    one, other = f"{directory}@{field}=1ms", f"{directory}@{field}=1200us"
    [compared] = compare_results(one, other).points
    assert compared.verdict == "slower"
    assert compared.runs == (4, 4)
    assert compared.ratio == pytest.approx(1 / 1.2, rel=0.03)
    found = load_capacity(directory).points
    assert compared.means == pytest.approx([found[0].capacity, found[1].capacity])
    assert compared.valid
    # One that was searched in another directory is as good.
    assert compare_results(str(whole), other).metric == "capacity"
    with pytest.raises(InputError, match=r"^metric: .*capacities are compared by what was found"):
        compare_results(one, other, "p99")
    with pytest.raises(InputError, match="has no finished point with "):
        compare_results(one, f"{directory}@{field}=3ms")


@pytest.mark.parametrize(
    ("search", "why"),
    [
        (Search(high=128, objectives=("p99 < 40ms",)), "objectives differ: none and all.p99 < 40ms"),
        (Search("sweep", low=8, high=32), "methods differ: search and sweep"),
    ],
)
def test_capacities_of_two_kinds_are_not_comparable(search: Search, why: str, whole: Path, tmp_path: Path) -> None:
    capacity(DOCUMENT | {"seed": 7}, output=tmp_path / "other", search=search)
    found = compare_results(str(whole), str(tmp_path / "other"))
    assert (found.not_comparable, found.valid) == ([why], False)
    assert [one.verdict for one in found.points] == ["not comparable"]
    assert [(each.field, each.a, each.b) for each in found.differences] == [("seed", 1, 7)]
    text = science_text.comparison(found)
    assert f"NOT COMPARABLE: {why}" in text
    assert "  seed: 1 -> 7" in text


def test_runs_that_did_not_count_make_no_figure() -> None:
    readings = [
        reading(64, 1000.0),
        reading(64, 900.0, counts=False),
        reading(64, 800.0, meets=False),
        reading(32, 500.0),
    ]
    assert [each.throughput for each in readings_at(readings, 64)] == [1000.0]


def test_a_capacity_is_not_compared_with_other_results(whole: Path, tmp_path: Path) -> None:
    run({**DOCUMENT, "measure": {**DOCUMENT["measure"], "runs": 1}}, output=tmp_path / "runs")
    with pytest.raises(InputError, match="one of the two is a search for capacity, and the other is not"):
        compare_results(str(whole), str(tmp_path / "runs"))


def test_a_comparison_shows_the_runs_that_it_compares(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def answer(job: Job) -> Answer:
        made = summary(1000.0 + job.run, job.run, busy=0.97)
        last_fresh = job.run == 7
        time = made.response_time_ms.model_copy(update={"mean": 900.0 if last_fresh else 10.0})
        rate = 200.0 if last_fresh else made.throughput
        return made.model_copy(update={"response_time_ms": time, "throughput": rate})

    answered(monkeypatch, answer)
    search = Search(high=128, most=8, objectives=("mean < 500ms",))
    found = point(capacity(DOCUMENT, output=tmp_path / "out", search=search))
    fresh = [load for load in found.loads if load.fresh]
    assert not found.confirmed
    assert [(load.counts, load.runs) for load in fresh] == [("objective", 4)]
    assert len(found.behind) == 3
    line = found.line
    assert (line.throughput, line.throughput_ci90, line.runs, line.valid) == (found.capacity, found.ci90, 3, False)
    [compared] = compare_results(str(tmp_path / "out"), str(tmp_path / "out")).points
    assert (compared.lines[0], compared.means[0], compared.runs[0]) == (line, line.throughput, line.runs)
    assert not isinstance(line, Load)
    text = science_text.capacity(load_capacity(tmp_path / "out"))
    assert f"at {found.load} clients: not mean < 500ms" in " ".join(text.split())


def test_a_load_has_the_figures_of_the_runs_that_came_to_their_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def answer(job: Job) -> Answer:
        return "gone" if job.run in (2, 6, 7) else summary(10.0 * (job.load or 0), job.run)

    answered(monkeypatch, answer)
    document = DOCUMENT | {"measure": DOCUMENT["measure"] | {"runs": 2}}
    result = capacity(document, output=tmp_path / "out", search=Search("sweep", low=8, high=64))
    told = [(load.load, load.runs, load.throughput, load.counts, load.valid) for load in point(result).loads]
    assert told == [
        (8, 2, 80.0, "yes", True),
        (16, 1, 160.0, "failed", False),
        (32, 2, 320.0, "yes", True),
        (64, 0, None, "failed", False),
    ]
    lines = science_text.capacity(result).splitlines()
    [nothing] = [line for line in lines if line.startswith("         64  ")]
    assert nothing.split() == ["64", "failed", *[NONE] * 10, "0", "NO", NONE]


def test_a_swept_list_of_clients_does_not_hide_the_load(tmp_path: Path) -> None:
    sweep = {"clients": [[{"name": name, "count": 2, "rtt": rtt}] for name, rtt in (("a", "5ms"), ("b", "10ms"))]}
    search = Search("sweep", low=2, high=4)
    result = capacity(DOCUMENT | {"sweep": sweep}, output=tmp_path / "out", search=search)
    rows = json.loads(result.to_json())["table"]
    assert [(row["point"], row["clients"], row["load"]) for row in rows] == [
        (number, f"name={name} count=2 rtt={rtt}", load)
        for number, (name, rtt) in enumerate((("a", "5ms"), ("b", "10ms")))
        for load in (2, 4)
    ]


def test_bodies_of_background_groups_are_in_no_line(tmp_path: Path) -> None:
    background = {"name": "back", "count": 4, "rtt": "20ms", "background": True}
    near = DOCUMENT["clients"][0] | {"name": "near"}
    search = Search("sweep", low=8, high=8)
    found = point(capacity(DOCUMENT | {"clients": [near, background]}, output=tmp_path / "out", search=search))
    reading, load = found.readings[0], found.loads[0]
    assert 0 < load.goodput_bps < 0.8 * reading.goodput_bps


@pytest.mark.parametrize("kept", [True, False])
def test_loads_of_an_older_search_have_what_is_on_disk(whole: Path, tmp_path: Path, kept: bool) -> None:
    directory = Path(shutil.copytree(whole, tmp_path / "older"))
    document = json.loads((directory / CAPACITY).read_text())
    for each in document["points"]:
        del each["loads"], each["line"]
    (directory / CAPACITY).write_text(json.dumps(document | {"format": FORMAT - 1}))
    if not kept:
        for folder in directory.glob("load-*"):
            shutil.rmtree(folder / "histogram")
    newest, older = point(load_capacity(whole)), point(load_capacity(directory))
    gone = dict.fromkeys(("mean_ms", "goodput_bps")) | {"percentiles_ms": dict.fromkeys(PERCENTILES)}
    assert older.loads == [load if kept else load.model_copy(update=gone) for load in newest.loads]
    assert older.line == (newest.line if kept else newest.line.model_copy(update=gone))
