"""Where runs are made: processes of their own."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from answered_runs import answered, started
from shuffled import Shuffled
from waiting import SOON
from waspbench import CannotRunError, InputError, RunFailedError, study
from waspbench.experiment import parse
from waspbench.experiment.resolve import resolve
from waspbench.interrupts import SIGNALS
from waspbench.results.records import records_of
from waspbench.runner import executors, pipeline, worker
from waspbench.runner.executors import Executor, Processes
from waspbench.runner.job import Done, Job, start_run
from waspbench.runner.one_run import OneRun
from waspbench.runner.worker import READY, STOP, work
from waspbench.testbed import Spec, process

ONE: dict[str, Any] = {
    "name": "x",
    "mode": "sim",
    "clients": [{"count": 8, "rtt": "20ms"}],
    "measure": {"runs": 1, "warmup": "1s", "duration": "1s"},
}
SWEEP = ONE | {"sweep": {"clients.rtt": ["20ms", "30ms", "40ms"]}}


def job(place: Path, run: int = 0, *, limit: float = 60.0, **measure: str) -> Job:
    scenario = resolve(parse(ONE | {"measure": ONE["measure"] | measure}), run, mode="sim")
    return Job(0, run, scenario, str(place), limit)


def collected(executor: Executor) -> Done:
    while not (found := executor.collect()):
        executor.advance(60.0)
    [done] = found
    return done


def worker_of(parent: int) -> int:
    """The number of the only worker that a process has started."""
    [found] = [pid for pid in process.descendants(parent, process.parents()) if b"runner.worker" in command_of(pid)]
    return found


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No patience with workers."""
    monkeypatch.setattr(executors, "GRACE", 0.0)


def test_a_worker_that_is_killed_fails_its_run_and_another_takes_its_place(tmp_path: Path) -> None:
    with Processes(1) as executor:
        executor.submit(job(tmp_path, duration="24h"))
        os.kill(worker_of(os.getpid()), signal.SIGKILL)
        done = collected(executor)
        assert done.failure is not None
        assert done.failure.startswith(
            "the process of the run was ended by SIGKILL; did the machine run out of memory?"
        )
        assert (done.fatal, executor.busy, executor.room) == (False, False, 1)
        executor.submit(job(tmp_path))
        assert collected(executor).failure is None


@pytest.mark.parametrize("executable", ["/bin/false", "/bin/true"])
def test_a_worker_that_cannot_begin_could_not_in_any_run(
    executable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    with pytest.raises(RunFailedError, match=r"^the process of the run failed \(exit status [01]\); it said why on"):
        study(SWEEP, output=tmp_path / "out", jobs=2)
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_is_killed_while_it_is_idle_costs_no_run(tmp_path: Path) -> None:
    with Processes(1) as executor:
        executor.submit(job(tmp_path))
        assert collected(executor).failure is None
        pid = worker_of(os.getpid())
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        executor.submit(job(tmp_path, 1))
        assert collected(executor).failure is None


def test_an_error_after_which_no_run_can_be_made_keeps_what_others_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun: list[OneRun] = []

    def start(job: Job, spec: Spec | None) -> OneRun:
        if not begun:
            begun.append(start_run(job, spec))
            return begun[0]
        while (sample := begun[0].next_sample(1.0)) is None or not sample["measuring"]:
            pass
        raise CannotRunError("there is no other")

    started(monkeypatch, start)
    monkeypatch.setattr(pipeline, "executor_for", Shuffled)
    asked = SWEEP | {"measure": ONE["measure"] | {"duration": "24h"}}
    with pytest.raises(RunFailedError, match=r"^there is no other; what was measured is kept in .*out$"):
        study(asked, output=tmp_path / "out", jobs=2)
    [record] = [record for place in (tmp_path / "out").glob("points/*") for record in records_of(place)]
    assert record.summary is not None
    assert record.summary.stopped


ANSWERS_IN_PART = """
import os, signal, sys
pipe = int(sys.argv[5])
os.read(pipe, 1_000_000)
os.write(pipe, bytes([0, 0, 1, 0]) + b"half")
os.kill(os.getpid(), signal.{})
"""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("SIGKILL", "the process of the run was ended by SIGKILL; did the machine run out of memory?"),
        ("SIGSTOP", "the process of the run stopped in the middle of its answer, and was killed"),
    ],
)
def test_a_worker_that_ends_or_stops_in_the_middle_of_its_answer_fails_its_run(
    name: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(executors, "PATIENCE", 1)
    script = tmp_path / "python"
    script.write_text(f"#!{sys.executable}{ANSWERS_IN_PART.format(name)}")
    script.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(script))
    with Processes(1) as executor:
        executor.submit(job(tmp_path))
        done = collected(executor)
    assert (done.failure or "").startswith(said)
    assert not done.fatal


