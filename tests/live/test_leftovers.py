"""Nothing is left behind: the machine is listed before and after runs that end in every way."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from waiting import eventually
from waspbench.testbed.backlog import LONG_ENOUGH, SETTING

pytestmark = [pytest.mark.root, pytest.mark.slow]

MARK = "WASP_TEST_LEFTOVERS"
KILLS = 10
"""Kills of each kind of run."""
LONG = "--clients 4 --rtt 10ms --warmup 300ms --duration 60s --runs 1"


def processes(mark: str) -> set[int]:
    """The processes with this mark in their environment, dead ones that wait for their parent left out."""
    found = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if f"{MARK}={mark}".encode() in Path(f"/proc/{entry}/environ").read_bytes().split(b"\0"):
                    found.add(int(entry))
            except OSError:
                continue
    return found


def settings() -> dict[str, str]:
    """Every network setting of the machine that this process may read; those of devices come and go with them."""
    found = {}
    for file in Path("/proc/sys/net").rglob("*"):
        if "/conf/" not in str(file) and "/neigh/" not in str(file) and file.is_file():
            try:
                found[str(file)] = file.read_text()
            except OSError:
                continue
    for changing in [name for name in found if name.endswith(("nf_conntrack_count", "_count"))]:
        del found[changing]
    return found


def backlog() -> str | None:
    """How long the machine's packet backlog may be; None where this process does not see it."""
    return settings().get(str(SETTING))


def namespaces(pids: set[int]) -> set[str]:
    """The namespaces of some processes, dead ones that wait for their parent left out: they still show that of their
    numbers, and no other.
    """
    found = set()
    for pid in pids:
        try:
            found |= {os.readlink(f"/proc/{pid}/ns/{kind}") for kind in ("net", "mnt", "pid", "ipc", "user")}
        except OSError:
            continue
    return found


def everywhere() -> set[str]:
    """The namespaces of every process."""
    return namespaces({int(entry) for entry in os.listdir("/proc") if entry.isdigit()})


def machine() -> dict[str, object]:
    """What a run could leave on the machine. Devices and routes of other runs, which come and go, are not its."""
    mine = {name for name in os.listdir("/sys/class/net") if name.startswith("wasp")}
    return {
        "devices": sorted(set(os.listdir("/sys/class/net")) - mine),
        "routes": [line for line in Path("/proc/net/route").read_text().splitlines() if not line.startswith("wasp")],
        "mounts": Path("/proc/self/mounts").read_text(),
        "memory": sorted(os.listdir("/dev/shm")),
        "settings": settings(),
    }


def indices(names: set[str]) -> set[str]:
    """The devices with these names in this network namespace, by their numbers, which are given once only."""
    found = set()
    for name in names:
        try:
            found.add(Path(f"/sys/class/net/{name}/ifindex").read_text().strip())
        except OSError:
            continue
    return found


def all_devices() -> set[str]:
    """The numbers of every device in this network namespace."""
    return indices(set(os.listdir("/sys/class/net")))


def devices_of(pids: set[int]) -> set[str]:
    """The TUN devices that some processes hold open: fdinfo names them."""
    found = set()
    for pid in pids:
        for info in Path(f"/proc/{pid}/fdinfo").glob("*"):
            try:
                lines = info.read_text().splitlines()
            except OSError:
                continue
            found |= {line.split()[1] for line in lines if line.startswith("iff:")}
    return found


@pytest.fixture
def unchanged() -> Iterator[None]:
    """Fails the test after which the machine is not as before."""
    before = machine()
    yield
    assert machine() == before


