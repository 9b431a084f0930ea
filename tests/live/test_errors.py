"""Errors of real servers, and what is said of them."""

from __future__ import annotations

import json
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from measuring import conclusive, disturbance
from waspbench import run
from waspbench.cli.app import invoke


@pytest.mark.root
def test_a_server_that_has_not_what_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    line = f"{sys.executable} -m http.server {{port}} --bind {{address}} --directory {tmp_path / 'empty'}"
    flags = "--clients 4 --rtt 20ms --warmup 500ms --duration 2s --runs 1 --json"

    numbers = count()

    def attempt() -> dict[str, Any]:
        output = str(tmp_path / f"out-{next(numbers)}")
        assert invoke(["bench", "--mode", "live", "--command", line, *flags.split(), "-o", output]) == 5
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        assert (found["errors"], list(found["statuses"])) == (1.0, ["404"])
        assert found["statuses"]["404"] == found["outcomes"]["http_error"]
        return found | {"output": output}

    def few(found: dict[str, Any]) -> str | None:
        answers = found["statuses"]["404"]
        return None if answers > 100 else f"{answers} answers"

    found = conclusive(attempt, few, lambda each: disturbance(each["invalid_reasons"]))
    assert {"errors", "too_few"} <= {reason["code"] for reason in found["invalid_reasons"]}
    hint = "every response is 404: `/1024` was asked for; give --path (server.path in a file)"
    assert hint in found["notes"]
    assert invoke(["show", found["output"]]) == 5
    assert hint in " ".join(capsys.readouterr().out.split())


@pytest.mark.root
def test_a_server_that_answers_too_late(tmp_path: Path) -> None:
    fields = {
        "name": "late",
        "clients": [{"count": 8, "rtt": "300ms", "http": {"timeout": "100ms"}}],
        "measure": {"warmup": "500ms", "duration": "2s", "runs": 1},
    }
    found = run(fields, mode="live", output=tmp_path / "out")
    assert found.errors == 1.0
    assert "errors" in {reason.code for reason in found.invalid_reasons}
    assert any(note.startswith("every transaction timed out: they took longer than 100ms") for note in found.notes)
