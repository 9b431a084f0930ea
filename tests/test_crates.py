"""What is compiled, and how often: one program of tests a crate, one engine for tests in Rust and in Python."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from suite import ROOT, WITH_KERNEL

CRATES = sorted(path.parent for path in ROOT.glob("crates/*/Cargo.toml"))
OWN_PROCESS = {"blocking_serve"}
"""Programs with a process of their own for a reason: signals reach all of it."""
WITHOUT_HARNESS = {"packet_scripts"}
"""Files of programs that name their own tests."""


def programs(crate: Path) -> set[str]:
    """The programs of integration tests that a crate has, but for those without Rust's harness."""
    manifest = tomllib.loads((crate / "Cargo.toml").read_text())
    declared = manifest.get("test", [])
    found = {each["name"] for each in declared if each.get("harness", True)}
    if manifest["package"].get("autotests", True):
        found |= {path.stem for path in crate.glob("tests/*.rs")} | {
            path.parent.name for path in crate.glob("tests/*/main.rs")
        }
    return found - {each["name"] for each in declared if not each.get("harness", True)}


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_a_crate_has_one_program_of_integration_tests(crate: Path) -> None:
    files = [path for path in crate.glob("tests/*.rs") if path.stem not in WITHOUT_HARNESS]
    wanted = 1 if files else 0
    assert len(programs(crate) - OWN_PROCESS) == wanted, f"files of tests are modules of {crate.name}/tests/main.rs"


@pytest.mark.parametrize("main", sorted(ROOT.glob("crates/*/tests/main.rs")), ids=lambda main: main.parts[-3])
def test_no_file_of_tests_is_forgotten(main: Path) -> None:
    modules = set(re.findall(r"^mod (\w+);$", main.read_text(), re.MULTILINE))
    folders = {path.parent.name for path in main.parent.glob("*/mod.rs")}
    assert {path.stem for path in main.parent.glob("*.rs")} | folders <= modules | {"main", *WITHOUT_HARNESS}


def features(*selection: str) -> set[str]:
    """Each package that a selection compiles, with its version and features."""
    edges = ("--edges", "normal,build,dev") if "--workspace" in selection else ("--edges", "normal,build")
    words = ["cargo", "tree", "--locked", *selection, *edges, "--prefix", "none", "--format", "{p} {f}"]
    said = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    return {line.removesuffix(" (*)") for line in said.stdout.splitlines() if line}


def test_tests_in_rust_use_the_engine_that_is_compiled_for_those_in_python() -> None:
    excluded = [word for name in WITH_KERNEL for word in ("--exclude", name)]
    for_python, for_rust = features("-p", "wasp-py"), features("--workspace", *excluded)
    packages = {tuple(line.split()[:2]) for line in for_rust}
    assert {line for line in for_python - for_rust if tuple(line.split()[:2]) in packages} == set()


def locked(lock: Path) -> dict[str, set[str]]:
    """The names of the packages that each package of a lock file depends on."""
    packages = tomllib.loads(lock.read_text())["package"]
    return {each["name"]: {text.split()[0] for text in each.get("dependencies", ())} for each in packages}


def declared(crate: Path) -> tuple[str, set[str]]:
    """The name of a crate, and those of its dependencies that are not for tests alone."""
    manifest = tomllib.loads((crate / "Cargo.toml").read_text())
    return manifest["package"]["name"], {*manifest.get("dependencies", ()), *manifest.get("build-dependencies", ())}


def test_the_lock_file_of_the_fuzz_targets_is_that_of_their_crates() -> None:
    """They are outside the workspace, so that no build of the gate would notice."""
    found = locked(ROOT / "fuzz" / "Cargo.lock")
    wanted = dict(map(declared, [*CRATES, ROOT / "fuzz"]))
    renew = "cargo update --workspace --manifest-path fuzz/Cargo.toml renews it"
    assert {name: found[name] for name in found if name in wanted} == {
        name: wanted[name] for name in found if name in wanted
    }, renew
    needed, new = set[str](), {"wasp-fuzz"}
    while new:
        needed |= new
        new = set().union(*(found[name] for name in new)) - needed
    assert set(found) == needed, renew
