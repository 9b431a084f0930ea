"""Exit status of the command, and how errors become one line on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from enum import IntEnum

from waspbench.errors import Problem


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
    """Done, but the result must not be trusted, or too few transactions leave a check undecided."""
    INTERRUPTED = 130
    """Ended by Ctrl-C; what was measured until then is kept and marked."""


def complain(problems: Iterable[Problem | str]) -> None:
    """Says on standard error what is wrong, a line each."""
    for problem in problems:
        print(f"wasp: {problem}", file=sys.stderr)
