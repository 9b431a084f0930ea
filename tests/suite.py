"""Runs the stages of a suite of tests and tells at the end what became of each: `./run test`, `./run lint`, `.ci/run`.

Every stage runs, also after another one has failed, unless it needs what that one makes. Each command of a stage has a
time limit. The end is a table of the stages, a line for each failed test, and one verdict.

This module uses the standard library alone, since it runs before anything is installed.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import random
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "target" / "suite"
GRACE = 10.0
"""Seconds between the interrupt that asks a command to end and the signal that ends it."""
POLL = 0.2
"""Seconds after which a command that says nothing is looked at."""
SHOWN = 40
"""Failed tests of one stage that the end lists."""

WITH_KERNEL = ("wasp-io", "wasp-server", "wasp-fetch")
"""The crates whose tests use the kernel's clock and sockets."""
PYTHON = ("python", "tests", "benches", "examples")
"""The folders with code in Python."""
WORKERS = ("--numprocesses", "auto", "--maxprocesses", "8", "--dist", "worksteal")
"""The tests of the gate have nothing in common; those of the full suite measure, and run one by one."""
PROFILE = ("--profile", "ci")
"""What tests in Rust and the engine of tests in Python are built with."""
INSTRUCTIONS = (".venv/bin/python", "benches/perf.py", "instructions", "--if-changed")

# What became of a command or a stage.
PASSED, FAILED, HUNG, LEFT_OUT, INTERRUPTED = "passed", "FAILED", "FAILED: time limit", "not run", "interrupted"
NOT_CHECKED = "NOT CHECKED"
"""Something that a count is held against is missing; this fails nothing."""
NONE_SELECTED = "no test selected"
"""By the arguments for pytest; this fails nothing if another stage has some."""
INCONCLUSIVE = "inconclusive"
"""Others had the machine, so that tests which measure could not tell. Such a stage has neither failed nor passed."""
ALLOWED_SKIPS = (
    "needs root",
    "needs /dev/net/tun",
    "needs root and /dev/net/tun",
    "needs CAP_SYS_NICE",
    "needs a writable /proc/sys",
    "needs two CPUs",
    "needs a little-endian kernel",
)
"""The reasons for which ``--no-skips`` lets a test be skipped: privileges and hardware, which no package provides."""
NOTES = "WASP_INCONCLUSIVE"
"""The environment variable that names the file to which an inconclusive or unstable test in Rust adds a line."""

_FAILED, _UNDECIDED, _INTERRUPTED = 1, 75, 130  # exit status
SET_PARENT_DEATH_SIGNAL, SET_CHILD_SUBREAPER = 1, 36  # of prctl

STATUSES = f"""\
exit status:
  0   passed
  {_FAILED}   failed
  2   wrong arguments
  {_UNDECIDED}  nothing failed, and tests that measure are inconclusive
  {_INTERRUPTED} interrupted\
"""

SEED = 1
"""The seed of the gate's random tests."""
LARGEST_SEED = 2**32 - 1
"""A seed has 32 bits in all that draws, and libFuzzer draws one of its own in place of 0."""

interrupts: list[int] = []
"""Signals that asked this process to end."""


@dataclass(frozen=True)
class Stage:
    """A step of a suite: commands that run one after another, also after one has failed."""

    name: str
    part: str
    """The word of `./run test` that asks for it."""
    minutes: float
    """The time limit of each command."""
    commands: Sequence[Sequence[str]]
    needs: Sequence[str] = ()
    """The stages without whose success this one is not run."""
    excused: Mapping[int, str] = field(default_factory=dict)
    """What an exit status means that is not 0 and yet fails nothing."""


