"""`./run test` runs every stage and tells everything at its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import types
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import suite
from suite import FAILED, FULL, GATE, HUNG, LEFT_OUT, PASSED, Stage, run_all, told_by
from waiting import eventually, lives

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CARGO = """\
     Running unittests src/lib.rs (target/debug/deps/wasp_net-0123abc)
test queue::tests::first_in_first_out ... ok
test queue::tests::drops_at_the_tail ... FAILED
test result: FAILED. 1 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.01s
error: test failed, to rerun pass `-p wasp-net --lib`
     Running tests/link.rs (/elsewhere/debug/deps/link-0123abc)
test a_link_delays ... ok
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
     Running tests/abort.rs (target/debug/deps/abort-0123abc)
error: test failed, to rerun pass `-p wasp-net --test abort`
error: 2 targets failed:
    `-p wasp-net --lib`
    `-p wasp-net --test abort`
"""
COMPILER = """\
error[E0425]: cannot find value `x` in this scope
 --> crates/net/src/lib.rs:3:5
  |
error: could not compile `wasp-net` (lib) due to 1 previous error
"""
LINTERS = """\
tests/x.py:3:101: E501 Line too long (102 > 100)
python/waspbench/x.pyi:3: error: Name "x" is not defined  [name-defined]
Found 1 error.
Diff in /x/crates/net/src/lib.rs:3:
Would reformat: tests/x.py
1 file would be reformatted, 83 files already formatted
"""
PYTEST = """\
FAILED tests/x.py::test_a[1 - 2] - assert 1 == 2
ERROR tests/y.py - NameError: name 'z' is not defined
===== 1 failed, 1248 passed, 3 skipped, 137 deselected, 1 error in 248.94s (0:04:08) =====
"""


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "LOGS", tmp_path)
    monkeypatch.setattr(suite, "ROOT", tmp_path)
    monkeypatch.setattr(suite, "interrupts", [])


@pytest.fixture
def hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that stands still until the stage ``a`` has printed a number, and then is past all limits."""

    def clock() -> float:
        log = tmp_path / "a.log"
        printed = log.exists() and any(line.isdigit() for line in log.read_bytes().splitlines())
        return 1e6 if printed else 0.0

    monkeypatch.setattr(suite, "monotonic", clock)


def stage(
    name: str,
    *programs: str,
    minutes: float = 10.0,
    needs: Sequence[str] = (),
    excused: Mapping[int, str] = types.MappingProxyType({}),
) -> Stage:
    return Stage(name, name, minutes, [[sys.executable, "-c", program] for program in programs], needs, excused)


def outcomes(*chosen: Stage) -> list[str]:
    return [result.outcome for result in run_all(chosen)]


def test_every_stage_runs_though_one_failed() -> None:
    assert outcomes(stage("a", "exit(1)"), stage("b", "pass")) == [FAILED, PASSED]


def test_a_stage_without_what_it_needs_is_not_run_and_so_not_passed(capfd: pytest.CaptureFixture[str]) -> None:
    results = run_all([stage("a", "exit(1)"), stage("b", "print('b')", needs=("a",)), stage("c", "pass", needs=("b",))])
    assert [result.outcome for result in results] == [FAILED, LEFT_OUT, LEFT_OUT]
    assert "b: not run: it needs a" in suite.summary(results)
    assert "b\n" not in capfd.readouterr().out.splitlines()


def test_all_commands_of_a_stage_run_and_each_may_fail_it(capfd: pytest.CaptureFixture[str]) -> None:
    [result] = run_all([stage("a", "exit(1)", "print('second')")])
    assert result.outcome == FAILED
    assert "second" in capfd.readouterr().out
    assert "second" in result.log.read_text()


LEAVES = """
import os, signal, subprocess, time
child = subprocess.Popen(["sleep", "600"], start_new_session=OWN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
print(child.pid, flush=True)
"""