@pytest.mark.parametrize(
    ("executable", "said"), [("/no/python", "No such file"), ("", "the program of this Python is not known")]
)
def test_where_no_process_can_be_started_that_is_said(
    executable: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    with pytest.raises(CannotRunError, match=f"^no process can be started for a run beside 0 others: {said}"):
        study(SWEEP, output=tmp_path / "out", jobs=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("impatient")
def test_a_worker_that_does_not_answer_in_time_is_killed(tmp_path: Path) -> None:
    with Processes(1) as executor:
        executor.submit(job(tmp_path, limit=0.0, duration="24h"))
        done = collected(executor)
    assert done.failure == "the run was killed: it did not end within 0 s of its time"
    assert (done.fatal, done.stopped) == (False, False)


@pytest.mark.usefixtures("impatient")
def test_one_that_is_stopped_and_does_not_answer_is_killed(tmp_path: Path) -> None:
    with Processes(1) as executor:
        executor.submit(job(tmp_path, duration="24h"))
        executor.stop()
        done = collected(executor)
    assert (done.stopped, done.failure) == (True, "the run was killed: it did not end within 0 s of its time")


def test_a_run_that_is_stopped_before_it_began_measured_nothing(tmp_path: Path) -> None:
    with Processes(2) as executor:
        executor.submit(job(tmp_path, duration="24h"))
        executor.stop()
        done = collected(executor)
        assert (done.stopped, done.summary, done.failure) == (True, None, None)
        assert list(tmp_path.iterdir()) == []
        executor.submit(job(tmp_path, duration="24h"))
        os.kill(worker_of(os.getpid()), signal.SIGKILL)
        assert not collected(executor).stopped


@pytest.mark.parametrize("number", SIGNALS)
def test_interrupts_are_for_the_process_that_waits(number: signal.Signals, tmp_path: Path) -> None:
    with Processes(1) as executor:
        for run in range(2):  # while it starts, and later
            executor.submit(job(tmp_path, run))
            os.kill(worker_of(os.getpid()), number)
            assert collected(executor).failure is None


@contextmanager
def working() -> Iterator[Connection]:
    """What a worker does, in a thread."""
    ours, theirs = Pipe()

    def until_it_closes() -> None:
        with theirs, suppress(SystemExit):
            work(theirs)

    thread = threading.Thread(target=until_it_closes)
    thread.start()
    with ours:
        assert ours.recv() is READY
        yield ours
    thread.join()


def test_a_stop_that_comes_too_late_stops_no_other_run(tmp_path: Path) -> None:
    with working() as pipe:
        pipe.send(STOP)
        pipe.send(job(tmp_path))
        done = pipe.recv()
    assert (done.stopped, done.failure) == (False, None)


@pytest.mark.parametrize(
    "error", [CannotRunError("there is no such server", "server.kind"), InputError.at("clients.rtt", "is wrong", "x")]
)
def test_what_a_worker_raises_crosses_whole(
    error: CannotRunError | InputError, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answered(monkeypatch, lambda job: error)
    with working() as pipe:
        pipe.send(job(tmp_path))
        done = pipe.recv()
    assert done.fatal
    assert (type(done.error), vars(done.error)) == (type(error), vars(error))


def test_a_worker_has_no_terminal_and_one_thread(tmp_path: Path) -> None:
    with Processes(1) as executor:
        executor.submit(job(tmp_path))
        assert collected(executor).failure is None
        there = Path(f"/proc/{worker_of(os.getpid())}")
        assert [os.readlink(there / "fd" / str(number)) for number in (0, 1)] == ["/dev/null"] * 2
        assert b"POLARS_MAX_THREADS=1" in (there / "environ").read_bytes().split(b"\0")


HOLDER = """
import json, sys, time
from waspbench.runner.executors import Processes
from waspbench.runner.job import Job
executor = Processes(1)
executor.submit(Job(0, 0, json.loads(sys.argv[1]), sys.argv[2], 60.0))
while not executor.collect():
    executor.advance(1.0)
print("made", flush=True)
time.sleep(600)
"""


def test_a_worker_ends_with_the_process_that_started_it_whatever_it_does(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, json.dumps(job(tmp_path).scenario), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "made\n"
        pid = worker_of(holder.pid)
        ended = os.pidfd_open(pid)
        os.kill(pid, signal.SIGSTOP)  # it sees no pipe close
        holder.kill()
    assert select.select([ended], [], [], SOON) == ([ended], [], [])
    os.close(ended)


SCRIPT = f"""
import os, sys
sys.path.insert(0, "somewhere:else")
from waspbench import study
os.chdir("/")
result = study({SWEEP!r}, output=sys.argv[1], jobs=2)
print(result.complete)
"""


@pytest.mark.parametrize("from_standard_input", [False, True])
def test_a_script_needs_no_guard(from_standard_input: bool, tmp_path: Path) -> None:
    # A process of "spawn" executes the script once more, and cannot where there is no file.
    script, out = tmp_path / "script.py", tmp_path / "out"
    script.write_text(SCRIPT)
    for other in ("json.py", "sitecustomize.py", "encodings.py"):
        (tmp_path / other).write_text("raise RuntimeError('the script has nothing to do with this')")
    command = [sys.executable, "-P", "-" if from_standard_input else str(script), str(out)]
    text = SCRIPT if from_standard_input else ""
    said = subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert (said.stdout, said.stderr) == ("True\n", "")
    assert [len(records_of(place)) for place in sorted(out.glob("points/*"))] == [1] * 3


ELSEWHERE = f"""
import os, sys
sys.path.insert(0, "copy")
from waspbench import study
os.chdir("/")
print(study({SWEEP!r}, output=sys.argv[1], jobs=2).complete)
"""


def test_a_worker_has_the_package_of_the_process_that_starts_it(tmp_path: Path) -> None:
    copy = tmp_path / "copy" / "waspbench"
    shutil.copytree(Path(worker.__file__).parents[1], copy, copy_function=os.symlink)
    program = copy / "runner" / "worker.py"
    text = program.read_text()
    program.unlink()
    used = tmp_path / "used"
    program.write_text(f"{text}\nopen({str(used)!r}, 'w').close()\n")
    command = [sys.executable, "-c", ELSEWHERE, str(tmp_path / "out")]
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert (said.stdout, said.stderr) == ("True\n", "")
    assert used.exists()
