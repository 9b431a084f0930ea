"""What live runs leave behind: processes, by a mark in their environment, and the namespaces and devices of these."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from .harness import WASP

MARK = "WASP_TEST_LEFTOVERS"


def processes(mark: str) -> set[int]:
    """The processes with this mark in their environment, dead ones that wait for their parent left out."""
    found = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if f"{MARK}={mark}".encode() in Path(f"/proc/{entry}/environ").read_bytes().split(b"\0"):
                    found.add(int(entry))
            except OSError:
                continue
    return found


def namespaces(pids: set[int]) -> set[str]:
    """The namespaces of some processes, dead ones that wait for their parent left out: they still show that of their
    numbers, and no other.
    """
    found = set()
    for pid in pids:
        try:
            found |= {os.readlink(f"/proc/{pid}/ns/{kind}") for kind in ("net", "mnt", "pid", "ipc", "user")}
        except OSError:
            continue
    return found


def started_at(pid: int) -> str | None:
    """When a process started, which tells it from a later one with its number; None if it is dead."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if words[0] == "Z" else words[19]


def inhabitants(entered: set[str]) -> set[tuple[int, str]]:
    """The processes in some namespaces, each with the time of its start: numbers of processes and of namespaces are
    given again. This finds also a server that has written over its environment.
    """
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    found = {(pid, started_at(pid)) for pid in pids if namespaces({pid}) & entered}
    return {(pid, started) for pid, started in found if started is not None}


def remaining(mark: str, inside: set[tuple[int, str]]) -> set[int]:
    """The processes that are left of a run: those with its mark, and those that were in its namespaces."""
    return processes(mark) | {pid for pid, started in inside if started_at(pid) == started}


def everywhere() -> set[str]:
    """The namespaces of every process."""
    return namespaces({int(entry) for entry in os.listdir("/proc") if entry.isdigit()})


def indices(names: set[str]) -> set[str]:
    """The devices with these names in this network namespace, by their numbers, which are given once only."""
    found = set()
    for name in names:
        try:
            found.add(Path(f"/sys/class/net/{name}/ifindex").read_text().strip())
        except OSError:
            continue
    return found


def all_devices() -> set[str]:
    """The numbers of every device in this network namespace."""
    return indices(set(os.listdir("/sys/class/net")))


def devices_of(pids: set[int]) -> set[str]:
    """The TUN devices that some processes hold open: fdinfo names them."""
    found = set()
    for pid in pids:
        for info in Path(f"/proc/{pid}/fdinfo").glob("*"):
            try:
                lines = info.read_text().splitlines()
            except OSError:
                continue
            found |= {line.split()[1] for line in lines if line.startswith("iff:")}
    return found


def wasp(directory: Path, mark: str, arguments: str) -> subprocess.Popen[str]:
    """Starts the command in a directory, with a mark for all processes that come from it."""
    return subprocess.Popen(
        [*WASP, *arguments.split()],
        cwd=directory,
        env=os.environ | {MARK: mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_signals,
    )


def hear_signals() -> None:
    """Undoes what nohup, or a shell in the background, has its children ignore."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def await_measuring(process: subprocess.Popen[str]) -> None:
    """Waits until a run says that it measures."""
    assert process.stderr is not None
    while "measuring" not in (line := process.stderr.readline()):
        assert line, "it ended before it measured"


def leftovers(mark: str, entered: set[str], devices: set[str]) -> dict[str, set[Any]]:
    """What is there of a run that was killed."""
    return {
        "processes": processes(mark),
        "namespaces": entered & everywhere(),
        "devices": devices & all_devices(),
    }
