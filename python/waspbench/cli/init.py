"""``wasp init``: a commented experiment file for a question, ready to run and to change."""

from __future__ import annotations

import json
import re
import shlex
import sys
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal, get_args

from cyclopts import Parameter

from waspbench.cli.options import SERVER, Text
from waspbench.cli.status import Status
from waspbench.errors import InputError, renamed

Question = Literal["static-site", "application", "two-servers", "change"]

_QUESTION = "Name of the question; without one, the command lists all."
_FILE = "New file. [default: QUESTION.toml]"
_COMMAND = "Command line that starts the application, such as 'uvicorn app:app --host {address} --port {port}'."
_URL = "URL of the application, if it runs already on this machine, such as http://127.0.0.1:8000/."

_PLACE = "#SERVER#"
_ASKED = 'path = "/"                          # what the clients ask for'
_UNKNOWN = f"""kind = "command"
command = "python3 -m http.server --protocol HTTP/1.1 {{port}}"   # your own; or kind = "url" and url = "http://127.0.0.1:8000/"
{_ASKED}"""


def init(
    question: Annotated[Question | None, Parameter(name="QUESTION", help=_QUESTION)] = None,
    file: Annotated[Path | None, Parameter(name="FILE.toml", help=_FILE)] = None,
    /,
    *,
    command: Annotated[Text, Parameter(metavar="LINE", group=SERVER, help=_COMMAND)] = None,
    url: Annotated[Text, Parameter(metavar="URL", group=SERVER, help=_URL)] = None,
) -> int:
    """Write a commented experiment file for a question, to run and to change."""
    import tomllib

    from waspbench.experiment.load import parse

    if question is None:
        print(questions(), end="")
        return Status.DONE
    path = file or Path(f"{question}.toml")
    if not str(path).isprintable():
        raise InputError.at("FILE.toml", "must have no control characters", str(path))
    text = content(question, command, url, str(path))
    try:
        content_bytes = text.encode()
    except UnicodeEncodeError:
        raise InputError.at("--command" if command else "--url" if url else "FILE.toml", "must be UTF-8") from None
    with renamed(lambda where: {"server.command": "--command", "server.url": "--url"}.get(where, where)):
        parse(tomllib.loads(text))
    try:
        with path.open("xb") as new:
            new.write(content_bytes)
    except FileExistsError:
        raise InputError.at("FILE.toml", "exists already; name a new file", str(path)) from None
    except OSError as error:
        raise InputError.at("FILE.toml", f"cannot be written: {error.strerror}", str(path)) from None
    print(f"{path} is written; its first lines say what to run", file=sys.stderr)
    return Status.DONE


def questions() -> str:
    """All questions with their names."""
    lines = [f"{name:<14}{_read(name).splitlines()[0].removeprefix('# ')}" for name in get_args(Question)]
    return "\n".join([*lines, "", "wasp init QUESTION writes a file for it."]) + "\n"


def content(question: Question, command: str | None = None, url: str | None = None, path: str | None = None) -> str:
    """The file for a question, to be kept at ``path``; ``command`` or ``url`` says what the application is.

    Raises:
        InputError: both are given, or the question is not about an application.
    """
    text = _read(question)
    for flag, given in (("--command", command), ("--url", url)):
        if given is not None and _PLACE not in text:
            raise InputError.at(flag, "is for the questions application and change", given)
    if command is not None and url is not None:
        raise InputError.at("--url", "has no effect beside --command", url)
    head, gap, rest = text.partition("\n\n")
    if path is not None:
        head = _aligned(head.replace(f"{question}.toml", shlex.quote(f"./{path}" if path.startswith("-") else path)))
    return head + gap + rest.replace(_PLACE, _server(command, url))


_COMMAND_LINE = re.compile(r"(#   wasp .*?)(?:  +(\S.*))?")


def _aligned(head: str) -> str:
    """The first lines with what is said of each command below each other."""
    lines = [_COMMAND_LINE.fullmatch(line) or line for line in head.splitlines()]
    width = max((len(line[1]) for line in lines if not isinstance(line, str) and line[2]), default=0)
    return "\n".join(
        line if isinstance(line, str) else f"{line[1]:<{width}}   {line[2] or ''}".rstrip() for line in lines
    )


def _read(question: Question) -> str:
    return resources.files("waspbench.cli").joinpath("questions", f"{question}.toml").read_text(encoding="utf-8")


def _server(command: str | None, url: str | None) -> str:
    """The lines that say which server it is."""
    if command is not None:
        return f'kind = "command"\ncommand = {_quoted(command)}\n{_ASKED}'
    if url is not None:
        return f'kind = "url"\nurl = {_quoted(url)}'
    return _UNKNOWN


def _quoted(text: str) -> str:
    """A text as TOML has it: as JSON does, but for the one control character that JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
