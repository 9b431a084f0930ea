"""The CPU time of a server that runs already: one thread keeps one CPU busy at most."""

from __future__ import annotations

import os
import time

import pytest

from measured_runs import summary
from waspbench import live
from waspbench.testbed import host
from waspbench.testbed.host import HostTestbed, thread_times


def bed(before: dict[tuple[int, int], int], cpus: int) -> HostTestbed:
    """A testbed without a device, before this process."""
    made = object.__new__(HostTestbed)
    made._pids, made._cpus, made._before = [os.getpid()], list(range(cpus)), before
    return made


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
    ("now", "busy", "noted"),
    [
        ({(1, 1): 150, (1, 2): 50}, 0.95, True),  # all in one thread
        ({(1, 1): 100, (1, 2): 100}, 0.475, False),  # two that share it evenly
    ],
)
def test_a_busy_thread_is_a_busy_server(
    now: dict[tuple[int, int], int], busy: float, noted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "thread_times", lambda pids: now)
    monkeypatch.setattr(HostTestbed, "remark", lambda self: None)
    made = summary(100.0)
    cpu = made.server_cpu.model_copy(update={"processes_s": 0.95 * made.interval_s})
    found = live.accounted(made.model_copy(update={"server_cpu": cpu}), bed({(1, 1): 50, (1, 2): 50}, cpus=2))
    assert found.server_cpu.busy == pytest.approx(busy)
    assert ("server CPU is that of its busiest thread; it may run on 2 CPUs" in found.notes) is noted


def test_nothing_used_is_nothing_known() -> None:
    assert bed(thread_times([]), cpus=1).busiest_part() != 0
    idle = bed({}, cpus=1)
    idle._pids = []
    assert idle.busiest_part() is None
