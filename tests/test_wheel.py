"""The wheel of `./run wheel`: it installs where there is no Rust, and is the package that is here."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from waspbench.results.tables import TABLES

ROOT = Path(__file__).parents[1]
PACKAGE = "python/waspbench"
ENGINE = "waspbench/_core.abi3.so"
NAME = re.compile(r"waspbench-[0-9.]+-cp311-abi3-(manylinux_2_[0-9]+_\w+)\.whl")
BENCH = ("bench", "--mode", "sim", "--clients", "64", "--loss", "1%", "--runs", "2", "--duration", "5s")
STUDY = """
import waspbench

point = {"name": "x", "mode": "sim", "clients": [{"count": 8}], "measure": {"runs": 1, "duration": "1s"}}
result = waspbench.study(point | {"sweep": {"clients.rtt": ["20ms", "30ms"]}}, output="study", jobs=2)
print([point.result.throughput.mean for point in result.points])
"""

pytestmark = [pytest.mark.full, pytest.mark.slow]


@dataclass(frozen=True)
class Wheel:
    """A wheel, and what was said of it."""

    path: Path
    said: str


@dataclass(frozen=True)
class Installed:
    """A virtual environment with nothing but the wheel and what it requires, and an empty folder."""

    programs: Path
    folder: Path

    def ran(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One of its programs in the empty folder."""
        return ran([self.programs / program, *arguments], self.folder)


def ran(command: list[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    """A command in a folder; it finds no other programs, nor what the user keeps at home."""
    environment = {"PATH": str(Path(command[0]).parent), "HOME": str(folder / "home"), "LANG": "C.UTF-8"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def here(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command of the working tree in a folder."""
    return ran([sys.executable, "-m", "waspbench", *arguments], folder)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Wheel:
    directory = tmp_path_factory.mktemp("wheel")
    made = subprocess.run([ROOT / "run", "wheel", directory], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    (path,) = directory.iterdir()
    assert made.stdout == f"{path}\n"
    return Wheel(path, made.stderr)


@pytest.fixture(scope="module")
def installed(wheel: Wheel, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    directory = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory / "venv"], check=True)
    programs, folder = directory / "venv" / "bin", directory / "empty"
    folder.mkdir()
    # The versions that every test has: a new one of a library is not to fail this one.
    locked = directory / "locked.txt"
    uv("export", "--locked", "--no-dev", "--no-emit-project", "--no-hashes", "--output-file", locked)
    uv("pip", "install", "--python", programs / "python", "--constraints", locked, wheel.path)
    return Installed(programs, folder)


def uv(*arguments: str | Path) -> None:
    """Runs uv from where the script `run` has it; it asks the network only for what it does not keep."""
    brought = ROOT / ".tools" / "bin" / "uv"
    program = os.environ.get("UV") or shutil.which("uv") or brought
    for offline in (["--offline"], []):
        done = subprocess.run([program, *arguments, *offline], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
    pytest.fail(done.stderr)


def symbols(path: str | Path, which: str) -> set[str]:
    """The symbols that a shared object takes from others (`undefined`) or has for them (`defined`)."""
    listed = subprocess.run(
        ["nm", "--dynamic", f"--{which}-only", "--format=posix", path], capture_output=True, text=True, check=True
    )
    return {line.partition(" ")[0].partition("@")[0] for line in listed.stdout.splitlines()}


def test_its_name_says_which_python_and_which_glibc_it_needs(wheel: Wheel) -> None:
    named = NAME.fullmatch(wheel.path.name)
    assert named is not None, wheel.path.name
    assert f'"{named[1]}"' in wheel.said, "auditwheel says the same"
    assert "0 ABI violations" in " ".join(wheel.said.split())


def test_the_mathematics_of_the_engine_are_its_own(wheel: Wheel, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel.path) as content:
        engine = content.extract(ENGINE, tmp_path)
    ctypes.CDLL("libm.so.6")
    loaded = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libm.so.6" in line}
    (path,) = loaded
    library = symbols(path, "defined")
    assert {"exp", "log2", "hypot"} <= library
    # hdrhistogram rounds the logarithms of two constants to whole numbers.
    assert symbols(engine, "undefined") & library <= {"log2"}


def test_it_has_the_files_of_the_package_and_no_others(wheel: Wheel) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", PACKAGE],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    kept = {name.removeprefix("python/") for name in listed if name and (ROOT / name).is_file()}
    with zipfile.ZipFile(wheel.path) as content:
        found = {name for name in content.namelist() if ".dist-info/" not in name}
    assert found == kept | {ENGINE}


def test_it_measures_to_the_byte_what_is_measured_here(installed: Installed, tmp_path: Path) -> None:
    made = installed.ran("wasp", *BENCH, "-o", "there")
    assert made.returncode == 0, made.stderr
    beside = here(*BENCH, "-o", "here", folder=tmp_path)
    assert beside.returncode == 0, beside.stderr
    tables = sorted(path.relative_to(tmp_path / "here") for path in (tmp_path / "here").rglob("*.parquet"))
    assert len(tables) == 2 * len(TABLES)
    for table in tables:
        assert (installed.folder / "there" / table).read_bytes() == (tmp_path / "here" / table).read_bytes(), table


@pytest.mark.parametrize("arguments", [("init",), ("bench", "--help"), ("--version",), ("profiles",)], ids=" ".join)
def test_it_says_what_is_said_here(arguments: tuple[str, ...], installed: Installed, tmp_path: Path) -> None:
    made, beside = installed.ran("wasp", *arguments), here(*arguments, folder=tmp_path)
    assert (made.returncode, made.stdout) == (0, beside.stdout), made.stderr


def test_it_writes_a_file_that_it_runs(installed: Installed) -> None:
    assert installed.ran("wasp", "init", "static-site").returncode == 0
    listed = installed.ran("wasp", "run", "static-site.toml", "--mode", "sim", "--dry-run")
    assert listed.returncode == 0, listed.stderr


def test_its_worker_processes_find_it(installed: Installed) -> None:
    made = installed.ran("python", "-c", STUDY)
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout) == pytest.approx([8 / 0.02, 8 / 0.03], rel=0.01)


@pytest.mark.root
def test_it_measures_a_server(installed: Installed) -> None:
    length = ("--warmup", "0s", "--duration", "1s", "--runs", "1")
    made = installed.ran("wasp", "bench", "--mode", "live", "--clients", "4", *length, "--json")
    result: dict[str, Any] = json.loads(made.stdout)
    assert result["mode"] == "live", made.stderr
    assert result["errors"] == 0
    assert result["throughput"]["mean"] > 0
