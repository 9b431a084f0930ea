"""`./run test` runs every stage and tells everything at its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
import types
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import conftest
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
    assert "b" not in capfd.readouterr().out.splitlines()


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
    suite.prctl(suite.SET_CHILD_SUBREAPER, 1)
    try:
        [result] = run_all([stage("a", LEAVES.replace("OWN", str(own)) + "time.sleep(600)")])
    finally:
        suite.prctl(suite.SET_CHILD_SUBREAPER, 0)
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


@pytest.mark.parametrize("own", [False, True], ids=["in its session", "in a session of its own"])
def test_a_command_that_leaves_a_process_with_its_output_behind_ends_and_so_does_that(own: bool) -> None:
    leaves = f"import subprocess; print(subprocess.Popen(['sleep', '600'], start_new_session={own}).pid, flush=True)"
    suite.prctl(suite.SET_CHILD_SUBREAPER, 1)
    try:
        [result] = run_all([stage("a", leaves)])
    finally:
        suite.prctl(suite.SET_CHILD_SUBREAPER, 0)
    assert result.outcome == PASSED
    [pid] = (int(line) for line in result.log.read_text().splitlines() if line.isdigit())
    assert eventually(lambda: not lives(pid), 30)


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
    known = suite.stages("uv", suite.Asked([], ["-k", "loss"]))
    assert [each.name for each in suite.chosen_by(["python"], known)] == ["tools", "programs", "build", "python"]
    assert [each.name for each in suite.chosen_by(["live"], known)] == [
        "tools",
        "programs",
        "servers",
        "build-release",
        "browser",
        "live",
    ]
    assert {each.part for each in known} == {"", *suite.PARTS}
    assert {*GATE, *FULL} <= {*suite.PARTS}
    assert set(GATE) < set(FULL)
    for number, each in enumerate(known):
        assert {before.name for before in known[:number]} >= set(each.needs), "what is needed comes first"


def asked(*arguments: str) -> tuple[Sequence[str], Sequence[str]]:
    """The parts that run, and the arguments for pytest."""
    found = suite.read(list(arguments))
    return found.parts, found.pytest_arguments


def test_arguments_for_pytest_ask_for_tests_in_python() -> None:
    assert asked("--", "-k", "loss", "--", "x") == (["python"], ["-k", "loss", "--", "x"])
    assert asked("--full", "--", "-k", "loss") == (["python", "release", "live"], ["-k", "loss"])
    commands = {each.name: each.commands[-1] for each in suite.stages("uv", suite.read(["--", "-k", "loss"]))}
    assert commands["python"][-2:] == ["-k", "loss"]
    assert commands["live"][-2:] == ["-k", "loss"]


def test_full_adds_to_the_parts_that_are_named() -> None:
    assert asked() == (list(GATE), [])
    assert asked("--full") == (list(FULL), [])
    assert asked("rust", "fuzz") == (["rust", "fuzz"], [])
    assert asked("--full", "rust") == (["rust", "kernel", "examples"], [])
    assert asked("python", "--full") == (["python", "release", "live"], [])


def test_the_gate_has_a_fixed_seed_and_the_full_suite_another_one_each_time() -> None:
    assert {suite.read(["rust"]).seed, suite.read([]).seed} == {suite.SEED}
    assert suite.read(["--full", "--seed", "7"]).seed == 7
    drawn = {suite.read(["--full"]).seed for _ in range(5)}
    assert len(drawn) > 1
    assert all(1 <= seed <= suite.LARGEST_SEED for seed in drawn)


def test_whoever_runs_the_tests_alone_has_the_seed_of_the_gate() -> None:
    root = Path(suite.__file__).parents[1]
    environment = tomllib.loads((root / ".cargo/config.toml").read_text())["env"]
    assert environment["PROPTEST_RNG_SEED"] == str(suite.SEED)
    options = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["addopts"]
    assert f"--hypothesis-seed={suite.SEED}" in options


def test_whatever_draws_is_given_the_seed() -> None:
    commands = {each.name: each.commands[-1] for each in suite.stages("uv", suite.read(["--seed", "4711"]))}
    seeded = {name for name, command in commands.items() if any("4711" in word for word in command)}
    assert seeded == set(suite.WITH_SEED)


def test_each_fuzz_target_draws_from_inputs_in_the_repository() -> None:
    fuzz = Path(suite.__file__).parents[1] / "fuzz"
    targets = {target.stem for target in (fuzz / "fuzz_targets").glob("*.rs")}
    assert {seeds.name for seeds in (fuzz / "seeds").iterdir() if any(seeds.iterdir())} == targets


DRAWS = """
from hypothesis import given, strategies