@dataclass
class Told:
    """What the output of a stage tells of its tests."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)
    """A line for each test that failed, or for each other error."""
    inconclusive: list[str] = field(default_factory=list)
    """A line for each test that was neither passed nor failed."""
    unstable: list[str] = field(default_factory=list)
    """A line for each test that passed in two of three attempts."""
    skips: list[str] = field(default_factory=list)
    """A line for each place and reason of skipped tests."""

    @property
    def counts(self) -> tuple[int, int, int]:
        """Tests that passed, that failed and that were skipped."""
        return self.passed, self.failed, self.skipped

    def count(self, passed: int, failed: int, skipped: int) -> None:
        """Adds what one program counts."""
        self.passed += passed
        self.failed += failed
        self.skipped += skipped

    def add(self, other: Told) -> None:
        """Adds what another command tells."""
        self.count(*other.counts)
        self.failures += other.failures
        self.inconclusive += other.inconclusive
        self.unstable += other.unstable
        self.skips += other.skips


@dataclass(frozen=True)
class Result:
    """What became of a stage."""

    stage: Stage
    outcome: str
    seconds: float = 0.0
    steal: float = 0.0
    """The share of the CPUs' time, 0 to 1, that the hypervisor gave to others."""
    others: float = 0.0
    """The share that processes had which the stage did not start."""
    told: Told = field(default_factory=Told)
    why: str = ""
    """Why it was not run."""

    @property
    def wrong(self) -> bool:
        """Whether the suite fails for it."""
        return self.outcome not in (PASSED, INCONCLUSIVE, *self.stage.excused.values())

    @property
    def log(self) -> Path:
        """The output of the stage."""
        return log_of(self.stage)


@dataclass(frozen=True)
class Asked:
    """What the command line asks for."""

    parts: Sequence[str]
    pytest_arguments: Sequence[str] = ()
    seed: int = SEED
    """The seed of random tests: properties in Rust and in Python, and fuzz targets."""
    no_skips: bool = False
    """Whether a skipped test fails unless its reason is one of `ALLOWED_SKIPS`."""


def log_of(stage: Stage) -> Path:
    """Where the output of a stage is kept."""
    return LOGS / f"{stage.name}.log"


