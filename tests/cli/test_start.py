"""A command that makes no run starts without the libraries that only results need."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cyclopts import App

from waspbench import _core
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


@pytest.mark.parametrize(
    "arguments",
    [
        "--help",
        *(f"{name} --help" for name in COMMANDS),
        "files surge --help",
        "completion zsh",
        "bnech",
        "bench --xyzzy",
    ],
)
def test_help_imports_no_model(arguments: str, tmp_path: Path) -> None:
    """Models take longer to import than all else that help needs."""
    program = PROGRAM.format(heavy={"pydantic", "waspbench.experiment.base", "waspbench.results.formats"})
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments.split()], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines()[-1].split()[1:] == []


def test_the_version_is_told_without_the_command(tmp_path: Path) -> None:
    program = """
import sys
from waspbench.__main__ import main
sys.argv = ["wasp", "--version"]
try:
    main()
finally:
    print(*{"cyclopts", "waspbench.cli.app"} & sys.modules.keys(), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"wasp {_core.version()}\n"
    assert done.stderr.split() == []


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


SAYS_SOMETHING_ELSE = {
    "--runs": {"bench", "capacity", "calibrate", "normality"},
    "--clients": {"bench", "capacity"},
    "--arrivals": {"bench", "capacity"},
    "--outstanding": {"bench", "capacity"},
    "--warmup": {"bench", "capacity"},
    "--duration": {"bench", "capacity"},
    "--max-runs": {"bench", "capacity"},
    "--metric": {"compare", "normality"},
    "--mode": {"bench", "calibrate"},
    "--set": {"files surge", "files prowgen", "bench", "calibrate"},
    "--format": {"report", "files check"},
    "--output": {"bench", "plot", "report", "validate tcp", "validate kernel", "validate clients"},
    "--command": {"bench", "init"},
    "--preset": {"bench", "files surge", "files prowgen"},
    "--seed": {"bench", "files surge"},
    "--requests": {"files surge"},
    "--loss": {"bench", "validate clients"},
}
"""Flags that do not mean the same in all commands, with a command for each meaning."""


def test_a_flag_means_the_same_in_all_commands() -> None:
    said: dict[str, set[str]] = {}
    shorts: dict[str, set[str]] = {}
    for command in commands(app):
        for argument in command.assemble_argument_collection(default_parameter=app.default_parameter):
            if argument.index is None and argument.show:
                long = next(name for name in argument.names if name.startswith("--"))
                said.setdefault(long, set()).add(str(argument.parameter.help))
                for short in set(argument.names) - {long}:
                    shorts.setdefault(short, set()).add(long)
    assert {flag for flag, texts in said.items() if len(texts) > 1} <= set(SAYS_SOMETHING_ELSE)
    assert all(len(longs) == 1 for longs in shorts.values()), shorts


def commands(group: App) -> Iterator[App]:
    """All commands, those of groups too."""
    for name in group:
        if not name.startswith("-"):
            below = list(commands(group[name]))
            yield from below or [group[name]]