@pytest.mark.parametrize("own", [False, True], ids=["in its session", "in a session of its own"])
def test_a_command_that_hangs_is_ended_with_what_it_started(
    own: bool, hanging: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "GRACE", 0.0)
    suite.prctl(suite._SET_CHILD_SUBREAPER, 1)
    try:
        [result] = run_all([stage("a", LEAVES.replace("OWN", str(own)) + "time.sleep(600)")])
    finally:
        suite.prctl(suite._SET_CHILD_SUBREAPER, 0)
    assert result.outcome == HUNG
    [pid] = (int(line) for line in result.log.read_text().splitlines() if line.isdigit())
    assert result.told.failures == [f"{sys.executable}: ended after 10 min, its time limit"]
    assert eventually(lambda: not lives(pid), 30)


def test_a_command_that_hangs_tells_where(hanging: None) -> None:
    [result] = run_all([stage("a", "import time; print(1, flush=True); time.sleep(600)")])
    assert result.outcome == HUNG
    assert "KeyboardInterrupt" in result.log.read_text()
    slow = "test tcp::closes has been running for over 60 seconds"
    assert suite.of_command(HUNG, f"test tcp::opens ... ok\n{slow}\n").failures == [slow]


BEGUN = """
import os
import pytest

@pytest.hookimpl(trylast=True)
def pytest_runtest_logstart():
    if "PYTEST_XDIST_WORKER" not in os.environ:
        os.write(2, b"\\n1\\n")
"""
"""A plugin that prints a number once the process that reports has heard of a test that has begun."""


@pytest.mark.parametrize("more", [["-n0"], ["-n2"]], ids=" ".join)
def test_a_test_that_hangs_is_told_by_its_name(
    more: list[str], hanging: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parent}:{tmp_path}")
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    (tmp_path / "test_it.py").write_text("import time\n\ndef test_hangs(): time.sleep(600)\n")
    (tmp_path / "begun.py").write_text(BEGUN)
    words = [sys.executable, "-m", "pytest", *suite.WORKERS, *more, "-p", "conftest", "-p", "begun"]
    [result] = run_all([Stage("a", "a", 10.0, [[*words, "test_it.py"]])])
    assert result.outcome == HUNG
    assert result.told.failures == ["ERROR test_it.py::test_hangs - it was interrupted"]


MAIN = """
import sys
import suite
from pathlib import Path
suite.LOGS = suite.ROOT = Path.cwd()
suite.LOGS /= "logs"
commands = [[sys.executable, "-c", program] for program in sys.argv[1:]]
suite.stages = lambda *_: [suite.Stage(f"stage-{n}", "rust", 10.0, [each]) for n, each in enumerate(commands)]
sys.exit(suite.main(["rust"]))
"""


def mind_interrupts() -> None:
    """Takes the signals as they are by default; nohup and shells ignore some for what they start."""
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_DFL)


def started(directory: Path, *programs: str) -> subprocess.Popen[str]:
    """The command with a stage for each program."""
    words = [sys.executable, "-c", MAIN, *programs]
    path = os.environ | {"PYTHONPATH": str(Path(suite.__file__).parent)}
    return subprocess.Popen(
        words,
        cwd=directory,
        env=path,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=mind_interrupts,
    )


INCONCLUSIVE = """
import os
with open(os.environ["WASP_INCONCLUSIVE"], "a") as notes:
    notes.write("INCONCLUSIVE x - y\\n")
"""


@pytest.mark.parametrize(
    ("programs", "status", "verdict"),
    [
        (["pass", "pass"], 0, "passed"),
        (["exit(1)", "pass"], 1, "failed: stage-0"),
        (["pass", "exit(2)"], 1, "failed: stage-1"),
        ([INCONCLUSIVE, "pass"], 75, "inconclusive: stage-0"),
        ([INCONCLUSIVE, "exit(1)"], 1, "failed: stage-1"),
        (["exit(75)", "pass"], 1, "failed: stage-0"),
    ],
)
def test_the_exit_status_is_that_of_the_verdict(programs: list[str], status: int, verdict: str, tmp_path: Path) -> None:
    with started(tmp_path, *programs) as process:
        output, _ = process.communicate(timeout=300)
    assert process.returncode == status
    assert output.endswith(f"\nverdict: {verdict}\n")


