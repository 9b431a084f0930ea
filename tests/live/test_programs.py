"""Programs behind the emulated network: the kernel's own client takes two round trips, and nothing of it is left."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from measuring import conclusive, disturbance, timed, within
from waiting import SOON, eventually
from waspbench.validation.programs import Seen, programs

from .harness import needs
from .leaving import MARK, leftovers, namespaces, processes
from .test_leftovers import machine

pytestmark = [pytest.mark.root, pytest.mark.slow, needs("nginx")]


def document(duration: str = "10s", loss: str | None = None) -> dict[str, Any]:
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


def disturbed(seen: Seen) -> str | None:
    return disturbance(seen.against)


def against(seen: Seen) -> str | None:
    assert "loss" not in seen.against  # of which the emulator decides alone
    return f"not valid: {', '.join(seen.against)}" if seen.against else None


def test_the_kernels_client_takes_two_round_trips() -> None:
    def wrong(seen: Seen) -> str | None:
        assert seen.mean >= 100.0
        assert seen.failed == 0
        fast = seen.mean < 101.0 and seen.p90 < 102.0 and seen.lag_us < 500
        # SYN, ACK, request, acknowledgments of the response and of the server's FIN, FIN: none is lost or merged. The
        # interval's ends cut some transactions in two.
        whole = 4.9 <= seen.packets <= 7
        # 32 closed loops of 100 ms.
        if fast and whole and seen.rate == pytest.approx(320, rel=0.02):
            return against(seen)
        times = f"mean {seen.mean:.2f} ms, p90 {seen.p90:.2f} ms, lag p99 {seen.lag_us:.0f} us"
        return f"{times}, {seen.rate:.1f} responses a second of {seen.packets:.2f} packets"

    conclusive(lambda: programs(document(), 0), wrong, disturbed)


def test_the_loss_of_the_scenario_meets_the_kernels_packets() -> None:
    # A run whose loss is not that of its model, or whose kernel dropped packets, has a reason against it.
    seen = conclusive(lambda: programs(document("4s", loss="5%"), 0), against, disturbed)
    # One in ten first SYNs or answers is lost, and repeated after a second.
    assert seen.mean > 150.0


def fetching(mark: str) -> bool:
    """Whether the program of the clients is there, and all that was started before it."""
    for pid in processes(mark):
        with suppress(OSError):  # it ended meanwhile
            if b"waspbench.fetch" in Path(f"/proc/{pid}/cmdline").read_bytes():
                return True
    return False


def gone(mark: str, entered: set[str]) -> bool:
    return not any(leftovers(mark, entered, set()).values())


def test_a_kill_leaves_nothing_of_both_namespaces(tmp_path: Path) -> None:
    before = machine()
    asked = document("60s")
    mine = namespaces({os.getpid()})
    numbers = count()

    def kill() -> float:
        number = next(numbers)
        mark = f"{os.getpid()}-programs-{number}"
        code = f"from waspbench.validation.programs import programs; programs({asked!r}, 0)"
        command = [sys.executable, "-P", "-c", code]
        with subprocess.Popen(command, cwd=tmp_path, env=os.environ | {MARK: mark}) as process:
            assert eventually(partial(fetching, mark)), processes(mark)
            time.sleep(0.1 * (number % 3))
            entered = namespaces(processes(mark)) - mine
            nets = {name for name in entered if name.startswith("net:")}
            assert len(nets) == 2, entered
            return timed(process.kill, partial(gone, mark, entered), partial(leftovers, mark, entered, set()))

    for _ in range(3):
        within(1.0, kill)
    assert eventually(lambda: machine() == before, SOON), (before, machine())
