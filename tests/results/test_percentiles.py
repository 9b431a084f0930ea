"""Percentiles of all clients and of each group: in results, tables, conditions, searches and comparisons."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from waspbench import InputError, Result, capacity, run, study
from waspbench.cli.app import invoke
from waspbench.experiment.load import apply, read
from waspbench.experiment.metrics import PERCENTILES, fraction_of, metric
from waspbench.experiment.search import Search
from waspbench.results import load
from waspbench.results.capacity import load_capacity
from waspbench.results.checks import estimate, run_values
from waspbench.results.comparing import compare_results
from waspbench.results.study import load_study

Capture = pytest.CaptureFixture[str]

TWO: dict[str, Any] = {
    "name": "two",
    "mode": "sim",
    "clients": [
        {"name": "homes", "count": 24, "rtt": "20ms", "loss": "2%"},
        {"name": "phones", "count": 24, "rtt": "60ms", "loss": "4%", "http": {"timeout": "400ms"}},
    ],
    "measure": {"warmup": "1s", "duration": "3s", "runs": 3, "percentiles": [50, 97.5], "max_errors": "100%"},
    "assert": {"phones.p95": "< 1s", "phones": {"p99": {"9": "< 1s"}, "all.p80": "> 1ms"}, "homes.errors": "< 5%"},
}


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return run(TWO, output=tmp_path_factory.mktemp("two") / "out")


def times_of(two: Result, group: int, runs: list[int], *, every: bool) -> pl.Series:
    """Response times in milliseconds as the transactions have them, sorted."""
    rows = pl.read_parquet(Path(str(two.results)) / "transactions").filter(
        "measured", pl.col("group") == group, pl.col("run").is_in(runs)
    )
    rows = rows.filter(pl.col("outcome") != "unfinished") if every else rows.filter(pl.col("outcome") == "ok")
    return ((rows["end_ns"] - rows["start_ns"]) / 1e6).sort()


@pytest.mark.parametrize("text", ["phones.p95", "phones.all.p80", "homes.p50", "homes.all.p99", "phones.all.p97.5"])
def test_a_percentile_of_a_group_is_that_of_its_transactions(two: Result, text: str) -> None:
    figure = metric(text)
    group = [each.name for each in two.groups].index(str(figure.group))
    value, interval = estimate(two, figure)
    assert interval is not None
    assert interval[0] <= (value or 0.0) <= interval[1]

    def expected(runs: list[int]) -> float:
        found = times_of(two, group, runs, every=figure.all)
        return float(found[math.ceil(fraction_of(figure.name) * len(found)) - 1])

    assert value == pytest.approx(expected([0, 1, 2]), rel=2e-3)
    assert run_values(two, figure) == pytest.approx([expected([number]) for number in range(3)], rel=2e-3)


def test_results_have_the_usual_percentiles_those_asked_for_and_those_of_conditions(two: Result) -> None:
    assert two.percentiles == ["p50", "p97.5"]
    named = ["p50", "p80", "p90", "p95", "p97.5", "p99", "p99.9"]
    for times in (two.response_time_ms, *(group.all_response_time_ms for group in two.groups)):
        assert list(times.percentiles) == named
    [row, *_] = json.loads(two.to_json())["table"]
    assert [name for name in row if name.startswith("p")] == [f"{name}_ms" for name in named]
    assert [head for head in two.listing.heads if head.startswith("p")] == ["p50 ms", "p97.5 ms"]


def test_conditions_on_groups_are_judged(two: Result) -> None:
    told = {check.condition: check for check in two.checks}
    assert {text: check.passed for text, check in told.items()} == {
        "phones.p95 < 1s": True,
        "phones.p99.9 < 1s": None,
        "phones.all.p80 > 1ms": True,
        "homes.errors < 5%": True,
    }
    ok = two.groups[1].outcomes["ok"]
    assert told["phones.p99.9 < 1s"].why == f"phones.p99.9 needs 2,995 ok transactions, and there are {ok:,}"
    errors = told["homes.errors < 5%"]
    assert errors.value == pytest.approx(two.groups[0].errors, abs=0.01)
    assert two.groups[1].errors is not None
    assert two.groups[1].errors > 0.01


def test_other_percentiles_can_be_shown_of_the_same_results(two: Result, capsys: Capture) -> None:
    directory = str(two.results)
    assert load(directory).percentiles == ["p50", "p97.5"]
    other = load(directory, percentiles=["99.9", "20"])
    assert other.percentiles == ["p20", "p99.9"]
    assert list(other.response_time_ms.percentiles) == ["p20", *PERCENTILES]
    assert load_study(directory, percentiles=["p20"]).percentiles == ["p20"]
    with pytest.raises(InputError, match=r"^percentiles: "):
        load(directory, percentiles=["median"])
    invoke(["show", directory, "--percentiles", "20,60"])
    shown = capsys.readouterr().out
    assert "  p20  " in shown
    assert "p60 ms" in shown
    assert "p50" not in shown
    assert invoke(["show", directory, "--percentiles", "0"]) == 2
    assert 'wasp: --percentiles: "0": must be above 0' in capsys.readouterr().err


def test_what_is_undecided_has_the_status_of_what_is_not_valid(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    flags = ["bench", "-m", "sim", "-c", "4", "-r", "20ms", "-d", "1s", "--warmup", "1s", "-n", "2"]
    assert invoke([*flags, "-o", "a", "--assert", "p90 < 1s", "--percentiles", "90"]) == 0
    assert "left out" not in capsys.readouterr().out
    assert invoke([*flags, "-o", "b", "--assert", "p90 < 1s", "--assert", "clients.p99.9 < 1s"]) == 5
    assert "undecided  clients.p99.9 < 1s: clients.p99.9 needs 2,995 ok tra" in capsys.readouterr().out
    assert invoke([*flags, "-o", "c", "--assert", "p90 < 1ms", "--assert", "p99.9 < 1s"]) == 1
    assert invoke([*flags, "-o", "d", "--assert", "phones.p90 < 1ms"]) == 2
    assert 'wasp: --assert: "phones.p90 < 1ms": phones.p90: no group is called phones; valid' in capsys.readouterr().err
    assert not Path("d").exists()


def test_what_is_undecided_is_so_in_junit_and_markdown(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("e.toml").write_text(
        'name = "e"\nclients = [{ name = "phones", count = 16 }]\n[measure]\nwarmup = "1s"\nduration = "4s"\nruns = 2\n'
        '[assert]\nphones.p99.9 = "< 1s"\n"phones.p50" = "< 1s"\n'
    )
    assert invoke(["run", "e.toml", "-m", "sim", "--junit", "j.xml", "--markdown", "m.md", "-o", "out"]) == 5
    assert 'failures="0" errors="1"' in Path("j.xml").read_text()
    assert '<error message="phones.p99.9 needs 2,995 ok transactions, and there are ' in Path("j.xml").read_text()
    summary = Path("m.md").read_text()
    assert summary.startswith("### e: 1 of 2 checks undecided\n")
    assert "| `phones.p99.9 < 1s` |  | **undecided** | phones.p99.9 needs 2,995" in summary
    assert "| `phones.p50 < 1s` |  | passed |" in summary


def test_a_search_meets_objectives_of_a_group(tmp_path: Path) -> None:
    """Runs are made long enough for the group's percentile, and a load at which it is too long is out."""
    asked = TWO | {"measure": {"warmup": "1s", "duration": "1s", "percentiles": [50, 90]}, "assert": {}}
    asked["clients"] = [each | {"count": 8, "loss": "0%", "http": {}} for each in TWO["clients"]]
    asked["server"] = {"model": {"per_request": "10ms"}}
    search = Search("sweep", low=4, high=16, objectives=("phones.p98 < 120ms", "homes.ok.p50 < 1s"))
    found = capacity(asked, output=tmp_path / "out", search=search)
    assert found.objectives == ["phones.all.p98 < 120ms", "homes.ok.p50 < 1s"]
    [point] = found.points
    for reading in point.readings:
        record = json.loads(
            (tmp_path / "out" / f"load-{reading.load}" / "runs" / f"run-{reading.run}.json").read_text()
        )
        [_, phones] = record["summary"]["by_group"]
        ended = sum(phones["outcomes"].values()) - phones["outcomes"]["unfinished"]
        assert reading.meets is False or ended >= 149  # fewer are enough where too many of them took too long
    met = {reading.load: reading.meets for reading in point.readings}
    assert met == {4: True, 8: True, 16: False}
    assert point.load == 8
    judged = ["phones.all.p98 ms", "homes.p50 ms"]
    assert [head for head in found.listing.heads if "p" in head and " ms" in head] == [*judged, "p50 ms", "p90 ms"]
    assert load_capacity(tmp_path / "out") == found
    other = load_capacity(tmp_path / "out", percentiles=["75"])
    assert [head for head in other.listing.heads if "p" in head and " ms" in head] == [*judged, "p75 ms"]
    assert {load.percentiles_ms["p75"] is None for load in other.points[0].loads} == {False}


