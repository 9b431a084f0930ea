"""The long tables of experiments/README.md: ``python benches/papers.py`` simulates them and writes them there.

``python benches/papers.py NAME...`` makes these only: ``cost``, ``rate`` and ``queue``. With ``--results DIR`` the runs
are kept, and the same command goes on with them; without it they are made anew and forgotten.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import queue_loss
import surge_cost
import surge_rate
from waspbench import StudyResult, resume, study
from waspbench.results.study import is_study, read_plan

PAGE = Path(__file__).parents[1] / "experiments" / "README.md"


def made(document: Mapping[str, Any], directory: Path) -> StudyResult:
    """The runs of an experiment in a directory: those that are there, and the ones that are missing.

    Raises:
        ValueError: the directory has runs of another experiment.
    """
    if not is_study(directory):
        return study(document, mode="sim", output=directory)
    if read_plan(directory).document != document:
        raise ValueError(f"{directory}: these are the runs of another experiment; give another --results")
    found = resume(directory)
    assert isinstance(found, StudyResult), "the directory holds what study() made"
    return found


Making = Callable[[Mapping[str, Any], str], StudyResult]
"""Makes an experiment under a name."""

SECTIONS: dict[str, Callable[[Making], Sequence[str]]] = {
    "cost": surge_cost.section,
    "rate": surge_rate.section,
    "queue": queue_loss.section,
}
"""What makes the lines of each part of the page."""


def replaced(text: str, name: str, lines: Sequence[str]) -> str:
    """``text`` with other lines between the marks of a part.

    Raises:
        ValueError: the marks are not there.
    """
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"no part between {begin} and {end}")
    body = "\n".join(lines).strip("\n")
    return f"{before}{begin}\n\n{body}\n\n{end}{after}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes the parts that are asked for; returns the exit status."""
    parser = argparse.ArgumentParser(description="Simulate the long tables of experiments/README.md.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SECTIONS))
    parser.add_argument("--results", type=Path, metavar="DIR", help="keep the runs there")
    asked = parser.parse_args(arguments)
    if unknown := [name for name in asked.names if name not in SECTIONS]:
        parser.error(f"{unknown[0]}: must be one of {', '.join(SECTIONS)}")
    with tempfile.TemporaryDirectory(prefix="waspbench-") as scratch:
        folder = asked.results or Path(scratch)
        for name in asked.names or SECTIONS:
            lines = SECTIONS[name](lambda document, part: made(document, folder / part))
            PAGE.write_text(replaced(PAGE.read_text(), name, lines))
            print(f"{name}: written to {PAGE}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
