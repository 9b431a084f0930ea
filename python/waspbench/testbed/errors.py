"""What can go wrong with a testbed, in two kinds: it failed, or this machine cannot do it."""

from __future__ import annotations

from typing import Self


class TestbedError(RuntimeError):
    """The testbed failed, or was asked for something impossible; the message is one plain line."""

    __test__ = False  # not a test class, whatever its name looks like to pytest

    def __init__(self, message: str, field: str | None = None, advice: str = "") -> None:
        super().__init__(": ".join(filter(None, (field, message, advice))))
        self.message = message
        """What is wrong, without the field and without what to do."""
        self.field = field
        """The field of the experiment, or the argument, that it is about; None if it is about none."""
        self.advice = advice
        """What to do about it, where that is told apart."""

    @classmethod
    def at(cls, field: str, message: str, advice: str = "") -> Self:
        """An error about a field."""
        return cls(message, field, advice)

    @property
    def said(self) -> str:
        """The message and the advice, without the field."""
        return ": ".join(filter(None, (self.message, self.advice)))


class CannotDoIt(TestbedError):  # noqa: N818 - it reads as what it says
    """This machine cannot do what is asked (privilege, device or program missing): exit status 3 of the command."""
