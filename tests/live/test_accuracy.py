"""How exact a live run is: a connection and its request take two round trips and next to nothing more."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from measuring import conclusive, disturbance
from waiting import HANGS

from .harness import WASP, needs

pytestmark = [pytest.mark.root, pytest.mark.slow, needs("nginx")]

# Without pauses each client would come again every 200 ms, and what befalls the emulator once a second would meet none
# but those whom it has not yet moved out of its way.
EXPERIMENT = """
name = "two-round-trips"
mode = "live"
server = { kind = "nginx" }
workload = { size = "1KB" }
measure = { warmup = "1s", duration = "17s", runs = 1 }
[[clients]]
count = 64
rtt = "100ms"
think = { model = "exponential", mean = "100ms" }
http = { requests_per_connection = 1 }
"""


def test_every_response_takes_two_round_trips(tmp_path: Path) -> None:
    attempts = iter(range(10))
    file = tmp_path / "experiment.toml"
    file.write_text(EXPERIMENT)

    def attempt() -> dict[str, Any]:
        argv = [*WASP, "run", str(file), "-o", str(tmp_path / str(next(attempts))), "--json"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=HANGS)
        result: dict[str, Any] = json.loads(done.stdout)
        assert done.returncode == (0 if result["valid"] else 5), done.stderr
        assert sum(result["outcomes"].values()) == result["outcomes"]["ok"] + result["outcomes"]["unfinished"]
        # Nothing is faster than the path, however busy the machine.
        assert result["response_time_ms"]["p50"] >= 200.0
        return result

    def wrong(result: dict[str, Any]) -> str | None:
        time, ok = result["response_time_ms"], result["outcomes"]["ok"]
        lag, against = result["emulator"]["lag_us"]["p99"], [reason["code"] for reason in result["invalid_reasons"]]
        # 64 closed loops of 300 ms, for 17 s.
        if time["p50"] <= 201.0 and time["p99"] < 203.0 and lag < 500 and ok >= 3_500 and not against:
            return None
        figures = f"p50 {time['p50']:.2f} ms, p99 {time['p99']:.2f} ms, {ok} responses, lag p99 {lag:.0f} us"
        return f"{figures}, not valid: {' '.join(against)}" if against else figures

    conclusive(attempt, wrong, lambda result: disturbance(result["invalid_reasons"]))
