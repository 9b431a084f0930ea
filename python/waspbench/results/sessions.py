"""The figures of whole sessions, over the runs of an experiment."""

from __future__ import annotations

from collections.abc import Sequence

from waspbench.results import errors
from waspbench.results.estimates import Estimate, ResponseTime, estimate_of
from waspbench.results.formats import Record
from waspbench.results.named_requests import figures_of
from waspbench.results.summary import RunSessions
from waspbench.stats import Populations


class Sessions(Record):
    """The figures of whole sessions, of all runs. A session is over with its last step, or with the first step that is
    not ok; it ends as that step does.
    """

    throughput: Estimate
    """Sessions a second whose steps were all ``ok``."""
    goodput_bps: Estimate
    """Bits of the bodies of these sessions a second; those of steps before the measured interval are among them."""
    response_time_ms: ResponseTime
    """Response times of ``ok`` sessions in milliseconds: sums of those of their steps, without the pauses. The first
    step's is from its intended start if there is one. Those of one of several groups are None with fewer than 100 such
    sessions."""
    all_response_time_ms: ResponseTime
    """The same of all sessions that ended. A session that failed counts with an hour, longer than any other; the mean
    is None. Those of one of several groups are None with fewer than 100 such sessions."""
    duration_s: Estimate | None
    """How long ``ok`` sessions lasted, pauses included, in seconds, from the intended start if there is one: the mean
    over the runs of their means. None if no run had any."""
    outcomes: dict[str, int]
    """Number of sessions of all runs by outcome."""
    statuses: dict[str, int]
    """Number of complete responses to the steps that sessions of all runs ended with, by status code."""
    errors: float | None
    """Share of the sessions that were not ok among those that ended; None if none ended."""
    failed_at: dict[str, int]
    """Number of sessions that were not ``ok``, by the name of the step that they ended with."""


def length(seconds: float) -> str:
    """How long a session lasts, in words."""
    return f"{seconds:,.1f} s" if seconds >= 1 else f"{1e3 * seconds:,.0f} ms"


def text_of(sessions: Sessions) -> str:
    """How long sessions lasted, and at which steps some failed, most first."""
    ended, failed = errors.ended(sessions.outcomes), errors.failed(sessions.outcomes)
    if not ended:
        return "none ended"
    lasted = sessions.duration_s
    long = [] if lasted is None else [f"{length(lasted.mean)} long on average, pauses included"]
    steps = sorted(sessions.failed_at.items(), key=lambda step: -step[1])
    at = ", ".join(f"{count:,} at {name}" for name, count in steps)
    return "; ".join([*long, *([f"{failed:,} of {ended:,} failed: {at}"] if failed else [])])


def sessions_of(
    runs: Sequence[RunSessions | None],
    populations: Sequence[Populations],
    percentiles: Sequence[str],
    *,
    several: bool,
) -> Sessions | None:
    """The figures of whole sessions; None if clients make none. ``runs`` are those of each run, and ``populations`` the
    response times of the same clients. ``several`` says that they are one of several groups.
    """
    found = [run for run in runs if run is not None]
    if not found:
        return None
    durations = [run.duration_s for run in found if run.duration_s is not None]
    own = [each.of_sessions() for each in populations]
    return Sessions(
        **figures_of(found, own, percentiles, several=several),
        duration_s=estimate_of(durations) if durations else None,
        failed_at=errors.total(run.failed_at for run in found) or {},
    )
