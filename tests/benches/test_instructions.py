"""What the gate on instructions lets pass."""

from __future__ import annotations

import pytest

import instructions
import perf


def test_growth_within_the_tolerance_passes_and_beyond_it_does_not() -> None:
    assert not instructions.Count("web", 1_019, 1_000).too_many
    assert instructions.Count("web", 1_030, 1_000).too_many
    assert not instructions.Count("web", 500, 1_000).too_many


def test_without_a_baseline_nothing_is_judged() -> None:
    count = instructions.Count("web", 1_000, None)
    assert (count.growth, count.too_many) == (None, False)


@pytest.mark.parametrize(("found", "status"), [(1_010, 0), (1_100, 1)])
def test_growth_decides_the_exit_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], found: int, status: int
) -> None:
    counts = [instructions.Count("web", found, 1_000)]
    monkeypatch.setattr(instructions, "measure", lambda renew: (counts, None))
    assert perf.main(["instructions"]) == status
    assert ("TOO MANY" in capsys.readouterr().out) == bool(status)


def test_another_compiler_is_said_loudly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    counts = [instructions.Count("web", 1_000, None)]
    monkeypatch.setattr(instructions, "measure", lambda renew: (counts, "NOT CHECKED: another compiler"))
    assert perf.main(["instructions"]) == 0
    assert "NOT CHECKED" in capsys.readouterr().out
