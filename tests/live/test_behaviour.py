"""What a live run does with its server, its network and its interruption."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import waspbench
from measuring import conclusive, disturbance, within
from waiting import HANGS, SOON, eventually, lives
from waspbench.experiment import Experiment
from waspbench.results.summary import RunSummary
from waspbench.testbed import process

from .harness import WASP, Run, bed_for, experiment, inside, measure, needs, server_below

root = pytest.mark.root
GAPS = ("TCPSackRecovery", "TCPFastRetrans")
"""Counters of the server's kernel that tell of gaps in what the clients received."""
SERVERS = ["builtin", pytest.param("nginx", marks=needs("nginx"))]

TIMING = {"lag", "unread", "warmup", "others", "run_delay", "steal", "emulator_busy", "censored", "windows"}
"""Reasons against a run that a busy machine or a short interval may have; any other speaks against the program."""
CPUS = sorted(os.sched_getaffinity(0))
two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")


def lossy(requests: int | None, **more: Any) -> dict[str, Any]:
    """Sixteen clients at 40 ms with 3 % bursty loss each way."""
    http = {"requests_per_connection": requests}
    return {"count": 16, "rtt": "40ms", "loss": {"model": "two-state", "rate": "3%"}, "http": http} | more


def assert_conserved(run: Run) -> None:
    """Packets made are those with a fate and those in flight, and the tables say the same as the summary."""
    summary, fates = run.summary, run.summary["fates"]
    assert summary["packets"]["made"] == sum(fates.values()) + summary["packets"]["in_flight"]
    assert fates["delivered"] > 0.9 * summary["packets"]["made"]
    strange = {name: count for name, count in fates.items() if count and name not in ("delivered", "random loss")}
    assert strange == {}
    connections, links = run.tables["connections"], run.tables["links"]
    access = links.filter(pl.col("link") != "shared")
    for way in ("up", "down"):
        packets, strays, lost = (
            access.filter(pl.col("direction") == way).select("packets", "strays", "lost").sum().row(0)
        )
        assert strays == 0
        assert (packets, lost) == (connections[f"{way}_packets"].sum(), connections[f"{way}_lost"].sum())
    assert links["lost"].sum() == fates["random loss"]


def run_with(asked: Experiment, least: int, outcome: str = "ok") -> Run:
    """A run in which at least so many transactions have an outcome."""

    def attempt() -> Run:
        with bed_for(asked) as bed:
            return measure(bed, asked)

    def few(run: Run) -> str | None:
        count = run.summary["outcomes"][outcome]
        return None if count >= least else f"{count} {outcome}"

    return conclusive(attempt, few, lambda run: run.disturbed)


@root
@pytest.mark.parametrize("server", SERVERS)
def test_packets_that_come_when_their_connection_is_forgotten_are_in_its_account(server: str) -> None:
    """Clients give up while responses are on their way, and reset what still comes."""
    clients = lossy(None, http={"timeout": "150ms"})
    asked = experiment(server=server, clients=clients, size="200KiB", duration="4s")
    assert_conserved(run_with(asked, 50, "timed_out"))


@root
@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("requests", [None, 1], ids=["keep-alive", "one request a connection"])
def test_every_response_arrives_through_loss(server: str, requests: int | None) -> None:
    run = run_with(experiment(server=server, clients=lossy(requests), size="10KiB", duration="4s"), 200)
    outcomes = {name: count for name, count in run.summary["outcomes"].items() if count}
    assert set(outcomes) <= {"ok", "unfinished"}
    assert {reason["code"] for reason in run.summary["invalid"]} <= TIMING
    complete = run.tables["transactions"].filter(pl.col("outcome") == "ok")
    assert complete.select(pl.col("status", "bytes").unique()).rows() == [(200, 10_240)]
    for direction in ("up", "down"):
        network = run.summary["network"][direction]
        distance = abs(network["loss_rate"] - network["expected_loss_rate"])
        assert network["lost"] > 0
        assert distance <= 5 * network["expected_standard_error"]
    assert_conserved(run)


