from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from fake_core import FakeEngine

# The same examples in every run, however busy the machine is.
settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")


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
