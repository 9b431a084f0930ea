"""The search for lengths of warm-up and interval (``auto``): what its pilots say, and when it ends."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answered_runs import answered
from measured_auto import Found, table
from waspbench import load, resume, study
from waspbench.cli import studies
from waspbench.cli.outputs import Outputs
from waspbench.cli.status import Status
from waspbench.cli.table import report
from waspbench.errors import InputError, RunFailedError
from waspbench.results.lengths import Pilot, PilotGroup, Want
from waspbench.results.records import records_of
from waspbench.results.study import StudyResult
from waspbench.runner import study as study_module
from waspbench.runner.attempts import FirstAttempt
from waspbench.runner.job import Done, Job
from waspbench.runner.lengths import GROWTH, LONGEST, MOST, LengthSearch, PilotLengths, differing
from waspbench.runner.searches import LENGTHS
from waspbench.runner.study import Study, prepare
from waspbench.runner.timing import time_limit

BOTH = ("warmup", "duration")


def resumed_study(directory: Path) -> StudyResult:
    result = resume(directory)
    assert isinstance(result, StudyResult)
    return result


FIRST = PilotLengths(5.0, 10.0)


def group(throughput: float = 100.0, mean: float | None = 100.0, error: float | None = 0.01) -> PilotGroup:
    return PilotGroup(name="g", throughput=throughput, throughput_error=error, mean_ms=mean, mean_error=error)


def pilot(lengths: PilotLengths, *wants: Want, throughput: float = 100.0, hopeless: str | None = None) -> Pilot:
    return Pilot(
        warmup_s=lengths.warmup,
        duration_s=lengths.duration,
        groups=[group(throughput)],
        wants=list(wants),
        hopeless=hopeless,
    )


def want(code: str, warmup: float | None = None, interval: float | None = None) -> Want:
    return Want(code=code, warmup_s=warmup, duration_s=interval)


def searched(
    answer: Callable[[PilotLengths], Pilot], fields: Sequence[str] = BOTH, first: PilotLengths = FIRST
) -> LengthSearch:
    """A search to its end."""
    search = LengthSearch(fields, first)
    while not search.over:
        search.tell(answer(search.next))
    return search


def lengths_of(search: LengthSearch) -> list[tuple[float, float]]:
    return [(made.warmup_s, made.duration_s) for made in search.pilots]


def found_by(search: LengthSearch) -> dict[str, str]:
    assert search.found is not None
    return search.found.measure


@pytest.mark.parametrize(
    ("fields", "made", "found"),
    [
        (BOTH, [(5, 10), (10, 20)], {"warmup": "5s", "duration": "10s"}),
        (("duration",), [(5, 10), (5, 20)], {"duration": "10s"}),
        (("warmup",), [(5, 10), (10, 20)], {"warmup": "5s"}),
    ],
)
def test_a_run_twice_as_long_confirms(
    fields: Sequence[str], made: list[tuple[float, float]], found: dict[str, str]
) -> None:
    search = searched(pilot, fields)
    assert lengths_of(search) == made
    assert found_by(search) == found
    assert search.found is not None
    seconds = sum(map(sum, made))
    said = f"{' and '.join(fields)} found by 2 pilot runs of {seconds}s in all; a run twice as long agreed"
    assert search.found.text == said


@pytest.mark.parametrize(
    ("fields", "made", "found"),
    [
        (BOTH, [(5, 10), (10, 20), (20, 40)], {"warmup": "10s", "duration": "20s"}),
        (("duration",), [(5, 10), (5, 20), (5, 40)], {"duration": "20s"}),
        (("warmup",), [(5, 10), (10, 20), (20, 40)], {"warmup": "10s"}),
    ],
)
def test_runs_that_differ_are_followed_by_a_longer_one(
    fields: Sequence[str], made: list[tuple[float, float]], found: dict[str, str]
) -> None:
    search = searched(lambda lengths: pilot(lengths, throughput=100.0 if lengths.duration < 20 else 80.0), fields)
    assert lengths_of(search) == made
    assert found_by(search) == found


def test_a_lucky_pilot_is_not_believed() -> None:
    def said(lengths: PilotLengths) -> Pilot:
        near = want("near_capacity", interval=300.0)
        return pilot(lengths, near) if 10 < lengths.duration < 300 else pilot(lengths)

    # An interval grows tenfold at most.
    search = searched(said)
    assert lengths_of(search) == [(5, 10), (10, 20), (10, 200), (10, 305), (20, 610)]
    assert found_by(search) == {"warmup": "10s", "duration": "305s"}


def test_a_pilot_is_longer_by_half_at_least_than_one_that_was_too_short() -> None:
    def said(lengths: PilotLengths) -> Pilot:
        more = want("censored", interval=lengths.duration + 1)
        return pilot(lengths, more) if lengths.duration < 30 else pilot(lengths)

    assert lengths_of(searched(said, ("duration",))) == [(5, 10), (5, 15), (5, 23), (5, 35), (5, 70)]


def test_an_interval_is_as_long_as_the_warm_up_that_is_looked_for() -> None:
    def said(lengths: PilotLengths) -> Pilot:
        return pilot(lengths, want("windows", 60.0)) if lengths.warmup < 60 else pilot(lengths)

    for fields, found in ((("warmup",), {"warmup": "60s"}), (BOTH, {"warmup": "60s", "duration": "60s"})):
        search = searched(said, fields)
        assert lengths_of(search) == [(5, 10), (60, 60), (120, 120)]
        assert found_by(search) == found


def test_what_the_experiment_says_has_no_limit() -> None:
    long = PilotLengths(2400.0, 10.0)
    assert found_by(searched(pilot, ("duration",), long)) == {"duration": "10s"}
    search = searched(lambda lengths: pilot(lengths, want("few", interval=20.0)), ("duration",), long)
    assert search.given_up is not None
    assert search.given_up.startswith(
        "duration auto: pilot runs of 120min are not enough for enough transactions to end"
    )


def test_a_search_ends_where_two_pilots_say_that_no_length_helps() -> None:
    search = searched(lambda lengths: pilot(lengths, hopeless="the offered load was not achieved"))
    assert lengths_of(search) == [(5, 10), (10, 20)]
    assert found_by(search) == {"warmup": "5s", "duration": "10s"}
    assert search.found is not None
    said = "warmup and duration auto ended after 2 pilot runs of 45s in all, because no length helps: "
    assert search.found.text == f"{said}the offered load was not achieved"

    unlucky = searched(lambda lengths: pilot(lengths, hopeless="bad luck" if lengths.duration == 10 else None))
    assert lengths_of(unlucky) == [(5, 10), (10, 20), (20, 40)]
    assert unlucky.found is not None
    assert unlucky.found.why is None


@pytest.mark.parametrize(
    ("wants", "pilots", "message"),
    [
        ([want("windows")], 1, "no warm-up of up to 2h is enough for congestion windows to converge"),
        ([want("warmup", 500.0)], 2, "5min are not enough for throughput to settle"),
        ([want("warmup", 9000.0)], 1, "5min are not enough for throughput to settle"),
        ([want("near_capacity", interval=3600.0)], 4, "30min are not enough for a queue near its capacity"),
        (
            [want("opening", 10.0), want("censored", interval=9e9)],
            4,
            "30min are not enough for the longest transactions",
        ),
    ],
)
def test_a_search_gives_up_with_words(wants: list[Want], pilots: int, message: str) -> None:
    search = searched(lambda lengths: pilot(lengths, *wants))
    assert len(search.pilots) == pilots
    assert search.given_up is not None
    assert search.given_up.startswith(f"warmup and duration auto: {message}, after {pilots} pilot run")
    assert search.given_up.endswith(" in all; give measure.warmup and measure.duration")


def test_an_estimate_of_more_than_the_longest_is_tried_with_the_longest() -> None:
    def said(lengths: PilotLengths) -> Pilot:
        return pilot(lengths, want("near_capacity", interval=2000.0)) if lengths.duration < 1800 else pilot(lengths)

    search = searched(said, ("duration",))
    assert found_by(search) == {"duration": "30min"}


def test_a_search_gives_up_where_runs_never_agree() -> None:
    search = searched(lambda lengths: pilot(lengths, throughput=1000.0 / lengths.duration), ("duration",))
    assert search.given_up is not None
    assert re.search(r"runs of \d+min and of \d+min differ in the throughput, after \d+ pilot runs", search.given_up)


WANTS = st.lists(
    st.builds(
        want,
        st.sampled_from(["warmup", "opening", "windows", "few", "silent", "cycles", "near_capacity", "censored"]),
        st.none() | st.floats(1, 3000),
        st.none() | st.floats(1, 3000),
    ),
    max_size=2,
)


@given(st.data(), st.sampled_from([BOTH, ("warmup",), ("duration",)]), st.floats(0, 100))
def test_whatever_pilots_say_a_search_ends_within_its_cost(
    data: st.DataObject, fields: Sequence[str], warmup: float
) -> None:
    def answer(lengths: PilotLengths) -> Pilot:
        hopeless = data.draw(st.sampled_from([None, None, None, "why"]))
        wants = [] if hopeless else data.draw(WANTS)
        return pilot(lengths, *wants, throughput=data.draw(st.sampled_from([100.0, 101.0, 200.0])), hopeless=hopeless)

    search = searched(answer, fields, FIRST if "warmup" in fields else PilotLengths(warmup, 10.0))
    assert sum(made.length_s for made in search.pilots) <= MOST
    given = 0.0 if "warmup" in fields else warmup
    lengths = [made.length_s - given for made in search.pilots]
    longest = any(LONGEST in (made.warmup_s, made.duration_s) for made in search.pilots)
    assert longest or all(after >= GROWTH * before - 1e-6 for before, after in pairwise(lengths))
    assert "warmup" in fields or {made.warmup_s for made in search.pilots} == {warmup}
    if search.found is None:
        assert search.given_up is not None
        return
    values = {"warmup": search.found.warmup_s, "duration": search.found.duration_s}
    assert {field for field, value in values.items() if value is not None} == set(fields)
    assert max(value or 0.0 for value in values.values()) <= LONGEST
    assert lengths[-1] == pytest.approx(2 * lengths[-2])
    assert longest or sum(lengths) <= 5 * lengths[-2]


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        (group(100.0), group(104.0), None),
        (group(100.0), group(94.0), "the throughput"),
        (group(100.0, error=0.05), group(94.0, error=0.05), None),
        (group(100.0, 100.0), group(100.0, 106.0), "the mean response time"),
        (group(100.0, None), group(100.0, 100.0), "the mean response time"),
        (group(0.0, None, None), group(0.0, None, None), None),
        (group(0.0, None, None), group(1.0, 100.0), "the throughput"),
    ],
)
def test_runs_agree_within_five_per_cent_or_chance(one: PilotGroup, other: PilotGroup, found: str | None) -> None:
    def made(figures: PilotGroup) -> Pilot:
        return Pilot(warmup_s=5.0, duration_s=10.0, groups=[figures])

    assert differing(made(one), made(other)) == found
    assert differing(made(other), made(one)) == found


# Pilots of simulated clients.

CLIENTS: dict[str, Any] = {
    "name": "x",
    "mode": "sim",
    "clients": [{"name": "homes", "count": 16, "rtt": "20ms"}],
    "measure": {"runs": 1, "warmup": "auto", "duration": "auto"},
}


def test_the_lengths_and_pilots_are_kept_and_said(tmp_path: Path) -> None:
    [point] = study(CLIENTS, output=tmp_path / "out").points
    result = point.result
    assert result is not None
    assert result.valid
    assert result.scenario["measure"]["duration"] == "10s"
    assert result.lengths is not None
    assert [(made.warmup_s, made.duration_s) for made in result.lengths.pilots] == [(5, 10), (10, 20)]
    assert load(tmp_path / "out").lengths == result.lengths
    assert "lengths         warmup and duration found by 2 pilot runs of 45s in all" in report(result)
    # Pilots draw otherwise than the runs that are measured.
    assert result.lengths.pilots[0].groups[0].throughput != result.runs[0].throughput


def test_a_sweep_finds_lengths_in_worker_processes(tmp_path: Path) -> None:
    asked = CLIENTS | {"sweep": {"clients.loss.rate": ["0%", "3%"]}}
    side_by_side, alone = (study(asked, output=tmp_path / str(jobs), jobs=jobs).points for jobs in (2, 1))
    assert [point.result and point.result.lengths for point in side_by_side] == [
        point.result and point.result.lengths for point in alone
    ]
    assert all(point.result and point.result.lengths and point.result.lengths.pilots for point in alone)


def clients(*groups: dict[str, Any], **more: Any) -> dict[str, Any]:
    return CLIENTS | {"clients": [{"name": f"g{index}", **each} for index, each in enumerate(groups)]} | more


def test_clients_that_all_time_out_end_the_search_with_words(tmp_path: Path) -> None:
    asked = clients({"count": 16, "rtt": "1s", "http": {"timeout": "900ms"}})
    [point] = study(asked, output=tmp_path / "out").points
    result = point.result
    assert result is not None
    assert not result.valid
    [note] = [note for note in result.notes if "auto" in note]
    assert note.startswith("warmup and duration auto ended after 2 pilot runs of 45s in all, because no length helps: ")
    assert re.search(r"100.0 % of the \d+ transactions that ended were not ok \(timed_out \d+\); at most 10%", note)


def test_a_group_that_fails_as_it_may_does_not_end_the_search_for_a_slow_one(tmp_path: Path) -> None:
    # The one gives up after 2 s; the other takes 21 s for each answer.
    hasty = {"count": 16, "rtt": "100ms", "http": {"timeout": "2s"}, "bandwidth": {"down": "1kbit/s"}}
    slow = {"count": 16, "rtt": "100ms", "bandwidth": {"down": "8kbit/s"}}
    measure = {"runs": 1, "warmup": "auto", "duration": "auto", "max_errors": "100%"}
    asked = clients(hasty, slow, measure=measure, workload={"size": "20KB"})
    [point] = study(asked, output=tmp_path / "out").points
    assert point.result is not None
    assert point.result.lengths is not None
    first, *_, last = point.result.lengths.pilots
    assert "silent" in {each.code for each in first.wants}
    assert last.groups[1].throughput > 0
    assert point.result.lengths.why is None


def test_errors_that_may_be_chance_do_not_end_the_search(tmp_path: Path) -> None:
    # The long run has 8.8 % of errors, of 10 % that are allowed.
    asked = clients({"count": 4, "rtt": "600ms", "loss": {"rate": "9%"}, "http": {"timeout": "2s"}})
    for seed in range(1, 6):
        [point] = study(asked | {"seed": seed}, output=tmp_path / str(seed)).points
        assert point.result is not None
        assert point.result.lengths is not None
        assert point.result.lengths.why is None


def test_a_warm_up_is_found_of_few_transactions(tmp_path: Path) -> None:
    asked = clients({"count": 2, "rtt": "500ms"}, measure={"runs": 1, "warmup": "auto", "duration": "60s"})
    [point] = study(asked, output=tmp_path / "out").points
    assert point.result is not None
    assert point.result.lengths is not None
    assert point.result.lengths.measure == {"warmup": point.result.scenario["measure"]["warmup"]}
    assert point.result.scenario["measure"]["duration"] == "60s"
    assert "too_few" in {each.code for made in point.result.lengths.pilots for each in made.wants}


def test_lengths_that_the_experiment_says_are_left_as_they_are(tmp_path: Path) -> None:
    measure = {"runs": 1, "warmup": "10us", "duration": "auto"}
    [point] = study(clients({"count": 16, "rtt": "20ms"}, measure=measure), output=tmp_path / "out").points
    assert point.result is not None
    assert point.result.scenario["measure"]["warmup"] == "10us"


def test_a_time_limit_is_that_of_the_first_lengths(tmp_path: Path) -> None:
    _, [point] = prepare(clients({}, measure={"time_limit": "30s", "warmup": "auto"}), tmp_path / "out")
    assert time_limit(point.experiment, {"measure": {"warmup": "10s", "duration": "20s"}}) == 60
    assert time_limit(point.experiment, {"measure": {"warmup": "5s", "duration": "10s"}}) == 30


def test_a_pilot_that_was_disturbed_counts_where_the_next_attempt_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def disturbed(done: Done, mode: str) -> FirstAttempt | None:
        again = done.job.pilot is not None and done.job.attempt == 1
        return FirstAttempt(("steal",), done.summary) if again else None

    monkeypatch.setattr(study_module, "first_attempt", disturbed)
    answered(monkeypatch, lambda job: "gone" if job.pilot is not None and job.attempt == 2 else None)
    [point] = study(CLIENTS, output=tmp_path / "out").points
    assert point.result is not None
    assert point.result.lengths is not None
    assert len(point.result.lengths.pilots) == 2


def test_a_pilot_that_fails_twice_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answered(monkeypatch, lambda job: "gone")
    with pytest.raises(RunFailedError, match=r"^pilot run 1: gone$"):
        study(CLIENTS, output=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_search_that_was_interrupted_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(job: Job) -> None:
        if len(made) == 2:
            raise KeyboardInterrupt

    made = answered(monkeypatch, interrupted)
    with pytest.raises(KeyboardInterrupt):
        study(CLIENTS, output=tmp_path / "out")
    resumed = resumed_study(tmp_path / "out").points[0].result
    assert [job.pilot and job.pilot.duration for job in made] == [10, 20, 20, None]
    monkeypatch.undo()
    whole = study(CLIENTS, output=tmp_path / "whole").points[0].result
    assert whole is not None
    assert resumed is not None
    assert (resumed.lengths, resumed.runs) == (whole.lengths, whole.runs)


def test_an_interrupt_between_pilots_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(job: Job) -> None:
        if job.pilot is not None and job.pilot.duration > 10:
            raise KeyboardInterrupt

    answered(monkeypatch, interrupted)
    place = tmp_path / "out"
    assert studies.begin(CLIENTS, output=place, outputs=Outputs()) == Status.INTERRUPTED
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == f"wasp: interrupted before anything was measured; wasp resume {place} goes on with its pilot runs"
    monkeypatch.undo()
    assert studies.made(Study.open(place), None, Outputs()) == Status.DONE


def test_a_search_that_gives_up_leaves_the_other_points_alone(tmp_path: Path) -> None:
    # Each connection of the second point loses data once in hours.
    asked = CLIENTS | {
        "workload": {"kind": "single", "size": "500KB"},
        "server": {"tcp": {"congestion": "reno"}},
        "measure": {"runs": 1, "warmup": "auto", "duration": "2s"},
        "clients": [{"count": 40, "rtt": "500ms"}],
        "sweep": {"clients.loss.rate": ["0%", "0.0005%"]},
    }
    clean, lost = study(asked, output=tmp_path / "out", jobs=1).points
    assert clean.result is not None
    assert lost.result is None
    place = tmp_path / "out/points/0001"
    [record] = records_of(place)
    assert record.failure is not None
    assert record.failure.startswith("warmup auto: ")
    assert "enough for congestion windows to converge, after " in record.failure
    pilots = (place / LENGTHS).read_text()
    # It is said again, and no other pilot is made.
    assert resumed_study(tmp_path / "out").points[1].result is None
    assert (place / LENGTHS).read_text() == pilots
    assert records_of(place) == [record]


def test_pilots_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    plan, found = prepare(CLIENTS, tmp_path / "out")
    begun = Study.begin(plan, found, tmp_path / "out")
    (tmp_path / "out" / LENGTHS).write_text('{"pilots": [{}]}')
    with pytest.raises(InputError, match="no valid pilots; remove the file, and they are made again"):
        begun.run()


def test_runs_whose_pilots_are_lost_are_not_mixed_with_others(tmp_path: Path) -> None:
    study(CLIENTS, output=tmp_path / "out")
    (tmp_path / "out" / LENGTHS).unlink()
    with pytest.raises(InputError, match="is not what the runs here were made with; begin anew"):
        resume(tmp_path / "out")


def test_what_is_measured_of_auto_is_counted() -> None:
    right, off, none = Found(30.0, 90.0, True, True), Found(60.0, 240.0, True, False), Found(why="failed")
    assert table({"some": [right, off, none]}).splitlines()[-1] == "| some | 2 | 45 s | 3.5 | 2 | 1 | 1 |"
