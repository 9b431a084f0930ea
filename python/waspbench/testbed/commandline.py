"""Servers that any command starts: its line, with placeholders for what the testbed alone knows."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence

from waspbench.testbed.errors import CannotDoIt, TestbedError
from waspbench.testbed.protocol import DOCUMENT_ROOT
from waspbench.testbed.servers import Launch, find_program

_BRACE = re.compile(r"\{\{|\}\}|\{([A-Za-z_]*)\}")

PID = "{pid}"
"""In a stop line: the server's first process. Its number is known only when it runs."""


def command(
    argv: Sequence[str],
    *,
    name: str = "command",
    version: str | None = None,
    environment: Mapping[str, str] | None = None,
    connections: int = 1024,
    stop: Sequence[str] = (),
    shown: Sequence[str] = (),
    asked_by: str = "server.command",
) -> Launch:
    """A server that a command starts: `argv` must stay in the foreground and listen on the testbed's address and port.

    It finds the files to serve in `DOCUMENT_ROOT`. Its standard output and error go to memory; let it log little.

    Raises:
        CannotDoIt: there is no such program.
    """
    return Launch(
        name,
        _program(asked_by, argv),
        version,
        dict(environment or {}),
        connections=connections,
        stop=_program("server.stop", stop) if stop else (),
        shown=tuple(shown),
        asked_by=asked_by,
    )


def from_lines(line: str, stop: str | None, *, address: str, port: int, connections: int) -> Launch:
    """The server that a start line, and a stop line if there is one, describe (see `words`).

    Raises:
        CannotDoIt: there is no such program.
        TestbedError: a line is no command.
    """
    known = {"address": address, "port": str(port), "root": DOCUMENT_ROOT}
    argv = words(line, known, "server.command")
    ending = words(stop, known | {"pid": PID}, "server.stop") if stop is not None else []
    return command(argv, name=os.path.basename(argv[0]), connections=connections, stop=ending)


def words(line: str, known: Mapping[str, str], field: str) -> list[str]:
    """The words of a command line, split as a shell does, with `{name}` replaced in each; `{{` and `}}` are braces.

    Raises:
        TestbedError: names the field, and what in it is wrong.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        if match[1] not in known:
            valid = ", ".join(f"{{{name}}}" for name in known)
            raise TestbedError.at(field, f"{match[0]} stands for nothing: {valid} would be valid, {{{{ is a brace")
        return known[match[1]]

    try:
        found = shlex.split(line)
    except ValueError as error:
        raise TestbedError.at(field, f"{line!r} is not a command line: {str(error).lower()}") from None
    if not found:
        message = f"{line!r} is empty: a command such as 'my-server --port {{port}}' would be valid"
        raise TestbedError.at(field, message)
    return [_BRACE.sub(value, word) for word in found]


def _program(field: str, argv: Sequence[str]) -> tuple[str, ...]:
    program = find_program(argv[0]) if argv else None
    if program is None:
        raise CannotDoIt.at(field, f"there is no program {argv[0] if argv else ''!r} to start")
    return (program, *argv[1:])
