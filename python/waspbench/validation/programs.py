"""One run of a point of the comparison of clients: emulated ones, or programs that use the kernel's TCP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from waspbench import fetch, live, serve
from waspbench.errors import RunFailedError
from waspbench.experiment import Experiment, parse
from waspbench.experiment.delay import Delay, ExponentialDelay
from waspbench.experiment.resolve import resolve
from waspbench.experiment.units import seconds
from waspbench.live import choose_cpus, managed, running
from waspbench.results import RunSummary
from waspbench.runner.batch import measure
from waspbench.runner.one_run import OneRun
from waspbench.runner.pipeline import temporary_directory
from waspbench.testbed import Placement, ProgramSpec, TestbedSpec, linux
from waspbench.testbed.affinity import NICENESS

BEFORE_OTHERS = -10
"""Niceness of the clients where they may have it. A real-time emulator goes before them all the same; what else runs on
the machine does not."""
GRACE = 5.0
"""Seconds that a program has to end after the run."""


@dataclass(frozen=True)
class Seen:
    """What one run showed. Times are in milliseconds."""

    responses: int
    """Whole responses with status 200 in the measured interval."""
    failed: int
    """Requests that ended otherwise in it."""
    rate: float
    """Responses a second."""
    mean: float
    p90: float
    packets: float
    """Packets that the server received, a response."""
    cpu_us: float
    """CPU time of the server's CPUs, a response."""
    busy: float
    """Busy part of the server's CPUs."""
    steal: float
    """Part of all CPUs' time that the hypervisor took."""
    lag_us: float
    """99th percentile of the emulator's lag."""
    emulator: float
    """Busy part of the emulator's CPU."""
    against: tuple[str, ...]
    """Why the run must not be trusted."""


def emulated(document: dict[str, Any], run: int) -> Seen:
    """Run number ``run`` with emulated clients."""
    with temporary_directory() as directory:
        try:
            summary = measure(_seeded(document, run), Path(directory) / "run")
        except RunFailedError as error:  # nothing is kept
            raise RunFailedError(error.message, field=error.field) from None
    times = summary.response_time_ms
    ok = summary.outcomes.get("ok", 0)
    failed = sum(count for name, count in summary.outcomes.items() if name not in ("ok", "unfinished"))
    return _seen(summary, choose_cpus(None, None), ok, failed, (times.mean, times.p90))


def programs(document: dict[str, Any], run: int) -> Seen:
    """The same of programs: a closed loop for each client, at the same addresses, with the kernel's TCP. No experiment
    asks for programs yet, so this is no run of the pipeline.
    """
    experiment = parse(_seeded(document, run))
    spec = _testbed(experiment, programs=experiment.clients[0].count)
    scenario = resolve(experiment, 0, mode="live") | {"mode": "shim"}
    warmup, duration = (round(seconds(scenario["measure"][name]) * 1e9) for name in ("warmup", "duration"))
    with running(), OneRun(scenario, spec) as one:
        begin = one.began_ns + warmup
        program = one.start_program(_fetcher(experiment, spec, one.began_ns, warmup, duration))
        while not one.done:
            one.next_sample(1.0)
        ended = one.await_program(program, GRACE)
        output, said, status = program.output(), program.errors(), program.status
        summary, _ = one.finish()
    if not ended or status != 0:
        raise RunFailedError(f"the program of the clients ended with status {status}: {said or 'it said nothing'}")
    rows = np.frombuffer(output, dtype=list(fetch.ROW))
    rows = rows[(rows["end"] >= begin) & (rows["end"] < begin + duration)]
    whole = rows[rows["status"] == 200]
    times = (whole["end"] - whole["start"]) / 1e6
    figures = (float(times.mean()), float(np.quantile(times, 0.9))) if len(times) else (None, None)
    return _seen(summary, spec.placement, len(whole), len(rows) - len(whole), figures)


def _seeded(document: dict[str, Any], run: int) -> dict[str, Any]:
    return document | {"seed": run + 1}


def _testbed(experiment: Experiment, programs: int = 0) -> TestbedSpec:
    with live.usage():
        placement = choose_cpus(None, None)
        return managed(experiment, placement, programs)


def _fetcher(experiment: Experiment, spec: TestbedSpec, began: int, warmup: int, duration: int) -> ProgramSpec:
    """The program that does what the experiment's one group of clients does."""
    (group,) = experiment.clients
    order = fetch.Order(
        address=spec.address,
        port=spec.port,
        path=spec.files[0][0],
        first_source=spec.first_client,
        sources=group.count,
        lanes=group.count * group.http.connections,
        requests_per_connection=group.http.requests_per_connection,
        pause=_mean(group.think),
        begin=began,
        spread=warmup // 2,
        end=began + warmup + duration,
    )
    # Connections that the server has not closed yet have descriptors as well.
    descriptors = 64 + 8 * order.lanes
    niceness = BEFORE_OTHERS if linux.has_capability(linux.CAP_SYS_NICE) else NICENESS
    return ProgramSpec(order.argv(), spec.placement.emulator, serve.environment(), descriptors, niceness)


def _mean(think: Delay | None) -> int:
    """The mean of pauses in nanoseconds; the program knows exponential ones."""
    if think is None:
        return 0
    assert isinstance(think, ExponentialDelay)
    return round(seconds(think.mean) * 1e9)


def _seen(summary: RunSummary, placement: Placement, ok: int, failed: int, times: Sequence[float | None]) -> Seen:
    mean, p90 = (float("nan") if time is None else time for time in times)
    cpu, emulator, received = summary.server_cpu, summary.emulator, (summary.device or {}).get("rx_packets")
    busy = float("nan") if cpu.busy is None else cpu.busy
    used = busy * summary.interval_s * len(placement.server)
    assert emulator is not None
    return Seen(
        responses=ok,
        failed=failed,
        rate=ok / summary.interval_s,
        mean=mean,
        p90=p90,
        packets=float("nan") if received is None or not ok else received / ok,
        cpu_us=used / ok * 1e6 if ok else float("nan"),
        busy=busy,
        steal=cpu.steal or 0.0,
        lag_us=emulator.lag_us.p99 or 0.0,
        emulator=emulator.cpu or 0.0,
        against=tuple(reason.code for reason in summary.invalid),
    )