def stages(uv: str, asked: Asked) -> list[Stage]:
    """Every stage, in the order in which they run: what takes seconds to fail comes before what is compiled."""
    pytest_arguments = asked.pytest_arguments
    tool = ".venv/bin/"
    sync = [uv, "sync", "--locked", "--quiet", "--no-install-project", "--inexact"]
    ruff = [f"{tool}ruff", "check", "--output-format=concise", *PYTHON], [f"{tool}ruff", "format", "--check", *PYTHON]
    clippy = ["cargo", "clippy", *PROFILE, "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]
    # In words of the command, so that what the log shows can be run again.
    cargo_test = ["env", f"PROPTEST_RNG_SEED={asked.seed}", "cargo", "test", *PROFILE, "--locked", "--no-fail-fast"]
    others = ["--workspace", *(word for name in WITH_KERNEL for word in ("--exclude", name))]
    # With the binding, which has no tests: all stages share what is compiled where they ask for the same features.
    with_kernel = [word for name in ("wasp-py", *WITH_KERNEL) for word in ("-p", name)]
    pytest, none = f"{tool}pytest", {5: NONE_SELECTED} if pytest_arguments else {}
    measuring = {**none, _UNDECIDED: INCONCLUSIVE}
    seeded = f"--hypothesis-seed={asked.seed}"
    gate_tests = [pytest, *WORKERS, seeded, *pytest_arguments]
    return [
        Stage("tools", "", 15, [sync]),
        Stage("rustfmt", "lint", 2, [["cargo", "fmt", "--all", "--check"]]),
        Stage("ruff", "lint", 2, ruff, ["tools"]),
        Stage("mypy", "lint", 5, [[f"{tool}mypy"]], ["tools"]),
        Stage("programs", "", 15, [["./run", "packages"]]),
        Stage("servers", "", 15, [["./run", "packages", "--full"]]),
        Stage("build", "", 30, [["./run", "build", "ci"]], ["tools"]),
        Stage("stubtest", "lint", 5, [[f"{tool}stubtest", "waspbench._core"]], ["build"]),
        Stage("clippy", "lint", 30, [clippy]),
        Stage("rust", "rust", 30, [[*cargo_test, *others, "--tests"]], ["programs"]),
        Stage("python", "python", 30, [gate_tests], ["programs", "build"], none),
        Stage("instructions", "instructions", 15, [INSTRUCTIONS], ["programs", "build"], {3: NOT_CHECKED}),
        Stage("kernel", "kernel", 30, [[*cargo_test, *with_kernel, "--tests"]], ["servers"]),
        Stage("examples", "examples", 15, [[*cargo_test, "--workspace", "--doc"]]),
        Stage("fuzz", "fuzz", 30, [["./run", "fuzz", str(asked.seed)]]),
        # The engine that is released takes the place of the one for tests.
        Stage("build-release", "", 30, [["./run", "build"]], ["tools"]),
        Stage("browser", "", 15, [[*sync, "--group", "e2e"]], ["build-release"]),
        Stage("release", "release", 30, [gate_tests], ["programs", "build-release"], none),
        Stage(
            "live",
            "live",
            60,
            [[pytest, "--only-full", seeded, *pytest_arguments]],
            ["programs", "servers", "build-release", "browser"],
            measuring,
        ),
    ]


PARTS = {
    "rust": "tests in Rust, but for those of the kernel's clock and sockets",
    "python": "tests in Python whose verdict does not depend on real time",
    "kernel": "tests in Rust of the kernel's clock and sockets",
    "examples": "the examples in the documentation of the crates",
    "fuzz": "each fuzz target with 100,000 inputs",
    "release": "those of the part python again, with the engine that is released",
    "live": "the other tests in Python",
    "lint": "formatters, linters and type checkers",
    "instructions": "what fixed simulations execute, against a baseline",
}
GATE = ("rust", "python")
"""What `./run test` runs."""
FULL = ("rust", "python", "kernel", "examples", "fuzz", "release", "live")
"""What `./run test --full` runs."""
MORE = {"rust": ("kernel", "examples"), "python": ("release", "live")}
"""What `--full` adds to a part."""
WITH_PYTEST = ("python", "release", "live")
"""The parts that take arguments for pytest."""
WITH_SEED = ("rust", "kernel", "examples", "fuzz", *WITH_PYTEST)
"""The parts with random tests."""

_WRONG = (
    r"(FAILED|ERROR) \S",  # pytest
    r"\S+\.pyi?:\d+:(\d+:| error:) ",  # ruff and mypy
    r"(Diff in|Would reformat:) ",  # rustfmt and ruff
    r"\s+TOO MANY: ",  # the gate of instructions
    r"error(\[\w+\])?: (?!\d+ targets? failed)",  # cargo and compilers
)
_SUM = re.compile(r"(?:=+ )?(\d+ \w+(?:, \d+ \w+)*) in [\d.]+s\b")


def told_by(text: str) -> Told:
    """Reads what pytest, cargo, Rust's tests, linters and the gate of instructions print."""
    told = Told()
    binary, of_binary = "", 0  # the test program, and how many failures were known before it
    text = re.sub(r"\x1b\[[\d;]*m", "", text)
    for line in text.splitlines():
        if match := re.match(r"\s+Running .*?([^/\s]+)-[0-9a-f]+\)$|\s+Doc-tests (\S+)", line):
            binary, of_binary = match[1] or match[2], len(told.failures)
        elif match := re.match(r"test (.+) \.\.\. FAILED", line):
            told.failures.append(f"{binary} {match[1]}".strip())
        elif match := re.match(r"test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored", line):
            told.count(*map(int, match.groups()))
        elif line.startswith("error: test failed") and len(told.failures) > of_binary:
            pass  # its failed tests are known by name
        elif any(re.match(pattern, line) for pattern in _WRONG):
            told.failures.append(line.strip())
        elif line.startswith("INCONCLUSIVE "):
            told.inconclusive.append(line)
        elif line.startswith("UNSTABLE "):
            told.unstable.append(line)
        elif (match := re.match(r"\s+--> (\S+)$", line)) and told.failures and told.failures[-1].startswith("error"):
            told.failures[-1] = f"{match[1]}: {told.failures[-1]}"
        elif match := _SUM.match(line):
            words = ("passed", "failed|errors?", "skipped")
            told.count(*(sum(map(int, re.findall(rf"(\d+) (?:{word})\b", match[1]))) for word in words))
    tell_skips(told, text)
    tell_hangs(told, text)
    return told


_SKIPPED = re.compile(r"SKIPPED (?:\[(\d+)\] )?.+?: (.*)")
"""A line about skipped tests: their number, where the test program counts them as skipped; their place; the reason."""


def tell_skips(told: Told, text: str) -> None:
    """Adds the lines about skipped tests, and one for those that no line is about."""
    text = re.sub(r"(?m)^.*NOT CHECKED: .* without (\S+)$", r"SKIPPED instructions: not installed: \1", text)
    # A test may say it more than once.
    told.skips = list(dict.fromkeys(line for line in text.splitlines() if _SKIPPED.match(line)))
    counts = [match[1] for match in map(_SKIPPED.match, told.skips) if match]
    # A test in Rust that returns early is counted as passed.
    returned = counts.count(None)
    untold = told.skipped - sum(int(count) for count in counts if count)
    told.passed, told.skipped = max(told.passed - returned, 0), told.skipped + returned
    if untold > 0:
        told.skips.append(f"SKIPPED [{untold}] tests: without a reason")


def tell_hangs(told: Told, text: str) -> None:
    """Adds the test whose process faulthandler ended, since no signal interrupted it: nothing else names it."""
    stack = r"(?ms)Timeout \([\d:]+\)!$.*?File \"(\S*/tests/\S+)\", line (\d+) in (test_\w+)$"
    if match := re.search(stack, text):
        told.failures.append(f"ERROR {match[1]}:{match[2]}: {match[3]} did not end and could not be interrupted")


def slow_in(text: str) -> list[str]:
    """Rust's tests that were said to have been running for long: where a command hung, perhaps in one of them."""
    return [match[0] for match in re.finditer(r"^test .+ has been running for over .*$", text, re.MULTILINE)]


@dataclass(frozen=True)
class Load:
    """Time of the CPUs since the machine started, and of this process's descendants that ended, in seconds."""

    total: float
    busy: float
    steal: float
    own: float

    @classmethod
    def now(cls) -> Load:
        """What the kernel counts."""
        ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        user, nice, system, *_, steal = (count / os.sysconf("SC_CLK_TCK") for count in ticks)
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        own = sum(times.ru_utime + times.ru_stime for times in used)
        return cls(sum(ticks) / os.sysconf("SC_CLK_TCK"), user + nice + system, steal, own)

    def since(self, before: Load) -> tuple[float, float]:
        """Shares of the CPUs' time from ``before`` to this: that of the hypervisor and that of others."""
        total = self.total - before.total
        if total <= 0:
            return 0.0, 0.0
        others = (self.busy - before.busy) - (self.own - before.own)
        return (self.steal - before.steal) / total, max(0.0, others / total)


def run(stage: Stage, no_skips: bool = False) -> Result:
    """Runs the commands of a stage. Their output goes to the standard output and to the stage's log, and so does what
    tests in Rust note, whose output is seen only if they fail.
    """
    before, began = Load.now(), monotonic()
    outcomes, told = [], Told()
    log_of(stage).parent.mkdir(parents=True, exist_ok=True)
    with log_of(stage).open("w+b", buffering=0) as log:
        for command in stage.commands:
            start = log.tell()
            notes().unlink(missing_ok=True)
            outcome = execute(command, stage, log)
            noted = told_by(show_notes(log))
            log.seek(start)
            found = of_command(outcome, log.read().decode(errors="replace"))
            found.passed = max(found.passed - len(noted.inconclusive), 0)  # as which they were counted
            told.add(found)
            outcomes.append(INCONCLUSIVE if outcome == PASSED and noted.inconclusive else outcome)
            if outcome == INTERRUPTED:
                break
    if no_skips and (unlisted := list(unlisted_skips(told))):
        told.failures += unlisted
        outcomes.append(FAILED)
    order = [INTERRUPTED, HUNG, FAILED, INCONCLUSIVE, *stage.excused.values(), PASSED]
    steal, others = Load.now().since(before)
    return Result(stage, min(outcomes, key=order.index), monotonic() - began, steal, others, told)


def unlisted_skips(told: Told) -> Iterator[str]:
    """The lines about skipped tests whose reason is not one of `ALLOWED_SKIPS`."""
    for line in told.skips:
        if (match := _SKIPPED.match(line)) and match[2] not in ALLOWED_SKIPS:
            yield f"{line} (not one of ALLOWED_SKIPS in tests/suite.py)"


def notes() -> Path:
    """The file to which tests in Rust add a line."""
    return LOGS / "notes"


def show_notes(log: IO[bytes]) -> str:
    """Shows what tests in Rust noted; returns it."""
    if not notes().exists():
        return ""
    show(notes().read_bytes(), log)
    return notes().read_text(errors="replace")


def of_command(outcome: str, output: str) -> Told:
    """What the output of a command tells; where it did not pass, at least a line of it says something."""
    told = told_by(output)
    if outcome == HUNG:
        told.failures += slow_in(output)
    if outcome not in (PASSED, INCONCLUSIVE) and not told.failures:
        told.failures.append(next((line for line in reversed(output.splitlines()) if line.strip()), "no output"))
    return told


def execute(command: Sequence[str], stage: Stage, log: IO[bytes]) -> str:
    """Runs one command within the stage's limit, shows and keeps its output, and returns what became of it."""
    show(f"$ {' '.join(command)}\n".encode(), log)
    others = children()
    try:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | {NOTES: str(notes())},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=prepare,
        )
    except OSError as error:
        show(f"{command[0]}: {error.strerror}\n".encode(), log)
        return FAILED
    with process:
        outcome = follow(process, stage.minutes * 60, log)
        if outcome != PASSED:  # An interrupt comes first: pytest tells then where it hangs.
            signal_all(process, signal.SIGINT)
            follow(process, GRACE, log)
        signal_all(process, signal.SIGKILL)
    end_orphans(others)
    if outcome == HUNG:
        show(f"{command[0]}: ended after {stage.minutes:g} min, its time limit\n".encode(), log)
    elif outcome == INTERRUPTED:
        show(f"{command[0]}: interrupted\n".encode(), log)
    elif process.returncode != 0:
        return stage.excused.get(process.returncode, FAILED)
    return outcome


