"""Markdown and CSV, letter by letter, of results that never change."""

from __future__ import annotations

from pathlib import Path

import pytest

from waspbench.cli.app import invoke

RESULTS = Path(__file__).parents[1] / "results"
SNAPSHOTS = Path(__file__).with_name("snapshots")

NAMES = {
    "bench": ["stored/2-last/bench"],
    "sweep": ["stored/2-last/sweep"],
    "capacity": ["stored/2-last/capacity"],
    "comparison": ["stored/1-last/sweep", "stored/2-last/sweep"],
}


@pytest.mark.parametrize("suffix", ["md", "csv"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_what_was_written(
    name: str, suffix: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(RESULTS)
    made = tmp_path / f"{name}.{suffix}"
    assert invoke(["report", *NAMES[name], "-o", str(made)]) in (0, 5)
    kept = SNAPSHOTS / made.name
    again = f"cd tests/results && wasp report {' '.join(NAMES[name])} --force -o ../report/snapshots/{kept.name}"
    assert made.read_text() == kept.read_text(), again
