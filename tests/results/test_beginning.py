"""Clients that begin in equilibrium or together, and what their beginning leaves in a short interval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from waspbench import run, study
from waspbench.results.summary import Beginning
from waspbench.runner.pilots import wants_of


def clients(workload: dict[str, Any] | None = None, **group: Any) -> dict[str, Any]:
    """256 clients 100 ms away, simulated once."""
    return {
        "name": "beginning",
        "mode": "sim",
        "workload": workload or {"kind": "single", "size": "1KB"},
        "clients": [{"count": 256, "rtt": "100ms"} | group],
        "measure": {"warmup": "5s", "duration": "10s", "runs": 1},
    }


def beginning(document: dict[str, Any]) -> tuple[list[str], Beginning]:
    """Of the only group of a run, with the codes of the reasons against it."""
    result = run(document)
    [summary] = result.runs
    assert summary.by_group is not None
    [group] = summary.by_group
    assert group.beginning is not None
    return [reason.code for reason in result.invalid_reasons], group.beginning


def test_pauses_longer_than_a_run_give_the_throughput_of_the_long_run() -> None:
    rate = 256 / 12.2
    short = run(clients(think="12s", http={"requests_per_connection": 1}))
    assert short.valid
    assert short.throughput.mean == pytest.approx(rate, rel=0.1)
    herd = run(clients(think="12s", http={"requests_per_connection": 1}, start="together"))
    assert [reason.code for reason in herd.invalid_reasons] == ["cycles"]
    assert herd.throughput.mean == 25.6


def test_auto_warms_up_until_kept_connections_are_open(tmp_path: Path) -> None:
    asked = clients(count=1_000, arrivals={"rate": "60/s"})
    codes, found = beginning(asked)
    assert codes == ["opening"]
    assert found.enough_warmup_s is not None
    asked["measure"]["warmup"] = "auto"
    [point] = study(asked, output=tmp_path / "out").points
    assert point.result is not None
    assert point.result.valid
    assert point.result.response_time_ms.mean == pytest.approx(100.3, abs=1)
    assert point.result.lengths is not None
    assert point.result.lengths.measure == {"warmup": "20s"}


def test_auto_measures_until_clients_in_step_have_gone_round_often_enough(tmp_path: Path) -> None:
    asked = clients(workload={"kind": "single", "size": "92KB"}, bandwidth={"down": "64kbit/s"})
    result = run(asked)
    [summary] = result.runs
    # One in six of the transactions is in progress from before the interval to its end.
    assert [reason.code for reason in result.invalid_reasons] == ["cycles", "censored"]
    needed = max(want.duration_s or 0.0 for want in wants_of(summary, 5.0, ("duration",)))
    assert needed > 100
    asked["measure"]["duration"] = "auto"
    [point] = study(asked, output=tmp_path / "out").points
    assert point.result is not None
    assert point.result.valid
    assert point.result.runs[0].interval_s >= needed
    assert point.result.throughput.mean == pytest.approx(256 / 12.024, rel=0.01)


def test_results_record_how_clients_began(tmp_path: Path) -> None:
    for start in ("equilibrium", "together"):
        asked = clients(think="1s") if start == "equilibrium" else clients(think="1s", start="together")
        run(asked, output=tmp_path / start)
        [group] = json.loads((tmp_path / start / "manifest.json").read_text())["scenario"]["clients"]
        assert group["start"] == start
