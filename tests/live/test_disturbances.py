"""What other programs take of the CPUs speaks against a run; what its own threads take is no excuse."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from waiting import HANGS
from waspbench import live

from .harness import Run, bed_for, experiment, measure

pytestmark = pytest.mark.root

BUSY = """
import os, sys, time
cpu, priority, parent = map(int, sys.argv[1:])
os.sched_setaffinity(0, {cpu})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
print(os.getpid(), flush=True)
while os.path.exists(f"/proc/{parent}"):
    until = time.monotonic() + 0.005
    while time.monotonic() < until:
        pass
    time.sleep(0.015)
"""
"""Keeps a CPU busy for a quarter of the time, before the emulator, and ends with the test however that ends."""
LEAVE = "import os, sys; os.fork() and os._exit(0); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
"""Runs a program as no descendant of this process."""


class Busy:
    """A program that keeps a CPU busy: a child of this process, or a stranger to it."""

    def __init__(self, cpu: int, *, own: bool) -> None:
        program = ["-c", BUSY, str(cpu), "50", str(os.getpid())]
        argv = [sys.executable, *(program if own else ["-c", LEAVE, *program])]
        self._process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._pid = int(self._process.stdout.readline())

    def seconds(self) -> float:
        """CPU time that it has used."""
        fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        self._process.communicate(timeout=HANGS)


def run_beside(cpu: int, *, own: bool) -> tuple[Run, float]:
    """A run of 10 s beside such a program, and the part of the CPU's time that this had."""
    asked = experiment(server="builtin", clients={"count": 16, "rtt": "20ms"}, duration="10s")
    busy = Busy(cpu, own=own)
    try:
        with bed_for(asked) as bed:
            used, began = busy.seconds(), time.monotonic()
            run = measure(bed, asked)
            return run, (busy.seconds() - used) / (time.monotonic() - began)
    finally:
        busy.end()


def codes(run: Run) -> set[str]:
    return {reason["code"] for reason in run.summary["invalid"]}


def busy_part(cpu: int, before: Mapping[int, tuple[int, int]]) -> float:
    """Busy part of a CPU since then."""
    total, idle = (now - then for now, then in zip(cpu_times()[cpu], before[cpu], strict=True))
    return 1 - idle / total


def cpu_times() -> dict[int, tuple[int, int]]:
    """Ticks of each CPU: all, and those in which it was idle or stolen."""
    lines = [line.split() for line in Path("/proc/stat").read_text().splitlines() if line.startswith("cpu")]
    times = {int(line[0][3:]): [int(field) for field in line[1:9]] for line in lines[1:]}
    return {cpu: (sum(each), each[3] + each[4] + each[7]) for cpu, each in times.items()}


def test_another_program_on_the_emulators_cpu_speaks_against_a_run() -> None:
    run, part = run_beside(live.choose_cpus(None, None).emulator[0], own=False)
    emulator = run.summary["emulator"]
    assert emulator["others"] > 0.8 * part, (emulator, part)
    assert emulator["run_delay"] >= emulator["run_delay_by_others"] > 0.01, emulator
    assert codes(run) >= {"others", "run_delay"}, run.summary["invalid"]


def test_another_program_on_the_servers_cpu_speaks_against_a_run() -> None:
    run, part = run_beside(live.choose_cpus(None, None).server[0], own=False)
    assert run.summary["server_cpu"]["others"] > 0.8 * part, (run.summary["server_cpu"], part)
    assert "others" in codes(run), run.summary["invalid"]


def test_a_program_of_the_run_itself_is_no_other_program() -> None:
    """A defect that makes the emulator wait must not look like a busy machine."""
    cpu = live.choose_cpus(None, None).emulator[0]
    before = cpu_times()
    run, part = run_beside(cpu, own=True)
    emulator = run.summary["emulator"]
    assert emulator["run_delay"] > 0.01, emulator
    assert emulator["run_delay_by_others"] <= emulator["others"], emulator
    # What others had is at most what the emulator and this program did not.
    assert emulator["others"] < busy_part(cpu, before) - 0.8 * part, (emulator, part)
