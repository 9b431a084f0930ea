"""Whole live runs by the command, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from measuring import timed, within
from waiting import HANGS, SOON, eventually
from waspbench.results.study import STUDY
from waspbench.results.whole_files import Room

pytestmark = [pytest.mark.root, pytest.mark.slow]

MARK = "WASP_TEST_PROCESSES"


def wasp(directory: Path, arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "waspbench", *arguments.split()]
    environment = os.environ | {MARK: str(directory)}
    return subprocess.Popen(
        command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def processes(directory: Path) -> set[int]:
    """Every process that came from a command in this directory, known by its environment."""
    mark = f"{MARK}={directory}".encode()
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if mark in environment.split(b"\0"):
                found.add(int(entry.name))
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_was_measured_and_leaves_nothing_else(tmp_path: Path, number: signal.Signals) -> None:
    arguments = "bench --mode live --clients 4 --warmup 500ms --duration 60s -o out"
    with wasp(tmp_path, arguments) as process:
        assert process.stderr is not None
        while "measuring" not in process.stderr.readline():
            assert process.poll() is None
        timed(lambda: process.send_signal(number), lambda: process.poll() is not None)
        assert process.returncode == 130
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["interrupted"] is True
    assert "stopped" in [reason["code"] for reason in manifest["invalid_reasons"]]
    assert eventually(lambda: not processes(tmp_path), SOON), processes(tmp_path)


def test_a_killed_run_leaves_nothing_but_its_plan_within_a_second(tmp_path: Path) -> None:
    numbers = count()

    def kill() -> float:
        output = f"out-{next(numbers)}"
        with wasp(tmp_path, f"bench --mode live --clients 4 --warmup 500ms --duration 60s -o {output}") as process:
            assert process.stderr is not None
            while "measuring" not in process.stderr.readline():
                assert process.poll() is None
            assert len(processes(tmp_path)) > 1
            took = timed(process.kill, lambda: not processes(tmp_path), lambda: processes(tmp_path))
        assert {path.name for path in (tmp_path / output).rglob("*")} == {STUDY, Room.NAME}
        return took

    within(1.0, kill)


def test_the_manifest_of_a_live_run_describes_machine_and_server(tmp_path: Path) -> None:
    with wasp(tmp_path, "bench --mode live --clients 4 --warmup 100ms --duration 1s --runs 1 -o out") as process:
        process.communicate(timeout=HANGS)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["mode"] == "live"
    assert manifest["settings"]["used"] == ["kind", "congestion", "sysctl", "ready_timeout"]
    assert manifest["server"]["kind"] == manifest["server"]["name"] == "builtin"
    assert manifest["testbed"]["network"]["congestion"] == "cubic"
    assert manifest["machine"]["kernel"] == os.uname().release
    summary = manifest["runs"][0]
    assert summary["device"]["tx_dropped"] == 0
    assert summary["tcpext"]["ListenDrops"] == 0
    assert summary["emulator"]["lag_us"]["p99"] >= 0
    assert summary["emulator"]["unread_us"]["p99"] > 0
