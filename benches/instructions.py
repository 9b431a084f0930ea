"""How many instructions fixed simulations take: a gate against slower code that a busy machine does not disturb.

`cargo run --release -p wasp-benches --bin instructions` has the simulations; valgrind counts what they execute in user
space. The counts are held against `instructions.json`; they depend on the compiler and mean nothing with another one.
"""

import json
import os
import platform
import re
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import which
from typing import Any

from waspbench.testbed import machine
from waspbench.testbed.errors import CannotDoIt, TestbedError

NAMES = ("bulk", "web", "site")
TOLERANCE = 0.03
"""Growth that is let pass: layout of code and data moves the counts by less. The internetwork, hosts and partitions may
together add this much to one baseline; with the last of them it is 0.02 again.
"""
BASELINE = Path(__file__).with_name("instructions.json")
RENEW = "./run perf instructions --renew"

SOURCES = ("Cargo.lock", "Cargo.toml", "crates")
"""What the counts are made from, beside the compiler."""

_ROOT = BASELINE.parent.parent


@dataclass(frozen=True)
class Count:
    """One simulation."""

    name: str
    instructions: int
    baseline: int | None
    """None where there is none for this compiler."""

    @property
    def growth(self) -> float | None:
        """Against the baseline: 0.01 is a hundredth more."""
        return None if self.baseline is None else self.instructions / self.baseline - 1

    def as_dict(self) -> dict[str, Any]:
        """Every figure, for JSON."""
        return {**asdict(self), "growth": self.growth, "too_many": self.too_many}

    @property
    def too_many(self) -> bool:
        """Whether it grew beyond the tolerance."""
        return self.growth is not None and self.growth > TOLERANCE


@dataclass(frozen=True)
class Origin:
    """What counts were made with and from."""

    compiler: str
    cpu: str
    sources: dict[str, str]
    """The names that git has for the contents of ``SOURCES``; that of ``crates`` is `git rev-parse HEAD:crates`. Empty
    where there is no git.
    """

    @classmethod
    def here(cls) -> "Origin":
        """Of this work tree on this machine, committed or not."""
        return cls(_compiler(), str(machine.describe()["cpu"]), _sources())

    @classmethod
    def of(cls, baseline: dict[str, Any]) -> "Origin":
        """Of a baseline, which may be of an earlier form or none."""
        nobody = {"compiler": "nobody", "cpu": "unknown", "sources": {}}
        return cls(**{name: baseline.get(name, unknown) for name, unknown in nobody.items()})

    def __str__(self) -> str:
        return f"{self.compiler}; {self.cpu}; crates {self.sources.get('crates', 'unknown')[:10]}"


def baseline() -> Origin:
    """Of what the baseline is."""
    return Origin.of(_baseline())


def unchanged() -> bool:
    """Whether counting anew could find nothing but the baseline; False also where that is not known."""
    here, known = Origin.here(), baseline()
    return bool(here.sources) and (here.compiler, here.sources) == (known.compiler, known.sources)


def measure(*, renew: bool = False) -> tuple[list[Count], str | None]:
    """Counts every simulation, and writes the baseline anew if asked to; also says why nothing is compared, if so.

    Raises:
        CannotDoIt: valgrind or cargo is missing.
        TestbedError: the benchmark did not build or did not run.
    """
    for program in ("valgrind", "cargo", "rustc"):
        if which(program) is None:
            raise CannotDoIt(f"NOT CHECKED: instructions cannot be counted without {program}")
    binary, here = build(), Origin.here()
    start = count_of(binary, "none")
    counts = {name: count_of(binary, name) - start for name in NAMES}
    if renew:
        BASELINE.write_text(json.dumps({**asdict(here), "instructions": counts}, indent=2) + "\n")
    same = baseline().compiler == here.compiler
    known: dict[str, int] = _baseline().get("instructions", {}) if same else {}
    other = f"NOT CHECKED: the baseline is of {baseline().compiler}, this is {here.compiler}: {RENEW}"
    return [Count(name, counts[name], known.get(name)) for name in NAMES], None if same else other


def _baseline() -> dict[str, Any]:
    try:
        return dict(json.loads(BASELINE.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}


def _compiler() -> str:
    said = _output(["rustc", "--version"]).strip()
    return f"{said}, {platform.machine()}"


def _sources() -> dict[str, str]:
    """As git would name the sources if they were committed as they are: from an index of their own."""
    with tempfile.TemporaryDirectory() as directory:
        index = {"GIT_INDEX_FILE": str(Path(directory, "index"))}
        try:
            _output(["git", "add", "--", *SOURCES], index)
            tree = _output(["git", "write-tree"], index).strip()
            lines = _output(["git", "ls-tree", tree], index).splitlines()
        except (OSError, TestbedError):
            return {}
    return {name: words.split()[2] for words, name in (line.split("\t") for line in lines)}


def build() -> str:
    """Compiles the program that is counted, and returns its path."""
    command = ["cargo", "build", "--release", "--quiet", "--locked", "-p", "wasp-benches", "--bin", "instructions"]
    for line in _output([*command, "--message-format=json"]).splitlines():
        message = json.loads(line)
        if message.get("executable") and message.get("target", {}).get("name") == "instructions":
            return str(message["executable"])
    raise TestbedError("cargo does not say where it put the benchmark")


def count_of(binary: str, name: str) -> int:
    """Instructions that one simulation takes, with those of starting the program."""
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    said = subprocess.run([*tool, binary, name], capture_output=True, text=True, check=False)
    found = re.search(r"I\s+refs:\s+([\d,]+)", said.stderr)
    if said.returncode != 0 or found is None:
        raise TestbedError(f"valgrind: {(said.stderr.strip().splitlines() or ['no output'])[-1]}")
    return int(found[1].replace(",", ""))


def _output(command: list[str], more: dict[str, str] | None = None) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | (more or {})
    said = subprocess.run(
        command,
        cwd=_ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if said.returncode != 0:
        reason = (said.stderr.strip().splitlines() or [f"status {said.returncode}"])[-1]
        raise TestbedError(f"{command[0]} failed: {reason}")
    return said.stdout
