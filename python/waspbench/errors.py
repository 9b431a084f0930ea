"""What can go wrong, for callers of the package and for the command's exit status.

    WaspError
    ├── InputError        the experiment, an argument or a file is not valid      (exit status 2)
    ├── CannotRunError    this machine cannot do what is asked                    (exit status 3)
    └── RunFailedError    a run began and could not be finished                   (exit status 4)

Every message is one line that names the field, its value, and what would be valid. A field is a dotted path of the
experiment file, or the name of an argument of the function that was called; the command puts its flags in their place.
What an error is about is in its attributes, so that nobody has to read its text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

_BREAKS = re.compile("[\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029]")
"""Where `str.splitlines` ends a line."""


def one_line(text: str) -> str:
    """The text on one line: each line break is shown as Python and TOML write it."""
    return _BREAKS.sub(lambda found: repr(found[0])[1:-1], text)


class WaspError(Exception):
    """Base class of all errors that WASP raises on purpose."""


class Argument(str):
    """The name of an argument, where an error tells it in the place of a field, a file or a key that is unknown, any of
    which may have the same name.
    """

    __slots__ = ()


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with an input."""

    where: str
    """Where the problem is: a field of the experiment, an argument, a flag of the command, or a file."""
    message: str
    """What is wrong, and what would be valid."""
    value: Any = None
    """The value that is not valid."""
    has_value: bool = False
    """Whether the error shows the value."""

    def __str__(self) -> str:
        value = f"{show(self.value)}: " if self.has_value else ""
        return one_line(f"{self.where}: {value}{self.message}")


class InputError(WaspError, ValueError):
    """The input is not valid.

    Attributes:
        problems: a `Problem` for each field that is not valid.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    @classmethod
    def at(cls, where: str, message: str, *value: Any) -> InputError:
        """An error with one problem: where it is, what is wrong, and the value if one is given."""
        return cls([Problem(where, message, value[0] if value else None, bool(value))])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)


class CannotRunError(WaspError, RuntimeError):
    """This machine cannot do what is asked.

    Attributes:
        field: the field or argument that asks for it; None if there is none.
        message: why, without the field.
    """

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(one_line(message if field is None else f"{field}: {message}"))
        self.field = field
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.field)


class RunFailedError(WaspError, RuntimeError):
    """A run began and could not be finished.

    Attributes:
        kept: the directory of what was measured before; None if nothing is kept.
        field: the field or argument that it is about; None if there is none.
        message: why, without the field and without the directory.
    """

    def __init__(self, message: str, kept: Path | None = None, field: str | None = None) -> None:
        text = message if field is None else f"{field}: {message}"
        super().__init__(one_line(text if kept is None else f"{text}; what was measured is kept in {kept}"))
        self.kept = kept
        self.field = field
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.kept, self.field)


@contextmanager
def renamed(name_of: Callable[[str], str]) -> Iterator[None]:
    """Puts other names into errors, in the place of fields and arguments: such as the command's flags. Of several
    problems that come to have one name, the first is told.
    """
    try:
        yield
    except InputError as error:
        told: dict[Any, Problem] = {}
        for number, problem in enumerate(error.problems):
            where = name_of(problem.where)
            told.setdefault(number if where == problem.where else where, replace(problem, where=where))
        raise InputError(told.values()) from None
    except CannotRunError as error:
        if error.field is None:
            raise
        raise CannotRunError(error.message, name_of(error.field)) from None
    except RunFailedError as error:
        if error.field is None:
            raise
        raise RunFailedError(error.message, error.kept, name_of(error.field)) from None


T = TypeVar("T")


def check_choice(argument: str, given: str, choices: Mapping[str, T]) -> T:
    """What is chosen by the name that was given for an argument.

    Raises:
        InputError: there is no such choice.
    """
    if given not in choices:
        raise InputError.at(Argument(argument), f"must be one of {', '.join(choices)}", given)
    return choices[given]


def show(value: Any, limit: int = 60) -> str:
    """``value`` as it would stand in a file, cut to ``limit`` characters, on one line."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= limit else text[: limit - 3] + "..."
