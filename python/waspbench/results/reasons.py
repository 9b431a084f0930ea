"""Why a result must not be trusted, and what to try next."""

from __future__ import annotations

from collections.abc import Iterable

from waspbench.experiment.units import duration
from waspbench.results import together
from waspbench.results.formats import Record
from waspbench.results.summary import Invalid, Lengths


class Reason(Lengths):
    """A reason why a result is not valid, and what would help."""

    run: int | None
    """Number of the run, from 0; None if the reason is about all runs together or the whole experiment."""
    group: str | None = None
    """Name of the group of clients that the reason is about; None if it is about all clients, or if there is only one
    group."""
    code: str
    """Kind of the reason, such as ``lag``, for programs; docs/concepts.md lists all."""
    message: str
    """The reason in words, with its figures."""

    def is_about(self, run: int | None, group: str | None) -> bool:
        """Whether the reason applies to some figures.

        Args:
            run: number of the run of the figures; None if they are of all runs together.
            group: name of the group of clients of the figures; None if they are of all clients.

        A reason that all runs together show applies to each run. Missing runs are no reason against the finished ones.
        """
        of_run = run is None or self.run == run or (self.run is None and self.code in together.CODES)
        return of_run and (group is None or self.group in (None, group))


def reason_of(given: Invalid, run: int | None) -> Reason:
    """A reason that is given of a run; of all where ``run`` is None."""
    return Reason(run=run, **given.model_dump())


class Advice(Record):
    """Lengths of the warm-up and of the measured interval for the next experiment: the longest that a reason names. At
    least one of them is not None.
    """

    warmup_s: float | None
    """Length of the warm-up to try, in seconds; None if it can stay as it is."""
    duration_s: float | None
    """Length of the measured interval to try, in seconds; None if it can stay as it is."""

    @property
    def text(self) -> str:
        """The advice in words."""
        after = "" if self.warmup_s is None else f"a warm-up of {duration(self.warmup_s)}"
        if self.duration_s is None:
            return f"try {after}"
        return f"measure for {duration(self.duration_s)}" + (after and f" after {after}")


HOPELESS = frozenset({"failed", "stopped", "interrupted", "errors"})
"""Reasons that a longer run has as well, so that no length is advised."""


def advice_of(reasons: Iterable[Reason | Invalid]) -> Advice | None:
    """What to try next; None where nothing is said of a length, and where one of the reasons says that none helps."""
    said = list(reasons)
    for reason in said:
        helped = reason.enough_warmup_s is not None or reason.enough_s is not None
        if reason.code in HOPELESS or (reason.code in together.CODES - {"loss"} and not helped):
            return None
    warmups = [reason.enough_warmup_s for reason in said if reason.enough_warmup_s is not None]
    intervals = [reason.enough_s for reason in said if reason.enough_s is not None]
    if not warmups and not intervals:
        return None
    return Advice(warmup_s=max(warmups, default=None), duration_s=max(intervals, default=None))


def longest(advice: Iterable[Advice | None]) -> Advice | None:
    """What does for all points of a sweep: the longest of what is advised for each."""
    there = [each for each in advice if each is not None]
    warmups = [each.warmup_s for each in there if each.warmup_s is not None]
    intervals = [each.duration_s for each in there if each.duration_s is not None]
    return Advice(warmup_s=max(warmups, default=None), duration_s=max(intervals, default=None)) if there else None
