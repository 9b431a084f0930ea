"""The parent keeps out of the way of what it measures, and comes back."""

from __future__ import annotations

import os
import threading

import pytest

from waspbench.testbed import Placement, aside, linux

CPUS = sorted(os.sched_getaffinity(0))


@pytest.fixture
def able(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if it may take back what it does."""
    if not linux.has_capability(linux.CAP_SYS_NICE):
        pytest.skip("needs CAP_SYS_NICE")


def test_it_is_niced_for_as_long_as_it_lasts(able: None) -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with aside(Placement((CPUS[0],), (CPUS[-1],))):
        assert os.getpriority(os.PRIO_PROCESS, 0) == max(before, 10)
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_what_cannot_be_taken_back_is_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linux, "has_capability", lambda number: False)
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with aside(Placement((CPUS[0],), (CPUS[0],))):
        assert os.getpriority(os.PRIO_PROCESS, 0) == before


@pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")
def test_it_leaves_the_cpus_of_server_and_emulator_to_them() -> None:
    seen: list[set[int]] = []
    with aside(Placement((CPUS[0],), (CPUS[0],))):
        assert os.sched_getaffinity(0) == set(CPUS[1:])
    assert os.sched_getaffinity(0) == set(CPUS)
    # Where none is left, it stays where it is; and it never speaks for other threads.
    other = threading.Event()

    def look() -> None:
        other.wait()
        seen.append(os.sched_getaffinity(0))

    thread = threading.Thread(target=look)
    thread.start()
    with aside(Placement(tuple(CPUS), (CPUS[0],))):
        assert os.sched_getaffinity(0) == set(CPUS)
    with aside(Placement((CPUS[0],), (CPUS[0],))):
        other.set()
        thread.join()
    assert seen == [set(CPUS)]
