"""Plants faults into the sender and the receiver of TCP, one at a time, and tells which of them no test notices.

cargo-mutants makes the mutants (`.cargo/mutants.toml` says of what), and the tests of `wasp-tcp` and `wasp-
testkit` judge them. The work is cut into shards. What a shard has found is kept in `target/mutants` for as
long as no source changes, so that an interrupted run goes on where it was. `docs/mutants.md` names the
mutants that may survive, each with its reason.

This module uses the standard library alone, as the suite does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "mutants.md"
KEPT = ROOT / "target" / "mutants"
VERSION = "27.1.0"
"""Of cargo-mutants; another one makes other mutants."""
SHARDS = 24
MEMORY = 8 << 30
"""Bytes of address space: a mutant that collects without end must not take the machine's."""
UNEXPLAINED = 0.05
"""The share of the mutants judged that may survive without a reason."""
JUDGES = ("--package", "wasp-tcp", "--package", "wasp-testkit", "--tests")
CRATES = ("kernel", "net", "packet", "random", "stack", "tcp", "testkit", "units", "wire")
"""The judges, and what they are built from."""
SOURCES = (
    *(f"crates/{crate}" for crate in CRATES),
    *("tests/packets", "docs/packet-scripts.md", "Cargo.toml", "Cargo.lock", ".cargo"),
)
"""What the verdicts depend on."""

MISSED, CAUGHT, TIMEOUT, UNVIABLE = "MissedMutant", "CaughtMutant", "Timeout", "Unviable"
"""What became of a mutant: one that does not compile is no mutant."""


@dataclass(frozen=True)
class Survivor:
    """A mutant, and where it is, in words that outlive changes elsewhere in the file."""

    file: str
    line: str
    """The text of the line."""
    mutation: str

    def __str__(self) -> str:
        cells = (self.file, self.line, self.mutation)
        return "| " + " | ".join("`" + cell.replace("|", "\\|") + "`" for cell in cells) + " |"


def explained(page: str) -> Counter[Survivor]:
    """The survivors that the tables of `page` name. A mutation that one line allows twice may be named twice."""
    named: Counter[Survivor] = Counter()
    for row in re.findall(r"^\| (`.*`) \|$", page, re.MULTILINE):
        cells = [cell.strip().strip("`").replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row)]
        if len(cells) == 3:
            named[Survivor(*cells)] += 1
    return named


def survivor(mutant: Mapping[str, object], source: Sequence[str]) -> Survivor:
    """The mutant of an outcome of cargo-mutants; `source` are the lines of its file."""
    place, mutation = str(mutant["name"]).split(": ", 1)
    file, line, _ = place.rsplit(":", 2)
    return Survivor(file.removeprefix("crates/tcp/src/"), source[int(line) - 1].strip(), mutation)


@dataclass
class Verdict:
    """What all shards say together."""

    counts: Counter[str]
    survivors: Counter[Survivor]

    @property
    def judged(self) -> int:
        """The mutants that compile."""
        return self.counts.total() - self.counts[UNVIABLE]

    def tell(self, named: Counter[Survivor]) -> Iterator[str]:
        """The verdict in lines, against the survivors that the page names."""
        caught = self.counts[CAUGHT] + self.counts[TIMEOUT]
        yield f"{self.judged} mutants: {caught} noticed, {self.counts[MISSED]} survive"
        unexplained = self.survivors - named
        for one in sorted(unexplained.elements(), key=str):
            yield f"UNEXPLAINED {one}"
        for one in sorted((named - self.survivors).elements(), key=str):
            yield f"DOES NOT SURVIVE {one}"
        share = unexplained.total() / max(self.judged, 1)
        word = "FAILED" if share > UNEXPLAINED else "PASSED"
        limit = f"{UNEXPLAINED:.0%}"
        yield f"{word}: {unexplained.total()} of {self.judged} survive without a reason, {share:.1%} (at most {limit})"

    def passes(self, named: Counter[Survivor]) -> bool:
        """Whether few enough survive without a reason."""
        return (self.survivors - named).total() <= UNEXPLAINED * self.judged


