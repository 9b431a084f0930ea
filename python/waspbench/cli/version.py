"""The version, which is told without all else that a command needs."""

from waspbench import _core

TEXT = f"wasp {_core.version()}"
"""What ``wasp --version`` says."""
