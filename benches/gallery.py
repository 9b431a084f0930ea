"""The figures of the documentation: ``python benches/gallery.py`` runs the commands of docs/gallery.md, and keeps the
figures that they draw in docs/figures.

The runs are simulated with a fixed seed, so that every machine gets the same numbers. It takes two minutes.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

from snippets import snippets
from waspbench.cli.app import invoke
from waspbench.cli.status import Status

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "gallery.md"
FIGURES = ROOT / "docs" / "figures"


def draw(scratch: Path) -> list[Path]:
    """Runs the commands in a new directory, and returns the figures that are there then.

    Raises:
        SystemExit: a command failed, or what it drew must not be trusted.
    """
    (scratch / "examples").symlink_to(ROOT / "examples")
    os.environ["WASP_CATALOGUE"] = str(scratch / "catalogue.sqlite")  # these results are gone soon
    with chdir(scratch):
        for command in (words for snippet in snippets(PAGE) for words in snippet.of_wasp):
            print("wasp", *command, file=sys.stderr)
            if invoke(command) != Status.DONE:
                raise SystemExit(f"wasp {shlex.join(command)} failed")
    return sorted(scratch.glob("*.svg"))


def main() -> None:
    """Runs the commands and keeps the figures."""
    with tempfile.TemporaryDirectory() as scratch:
        for figure in draw(Path(scratch)):
            shutil.copy(figure, FIGURES / figure.name)


if __name__ == "__main__":
    main()
