"""Files that ``wasp init`` writes."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from waspbench.cli.app import invoke
from waspbench.cli.init import Question
from waspbench.experiment.load import load

QUESTIONS: tuple[Question, ...] = get_args(Question)
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def nowhere(here: Path) -> None:
    """Files go to an empty directory."""


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_file_can_be_run_and_says_how(question: Question, here: Path, capsys: Capture) -> None:
    assert invoke(["init", question]) == 0
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", f"{question}.toml is written; its first lines say what to run\n")
    text = (here / f"{question}.toml").read_text()
    assert "#SERVER#" not in text
    assert f"wasp run {question}.toml" in text
    assert load(here / f"{question}.toml").name == question
    assert invoke(["run", f"{question}.toml", "--mode", "sim", "--dry-run"]) == 0


COMMANDS = {
    "static-site": ["run", "run", "capacity"],
    "application": ["run", "capacity", "run"],
    "two-servers": ["run", "compare", "compare"],
    "change": ["run", "run", "compare", "compare"],
}
"""What the first lines of each file say."""


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_command_in_a_file_is_understood(question: Question, here: Path, capsys: Capture) -> None:
    assert invoke(["init", question, "mine.toml"]) == 0
    head = (here / "mine.toml").read_text().partition("\n\n")[0].splitlines()
    lines = [line.removeprefix("#").strip().split("  ")[0] for line in head if line.startswith("#   wasp")]
    commands = [shlex.split(line) for line in lines]
    assert [words[1] for words in commands] == COMMANDS[question]
    for words in commands:
        if words[1] != "compare":
            assert words[2] == "mine.toml"
            more = [] if "--mode" in words else ["--mode", "sim"]
            assert invoke([*words[1:], *more, "--dry-run"]) == 0, words
        else:
            assert invoke(words[1:]) == 2
            assert "there is no such directory" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.full
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_runs_of_a_file_are_valid(question: Question, here: Path) -> None:
    invoke(["init", question])
    assert invoke(["run", f"{question}.toml", "--mode", "sim", "--quiet"]) == 0


def test_the_commands_of_a_file_can_be_pasted(here: Path) -> None:
    invoke(["init", "change", "my change.toml"])
    lines = (here / "my change.toml").read_text().splitlines()[2:5]
    assert lines == [
        "#   wasp run 'my change.toml' -o before             before the change, or on the main branch",
        "#   wasp run 'my change.toml' -o after              with the change",
        "#   wasp compare before after --fail-on slower:5%   exits with 0: no, 1: yes, 5: these runs cannot tell",
    ]


def test_questions_are_listed(here: Path, capsys: Capture) -> None:
    assert invoke(["init"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[: len(QUESTIONS)]] == list(QUESTIONS)
    assert all(line.endswith("?") for line in lines[: len(QUESTIONS)])
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("flags", "server"),
    [
        ([], {"kind": "command", "command": "python3 -m http.server --protocol HTTP/1.1 {port}", "path": "/"}),
        (
            ["--command", 'uvicorn "a b:app" --port {port} -c change.toml application.toml'],
            {
                "kind": "command",
                "command": 'uvicorn "a b:app" --port {port} -c change.toml application.toml',
                "path": "/",
            },
        ),
        (["--command", "x\x7f\\y"], {"kind": "command", "command": "x\x7f\\y", "path": "/"}),
        (["--url", "http://127.0.0.1:8000/a?b=1"], {"kind": "url", "url": "http://127.0.0.1:8000/a?b=1"}),
    ],
)
@pytest.mark.parametrize("question", ["application", "change"])
def test_the_application_is_what_was_named(question: str, flags: list[str], server: dict[str, str], here: Path) -> None:
    assert invoke(["init", question, *flags]) == 0
    assert tomllib.loads((here / f"{question}.toml").read_text())["server"] == server


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("init application", 'FILE.toml: "application.toml": exists already; name a new file'),
        ("init application no/a.toml", 'FILE.toml: "no/a.toml": cannot be written: No such file or directory'),
        ("init static-site a.toml --url http://x/", '--url: "http://x/": is for the questions application and change'),
        ("init change a.toml --command x --url http://x/", '--url: "http://x/": has no effect beside --command'),
        ("init change a.toml --url x", '--url: "x": must be a URL, such as http://127.0.0.1:8080/index.html'),
        ("init change a\x1bb", 'FILE.toml: "a\\u001bb": must have no control characters'),
        ("init change a.toml --command=", '--command: missing; kind = "command" needs a start line'),
        ("init change a.toml --command \udcff", "--command: must be UTF-8"),
    ],
)
def test_bad_usage(arguments: str, message: str, here: Path, capsys: Capture) -> None:
    (here / "application.toml").write_text("mine")
    assert invoke(arguments.split()) == 2
    assert capsys.readouterr().err == f"wasp: {message}\n"
    assert (here / "application.toml").read_text() == "mine"
    assert [path.name for path in here.iterdir()] == ["application.toml"]
