"""`./run` gives what measures the release, whatever engine was built before it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
UV = """#!/bin/sh
case "$LACKS $*" in
  network*--offline*) ;;
  network*) exit 2 ;;
  cache*--offline*) echo "Packages were unavailable because the network was disabled." >&2; exit 2 ;;
esac
case "$*" in *"--profile ci"*) profile=ci ;; *) profile=release ;; esac
case "$*" in *--reinstall-package*) rm -f "built-$profile" ;; esac
[ -e "built-$profile" ] || echo "profile = lambda: '${ONLY-$profile}'" >python/waspbench/_core.py
touch "built-$profile"
"""
"""As uv: what it has built with the same settings it does not build again, unless it is asked to. It may find
what it needs only in its cache, or only in the network."""
SAY = """#!/bin/sh
exec .venv/bin/python -B -c 'import sys; sys.path[:0] = ["python/waspbench"]; import _core; print(_core.profile())'
"""

SUDO = 'echo "$*" >"$(dirname "$0")/../asked"; shift 2; SUDO_USER= exec "$@"'
"""As sudo, without another user."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose engine is one line, and whose programs print the profile that it was built with."""
    for folder in ("bin", ".venv/bin", "python/waspbench", "benches"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / "run", tmp_path)
    (tmp_path / ".venv/bin/python").symlink_to(sys.executable)
    programs = {"bin/uv": UV, ".venv/bin/wasp": SAY, "bin/cargo": "#!/bin/sh\necho cargo 1.99.0"}
    for name, text in programs.items() | dict.fromkeys(("bin/cc", "bin/tshark", "bin/valgrind"), "#!/bin/sh\n").items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "benches/perf.py").write_text(f"import os\nos.execv('{tmp_path}/.venv/bin/wasp', ['wasp'])\n")
    return tmp_path


def run(project: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PATH": f"{project / 'bin'}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [project / "run", *words],
        cwd=project,
        env=environment | more,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize("lacks", ["", "network", "cache"])
@pytest.mark.parametrize("words", [["wasp", "bench"], [], ["perf", "instructions"]], ids=" ".join)
def test_what_measures_takes_the_release_that_tests_have_overwritten(
    project: Path, words: list[str], lacks: str
) -> None:
    for _ in range(2):
        assert run(project, "build", "ci", LACKS=lacks).returncode == 0
        assert "ci" in (project / "python/waspbench/_core.py").read_text()
        assert run(project, *words, LACKS=lacks).stdout == "release\n"


def test_behind_sudo_who_has_the_working_tree_sets_it_up(project: Path) -> None:
    for name, text in {"id": "echo 0", "stat": "echo somebody", "sudo": SUDO}.items():
        (project / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (project / "bin" / name).chmod(0o755)
    assert run(project, "build", "ci").returncode == 0
    for caller in ("root", "somebody else"):
        assert run(project, "wasp", "bench", SUDO_USER=caller).stdout == "release\n"
        assert not (project / "asked").exists()
    for words, asked in ((["wasp", "bench"], "wasp --version"), (["build"], "build")):
        assert run(project, "build", "ci").returncode == 0
        assert run(project, *words, SUDO_USER="somebody").returncode == 0
        assert (project / "asked").read_text() == f"--user=somebody --set-home {project}/run {asked}\n"
        assert "release" in (project / "python/waspbench/_core.py").read_text()


def test_what_tests_call_behind_sudo_is_done_by_root(project: Path) -> None:
    (project / "tests").mkdir()
    (project / "tests/suite.py").write_text("import os\nprint(os.environ.get('SUDO_USER'))\n")
    assert run(project, "test", SUDO_USER="somebody").stdout == "None\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--glibc"], "'': valid: 2.17, "),
        (["--glibc="], "'': valid: 2.17, "),
        (["--glibc", "2.16", "dir"], "'2.16': valid: 2.17, "),
        (["--zig"], "--zig: unknown option; valid: ./run wheel [--glibc VERSION] [DIR]"),
        (["a", "b"], "'b': one directory would be valid"),
        ([""], "'': one directory would be valid"),
        (["run"], "/run': is no directory that can be written"),
    ],
    ids=" ".join,
)
def test_a_wheel_that_cannot_be_is_refused_before_anything_is_compiled(
    words: list[str], said: str, project: Path
) -> None:
    (project / "bin/cargo").write_text("#!/bin/sh\necho compiles\n")
    done = run(project, "wheel", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_build_that_is_not_what_was_asked_for_fails(project: Path) -> None:
    done = run(project, "build", "ci", ONLY="release")
    assert done.returncode == 1
    assert "run: the engine that was built is of profile 'release', not ci" in done.stderr


def test_an_engine_that_cannot_be_loaded_is_told(project: Path) -> None:
    done = run(project, "build", ONLY="'; import nonsense #")
    assert done.returncode == 1
    assert "No module named 'nonsense'" in done.stderr


def test_an_engine_that_does_not_compile_is_told_once(project: Path) -> None:
    (project / "bin/uv").write_text("#!/bin/sh\necho 'error[E0308]: mismatched types' >&2\nexit 2\n")
    done = run(project, "wasp")
    assert done.returncode == 1
    assert done.stderr.count("E0308") == 1


def test_an_unknown_profile_is_refused(project: Path) -> None:
    done = run(project, "build", "ci", "fast")
    assert (done.returncode, done.stderr) == (2, "run: build ci fast: unknown profile; valid: nothing, release, ci\n")