def test_a_figure_of_a_group_is_compared(two: Result, tmp_path: Path) -> None:
    slower = [each | {"rtt": "90ms"} if each["name"] == "phones" else each for each in TWO["clients"]]
    other = run(TWO | {"clients": slower}, output=tmp_path / "other")
    sides = (str(two.results), str(other.results))
    found = compare_results(*sides, "phones.p45")
    [point] = found.points
    assert (found.metric, found.percentiles) == ("phones.p45", ["p45", "p50", "p97.5"])
    loaded = [load(side, judged_percentiles=["p45"]) for side in sides]
    means = [sum(run_values(each, metric("phones.p45"))) / 3 for each in loaded]
    assert point.means == pytest.approx(means)
    assert list(point.lines) == [each.group_lines["phones"] for each in loaded]
    assert point.ratio == pytest.approx(1.5, rel=0.1)
    assert compare_results(*sides, "homes.throughput").points[0].ratio == pytest.approx(1, abs=0.1)
    nowhere = rf"^metric: .*no group is called tablets; valid here: homes, phones \(in {sides[0]}\)"
    with pytest.raises(InputError, match=nowhere):
        compare_results(*sides, "tablets.p45")
    with pytest.raises(InputError, match=r"^metric: .* valid here: throughput, goodput, mean, or a percentile"):
        compare_results(*sides, "latency")


