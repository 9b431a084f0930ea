"""Live runs work at all: the testbed, nginx, a run on disk, a kill. These tests are in the gate, beside all others.

However busy the machine is, their verdict is the same: they judge counts, contents, exit status and what is left behind
after 15 s, and no rate, no time and no validity.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from testbed.peer import Peer
from waiting import HANGS, SOON, eventually
from waspbench import _core, live, load
from waspbench.results.access_log import log_path
from waspbench.results.study import STUDY
from waspbench.results.whole_files import Room
from waspbench.testbed import Testbed, TestbedSpec, files, nginx

from .harness import needs
from .leaving import await_measuring, devices_of, inhabitants, namespaces, processes, remaining, wasp

pytestmark = [pytest.mark.root(gate=True), needs("nginx")]

CLIENTS = 4
BENCH = f"bench --mode live --server nginx --access-log --clients {CLIENTS} --rtt 20ms --warmup 500ms --runs 1 -o out"


@contextmanager
def command(directory: Path, name: str, arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A running command, and the mark of its processes among those of all tests that run at the same time."""
    mark = f"{os.getpid()}-smoke-{name}"
    with wasp(directory, mark, arguments) as process:
        try:
            yield mark, process
        finally:
            process.kill()


def test_nginx_answers_through_the_device() -> None:
    with Testbed(TestbedSpec(nginx("198.18.0.1", 80), files=[("/1024", 1024), ("/deep/er", 200_000)])) as bed:
        peer = Peer(bed.device_fds[0])
        for path, size in (("/1024", 1024), ("/deep/er", 200_000)):
            head, _, body = peer.fetch(80, path).partition(b"\r\n\r\n")
            assert b" 200 OK" in head.splitlines()[0]
            assert body == files.content(size)
        assert bed.server_failure() is None


def test_a_run_is_written_and_read_back(tmp_path: Path) -> None:
    with command(tmp_path, "written", f"{BENCH} --duration 3s --json") as (_, process):
        said, told = process.communicate(timeout=HANGS)
        assert process.returncode in (0, 5), told
    shown = json.loads(said)
    assert process.returncode == (0 if shown["valid"] else 5)
    # A machine with other work may make it invalid. An engine that is built for tests always does.
    unmeasured = _core.profile() != live.RELEASE
    assert any(reason["code"] == "profile" for reason in shown["invalid_reasons"]) is unmeasured

    out = tmp_path / "out"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert json.loads(load(out).to_json()) == shown | {"results": str(out)}
    transactions = pl.read_parquet(out / "transactions" / "run-0.parquet")
    done = transactions.filter(pl.col("outcome") == "ok")
    assert set(transactions["outcome"]) <= {"ok", "unfinished"}
    assert set(transactions["client"]) == set(range(CLIENTS))
    assert set(done["bytes"]) == {1024}
    logged = log_path(out, 0).read_text().splitlines()
    assert all('] "GET /1024 HTTP/1.1" 200 1024 "-" "wasp/' in line for line in logged)
    # nginx logs a response after it has written it: at the end the last one of each connection may be missing.
    assert done.height - CLIENTS <= len(logged) <= transactions.height


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_a_run_that_is_ended(ending: signal.Signals, tmp_path: Path) -> None:
    with command(tmp_path, ending.name, f"{BENCH} --duration 60s") as (mark, process):
        await_measuring(process)
        started = processes(mark)
        entered = namespaces(started) - namespaces({os.getpid()})
        assert entered
        assert devices_of(started)
        inside = inhabitants(entered)
        assert any("nginx" in Path(f"/proc/{pid}/cmdline").read_text() for pid, _ in inside)
        process.send_signal(ending)
        _, told = process.communicate(timeout=HANGS)
        assert process.returncode == (130 if ending == signal.SIGINT else -ending), told
    left = partial(remaining, mark, inside)
    assert eventually(lambda: not left(), SOON), left()
    if ending == signal.SIGKILL:
        assert {path.name for path in tmp_path.rglob("*")} == {"out", STUDY, Room.NAME}
    else:
        assert load(tmp_path / "out").interrupted
