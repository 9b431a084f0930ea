"""What all runs of one point say together, which one of them cannot say."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import Field

from waspbench import _core
from waspbench.errors import InputError
from waspbench.results.formats import Record
from waspbench.results.summary import Censoring, Invalid, RunSummary, Stability, Trend

CODES = frozenset({"warmup", "mser", "opening", "windows", "cycles", "overload", "near_capacity", "censored", "loss"})
"""Reasons that are said of all runs together, not of each. Runs of older versions may have ``mser``."""

GROUP = frozenset({"name", "background", "ages", "course", "beginning", "windows", "open_loop"})
"""What is judged of a group."""


class GroupTogether(Record):
    """What is said of one group."""

    censoring: Censoring | None = None
    """Whether the intervals were long enough for its longest transactions; None where too few were seen to tell."""
    trend: Trend | None = None
    """Whether its throughput had settled; None of too few transactions."""
    stability: Stability | None = None
    """Whether its open loop offers what can be taken; None of a closed one."""


class Together(Record):
    """What the runs of one point say together."""

    censoring: Censoring | None
    """Whether their intervals were long enough for the longest transactions; None where too few were seen to tell."""
    trend: Trend | None
    """Whether throughput had settled; None of too few transactions."""
    stability: Stability | None
    """Whether the open loops offer what can be taken; None without any."""
    by_group: list[GroupTogether]
    """The same of each group, in the order of their index."""
    invalid: list[Invalid] = Field(default_factory=list)
    """Reasons not to trust them."""


def judge(runs: Sequence[RunSummary]) -> Together | None:
    """What ``runs`` say together; None where one of them does not tell, and where they were made otherwise.

    Raises:
        InputError: their figures, which were read from a file, make no sense.
    """
    if not runs or not all(map(tells, runs)):
        return None
    try:
        found = _core.judge_together(json.dumps([_figures(run) for run in runs]))
        return None if found == "null" else Together.model_validate_json(found)
    except ValueError as error:
        reason = str(error).splitlines()[0]
        raise InputError.at("runs", f"no figures that runs can be judged by: {reason}") from None


def tells(run: RunSummary) -> bool:
    """Whether a run says what its transactions did: it was not stopped, and is of a version that says it."""
    return bool(run.by_group) and all(group.ages and group.course for group in run.by_group or ())


def _figures(run: RunSummary) -> dict[str, object]:
    groups = [group.model_dump(include=set(GROUP)) for group in run.by_group or ()]
    return {"groups": groups, "network": run.network.model_dump()}
