"""The main job: what 3 % loss on the way does to a server's clients."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from waspbench.cli import status, studies, table
from waspbench.results.study import StudyPoint
from waspbench.runner.study import Study

EXPERIMENT: dict[str, Any] = {
    "name": "demo",
    "clients": [{"count": 256, "rtt": "100ms"}],
    "measure": {"warmup": "4s", "duration": "8s", "runs": 1, "order": "listed"},
    "sweep": {"clients.loss": ["0%", "3%"]},
}
"""256 clients at 100 ms before the built-in server, without loss and with two-state loss."""
NAMES = ("no loss", "3 % loss")


def demo(*, quiet: bool = False) -> status.Status:
    """Makes both runs, prints the comparison, and returns the exit status."""
    study = Study.begin(*studies.prepared(EXPERIMENT, None, quiet=quiet))
    found = studies.followed(study, jobs=1, quiet=quiet)
    if found is None:
        return status.Status.INTERRUPTED
    print("\nThe built-in server, 256 clients at 100 ms, 1 KiB files\n")
    named = list(zip(NAMES, found.points, strict=True))
    print(table.compare({name: point.result for name, point in named if point.result is not None}))
    for name, point in named:
        for remark in _remarks(point):
            print(textwrap.fill(f"{name}: {remark}", 79, subsequent_indent="  "))
    print(f"results: {found.results}")
    return studies.ended(study, found)


def _remarks(point: StudyPoint) -> Iterator[str]:
    yield from (f"not valid: {text}" for text in studies.against(point))
    if point.result is None:
        return
    if point.result.advice is not None:
        yield f"advice: {point.result.advice.text}"
    yield from (f"note: {note}" for note in point.result.notes)
