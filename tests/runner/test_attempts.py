"""What is kept of a run whose last attempt failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from measured_runs import summary
from waspbench.errors import RunFailedError
from waspbench.results import Invalid
from waspbench.results.records import RunRecord, records_of, write_record
from waspbench.runner.attempts import FirstAttempt, is_beyond_help, is_over, write_failure

GONE = RunFailedError("gone")
FIGURES = summary(100.0, 3)
STOPPED = FIGURES.model_copy(update={"invalid": [Invalid(code="stopped", message="stopped after 1 s")]})


def kept(folder: Path) -> RunRecord:
    [record] = records_of(folder)
    return record


def test_without_figures_it_is_written_that_the_run_failed(tmp_path: Path) -> None:
    first = FirstAttempt(("the device went",), FIGURES)
    record = write_failure(tmp_path, 3, GONE, 2, first)
    assert record == kept(tmp_path)
    assert (record.run, record.attempts, record.earlier) == (3, 2, ["the device went"])
    assert (record.failure, record.first, record.summary) == ("gone", FIGURES, None)


def test_a_whole_first_attempt_stands_for_the_run(tmp_path: Path) -> None:
    write_record(tmp_path, RunRecord(run=3, summary=FIGURES))
    record = write_failure(tmp_path, 3, GONE, 2, FirstAttempt(("steal",), FIGURES))
    assert record == kept(tmp_path)
    assert (record.attempts, record.earlier) == (2, ["attempt 2: gone"])
    assert record.whole
    assert is_over(record, "live")


def test_figures_of_a_first_attempt_that_failed_keep_its_failure(tmp_path: Path) -> None:
    write_record(tmp_path, RunRecord(run=3, failure="the device went", summary=FIGURES))
    record = write_failure(tmp_path, 3, GONE, 2, FirstAttempt(("the device went",), FIGURES))
    assert (record.attempts, record.failure, record.earlier) == (2, "the device went", ["attempt 2: gone"])
    assert not record.whole


@pytest.mark.parametrize(
    "before",
    [
        RunRecord(run=3, summary=STOPPED),
        RunRecord(run=3, attempts=2, earlier=["attempt 2: old"], failure="older", summary=FIGURES),
    ],
)
def test_figures_of_an_earlier_session_are_kept_with_the_failure_of_this_one(before: RunRecord, tmp_path: Path) -> None:
    write_record(tmp_path, before)
    record = write_failure(tmp_path, 3, GONE, 2, FirstAttempt(("went",), None))
    assert record == kept(tmp_path)
    assert (record.attempts, record.failure, record.earlier) == (2, "gone", ["went"])
    assert record.summary == before.summary
    assert not is_over(record, "sim")


def test_only_what_is_asked_for_is_beyond_help() -> None:
    assert is_beyond_help(RunFailedError("it does not start", field="server.command"))
    assert not is_beyond_help(GONE)
    assert not is_beyond_help(None)
