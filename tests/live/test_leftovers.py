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
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from measuring import conclusive, timed, within
from waiting import HANGS, SOON, eventually
from waspbench.results import load
from waspbench.results.records import read_record, record_path
from waspbench.results.study import is_study
from waspbench.testbed import long_backlog
from waspbench.testbed.backlog import LONG_ENOUGH, SETTING

from .leaving import await_measuring, devices_of, indices, leftovers, namespaces, processes, wasp

pytestmark = [pytest.mark.root, pytest.mark.slow]

KILLS = 5
"""Times that two runs of each kind are killed."""
LONG = "--clients 4 --rtt 10ms --warmup 300ms --duration 60s --runs 1"


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


@pytest.fixture
def unchanged() -> Iterator[None]:
    """Fails the test after which the machine is not as before."""
    before = machine()
    yield
    assert eventually(lambda: machine() == before, SOON), (before, machine())


@pytest.fixture(scope="module")
def running() -> Iterator[int]:
    """The port of a server that runs already, on loopback."""
    code = "from waspbench.serve import serve; serve('127.0.0.1', 0, lambda url: print(url, flush=True))"
    with subprocess.Popen([sys.executable, "-P", "-c", code], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield int(server.stdout.readline().strip().rstrip("/").rpartition(":")[2])
        server.terminate()


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
        seen: set[str] = set()
        devices: set[str] = set()
        if ending.startswith("SIG"):
            await_measuring(process)
            inside = processes(mark)
            seen = namespaces(inside) - namespaces({os.getpid()})
            assert devices_of(inside)
            assert int(backlog() or LONG_ENOUGH) >= LONG_ENOUGH
            assert bool(seen) is (kind == "managed")
            if kind == "url":
                devices = indices(devices_of(inside))
                assert devices
            process.send_signal(signal.Signals[ending])
        _, said = process.communicate(timeout=HANGS)
        # On a machine that others use too, a run may not be valid.
        invalid = ending == "success" and not load(tmp_path / "out").valid
        assert process.returncode == (5 if invalid else ENDINGS[ending]), said
        assert "Traceback" not in said
    assert eventually(lambda: not any(leftovers(mark, seen, devices).values()), SOON), leftovers(mark, seen, devices)
    assert [path.name for path in tmp_path.iterdir()] == ([] if ending == "error" else ["out"])
    if ending.startswith("SIG"):
        assert json.loads((tmp_path / "out" / "manifest.json").read_text())["interrupted"] is True


@dataclass
class Victim:
    """A run that is to be killed."""

    mark: str
    process: subprocess.Popen[str]

    def kill(self) -> tuple[float, set[str], set[str]]:
        """How long it took until nothing of it was left, its namespaces and its devices."""
        with self.process:
            inside = processes(self.mark)
            entered = namespaces(inside) - namespaces({os.getpid()})
            # A managed server's device is in its namespace and ends with it.
            devices = indices(devices_of(inside)) if "-url-" in self.mark else set()
            left = partial(leftovers, self.mark, entered, devices)
            return timed(self.process.kill, lambda: not any(left().values()), left), entered, devices


def test_a_kill_at_any_moment_leaves_nothing_within_a_second(tmp_path: Path, running: int, unchanged: None) -> None:
    moments, numbers = random.Random(9), count()
    # Two of each kind at a time: that they do not disturb each other is tested on the way.
    kinds = ("managed", "url", "managed", "url")
    found: dict[str, int] = {"namespaces": 0, "devices": 0}
    start_up = 1.0  # seconds until a run of the last batch measured

    def kill() -> float:
        """For how long something was left of a run of a batch, at most. Half of the runs are killed on their way, the
        others when they measure.
        """
        nonlocal start_up
        began, batch = time.monotonic(), next(numbers)
        victims = []
        for place, kind in enumerate(kinds):
            mark = f"{os.getpid()}-{kind}-{batch}-{place}"
            victims.append(Victim(mark, wasp(tmp_path, mark, f"{asked(kind, running)} {LONG} -o out-{mark}")))
        took = []
        try:
            for victim in moments.sample(victims[:2], 2):
                time.sleep(moments.uniform(0.0, start_up / 2))
                took.append(victim.kill()[0])
            for victim in victims[2:]:
                await_measuring(victim.process)
                if victim is victims[2]:
                    start_up = time.monotonic() - began - sum(took)
                seconds, entered, devices = victim.kill()
                took.append(seconds)
                found["namespaces"] += bool(entered)
                found["devices"] += bool(devices)
        finally:
            for victim in victims:
                victim.process.kill()
        return max(took)

    for _ in range(KILLS):
        within(1.0, kill)
    # There was something to leave behind.
    assert min(found.values()) >= KILLS, found
    # What is left of results is what `wasp resume` goes on with.
    left = list(tmp_path.iterdir())
    assert [path for path in left if not path.name.startswith("out-")] == []
    assert any(map(is_study, left))


def test_two_runs_at_once_are_both_marked_and_both_work(tmp_path: Path, running: int, unchanged: None) -> None:
    # Long beside the time that the second of them takes to begin on a busy machine.
    arguments = "--clients 8 --rtt 20ms --warmup 500ms --duration 10s --runs 1 --json"
    numbers = count()

    def attempt() -> list[dict[str, Any]]:
        number, results = next(numbers), []
        mark = f"{os.getpid()}-both-{number}"
        kinds = ("managed", "url")
        both = [wasp(tmp_path, mark, f"{asked(kind, running)} {arguments} -o {kind}-{number}") for kind in kinds]
        for process in both:
            out, said = process.communicate(timeout=HANGS)
            result = json.loads(out)
            assert process.returncode == (0 if result["valid"] else 5), said
            # One that was disturbed is made once more, and then the other may be over.
            record = read_record(record_path(tmp_path / result["results"], 0))
            made = [attempt for attempt in (record.first, record.summary) if attempt is not None]
            assert any("another live run shared this machine" in attempt.notes for attempt in made)
            assert {name for name, count in result["outcomes"].items() if count} <= {"ok", "unfinished"}
            results.append(result)
        return results

    def wrong(results: list[dict[str, Any]]) -> str | None:
        # Eight clients at 20 ms make at most 4,000 requests in 10 s; a mix-up of the two would leave hardly any.
        counts = [result["outcomes"]["ok"] for result in results]
        return None if min(counts) > 2_000 else f"{counts} responses"

    conclusive(attempt, wrong)


@pytest.mark.skipif(not os.access(SETTING, os.W_OK), reason="needs a writable /proc/sys")
@pytest.mark.parametrize(("first", "last"), [("managed", "url"), ("url", "managed")])
def test_the_backlog_is_long_until_the_last_of_two_runs_has_ended(
    first: str, last: str, tmp_path: Path, running: int, unchanged: None
) -> None:
    # What a killed run left raised is given back by the next one that ends.
    with long_backlog():
        pass
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
            await_measuring(process)
        one.kill()
        assert eventually(lambda: not processes(marks[0]), SOON)
        assert int(backlog() or 0) == LONG_ENOUGH
        other.send_signal(signal.SIGTERM)
        assert other.wait(timeout=HANGS) == 130
        assert eventually(lambda: int(backlog() or 0) == before, SOON), backlog()
        manifest = json.loads((tmp_path / marks[1] / "manifest.json").read_text())
        assert manifest["machine"]["settings"]["net.core.netdev_max_backlog"] == str(LONG_ENOUGH)


def is_ours(pid: int) -> bool:
    """Whether a process runs the command: it blocks SIGINT from its first line on, until its libraries are there."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    blocked = int(status["SigBlk"], 16) & 1 << (signal.SIGINT - 1)
    return bool(blocked) or "polars" in Path(f"/proc/{pid}/maps").read_text()


def test_an_interrupt_before_anything_began_is_no_traceback(tmp_path: Path) -> None:
    moments = random.Random(3)
    for _ in range(6):
        with wasp(tmp_path, f"{os.getpid()}-early", f"bench --mode sim {LONG} -o out") as process:
            # Until it runs anything of ours an interrupt is Python's own to tell of.
            assert eventually(partial(is_ours, process.pid), HANGS)
            time.sleep(moments.uniform(0.0, 0.8))
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=HANGS)
        assert "Traceback" not in said
        assert process.returncode in (-signal.SIGINT, 130), said
        subprocess.run(["rm", "-rf", str(tmp_path / "out")], check=True)
