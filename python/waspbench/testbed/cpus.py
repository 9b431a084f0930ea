"""Which CPUs the server has and which ones the emulator has."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from waspbench.testbed.errors import TestbedError
from waspbench.testbed.protocol import MAX_QUEUES

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


@dataclass(frozen=True)
class Placement:
    """CPUs of a live run, and what must be said about them beside every result."""

    server: tuple[int, ...]
    emulator: tuple[int, ...]
    labels: tuple[str, ...] = ()
    server_given: bool = field(default=False, compare=False)
    """Whether the server's were asked for, not chosen."""


def parse_list(text: str, field: str = "cpus") -> tuple[int, ...]:
    """Parses a list such as "0", "0-3" or "0,2-3" into CPU numbers, in order and once each.

    Raises:
        TestbedError: names the field and what is not a list.
    """
    numbers: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first or last > 8191:
            raise TestbedError.at(field, f"{text!r} is not a list of CPUs: '0', '0-1' or '0,2-3' would be valid")
        numbers.update(range(first, last + 1))
    return tuple(sorted(numbers))


def show_list(cpus: Iterable[int]) -> str:
    """Prints CPU numbers as `parse_list` reads them, runs joined."""
    parts: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if parts and parts[-1][1] == cpu - 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def mask(cpus: Iterable[int]) -> str:
    """The bit mask of CPUs as the kernel reads it: hexadecimal words of 32 bits, the highest first."""
    bits = sum(1 << cpu for cpu in set(cpus))
    words = [bits & 0xFFFF_FFFF]
    while bits := bits >> 32:
        words.insert(0, bits & 0xFFFF_FFFF)
    return ",".join(f"{word:08x}" for word in words)


def place(server: str | None, emulator: str | None, available: Iterable[int] | None = None) -> Placement:
    """Chooses CPUs: the first for the server and the second for the emulator unless asked otherwise.

    Args:
        server: a list, or None.
        emulator: a list, or None; the emulator has a thread for each of its CPUs.
        available: the CPUs that this process may use, found out if None.

    Raises:
        TestbedError: names the field whose list is wrong or whose CPU this process may not use.
    """
    usable = sorted(os.sched_getaffinity(0) if available is None else available)
    server_cpus = _chosen(server, "server_cpus", usable)
    emulator_cpus = _chosen(emulator, "emulator_cpus", usable)
    if len(emulator_cpus) > MAX_QUEUES:
        message = f"{emulator!r} names {len(emulator_cpus)} CPUs: {MAX_QUEUES} at most would be valid"
        raise TestbedError.at("emulator_cpus", message)
    if not server_cpus:
        server_cpus = tuple([cpu for cpu in usable if cpu not in emulator_cpus][:1] or usable[:1])
    if not emulator_cpus:
        emulator_cpus = tuple([cpu for cpu in usable if cpu not in server_cpus][:1] or server_cpus[:1])
    labels: tuple[str, ...] = ()
    if set(server_cpus) & set(emulator_cpus):
        labels = (f"server and emulator share CPU {show_list(set(server_cpus) & set(emulator_cpus))}",)
    return Placement(server_cpus, emulator_cpus, labels, server is not None)


def _chosen(text: str | None, field: str, usable: list[int]) -> tuple[int, ...]:
    if text is None:
        return ()
    cpus = parse_list(text, field)
    for cpu in cpus:
        if cpu not in usable:
            message = f"there is no CPU {cpu} for this process: {show_list(usable)} would be valid"
            raise TestbedError.at(field, message)
    return cpus
