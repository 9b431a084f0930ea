"""The CPU time of a server that runs already: one thread keeps one CPU busy at most."""

from __future__ import annotations

import os
import time

import pytest

from measured_runs import summary
from waspbench import live
from waspbench.testbed.host import HostTestbed, Thread, part_of_busiest, thread_times

BEFORE: dict[Thread, int] = {(1, 1): 50, (1, 2): 50}
IN_ONE: dict[Thread, int] = {(1, 1): 150, (1, 2): 50}
EVENLY: dict[Thread, int] = {(1, 1): 100, (1, 2): 100}


class Running(HostTestbed):
    """A testbed of a server whose busiest thread used a part of the time; it has no device."""

    def __init__(self, part: float | None, cpus: int) -> None:
        self.part, self.cpus = part, cpus

    @property
    def cpus_allowed(self) -> int:
        return self.cpus

    def busiest_part(self) -> float | None:
        return self.part

    def remark(self) -> None:
        return None


@pytest.mark.full
def test_the_time_of_a_thread_grows_as_it_works() -> None:
    before = thread_times([os.getpid()])
    end = time.thread_time() + 0.2
    while time.thread_time() < end:
        pass
    me = os.getpid(), os.getpid()
    assert thread_times([os.getpid()])[me] - before[me] >= 0.15 * os.sysconf("SC_CLK_TCK")


def test_a_process_that_has_ended_has_no_threads() -> None:
    assert thread_times([2**22 + 1]) == {}


@pytest.mark.parametrize(
    ("before", "now", "part"),
    [
        (BEFORE, IN_ONE, 1.0),
        (BEFORE, EVENLY, 0.5),
        (BEFORE, BEFORE | {(1, 3): 10}, 1.0),  # a thread that was begun since
        (BEFORE, {(1, 2): 80}, 1.0),  # one that has ended
        (BEFORE, BEFORE, None),
        ({}, {}, None),
    ],
)
def test_the_busiest_thread_has_a_part_of_the_time_that_was_used(
    before: dict[Thread, int], now: dict[Thread, int], part: float | None
) -> None:
    assert part_of_busiest(before, now) == part


@pytest.mark.parametrize(("part", "busy", "noted"), [(1.0, 0.95, True), (0.5, 0.475, False), (None, 0.475, False)])
def test_a_busy_thread_is_a_busy_server(part: float | None, busy: float, noted: bool) -> None:
    made = summary(100.0)
    cpu = made.server_cpu.model_copy(update={"processes_s": 0.95 * made.interval_s})
    found = live.accounted(made.model_copy(update={"server_cpu": cpu}), Running(part, cpus=2))
    assert found.server_cpu.busy == pytest.approx(busy)
    assert ("server CPU is that of its busiest thread; it may run on 2 CPUs" in found.notes) is noted
