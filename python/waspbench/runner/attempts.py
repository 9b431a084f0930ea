"""When a run has a second attempt, and what is kept of one that failed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from waspbench.errors import RunFailedError, WaspError
from waspbench.experiment import Mode
from waspbench.results.records import RunRecord, records_of, write_record
from waspbench.results.summary import RunSummary
from waspbench.runner.job import BOTTLENECKS, DISTURBANCES, Done


@dataclass(frozen=True)
class FirstAttempt:
    """What is known of the first attempt at a run that is made again."""

    wrong: tuple[str, ...]
    """What was wrong with it."""
    figures: RunSummary | None
    """What it measured, whether it failed or not."""


def first_attempt(done: Done, mode: Mode) -> FirstAttempt | None:
    """What a job was, if a second attempt at it may do better: it failed, or the machine disturbed it."""
    if done.job.attempt > 1 or done.final:
        return None
    if isinstance(done.error, RunFailedError):
        return FirstAttempt((done.error.message,), done.summary or done.partial)
    return None if done.summary is None else disturbed_attempt(done.summary, mode)


def disturbed_attempt(summary: RunSummary, mode: Mode) -> FirstAttempt | None:
    """A first attempt that came to its end with ``summary``, if the machine disturbed it. A simulated run would only
    repeat itself, and whoever made runs again for what their transactions did would select them.
    """
    if mode == "sim":
        return None
    wrong = tuple(reason.message for reason in summary.invalid if reason.code in DISTURBANCES | BOTTLENECKS)
    return FirstAttempt(wrong, summary) if wrong else None


def is_over(record: RunRecord, mode: Mode) -> bool:
    """Whether a run came to its end, and no second attempt is due: one that an interrupt prevented."""
    if not record.whole or record.summary is None:
        return False
    return record.attempts > 1 or disturbed_attempt(record.summary, mode) is None


def is_beyond_help(error: WaspError | None) -> bool:
    """Whether what is asked for is at fault, and other runs that ask for the same would fail as well."""
    return isinstance(error, RunFailedError) and error.field is not None


def write_failure(
    folder: Path, run: int, error: WaspError, attempts: int = 1, first: FirstAttempt | None = None
) -> RunRecord:
    """Writes, and returns, the record of a run whose last attempt failed. The figures of a first attempt that was whole
    stand for the run. Otherwise the record says why the run failed, and has the figures of the attempt that measured
    longest, if any measured something; earlier sessions count as well.
    """
    before = next((record for record in records_of(folder) if record.run == run and record.summary is not None), None)
    if before is not None and (before.whole or _is_of_first(before, first)):
        record = before if before.attempts == attempts else before.after(str(error))
    else:
        record = (before or RunRecord(run=run, summary=None)).model_copy(
            update={
                "attempts": attempts,
                "earlier": [] if first is None else list(first.wrong),
                "first": None if first is None else first.figures,
                "failure": str(error),
            }
        )
    write_record(folder, record)
    return record


def _is_of_first(record: RunRecord, first: FirstAttempt | None) -> bool:
    """Whether a record is that of a first attempt, which failed as well and measured more than the last one."""
    return first is not None and record.failure in first.wrong
