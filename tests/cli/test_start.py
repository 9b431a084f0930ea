"""A command that makes no run starts without the libraries that only results need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from waspbench.cli.app import COMMANDS, app

HEAVY = {"numpy", "scipy", "polars", "matplotlib"}

PROGRAM = """
import sys
from waspbench.cli.app import invoke
status = invoke(sys.argv[1:])
print(status, *sorted({heavy!r} & sys.modules.keys()), file=sys.stderr)
"""


def started(arguments: str, directory: Path) -> list[str]:
    """The status with which a command ended, and the heavy libraries that it had imported."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(heavy=HEAVY), *arguments.split()],
        cwd=directory,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr.splitlines()[-1].split()


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("--version", 0),
        ("--help", 0),
        *((f"{name} --help", 0) for name in COMMANDS),
        ("files surge --help", 0),
        ("completion bash", 0),
        ("bench --xyzzy", 2),
        ("bench --rtt 5", 2),
        ("bench --loss 100%", 2),
        ("run no.toml", 2),
        ("run wrong.toml", 2),
        ("capacity wrong.toml", 2),
    ],
)
def test_nothing_heavy_is_imported_before_a_run(arguments: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text('name = "x"\n[[clients]]\nrtt = 5\n')
    assert started(arguments, tmp_path) == [str(status)]


def test_the_list_of_commands_imports_no_experiment(tmp_path: Path) -> None:
    program = "import sys, waspbench.cli.app; print(*{'pydantic', 'waspbench.experiment'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_what_the_list_of_commands_says_of_each_is_what_it_says_of_itself() -> None:
    assert {name: app[name].help.strip() for name in COMMANDS} == {
        name: summary for name, (_, _, summary) in COMMANDS.items()
    }
    for name in COMMANDS:
        function = app[name].default_command
        if function is not None:
            assert function.__doc__ == COMMANDS[name][2]