@pytest.fixture(scope="module")
def running() -> Iterator[int]:
    """The port of a server that runs already, on loopback."""
    code = "from waspbench.serve import serve; serve('127.0.0.1', 0, lambda url: print(url, flush=True))"
    with subprocess.Popen([sys.executable, "-P", "-c", code], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield int(server.stdout.readline().strip().rstrip("/").rpartition(":")[2])
        server.terminate()


def wasp(directory: Path, mark: str, arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "waspbench", *arguments.split()]
    environment = os.environ | {MARK: mark}
    return subprocess.Popen(
        command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def time_to_measure(directory: Path, commands: list[str]) -> float:
    """How long so many runs at once take on this machine until all measure; they are killed then."""
    began = time.monotonic()
    started = [
        wasp(directory, f"{os.getpid()}-timing", f"{command} {LONG} -o out-{n}") for n, command in enumerate(commands)
    ]
    for process in started:
        assert process.stderr is not None
        while "measuring" not in process.stderr.readline():
            assert process.poll() is None
    took = time.monotonic() - began
    for process in started:
        with process:
            process.kill()
    return took


def leftovers(mark: str, entered: set[str], devices: set[str]) -> dict[str, set[Any]]:
    """What is there of a run that was killed."""
    return {
        "processes": processes(mark),
        "namespaces": entered & everywhere(),
        "devices": devices & all_devices(),
    }


def asked(kind: str, port: int) -> str:
    return f"bench http://127.0.0.1:{port}/1024 --mode live" if kind == "url" else "bench --mode live"


ENDINGS = {"success": 0, "error": 4, "SIGINT": 130, "SIGTERM": 130, "SIGHUP": 130}


@pytest.mark.parametrize(
    ("kind", "ending"), [*(("managed", ending) for ending in ENDINGS), ("url", "error"), ("url", "SIGTERM")]
)
def test_every_ending_leaves_the_machine_as_it_was(
    kind: str, ending: str, tmp_path: Path, running: int, unchanged: None
) -> None:
    arguments = f"{asked(kind, running)} {LONG} -o out"
    if ending == "success":
        arguments = arguments.replace("60s", "1s")
    if ending == "error":
        # The kernel refuses it only when everything else has been made.
        arguments += " --congestion none-such"
    mark = f"{os.getpid()}-{kind}-{ending}"
    with wasp(tmp_path, mark, arguments) as process:
        assert process.stderr is not None
        seen: set[str] = set()
        devices: set[str] = set()
        if ending.startswith("SIG"):
            while "measuring" not in process.stderr.readline():
                assert process.poll() is None
            inside = processes(mark)
            seen = namespaces(inside) - namespaces({os.getpid()})
            assert devices_of(inside)
            assert int(backlog() or LONG_ENOUGH) >= LONG_ENOUGH
            assert bool(seen) is (kind == "managed")
            if kind == "url":
                devices = indices(devices_of(inside))
                assert devices
            process.send_signal(signal.Signals[ending])
        _, said = process.communicate(timeout=20)
        # 5: on a machine that others use too, a run may not be valid.
        assert process.returncode in {ENDINGS[ending], 5 if ending == "success" else ENDINGS[ending]}, said
        assert "Traceback" not in said
    assert eventually(lambda: not processes(mark), 1.0)
    assert not seen & everywhere()
    assert not devices & all_devices()
    assert [path.name for path in tmp_path.iterdir()] == ([] if ending == "error" else ["out"])
    if ending.startswith("SIG"):
        assert json.loads((tmp_path / "out" / "manifest.json").read_text())["interrupted"] is True


def test_a_kill_at_any_moment_leaves_nothing_within_a_second(tmp_path: Path, running: int, unchanged: None) -> None:
    moments = random.Random(9)
    # Two of each kind at a time: that they do not disturb each other is tested on the way.
    kinds = ("managed", "url", "managed", "url")
    mine = namespaces({os.getpid()})
    found: dict[str, int] = {"namespaces": 0, "devices": 0}
    longest = 1.2 * time_to_measure(tmp_path, [asked(kind, running) for kind in kinds])
    for batch in range(KILLS // 2):
        began = time.monotonic()
        started = []
        for place, kind in enumerate(kinds):
            mark = f"{os.getpid()}-{kind}-{batch}-{place}"
            process = wasp(tmp_path, mark, f"{asked(kind, running)} {LONG} -o out-{mark}")
            started.append((moments.uniform(0.05, longest), mark, process))
        for moment, mark, process in sorted(started, key=lambda one: one[0]):
            time.sleep(max(0.0, began + moment - time.monotonic()))
            with process:
                inside = processes(mark)
                entered = namespaces(inside) - mine
                # A managed server's device is in its namespace and ends with it.
                devices = indices(devices_of(inside)) if "-url-" in mark else set()
                process.kill()
            left = partial(leftovers, mark, entered, devices)
            gone = partial(lambda left: not any(left().values()), left)
            assert eventually(gone, 1.0), f"{mark} killed after {moment:.2f} s: {left()}"
            found["namespaces"] += bool(entered)
            found["devices"] += bool(devices)
    # Some were killed when there was something to leave behind.
    assert min(found.values()) >= 2, found
    assert list(tmp_path.iterdir()) == []


def test_two_runs_at_once_are_both_marked_and_both_work(tmp_path: Path, running: int, unchanged: None) -> None:
    arguments = "--clients 8 --rtt 20ms --warmup 500ms --duration 2s --runs 1 --json"
    commands = (asked("managed", running), asked("url", running))
    mark = f"{os.getpid()}-both"
    both = [wasp(tmp_path, mark, f"{command} {arguments} -o {n}") for n, command in enumerate(commands)]
    for process in both:
        out, said = process.communicate(timeout=30)
        assert process.returncode in (0, 5), said
        result = json.loads(out)
        assert "another live run shared this machine" in result["runs"][0]["notes"]
        # Eight clients at 20 ms make at most 400 requests a second; a mix-up of the two would leave hardly any.
        assert result["outcomes"]["ok"] > 400
        assert {name for name, count in result["outcomes"].items() if count} <= {"ok", "unfinished"}


@pytest.mark.skipif(not os.access(SETTING, os.W_OK), reason="the packet backlog cannot be changed from here")
@pytest.mark.parametrize(("first", "last"), [("managed", "url"), ("url", "managed")])
def test_the_backlog_is_long_until_the_last_of_two_runs_has_ended(
    first: str, last: str, tmp_path: Path, running: int, unchanged: None
) -> None:
    before = int(backlog() or 0)
    if before >= LONG_ENOUGH:
        pytest.skip(f"the packet backlog is long already: {before}")
    marks = [f"{os.getpid()}-backlog-{kind}" for kind in (first, last)]
    one, other = (
        wasp(tmp_path, mark, f"{asked(kind, running)} {LONG} -o {mark}")
        for mark, kind in zip(marks, (first, last), strict=True)
    )
    with one, other:
        for process in (one, other):
            assert process.stderr is not None
            while "measuring" not in process.stderr.readline():
                assert process.poll() is None
        one.kill()
        assert eventually(lambda: not processes(marks[0]), 1.0)
        assert int(backlog() or 0) == LONG_ENOUGH
        other.send_signal(signal.SIGTERM)
        assert other.wait(timeout=20) == 130
        assert int(backlog() or 0) == before
        manifest = json.loads((tmp_path / marks[1] / "manifest.json").read_text())
        assert manifest["machine"]["settings"]["net.core.netdev_max_backlog"] == str(LONG_ENOUGH)


def test_an_interrupt_before_anything_began_is_no_traceback(tmp_path: Path) -> None:
    moments = random.Random(3)
    for _ in range(6):
        with wasp(tmp_path, f"{os.getpid()}-early", f"bench --mode sim {LONG} -o out") as process:
            # Python itself needs some 30 ms until it runs anything of ours.
            time.sleep(moments.uniform(0.1, 0.9))
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
        assert "Traceback" not in said
        assert process.returncode in (-signal.SIGINT, 130), said
        subprocess.run(["rm", "-rf", str(tmp_path / "out")], check=True)
