"""Only a defect fails a test that measures; what others took from it makes it inconclusive."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import measuring
import waiting
from measuring import InconclusiveError, Watch, conclusive, disturbance, timed, within
from suite import WORKERS, told_by
from waiting import eventually
from waspbench.results import Reason
from waspbench.results.summary import Invalid

GOOD, WRONG = (None, None), ("3 ms", None)
OTHERS = "the hypervisor took 9.0% of the CPUs"
EXCUSED = ("3 ms", OTHERS)


@pytest.fixture(autouse=True)
def unstable(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What these tests note of the tests that they play."""
    noted: list[str] = []
    monkeypatch.setattr(measuring, "unstable", noted)
    return noted


@pytest.fixture(autouse=True)
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which nobody disturbs an attempt."""
    monkeypatch.setattr(measuring, "LEAST", float("inf"))


def outcome(*attempts: tuple[str | None, str | None]) -> str:
    """What becomes of a test with these attempts: what is wrong and what excuses it. All of them must be made."""
    coming = iter(attempts)
    try:
        conclusive(lambda: next(coming), lambda found: found[0], lambda found: found[1])
    except InconclusiveError as error:
        said = f"inconclusive: {error}"
    except pytest.fail.Exception as error:
        said = f"failed: {error}"
    else:
        said = "passed"
    assert list(coming) == []
    return said


def test_one_good_attempt_is_enough(unstable: list[str]) -> None:
    assert outcome(GOOD) == "passed"
    assert outcome(EXCUSED, EXCUSED, EXCUSED, GOOD) == "passed"
    assert unstable == []


def test_two_attempts_that_nothing_disturbed_fail_a_test(unstable: list[str]) -> None:
    assert outcome(WRONG, WRONG) == "failed: in two attempts that nothing disturbed: 3 ms; 3 ms"
    assert outcome(EXCUSED, WRONG, EXCUSED, EXCUSED, WRONG).startswith("failed: ")
    assert outcome(WRONG, GOOD, WRONG).startswith("failed: ")
    assert unstable == []


def test_after_a_bad_and_a_good_attempt_a_third_decides(unstable: list[str]) -> None:
    assert outcome(WRONG, GOOD, GOOD) == "passed"
    assert unstable == ["3 ms"]


def test_a_machine_without_time_makes_a_test_inconclusive(unstable: list[str]) -> None:
    assert outcome(*[EXCUSED] * 4) == f"inconclusive: 3 ms; 3 ms; 3 ms; 3 ms: {OTHERS}"
    assert outcome(WRONG, GOOD, *[EXCUSED] * 4) == f"inconclusive: 3 ms; 3 ms; 3 ms; 3 ms; 3 ms: {OTHERS}"
    assert unstable == []


def test_the_limits_are_those_of_the_validity_of_a_run_in_both_languages() -> None:
    crates = Path(__file__).parents[1] / "crates"
    validity, rust = (crates / "engine/src/summary/validity.rs", crates / "io/tests/common/measuring.rs")

    def constant(file: Path, name: str) -> float:
        found = re.search(rf"^const {name}: \w+ = ([\d.]+);$", file.read_text(), re.MULTILINE)
        assert found is not None
        return float(found[1])

    assert measuring.STEAL == constant(validity, "STEAL") == constant(rust, "STEAL")
    assert measuring.OTHERS == constant(validity, "OTHERS") == constant(rust, "OTHERS")
    assert constant(validity, "RUN_DELAY") == constant(rust, "RUN_DELAY")
    assert constant(rust, "REPEATS") == measuring.REPEATS


def test_lateness_is_no_disturbance_and_what_others_took_is() -> None:
    late = Reason(run=0, code="lag", message="it fell behind")
    stolen = Invalid(code="steal", message="9 % were taken")
    assert disturbance([late]) is None
    assert disturbance([]) is None
    assert disturbance([late, stolen]) == "9 % were taken"
    assert disturbance([each.model_dump() for each in (late, stolen)]) == "9 % were taken"
    assert disturbance(["unread", "run_delay", "others"]) == "run_delay; others"


def test_what_this_program_and_its_children_use_is_not_that_of_others() -> None:
    class Machine(Watch):
        """One on which nothing but the test runs."""

        def others(self) -> dict[tuple[int, int], measuring.Task]:
            return {name: task for name, task in super().others().items() if name[0] == child.pid}

    busy = "import time\nwhile time.process_time() < 0.3: pass\nprint(1, flush=True)\ntime.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", busy], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        watch = Machine()
        child.stdout.readline()
        assert watch.others() == {}
        child.kill()


def test_what_others_use_is_counted_with_what_has_ended() -> None:
    before = {
        (1, 0): measuring.Task(0, seconds=1.0, reaped=5.0),
        (2, 0): measuring.Task(1, seconds=3.0, reaped=1.0),
        (3, 0): measuring.Task(9, seconds=4.0, reaped=0.0),
    }
    assert measuring.used(before, before) == 0.0
    now = {(1, 0): measuring.Task(0, seconds=1.5, reaped=9.5), (2, 7): measuring.Task(1, seconds=0.25, reaped=0.0)}
    # Of the second, which ended with 4 s, half a second is new. Of the third nobody tells, and it takes nothing back.
    now_without = {name: task for name, task in now.items() if name[0] == 1}
    del before[3, 0]
    assert measuring.used(before, now) == pytest.approx(0.5 + 0.25 + 0.5)
    assert measuring.used(before, now_without) == pytest.approx(0.5 + 0.5)
    before[3, 0] = measuring.Task(9, seconds=4.0, reaped=0.0)
    assert measuring.used(before, now) == pytest.approx(0.5 + 0.25)


def test_the_shares_of_others_are_held_to_their_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    cpus, own = iter([(100.0, 5.0), (120.0, 6.0)]), os.getpid()
    tasks = iter([{(own, 1): measuring.Task(1, 5.0, 0.0)}, {(own, 1): measuring.Task(1, 9.0, 0.0)}])
    monkeypatch.setattr(measuring, "cpu_times", lambda: next(cpus))
    monkeypatch.setattr(measuring, "tasks_now", lambda: next(tasks))
    monkeypatch.setattr(measuring, "LEAST", 0.0)
    assert Watch().excuse() == "the hypervisor took 5.0% of the CPUs"
    cpus = iter([(100.0, 5.0), (120.0, 5.3)])
    tasks = iter([{(4, 1): measuring.Task(1, 5.0, 0.0)}, {(4, 1): measuring.Task(1, 6.0, 0.0)}])
    assert Watch().excuse() == "other programs took 5.0% of the CPUs"
    monkeypatch.setattr(measuring, "LEAST", 60.0)
    cpus, tasks = iter([(100.0, 5.0)]), iter([{(4, 1): measuring.Task(1, 5.0, 0.0)}])
    assert Watch().excuse() is None


def test_an_attempt_is_excused_by_what_others_took_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Watch, "excuse", lambda self: OTHERS)
    assert outcome(WRONG, WRONG, WRONG, WRONG) == f"inconclusive: 3 ms; 3 ms; 3 ms; 3 ms: {OTHERS}"


def test_a_bound_in_seconds_holds_where_nothing_disturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    within(1.0, lambda: 1.0)
    with pytest.raises(pytest.fail.Exception, match=r"it took 1\.25 s; it took 1\.25 s"):
        within(1.0, lambda: 1.25)
    monkeypatch.setattr(Watch, "excuse", lambda self: OTHERS)
    with pytest.raises(InconclusiveError, match=r"it took 1\.25 s: the hypervisor"):
        within(1.0, lambda: 1.25)


class Clock:
    """One that goes on when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of what waits."""
    clock = Clock()
    for module in (measuring, waiting):
        monkeypatch.setattr(module, "time", clock)
    return clock


def test_a_condition_is_waited_for_as_long_as_it_may_take(clock: Clock) -> None:
    assert eventually(lambda: clock.now > 119)
    assert not eventually(lambda: False)
    assert clock.now == pytest.approx(119 + 120, abs=0.1)
    assert not eventually(lambda: clock.now > 300, within=15)


def test_what_takes_fifteen_seconds_fails_whatever_others_do(clock: Clock) -> None:
    assert timed(lambda: clock.sleep(2), lambda: clock.now > 5) == pytest.approx(5, abs=0.1)
    with pytest.raises(AssertionError, match="not within 15 s: still there"):
        timed(lambda: None, lambda: False, lambda: "still there")
    for done in (lambda: True, lambda: False):
        with pytest.raises(AssertionError):
            timed(lambda: clock.sleep(16), done)


TESTS = """
import pytest
import measuring