def follow(process: subprocess.Popen[bytes], limit: float, log: IO[bytes]) -> str:
    """Copies the output of a process until it has ended, ``limit`` seconds have passed or an interrupt has come.

    A process that it left behind may hold the pipe open: its end is not waited for.
    """
    assert process.stdout is not None
    pipe, deadline, known = process.stdout.fileno(), monotonic() + limit, len(interrupts)
    while len(interrupts) == known:
        alive = process.poll() is None
        readable, _, _ = select.select([pipe], [], [], POLL if alive else 0)
        if readable and (output := os.read(pipe, 1 << 16)):
            show(output, log)
        elif not alive:
            return PASSED
        elif readable:  # closed by a process that goes on
            sleep(POLL)
        if monotonic() >= deadline:
            return HUNG
    return INTERRUPTED


def show(output: bytes, log: IO[bytes]) -> None:
    """Writes to the standard output and to a log."""
    sys.stdout.buffer.write(output)
    sys.stdout.buffer.flush()
    log.write(output)


def signal_all(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Sends a signal to what is left of a command and of what it started in its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def prepare() -> None:
    """In a command's process: it does not survive this one, and minds an interrupt also where this one does not."""
    prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def end_orphans(others: set[int]) -> None:
    """Ends what a command left behind in sessions of its own: it has become a child of this process."""
    while orphans := children() - others:
        for pid in orphans:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def children() -> set[int]:
    """The processes that this one has started or has inherited."""
    try:
        return set(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()))
    except FileNotFoundError:  # a kernel without CONFIG_PROC_CHILDREN
        return set()


