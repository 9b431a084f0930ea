"""Which points belong together, and what is said of them."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from measured_runs import study_of
from waspbench import InputError, run
from waspbench.cli import science_text
from waspbench.results import Result, RunSummary, comparing
from waspbench.results import differences as differences_module
from waspbench.results.comparing import compare_results
from waspbench.results.differences import differences
from waspbench.results.study import StudyResult, load_study
from waspbench.runner.study import study

FIVE = [100.0, 101.0, 99.0, 100.5, 99.5]


def scaled(factor: float, runs: int = 5) -> list[float]:
    return [factor * value for value in FIVE[:runs]]


def sweep(factor: float) -> StudyResult:
    return study_of([({"loss": loss, "n": n}, scaled(factor * n)) for loss in ("0%", "3%") for n in (1, 2)])


def shortened(whole: StudyResult, ok: int, loss: str) -> StudyResult:
    """The same with so few transactions at one loss rate."""
    points = [
        point.model_copy(update={"result": point.result.model_copy(update={"runs": _of(point.result, ok)})})
        if point.result is not None and point.varied["loss"] == loss
        else point
        for point in whole.points
    ]
    return whole.model_copy(update={"points": points})


def _of(whole: Result, ok: int) -> list[RunSummary]:
    """Its runs, of which one has so few transactions."""
    return [*whole.runs[:-1], whole.runs[-1].model_copy(update={"outcomes": {"ok": ok}})]


RESULTS: dict[str, StudyResult] = {
    "one": study_of([({}, FIVE)]),
    "two": study_of([({}, scaled(1.2))]),
    "few": study_of([({}, scaled(2.0, 3))]),
    "a": sweep(1.0),
    "b": sweep(1.1),
    "part": study_of([({"loss": "0%", "n": 1}, FIVE), ({"loss": "9%", "n": 1}, FIVE)]),
    "empty": study_of([({}, [])]),
    "short": shortened(sweep(1.0), 250, "3%"),
}


FEW = shortened(study_of([({"loss": "0%"}, FIVE)]), 250, "0%")


@pytest.fixture(autouse=True)
def results(monkeypatch: pytest.MonkeyPatch) -> None:
    accepted = inspect.signature(load_study)

    def load(path: str, **asked: Any) -> StudyResult:
        accepted.bind(path, **asked)
        if path not in RESULTS:
            raise InputError.at(path, "cannot be read")
        return RESULTS[path]

    monkeypatch.setattr(comparing, "load_study", load)
    monkeypatch.setattr(comparing, "facts", lambda directory: {"mode": "sim", "clients.a.rtt": directory})


def varied(found: comparing.ComparisonResult) -> list[dict[str, Any]]:
    return [point.varied for point in found.points]


def test_two_results_are_compared() -> None:
    [point] = compare_results("one", "two").points
    assert (point.verdict, point.runs, point.test) == ("faster", (5, 5), "permutation")
    assert point.ratio == pytest.approx(1.2)
    assert point.shift == pytest.approx(20, abs=1)
    assert point.note is None


def test_smaller_response_times_are_faster() -> None:
    [point] = compare_results("one", "two", "p99").points
    assert point.verdict == "faster"
    assert point.means[1] < point.means[0]


def test_too_few_runs_are_said_to_be_too_few() -> None:
    [point] = compare_results("few", "few").points
    assert point.verdict == "no difference shown"
    assert point.note == "3 and 3 runs are too few to show any difference at 5 %: at least 4 and 4 are needed"


def test_points_of_two_sweeps_are_matched_by_what_they_vary() -> None:
    found = compare_results("a", "b")
    assert varied(found) == [{"loss": loss, "n": n} for loss in ("0%", "3%") for n in (1, 2)]
    assert [point.p_holm for point in found.points] == pytest.approx([4 * point.p for point in found.points])
    assert {point.verdict for point in found.points} == {"faster"}


def test_points_within_one_sweep_are_compared() -> None:
    found = compare_results("a@loss=0%", "a@loss=3%")
    assert varied(found) == [{"n": 1}, {"n": 2}]
    assert {point.verdict for point in found.points} == {"no difference shown"}
    [only] = compare_results("a@loss=0%,n=1", "a@loss=0%,n=2").points
    assert (only.varied, only.verdict) == ({}, "faster")


def test_what_else_differs_is_listed() -> None:
    [rtt] = compare_results("one", "two").differences
    assert (rtt.field, rtt.a, rtt.b) == ("clients.a.rtt", "one", "two")
    assert compare_results("a@loss=0%", "a@loss=3%").differences == []


@pytest.mark.parametrize(
    ("field", "swept"),
    [
        ("clients.homes.rtt", "clients.rtt"),
        ("clients.homes.rtt", "clients.homes.rtt"),
        ("clients.homes.loss.rate", "clients.loss"),
        ("server.kind", "server.kind"),
    ],
)
def test_what_is_swept_is_no_difference(field: str, swept: str) -> None:
    one, two = {field: 1, "machine.cpus": 2}, {field: 2, "machine.cpus": 2}
    assert [each.field for each in differences(one, two, [])] == [field]
    assert differences(one, two, [swept]) == []
    assert len(differences(one, two, ["clients.count", "clients.phones.rtt"])) == 1


def test_what_two_directories_differ_in(tmp_path: Path) -> None:
    document = {"name": "x", "mode": "sim", "clients": [{"rtt": "5ms"}], "measure": {"duration": "1s", "runs": 1}}
    run(document, output=tmp_path / "single")
    study(document | {"name": "y", "clients": [{"rtt": "9ms"}]}, output=tmp_path / "study")
    one, two = differences_module.facts(tmp_path / "single"), differences_module.facts(tmp_path / "study")
    changed = {each.field: (each.a, each.b) for each in differences(one, two, [])}
    assert changed == {"clients.clients.rtt": ("5ms", "9ms")}


def test_percentiles_of_too_few_transactions_are_not_compared() -> None:
    found = compare_results("a", "short", "p99")
    assert varied(found) == [{"loss": "0%", "n": n} for n in (1, 2)]
    lacks = "p99 needs 299 ok transactions, and there are 250 in a run"
    assert found.lacking == [f"B at loss=3% n={n}: {lacks}" for n in (1, 2)]
    assert f"Not compared:\n  B at loss=3% n=1: {lacks}\n" in science_text.comparison(found)
    assert compare_results("a", "short", "p90").lacking == []
    with pytest.raises(InputError, match="cannot be compared with a@loss=3%,n=1: B: p99 needs 299 ok transactions"):
        compare_results("a@loss=3%,n=1", "short@loss=3%,n=1", "p99")


def test_points_that_only_one_side_has_are_listed() -> None:
    found = compare_results("a", "part")
    assert varied(found) == [{"loss": "0%", "n": 1}]
    assert found.unmatched == ["A: loss=0% n=2", "A: loss=3% n=1", "A: loss=3% n=2", "B: loss=9% n=1"]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("a", "none", "none: cannot be read"),
        ("a@rtt=5ms", "b", "a@rtt=5ms: rtt is not swept there; valid here: loss, n"),
        ("a@loss=5%", "b", "a@loss=5%: has no finished point with loss=5%"),
        ("a@loss=0%,n", "b", "a@loss=0%,n: must be DIR, or DIR@path=value such as DIR@clients.loss.rate=3%"),
        ("a", "one", "A: loss=0% n=1 and loss=0% n=2 both match; choose (DIR@path=value, or study.at in Python)"),
        ("empty", "one", "empty: has no finished point"),
        ("a@loss=3%,n=1", "part@loss=9%,n=2", "part@loss=9%,n=2: has no finished point with loss=9% n=2"),
    ],
)
def test_what_cannot_be_compared(first: str, second: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        compare_results(first, second)
    assert str(raised.value) == message


def test_an_unknown_figure_is_refused() -> None:
    with pytest.raises(InputError, match=r'^metric: "max": must be throughput, goodput, mean, or a percentile'):
        compare_results("one", "two", "max")


@pytest.mark.parametrize("alpha", [0.0, 1e-60, 1.0, float("nan")])
def test_a_level_that_no_runs_could_reach_is_refused(alpha: float) -> None:
    with pytest.raises(InputError, match=r"^alpha: .*: must be from 1e-06 to below 1"):
        compare_results("one", "two", alpha=alpha)


def test_the_least_level_is_told_how_many_runs_it_needs() -> None:
    [point] = compare_results("one", "two", alpha=comparing.LEAST_ALPHA).points
    assert (point.note or "").endswith("at least 12 and 12 are needed")


def test_a_directory_may_have_an_at_sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / "a@b=c"
    odd.mkdir()
    monkeypatch.setitem(RESULTS, str(odd), RESULTS["one"])
    assert len(compare_results(str(odd), "two").points) == 1


def test_a_limit_makes_checks() -> None:
    assert compare_results("one", "two").checks == []
    [check] = compare_results("two", "one", fail_on="slower:5%").checks
    assert (check.passed, check.condition) == (False, "throughput slower:5%")
    [check] = compare_results("one", "few", fail_on="slower:5%").checks
    assert check.passed is None
    checks = compare_results("a", "part", fail_on="slower:5%").checks
    assert [check.passed for check in checks] == [True, None]
    assert checks[-1].why.startswith("not compared: A: loss=0% n=2 is on one side only; ")
    short = compare_results("a", "short", "p99", fail_on="slower:5%").checks
    assert short[-1].why.startswith("not compared: ")
    with pytest.raises(InputError, match="is the same as A, so that it cannot be slower"):
        compare_results("one", "./one", fail_on="slower:5%")


def test_where_nothing_can_be_compared_a_limit_is_undecided() -> None:
    few = {"one": FEW, "two": FEW}
    with pytest.MonkeyPatch.context() as patch:
        for name, made in few.items():
            patch.setitem(RESULTS, name, made)
        with pytest.raises(InputError, match="cannot be compared with one"):
            compare_results("one", "two", "p99")
        result = compare_results("one", "two", "p99", fail_on="slower:5%")
    assert result.points == []
    assert [check.passed for check in result.checks] == [None]
    assert result.checks[0].why.startswith("not compared: A at loss=0%: p99 needs 299 ok transactions")


def test_a_point_that_neither_side_has_is_told() -> None:
    whole = sweep(1.0)
    part = whole.model_copy(
        update={"points": [*whole.points[:-1], whole.points[-1].model_copy(update={"result": None})]}
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(RESULTS, "a", part)
        patch.setitem(RESULTS, "b", part)
        result = compare_results("a", "b", fail_on="slower:50%")
    assert [check.passed for check in result.checks] == [True, True, True, None]
    assert result.lacking == ["A at loss=3% n=2: no run is finished", "B at loss=3% n=2: no run is finished"]