@pytest.fixture(scope="module")
def run():
    measuring.conclusive(lambda: 1, lambda _: "it took\\n3 s", lambda _: "others")

def test_with_a_fixture(run): pass
def test_with_the_same_fixture(run): pass
def test_without(): measuring.conclusive(lambda: 1, lambda _: "4 s", lambda _: "others")
def test_twice(found=iter([0, 1, 1])):
    measuring.conclusive(lambda: next(found), lambda good: None if good else "5 s")
def test_passes(): pass
"""


@pytest.mark.parametrize("more", [["-n0"], ["-n2"]], ids=" ".join)
def test_inconclusive_and_unstable_tests_are_listed_and_have_an_exit_status(more: list[str], tmp_path: Path) -> None:
    def run(selection: str, tests: str = TESTS) -> subprocess.CompletedProcess[str]:
        (tmp_path / "test_it.py").write_text(tests)
        words = [sys.executable, "-m", "pytest", *WORKERS, *more, "-p", "conftest", "-k", selection, "test_it.py"]
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
        environment.pop("PYTEST_XDIST_WORKER", None)
        return subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    done = run("test")
    told = told_by(done.stdout)
    assert done.returncode == 75, done
    assert told.counts == (2, 0, 0)
    assert sorted(told.inconclusive) == [
        f"INCONCLUSIVE test_it.py::{name} - {'; '.join([why] * 4)}: others"
        for name, why in [
            ("test_with_a_fixture", "it took 3 s"),
            ("test_with_the_same_fixture", "it took 3 s"),
            ("test_without", "4 s"),
        ]
    ]
    assert told.unstable == ["UNSTABLE test_it.py::test_twice - 5 s"]
    assert run("passes or twice").returncode == 0
    assert run("test", f"{TESTS}def test_fails(): assert False\n").returncode == 1
