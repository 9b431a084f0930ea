"""Small simulated results of every sort that a report must make sense of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from waspbench import capacity, run, study
from waspbench.experiment.search import Search

MEASURE: dict[str, Any] = {"warmup": "500ms", "duration": "4s", "runs": 3}
FAR: dict[str, Any] = {"name": "far", "count": 30, "rtt": "40ms"}
TEN = [{"name": f"group-{index}", "count": 3 + index, "rtt": f"{20 + 2 * index}ms"} for index in range(10)]

EXPERIMENTS: dict[str, dict[str, Any]] = {
    "one-run": {"clients": [FAR], "measure": MEASURE | {"runs": 1}},
    "one-group": {"clients": [FAR | {"loss": "1%"}], "measure": MEASURE | {"duration": "15s"}},
    "ten-groups": {"clients": TEN, "measure": MEASURE | {"runs": 2}},
    "all-errors": {"clients": [FAR | {"http": {"timeout": "5ms"}}], "measure": MEASURE},
    "some-errors": {
        "clients": [FAR, FAR | {"name": "lossy", "loss": "12%", "http": {"timeout": "300ms"}}],
        "measure": MEASURE | {"max_errors": "100%"},
    },
    "open-loop": {"clients": [FAR | {"arrivals": {"rate": "200/s"}}], "measure": MEASURE},
    "too-few": {"clients": [FAR | {"count": 1}], "measure": MEASURE | {"duration": "1s"}},
    "nothing-ended": {"clients": [FAR | {"rtt": "30s"}], "measure": MEASURE | {"duration": "1s"}},
}
"""Experiments of one point, by what is special about them; ``too-few`` and
``nothing-ended`` are not valid in any run."""

VALID = {"one-run": True, "one-group": True, "ten-groups": True, "all-errors": False, "open-loop": True}
VALID |= {"some-errors": True, "too-few": False, "nothing-ended": False}

SWEEP: dict[str, Any] = {
    "name": "sweep",
    "mode": "sim",
    "seed": 7,
    "clients": [FAR | {"loss": "0%"}],
    "measure": MEASURE | {"duration": "6s"},
    "sweep": {"clients.loss.rate": ["0%", "3%"], "clients.rtt": ["20ms", "60ms"]},
    "assert": {"p50": "< 50ms"},
}

SEARCH = Search(low=4, high=128, most=8, confirm=2)
SEARCHED: dict[str, Any] = {
    "name": "search",
    "mode": "sim",
    "clients": [FAR | {"rtt": "20ms"}],
    "server": {"model": {"per_request": "2ms"}},
    "measure": {"warmup": "500ms", "duration": "2s"},
}


def bench(name: str, directory: Path) -> Path:
    """The results of one of `EXPERIMENTS`."""
    run({"name": name, "mode": "sim", "seed": 3, **EXPERIMENTS[name]}, output=directory)
    return directory


def sweep(directory: Path, **changes: Any) -> Path:
    """The results of `SWEEP`, with other fields on top."""
    study(SWEEP | changes, output=directory, jobs=1)
    return directory


def search(directory: Path) -> Path:
    """The results of a search for capacity."""
    capacity(SEARCHED, output=directory, search=SEARCH)
    return directory
