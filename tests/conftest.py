from __future__ import annotations

from pathlib import Path

import pytest

from fake_core import FakeEngine


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
