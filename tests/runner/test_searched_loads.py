"""The most clients, and the highest rate of arrivals, that meet an objective: by runs of the simulated engine, and by
runs whose outcome is made up.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from answered_runs import Answer, answered
from measured_runs import summary
from waspbench import InputError, resume
from waspbench.cli import science_text
from waspbench.experiment import parse
from waspbench.experiment.search import Search
from waspbench.experiment.units import seconds
from waspbench.results import Invalid, RunSummary
from waspbench.results.capacity import CAPACITY, CapacityResult, PointCapacity, load_capacity
from waspbench.results.comparing import compare_results
from waspbench.results.loads import load_number
from waspbench.results.records import read_record
from waspbench.runner.capacity import capacity
from waspbench.runner.job import Job
from waspbench.runner.load import rate_of, with_load

SERVICE = 0.005
"""Seconds that the modelled server takes for a request, within 2 %."""
THINK = 2.0
DOCUMENT: dict[str, Any] = {
    "name": "users",
    "mode": "sim",
    "clients": [{"count": 8, "rtt": "20ms", "think": "2s"}],
    "server": {"model": {"per_request": "5ms"}},
    "measure": {"warmup": "2s", "duration": "5s"},
}
OPEN: dict[str, Any] = DOCUMENT | {
    "clients": [{"count": 512, "rtt": "20ms", "arrivals": {"rate": "1/s"}, "http": {"requests_per_connection": 1}}]
}
USERS = Search(find="clients", objectives=("p99 < 1s",))
ARRIVALS = Search(find="rate", objectives=("p99 < 200ms",))


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("users") / "out"
    capacity(DOCUMENT, output=directory, search=USERS)
    return directory


def point(result: Any) -> PointCapacity:
    assert isinstance(result, CapacityResult)
    [only] = result.points
    return only


def ends(found: PointCapacity) -> tuple[float, float]:
    assert found.ci90 is not None
    low, high = found.ci90
    assert high is not None
    return low, high


def test_the_interval_holds_the_clients_with_which_the_objective_ceases_to_be_met(users: Path) -> None:
    found = point(load_capacity(users))
    # Of more clients than keep the server busy each waits a service time longer; all wait about as long.
    low, high = ends(found)
    assert low <= (1 + THINK) / SERVICE * 1.02
    assert high >= (1 + THINK) / SERVICE * 0.93
    assert high / low < 1.3
    assert found.load is not None
    assert low <= found.load <= high
    assert isinstance(found.load, int)
    assert (found.outcome, found.again, found.confirmed, found.valid) == ("found", None, True, True)
    assert (found.bottleneck, found.saturated) == ("server", True)
    assert found.runs <= 15
    assert found.capacity == found.load
    assert found.line.throughput == pytest.approx(1 / SERVICE, rel=0.03)


def test_the_answer_is_the_largest_load_that_met_the_objective_below_the_least_that_missed_it(users: Path) -> None:
    found = point(load_capacity(users))
    missed = [reading.load for reading in found.readings if reading.meets is False]
    assert found.load is not None
    assert found.load < min(missed)
    fresh = [reading for reading in found.readings if reading.confirming]
    assert [(reading.load, reading.meets, reading.valid) for reading in fresh] == [(found.load, True, True)] * 4
    for reading in found.readings:
        assert reading.meets is None or (reading.judged["all.p99"] < 1000) is reading.meets  # type: ignore[operator]
        assert reading.ratio == pytest.approx((reading.judged["all.p99"] or 0) / 1000)


def test_runs_of_the_ascent_that_cannot_tell_are_passed_over_as_they_are(users: Path) -> None:
    readings = point(load_capacity(users)).readings
    untold = [reading for reading in readings if reading.meets is None]
    assert [(reading.load, reading.interval_s) for reading in untold] == [(8, 5.0)]
    assert all("all.p99 needs 299" in reading.notes[0] for reading in untold)
    assert readings[1].load == 128  # in which more than 299 transactions may end
    counts = {load.load: load.counts for load in point(load_capacity(users)).loads}
    assert (counts[8], counts[128]) == ("undecided", "yes")


def test_what_was_found_is_printed_with_its_interval(users: Path) -> None:
    result = load_capacity(users)
    found, (low, high) = point(result), ends(point(result))
    lines = science_text.capacity(result).splitlines()
    assert lines[0] == "users: most clients under all.p99 < 1s, sim, by search, seed 1"
    span = f"   (90 %: {load_number(low)} to {load_number(high)})"
    assert lines[2] == f"  {load_number(found.load or 0)} clients with all.p99 < 1s{span}"
    assert lines[3].startswith("  each asks for 1KiB, waits ")
    assert lines[4].startswith("  throughput there: ")
    assert "; the objective was missed at " in lines[5]
    [head] = [line for line in lines if line.startswith("    clients")]
    assert head.split()[:5] == ["clients", "fresh", "counts", "all.p99", "ms"]
    row = json.loads(result.to_json())["table"][0]
    assert (row["load"], row["counts"], row["all.p99_ms"]) == (8, "undecided", found.readings[0].judged["all.p99"])


def test_such_a_search_goes_on_where_it_was(users: Path, tmp_path: Path) -> None:
    directory = Path(shutil.copytree(users, tmp_path / "copy"))
    for reading in point(load_capacity(users)).readings[5:]:
        (directory / f"load-{reading.load}" / "runs" / f"run-{reading.run}.json").unlink()
    (directory / CAPACITY).unlink()
    assert point(resume(directory)) == point(load_capacity(users))


def test_a_rate_is_found_before_a_server_that_clients_are_enough_for(tmp_path: Path) -> None:
    result = capacity(OPEN, output=tmp_path / "out", search=ARRIVALS)
    found = point(result)
    assert found.load is not None
    assert 0.7 / SERVICE < found.load < 1 / SERVICE
    assert (found.outcome, found.confirmed, found.bottleneck) == ("found", True, "server")
    assert (tmp_path / "out" / f"load-{found.load:.10g}").is_dir()
    assert result == load_capacity(tmp_path / "out")
    assert (
        science_text.capacity(result)
        .splitlines()[2]
        .startswith(f"  {load_number(found.load)} arrivals/s with all.p99 < 200ms   (90 %: ")
    )
    overloaded = [reading for reading in found.readings if any("not achieved" in note for note in reading.notes)]
    assert overloaded
    assert all((reading.meets, reading.ratio) == (False, None) for reading in overloaded)


def test_arrivals_that_wait_for_clients_are_told_from_a_server_that_is_busy(tmp_path: Path) -> None:
    few = [OPEN | {"clients": [OPEN["clients"][0] | {"count": count}], "server": {}} for count in (4, 32)]
    search = Search(find="rate", objectives=("p99 < 60ms",))
    found = point(capacity(few[1], output=tmp_path / "out", search=search))
    assert (found.outcome, found.bottleneck) == ("found", "clients")
    assert "with more of them (clients.count) the objective may be met" in found.why
    nothing = point(capacity(few[0], output=tmp_path / "nothing", search=search))
    assert (nothing.outcome, nothing.bottleneck) == ("none", "clients")
    assert nothing.why.startswith("8 arrivals/s, the least that were tried, do not meet the objective: arrivals waited")
    assert any("from when these asked, p99 is " in note for reading in found.readings for note in reading.notes)


def test_an_overloaded_server_misses_the_objective_however_short_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def answer(job: Job) -> Answer:
        grows = [Invalid(code="overload", message="the queue grows")] if (job.load or 0) > 100 else []
        return _timed(job, 0.1).model_copy(update={"invalid": grows})

    jobs = answered(monkeypatch, answer)
    found = point(capacity(OPEN, output=tmp_path / "out", search=ARRIVALS))
    assert found.load is not None
    assert 90 <= found.load <= 100
    assert len(jobs) == found.runs


# Runs whose outcome is made up.


def _timed(job: Job, p99: float, transactions: int = 5000) -> RunSummary:
    """A run with this p99 in seconds."""
    made = summary(float(job.load or 0), job.run, busy=0.5)
    times = made.response_time_ms.model_copy(update={"p99": 1000 * p99})
    length = seconds(job.scenario["measure"]["duration"])
    changes = {"response_time_ms": times, "all_response_time_ms": times, "interval_s": length}
    return made.model_copy(update=changes | {"outcomes": {"ok": transactions}})


def searched(
    monkeypatch: pytest.MonkeyPatch, place: Path, p99: Callable[[float], float], **asked: Any
) -> tuple[CapacityResult, PointCapacity]:
    answered(monkeypatch, lambda job: _timed(job, p99(job.load or 0)))
    fields: dict[str, Any] = {"find": "clients", "high": 512, "objectives": ("p99 < 1s",)}
    result = capacity(DOCUMENT, output=place, search=Search(**(fields | asked)))
    assert result == load_capacity(place)
    return result, point(result)


def test_an_objective_that_the_most_clients_meet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result, found = searched(monkeypatch, tmp_path / "out", lambda load: 0.2)
    assert (found.outcome, found.load, found.ci90, found.valid) == ("not reached", 512, (512, None), True)
    assert found.bottleneck == "clients"
    text = science_text.capacity(result)
    assert "\n  at least 512 clients with all.p99 < 1s\n" in text
    assert "\n  a higher --high may find more\n" in text
    assert "512 clients are the most that were tried, and the objective is still met" in text


def test_an_objective_that_the_fewest_clients_miss(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result, found = searched(monkeypatch, tmp_path / "out", lambda load: load / 4)
    assert (found.outcome, found.load, found.capacity, found.valid) == ("none", None, None, False)
    assert found.more == "below"
    text = science_text.capacity(result)
    assert "  none found: 8 clients, the least that were tried, do not meet the objective\n  a lower --low may" in text
    assert "\nNOT VALID: none found\n" in text


def test_fewer_clients_are_not_advised_where_the_load_is_not_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result, found = searched(monkeypatch, tmp_path / "out", lambda load: 3.0)
    assert (found.outcome, found.more, found.bottleneck) == ("none", None, "unknown")
    assert found.why.startswith(
        "8 clients, the least that were tried, do not meet the objective; going by twice as many"
    )
    assert "--low" not in science_text.capacity(result)
    assert [reading.load for reading in found.readings] == [8, 8, 16]


def test_one_client_cannot_be_fewer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result, found = searched(monkeypatch, tmp_path / "out", lambda load: 2.0 * load, low=1)
    assert (found.outcome, found.more) == ("none", None)
    assert "  none found: 1 client, the least that was tried, does not meet the objective\n  3 runs:" in (
        science_text.capacity(result)
    )


def test_one_client_may_miss_the_objective_for_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, found = searched(monkeypatch, tmp_path / "out", lambda load: 2.0, low=1)
    missed = "1 client, the least that was tried, does not meet the objective"
    assert found.why == f"{missed}: the paths, or the server for a single request, take too long"


def test_a_server_that_fails_at_the_least_load_may_serve_less(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    against = [Invalid(code="errors", message="20 % errors")]
    answered(monkeypatch, lambda job: _timed(job, 3.0).model_copy(update={"invalid": against}))
    result = capacity(DOCUMENT, output=tmp_path / "out", search=USERS)
    found = point(result)
    assert (found.outcome, found.more, found.runs) == ("none", "below", 2)
    assert "\n  a lower --low may find some\n" in science_text.capacity(result)


def test_a_search_that_is_out_of_runs_below_the_most_advises_more_of_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result, found = searched(monkeypatch, tmp_path / "out", lambda load: 0.2, most=8, high=4096)
    assert (found.outcome, found.load, found.more) == ("not reached", 512, None)
    text = science_text.capacity(result)
    assert "\n  out of runs: more of them (--max-runs) may find more\n" in text
    assert "--high" not in text


@pytest.mark.usefixtures("pretended_live")
def test_that_others_had_the_machine_is_said_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    against = [Invalid(code="lag", message="the emulator fell behind"), Invalid(code="steal", message="5 % taken")]
    jobs = answered(monkeypatch, lambda job: _timed(job, 0.1, 200).model_copy(update={"invalid": against}))
    result = capacity(DOCUMENT, mode="live", output=tmp_path / "out", search=USERS)
    found = point(result)
    assert [job.run for job in jobs] == [0, 0, 1, 1]
    assert (found.outcome, found.bottleneck, found.more) == ("none", "emulator", None)
    text = science_text.capacity(result)
    assert "  none found: no run counted; at 8 clients: 5 % taken\n  2 runs (2 of them tried twice):\n" in text
    assert "    at 8 clients: 5 % taken; the emulator fell behind\n" in text


def test_the_emulator_as_the_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def answer(job: Job) -> Answer:
        behind = [Invalid(code="lag", message="the emulator fell behind")] if (job.load or 0) > 100 else []
        return _timed(job, 0.2).model_copy(update={"invalid": behind})

    answered(monkeypatch, answer)
    result = capacity(DOCUMENT, output=tmp_path / "out", search=USERS)
    found = point(result)
    assert found.load is not None
    assert 85 <= found.load <= 100
    assert (found.outcome, found.bottleneck, found.ci90) == ("emulator", "emulator", (found.load, None))
    text = science_text.capacity(result)
    assert f"\n  at least {found.load} clients with all.p99 < 1s\n" in text
    behind = sorted({reading.load for reading in found.readings if not reading.counts})
    others = f"(the emulator was the limit at {', '.join(map(str, behind[1:]))} clients, too; see --json)"
    told = f"at {behind[0]} clients: the emulator fell behind {others}"
    assert told in " ".join(text.split())


def test_an_objective_that_is_met_again_beyond_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result, found = searched(monkeypatch, tmp_path / "out", lambda load: load / 100 if load < 200 else 0.1)
    assert (found.outcome, found.again) == ("found", 256)
    assert "  the objective is met again at 256 clients\n" in science_text.capacity(result)


def test_runs_out_before_the_interval_is_narrow_are_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result, found = searched(monkeypatch, tmp_path / "out", lambda load: 0.2 if load < 300 else 9.0, most=9)
    assert (found.outcome, found.refined) == ("found", False)
    assert "out of runs: more of them (--max-runs) would narrow the interval down" in science_text.capacity(result)


def test_the_worst_of_several_objectives_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    both = ("p99 < 10s", "p50 < 100ms", "errors < 1%")

    def answer(job: Job) -> Answer:
        made = summary(100_000 / (job.load or 1), job.run)  # p50 is a millisecond for each client
        return made.model_copy(update={"all_response_time_ms": made.response_time_ms})

    answered(monkeypatch, answer)
    found = point(capacity(DOCUMENT, output=tmp_path / "out", search=Search(find="clients", objectives=both)))
    low, high = ends(found)
    assert low <= 100 <= high
    assert found.readings[0].ratio == pytest.approx(0.08)


# How long runs are.


def test_a_warm_up_that_one_load_needs_is_that_of_the_following_ones(tmp_path: Path) -> None:
    slow = DOCUMENT | {"clients": [DOCUMENT["clients"][0] | {"think": "4s"}]}
    result = capacity(slow, output=tmp_path / "out", search=Search(find="clients", low=64, objectives=("p99 < 1s",)))
    warmups = []
    for reading in point(result).readings:
        record = read_record(tmp_path / "out" / f"load-{reading.load}" / "runs" / f"run-{reading.run}.json")
        assert record.summary is not None
        [group] = record.summary.by_group or []
        assert group.ages is not None
        warmups.append(group.ages.window.warmup)
    assert warmups[0] == 2
    assert warmups == sorted(warmups)
    assert warmups[-1] > 10
    assert point(result).valid
    assert resume(tmp_path / "out") == result


@pytest.mark.parametrize(("p99", "again"), [(0.5, True), (1.5, True), (3.0, False)])
def test_a_run_that_misses_the_objective_by_far_is_not_made_longer(
    p99: float, again: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def answer(job: Job) -> Answer:
        short = seconds(job.scenario["measure"]["duration"]) < 20
        against = [Invalid(code="censored", message="too short", enough_s=20.0)] if short else []
        return _timed(job, p99).model_copy(update={"invalid": against})

    jobs = answered(monkeypatch, answer)
    capacity(DOCUMENT, output=tmp_path / "out", search=USERS)
    assert ([job.run for job in jobs[:2]] == [0, 0]) is again


def test_few_transactions_are_enough_to_show_that_the_objective_is_missed(tmp_path: Path) -> None:
    # Ten requests a second at most, so that no run of five seconds has the 299 that p99 needs.
    slow = DOCUMENT | {"server": {"model": {"per_request": "100ms"}}}
    result = capacity(slow, output=tmp_path / "out", search=Search(find="clients", objectives=("p99 < 2s",)))
    found = point(result)
    assert found.outcome == "found"
    low, high = ends(found)
    assert low <= (2 + THINK) / 0.1 * 1.05
    assert high >= (2 + THINK) / 0.1 * 0.85
    far = [reading for reading in found.readings if reading.load > 100]
    assert len(far) > 1
    assert {(reading.meets, reading.interval_s) for reading in far} == {(False, 5.0)}
    assert all("not all.p99 < 2s" in reading.notes for reading in far)
    assert found.valid
    assert all((reading.interval_s or 0) >= 30 for reading in found.readings if reading.confirming)


# What is searched.


def test_the_rate_is_shared_among_the_groups_as_in_the_file() -> None:
    groups = [
        {"name": "a", "arrivals": {"rate": "30/s"}},
        {"name": "aside", "background": True, "arrivals": {"rate": "7/s"}},
        {"name": "b", "arrivals": {"rate": "600/min"}},
        {"name": "browsing", "background": True},
    ]
    changed = with_load(parse({"name": "x", "clients": groups}), 1000.0, "rate")
    assert [rate_of(group) for group in changed.clients] == [750, 7, 250, 0]


def test_only_what_can_be_found_is_looked_for() -> None:
    with pytest.raises(InputError, match=r'search\.find: "users": did you mean clients\? must be one of '):
        Search(find="users")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("document", "search", "message"),
    [
        (
            DOCUMENT,
            Search(find="clients"),
            r"search.objectives: missing; the most clients are found under an objective",
        ),
        (DOCUMENT, Search("sweep", find="clients", objectives=("p99 < 1s",)), r"search.method: .* and not for clients"),
        (
            DOCUMENT,
            Search(find="clients", objectives=("p99 < 1s", "throughput > 1")),
            r"search.objectives: \"throughput > 1\": must be an upper limit",
        ),
        (DOCUMENT, Search(low=2.5), r"search.low: 2.5: must be a whole number of clients"),
        (DOCUMENT, Search(high=64.0), r"search.high: 64.0: must be a whole number of clients"),
        (DOCUMENT, ARRIVALS, r"clients.arrivals: missing; a search for a rate scales the rates of all groups"),
        (OPEN, USERS, r"clients.arrivals: an open loop's rate .* a search for a rate varies it"),
        (
            OPEN,
            Search(find="rate", low=0, objectives=("p99 < 1s",)),
            r"search.low: \"0/s\": must be a number of arrivals",
        ),
        (
            OPEN,
            Search(find="rate", low=1e-4, objectives=("p99 < 1s",)),
            r"search.low: \"0.0001/s\": .*at least one an hour",
        ),
        (
            OPEN | {"sweep": {"clients.arrivals.rate": ["1/s", "2/s"]}},
            ARRIVALS,
            r"sweep.clients.arrivals.rate: is what a search for capacity varies",
        ),
        (
            DOCUMENT,
            Search(find="clients", high=10**6, objectives=("p99 < 1s",)),
            r"search.high: 1000000: network.prefix: .* has addresses for 32765 clients, and there are 1000000",
        ),
    ],
)
def test_what_cannot_be_looked_for(document: dict[str, Any], search: Search, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        capacity(document, output=tmp_path / "out", search=search)
    assert list(tmp_path.iterdir()) == []


# What comes of two.


def test_loads_are_compared_by_their_intervals(users: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    slower = DOCUMENT | {"server": {"model": {"per_request": "10ms"}}}
    capacity(slower, output=tmp_path / "slower", search=USERS)
    result = compare_results(str(users), str(tmp_path / "slower"))
    [compared] = result.points
    assert (result.metric, compared.test, compared.verdict, compared.valid) == ("clients", "interval", "slower", True)
    assert compared.ratio == pytest.approx(0.5, rel=0.2)
    assert compared.ratio_ci90 is not None
    assert compared.ratio_ci90[0] < 0.5 < compared.ratio_ci90[1] < 1
    text = science_text.comparison(result)
    assert text.splitlines()[2] == "clients, B against A:"
    assert " clients  -" in text
    [same] = compare_results(str(users), str(users)).points
    assert (same.verdict, same.p) == ("no difference shown", 1.0)
    assert same.means == (point(load_capacity(users)).load, point(load_capacity(users)).load)


def test_a_load_without_an_upper_end_may_be_shown_to_be_larger(
    users: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for high in (512, 4096):
        _, open_ended = searched(monkeypatch, tmp_path / str(high), lambda load: 0.2, high=high)
        assert open_ended.ci90 == (high, None)
    small, large = str(tmp_path / "512"), str(tmp_path / "4096")
    told = [
        compare_results(*pair).points[0] for pair in ((str(users), small), (str(users), large), (large, str(users)))
    ]
    assert [each.verdict for each in told] == ["no difference shown", "faster", "slower"]
    assert all(each.ratio_ci90 is None and each.note is None for each in told)
    [unable] = compare_results(small, large).points
    assert (unable.verdict, unable.p) == ("no difference shown", 1.0)
    assert unable.note == "neither interval has an upper end: more than was found may meet the objective"


def test_a_search_that_found_nothing_is_not_compared(
    users: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    searched(monkeypatch, tmp_path / "none", lambda load: 3.0)
    with pytest.raises(InputError, match=r"cannot be compared with .*: B: none was found"):
        compare_results(str(users), str(tmp_path / "none"))


def test_what_is_lacking_for_one_objective_does_not_hide_that_another_is_missed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answered(monkeypatch, lambda job: _timed(job, 0.002 * (job.load or 0), transactions=400))
    both = Search(find="clients", high=512, objectives=("p99 < 1s", "p99.9 < 100s"))
    found = point(capacity(DOCUMENT, output=tmp_path / "out", search=both))
    assert {reading.meets for reading in found.readings if reading.load == 512} == {False}


def test_an_interrupted_search_has_not_found_anything_yet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def answer(job: Job) -> Answer:
        if job.run == 3:
            raise KeyboardInterrupt
        return _timed(job, 0.2)

    answered(monkeypatch, answer)
    result = capacity(DOCUMENT, output=tmp_path / "out", search=USERS)
    assert "  none found yet: the search is not over\n" in science_text.capacity(result)


@pytest.mark.parametrize(("missing", "why"), [(1, "failed or did not meet"), (0, "2 fresh runs at this load, too few")])
def test_why_an_answer_is_not_confirmed_is_said(
    missing: int, why: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result, found = searched(monkeypatch, tmp_path / "out", lambda load: 0.2, most=9)
    fresh = [reading for reading in found.readings if reading.confirming]
    others = [reading for reading in found.readings if not reading.confirming]
    kept = [*fresh[1:3], *(reading.model_copy(update={"meets": False}) for reading in fresh[3 : 3 + missing])]
    changed = found.model_copy(update={"confirmed": False, "readings": [*others, *kept]})
    assert f"NOT CONFIRMED: {'fresh runs at this load ' if missing else ''}{why}" in science_text.capacity(
        result.model_copy(update={"points": [changed]})
    )


def test_searches_for_different_things_are_not_comparable(users: Path, tmp_path: Path) -> None:
    capacity(DOCUMENT, output=tmp_path / "other", search=Search(high=64, objectives=USERS.objectives))
    found = compare_results(str(users), str(tmp_path / "other"))
    assert found.not_comparable == ["they looked for different things: clients and throughput"]
    assert [each.verdict for each in found.points] == ["not comparable"]


def test_without_a_search_the_file_says_what_is_looked_for(tmp_path: Path) -> None:
    table = {"find": "clients", "slo": "p99 < 1s", "low": 64, "high": 128, "at_least": 100}
    result = capacity(DOCUMENT | {"capacity": table}, output=tmp_path / "out")
    assert (result.find, result.objectives, point(result).load) == ("clients", ["all.p99 < 1s"], 128)
    [check] = result.checks
    assert (check.condition, check.passed) == ("clients >= 100", True)
    assert load_capacity(tmp_path / "out") == result
    assert resume(tmp_path / "out") == result
    other = capacity(DOCUMENT | {"capacity": table}, output=tmp_path / "other", search=Search("sweep", high=8))
    assert (other.find, other.objectives, other.checks) == ("throughput", [], [])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"find": "clients"}, r"capacity\.slo: missing; the most clients are found under an objective"),
        (
            {"high": 10**6},
            r"capacity\.high: 1000000: network.prefix: .* has addresses for 32765 clients, and there are 1000000",
        ),
        (
            {"at_least": 64, "slo": "p99 < 1s", "find": "clients", "high": 8},
            r"capacity\.at_least: 64: must be at most 8",
        ),
    ],
)
def test_errors_name_the_field_of_the_file(table: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        capacity(DOCUMENT | {"capacity": table}, output=tmp_path / "out")


def test_a_sweep_and_one_fresh_run_cannot_tell_whether_it_is_enough(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"search\.at_least: 5: a sweep confirms nothing"):
        capacity(DOCUMENT, output=tmp_path / "out", search=Search("sweep", at_least=5))
    with pytest.raises(InputError, match=r"search\.confirm: 1: must be at least 2"):
        capacity(DOCUMENT, output=tmp_path / "out", search=Search(confirm=1, at_least=5))


@pytest.mark.parametrize(
    ("throughput", "search", "outcome", "hint"),
    [
        (lambda load: 10.0 * load, Search(high=128), "not reached", "a higher --high may find more"),
        (lambda load: min(10.0 * load, 160.0), Search(high=1024), "found", None),
        (lambda load: 300.0, Search(low=120, high=128), "not reached", "a higher --high may find more"),
        (lambda load: 10.0 * load, Search(low=128, high=128), "not reached", "a higher --high may find more"),
        (lambda load: 1000 - load, Search(low=600, high=800), "not reached", "a lower --low may find more"),
        (lambda load: 10.0 * load if load < 70 else 300.0, Search(high=256), "found", None),
    ],
    ids=["growing", "level", "a narrow range", "one load", "falling", "a peak"],
)
def test_throughput_is_a_lower_bound_where_other_loads_may_have_more(
    throughput: Callable[[float], float],
    search: Search,
    outcome: str,
    hint: str | None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    answered(monkeypatch, lambda job: summary(throughput(job.load or 0), job.run))
    result = capacity(DOCUMENT, output=tmp_path / "out", search=search)
    found = point(result)
    assert (found.outcome, found.is_lower_bound) == (outcome, outcome == "not reached")
    hints = [line.strip() for line in science_text.capacity(result).splitlines() if " more" in line and "-" in line]
    assert hints == ([] if hint is None else [hint])


def test_what_loads_that_were_not_tried_may_have_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answered(monkeypatch, lambda job: "gone" if (job.load or 0) > 70 else summary(10.0 * (job.load or 0), job.run))
    result = capacity(DOCUMENT, output=tmp_path / "out", search=Search(high=2048, most=8, at_least=600))
    found = point(result)
    limit = min(reading.load for reading in found.readings if reading.failed)
    assert found.load is not None
    assert found.load < 60
    assert found.bound == pytest.approx(10 * limit, rel=0.1)  # throughput grows no faster than the clients
    told = f"loads between those that were tried may have up to {found.bound:,.0f} /s: --max-runs allows more of them"
    assert f"  {told}\n" in science_text.capacity(result)
    assert [check.passed for check in result.checks] == [None]


@pytest.mark.parametrize(("load", "outcome"), [(200, "found"), (20, "not reached")])
def test_a_server_that_is_saturated_has_no_more_above(
    load: int, outcome: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answered(monkeypatch, lambda job: summary(10.0 * (job.load or 0), job.run, busy=min(1.0, (job.load or 0) / 190)))
    found = point(capacity(DOCUMENT, output=tmp_path / "out", search=Search(high=load)))
    assert (found.load, found.outcome) == (load, outcome)


@pytest.mark.parametrize(("first", "second"), [(128, 32), (32, 128)])
def test_a_lower_bound_is_not_called_smaller(
    first: int, second: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answered(monkeypatch, lambda job: summary(10.0 * (job.load or 0) + job.run / 100, job.run))
    for name, high in (("a", first), ("b", second)):
        capacity(DOCUMENT, output=tmp_path / name, search=Search(high=high, confirm=5))
    compared = compare_results(str(tmp_path / "a"), str(tmp_path / "b"))
    [at] = compared.points
    smaller = "B" if second < first else "A"
    assert (at.verdict, at.at_least) == ("no difference shown", (True, True))
    assert at.note == f"the capacity of {smaller} is only a lower bound, and may be larger than the other's"
    assert f"  at least {10 * first:,}.0 -> at least {10 * second:,}.0 /s" in science_text.comparison(compared)
