"""The command ``wasp``. Commands only parse, call and print."""

from waspbench.cli import doctor, files, science, validation  # noqa: F401 - their commands join those of app
from waspbench.cli.app import app, main

__all__ = ["app", "main"]
