"""What all runs of one point say together, which one of them cannot say."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import Field

from waspbench import _core
from waspbench.results.formats import Record
from waspbench.results.summary import Censoring, Invalid, RunSummary

CODES = frozenset({"censored"})
"""Reasons that are said of all runs together, not of each."""


class Together(Record):
    """What the runs of one point say together."""

    censoring: Censoring | None
    """Whether their intervals were long enough for the longest transactions; None where too few were seen to tell."""
    by_group: list[Censoring | None]
    """The same of each group, in the order of their index."""
    invalid: list[Invalid] = Field(default_factory=list)
    """Reasons not to trust them."""


def judge(runs: Sequence[RunSummary]) -> Together | None:
    """What ``runs`` say together; None where one of them does not tell, and where they were made otherwise."""
    if not runs or not all(map(tells, runs)):
        return None
    ages = [[group.model_dump(include={"name", "background", "ages"}) for group in run.by_group or ()] for run in runs]
    found = _core.judge_together(json.dumps(ages))
    if found == "null":
        return None
    together = Together.model_validate_json(found)
    # No length does where the load is too much.
    overloaded = {reason.group for run in runs for reason in run.invalid if reason.code == "overload"}
    kept = [reason for reason in together.invalid if not overloaded & {None, reason.group}]
    return together.model_copy(update={"invalid": kept})


def tells(run: RunSummary) -> bool:
    """Whether a run says how long its transactions had been in progress: it was not stopped, and is of a version that
    counts.
    """
    return bool(run.by_group) and all(group.ages is not None for group in run.by_group or ())
