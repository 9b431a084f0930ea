"""What speaks against a result, and what to try next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from measured_advice import CONFIGURATIONS, Next
from measured_advice import table as table_of
from waspbench import run, study
from waspbench.cli import studies, table
from waspbench.experiment import accept, parse
from waspbench.experiment.search import Search
from waspbench.results import Result, load
from waspbench.results.exports import markdown
from waspbench.results.reasons import Advice, Reason, advice_of, longest
from waspbench.runner.capacity import capacity

SLOW: dict[str, Any] = {
    # 92 KB take 12 s, and all clients end theirs within 2.5 s of every 12.
    "name": "slow",
    "mode": "sim",
    "clients": [{"count": 256, "rtt": "100ms", "bandwidth": {"down": "64kbit/s"}}],
    "workload": {"kind": "single", "size": "92KB"},
    "measure": {"runs": 2},
}


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return run(SLOW, output=tmp_path_factory.mktemp("slow") / "out")


def reason(code: str, warmup: float | None = None, interval: float | None = None) -> Reason:
    return Reason(run=None, code=code, message="", enough_warmup_s=warmup, enough_s=interval)


@pytest.mark.parametrize(
    ("reasons", "advice"),
    [
        ([], None),
        ([reason("errors")], None),
        ([reason("censored", None, 60.0)], (None, 60.0)),
        ([reason("windows", 45.0)], (45.0, None)),
        ([reason("windows", 45.0), reason("censored", 20.0, 30.0), reason("cycles", None, 90.0)], (45.0, 90.0)),
        ([reason("steal"), reason("loss"), reason("too_few", None, 20.0)], (None, 20.0)),
        # No length helps against one of them.
        ([reason("overload"), reason("opening", 45.0)], None),
        ([reason("windows"), reason("cycles", None, 90.0)], None),
        # What a longer run would have as well.
        ([reason("errors"), reason("too_few", None, 20.0)], None),
        ([reason("stopped"), reason("windows", 45.0)], None),
    ],
)
def test_the_advice_is_the_longest_of_what_the_reasons_need(
    reasons: list[Reason], advice: tuple[float | None, float | None] | None
) -> None:
    found = advice_of(reasons)
    assert (found and (found.warmup_s, found.duration_s)) == advice


@pytest.mark.parametrize(
    ("warmup", "interval", "text"),
    [
        (45.0, 120.0, "measure for 2min after a warm-up of 45s"),
        (None, 90.0, "measure for 90s"),
        (7200.0, None, "try a warm-up of 120min"),
    ],
)
def test_advice_in_words(warmup: float | None, interval: float | None, text: str) -> None:
    assert Advice(warmup_s=warmup, duration_s=interval).text == text


def test_a_result_has_one_advice_for_all_its_runs_and_reasons(slow: Result) -> None:
    assert [(each.code, each.run) for each in slow.invalid_reasons] == [("cycles", None), ("censored", None)]
    needed = [each.enough_s for each in slow.invalid_reasons if each.enough_s is not None]
    assert slow.advice is not None
    assert slow.advice.duration_s == max(needed) >= 120
    lines = table.report(slow).splitlines()
    [advice] = [line for line in lines if line.startswith("advice")]
    assert advice.split(maxsplit=1)[1] == slow.advice.text
    assert not any("measure for at least" in line for line in lines)


def test_an_experiment_that_follows_the_advice_is_valid(slow: Result) -> None:
    assert slow.advice is not None
    lengths = {"warmup": slow.advice.warmup_s, "duration": slow.advice.duration_s}
    again = run(SLOW | {"measure": {"runs": 2, **{key: f"{value}s" for key, value in lengths.items() if value}}})
    assert again.valid
    assert again.advice is None
    assert again.throughput.mean == pytest.approx(256 / (again.response_time_ms.mean or 0) * 1e3, rel=0.01)


def test_what_is_read_again_has_the_same_advice(slow: Result) -> None:
    assert slow.results is not None
    again = load(slow.results)
    assert (again.advice, again.invalid_reasons) == (slow.advice, slow.invalid_reasons)


def test_a_study_has_one_advice_for_all_its_points(tmp_path: Path) -> None:
    made = study(SLOW | {"sweep": {"clients.count": [128, 256]}}, output=tmp_path / "out")
    advised = [point.result.advice for point in made.points if point.result is not None]
    assert None not in advised
    [line] = [line for line in studies.report(made).split("Advice:")[1].splitlines() if "measure for " in line]
    both = longest(advised)
    assert both is not None
    assert both.text in line
    assert both.duration_s == max(each.duration_s or 0 for each in advised if each is not None)
    assert f"\n\nAdvice:\n\n- {both.text}\n" in markdown(made)


def test_nothing_is_advised_where_all_fails() -> None:
    asked = SLOW | {"clients": [{"count": 16, "rtt": "600ms", "http": {"timeout": "100ms"}}], "measure": {"runs": 1}}
    result = run(asked)
    assert {"errors", "too_few"} <= {each.code for each in result.invalid_reasons}
    assert [each.enough_s for each in result.invalid_reasons if each.code == "too_few"] == [None]
    assert result.advice is None
    assert "advice" not in table.report(result)


def test_a_reading_of_a_capacity_has_the_advice(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"name": "x", "clients": [{"count": 1, "rtt": "300ms", "loss": {"rate": "0.3%"}}]}
    asked["workload"] = {"kind": "single", "size": "30KB"}
    far = Search(method="sweep", low=64, high=64, objectives=("p99 < 1ms",))  # so far that no run is made longer
    made = capacity(asked, output=tmp_path / "out", mode="sim", search=far)
    notes = [note for point in made.points for reading in point.readings for note in reading.notes]
    assert any(note.startswith("advice: try a warm-up of ") for note in notes)


def test_what_is_measured_is_valid_and_counted() -> None:
    for document in CONFIGURATIONS.values():
        accept(parse(document), "sim")
    good, wrong = Next(True, True, True, True), Next(True, True, True, False)
    long, none = Next(True, False, False, False), Next(False, False, False, False)
    rows = table_of({"a": [good, wrong, None], "b": [long, none, good]}).splitlines()
    assert rows[2:] == ["| a | 2 | 2 | 2 | 2 | 1 |", "| b | 3 | 2 | 1 | 1 | 1 |", "| all | 5 | 4 | 3 | 3 | 2 |"]
