"""What observed links did: in runs, over runs, and in tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from waspbench import Result, run, study
from waspbench.cli.app import invoke
from waspbench.report import report_of
from waspbench.results.estimates import Estimate
from waspbench.results.exports import markdown
from waspbench.results.observed import ObservedLink, is_told, listing, observed_links

SLOW: dict[str, Any] = {
    "name": "slow",
    "mode": "sim",
    "workload": {"size": "50KB"},
    "network": {"shared": {"down": {"rate": "8Mbit/s", "queue": "40KB"}}},
    "clients": [{"name": "homes", "count": 6, "rtt": "20ms", "bandwidth": "5Mbit/s", "observe": True}],
    "measure": {"warmup": "1500ms", "duration": "4300ms", "runs": 2},
}


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return run(SLOW, output=tmp_path_factory.mktemp("observed") / "slow")


def by_place(found: list[ObservedLink]) -> dict[tuple[str, str], ObservedLink]:
    return {(link.link, link.direction): link for link in found}


def mean(found: Estimate | None) -> float:
    assert found is not None
    return found.mean


def test_figures_are_those_of_the_runs_and_agree_with_the_tables(slow: Result) -> None:
    found = by_place(slow.observed)
    assert list(found) == [("shared", "up"), ("shared", "down"), ("homes", "up"), ("homes", "down")]
    shared = found["shared", "down"]
    rows = slow.link_series().filter((pl.col("link") == "shared") & (pl.col("direction") == "down"))
    # The whole seconds of the interval, which goes from 1.5 s to 5.8 s.
    inside = rows.filter(pl.col("second").is_between(2, 4))
    assert shared.carried_bps.mean == pytest.approx(8 * inside["carried_bytes"].to_numpy().sum() / 6, rel=0.02)
    assert mean(shared.utilization) == pytest.approx(shared.carried_bps.mean / 8e6)
    assert mean(shared.utilization) == pytest.approx(0.98, abs=0.03)
    assert shared.dropped == sum(link.dropped for one in slow.runs for link in one.observed[1:2]) > 0
    assert shared.dropped > inside["dropped"].to_numpy().sum()
    assert shared.mean_queue_bytes.mean == pytest.approx(inside["mean_queue_bytes"].to_numpy().mean(), rel=0.1)
    # By Little's law the mean wait is the mean queue over the rate.
    wait = shared.waiting_ms
    assert mean(wait.mean) == pytest.approx(8e3 * shared.mean_queue_bytes.mean / 8e6, rel=0.1)
    # 40 KB take 40 ms, and the packet in transmission 1.5 ms.
    assert wait.max is not None
    assert mean(wait.p50) < mean(wait.p99) < wait.max <= 41.6
    homes = found["homes", "down"]
    assert (homes.links, homes.rate_bps) == (6, 5_000_000)
    assert 6 * homes.carried_bps.mean == pytest.approx(shared.carried_bps.mean, rel=0.02)
    unlimited = found["shared", "up"]
    assert (unlimited.rate_bps, unlimited.utilization, unlimited.waiting_ms.max) == (None, None, None)


def test_waiting_times_are_means_over_the_runs_with_their_intervals(slow: Result) -> None:
    values = [run.observed[1].waiting_ms.p99 for run in slow.runs]
    p99 = by_place(slow.observed)["shared", "down"].waiting_ms.p99
    assert p99 is not None
    assert p99.mean == pytest.approx(sum(value or 0.0 for value in values) / 2)
    assert p99.ci90 is not None
    waits = slow.link_waits().filter((pl.col("link") == "shared") & (pl.col("run") == 0)).sort("upper_ns")
    shares = waits["count"].cum_sum() / waits["count"].sum()
    assert waits.filter(shares >= 0.99)["upper_ns"][0] / 1e6 == pytest.approx(values[0])


def test_a_run_that_was_stopped_before_its_interval_has_nothing(slow: Result) -> None:
    stopped = slow.runs[0].model_copy(update={"observed": []})
    assert observed_links([stopped, slow.runs[1]])[1].packets == slow.runs[1].observed[1].packets
    assert observed_links([stopped]) == []
    nothing = slow.runs[0].observed[1].waiting_ms.model_copy(update={"p99": None})
    link = slow.runs[0].observed[1].model_copy(update={"waiting_ms": nothing})
    changed = slow.runs[0].model_copy(update={"observed": [slow.runs[0].observed[0], link, *slow.runs[0].observed[2:]]})
    assert observed_links([changed, slow.runs[1]])[1].waiting_ms.p99 is None


def test_a_line_is_for_links_of_which_there_is_something_to_say(slow: Result) -> None:
    found = by_place(slow.observed)
    assert [place for place, link in found.items() if is_told(link)] == [("shared", "down"), ("homes", "down")]
    assert is_told(found["shared", "up"].model_copy(update={"lost": 1}))
    idle = found["shared", "down"].model_copy(update={"dropped": 0, "waiting_ms": found["shared", "up"].waiting_ms})
    assert is_told(idle)
    assert not is_told(idle.model_copy(update={"utilization": Estimate(mean=0.09, ci90=None)}))
    assert not is_told(idle.model_copy(update={"utilization": None}))


def test_commands_and_reports_have_a_table_of_observed_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    swept = SLOW | {"sweep": {"network.shared.down.queue": ["40KB", "codel"]}}
    swept["clients"] = [SLOW["clients"][0] | {"observe": False, "bandwidth": None}]
    found = study(swept, output=tmp_path / "swept", jobs=1)
    assert [link.link for link in found.points[0].result.observed] == ["shared", "shared"]  # type: ignore[union-attr]
    invoke(["show", str(tmp_path / "swept")])
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if " shared " in line]
    assert [line[:4] for line in lines] == [["40KB", "shared", "down", "8"], ["codel", "shared", "down", "8"]]
    assert "| codel | shared down | 8 Mbit/s |" in markdown(found)
    assert found._repr_html_().count(">shared down</td>") == 2
    invoke(["show", str(tmp_path / "swept"), "--json"])
    told = [point["result"]["observed"] for point in json.loads(capsys.readouterr().out)["points"]]
    assert told[1][1]["waiting_ms"]["mean"]["mean"] < told[0][1]["waiting_ms"]["mean"]["mean"]
    [table] = [
        block
        for section in report_of(found).sections
        for block in section.blocks
        if block.kind == "table" and block.title == "Observed links"
    ]
    assert [cell.text for cell in table.rows[0][:4]] == ["40KB", "shared down", "8 Mbit/s", "7.99"]
    assert " to " in table.rows[0][3].interval
    # One point does not tell what was swept.
    invoke(["show", str(tmp_path / "swept" / "points" / "0001")])
    assert any(line.startswith("shared ") for line in capsys.readouterr().out.splitlines())


def test_there_is_no_table_of_nothing(tmp_path: Path) -> None:
    free = study(SLOW | {"network": {}, "clients": [{"count": 2}]}, output=tmp_path / "free", jobs=1)
    assert listing(free) is None
