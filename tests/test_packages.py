"""The programs that tests use are installed though apt fails now and then, and what is there counts."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = ("bash", "cat", "chmod", "dirname", "mktemp", "rm", "tail")
APT = """#!/bin/bash
cd "$(dirname "$0")"
while [[ "$1" == -* ]]; do [ "$1" != -o ] || shift; shift; done
echo "$*" >>asked
./policy-rc.d; echo $? >policy
[ "$1" = install ] || exit 1
shift 3
tries=$(cat tries)
echo "E: try $tries"
[ "$tries" = 0 ] || { echo $((tries - 1)) >tries; exit 100; }
PLACE
"""
"""An apt-get that cannot update its lists, fails to install so often, and then does something with the packages."""
PLACES = 'for package; do echo >"$package"; chmod +x "$package"; done'
FIRST, SECOND = "wasp-test-one", "wasp-test-two"
"""Two programs, each in the package of that name."""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the only programs that there are."""
    found = tmp_path / "bin"
    found.mkdir()
    for name in TOOLS:
        (found / name).symlink_to(str(shutil.which(name)))
    executable(found / "id", "#!/bin/bash\necho 0\n")
    executable(found / "sleep", '#!/bin/bash\necho "$*" >>"$0ed"\n')
    return found


def executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def apt(programs: Path, failures: int, place: str = PLACES) -> None:
    """Makes an apt-get that fails so often, and what it does with packages then."""
    executable(programs / "apt-get", APT.replace("PLACE", place))
    (programs / "tries").write_text(f"{failures}\n")


def said(programs: Path) -> str:
    """What `./run packages` says if it looks for the two programs."""
    text = re.sub(r"(?m)^TEST_(PROGRAMS|PACKAGES)=.*$", rf"TEST_\1=({FIRST} {SECOND})", (ROOT / "run").read_text())
    text = text.replace("POLICY=/usr/sbin/", f"POLICY={programs}/")
    script = programs.parent / "run"
    script.write_text(text)
    words = [str(programs / "bash"), str(script), "packages"]
    done = subprocess.run(words, env={"PATH": str(programs)}, capture_output=True, text=True, check=True)
    return done.stderr


def test_apt_is_tried_three_times(programs: Path) -> None:
    # In each try both together, and then one by one.
    apt(programs, 6)
    told = said(programs)
    assert told.count(f"run: installing {FIRST} {SECOND}\n") == 3
    assert "E: try 1" in told
    assert "could not" not in told
    installs = [f"install --yes --no-install-recommends {names}" for names in (f"{FIRST} {SECOND}", FIRST, SECOND)]
    failing = ["update", *installs]
    assert (programs / "asked").read_text().splitlines() == [*failing, *failing, *failing[:2]]
    assert (programs / "sleeped").read_text() == "10\n20\n"


def test_no_server_is_started_that_a_package_brings(programs: Path) -> None:
    apt(programs, 0)
    said(programs)
    assert (programs / "policy").read_text() == "101\n"
    assert not (programs / "policy-rc.d").exists()


def test_whether_servers_are_started_stays_what_the_machine_says(programs: Path) -> None:
    apt(programs, 0)
    executable(programs / "policy-rc.d", "#!/bin/bash\nexit 104\n")
    said(programs)
    assert (programs / "policy").read_text() == "104\n"
    assert (programs / "policy-rc.d").exists()


def test_what_cannot_be_installed_is_named_and_keeps_no_other_out(programs: Path) -> None:
    apt(programs, 0, f'[ "$*" = {SECOND} ] || exit 100\n{PLACES}')
    told = said(programs)
    assert told.count("run: installing") == 3
    assert told.endswith(f"run: could not be installed in 3 tries, so tests that use them are skipped: {FIRST}\n")


def test_what_is_there_counts_and_needs_no_apt(programs: Path) -> None:
    for name in (FIRST, SECOND):
        executable(programs / name, "")
    apt(programs, 0)
    assert said(programs) == ""
    assert not (programs / "asked").exists()


@pytest.mark.parametrize("has_apt", [True, False])
def test_who_may_not_install_is_told_what_is_missing(has_apt: bool, programs: Path) -> None:
    if has_apt:
        apt(programs, 0)
        executable(programs / "id", "#!/bin/bash\necho 1000\n")
    assert said(programs) == f"run: not installed, so tests that use them are skipped: {FIRST} {SECOND}\n"
    assert not (programs / "asked").exists()
