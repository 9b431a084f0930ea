from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from fake_core import FakeEngine
from waspbench.testbed import live_support

# The same examples in every run, however busy the machine is.
settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what carries the marker ``root`` where it cannot be done, and says why."""
    for item in items:
        marker = item.get_closest_marker("root")
        why = None if marker is None else obstacle(live=marker.kwargs.get("live", True))
        if why is not None:
            item.add_marker(pytest.mark.skip(reason=why))


@cache
def obstacle(live: bool) -> str | None:
    """What stands in the way of tests that need root, and of those that need the means of live runs, too."""
    if os.geteuid() != 0:
        return "needs root"
    if live and not (support := live_support()).ok:
        return f"this machine cannot: {support.why}"
    return None


@pytest.fixture(autouse=True)
def catalogue(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalogue of the test's own, in place of the user's."""
    path = tmp_path_factory.mktemp("catalogue") / "catalogue.sqlite"
    monkeypatch.setenv("WASP_CATALOGUE", str(path))
    return path


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    """A fake in the place of the engine."""
    fake = FakeEngine()
    fake.install(monkeypatch)
    return fake


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
