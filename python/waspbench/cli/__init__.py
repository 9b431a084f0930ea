"""The command ``wasp``. Commands only parse, call and print."""

from waspbench.cli.app import app, main

__all__ = ["app", "main"]