def test_the_figure_of_a_group_is_judged_for_normality(two: Result, capsys: Capture) -> None:
    assert invoke(["normality", str(two.results), "--metric", "phones.p96"]) == 0
    assert "two: phones.p96 of 3 runs is consistent with a normal distribution" in capsys.readouterr().out
    assert invoke(["normality", str(two.results), "--metric", "tablets.p96"]) == 2
    said = f"no group is called tablets; valid here: homes, phones (in {two.results})"
    assert capsys.readouterr().err == f"wasp: --metric: tablets.p96: {said}\n"


def test_a_percentile_that_was_not_asked_for_is_told_how_to_be_had(two: Result) -> None:
    with pytest.raises(InputError, match=r'^percentiles: "p33": the results were loaded without this percentile'):
        two.response_time_ms.at("p33")
    with pytest.raises(InputError, match=r'^percentiles: "p33": '):
        two.groups[0].response_time_ms.ci90_at("p33")
    with pytest.raises(InputError, match=r'^percentiles: "p33": '):
        run_values(two, metric("phones.p33"))


def test_both_sides_of_a_comparison_have_the_percentiles_that_it_shows(two: Result, tmp_path: Path) -> None:
    measure = TWO["measure"] | {"percentiles": [75]}
    other = run(TWO | {"measure": measure, "assert": {}}, output=tmp_path / "other")
    found = compare_results(str(two.results), str(other.results))
    assert found.percentiles == ["p50", "p97.5"]
    assert found.differences == []
    [point] = found.points
    assert [line.percentiles_ms["p97.5"] is None for line in point.lines] == [False, False]
    backwards = compare_results(str(other.results), str(two.results))
    assert backwards.percentiles == ["p75"]
    assert [line.percentiles_ms["p75"] is None for line in backwards.points[0].lines] == [False, False]