@pytest.mark.parametrize("twice", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("number", INTERRUPTS)
def test_an_interrupt_ends_the_command_and_the_table_is_shown(number: int, twice: bool, tmp_path: Path) -> None:
    minds = "signal.signal(signal.SIGINT, lambda *_: print('asked', flush=True)); " if twice else ""
    hangs = f"import os, signal, time\n{minds}\nprint(os.getpid(), flush=True)\nwhile True: time.sleep(600)"
    with started(tmp_path, hangs, "pass") as process:
        assert process.stdout is not None
        pid = next(int(line) for line in process.stdout if line.strip().isdigit())
        process.send_signal(number)
        if twice:
            assert "asked\n" in process.stdout
            process.send_signal(number)
        rest = process.stdout.read()
    assert process.returncode == 130
    assert "stage-1: not run: interrupted\n" in rest
    assert rest.endswith("verdict: interrupted\n")
    assert not lives(pid)


def test_a_command_that_leaves_a_process_with_its_output_behind_ends() -> None:
    leaves = "import subprocess; subprocess.Popen(['sleep', '600'])"
    assert outcomes(stage("a", leaves)) == [PASSED]


def test_a_program_that_is_not_there_fails_its_stage() -> None:
    [result] = run_all([Stage("a", "a", 1.0, [["no-such-program"]])])
    assert result.outcome == FAILED
    assert result.told.failures == ["no-such-program: No such file or directory"]


def test_failed_tests_are_found_in_what_cargo_prints() -> None:
    told = told_by(CARGO)
    assert told.counts == (2, 1, 2)
    aborted = "error: test failed, to rerun pass `-p wasp-net --test abort`"
    assert told.failures == ["wasp_net queue::tests::drops_at_the_tail", aborted]
    assert told_by(COMPILER).failures == [
        "crates/net/src/lib.rs:3:5: error[E0425]: cannot find value `x` in this scope",
        "error: could not compile `wasp-net` (lib) due to 1 previous error",
    ]


def test_what_linters_find_is_found_in_what_they_print() -> None:
    lines = LINTERS.splitlines()
    assert told_by(LINTERS).failures == [*lines[:2], *lines[3:5]]
    assert told_by("    TOO MANY: web has 3.00 % more\n").failures == ["TOO MANY: web has 3.00 % more"]


def test_failed_tests_are_found_in_what_pytest_prints() -> None:
    told = told_by(PYTEST)
    assert told.counts == (1248, 2, 3)
    assert told.failures == PYTEST.splitlines()[:2]
    assert told_by("1 failed, 3 passed in 0.10s\n").counts == (3, 1, 0)
    assert told_by(
        "\x1b[31m=== \x1b[31m\x1b[1m2 failed\x1b[0m, \x1b[32m1 passed\x1b[0m in 0.10s\x1b[0m ===\n"
    ).counts == (1, 2, 0)


def test_the_summary_names_what_failed_where_to_read_more_and_one_verdict() -> None:
    failing = stage("a", "print('FAILED tests/x.py::test_a - no'); exit(1)")
    lines = list(suite.summary(run_all([failing, stage("b", "print('== 7 passed in 1.00s ==')")])))
    assert lines[-4:-2] == ["a: FAILED tests/x.py::test_a - no", "a: log a.log"]
    assert lines[-2:] == ["7 passed, 0 failed, 0 skipped, 0 inconclusive", "verdict: failed: a"]
    assert list(suite.summary(run_all([stage("b", "pass")])))[-1] == "verdict: passed"


MEASURES = """
import os
with open(os.environ["WASP_INCONCLUSIVE"], "a") as notes:
    notes.write("NOTE")
print("test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s")
"""
"""What tests in Rust do."""


def test_what_tests_in_rust_note_is_told_and_is_not_passed() -> None:
    unstable = "UNSTABLE receivers::a_slow_reader - 3 s"
    inconclusive = "INCONCLUSIVE receivers::a_long_transfer - 4 s, but the hypervisor took 9.0% of the CPUs"
    noting = [MEASURES.replace("NOTE", f"{note}\\n") for note in (unstable, inconclusive, "")]
    results = run_all([stage("a", noting[0]), stage("b", *noting[1:]), stage("c", "pass")])
    assert [result.outcome for result in results] == [PASSED, suite.INCONCLUSIVE, PASSED]
    lines = list(suite.summary(results))
    assert lines[-5:] == [
        "b: log b.log",
        f"a: {unstable}",
        f"b: {inconclusive}",
        "8 passed, 0 failed, 0 skipped, 1 inconclusive",
        "verdict: inconclusive: b",
    ]
    assert lines[2].split()[-5:] == ["5", "0", "0", "1", "inconclusive"]


def test_what_failed_beside_what_is_inconclusive_fails() -> None:
    [result] = run_all([stage("a", MEASURES.replace("NOTE", "INCONCLUSIVE x - y\\n") + "exit(101)")])
    assert result.outcome == FAILED


def test_an_excused_status_is_told_and_fails_nothing() -> None:
    results = run_all([stage("a", "print('no valgrind'); exit(3)", excused={3: "NOT CHECKED"}), stage("b", "pass")])
    lines = list(suite.summary(results))
    assert lines[1].endswith("  NOT CHECKED")
    assert lines[-4:-2] == ["a: no valgrind", "a: log a.log"]
    assert suite.verdict(results) == PASSED
    assert outcomes(stage("a", "exit(4)", excused={3: "NOT CHECKED"})) == [FAILED]


@pytest.mark.parametrize(
    ("other", "verdict"), [("exit(5)", "failed: no test selected"), ("print('= 1 passed in 1s =')", PASSED)]
)
def test_a_selection_of_no_test_at_all_does_not_pass(other: str, verdict: str) -> None:
    results = run_all(
        [stage("a", "exit(5)", excused={5: suite.NONE_SELECTED}), stage("b", other, excused={5: suite.NONE_SELECTED})]
    )
    assert suite.verdict(results) == verdict


def test_the_parts_bring_the_stages_that_they_need() -> None:
    known = suite.stages("uv", ["-k", "loss"])
    assert [each.name for each in suite.chosen_by(["python"], known)] == ["tools", "programs", "build", "python"]
    assert [each.name for each in suite.chosen_by(["live"], known)] == [
        "tools",
        "programs",
        "servers",
        "build-release",
        "live",
    ]
    assert {each.part for each in known} == {"", *suite.PARTS}
    assert {*GATE, *FULL} <= {*suite.PARTS}
    assert set(GATE) < set(FULL)
    for number, each in enumerate(known):
        assert {before.name for before in known[:number]} >= set(each.needs), "what is needed comes first"


def test_arguments_for_pytest_ask_for_tests_in_python() -> None:
    assert suite.asked(["--", "-k", "loss", "--", "x"]) == (["python"], ["-k", "loss", "--", "x"])
    assert suite.asked(["--full", "--", "-k", "loss"]) == (["python", "release", "live"], ["-k", "loss"])
    commands = {each.name: each.commands[-1] for each in suite.stages("uv", ["-k", "loss"])}
    assert commands["python"][-2:] == ["-k", "loss"]
    assert commands["live"][-3:] == ["--only-full", "-k", "loss"]


def test_full_adds_to_the_parts_that_are_named() -> None:
    assert suite.asked([]) == (list(GATE), [])
    assert suite.asked(["--full"]) == (list(FULL), [])
    assert suite.asked(["rust", "fuzz"]) == (["rust", "fuzz"], [])
    assert suite.asked(["--full", "rust"]) == (["rust", "kernel", "examples"], [])
    assert suite.asked(["python", "--full"]) == (["python", "release", "live"], [])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "nonsense: unknown; valid: rust, "),
        (["--ful"], "--ful"),
        (["-k", "loss"], "-k"),
        (["rust", "--", "-x"], "-- -x: for pytest"),
    ],
)
def test_what_is_wrong_with_the_command_line_is_told(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        suite.asked(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_shares_of_the_cpus_are_those_of_the_time_between() -> None:
    before = suite.Load(total=100.0, busy=40.0, steal=5.0, own=10.0)
    steal, others = suite.Load(total=120.0, busy=52.0, steal=6.0, own=20.0).since(before)
    assert (steal, others) == (0.05, 0.1)
    assert before.since(before) == (0.0, 0.0)
    now = suite.Load.now()
    assert now.total > now.busy > 0.0
