"""A live run step by step, so that a test can look into the server's namespace before, during and after it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
import pytest

from waspbench import _core, live, session
from waspbench.experiment import Experiment, resolve
from waspbench.testbed import Launch, Testbed, process

T = TypeVar("T")

WASP = (sys.executable, "-m", "waspbench")
ATTEMPTS = 3
BUSY_ELSEWHERE = 0.15
"""Part of the machine's CPUs above which others are at work on it."""


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
    return session.check(
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
    def steal(self) -> float:
        """Part of the CPUs' time that the hypervisor took."""
        return self.summary["server_cpu"]["steal"] or 0.0


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
    done = subprocess.run(["nsenter", net, *argv], capture_output=True, text=True, check=False, timeout=20)
    assert done.returncode == 0, done
    return done.stdout


@contextmanager
def capture(bed: Testbed, path: Path) -> Iterator[None]:
    """Captures every packet at the server's side of the device, over which no super-segments go from now on."""
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
            yield
            time.sleep(0.2)  # for what is still on its way to tcpdump
        finally:
            dump.send_signal(signal.SIGINT)
            _, said = dump.communicate(timeout=10)
    assert "\n0 packets dropped by kernel" in f"\n{said}", said


def tshark(path: Path, filter_: str, *fields: str, options: Mapping[str, str] | None = None) -> list[tuple[str, ...]]:
    """The fields of every packet of a capture that the filter lets through."""
    argv = ["tshark", "-n", "-r", str(path), "-Y", filter_, "-T", "fields"]
    for field in fields:
        argv += ["-e", field]
    for name, value in (options or {}).items():
        argv += ["-o", f"{name}:{value}"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    return [tuple(line.split("\t")) for line in done.stdout.splitlines()]


def busy_elsewhere(seconds: float = 0.3) -> float:
    """Busy part of all CPUs (0 to 1) while this process sleeps: the work of others."""
    before = _cpu_times()
    time.sleep(seconds)
    total, idle = (after - before for after, before in zip(_cpu_times(), before, strict=True))
    return 1 - idle / total if total else 0.0


def _cpu_times() -> tuple[int, int]:
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(fields), fields[3] + fields[4]


BY_OTHERS = ("others", "run_delay", "steal")
"""Codes of the reasons against a run which say that others had the machine."""
KEPT_UP = "although the emulator kept up"
"""In a reason, that no load of the machine excuses it."""


def until_fit(attempt: Callable[[], T], unfit: Callable[[T], str | None]) -> T:
    """The first of at most three attempts of which `unfit` has nothing to say.

    Timing is only as good as the machine: where there is none, the test is skipped if others are at work on this
    machine's CPUs, and else fails.
    """
    reasons, loads = [], []
    for _ in range(ATTEMPTS):
        loads.append(busy_elsewhere())
        result = attempt()
        reason = unfit(result)
        if reason is None:
            return result
        reasons.append(reason)
    loads.append(busy_elsewhere())
    told = f"none of {ATTEMPTS} runs will do: {'; '.join(reasons)}"
    excused = max(loads) > BUSY_ELSEWHERE or any(reason.startswith(BY_OTHERS) for reason in reasons)
    if excused and not any(KEPT_UP in reason for reason in reasons):
        pytest.skip(f"{told}. Others use up to {max(loads):.0%} of this machine's CPUs")
    pytest.fail(told)


def fell_behind(most_us: float) -> Callable[[Run], str | None]:
    """A run is unfit when a packet left later than so many microseconds after it was due."""

    def unfit(run: Run) -> str | None:
        return f"a packet was {run.lag['max']:.0f} us late" if run.lag["max"] > most_us else None

    return unfit


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