@root
@pytest.mark.parametrize("server", [*SERVERS, pytest.param("apache", marks=needs("apache2"))])
def test_a_post_is_answered_by_the_file_when_its_body_has_come(server: str) -> None:
    clients = {"count": 4, "rtt": "20ms", "bandwidth": {"up": "2Mbit/s"}, "http": {"method": "POST", "body": "50KiB"}}
    run = run_with(experiment(server=server, clients=clients, size="10KiB", duration="2s"), 10)
    assert {name for name, count in run.summary["outcomes"].items() if count} <= {"ok", "unfinished"}
    rows = run.tables["transactions"].filter(pl.col("outcome") == "ok")
    assert rows.select(pl.col("status", "bytes").unique()).rows() == [(200, 10_240)]
    # 50 KiB take 205 ms at 2 Mbit/s.
    assert rows.select((pl.col("end_ns") - pl.col("sent_ns")).min()).item() > 205e6


@root
def test_the_path_may_have_no_delay() -> None:
    asked = experiment(server="builtin", clients={"count": 16, "rtt": "0ms"}, warmup="200ms", duration="1s")

    def attempt() -> Run:
        with bed_for(asked) as bed:
            run = measure(bed, asked)
        assert {name for name, count in run.summary["outcomes"].items() if count} <= {"ok", "unfinished"}
        assert_conserved(run)
        return run

    def slow(run: Run) -> str | None:
        rate, p50 = run.summary["throughput"], run.summary["response_time_ms"]["p50"]
        return None if rate > 1_000 and p50 < 10 else f"{rate:.0f} responses a second, p50 {p50:.2f} ms"

    conclusive(attempt, slow, lambda run: run.disturbed)


@root
@needs("nginx", "ss", "nsenter")
def test_congestion_control_and_settings_are_in_effect_on_the_server() -> None:
    server = {"kind": "nginx", "congestion": "reno", "sysctl": {"net.ipv4.tcp_sack": 0}}
    asked = experiment(server=server, clients=lossy(None), size="100KiB")
    said: list[str] = []
    with bed_for(asked) as bed:
        assert inside(bed, "cat", "/proc/sys/net/ipv4/tcp_sack") == "0\n"
        run = measure(bed, asked, during=lambda: said.append(inside(bed, "ss", "-tineH", "state", "established")))
    connections = [line.split() for line in said[0].splitlines() if line.startswith(("\t", " "))]
    assert len(connections) >= 8
    for words in connections:
        assert "reno" in words
        assert "sack" not in words  # refused by the server, so nobody uses it
        assert "ts" in words
    assert Path("/proc/sys/net/ipv4/tcp_sack").read_text() == "1\n", "the machine's own setting is as it was"
    assert_conserved(run)


