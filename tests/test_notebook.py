"""The worked example in Python runs as its text says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from waiting import HANGS

EXAMPLE = Path(__file__).parents[1] / "examples" / "notebook.py"


def test_the_example_in_python(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(EXAMPLE)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert said.startswith("<StudyResult 'loss-and-distance', sim: 4 points, "), said
    assert said.splitlines()[0].endswith(", valid>"), said
    assert "At 20 ms, 3 % loss leaves 2" in said, said
    assert said.count("│ slower") + said.count("┆ slower") == 2, said
    assert {path.name for path in tmp_path.iterdir()} == {"loss-and-distance.svg", "loss-and-distance.html"}
