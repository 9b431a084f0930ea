"""The lease on a setting of the machine, with a file in the setting's place; the real one: `live/test_leftovers`."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from measuring import timed, within
from waspbench.testbed import backlog, long_backlog, process
from waspbench.testbed.lease import Lease, main

WANTED = 10_000


class Machine:
    """A file that is the setting, and where the journal is."""

    def __init__(self, directory: Path) -> None:
        self.setting = directory / "setting"
        self.journal = directory / "journal"
        self.setting.write_text("1000\n")

    def value(self) -> int:
        return int(self.setting.read_text() or -1)

    def lease(self) -> Lease:
        return Lease(self.setting, WANTED, self.journal)

    def keeper(self) -> subprocess.Popen[bytes]:
        """The process that holds a lease, once it does."""
        words = [*process.LEASE, str(self.setting), str(WANTED), str(self.journal)]
        keeper = subprocess.Popen(
            words, env=process.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        assert keeper.stdout is not None
        assert keeper.stdout.readline() == b"raised\n"
        return keeper

    def untouched(self, value: int = 1000) -> bool:
        return self.value() == value and not self.journal.exists()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_it_is_raised_while_it_lasts_and_then_given_back(machine: Machine) -> None:
    for _ in range(2):
        with machine.lease():
            assert machine.value() == WANTED
        assert machine.untouched()


@pytest.mark.parametrize("value", [WANTED, 300_000])
def test_what_is_high_enough_stays_as_it_is(machine: Machine, value: int) -> None:
    machine.setting.write_text(f"{value}\n")
    with machine.lease():
        assert machine.value() == value
    assert machine.untouched(value)


@pytest.mark.parametrize("first", [0, 1, 2])
def test_the_last_to_end_gives_it_back(machine: Machine, first: int) -> None:
    leases = [machine.lease() for _ in range(3)]
    leases.pop(first).close()
    while leases:
        assert machine.value() == WANTED
        leases.pop().close()
    assert machine.untouched()


def test_what_somebody_sets_meanwhile_stays(machine: Machine) -> None:
    with machine.lease():
        machine.setting.write_text("5000\n")
    assert machine.untouched(5000)


def test_who_has_lost_the_journal_leaves_that_of_others_alone(machine: Machine) -> None:
    lost = machine.lease()
    machine.journal.unlink()
    with machine.lease():
        lost.close()
        assert machine.value() == WANTED
        assert machine.journal.exists()


def test_where_all_were_killed_the_next_gives_it_back(machine: Machine) -> None:
    for _ in range(2):
        with machine.keeper() as keeper:
            keeper.kill()
    assert machine.value() == WANTED
    with machine.lease():
        assert machine.value() == WANTED
    assert machine.untouched()


@pytest.mark.parametrize("noted", ["1000\n", "", "not a number\n"])
def test_the_journal_of_the_killed_does_not_undo_what_was_set_since(machine: Machine, noted: str) -> None:
    machine.journal.write_text(noted)
    machine.setting.write_text("300\n")
    with machine.lease():
        assert machine.value() == WANTED
    assert machine.untouched(300)


@pytest.mark.parametrize("setting", ["/proc/sys/kernel/cap_last_cap", "/proc/sys/net/none"])
def test_what_may_not_be_written_is_refused_and_leaves_no_journal(setting: str, tmp_path: Path) -> None:
    # The first can be read and never be written, even by root.
    with pytest.raises(OSError, match=setting):
        Lease(Path(setting), WANTED, tmp_path / "journal")
    assert list(tmp_path.iterdir()) == []


def test_it_stays_raised_however_many_come_and_go_at_once(machine: Machine) -> None:
    low: list[int] = []

    def come_and_go(seed: int) -> None:
        moments = random.Random(seed)
        for _ in range(50):
            with machine.lease():
                low.extend(value for value in [machine.value()] if value != WANTED)
                time.sleep(moments.choice([0, 0, 1e-4]))
                low.extend(value for value in [machine.value()] if value != WANTED)
            time.sleep(moments.choice([0, 1e-4, 1e-3]))

    threads = [threading.Thread(target=come_and_go, args=[seed]) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert low == []
    assert machine.untouched()


@pytest.mark.full
def test_the_keeper_minds_the_end_of_its_input_and_no_signal_before(machine: Machine) -> None:
    with machine.keeper() as keeper:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            keeper.send_signal(number)
        with pytest.raises(subprocess.TimeoutExpired):
            keeper.wait(0.2)
        assert machine.value() == WANTED
    assert keeper.returncode == 0
    assert machine.untouched()


def test_a_keeper_that_may_not_says_so(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*process.LEASE, "/proc/sys/net/none", str(WANTED), str(machine.journal)]
    done = subprocess.run(words, env=process.environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "/proc/sys/net/none" in done.stderr
    assert main(["/proc/sys/net/none", "many", "journal"]) == 2
    assert capsys.readouterr().err.startswith("usage: ")


def test_the_backlog_is_long_while_it_is_asked_for(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "SETTING", machine.setting)
    monkeypatch.setattr(backlog, "_JOURNAL", machine.journal)
    monkeypatch.setattr(backlog, "_ANSWER_TIMEOUT", 300.0)
    with long_backlog():
        assert machine.value() == backlog.LONG_ENOUGH
    assert machine.untouched()


def test_where_the_backlog_may_not_be_changed_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "SETTING", Path("/proc/sys/net/none"))
    monkeypatch.setattr(subprocess, "Popen", None)
    with long_backlog():
        pass


OWNER = """
import sys, time
from pathlib import Path
from waspbench.testbed import backlog
backlog.SETTING, backlog._JOURNAL = map(Path, sys.argv[1:])
with backlog.long_backlog():
    print("long", flush=True)
    time.sleep(60)
"""


@pytest.mark.full
def test_a_second_after_sigkill_of_its_owner_the_backlog_is_as_before(machine: Machine) -> None:
    words = [sys.executable, "-P", "-c", OWNER, str(machine.setting), str(machine.journal)]

    def kill() -> float:
        with subprocess.Popen(words, env=process.environment(), stdout=subprocess.PIPE, text=True) as owner:
            assert owner.stdout is not None
            assert owner.stdout.readline() == "long\n"
            assert machine.value() == backlog.LONG_ENOUGH
            return timed(owner.kill, machine.untouched)

    within(1.0, kill)
