"""Tests that measure have three outcomes: passed, failed, and inconclusive.

A test that judges real time makes an attempt, and `conclusive` owns the rule of what follows from it. Where nothing is
wrong the test has passed. Where something is, only evidence from outside excuses the attempt: time that the hypervisor
or other programs took. Lateness alone is no excuse, since a slower emulator has it, too. Tests in Rust have the same
rule in ``crates/io/tests/common/measuring.rs``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import pytest

from waiting import SOON, eventually
from waspbench.results import Reason
from waspbench.results.summary import Invalid
from waspbench.runner.job import DISTURBANCES
from waspbench.testbed import process

T = TypeVar("T")

REPEATS = 3
"""How often a test makes another attempt in place of one that says nothing."""
STEAL = 0.02
"""Part of the CPUs' time that the hypervisor may take, as in the validity of a run."""
OTHERS = 0.03
"""Part of the CPUs' time that other programs may take, as in the validity of a run."""
LEAST = 1.0
"""Seconds of an attempt of which the kernel's ticks of 10 ms can tell what others took."""

_KERNEL_THREAD = 0x0020_0000  # PF_KTHREAD of linux/sched.h
_TICKS = os.sysconf("SC_CLK_TCK")

unstable: list[str] = []
"""What was wrong in an attempt of the test that runs now, when two others of its attempts had nothing wrong."""


class InconclusiveError(Exception):
    """The machine had no time for the test, which has neither passed nor failed."""


def conclusive(
    attempt: Callable[[], T], wrong: Callable[[T], str | None], excuse: Callable[[T], str | None] = lambda _: None
) -> T:
    """Makes attempts until it is clear whether something is ``wrong`` with what they are to show, and returns the last.

    An attempt without anything wrong is enough. One with something wrong says nothing where others had the machine
    meanwhile, or where it has an ``excuse`` of its own, as runs have. Another attempt is made in its place, three times
    at most, and then the test is inconclusive. Two attempts that nothing disturbed fail the test. After one such and
    one good attempt a third decides, and the test is listed as unstable.

    What no machine may change is asserted in ``attempt``, and fails at once.
    """
    said_nothing: list[str] = []
    failed: list[str] = []
    good = 0
    why = None
    while len(said_nothing) <= REPEATS:
        watch = Watch()
        result = attempt()
        found = wrong(result)
        if found is None:
            good += 1
            if not failed:
                return result
            if good == 2:
                unstable.extend(failed)
                return result
        elif disturbed := excuse(result) or watch.excuse():
            said_nothing.append(found)
            why = disturbed
        else:
            failed.append(found)
            if len(failed) == 2:
                pytest.fail(f"in two attempts that nothing disturbed: {'; '.join(failed)}")
    raise InconclusiveError(f"{'; '.join(failed + said_nothing)}: {why}")


def disturbance(reasons: Iterable[Reason | Invalid | Mapping[str, str] | str]) -> str | None:
    """What took time from a run, of the ``reasons`` against it: those of a result, of its JSON, or codes alone."""
    told = []
    for reason in reasons:
        if isinstance(reason, str):
            code = message = reason
        elif isinstance(reason, Mapping):
            code, message = reason["code"], reason["message"]
        else:
            code, message = reason.code, reason.message
        if code in DISTURBANCES:
            told.append(message)
    return "; ".join(told) or None


@dataclass(frozen=True)
class Task:
    """A process at one moment."""

    parent: int
    seconds: float
    """CPU time."""
    reaped: float
    """CPU time of its children that have ended, and of theirs."""


def tasks_now() -> dict[tuple[int, int], Task]:
    """Every process that is no thread of the kernel, by its number and when it started."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            words = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        numbers = [int(word) for word in words[1:20]]
        if not numbers[5] & _KERNEL_THREAD:
            seconds, reaped = (sum(numbers[first : first + 2]) / _TICKS for first in (10, 12))
            found[int(entry), numbers[18]] = Task(numbers[0], seconds, reaped)
    return found


def cpu_times() -> tuple[float, float]:
    """Time of all CPUs since the machine started, and what the hypervisor took of it, in seconds."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(ticks) / _TICKS, ticks[7] / _TICKS


class Watch:
    """What others take of the machine's CPUs, from its making on. Others are the hypervisor and all programs but this
    one and what it has started. What the kernel's threads do is not theirs: most of it is done for tests.
    """

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._cpus = cpu_times()
        self._own: set[tuple[int, int]] = set()
        self._before = self.others()

    def others(self) -> dict[tuple[int, int], Task]:
        """The processes of others."""
        tasks = tasks_now()
        parents = {pid: task.parent for (pid, _), task in tasks.items()}
        own = {os.getpid(), *process.descendants(os.getpid(), parents)}
        # One whose parent has ended is the child of another, and of this one all the same.
        self._own |= {task for task in tasks if task[0] in own}
        adopting, pid = {1}, os.getpid()
        while pid in parents and pid not in adopting:
            pid = parents[pid]
            adopting.add(pid)
        # What waits for such children has no time of theirs itself.
        return {
            name: replace(task, reaped=0.0) if name[0] in adopting else task
            for name, task in tasks.items()
            if name not in self._own
        }

    def excuse(self) -> str | None:
        """How much they took, if it was more than a measurement bears."""
        if time.monotonic() - self._began < LEAST:
            return None
        now, (total, stolen) = self.others(), cpu_times()
        whole = max(total - self._cpus[0], 1 / _TICKS)
        shares = (
            ((stolen - self._cpus[1]) / whole, STEAL, "the hypervisor"),
            (used(self._before, now) / whole, OTHERS, "other programs"),
        )
        told = [f"{who} took {share:.1%} of the CPUs" for share, most, who in shares if share > most]
        return " and ".join(told) or None


def used(before: Mapping[tuple[int, int], Task], now: Mapping[tuple[int, int], Task]) -> float:
    """CPU time in seconds that processes used between two moments."""
    none = Task(0, 0.0, 0.0)
    living = sum(task.seconds - before.get(name, none).seconds for name, task in now.items())
    # Of what ended its parent tells, if that has waited for it: all that it used, also before the first moment.
    reaped = sum(task.reaped - before.get(name, none).reaped for name, task in now.items())
    known = sum(task.seconds + task.reaped for name, task in before.items() if name not in now)
    return living + max(reaped - known, 0.0)


def timed(
    act: Callable[[], object], done: Callable[[], bool] = lambda: True, state: Callable[[], object] = lambda: ""
) -> float:
    """Does something and waits until it has had its effect. Returns how many seconds that took, which are fewer than 15
    whatever others do; if not, ``state`` tells how things are.
    """
    began = time.monotonic()
    act()
    happened = eventually(done, SOON - (time.monotonic() - began))
    seconds = time.monotonic() - began
    assert happened, f"not within {SOON:g} s: {state()}"
    assert seconds < SOON
    return seconds


def within(seconds: float, attempt: Callable[[], float]) -> None:
    """Holds the bound of so many seconds where nobody else had the machine."""
    conclusive(attempt, lambda took: f"it took {took:.2f} s" if took > seconds else None)