def prctl(option: int, value: int) -> None:
    """Sets a property of this process."""
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def run_all(chosen: Iterable[Stage], no_skips: bool = False) -> list[Result]:
    """Runs stages in their order. One that needs what failed is not run, nor is any after an interrupt."""
    results: dict[str, Result] = {}
    for stage in chosen:
        lacking = [name for name in stage.needs if results[name].wrong]
        if interrupts or lacking:
            why = INTERRUPTED if interrupts else f"it needs {' and '.join(lacking)}"
            results[stage.name] = Result(stage, LEFT_OUT, why=why)
            continue
        print(f"=== {stage.name}", flush=True)
        results[stage.name] = run(stage, no_skips)
    return list(results.values())


def summary(results: Sequence[Result], seed: int | None = None) -> Iterator[str]:
    """The table of stages, the failed, skipped, unstable and inconclusive tests, the sums of tests, the seed of random
    ones and the verdict, line by line.
    """
    counted = f"{'passed':>8}{'failed':>8}{'skipped':>9}{'inconclusive':>14}"
    yield f"{'stage':14}{'minutes':>8}{'steal':>9}{'others':>9}{counted}  outcome"
    for result in results:
        told = result.told
        yield (
            f"{result.stage.name:14}{result.seconds / 60:8.1f}{result.steal:9.1%}{result.others:9.1%}"
            f"{told.passed:8}{told.failed:8}{told.skipped:9}{len(told.inconclusive):14}  {result.outcome}"
        )
    for result in results:
        if result.outcome != PASSED:
            yield from details(result)
    for result in results:
        told = result.told
        yield from (f"{result.stage.name}: {line}" for line in told.skips + told.unstable + told.inconclusive)
    passed, failed, skipped = (sum(count) for count in zip(*(each.told.counts for each in results), strict=True))
    inconclusive = sum(len(each.told.inconclusive) for each in results)
    yield f"{passed} passed, {failed} failed, {skipped} skipped, {inconclusive} inconclusive"
    if seed is not None:
        yield f"seed {seed}: what was drawn is drawn again with --seed {seed}"
    yield f"verdict: {verdict(results)}"


