"""How CPUs spent an interval, from /proc/stat (proc(5))."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

Ticks = Mapping[int, tuple[int, int, int]]
"""For each CPU since the machine started: ticks idle (waiting for disks included), stolen, and all."""


@dataclass(frozen=True)
class CpuTimes:
    """Parts of the time of some CPUs, from 0 to 1."""

    busy: float
    """1 - (idle + iowait)."""
    steal: float
    """What the hypervisor took; it is in `busy` too."""


def cpu_times() -> Ticks:
    """The ticks of every CPU now."""
    return parse(Path("/proc/stat").read_text(encoding="utf-8"))


def parse(stat: str) -> Ticks:
    """Parses /proc/stat."""
    ticks = {}
    for line in stat.splitlines():
        name, *fields = line.split()
        if name.startswith("cpu") and name != "cpu":
            # user nice system idle iowait irq softirq steal; guest times that follow are in user and nice already.
            times = [int(field) for field in fields[:8]]
            ticks[int(name[3:])] = (times[3] + times[4], times[7], sum(times))
    return ticks


def cpu_use(cpus: Iterable[int], before: Ticks, after: Ticks) -> CpuTimes:
    """How some CPUs together spent the time between two readings."""
    chosen = list(cpus)
    idle, steal, total = (sum(after[cpu][column] - before[cpu][column] for cpu in chosen) for column in range(3))
    return CpuTimes(1 - idle / total, steal / total) if total else CpuTimes(0.0, 0.0)


def share(value: float | None) -> str:
    """A part as a percentage; a dash where it is missing."""
    return "-" if value is None else f"{100 * value:.1f} %"


def figure(value: float | None, digits: int = 0) -> str:
    """A number; a dash where it is missing."""
    return "-" if value is None else f"{value:,.{digits}f}"


def product(*values: float | None) -> float | None:
    """Their product; None where one is missing."""
    known = [value for value in values if value is not None]
    return math.prod(known) if len(known) == len(values) else None
