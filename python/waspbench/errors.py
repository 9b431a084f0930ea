"""What can go wrong, for callers of the package and for the command's exit status.

    WaspError
    ├── InputError        the experiment, an argument or a file is not valid      (exit status 2)
    ├── CannotRunError    this machine cannot do what is asked                    (exit status 3)
    └── RunFailedError    a run began and could not be finished                   (exit status 4)

Every message is one line that names the field, its value, and what would be valid.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


class WaspError(Exception):
    """Base of all errors that this package raises on purpose."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong with an input: where (a dotted path, a flag or a file), its value, and what is valid."""

    where: str
    message: str
    value: Any = None
    has_value: bool = False

    def __str__(self) -> str:
        value = f"{show(self.value)}: " if self.has_value else ""
        return f"{self.where}: {value}{self.message}"


class InputError(WaspError, ValueError):
    """The input is not valid; ``problems`` says why, one entry a field."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    @classmethod
    def at(cls, where: str, message: str, *value: Any) -> InputError:
        """An error with one problem; ``value`` is shown when given."""
        return cls([Problem(where, message, value[0] if value else None, bool(value))])


class CannotRunError(WaspError, RuntimeError):
    """This machine cannot do what is asked."""


class RunFailedError(WaspError, RuntimeError):
    """A run began and could not be finished."""


def show(value: Any, limit: int = 60) -> str:
    """``value`` as it would stand in a file, cut to ``limit`` characters, on one line."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= limit else text[: limit - 3] + "..."