def details(result: Result) -> Iterator[str]:
    """A line for each failed test of a stage, or why it was not run, and where to read more."""
    name = result.stage.name
    if result.outcome == LEFT_OUT:
        yield f"{name}: not run: {result.why}"
        return
    for line in result.told.failures[:SHOWN]:
        yield f"{name}: {line}"
    more = len(result.told.failures) - SHOWN
    yield f"{name}: {f'and {more} more; ' if more > 0 else ''}log {result.log.relative_to(ROOT)}"


def verdict(results: Sequence[Result]) -> str:
    """What the suite says as a whole."""
    if interrupts:
        return INTERRUPTED
    if wrong := [result.stage.name for result in results if result.wrong]:
        return f"failed: {', '.join(wrong)}"
    selecting = [result.outcome for result in results if NONE_SELECTED in result.stage.excused.values()]
    if selecting and set(selecting) == {NONE_SELECTED}:
        return f"failed: {NONE_SELECTED}"
    if undecided := [result.stage.name for result in results if result.outcome == INCONCLUSIVE]:
        return f"{INCONCLUSIVE}: {', '.join(undecided)}"
    return PASSED


def chosen_by(parts: Sequence[str], known: Sequence[Stage]) -> list[Stage]:
    """The stages of some parts, with those that they need."""
    wanted = {stage.name for stage in known if stage.part in parts}
    for stage in reversed(known):
        if stage.name in wanted:
            wanted.update(stage.needs)
    return [stage for stage in known if stage.name in wanted]