@given(strategies.integers())
def test_it(drawn):
    with open("drawn-NUMBER", "a") as before:
        print(drawn, file=before)
"""


def test_a_seed_draws_the_same_again_and_another_one_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parent}:{tmp_path}")
    monkeypatch.setenv("CI", "true")  # where hypothesis would draw the same with each seed
    drawn = []
    for number, seed in enumerate([5, 5, 6]):
        (tmp_path / "test_it.py").write_text(DRAWS.replace("NUMBER", str(number)))
        words = ["-m", "pytest", "-n0", "-p", "conftest", f"--hypothesis-seed={seed}", "test_it.py"]
        subprocess.run([sys.executable, *words], cwd=tmp_path, check=True, capture_output=True)
        drawn.append((tmp_path / f"drawn-{number}").read_text())
    assert drawn[0] == drawn[1] != drawn[2]


def test_the_seed_stands_at_the_end_where_something_draws() -> None:
    results = run_all([stage("a", "pass")])
    assert list(suite.summary(results, 7))[-2] == "seed 7: what was drawn is drawn again with --seed 7"
    assert "seed" not in "".join(suite.summary(results))


RUST_SKIPS = """\
test tshark::finds_no_malformed_packet ...
SKIPPED tshark: not installed: tshark
ok
SKIPPED tun::reads: needs root and /dev/net/tun
SKIPPED tun::reads: needs root and /dev/net/tun
test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
SKIPPED [312] scripts for the kernel: needs root and /dev/net/tun
test result: ok. 4 passed; 0 failed; 312 ignored; 0 measured; 0 filtered out; finished in 0.01s
"""
PYTEST_SKIPS = """\
SKIPPED [2] tests/x.py:12: needs two CPUs
SKIPPED [1] tests/y.py:30: this machine cannot: who asks: needs root
== 10 passed, 3 skipped in 1.00s ==
"""


def failures(results: Sequence[suite.Result]) -> list[str]:
    """What these stages say that failed."""
    return [line for result in results for line in result.told.failures]


def test_skipped_tests_are_found_in_what_cargo_and_pytest_print() -> None:
    told = told_by(RUST_SKIPS)
    assert told.counts == (3 + 4, 0, 2 + 312)
    said = [line for line in RUST_SKIPS.splitlines() if line.startswith("SKIPPED ")]
    assert told.skips == [said[0], *said[2:]]
    assert told_by(PYTEST_SKIPS).counts == (10, 0, 3)
    assert told_by("SKIPPED fuzz targets: there is no C++ compiler\n").counts == (0, 0, 1)


def test_only_what_no_package_provides_may_be_missing_where_no_test_may_be_skipped() -> None:
    skipping = [stage(name, f"print({text!r})") for name, text in (("a", RUST_SKIPS), ("b", PYTEST_SKIPS))]
    results = run_all(skipping, no_skips=True)
    assert [result.outcome for result in results] == [FAILED, FAILED]
    assert [line.partition(" (not one of")[0] for line in failures(results)] == [
        "SKIPPED tshark: not installed: tshark",
        "SKIPPED [1] tests/y.py:30: this machine cannot: who asks: needs root",
    ]


def test_skipped_tests_are_listed_and_fail_nothing_where_tests_may_be_skipped() -> None:
    results = run_all([stage("a", f"print({PYTEST_SKIPS!r})")])
    assert [result.outcome for result in results] == [PASSED]
    assert "a: SKIPPED [2] tests/x.py:12: needs two CPUs" in suite.summary(results)


def test_a_skip_without_a_reason_may_not_be() -> None:
    listed = stage("a", "print('SKIPPED [2] tests/x.py:12: needs two CPUs'); print('= 1 passed, 2 skipped in 1s =')")
    silent = stage("b", "print('test result: ok. 1 passed; 0 failed; 2 ignored; 0 measured')")
    [failure] = failures(run_all([listed, silent], no_skips=True))
    assert failure.startswith("SKIPPED [2] tests: without a reason ")


def test_instructions_that_a_missing_program_could_not_count_are_skipped() -> None:
    lines = {
        "skipped: NOT CHECKED: instructions cannot be counted without valgrind": FAILED,
        "NOT CHECKED: the baseline is of rustc 1.90, this is rustc 1.91": "NOT CHECKED",
    }
    for line, outcome in lines.items():
        counting = stage("a", f"print({line!r}); exit(3)", excused={3: "NOT CHECKED"})
        assert [result.outcome for result in run_all([counting], no_skips=True)] == [outcome]


def test_an_inconclusive_test_is_not_a_skipped_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    (tmp_path / "test_it.py").write_text(
        "from measuring import InconclusiveError\n\ndef test_it(): raise InconclusiveError('others had the CPUs')\n"
    )
    words = [sys.executable, "-m", "pytest", "-n0", "-ra", "-p", "conftest", "test_it.py"]
    [result] = run_all([Stage("a", "a", 10.0, [words], excused={75: suite.INCONCLUSIVE})], no_skips=True)
    assert result.outcome == suite.INCONCLUSIVE


def test_ci_lets_no_test_be_skipped() -> None:
    assert " --no-skips " in (Path(suite.__file__).parents[1] / ".ci/run").read_text()


HANGS = """
import signal, threading, time

