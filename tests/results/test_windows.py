"""Congestion windows that tell of their beginning."""

from __future__ import annotations

from pathlib import Path

import pytest

from measured_windows import Configuration, Found, configurations, document, table
from waspbench import run, study
from waspbench.experiment import accept, parse

CLIENTS = document(32, "100KB", 100, 1.0)
"""Clients whose connections lose data each second, and need some ten losses: the long run has 55 responses a second."""


def test_auto_warms_up_until_windows_have_converged(tmp_path: Path) -> None:
    lengths = {"duration": "10s", "runs": 1}
    early = run(CLIENTS | {"measure": {"warmup": "5s"} | lengths}, mode="sim")
    assert "windows" in {reason.code for reason in early.invalid_reasons}
    [summary] = early.runs
    assert summary.by_group is not None
    [group] = summary.by_group
    assert group.windows is not None
    assert group.windows.enough_warmup_s == 20
    asked = CLIENTS | {"mode": "sim", "measure": {"warmup": "auto"} | lengths}
    [point] = study(asked, output=tmp_path / "out").points
    assert point.result is not None
    assert point.result.lengths is not None
    assert point.result.lengths.measure == {"warmup": "20s"}
    assert "windows" not in {reason.code for reason in point.result.invalid_reasons}
    assert point.result.throughput.mean == pytest.approx(57, rel=0.05)


def test_what_is_measured_is_valid_and_counted() -> None:
    made = configurations()
    assert len({(each.family, each.name) for each in made}) == len(made)
    for each in made:
        accept(parse(each.document), "sim")
    off, right, between = (Configuration("some", name, {}) for name in "abc")
    found = [Found(off, -0.2, 0.1, 0.2, 0.8), Found(right, 0.001, 0.01, 0.6, 0.25), Found(between, 0.03, 0.0, 0.0, 1.0)]
    assert table(found).splitlines()[-1] == "| all | 1 | 20.0 % | 1 | 1 | 25.0 % | 1 |"
