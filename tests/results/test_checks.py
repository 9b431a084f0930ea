"""Thresholds, and what CI is told."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

from measured_runs import result, study_of
from waspbench import Result, run
from waspbench.errors import InputError
from waspbench.experiment.conditions import condition
from waspbench.experiment.metrics import metric
from waspbench.results import load as result_of
from waspbench.results import populations_of
from waspbench.results.checks import estimate, judge, run_values, shown
from waspbench.results.exports import junit, markdown
from waspbench.results.normal import judge_normality
from waspbench.stats import mean_interval, merge, percentiles
from waspbench.stats.quantiles import quantile_intervals

RUNS = [630.0, 640.0, 650.0]
LOW, HIGH = mean_interval(RUNS) or (0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("throughput > 600", True),
        ("throughput > 635", False),  # the mean is above, the interval's lower end is not
        ("throughput < 645", False),
        ("throughput < 660", True),
        ("throughput >= 640", False),
        ("p99 < 800ms", True),
        ("p99 < 470ms", False),
        ("mean < 1s", True),
        ("max <= 634.920635ms", True),
        ("errors < 0.1%", True),
        ("errors < 0.001%", False),
        ("server_cpu < 60%", True),
        ("goodput > 5Mbit/s", True),
    ],
)
def test_a_condition_is_judged_at_the_unfavourable_end_of_the_interval(text: str, passed: bool) -> None:
    [check] = judge(study_of([({}, RUNS)]), [condition(text, "--assert")])
    assert check.passed is passed, check.why


def test_which_end_is_said() -> None:
    study = study_of([({}, RUNS)])
    [over, under] = judge(study, [condition("throughput > 1", "--assert"), condition("p99 < 1s", "--assert")])
    assert over.judged == LOW
    assert over.why == f"throughput is 640.0 /s; the lower end of its 90 % interval, {LOW:.1f} /s, counts"
    assert under.why == "p99 is 317.5 ms; the upper end of its 90 % interval, 476.2 ms, counts"


def test_one_run_is_judged_by_itself_and_it_is_said() -> None:
    [check] = judge(study_of([({}, [640.0])]), [condition("throughput > 635", "--assert")])
    assert check.passed
    assert check.why == "throughput is 640.0 /s (one run has no interval)"


def test_a_point_without_results_decides_no_condition() -> None:
    [check] = judge(study_of([({}, [])]), [condition("throughput > 0", "--assert")])
    assert (check.passed, check.value) == (None, None)
    assert check.line == "undecided  throughput > 0: there is no figure to judge"


def without_errors(ok: int, runs: int) -> Result:
    made = result(RUNS[:runs])
    outcomes = {"ok": ok, "reset": 0, "unfinished": 9}
    return made.model_copy(update={"runs": [one.model_copy(update={"outcomes": outcomes}) for one in made.runs]})


@pytest.mark.parametrize("runs", [1, 3])
def test_no_error_among_a_few_transactions_shows_little(runs: int) -> None:
    few = without_errors(7249 // runs, runs)
    study = study_of([({}, RUNS)])
    study = study.model_copy(update={"points": [study.points[0].model_copy(update={"result": few})]})
    seldom, rarely = judge(study, [condition(f"errors < {limit}", "--assert") for limit in ("0.05%", "0.01%")])
    assert (seldom.passed, rarely.passed) == (True, False)
    assert rarely.value == 0
    assert "0.041 %, counts (0 of 7,2" in rarely.why


def test_a_percentile_and_its_interval_are_those_of_all_runs_together(tmp_path: Path) -> None:
    clients = [{"count": 64, "rtt": "20ms", "loss": "3%"}]
    measure = {"warmup": "500ms", "duration": "1s", "runs": 3}
    found = run({"name": "x", "mode": "sim", "clients": clients, "measure": measure}, output=tmp_path / "out")
    tables = [pl.read_parquet(tmp_path / "out" / "histogram" / f"run-{number}.parquet") for number in range(3)]
    histograms = [populations_of(each).ok for each in tables]
    for name, fraction in (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)):
        value, interval = estimate(found, metric(name))
        [expected] = percentiles(merge(histograms), [fraction])
        assert value is not None
        assert interval is not None
        assert expected is not None
        assert value == pytest.approx(expected / 1e6)
        low, high = quantile_intervals(histograms, [fraction])[0] or (0.0, 0.0)
        assert interval == pytest.approx((low / 1e6, high / 1e6))
        assert interval[0] <= value <= interval[1]
    assert run_values(found, metric("p99")) == [one.response_time_ms.p99 for one in found.runs]
    assert result_of(tmp_path / "out") == found


@pytest.mark.parametrize(
    ("text", "passed", "why"),
    [
        ("p50 < 1s", True, "p50 is "),
        ("p90 < 1s", True, "p90 is "),
        ("p99 < 1s", None, "p99 needs 299 ok transactions, and there are 151"),
        ("clients.all.p99 < 1s", None, "clients.all.p99 needs 299 transactions that ended, and there are 151"),
        ("max < 1s", True, "max is "),
    ],
)
def test_a_percentile_of_too_few_transactions_is_left_out_and_decides_no_condition(
    few: Result, text: str, passed: bool | None, why: str
) -> None:
    study = study_of([({}, RUNS)])
    study = study.model_copy(update={"points": [study.points[0].model_copy(update={"result": few})]})
    [check] = judge(study, [condition(text, "--assert")])
    assert check.passed is passed
    assert check.why.startswith(why)
    assert (check.value is None) is (passed is None)


def test_a_percentile_that_is_left_out_is_null_and_noted(few: Result) -> None:
    for times in (few.response_time_ms, few.all_response_time_ms, few.groups[0].response_time_ms):
        assert times is not None
        assert (times.p99, times.p99_ci90) == (None, None)
        assert None not in (times.mean, times.p50, times.p50_ci90, times.p90, times.p90_ci90, times.max)
    assert few.open_loop is not None
    of_runs = few.open_loop.from_start_ms
    assert of_runs.p99 is None
    assert None not in (of_runs.p50, of_runs.p90)
    assert "p99 and p99.9 are left out: they need 299 and 2,995 ok transactions" in few.notes
    with pytest.raises(ValueError, match=r"values: p99 needs 299 ok transactions, and there are \d+ in a run"):
        judge_normality(few, metric("p99"))


@pytest.fixture(scope="module")
def few() -> Result:
    """151 transactions in all."""
    clients = [{"count": 8, "rtt": "20ms", "arrivals": {"rate": "50/s"}}]
    measure = {"warmup": "500ms", "duration": "1s", "runs": 3}
    return run({"name": "x", "mode": "sim", "clients": clients, "measure": measure})


def test_shares_stay_shares() -> None:
    busy, failed = [0.99, 1.0, 0.2], [0, 0, 900]
    parts = [
        run.model_copy(
            update={
                "server_cpu": run.server_cpu.model_copy(update={"busy": share}),
                "outcomes": {"ok": 1000 - errors, "reset": errors},
            }
        )
        for run, share, errors in zip(result(RUNS).runs, busy, failed, strict=True)
    ]
    made = result(RUNS).model_copy(update={"runs": parts})
    _, cpu = estimate(made, metric("server_cpu"))
    _, errors = estimate(made, metric("errors"))
    (low, high), (least, _) = mean_interval(busy) or (0.0, 0.0), mean_interval([0.0, 0.0, 0.9]) or (0.0, 0.0)
    assert cpu is not None
    assert high > 1 == cpu[1] > cpu[0] == pytest.approx(max(low, 0.0))
    assert errors is not None
    assert least < 0 == errors[0] < errors[1] <= 1


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [("p99", 1234.5, "1,234.5 ms"), ("errors", 0.00012, "0.012 %"), ("goodput", 5.2e6, "5.200 Mbit/s")],
)
def test_figures_have_units(name: str, value: float, text: str) -> None:
    assert shown(metric(name), value) == text


POINTS = study_of([({"clients.loss.rate": "0%"}, RUNS), ({"clients.loss.rate": "3%"}, [x / 2 for x in RUNS])])
CHECKS = judge(POINTS, [condition("throughput > 500", "--assert")])
CHECKED = POINTS.model_copy(update={"checks": CHECKS})


def test_junit_has_a_case_for_each_condition_and_point() -> None:
    suite = ElementTree.fromstring(junit(CHECKED))
    assert {key: suite.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "3",
        "failures": "1",
        "errors": "0",
    }
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == [
        "the results are valid",
        "throughput > 500 at clients.loss.rate=0%",
        "throughput > 500 at clients.loss.rate=3%",
    ]
    assert [case.find("failure") is not None for case in cases] == [False, False, True]


def test_results_that_are_not_valid_are_an_error() -> None:
    study = study_of([({}, [])])
    suite = ElementTree.fromstring(junit(study))
    error = suite.find("testcase/error")
    assert error is not None
    assert error.get("message") == "no run is finished"
    assert "Not to be trusted:\n\n- no run is finished" in markdown(study)


def test_the_summary_is_markdown() -> None:
    lines = markdown(CHECKED).splitlines()
    assert lines[0] == "### x: 1 of 2 checks failed"
    times = "mean ms | p50 ms | p90 ms | p95 ms | p99 ms | p99.9 ms"
    rest = "errors % | CPU % | runs | valid | outcomes and status codes"
    assert lines[2] == f"| rate | ok/s | 90 % interval | {times} | {rest} |"
    figures = f"640.0 | {LOW:.1f} to {HIGH:.1f} | 156.3 | 156.2 | 158.7 | 158.7 | 317.5 | 476.2 | 0.02 | 50.0 | 3 | yes"
    assert f"| 0% | {figures} | ok 19,200 (200), reset 3 |" in lines
    assert any(line.startswith("| `throughput > 500` | clients.loss.rate=3% | **failed** |") for line in lines)
    assert markdown(POINTS.model_copy(update={"checks": CHECKS[:1]})).startswith("### x: passed")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", '--assert: "": must be a condition, such as p99 < 800ms'),
        ("p99", '--assert: "p99": must be <, <=, > or >= and a limit, such as "< 800ms"'),
        ("p99 = 3s", '--assert: "p99 = 3s": must be <, <=, > or >= and a limit, such as "< 800ms"'),
        (
            "latency < 3s",
            '--assert: "latency < 3s": latency: unknown figure; did you mean mean? valid here: ',
        ),
        ("errors < 200%", '--assert: "errors < 200%": out of range; expected a probability'),
    ],
)
def test_what_is_no_condition(text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        condition(text, "--assert")
    assert str(raised.value).startswith(message)
