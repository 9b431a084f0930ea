"""The servers' own access logs: whom they show, and that they are kept however a run ends."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from waiting import SOON
from waspbench import live, load, run
from waspbench.experiment import parse
from waspbench.experiment.resolve import resolve
from waspbench.results import load_manifest
from waspbench.results.access_log import log_path
from waspbench.results.records import record_path, records_of
from waspbench.runner.executors import Here
from waspbench.runner.job import Done, Job, Making
from waspbench.runner.study import study

from .harness import WASP, needs

pytestmark = [pytest.mark.root, needs("nginx")]

CLIENTS = 6
NGINX = {"kind": "nginx", "access_log": True}


def document(server: Mapping[str, Any], **measure: Any) -> dict[str, Any]:
    """An experiment of short runs."""
    return {
        "name": "x",
        "mode": "live",
        "server": dict(server),
        "clients": [{"count": CLIENTS, "rtt": "10ms"}],
        "measure": {"warmup": "300ms", "duration": "700ms", "runs": 1, **measure},
    }


def logged(path: Path) -> Counter[int]:
    """How many requests of each client a log has, by the client's index."""
    lines = path.read_text().splitlines()
    assert all('] "GET /1024 HTTP/1.1" 200 1024 "-" "wasp/' in line for line in lines)
    return Counter(int(line.split(" ", 1)[0].removeprefix("198.18.0.")) - 2 for line in lines)


def test_without_a_named_directory_the_log_is_with_the_other_files() -> None:
    result = run(document(NGINX))
    assert result.directory is not None
    assert set(logged(log_path(result.directory, 0))) == set(range(CLIENTS))


@pytest.mark.parametrize(
    "server",
    [
        NGINX,
        pytest.param({"kind": "apache", "access_log": True}, marks=needs("apache2")),
        pytest.param({"kind": "apache", "mpm": "prefork", "access_log": True}, marks=needs("apache2")),
    ],
)
def test_the_log_of_each_run_is_kept_and_has_the_transactions_of_every_client(
    server: dict[str, Any], tmp_path: Path
) -> None:
    result = run(document(server, runs=2), output=tmp_path / "out")
    assert not any("access log" in note for summary in result.runs for note in summary.notes)
    assert "access_log" not in load_manifest(tmp_path / "out").tables
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert sorted(path.name for path in (tmp_path / "out" / "access_log").iterdir()) == ["run-0.log", "run-1.log"]
    for number in range(2):
        requests = logged(log_path(tmp_path / "out", number))
        assert set(requests) == set(range(CLIENTS))
        transactions = pl.read_parquet(tmp_path / "out" / "transactions" / f"run-{number}.parquet")
        for client, count in requests.items():
            own = transactions.filter(pl.col("client") == client)
            # The server logs a response when it has written it, which may be before the client has read it.
            assert 3 < own.filter(pl.col("outcome") == "ok").height <= count
            assert count <= own.filter(pl.col("sent_ns").is_not_null())["attempts"].sum()


def test_there_is_no_log_unless_it_is_asked_for(tmp_path: Path) -> None:
    swept = document({"kind": "nginx"}) | {"sweep": {"server.access_log": [False, True]}}
    study(swept, output=tmp_path / "out")
    without, with_log = (tmp_path / "out" / "points" / f"{point:04d}" for point in range(2))
    assert not (without / "access_log").exists()
    assert "access_log off;" in str(load_manifest(without).server)
    assert set(logged(log_path(with_log, 0))) == set(range(CLIENTS))
    run(document({"kind": "nginx"}), output=tmp_path / "bench")
    assert not (tmp_path / "bench" / "access_log").exists()


def test_an_interrupted_run_keeps_its_log(tmp_path: Path) -> None:
    arguments = "bench --mode live --server nginx --access-log --clients 6 --rtt 10ms --warmup 300ms --duration 60s"
    with subprocess.Popen([*WASP, *arguments.split(), "-o", "out"], cwd=tmp_path, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        while b"measuring" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(SOON) == 130
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    transactions = pl.read_parquet(tmp_path / "out" / "transactions" / "run-0.parquet")
    ok = transactions.filter(pl.col("outcome") == "ok").height
    assert 0 < ok <= logged(log_path(tmp_path / "out", 0)).total() <= transactions.height


def test_a_disk_with_little_room_costs_the_log_and_not_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=2000))
    result = run(document(NGINX), output=tmp_path / "out")
    assert not result.interrupted
    assert load(tmp_path / "out") == result
    kept = log_path(tmp_path / "out", 0)
    assert 0 <= 1000 - kept.stat().st_size < len(kept.read_text().splitlines(keepends=True)[0])
    [note] = [note for note in result.runs[0].notes if "access log" in note]
    assert note.endswith("bytes of the access log are kept: the disk has little room left")


def test_in_a_study_a_log_is_that_of_the_run_whose_figures_are_kept_or_else_of_one_that_has_none(
    tmp_path: Path,
) -> None:
    asked = parse(document(NGINX, duration="2s"))
    spec = live.spec(asked, live.choose_cpus(None, None))
    scenario = resolve(asked, 0, mode="live")

    def job(limit: float) -> Job:
        return Job(point=0, run=0, scenario=scenario, directory=str(tmp_path), time_limit=limit)

    def make(limit: float) -> Done:
        with Here() as executor:
            executor.submit(job(limit), spec)
            while not (done := executor.collect()):
                executor.advance(1.0)
        return done[0]

    log = log_path(tmp_path, 0)
    with Making(job(60), spec) as interrupted_run:
        while interrupted_run.step(1.0) is None:
            pass
    assert not record_path(tmp_path, 0).exists()
    interrupted = logged(log).total()
    assert interrupted > 0

    assert make(60).summary is not None
    assert len(records_of(tmp_path)) == 1
    whole = log.read_bytes()
    assert logged(log).total() > interrupted

    assert "given up after" in str(make(0.5).failure)
    assert log.read_bytes() == whole
