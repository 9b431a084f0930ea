"""Exit status of the command, and how errors become one line on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

from waspbench.colour import paint
from waspbench.errors import Problem

if TYPE_CHECKING:
    from waspbench.results.check import Check


class Status(IntEnum):
    """Exit status."""

    DONE = 0
    """Done, and valid."""
    CHECK_FAILED = 1
    """A check or threshold failed."""
    BAD_INPUT = 2
    """The arguments or a file are not valid."""
    CANNOT = 3
    """This machine cannot do it."""
    FAILED = 4
    """The run failed."""
    INVALID = 5
    """Done, but the result is not valid, or a check is undecided."""
    INTERRUPTED = 130
    """Ended by Ctrl-C; the results up to then are kept and marked."""
    PIPE_CLOSED = 141
    """The reader of standard output closed it before its end."""


def outcome(checks: Sequence[Check], *, valid: bool) -> Status:
    """That of results which are ``valid`` or not, with what became of their checks."""
    if any(check.passed is False for check in checks):
        return Status.CHECK_FAILED
    decided = all(check.passed is not None for check in checks)
    return Status.DONE if valid and decided else Status.INVALID


def complain(problems: Iterable[Problem | str]) -> None:
    """Says on standard error what is wrong, a line each."""
    for problem in problems:
        print(f"{paint('wasp:', 'bad', sys.stderr)} {problem}", file=sys.stderr)