def test_a_group_of_several_with_few_transactions_is_compared_by_no_response_time(tmp_path: Path) -> None:
    few = [TWO["clients"][0], {"name": "phones", "count": 1, "rtt": "200ms"}]
    found = [run(TWO | {"clients": few, "assert": {}}, output=tmp_path / name) for name in "ab"]
    assert 30 < found[0].groups[1].outcomes["ok"] < 100
    one, other = (str(each.results) for each in found)
    least = "needs 100 ok transactions, as any response time of one of several groups"
    with pytest.raises(InputError, match=f"A: phones.p50 {least}"):
        compare_results(one, other, "phones.p50")
    with pytest.raises(InputError, match=f"A: phones.mean {least}"):
        compare_results(one, other, "phones.mean")
    assert compare_results(one, other, "phones.throughput").lacking == []


def test_a_point_without_a_run_has_null_for_every_percentile(tmp_path: Path) -> None:
    asked = TWO | {"sweep": {"clients.homes.rtt": ["20ms", "30ms"]}, "assert": {}}
    study(asked, output=tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "points" / "0001")
    rows = json.loads(load_study(tmp_path / "out").to_json())["table"]
    assert len({tuple(row) for row in rows}) == 1
    assert rows[-1]["p97.5_ms"] is None
    assert rows[0]["p97.5_ms"] is not None


def test_every_point_has_the_groups_that_conditions_and_objectives_name(tmp_path: Path) -> None:
    asked = TWO | {"sweep": {"clients": [TWO["clients"], [{"name": "tablets"}]]}, "assert": {}}
    message = "no group is called phones; valid here: tablets"
    with pytest.raises(InputError, match=message):
        capacity(asked, output=tmp_path / "a", search=Search("sweep", low=4, high=8, objectives=("phones.p90 < 2s",)))
    with pytest.raises(InputError, match=message):
        study(asked | {"assert": {"phones.p90": "< 2s"}}, output=tmp_path / "b")


def test_p99_and_p99_9_stand_in_one_table_with_quotes(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bare = 'name = "e"\nclients = [{}]\n[assert]\np99 = "< 1s"\np99.9 = "< 2s"\n'
    Path("e.toml").write_text(bare)
    assert invoke(["run", "e.toml", "--mode", "sim", "--dry-run"]) == 2
    assert 'a name with a dot may need quotes, as "p99.9" beside p99' in capsys.readouterr().err
    Path("e.toml").write_text(bare.replace("p99.9", '"p99.9"'))
    assert invoke(["run", "e.toml", "--mode", "sim", "--dry-run", "--set", "assert.p99.99=< 3s"]) == 0
    document = apply(read("e.toml"), ["assert.p99.99=< 3s", "assert.p99=< 4s"])
    assert document["assert"] == {"p99": "< 4s", "p99.9": "< 2s", "p99.99": "< 3s"}


def test_it_is_said_where_no_transaction_took_longer_than_the_end_that_counts(tmp_path: Path) -> None:
    few = {"clients": [{"count": 8, "rtt": "50ms", "loss": "2%"}], "assert": {"p99": "< 1min", "p50": "< 1min"}}
    found = run(TWO | few | {"measure": {"warmup": "1s", "duration": "2s", "runs": 2}})
    assert 299 <= found.outcomes["ok"] < 700
    high, low = found.checks
    assert high.why.endswith(" counts (no transaction took longer)")
    assert low.why.endswith(" counts")
