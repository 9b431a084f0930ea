"""How long the runs of a search for capacity are, which begins with the file's lengths and makes short runs again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from waspbench.experiment.conditions import Condition
from waspbench.experiment.model import Measure
from waspbench.experiment.search import Find
from waspbench.experiment.units import duration, seconds
from waspbench.results import RunSummary
from waspbench.results.checks import needs_more
from waspbench.results.lengths import Want
from waspbench.runner.job import BOTTLENECKS
from waspbench.runner.lengths import LONGEST, longer, longest_warmup
from waspbench.runner.pilots import FEW, wants_of
from waspbench.runner.readings import OVERLOAD, enough_for, judged_of, misses, ratio_of

TOO_SHORT = frozenset({"censored", "silent", "cycles", "near_capacity"})
"""Reasons against a run after which it is made again with a longer interval."""

FAR = 2.0
"""What a figure takes of an objective's limit from which a run's length does not matter: it misses the objective."""

SHORT_BY = 2.0
"""By what factor too few transactions may be for a run of the ascent to be made longer, and not to be passed over."""


class RunLengths:
    """Those of the runs at a point, by load."""

    def __init__(self, measure: Measure, objectives: Sequence[Condition], find: Find) -> None:
        self._file = {"warmup": seconds(measure.warmup), "duration": seconds(measure.duration)}
        self._objectives = objectives
        self._find = find
        self._warmups: dict[float, float] = {}
        self._intervals: dict[float, float] = {}

    def at(self, load: float) -> dict[str, str]:
        """Fields of ``measure`` for a run at a load, where they are not the file's. In a closed loop all runs have the
        longest warm-up that one needed; in an open one connections are opened the sooner the more arrivals there are.
        """
        needed = (found for other, found in self._warmups.items() if self._find != "rate" or other >= load)
        lengths = {"warmup": max(needed, default=0.0), "duration": self._intervals.get(load, 0.0)}
        return {name: duration(length) for name, length in lengths.items() if length > self._file[name]}

    def remember(self, load: float, summary: RunSummary) -> None:
        """Takes the lengths over of a run that was made before."""
        self._raise(self._intervals, load, summary.interval_s, "duration")
        self._raise(self._warmups, load, _warmup_of(summary) or 0.0, "warmup")

    def _raise(self, lengths: dict[float, float], load: float, made: float, name: str) -> None:
        if made > self._file[name]:
            lengths[load] = max(made, lengths.get(load, 0.0))

    def lengthen(self, load: float, summary: RunSummary, folder: Path, may_leave_open: bool) -> bool:
        """Whether a run, whose tables are in ``folder``, was too short, or began too early: for its longest
        transactions, for connections to be opened, for a percentile of an objective. Then `at` has longer lengths. One
        is left as it is that says nothing of the server, that misses an objective by far, or that may leave open
        whether it does.
        """
        codes = {reason.code for reason in summary.invalid}
        if codes & BOTTLENECKS or (self._objectives and OVERLOAD in codes):
            return False
        short_by = self._short_by(summary, folder)
        if short_by is None or (may_leave_open and short_by > SHORT_BY):
            return False
        warmup = _warmup_of(summary)
        wants = wants_of(summary, warmup or 0.0, ("warmup", "duration"))
        # The warm-up comes first: after a longer one the interval may be long enough.
        earlier = max((min(want.warmup_s or 0.0, longest_warmup(want)) for want in wants), default=0.0)
        if warmup is not None and earlier > warmup:
            self._warmups[load] = float(math.ceil(earlier))
            return True
        wants = [want for want in wants if want.code in TOO_SHORT]
        if short_by > 1 and summary.outcomes.get("ok") and "errors" not in codes:
            wants.append(Want(code=FEW, duration_s=summary.interval_s * short_by))
        if not wants or summary.interval_s >= LONGEST:
            return False
        self._intervals[load] = longer(summary.interval_s, wants)
        return True

    def _short_by(self, summary: RunSummary, folder: Path) -> float | None:
        """By what factor the transactions of a run are too few for the objectives' percentiles, 1 where they are
        enough; None where it misses an objective by far, or tells by few that it misses one.
        """
        judged = judged_of(summary, self._objectives, folder)
        taken = ratio_of(enough_for(summary, self._objectives), judged)
        few = [more for each in self._objectives if (more := needs_more(summary, each.metric)) is not None]
        if (taken is not None and taken >= FAR) or (few and misses(summary, self._objectives, judged, folder)):
            return None
        return max(few, default=1.0)


def _warmup_of(summary: RunSummary) -> float | None:
    """Seconds of a run's warm-up; None where it does not tell."""
    return max((group.ages.window.warmup for group in summary.by_group or [] if group.ages), default=None)
