"""CPU time of a server in a run, live or simulated."""

from __future__ import annotations

from waspbench.results.result import Result
from waspbench.results.summary import RunSummary


def busy_of(run: RunSummary) -> float | None:
    """Busy share of the server's CPUs in a run, without what other programs took of them."""
    cpu = run.server_cpu
    return None if cpu.busy is None else max(cpu.busy - (cpu.others or 0.0), 0.0)


def server_time(result: Result, run: RunSummary) -> float | None:
    """CPU seconds of the server in the measured interval of a run; None if they are not known.

    A server that WASP starts has CPUs of its own. Its time is that of these CPUs: the kernel's work is included, the
    time of other programs is not. A server that ran already shares its CPUs, and its time is that of its processes.
    """
    if ran_already(result):
        return run.server_cpu.processes_s
    part = busy_of(run)
    return None if part is None else part * cpus_of(result) * run.interval_s


def cpus_of(result: Result) -> int:
    """Number of CPUs that the server may use."""
    if result.mode == "sim":
        return int(result.scenario["server"]["model"]["cores"])
    return len(result.server.get("cpus") or [0])


def ran_already(result: Result) -> bool:
    """Whether a live result is of a server that ran before WASP began (kind url)."""
    return result.mode == "live" and result.server.get("kind") == "url"
