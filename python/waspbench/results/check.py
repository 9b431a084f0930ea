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
    """The condition, such as ``p99 < 800ms``."""
    value: float | None
    """Figure that was judged: in /s, bit/s, milliseconds, or as a share. For a search it is the capacity, for a
    comparison the slowdown as a share. None if there is no figure, for example if a percentile has too few
    transactions."""
    ci90: tuple[float | None, float | None] | None
    """90 % confidence interval of the figure. It is None if there is none; an end that a search did not reach is None,
    too."""
    judged: float | None
    """End of the interval that the condition was judged by: the unfavourable one, or the figure itself if one run gives
    no interval. For a search or a comparison it is the end that decides. If neither decides, it is the lower end for a
    search, and the upper end for a comparison."""
    passed: bool | None
    """Whether the condition holds. None if it is undecided: there is no figure, the interval of a search or a
    comparison does not decide it, or a result that is compared is not valid."""
    why: str
    """The judgement in words."""

    @property
    def line(self) -> str:
        """The outcome of the condition in words: where it was judged, and why it passed or failed."""
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
