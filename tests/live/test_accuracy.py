"""How exact a live run is: a connection and its request take two round trips and next to nothing more."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .harness import BY_OTHERS, KEPT_UP, WASP, needs, until_fit

pytestmark = [pytest.mark.root, pytest.mark.slow, needs("nginx")]

COMMAND = "bench --mode live --server nginx --clients 64 --rtt 100ms --file-size 1KB --requests-per-connection 1"
LENGTH = "--warmup 1s --duration 17s --runs 1 --json"


def test_every_response_takes_two_round_trips(tmp_path: Path) -> None:
    attempts = iter(range(10))

    def attempt() -> dict[str, Any]:
        output = ["-o", str(tmp_path / str(next(attempts)))]
        done = subprocess.run(
            [*WASP, *COMMAND.split(), *LENGTH.split(), *output], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode in (0, 5), done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        assert result["outcomes"]["ok"] >= 5_000
        assert sum(result["outcomes"].values()) == result["outcomes"]["ok"] + result["outcomes"]["unfinished"]
        # Nothing is faster than the path, however busy the machine.
        assert result["response_time_ms"]["p50"] >= 200.0
        return result

    def unfit(result: dict[str, Any]) -> str | None:
        steal, lag = result["server_cpu"]["steal"], result["emulator"]["lag_us"]["p99"]
        if steal >= 0.01:
            return f"steal {steal:.1%}"
        disturbed = [reason for reason in result["invalid_reasons"] if reason["code"] in BY_OTHERS]
        if disturbed:
            return "; ".join(f"{reason['code']}: {reason['message']}" for reason in disturbed)
        if lag >= 500:
            return f"lag p99 {lag:.0f} us"
        time = result["response_time_ms"]
        if 200.0 <= time["p50"] <= 201.0 and time["p99"] < 203.0:
            return None
        return f"p50 {time['p50']:.2f} ms, p99 {time['p99']:.2f} ms {KEPT_UP} (lag p99 {lag:.0f} us)"

    result = until_fit(attempt, unfit)
    assert result["valid"], result["invalid_reasons"]