def main(arguments: Sequence[str]) -> int:
    """Runs what is asked for; returns the exit status."""
    asked = read(arguments)
    chosen = chosen_by(asked.parts, stages(os.environ.get("UV", "uv"), asked))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: interrupts.append(number))
    prctl(SET_CHILD_SUBREAPER, 1)
    shutil.rmtree(LOGS, ignore_errors=True)
    results = run_all(chosen, asked.no_skips)
    seeded = set(asked.parts) & set(WITH_SEED)
    print("", *summary(results, asked.seed if seeded else None), sep="\n", flush=True)
    said = verdict(results).partition(":")[0]
    return {PASSED: 0, INCONCLUSIVE: _UNDECIDED, INTERRUPTED: _INTERRUPTED}.get(said, _FAILED)


def read(arguments: Sequence[str]) -> Asked:
    """Reads the command line, which has arguments for pytest after the first ``--``."""
    at = list(arguments).index("--") if "--" in arguments else len(arguments)
    own, pytest_arguments = arguments[:at], arguments[at + 1 :]
    parser = argparse.ArgumentParser(
        prog="./run test",
        usage="./run test [--full] [--seed N] [--no-skips] [PART...] [-- PYTEST ARGUMENTS]",
        description=f"Runs {' and '.join(GATE)} unless parts are named. Arguments for pytest select tests in Python.",
        epilog="parts:\n" + "\n".join(f"  {part:14}{what}" for part, what in PARTS.items()) + f"\n\n{STATUSES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    more = "; ".join(f"{part} has also {' and '.join(added)}" for part, added in MORE.items())
    parser.add_argument("--full", action="store_true", help=f"every test; where parts are named: {more}")
    parser.add_argument(
        "--seed",
        type=seed,
        metavar="N",
        help=f"the seed of random tests, 1 to {LARGEST_SEED} (default: {SEED}; with --full another one each time)",
    )
    parser.add_argument(
        "--no-skips",
        action="store_true",
        help=f"a skipped test fails unless it {', '.join(ALLOWED_SKIPS[:-1])} or {ALLOWED_SKIPS[-1]}",
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="only these")
    found = parser.parse_args(own)
    for part in found.parts:
        if part not in PARTS:
            parser.error(f"{part}: unknown; valid: {', '.join(PARTS)}")
    parts = parts_of(found.parts, found.full, bool(pytest_arguments))
    if pytest_arguments and not set(parts) & set(WITH_PYTEST):
        parser.error(f"-- {pytest_arguments[0]}: for pytest, which runs in the parts {' and '.join(WITH_PYTEST)}")
    if found.seed is not None and not set(parts) & set(WITH_SEED):
        parser.error(f"--seed {found.seed}: for random tests, which run in the parts {' and '.join(WITH_SEED)}")
    drawn = random.SystemRandom().randint(1, LARGEST_SEED) if found.full else SEED
    return Asked(parts, pytest_arguments, drawn if found.seed is None else found.seed, found.no_skips)


def seed(text: str) -> int:
    """Reads a seed."""
    if not re.fullmatch(r"\d+", text) or not 1 <= int(text) <= LARGEST_SEED:
        raise argparse.ArgumentTypeError(f"{text}: no seed; valid: 1 to {LARGEST_SEED}")
    return int(text)


def parts_of(named: Sequence[str], full: bool, with_pytest_arguments: bool) -> Sequence[str]:
    """The parts that run."""
    if named:
        return [*named, *(added for part in named for added in MORE.get(part, ()) if full)]
    parts = FULL if full else GATE
    return [part for part in parts if part in WITH_PYTEST or not with_pytest_arguments]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
