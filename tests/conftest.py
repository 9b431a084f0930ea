from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings

import clocks
from fake_core import FakeEngine
from measuring import InconclusiveError, unstable
from waiting import HANGS
from waspbench import _core, live
from waspbench.testbed import Support, live_support

# What is drawn follows from the seed alone, however busy the machine is and whatever earlier runs have found.
settings.register_profile(
    "repeatable", derandomize=False, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")


left_out = pytest.StashKey[int]()
"""How many tests of the full suite are not run, in the process that runs tests and in the one that reports."""
running: set[str] = set()
"""The tests that have begun and have not ended, in the process that reports."""
FULL_TIMEOUT = 900
"""Seconds until a test of the full suite has failed. The longest simulates for 200 s of two CPUs."""
INCONCLUSIVE = 75
"""The exit status if tests were inconclusive and none failed: EX_TEMPFAIL of sysexits.h."""
outcomes: list[str] = []
"""A line for each test that was inconclusive or unstable, in the process that reports."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--full`` and ``--only-full``."""
    parser.addoption("--full", action="store_true", help="every test, also those that need root, the clock or patience")
    parser.addoption("--only-full", action="store_true", help="only the tests that need root, the clock or patience")


def pytest_configure(config: pytest.Config) -> None:
    """Refuses to measure with an engine that is built for tests, and watches how tests of the gate use clocks."""
    full, only_full = bool(config.getoption("--full")), bool(config.getoption("--only-full"))
    if full and only_full:
        raise pytest.UsageError("--full and --only-full: one of them would be valid")
    if (full or only_full) and _core.profile() != live.RELEASE:
        raise pytest.UsageError(
            f"the engine is of profile {_core.profile()}, and tests of the full suite measure: "
            f"./run build makes the {live.RELEASE}"
        )
    if not only_full:
        clocks.watch_calls()


class Root(NamedTuple):
    """What the marker ``root`` says of a test."""

    live: bool = True
    """Whether it needs the means of live runs, too."""
    gate: bool = False
    """Whether its verdict depends on nothing but these."""


def in_full_suite(item: pytest.Item) -> bool:
    """Whether the verdict on a test may depend on real time, so that only the full suite has it."""
    root = marked_root(item)
    return item.get_closest_marker("full") is not None or (root is not None and not root.gate)


def marked_root(item: pytest.Item) -> Root | None:
    """The marker ``root`` of a test, if it has one."""
    marker = item.get_closest_marker("root")
    return None if marker is None else Root(**marker.kwargs)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the full suite out unless it is asked for. Its tests may make several attempts, and have more time."""
    only_full = bool(config.getoption("--only-full"))
    if not config.getoption("--full"):
        others = [item for item in items if in_full_suite(item) is not only_full]
        items[:] = [item for item in items if in_full_suite(item) is only_full]
        config.hook.pytest_deselected(items=others)
        config.stash[left_out] = 0 if only_full else len(others)
    for item in items:
        if in_full_suite(item):
            item.add_marker(pytest.mark.timeout(FULL_TIMEOUT))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Lets only the tests of the full suite sleep and read clocks."""
    clocks.guard(not in_full_suite(item))
    try:
        return (yield)
    finally:
        clocks.guard(False)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips what carries the marker ``root`` where it cannot be done. That reason stands before any other."""
    root = marked_root(item)
    why = None if root is None else obstacle(root.live)
    if why is not None:
        pytest.skip(why)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Hands the count of what is left out to the process that reports, if that is another one, which has an exit status
    for inconclusive tests.
    """
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(left_out, 0)
    elif exitstatus == pytest.ExitCode.OK and any(line.startswith("INCONCLUSIVE ") for line in outcomes):
        session.exitstatus = INCONCLUSIVE


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Takes the count from a process that ran tests; all of them have the same."""
    node.config.stash[left_out] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_runtest_logstart(nodeid: str) -> None:
    """Notes that a test has begun, in whichever process."""
    running.add(nodeid)


def pytest_runtest_logfinish(nodeid: str) -> None:
    """Notes that a test has ended."""
    running.discard(nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Notes in the report what is neither passed nor failed, and what passed in two of three attempts."""
    report = yield
    if call.excinfo is not None and call.excinfo.errisinstance(InconclusiveError):
        report.outcome = "skipped"  # what pytest does then is right: a test without its fixture is not run
        report.longrepr = (str(item.path), 0, str(call.excinfo.value))
        report.inconclusive = str(call.excinfo.value)
    report.unstable = "; ".join(unstable)
    unstable.clear()
    return report


def pytest_runtest_logreport(report: Any) -> None:
    """Takes what is noted in a report, of whichever process."""
    for outcome in ("inconclusive", "unstable"):
        if why := getattr(report, outcome, ""):
            outcomes.append(f"{outcome.upper()} {report.nodeid} - {' '.join(why.split())}")


def pytest_report_teststatus(report: pytest.CollectReport | pytest.TestReport) -> tuple[str, str, str] | None:
    """Counts what is inconclusive by itself."""
    return ("inconclusive", "I", "INCONCLUSIVE") if hasattr(report, "inconclusive") else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    """Says which tests were inconclusive, unstable and interrupted, how many are left out, and how to run them."""
    for line in outcomes:
        terminalreporter.write_line(line)
    if exitstatus == pytest.ExitCode.INTERRUPTED:
        for nodeid in sorted(running):
            terminalreporter.write_line(f"ERROR {nodeid} - it was interrupted")
    if count := config.stash.get(left_out, 0):
        terminalreporter.write_line(f"left out: {count} tests of the full suite (./run test --full)")


@cache
def obstacle(live: bool) -> str | None:
    """What stands in the way of tests that need root, and of those that need the means of live runs, too."""
    if os.geteuid() != 0:
        return "needs root"
    if not live:
        return None
    if not Path("/dev/net/tun").exists():
        return "needs /dev/net/tun"
    if not (support := live_support(timeout=HANGS)).ok:
        return f"this machine cannot: {support.why}"
    return None


@pytest.fixture(autouse=True)
def catalogue(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalogue of the test's own, in place of the user's."""
    path = tmp_path_factory.mktemp("catalogue") / "catalogue.sqlite"
    monkeypatch.setenv("WASP_CATALOGUE", str(path))
    return path


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    """A fake in the place of the engine."""
    fake = FakeEngine()
    fake.install(monkeypatch)
    return fake


@pytest.fixture
def pretended_live(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that can do live runs, of which none is made."""
    monkeypatch.setattr(live, "live_support", lambda: Support(True))
    monkeypatch.setattr(live, "spec", lambda experiment, placement: None)


@pytest.fixture
def heard() -> Iterator[None]:
    """Ctrl-C, which a process that is started in the background ignores."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
