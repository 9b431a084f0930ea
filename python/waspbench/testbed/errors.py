"""What can go wrong with a testbed, in two kinds: it failed, or this machine cannot do it."""


class TestbedError(RuntimeError):
    """The testbed failed, or was asked for something impossible; the message is one plain line."""

    __test__ = False  # not a test class, whatever its name looks like to pytest


class CannotDoIt(TestbedError):  # noqa: N818 - it reads as what it says
    """This machine cannot do what is asked (privilege, device or program missing): exit status 3 of the command."""
