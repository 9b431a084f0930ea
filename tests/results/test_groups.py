"""Groups of clients have figures of their own, in every table, and are judged one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from waspbench import InputError, run, study, tabular
from waspbench.cli import studies, table
from waspbench.results import Result, load
from waspbench.results.exports import markdown
from waspbench.results.few import LEAST
from waspbench.results.study import study_of

TWO: dict[str, Any] = {
    "name": "two",
    "mode": "sim",
    "clients": [
        {"name": "near", "count": 20, "rtt": "20ms"},
        {"name": "far", "count": 2, "rtt": "500ms"},
    ],
    "measure": {"warmup": "2s", "duration": "5s", "runs": 3},
}


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return run(TWO, output=tmp_path_factory.mktemp("two") / "out")


def test_the_figures_of_groups_are_those_of_their_transactions(two: Result) -> None:
    assert two.results is not None
    rows = pl.read_parquet(Path(two.results) / "transactions").filter("measured", pl.col("outcome") == "ok")
    near, far = two.groups
    assert [(group.name, group.clients) for group in two.groups] == [("near", 20), ("far", 2)]
    for index, group in enumerate(two.groups):
        own = rows.filter(pl.col("group") == index)
        assert group.throughput.mean == pytest.approx(len(own) / 15)
        assert group.outcomes["ok"] == len(own)
        assert group.errors == 0
    own = rows.filter(pl.col("group") == 0).with_columns(ms=(pl.col("end_ns") - pl.col("start_ns")) / 1e6)
    means = own.group_by("run").agg(pl.col("ms").mean())["ms"]
    assert near.response_time_ms.mean == pytest.approx(means.mean())
    assert near.response_time_ms.p99 == pytest.approx(own["ms"].quantile(0.99, "higher"), rel=2e-3)
    assert near.throughput.mean + far.throughput.mean == pytest.approx(two.throughput.mean)
    assert [group.goodput_bps.mean for group in two.groups] == [
        pytest.approx(group.throughput.mean * 8 * rows["bytes"][0]) for group in two.groups
    ]


def test_response_times_of_a_group_of_few_are_left_out_and_that_is_noted(two: Result) -> None:
    far = two.groups[1]
    assert 0 < far.outcomes["ok"] < LEAST
    assert set(far.response_time_ms.model_dump().values()) == {None}
    assert far.throughput.mean > 0
    assert "group far: fewer than 100 ok transactions, whose response times are left out" in two.notes
    assert two.valid


def test_a_percentile_of_a_group_of_few_is_left_out_and_that_is_noted(two: Result) -> None:
    clients = [{**TWO["clients"][0], "name": name, "count": count} for name, count in (("many", 20), ("few", 1))]
    found = run(TWO | {"clients": clients})
    many, few = found.groups
    assert 299 <= few.outcomes["ok"] < 2995 <= many.outcomes["ok"]
    assert None not in (many.response_time_ms.at("p99.9"), many.response_time_ms.ci90_at("p99.9"))
    assert None not in (few.response_time_ms.p99, few.response_time_ms.p99_ci90)
    assert (few.response_time_ms.at("p99.9"), few.response_time_ms.ci90_at("p99.9")) == (None, None)
    assert "group few: p99.9 is left out: it needs 2,995 ok transactions" in found.notes


def test_every_table_has_a_line_for_each_of_several_groups(two: Result) -> None:
    near, far = two.groups
    report = table.report(two)
    [line] = [line for line in report.splitlines() if line.startswith("near ")]
    assert line.split()[1] == f"{near.throughput.mean:,.1f}"
    [line] = [line for line in report.splitlines() if line.startswith("far ")]
    assert line.split()[-8:] == [*[tabular.NONE] * 6, "0.00", "yes"]
    only = study_of(two)
    twice = only.model_copy(update={"points": only.points * 2})
    for text in (studies.report(twice), markdown(only)):
        names = [line.replace("|", " ").split() for line in text.splitlines()]
        for name, rate in (("clients", two.throughput), ("near", near.throughput), ("far", far.throughput)):
            assert any(name in words and f"{rate.mean:,.1f}" in words for words in names), (name, text)


def test_a_single_group_has_no_line_of_its_own(two: Result) -> None:
    alone = run(TWO | {"clients": TWO["clients"][:1]})
    assert [group.name for group in alone.groups] == ["near"]
    assert alone.groups[0].response_time_ms == alone.response_time_ms
    assert "90 % interval" not in table.report(alone)
    assert "all clients" not in markdown(study_of(alone))


def test_results_that_are_read_again_have_the_same_groups(two: Result) -> None:
    assert two.results is not None
    assert load(two.results).groups == two.groups
    assert [group["name"] for group in json.loads(two.to_json())["groups"]] == ["near", "far"]


def test_a_group_that_never_finishes_speaks_against_the_result() -> None:
    slow = {"name": "slow", "count": 16, "rtt": "600ms", "bandwidth": {"down": "1kbit/s"}}
    near = {"name": "near", "count": 16, "rtt": "20ms"}
    found = run(
        {"name": "x", "mode": "sim", "clients": [near, slow], "measure": {"runs": 1}, "workload": {"size": "20KB"}}
    )
    assert [(reason.code, reason.group) for reason in found.invalid_reasons] == [("silent", "slow")]
    assert "group slow: no transaction ended in the 10.0 s of the interval" in found.invalid_reasons[0].message


def test_what_is_wrong_in_one_group_is_said_of_it() -> None:
    far = {"name": "far", "count": 1, "rtt": "600ms", "http": {"timeout": "500ms"}}
    found = run(TWO | {"clients": [TWO["clients"][0], far], "measure": {"runs": 1}})
    [reason] = found.invalid_reasons
    assert (reason.code, reason.group) == ("errors", "far")
    assert reason.message.startswith("group far: 100.0 % of the ")
    assert "group far: every transaction timed out: they took longer than 500ms; ask for less" in " ".join(found.notes)


def test_the_note_of_a_group_has_its_figures_unless_a_reason_has_them() -> None:
    timeouts = {"far": "500ms", "lossy": "250ms"}
    far, lossy = (
        {"name": name, "count": 4, "rtt": rtt, "loss": loss, "http": {"timeout": timeouts[name]}}
        for name, rtt, loss in (("far", "600ms", "0%"), ("lossy", "20ms", "3%"))
    )
    found = run(TWO | {"clients": [TWO["clients"][0], far, lossy], "measure": {"runs": 1}})
    assert [(reason.code, reason.group) for reason in found.invalid_reasons] == [("errors", "far")]
    assert [group.valid for group in found.groups] == [True, False, True]
    notes = "\n".join(found.notes)
    assert "group far: every transaction timed out" in notes
    share = 100 * (found.groups[2].errors or 0)
    assert 1 < share < 10
    assert f"group lossy: {share:.1f} % of " in notes


def test_a_background_group_is_in_no_figure_of_all_clients() -> None:
    slow = {"name": "slow", "count": 16, "rtt": "600ms", "bandwidth": {"down": "1kbit/s"}, "background": True}
    alone, beside = (
        run(TWO | {"clients": [TWO["clients"][0], *more], "measure": {"runs": 1}, "workload": {"size": "1KB"}})
        for more in ([], [slow])
    )
    assert beside.valid
    assert not [note for note in beside.notes if "group slow" in note]
    near, aside = beside.groups
    assert aside.background
    assert aside.outcomes["ok"] > 0
    # They share nothing but the server, which has time to spare.
    assert beside.outcomes == alone.outcomes == near.outcomes
    assert beside.response_time_ms.mean == pytest.approx(alone.response_time_ms.mean, rel=1e-3)
    [line] = [line for line in table.report(beside).splitlines() if line.startswith("slow ")]
    assert line.endswith(" background")


def test_the_table_of_groups_fits_a_terminal(two: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabular, "terminal_width", lambda: 80)
    estimate = two.throughput.model_copy(update={"mean": 123_456.7})
    times = two.response_time_ms.model_copy(update={"mean": 12_345.6, "p50": 12_345.6, "p99": 59_999.9})
    wide = [
        group.model_copy(update={"name": name, "throughput": estimate, "response_time_ms": times, "background": True})
        for group, name in zip(two.groups, ("fifteen-letters", "few"), strict=True)
    ]
    report = table.report(two.model_copy(update={"groups": wide}))
    assert "fifteen-letters" in report
    assert max(map(len, report.splitlines())) <= 80


def test_something_has_to_be_measured() -> None:
    with pytest.raises(InputError, match="clients: every group has background; nothing would be measured"):
        run(TWO | {"clients": [TWO["clients"][0] | {"background": True}]})


def test_a_search_for_a_length_waits_for_every_group(tmp_path: Path) -> None:
    near = {"name": "near", "count": 16, "rtt": "20ms"}
    slow = {"name": "slow", "count": 16, "rtt": "20ms", "bandwidth": {"down": "10kbit/s"}}
    measure = {"warmup": "1s", "duration": "auto", "runs": 1}
    asked = TWO | {"clients": [near, slow], "measure": measure, "workload": {"size": "20KB"}}
    [point] = study(asked, output=tmp_path / "out").points
    found = point.result
    assert found is not None
    assert found.runs[0].interval_s >= 20
    assert found.groups[1].outcomes["ok"] > 0
