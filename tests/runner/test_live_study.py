"""A live sweep and a live search, short: that they come to an end with what they must have, not their figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from waspbench.experiment.search import Search
from waspbench.results.records import records_of
from waspbench.runner.capacity import capacity
from waspbench.runner.study import study

pytestmark = [pytest.mark.root, pytest.mark.slow]

DOCUMENT: dict[str, Any] = {
    "name": "live",
    "mode": "live",
    "clients": [{"count": 16, "rtt": "20ms"}],
    "measure": {"runs": 1, "warmup": "500ms", "duration": "1s"},
}


def test_a_live_sweep_makes_every_point_and_says_on_what(tmp_path: Path) -> None:
    result = study(DOCUMENT | {"sweep": {"clients.count": [8, 16]}}, output=tmp_path / "out")
    for point in result.points:
        assert point.result is not None
        assert point.result.throughput.mean > 0
        assert point.result.server["name"] == "builtin"
        [record] = records_of(tmp_path / "out" / "points" / f"{point.index:04d}")
        assert record.testbed["machine"]["kernel"]
        # A run that is not valid, which a busy machine may cause, was tried twice.
        assert record.summary is not None
        assert record.attempts == 1 or record.earlier


def test_a_live_search_ends_within_its_budget(tmp_path: Path) -> None:
    search = Search(low=8, high=64, most=8, confirm=2)
    result = capacity(DOCUMENT, output=tmp_path / "out", search=search)
    assert result.complete
    assert 0 < result.points[0].runs <= 8
