"""Open loops near and above what can be taken, and the few arrivals that are dropped below it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from waspbench import run, study
from waspbench.results import Result
from waspbench.runner.pilots import wants_of


def offered(rate: str, **arrivals: Any) -> dict[str, Any]:
    """Fifty clients of a server that answers 1,000 requests a second."""
    return {
        "name": "open",
        "server": {"model": {"per_request": "1ms", "per_connection": "0ms", "per_kib": "0ms"}},
        "clients": [{"count": 50, "rtt": "100ms", "arrivals": {"rate": rate, **arrivals}, "http": {"connections": 6}}],
        "measure": {"warmup": "5s", "duration": "10s", "runs": 1},
    }


def made(rate: str, **arrivals: Any) -> Result:
    return run(offered(rate, **arrivals), mode="sim")


def test_a_search_for_a_length_goes_on_near_capacity_and_ends_above_it() -> None:
    # In the single run of seed 1 the queue happens to go up and down.
    near = run(offered("998/s", outstanding=100_000) | {"seed": 2}, mode="sim")
    assert [reason.code for reason in near.invalid_reasons] == ["near_capacity"]
    [summary] = near.runs
    assert summary.stability is not None
    assert summary.stability.enough_s is not None
    [want] = wants_of(summary, 5.0, ("duration",))
    assert (want.code, want.duration_s) == ("near_capacity", summary.stability.enough_s)

    above = made("1200/s", outstanding=100_000)
    assert [reason.code for reason in above.invalid_reasons] == ["overload"]
    [summary] = above.runs
    assert summary.stability is not None
    assert summary.stability.grows
    assert summary.stability.growth == pytest.approx(200, rel=0.3)


@pytest.mark.parametrize(("rate", "long"), [("996/s", True), ("1200/s", False)])
def test_auto_measures_as_long_as_the_queue_needs_but_not_where_no_length_does(
    rate: str, long: bool, tmp_path: Path
) -> None:
    asked = offered(rate, outstanding=100_000)
    asked["measure"]["duration"] = "auto"
    [point] = study(asked | {"mode": "sim"}, output=tmp_path / "out").points
    assert point.result is not None
    assert point.result.valid == long
    assert (point.result.runs[0].interval_s > 30) == long


def test_up_to_one_in_a_hundred_dropped_arrivals_are_a_note() -> None:
    result = made("700/s", outstanding=50)
    assert result.valid
    assert result.open_loop is not None
    dropped = result.open_loop.shed
    came = result.open_loop.arrivals.mean * 10
    assert 0 < dropped < came / 100
    wanted = f"{dropped:,d} of {came:,.0f} arrivals were dropped, since as many as may wait did (arrivals.outstanding)"
    assert wanted in result.notes
    many = made("1100/s", outstanding=50)
    assert [reason.code for reason in many.invalid_reasons] == ["overload"]
    assert not [note for note in many.notes if "dropped" in note]