def verdict(outcomes: Iterable[Mapping[str, object]], lines: Mapping[str, Sequence[str]]) -> Verdict:
    """Adds up the outcomes of all shards; `lines` are those of each file."""
    counts: Counter[str] = Counter()
    survivors: Counter[Survivor] = Counter()
    for outcome in outcomes:
        scenario = outcome["scenario"]
        if not isinstance(scenario, dict):
            continue  # the run without a mutant
        mutant = scenario["Mutant"]
        counts[str(outcome["summary"])] += 1
        if outcome["summary"] == MISSED:
            survivors[survivor(mutant, lines[mutant["file"]])] += 1
    return Verdict(counts, survivors)


def key() -> str:
    """Names the sources that the verdicts depend on."""
    digest = hashlib.sha256(VERSION.encode())
    names = [name for source in SOURCES for name in sorted((ROOT / source).rglob("*"))]
    names += [ROOT / source for source in SOURCES if (ROOT / source).is_file()]
    for path in names:
        if path.is_file():
            digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def install() -> Path:
    """cargo-mutants in `.tools`; compiles it the first time."""
    program = ROOT / ".tools" / "bin" / "cargo-mutants"
    said = (
        subprocess.run([program, "mutants", "--version"], capture_output=True, text=True) if program.exists() else None
    )
    if said is None or said.stdout.split() != ["cargo-mutants", VERSION]:
        print(f"mutants: compiling cargo-mutants {VERSION} into .tools", file=sys.stderr)
        command = ["cargo", "install", "--quiet", "--locked", "--root", ".tools", f"cargo-mutants@{VERSION}"]
        subprocess.run(command, cwd=ROOT, check=True)
    return program


def run_shard(program: Path, number: int, folder: Path, jobs: int) -> None:
    """Judges the mutants of a shard; the folder takes its name when all are judged."""
    made = folder.with_suffix(".part")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    command: list[str | Path] = [program, "mutants", "--shard", f"{number}/{SHARDS}", "--baseline", "skip"]
    command += ["--timeout", "30", "--build-timeout", "300", "--jobs", str(jobs), "--output", made]
    command += ["--colors", "never", "--no-times", "--level", "warn"]
    limit = (MEMORY, MEMORY)
    ended = subprocess.run(command, cwd=ROOT, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit))
    # 2: mutants were missed, 3: tests timed out.
    if ended.returncode not in (0, 2, 3):
        sys.exit(f"mutants: shard {number} ended with status {ended.returncode}")
    made.rename(folder)


def main(arguments: Sequence[str]) -> int:
    """Judges what is not judged yet, and tells."""
    parser = argparse.ArgumentParser(
        prog="./run mutants", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("shards", nargs="*", type=int, metavar="SHARD", help=f"only these, of 0 to {SHARDS - 1}")
    parser.add_argument(
        "--jobs", type=int, default=min(os.cpu_count() or 1, 8), help="mutants at a time (default: %(default)s)"
    )
    asked = parser.parse_args(arguments)
    if wrong := [number for number in asked.shards if not 0 <= number < SHARDS]:
        parser.error(f"shard {wrong[0]}: valid are 0 to {SHARDS - 1}")
    if asked.jobs < 1:
        parser.error(f"--jobs {asked.jobs}: at least 1")
    kept = KEPT / key()
    folders = {number: kept / f"{number:02}" for number in range(SHARDS)}
    missing = [number for number in asked.shards or folders if not folders[number].exists()]
    if missing:
        program = install()
        print("mutants: the tests without a mutant", file=sys.stderr)
        if subprocess.run(
            ["cargo", "test", "--quiet", "--locked", "--profile", "mutants", *JUDGES], cwd=ROOT
        ).returncode:
            sys.exit("mutants: the tests fail without a mutant, so that they judge none")
    for number in missing:
        print(f"mutants: shard {number} of {SHARDS}", file=sys.stderr)
        run_shard(program, number, folders[number], asked.jobs)
    left = [number for number, folder in folders.items() if not folder.exists()]
    if left:
        print(f"mutants: no verdict before these shards are judged: {' '.join(map(str, left))}")
        return 0
    outcomes = [json.loads((folder / "mutants.out" / "outcomes.json").read_text()) for folder in folders.values()]
    lines = {str(path.relative_to(ROOT)): path.read_text().splitlines() for path in ROOT.glob("crates/tcp/src/**/*.rs")}
    found = verdict((outcome for shard in outcomes for outcome in shard["outcomes"]), lines)
    named = explained(PAGE.read_text())
    print(*found.tell(named), sep="\n")
    return 0 if found.passes(named) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
