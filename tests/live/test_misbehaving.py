"""Servers that misbehave: each is counted under its outcome, the run ends on time, and nothing grows without bound."""

from __future__ import annotations

import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from measuring import conclusive, disturbance
from waiting import SOON
from waspbench import RunFailedError, load, run
from waspbench.results import Result

from .misbehaving import BEHAVIOURS

pytestmark = [pytest.mark.root, pytest.mark.slow]

EACH = 2
DURATION, WARMUP = 3.0, 0.5

ENDLESS = ("silent", "drip", "deaf")
EXPECTED = {
    "healthy": {"ok"},
    "reset-at-once": {"reset"},
    "reset-after-request": {"reset"},
    "reset-in-head": {"reset"},
    "reset-in-body": {"reset"},
    # A GET that was not answered on a kept connection is made once more on a new one.
    "keeps-for-one": {"ok"},
    "silent": {"timed_out"},
    "drip": {"timed_out"},
    "garbage": {"malformed"},
    "head-without-end": {"malformed"},
    "length-too-large": {"truncated"},
    # What is too much belongs to no response, and is thrown away (RFC 9112, section 6.3).
    "length-too-small": {"ok"},
    "length-twice": {"malformed"},
    "bad-chunk-size": {"malformed"},
    "bad-chunk-end": {"malformed"},
    "huge-chunk-size": {"malformed"},
    "chunks-cut-off": {"truncated"},
    # The request finds the connection closed already, which the server's kernel answers by a reset.
    "closes-at-once": {"reset"},
    "closes-after-request": {"truncated"},
    "closes-in-head": {"truncated"},
    "sends-on": {"ok"},
}


def experiment(behaviours: list[str], path: str = "/") -> dict[str, Any]:
    words = [sys.executable, "-P", str(Path(__file__).with_name("misbehaving.py"))]
    groups = [
        {
            "name": behaviour,
            "count": EACH,
            "rtt": "10ms",
            # A busy machine must not make another outcome a timeout.
            "http": {"timeout": "1s" if behaviour in ENDLESS else "60s"}
            | ({"requests_per_connection": 1} if behaviour == "sends-on" else {}),
        }
        for behaviour in behaviours
    ]
    return {
        "name": "misbehaving",
        "server": {
            "kind": "command",
            "command": f"{' '.join(words)} {{address}} {{port}} {EACH} {' '.join(behaviours)}",
            "path": path,
        },
        "clients": groups,
        "measure": {"warmup": f"{WARMUP}s", "duration": f"{DURATION}s", "runs": 1},
    }


def memory_kib(field: str) -> int:
    """A line of /proc/self/status: this process, in which the engine runs."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(f"{field}:"))


def memory_from_now() -> int:
    """Forgets this process's peak of memory, which earlier tests may have put far above its use, and tells its use."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return memory_kib("VmHWM")


