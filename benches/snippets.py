"""What the documentation shows: its pages, their blocks of code, and the commands in them.

A block of commands is marked as ``sh``. ``sh no-run`` marks one that only shows how a command is written, or that needs
what a reader has and this repository has not.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "experiments/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
"""Every page of the documentation."""

LANGUAGES = {"", "sh", "sh no-run", "python", "toml", "yaml", "mermaid"}
"""What a block may be marked as; nothing for what a command prints, and for drawings."""

_FENCE = re.compile(r"^\s*```(.*)$")
_OF_COMMANDS = {"sh", "sh no-run", "yaml"}
_OF_WORKFLOW = re.compile(r"^[-\s]*(?:run:)?\s*((?:sudo |\./run )*wasp .*)$")
_OPERATOR = re.compile(r"[();<>|&]+")
_FOUND_BY_SHELL = "$(command -v wasp)"


@dataclass(frozen=True)
class Snippet:
    """One block of code."""

    line: int
    """The line of the page where it begins."""
    mark: str
    """One of `LANGUAGES`."""
    text: str

    @property
    def commands(self) -> list[list[str]]:
        """Each command of a block of commands with its arguments, without what stands before ``wasp``. Of a workflow,
        the lines that begin with ``wasp``.
        """
        lines = self.text.replace("\\\n", " ").splitlines()
        if self.mark == "yaml":
            lines = [found[1] for line in lines if (found := _OF_WORKFLOW.match(line))]
        return [words for line in lines for words in _commands(line)] if self.mark in _OF_COMMANDS else []

    @property
    def of_wasp(self) -> list[list[str]]:
        """The arguments of each ``wasp`` among them."""
        return [words[1:] for words in self.commands if words[0] == "wasp"]


def snippets(page: Path) -> list[Snippet]:
    """The blocks of code of a page of Markdown, in their order.

    Raises:
        ValueError: a block has no end, or a mark that is none of `LANGUAGES`.
    """
    found: list[Snippet] = []
    begun: tuple[int, str] | None = None
    text: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = _FENCE.match(line)
        if begun is None:
            if fence is not None:
                begun, text = (number, fence[1]), []
        elif fence is None:
            text.append(line)
        else:
            found.append(Snippet(*begun, "".join(f"{each}\n" for each in text)))
            begun = None
        if fence is not None and begun is not None and begun[1] not in LANGUAGES:
            raise ValueError(f"{page.name}:{number}: {begun[1]!r} marks no block; valid: {sorted(LANGUAGES)}")
    if begun is not None:
        raise ValueError(f"{page.name}:{begun[0]}: this block has no end")
    return found


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    lines = page.read_text(encoding="utf-8").splitlines()
    for snippet in snippets(page):
        first = snippet.line - 1
        lines[first : first + snippet.text.count("\n") + 2] = [""] * (snippet.text.count("\n") + 2)
    return "\n".join(lines)


def _commands(line: str) -> Iterator[list[str]]:
    """The commands of a line of a shell, which may be a pipe or a list, without what their output goes to."""
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    command: list[str] = []
    for word in words:
        if _OPERATOR.fullmatch(word) is None:
            command.append(word)
        elif word.startswith(">"):
            next(words, None)
        else:
            yield from _bare(command)
            command = []
    yield from _bare(command)


def _bare(command: list[str]) -> Iterator[list[str]]:
    """A command, if there is one, without what may stand before ``wasp``."""
    words = list(command)
    if words[:1] == ["sudo"]:
        words = words[1:]
    if words[:2] == ["./run", "wasp"]:
        words = words[1:]
    if words:
        is_wasp = Path(words[0]).name == "wasp" or words[0] == _FOUND_BY_SHELL
        yield ["wasp", *words[1:]] if is_wasp else words
