"""Programs behind the emulated network: the kernel's own client takes two round trips, and nothing of it is left."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from waiting import eventually
from waspbench.validation.programs import Seen, programs

from .harness import BY_OTHERS, KEPT_UP, needs, until_fit
from .test_leftovers import MARK, leftovers, machine, namespaces, processes

pytestmark = [pytest.mark.root, pytest.mark.slow, needs("nginx")]


def document(duration: str = "4s", loss: str | None = None) -> dict[str, Any]:
    group: dict[str, Any] = {
        "name": "clients",
        "count": 32,
        "rtt": "50ms",
        "http": {"requests_per_connection": 1},
    }
    if loss is not None:
        group["loss"] = {way: {"model": "independent", "rate": loss} for way in ("up", "down")}
    return {
        "name": "programs",
        "workload": {"size": "1KB"},
        "server": {"kind": "nginx"},
        "clients": [group],
        "measure": {"warmup": "1s", "duration": duration, "runs": 1},
    }


def unfit(seen: Seen) -> str | None:
    if seen.steal >= 0.01:
        return f"steal {seen.steal:.1%}"
    disturbed = [code for code in seen.against if code in BY_OTHERS]
    if disturbed:
        return ", ".join(disturbed)
    if seen.lag_us >= 500:
        return f"lag p99 {seen.lag_us:.0f} us"
    return None


def test_the_kernels_client_takes_two_round_trips() -> None:
    def late(seen: Seen) -> str | None:
        assert seen.mean >= 100.0
        disturbed = unfit(seen)
        if disturbed is not None or (seen.mean < 101.0 and seen.p90 < 102.0):
            return disturbed
        return f"mean {seen.mean:.2f} ms, p90 {seen.p90:.2f} ms {KEPT_UP} (lag p99 {seen.lag_us:.0f} us)"

    seen = until_fit(lambda: programs(document(), 0), late)
    assert seen.against == ()
    assert seen.failed == 0
    # 32 closed loops of 100 ms.
    assert seen.rate == pytest.approx(320, rel=0.02)
    # SYN, ACK, request, acknowledgments of the response and of the server's FIN, FIN: none is lost or merged. The
    # interval's ends cut some transactions in two.
    assert 4.9 <= seen.packets <= 7


def test_the_loss_of_the_scenario_meets_the_kernels_packets() -> None:
    # A run whose loss is not that of its model, or whose kernel dropped packets, has a reason against it.
    seen = until_fit(lambda: programs(document(loss="5%"), 0), unfit)
    assert seen.against == ()
    # One in ten first SYNs or answers is lost, and repeated after a second.
    assert seen.mean > 150.0


def fetching(mark: str) -> bool:
    """Whether the program of the clients is there, and all that was started before it."""
    return any(b"waspbench.fetch" in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in processes(mark))


def gone(mark: str, entered: set[str]) -> bool:
    return not any(leftovers(mark, entered, set()).values())


def test_a_kill_leaves_nothing_of_both_namespaces(tmp_path: Path) -> None:
    before = machine()
    asked = document("60s")
    mine = namespaces({os.getpid()})
    for number in range(3):
        mark = f"{os.getpid()}-programs-{number}"
        code = f"from waspbench.validation.programs import programs; programs({asked!r}, 0)"
        command = [sys.executable, "-P", "-c", code]
        with subprocess.Popen(command, cwd=tmp_path, env=os.environ | {MARK: mark}) as process:
            assert eventually(partial(fetching, mark), 20.0), processes(mark)
            time.sleep(0.1 * number)
            entered = namespaces(processes(mark)) - mine
            nets = {name for name in entered if name.startswith("net:")}
            assert len(nets) == 2, entered
            process.kill()
        assert eventually(partial(gone, mark, entered), 1.0), leftovers(mark, entered, set())
    assert machine() == before