def test_sleeps(): time.sleep(600)
def test_waits(): threading.Event().wait()
def test_passes(): pass
def test_minds_no_signal():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    time.sleep(600)
"""


def told_of_hangs(directory: Path, *more: str) -> suite.Told:
    """What is told of tests that hang with a limit of a second."""
    (directory / "tests").mkdir()
    (directory / "tests/test_it.py").write_text(HANGS)
    limits = ["timeout=1", "timeout_method=signal", "faulthandler_timeout=3", "faulthandler_exit_on_timeout=true"]
    words = ["-m", "pytest", "-n0", *(word for limit in limits for word in ("-o", limit)), *more]
    done = subprocess.run([sys.executable, *words], cwd=directory, capture_output=True, text=True, check=False)
    return suite.of_command(FAILED, done.stdout + done.stderr)


def test_a_test_that_never_ends_fails_and_the_others_run(tmp_path: Path) -> None:
    told = told_of_hangs(tmp_path, "--deselect=tests/test_it.py::test_minds_no_signal")
    assert told.counts == (1, 2, 0)
    assert told.failures[0].startswith("FAILED tests/test_it.py::test_sleeps - ")


def test_a_test_that_cannot_be_interrupted_is_named(tmp_path: Path) -> None:
    [failure] = told_of_hangs(tmp_path, "-k", "test_minds_no_signal").failures
    assert failure.endswith("/tests/test_it.py:9: test_minds_no_signal did not end and could not be interrupted")


def test_every_test_in_python_has_a_time_limit() -> None:
    text = (Path(suite.__file__).parents[1] / "pyproject.toml").read_text()
    options = tomllib.loads(text)["tool"]["pytest"]["ini_options"]
    assert 0 < options["timeout"] < conftest.FULL_TIMEOUT < options["faulthandler_timeout"]
    assert options["faulthandler_exit_on_timeout"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "nonsense: unknown; valid: rust, "),
        (["--ful"], "--ful"),
        (["-k", "loss"], "-k"),
        (["rust", "--", "-x"], "-- -x: for pytest"),
        (["--seed", "0"], "0: no seed; valid: 1 to 4294967295"),
        (["--seed", "4294967296"], "4294967296: no seed"),
        (["--seed", "x"], "x: no seed"),
        (["lint", "--seed", "7"], "--seed 7: for random tests"),
    ],
)
def test_what_is_wrong_with_the_command_line_is_told(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        suite.read(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_shares_of_the_cpus_are_those_of_the_time_between() -> None:
    before = suite.Load(total=100.0, busy=40.0, steal=5.0, own=10.0)
    steal, others = suite.Load(total=120.0, busy=52.0, steal=6.0, own=20.0).since(before)
    assert (steal, others) == (0.05, 0.1)
    assert before.since(before) == (0.0, 0.0)
    now = suite.Load.now()
    assert now.total > now.busy > 0.0
