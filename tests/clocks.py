"""A test of the gate neither sleeps nor reads a clock: its verdict would depend on how busy the machine is.

While such a test runs, the functions of `time` that do either look at their caller. Code of the tests fails by calling
them: the test itself, a fixture, a helper. What the product and libraries call is theirs. A wait with a limit, such as
that of `subprocess`, is not seen: a test gives it `waiting.HANGS`. For Rust see ``test_clocks.py``.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parent
SLEEPS_OR_READS = (
    "sleep",
    *(
        f"{name}{unit}"
        for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time")
        for unit in ("", "_ns")
    ),
    "clock_gettime",
    "clock_gettime_ns",
)
"""Functions of the module `time`."""
ALLOWED = {
    "waiting.eventually": "waits for what has to happen, two minutes where a test sets no other limit",
    "measuring.Watch.__init__": "tells an attempt's length; no test of the gate judges one",
    "measuring.Watch.excuse": "tells an attempt's length; no test of the gate judges one",
    "suite.run": "tells the minutes of a stage, which nothing is held against",
    "suite.follow": "ends what hangs; the clock that tests give it is their own where it matters",
    "testbed.test_backlog.test_it_stays_raised_however_many_come_and_go_at_once": "lets other threads come between",
    "testbed.peer.Peer.receive": "fails instead of hanging when nothing comes for two minutes",
}
"""Functions of the tests that may, with the reason; ten at most, with those of `IN_RUST`."""
IN_RUST = {"crates/tcp/examples/bulk.rs": "an example and no test"}
"""Files of the crates that the gate tests which may, with the reason."""

_guarding = False
"""Whether a test of the gate runs now."""


def watch_calls() -> None:
    """Puts functions that look at their caller in the place of those of `time`, before tests are imported."""
    for name in SLEEPS_OR_READS:
        function = getattr(time, name)
        if not hasattr(function, "__wrapped__"):
            setattr(time, name, _looking(function))


def guard(on: bool) -> None:
    """From now on a test of the gate runs, or none does."""
    global _guarding
    _guarding = on


def _looking(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def looking(*arguments: Any) -> Any:
        if _guarding:
            _judge(sys._getframe(1), function.__name__)
        return function(*arguments)

    return looking


def _judge(caller: FrameType, function: str) -> None:
    """Fails the test if code of the tests calls a function of `time` and is not allowed to."""
    if not Path(caller.f_code.co_filename).is_relative_to(TESTS):
        return
    name = f"{caller.f_globals['__name__']}.{caller.f_code.co_qualname}".partition(".<locals>")[0]
    if name not in ALLOWED:
        pytest.fail(f"{name} calls time.{function} in a test of the gate (tests/clocks.py)")
