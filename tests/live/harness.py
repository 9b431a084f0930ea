"""A live run step by step, so that a test can look into the server's namespace before, during and after it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from measuring import disturbance
from waiting import HANGS
from waspbench import _core, live
from waspbench.experiment import Experiment, parse
from waspbench.experiment.resolve import resolve
from waspbench.testbed import Launch, Testbed, process

WASP = (sys.executable, "-m", "waspbench")


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skips where a program is not installed."""
    path = os.environ.get("PATH", os.defpath) + ":/usr/local/sbin:/usr/sbin:/sbin"
    missing = [program for program in programs if shutil.which(program, path=path) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def experiment(
    *,
    server: str | Mapping[str, Any] = "nginx",
    clients: Mapping[str, Any],
    size: str = "1KiB",
    warmup: str = "500ms",
    duration: str = "2s",
    seed: int = 1,
) -> Experiment:
    """One run of one group of clients."""
    return parse(
        {
            "name": "live-test",
            "seed": seed,
            "server": {"kind": server} if isinstance(server, str) else dict(server),
            "workload": {"kind": "single", "size": size},
            "clients": [dict(clients)],
            "measure": {"warmup": warmup, "duration": duration, "runs": 1},
        }
    )


@dataclass(frozen=True)
class Run:
    """What one run left behind."""

    summary: dict[str, Any]
    tables: dict[str, pl.DataFrame]
    elapsed: float
    """Length in seconds, warm-up included."""

    @property
    def lag(self) -> dict[str, float]:
        """Lateness of packets in microseconds: p50, p99, max."""
        lag: dict[str, float] = self.summary["emulator"]["lag_us"]
        return lag

    @property
    def disturbed(self) -> str | None:
        """What others took of the time that the run needed."""
        return disturbance(self.summary["invalid"])


@contextmanager
def bed_for(asked: Experiment, server: Launch | None = None) -> Iterator[Testbed]:
    """The testbed of an experiment; `server` takes the place of the experiment's own."""
    spec = live.managed(asked, live.choose_cpus(None, None))
    with Testbed(spec if server is None else replace(spec, server=server)) as bed:
        yield bed


def measure(bed: Testbed, asked: Experiment, during: Callable[[], None] | None = None, *, offload: bool = True) -> Run:
    """Runs the experiment beside a testbed; `during` is called once, when measuring has begun."""
    placement = live.choose_cpus(None, None)
    engine = _core.start(
        json.dumps(resolve(asked, 0, mode="live")),
        device=bed.device_fds,
        device_name=bed.device_name,
        namespace=bed.namespace(),
        emulator_cpus=list(placement.emulator),
        server_cpus=list(placement.server),
        server_pids=bed.server_pids(),
        offload=offload,
    )
    while not engine.done():
        sample = engine.next_sample(0.2)
        if during is not None and sample is not None and sample["measuring"]:
            during()
            during = None
    assert during is None, "the run ended before it was measuring"
    outcome = engine.wait()
    tables = {name: pl.DataFrame(table) for name, table in outcome.tables().items()}
    elapsed = sum(_core.parse_duration(text) for text in (asked.measure.warmup, asked.measure.duration)) / 1e9
    return Run(json.loads(outcome.summary()), tables, elapsed)


def logged(bed: Testbed) -> list[str]:
    """The lines that the server has in its access log, to be asked for once."""
    log = bed.access_log()
    assert log is not None
    with log:
        return log.read().decode().splitlines()


def inside(bed: Testbed, *argv: str) -> str:
    """Runs a program in the network namespace of a testbed's server and returns what it prints."""
    net = f"--net=/proc/{bed.server_pids()[0]}/ns/net"
    done = subprocess.run(["nsenter", net, *argv], capture_output=True, text=True, check=False, timeout=HANGS)
    assert done.returncode == 0, done
    return done.stdout


@dataclass
class Capture:
    """What tcpdump says of itself at its end."""

    missed: int = 0
    """Packets for which it had no time."""


@contextmanager
def capture(bed: Testbed, path: Path) -> Iterator[Capture]:
    """Captures every packet at the server's side of the device, over which no super-segments go from now on."""
    captured = Capture()
    inside(bed, "ethtool", "-K", "wasp0", "tx", "off", "tso", "off", "gso", "off", "gro", "off")
    net = f"--net=/proc/{bed.server_pids()[0]}/ns/net"
    argv = [
        "nsenter",
        net,
        "tcpdump",
        "-n",
        "-i",
        "wasp0",
        "--immediate-mode",
        "-B",
        "65536",
        "-w",
        str(path),
        "-Z",
        "root",
    ]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as dump:
        assert dump.stderr is not None
        first = dump.stderr.readline()
        assert "listening on" in first, first
        try:
            yield captured
            time.sleep(0.2)  # for what is still on its way to tcpdump
        finally:
            dump.send_signal(signal.SIGINT)
            _, said = dump.communicate(timeout=HANGS)
    missed = re.search(r"^(\d+) packets? dropped by kernel$", said, re.MULTILINE)
    assert missed is not None, said
    captured.missed = int(missed[1])


def tshark(path: Path, filter_: str, *fields: str, options: Mapping[str, str] | None = None) -> list[tuple[str, ...]]:
    """The fields of every packet of a capture that the filter lets through."""
    argv = ["tshark", "-n", "-r", str(path), "-Y", filter_, "-T", "fields"]
    for field in fields:
        argv += ["-e", field]
    for name, value in (options or {}).items():
        argv += ["-o", f"{name}:{value}"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=HANGS)
    return [tuple(line.split("\t")) for line in done.stdout.splitlines()]


def unfit(run: Run, captured: Capture, most_us: float) -> str | None:
    """What is wrong with a run of which tcpdump missed packets, or in which one left later than so many microseconds
    after it was due.
    """
    if captured.missed:
        return f"tcpdump missed {captured.missed} packets"
    return f"a packet was {run.lag['max']:.0f} us late" if run.lag["max"] > most_us else None


def server_below(command: int) -> int | None:
    """The server that a running `wasp` has started: the process below it in another network namespace."""
    here = os.readlink("/proc/self/ns/net")
    for pid in process.descendants(command, process.parents()):
        try:
            elsewhere = os.readlink(f"/proc/{pid}/ns/net") != here
            holder = b"waspbench.testbed.holder" in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if elsewhere and not holder:
            return pid
    return None
