"""What README and docs show, works: a page is gone through from its top to its end, as a reader would.

Its commands run in this process and in a directory of their own, simulated and for a second a run; its code and its
files follow in their place. The commands at the top of an example run in the same way.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from snippets import PAGES, ROOT, Snippet, snippets
from waspbench import _core, live
from waspbench.cli.app import app, invoke
from waspbench.cli.status import Status
from waspbench.experiment.resolve import accept
from waspbench.experiment.sweep import points
from waspbench.runner.run_lengths import RunLengths
from waspbench.testbed import Support
from waspbench.testbed.commandline import words

SHOWN = {page: snippets(page) for page in PAGES}
WITH_CODE = [page for page, found in SHOWN.items() if found]
EXAMPLES = sorted(path for folder in ("examples", "experiments") for path in (ROOT / folder).rglob("*.toml"))

MEASURING = {"bench", "run", "capacity"}
"""Commands that take ``--mode``."""
ENDLESS = {"serve"}
"""Commands that run until Ctrl-C."""
NOT_RUN = {
    "pip",
    "python3",
    "cargo",
    "ln",
    "source",
    "jq",
    "cd",
    "git",
    "go",
    "docker",
    "mkdir",
    "tar",
    "chown",
    "nsenter",
}
"""Other programs that the documentation calls."""
PARTS_OF_RUN = set(re.findall(r"; valid: nothing, (.*)\" ;;", (ROOT / "run").read_text())[-1].split(", "))
"""What `./run` does. It is not run either."""
OF_RESULTS = {*MEASURING, "demo", "resume", "show", "compare", "plot", "report"}
"""Commands whose status tells whether results are valid, which runs of a second are not."""

LOGGED = "".join(
    f'198.18.0.1 - - [20/Nov/2026:15:02:{second} +0000] "GET /{second}.html HTTP/1.1" 200 1000 "-" "-"\n'
    for second in range(10, 60)
)
[URLS] = [snippet.text.encode() for snippet in SHOWN[ROOT / "docs/recipes.md"] if not snippet.mark]
EXPERIMENT = (ROOT / "examples" / "homes-and-phones.toml").read_bytes()
READERS_FILES = {
    "docs/continuous-integration.md": {"experiment.toml": EXPERIMENT},
    "docs/recipes.md": {"urls.txt": URLS},
    "docs/guide.md": {"access.log.gz": gzip.compress(LOGGED.encode())},
    "docs/workloads.md": {"access.log.gz": gzip.compress(LOGGED.encode()), "users.csv": b"ann,secret\n"},
}
"""Files that a page takes for granted that its readers have."""


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of a second, one after another and in this process, on a machine that cannot make live ones."""
    started = _core.start

    def start(scenario: str, **options: Any) -> _core.Handle:
        asked = json.loads(scenario)
        asked["measure"] |= {"warmup": "200ms", "duration": "1s"}
        return started(json.dumps(asked), **options)

    monkeypatch.setattr(_core, "start", start)
    monkeypatch.setattr(RunLengths, "lengthen", lambda *_: False)  # a search would ask for longer runs for ever
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    for attempt in ("live_support", "host_support"):
        monkeypatch.setattr(live, attempt, lambda *_, **__: Support(False, "it is not asked"))


@pytest.fixture
def readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a reader, with copies of what a clone has."""
    for folder in ("examples", "experiments"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def simulated(arguments: list[str]) -> list[str]:
    """A command with ``--mode sim``. What only a live run can ask for is left out, so that the rest of it is tried."""
    command, *rest = arguments
    if command not in MEASURING or "sim" in rest:
        return arguments
    rest = [word for word in rest if word != "--access-log" and "://" not in word]
    live_only = ("--command", "--path", "--mode") if "--command" in rest else ("--mode",)
    for flag in live_only:
        if flag in rest:
            del rest[rest.index(flag) : rest.index(flag) + 2]
    return [command, *rest, "--mode", "sim"]


def check_start_line(line: str) -> None:
    """A simulation does not look at the line that starts a server."""
    words(line, dict.fromkeys(("address", "port", "root"), "x"), "server.command")


def expected(arguments: list[str]) -> set[Status]:
    """How a command of the documentation may end."""
    if arguments[0] not in OF_RESULTS or "--dry-run" in arguments:
        return {Status.DONE}
    may_fail = arguments[0] == "run"  # its thresholds are for longer runs
    return {Status.DONE, Status.INVALID, *([Status.CHECK_FAILED] if may_fail else [])}


def run_commands(snippet: Snippet) -> None:
    assert snippet.commands
    for program, *arguments in snippet.commands:
        known = set(arguments[:1]) <= PARTS_OF_RUN if program == "./run" else Path(program).name in {"wasp", *NOT_RUN}
        assert known, f"{program} {arguments}"
        assert program != "python3" or "waspbench" not in arguments, "wasp is the command that is shown"
    made = []
    for arguments in snippet.of_wasp:
        app.parse_args(arguments, print_error=False, exit_on_error=False)
        if "--command" in arguments:
            check_start_line(arguments[arguments.index("--command") + 1])
        command = simulated(arguments)
        if snippet.mark != "sh no-run" and arguments[0] not in ENDLESS and command not in made:  # a live one's twin
            assert invoke(command) in expected(arguments), " ".join(arguments)
        made.append(command)


def read_file(snippet: Snippet) -> None:
    """A whole experiment, or a part of one; each point of its sweep."""
    given = tomllib.loads(snippet.text)
    groups = [{"name": "phones"} if "phones" in snippet.text else {}]
    for point in points({"name": "x", "clients": groups, **given}):
        accept(point.experiment, "sim", point.settings)
        if point.experiment.server.command is not None:
            check_start_line(point.experiment.server.command)


def has_no_command(snippet: Snippet) -> None:
    """What a command prints does not look like one."""
    for line in snippet.text.splitlines():
        first, second, *_ = *line.split(), "", ""
        assert first not in {"$", "./run", "sudo", *NOT_RUN}, line
        assert Path(first).name != "wasp" or second not in app, line


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_shows_works(page: Path, readers: Path) -> None:
    for name, content in READERS_FILES.get(str(page.relative_to(ROOT)), {}).items():
        (readers / name).write_bytes(content)
    names: dict[str, Any] = {}

    def run_code(snippet: Snippet) -> None:
        exec(compile(snippet.text, f"line {snippet.line}", "exec"), names)

    followed: dict[str, Callable[[Snippet], None]] = {
        "": has_no_command,
        "sh": run_commands,
        "sh no-run": run_commands,
        "yaml": run_commands,
        "python": run_code,
        "toml": read_file,
        "mermaid": lambda _: None,
    }
    for snippet in SHOWN[page]:
        followed[snippet.mark](snippet)


@pytest.mark.usefixtures("short", "readers")
@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: str(file.relative_to(ROOT)))
def test_commands_at_the_top_of_an_example_work(file: Path) -> None:
    lines = [line.removeprefix("#").strip() for line in file.read_text().splitlines() if line.startswith("#   ")]
    assert lines, "it does not say how it is run"
    run_commands(Snippet(1, "sh", "".join(f"{line}\n" for line in lines)))
