"""What machine a result was measured on."""

import os
import platform
import re
from pathlib import Path

_SETTINGS = (
    "net.core.netdev_max_backlog",
    "net.core.netdev_budget",
    "net.core.default_qdisc",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "kernel.timer_migration",
    "kernel.sched_rt_runtime_us",
    "fs.nr_open",
)


def describe() -> dict[str, object]:
    """Kernel, distribution, CPUs, memory (bytes), clock and host-wide settings; None where it does not tell."""
    uname = os.uname()
    cpuinfo = _text("/proc/cpuinfo") or ""
    return {
        "kernel": uname.release,
        "kernel_version": uname.version,
        "architecture": uname.machine,
        "distribution": _release(),
        "cpu": cpu_model(cpuinfo),
        "cpus": os.cpu_count(),
        "cpus_usable": sorted(os.sched_getaffinity(0)),
        "virtual": bool(re.search(r"^flags\s*:.*\bhypervisor\b", cpuinfo, re.MULTILINE)),
        "governor": _word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "smt": _word("/sys/devices/system/cpu/smt/control"),
        "clocksource": _word("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "memory_bytes": memory_bytes(_text("/proc/meminfo") or ""),
        "settings": {name: _setting(name) for name in _SETTINGS},
        "python": platform.python_version(),
    }


def cpu_model(cpuinfo: str) -> str | None:
    """The name of the CPU in /proc/cpuinfo, as far as the architecture shows one."""
    match = re.search(r"^(?:model name|Model|cpu model|cpu)\s*:\s*(\S.*)$", cpuinfo, re.MULTILINE)
    return match[1].strip() if match else None


def memory_bytes(meminfo: str) -> int | None:
    """MemTotal of /proc/meminfo in bytes."""
    match = re.search(r"^MemTotal:\s*(\d+) kB$", meminfo, re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def _release() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _setting(name: str) -> str | None:
    return _word("/proc/sys/" + name.replace(".", "/"))


def _word(path: str) -> str | None:
    text = _text(path)
    return None if text is None else " ".join(text.split())


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