class Command:
    """A `wasp bench` in a process group of its own, as at a terminal."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self.output = directory / "result"
        self.progress = directory / "progress"
        common = ["bench", "--mode", "live", "--clients", "8", "--rtt", "20ms", "--json", "-o", str(self.output)]
        with self.progress.open("wb") as progress:
            self.process = subprocess.Popen(
                [*WASP, *common, *arguments], stdout=subprocess.PIPE, stderr=progress, start_new_session=True
            )

    def said(self) -> str:
        """Standard error so far."""
        return self.progress.read_text()

    def await_progress(self, pattern: str) -> None:
        """Waits until standard error has a line like this, or the command has ended, which fails the test."""

        def seen() -> bool:
            return re.search(pattern, self.said()) is not None

        assert eventually(lambda: seen() or self.process.poll() is not None), self.said()
        assert seen(), self.said()

    def below(self) -> list[int]:
        """Every process below it."""
        return process.descendants(self.process.pid, process.parents())

    def end(self) -> tuple[int, str]:
        """Exit status and standard output."""
        out, _ = self.process.communicate(timeout=HANGS)
        return self.process.returncode, out.decode()


@contextmanager
def command(directory: Path, *arguments: str) -> Iterator[Command]:
    """Starts the command; whatever happens, it and all below it is gone afterwards, and no device is left."""
    devices = sorted(os.listdir("/sys/class/net"))
    running = Command(directory, *arguments)
    pids: list[int] = []
    try:
        yield running
    finally:
        pids = running.below()
        if running.process.poll() is None:
            os.killpg(running.process.pid, signal.SIGKILL)
        running.process.communicate()
    assert eventually(lambda: not any(map(lives, pids)), SOON)
    assert eventually(lambda: sorted(os.listdir("/sys/class/net")) == devices, SOON)


@root
@pytest.mark.parametrize(
    ("moment", "measured"),
    [(r"run 2/3 .* measuring", 2), (r"run 1/3 .* measuring", 1)],
    ids=["in the second run", "in the first run"],
)
def test_ctrl_c_keeps_what_was_measured_and_leaves_nothing_behind(tmp_path: Path, moment: str, measured: int) -> None:
    numbers = count()

    def interrupt() -> float:
        directory = tmp_path / str(next(numbers))
        directory.mkdir()
        with command(directory, "--warmup", "500ms", "--duration", "5s", "--runs", "3") as running:
            running.await_progress(moment)
            pids = running.below()
            assert len(pids) >= 3  # guard, process 1 of the namespace, server
            began = time.monotonic()
            os.killpg(running.process.pid, signal.SIGINT)
            status, out = running.end()
            took = time.monotonic() - began
        assert status == 130
        assert eventually(lambda: not any(map(lives, pids)), SOON)
        result = json.loads(out)
        assert result["interrupted"] is True
        assert result["valid"] is False
        assert [run["run"] for run in result["runs"]] == list(range(measured))
        assert {"interrupted", "stopped"} <= {reason["code"] for reason in result["invalid_reasons"]}
        # Neither is the last run whole, nor was another begun.
        assert 0 < result["runs"][-1]["interval_s"] < 5
        assert result["outcomes"]["ok"] > 0
        assert json.loads((running.output / "manifest.json").read_text())["interrupted"] is True
        rows = pl.read_parquet(running.output / "transactions" / "*.parquet")
        assert rows.filter(pl.col("outcome") == "ok").height >= result["outcomes"]["ok"]
        return took

    within(5.0, interrupt)


@root
def test_ctrl_c_in_the_warm_up_leaves_nothing_at_all(tmp_path: Path) -> None:
    with command(tmp_path, "--warmup", "30s", "--duration", "1s", "--runs", "1") as running:
        assert eventually(lambda: len(running.below()) >= 3)  # guard, process 1 of the namespace, server
        time.sleep(1.0)  # the clients begin; a log says nothing before they are measured
        pids = running.below()
        os.killpg(running.process.pid, signal.SIGINT)
        status, out = running.end()
    assert (status, out) == (130, "")
    assert eventually(lambda: not any(map(lives, pids)), SOON)
    assert not running.output.exists()
    assert "Traceback" not in running.said()


@root
@pytest.mark.parametrize("server", SERVERS)
def test_a_server_that_dies_in_mid_run_is_reported(tmp_path: Path, server: str) -> None:
    with command(tmp_path, "--server", server, "--warmup", "500ms", "--duration", "30s", "--runs", "1") as running:
        running.await_progress(r"run 1/1 .* measuring")
        victim = server_below(running.process.pid)
        assert victim is not None
        os.kill(victim, signal.SIGKILL)
        status, out = running.end()
    assert (status, out) == (4, "")
    complaint = running.said().splitlines()[-1]
    assert complaint.startswith("wasp: ")
    assert "the server ended during the run: the server was killed by SIGKILL" in complaint
    assert json.loads((running.output / "manifest.json").read_text())["valid"] is False


@root
def test_the_manifest_describes_machine_and_server(tmp_path: Path) -> None:
    with command(tmp_path, "--warmup", "100ms", "--duration", "1s", "--runs", "1") as running:
        status, _ = running.end()
    manifest = json.loads((running.output / "manifest.json").read_text())
    assert status == (0 if manifest["valid"] else 5)
    assert manifest["mode"] == "live"
    assert manifest["settings"]["used"] == ["kind", "congestion", "sysctl", "ready_timeout"]
    assert manifest["server"]["kind"] == manifest["server"]["name"] == "builtin"
    assert manifest["testbed"]["network"]["congestion"] == "cubic"
    assert manifest["machine"]["kernel"] == os.uname().release
    summary = manifest["runs"][0]
    assert summary["device"]["tx_dropped"] == 0
    assert summary["tcpext"]["ListenDrops"] == 0
    assert summary["emulator"]["lag_us"]["p99"] > 0
    assert summary["emulator"]["unread_us"]["p99"] > 0


@root
@two_cpus
@needs("nginx")
def test_two_threads_share_the_clients(tmp_path: Path) -> None:
    asked = experiment(clients={"count": 40, "rtt": "20ms", "loss": "1%", "http": {"requests_per_connection": 8}})
    server, emulator = str(CPUS[0]), f"{CPUS[0]},{CPUS[1]}"
    result = waspbench.run(asked, mode="live", server_cpus=server, emulator_cpus=emulator, output=tmp_path / "out")
    (summary,) = result.runs
    assert summary.emulator is not None
    assert summary.emulator.threads == 2
    assert {name for name, count in summary.outcomes.items() if count} <= {"ok", "unfinished"}
    assert summary.device is not None
    assert summary.device["tx_dropped"] == 0
    rows = pl.read_parquet(tmp_path / "out/transactions/run-0.parquet")
    assert set(rows["client"]) == set(range(40))
    measured = rows.filter(pl.col("measured") & (pl.col("outcome") == "ok"))
    assert measured.height == summary.outcomes["ok"]


@root
@two_cpus
@needs("nginx")
def test_threads_do_not_reorder_the_packets_of_a_connection() -> None:
    """Nothing is lost, so that the server sees a gap only where packets overtook each other."""
    clients = {"count": 200, "rtt": "20ms", "http": {"requests_per_connection": 1}}
    asked = experiment(clients=clients, size="200KB", duration="10s")
    server, emulator = str(CPUS[0]), f"{CPUS[0]},{CPUS[1]}"

    def attempt() -> RunSummary:
        (summary,) = waspbench.run(asked, mode="live", server_cpus=server, emulator_cpus=emulator).runs
        assert summary.tcpext is not None
        assert summary.device is not None
        # Where the emulator did not empty the device in time, something was lost after all.
        assert summary.device["tx_dropped"] or not any(summary.tcpext[name] for name in GAPS), summary.tcpext
        return summary

    def wrong(summary: RunSummary) -> str | None:
        dropped, ok = (summary.device or {})["tx_dropped"], summary.outcomes["ok"]
        return f"the device dropped {dropped} packets; {ok} responses" if dropped or ok <= 200 else None

    conclusive(attempt, wrong, lambda summary: disturbance(summary.invalid))


@root
@needs("nginx", "ip")
def test_a_device_that_disappears_ends_the_run_and_what_was_measured_is_kept(tmp_path: Path) -> None:
    asked = experiment(clients={"count": 4, "rtt": "10ms"}, duration="30s")
    with waspbench.start(asked, mode="live", output=tmp_path / "out") as handle:
        while (progress := handle.next_sample()) is None or progress.elapsed < 1.5:
            pass
        first = server_below(os.getpid())
        delete = ["nsenter", f"--net=/proc/{first}/ns/net", "ip", "link", "delete", "wasp0"]
        subprocess.run(delete, check=True)
        while server_below(os.getpid()) == first:
            handle.next_sample()
        handle.stop()  # there is no second attempt, whose figures would take the place of these
        result = handle.wait()
    assert "the packet device failed: " in result.invalid_reasons[-1].message
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert [reason["code"] for reason in manifest["invalid_reasons"]][:2] == ["failed", "stopped"]
    assert 0.5 < manifest["runs"][0]["interval_s"] < 25
    assert pl.read_parquet(tmp_path / "out/transactions/run-0.parquet").height > 0