def measured(experiment: dict[str, Any], output: Path) -> tuple[Result, dict[str, set[str]]]:
    """The result of a run that ends on time, and each group's outcomes."""
    before = memory_from_now()
    began = time.monotonic()
    result = run(experiment, mode="live", output=output)
    assert time.monotonic() - began < 2 * (WARMUP + DURATION) + SOON  # to start and stop on a busy machine, twice
    assert memory_kib("VmHWM") - before < 100_000
    rows = pl.read_parquet(output / "transactions").filter(pl.col("outcome") != "unfinished")
    names = [group["name"] for group in experiment["clients"]]
    outcomes: dict[str, set[str]] = {name: set() for name in names}
    for client, outcome in rows.select("client", "outcome").unique().iter_rows():
        outcomes[names[client // EACH]].add(outcome)
    return result, outcomes


def test_memory_that_grows_is_noticed() -> None:
    bytearray(b"x") * 300_000_000  # a peak of an earlier test's
    before = memory_from_now()
    assert memory_kib("VmHWM") - before < 100_000
    bytearray(b"x") * 200_000_000
    assert memory_kib("VmHWM") - before > 100_000


def test_each_behaviour_is_counted_under_its_outcome_and_disturbs_no_other(tmp_path: Path) -> None:
    numbers = count()

    def attempt() -> tuple[Result, int]:
        output = tmp_path / str(next(numbers))
        result, outcomes = measured(experiment(list(EXPECTED)), output)
        assert set(EXPECTED) == set(BEHAVIOURS) - {"deaf"}
        assert {name: found for name, found in outcomes.items() if found != EXPECTED[name]} == {}
        assert result.outcomes["timed_out"] <= 2 * 2 * EACH * (DURATION + WARMUP)
        rows = pl.read_parquet(output / "transactions")
        healthy = rows.filter((pl.col("client") < EACH) & (pl.col("outcome") == "ok")).height
        # Two clients at 10 ms make at most 700 requests in the three and a half seconds.
        assert 0 < healthy <= 200 * (WARMUP + DURATION)
        return result, healthy

    def wrong(found: tuple[Result, int]) -> str | None:
        return None if found[1] > 200 else f"{found[1]} responses of a healthy server"

    conclusive(attempt, wrong, lambda found: disturbance(found[0].invalid_reasons))


def test_a_post_is_not_made_once_more(tmp_path: Path) -> None:
    asked = experiment(["keeps-for-one"])
    asked["clients"][0]["http"]["method"] = "POST"
    _, outcomes = measured(asked, tmp_path / "out")
    assert outcomes == {"keeps-for-one": {"ok", "truncated"}}
    assert pl.read_parquet(tmp_path / "out" / "transactions")["attempts"].unique().to_list() == [1]


def test_a_window_that_stays_closed_ends_by_the_timeout(tmp_path: Path) -> None:
    _, outcomes = measured(experiment(["deaf"], path="/" + "x" * 8000), tmp_path / "out")
    assert outcomes == {"deaf": {"timed_out"}}


def test_a_server_that_stops_listening_refuses(tmp_path: Path) -> None:
    asked = experiment(["refuses"])
    asked["clients"][0]["http"]["requests_per_connection"] = 1
    _, outcomes = measured(asked, tmp_path / "out")
    assert outcomes == {"refuses": {"ok", "refused"}} or outcomes == {"refuses": {"ok", "refused", "reset"}}


def test_a_server_that_comes_back_is_used_again(tmp_path: Path) -> None:
    asked = experiment(["comes-back"])
    asked["clients"][0]["http"]["requests_per_connection"] = 1
    numbers = count()

    def attempt() -> tuple[Result, int]:
        output = tmp_path / str(next(numbers))
        result, outcomes = measured(asked, output)
        assert outcomes["comes-back"] >= {"ok", "refused"}
        rows = pl.read_parquet(output / "transactions")
        refused = rows.filter(pl.col("outcome") == "refused")["end_ns"]
        return result, rows.filter((pl.col("outcome") == "ok") & (pl.col("end_ns") > refused.max())).height

    def few(found: tuple[Result, int]) -> str | None:
        return None if found[1] > 20 else f"{found[1]} responses after the last refusal"

    conclusive(attempt, few, lambda found: disturbance(found[0].invalid_reasons))


def test_a_server_that_dies_ends_the_run_at_once_and_what_was_measured_is_kept(tmp_path: Path) -> None:
    asked = experiment(["dies"])
    asked["clients"][0]["http"]["requests_per_connection"] = 1
    asked["measure"]["duration"] = "60s"
    began = time.monotonic()
    with pytest.raises(RunFailedError, match="the server ended during the run: the server ended with status 7"):
        run(asked, mode="live", output=tmp_path / "out")
    assert time.monotonic() - began < 2 * SOON
    kept = load(tmp_path / "out")
    assert kept.outcomes["ok"] > 0
    assert "failed" in [reason.code for reason in kept.invalid_reasons]
