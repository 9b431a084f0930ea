"""What became of a condition on results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from waspbench.experiment.sweep import text_of
from waspbench.results.formats import Record
from waspbench.tabular import Column, Listing

WORDS = {True: "passed", False: "FAILED", None: "undecided"}
"""What became of a check."""


class Check(Record):
    """One condition at one point."""

    point: int
    """Number of the point, from 0."""
    varied: dict[str, Any]
    """Values of the swept fields, by path."""
    condition: str
    """Such as ``p99 < 800ms``."""
    value: float | None
    """The figure: in /s, bit/s, milliseconds, or as a share; of a search in what it looked for; of a comparison the
    slowdown as a share. None where there is none, as of too few transactions for a percentile.
    """
    ci90: tuple[float | None, float | None] | None
    """90 % interval of the figure; None where there is none, and for an end that a search did not reach."""
    judged: float | None
    """The interval's unfavourable end; the value itself where one run gives no interval. Of a search or a comparison
    the end that decides; where none does, the lower one of a search, and the upper one of a comparison.
    """
    passed: bool | None
    """None where it is undecided: there is no figure to judge, or that of a search or a comparison does not tell."""
    why: str
    """What was judged, in words."""

    @property
    def line(self) -> str:
        """What became of it, where, and why."""
        at = f" at {text_of(self.varied)}" if self.varied else ""
        return f"{WORDS[self.passed]}  {self.condition}{at}: {self.why}"


def listing(checks: Sequence[Check]) -> Listing:
    """A table with a line for each check."""
    return Listing(_COLUMNS, [check.model_dump() for check in checks])


_COLUMNS = {
    "condition": Column("check", left=True),
    "varied": Column("point", text_of, left=True),
    "passed": Column(
        "result", of_row=lambda row: WORDS[row["passed"]], alarms=lambda row: not row["passed"], left=True
    ),
    "why": Column("", left=True),
}
