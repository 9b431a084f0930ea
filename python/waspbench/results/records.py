"""Finished runs on disk: tables first, then one small file that says that the run is whole.

    POINT/runs/run-0.json               figures of run 0; it appears, whole, after all its tables
    POINT/histogram/run-0.parquet       and so on: its tables
    POINT/access_log/run-0.log          what the server logged, where it was asked to

Every file is written beside its path, synced, and renamed, so that whatever ends the process (SIGKILL, a full disk, a
power cut) leaves whole files only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import Field

from waspbench.errors import InputError, RunFailedError
from waspbench.results.access_log import log_path
from waspbench.results.formats import FORMAT, Record, read_document
from waspbench.results.store import NEEDED, ORDER, write_table
from waspbench.results.summary import RunSummary, with_notes
from waspbench.results.whole_files import write_whole

RUNS = "runs"


class RunRecord(Record):
    """``runs/run-N.json``: what became of one run."""

    format: int = FORMAT
    run: int
    """Number of the run, from 0."""
    attempts: int = 1
    """2 if the first attempt failed or was disturbed."""
    earlier: list[str] = Field(default_factory=list)
    """What was wrong with the other of two attempts: the first, or a second that failed after a disturbed one."""
    first: RunSummary | None = None
    """The figures of the first attempt, if there was a second and the first had any, whether it failed or not."""
    failure: str | None = None
    """Why the run did not come to its end; None for one that did, or was stopped."""
    summary: RunSummary | None
    """Its figures; None where nothing was measured."""
    files: dict[str, int] = Field(default_factory=dict)
    """Tables and the sizes of their files in bytes."""
    testbed: dict[str, Any] = Field(default_factory=dict)
    """What a live run was made on."""

    @property
    def whole(self) -> bool:
        """Whether the run came to its end; one that did not is made again when its directory is resumed."""
        return self.failure is None and self.summary is not None and not self.summary.stopped

    def after(self, failure: str) -> RunRecord:
        """This of a first attempt, after a second one that failed and left no record of its own."""
        return self.model_copy(update={"attempts": 2, "earlier": [*self.earlier, f"attempt 2: {failure}"]})


class LostTablesError(RunFailedError):
    """Not all tables of a run could be written; its figures can be kept without them.

    Attributes:
        record: what `write_record` can write when there is room.
    """

    def __init__(self, message: str, record: RunRecord) -> None:
        super().__init__(message)
        self.record = record

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.record)


def record_path(point: Path, run: int) -> Path:
    """Where the record of run ``run`` is."""
    return point / RUNS / f"run-{run}.json"


def table_path(point: Path, table: str, run: int) -> Path:
    """Where a table of run ``run`` is."""
    return point / table / f"run-{run}.parquet"


def write_run(
    point: Path, record: RunRecord, tables: Mapping[str, Any], keep_log: Callable[[], list[str]] = list
) -> RunRecord:
    """Writes a run's tables, has its server's access log kept, and then writes its record. It is returned with the
    sizes of the files and what ``keep_log`` says is to be noted. The table from which runs are combined comes first.

    Raises:
        LostTablesError: the disk is full or cannot be written, and at least that table is there.
        RunFailedError: it is not there.
    """
    sizes: dict[str, int] = {}
    try:
        for name in sorted(tables, key=lambda name: (name != NEEDED, name)):
            sizes[name] = _write_table(point, name, record.run, tables[name])
        notes = keep_log()
        summary = None if record.summary is None else with_notes(record.summary, notes)
        whole = record.model_copy(update={"files": dict(sorted(sizes.items())), "summary": summary})
        write_record(point, whole)
    except RunFailedError as error:
        if NEEDED not in sizes:
            raise
        lost = record.model_copy(update={"files": sizes, "failure": record.failure or str(error)})
        raise LostTablesError(str(error), lost) from None
    return whole


def write_record(point: Path, record: RunRecord) -> None:
    """Writes the record of a run alone.

    Raises:
        RunFailedError: the disk is full or cannot be written.
    """
    write_text(record_path(point, record.run), record.model_dump_json(indent=2) + "\n")


def _write_table(point: Path, name: str, run: int, table: Any) -> int:
    frame = pl.DataFrame(table)
    if name in ORDER:
        frame = frame.sort(ORDER[name])
    frame = frame.insert_column(0, pl.lit(run, dtype=pl.UInt32).alias("run"))
    path = table_path(point, name, run)
    write_whole(path, lambda partial: write_table(frame, partial))
    return path.stat().st_size


def write_text(path: Path, text: str) -> None:
    """Puts a file with ``text`` at its path, whole or not at all.

    Raises:
        RunFailedError: the disk is full or cannot be written.
    """
    write_whole(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def read_record(path: Path) -> RunRecord:
    """The record at ``path``.

    Raises:
        InputError: it cannot be read, is not valid, or is of a newer format.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError.at(str(path), f"cannot be read: {error.strerror}") from None
    return read_document(RunRecord, text, str(path), "record of a run")


def records_of(point: Path) -> list[RunRecord]:
    """The records of all runs of a point that became something, by number.

    Raises:
        InputError: one of them cannot be read.
    """
    folder = point / RUNS
    found = [read_record(path) for path in folder.glob("run-*.json")] if folder.is_dir() else []
    return sorted(found, key=lambda record: record.run)


def missing_files(point: Path, record: RunRecord) -> list[Path]:
    """Tables of a run that are not there, or not of the size that they had."""
    return [
        path
        for name, size in record.files.items()
        if not (path := table_path(point, name, record.run)).is_file() or path.stat().st_size != size
    ]


def failure_without_figures(records: Sequence[RunRecord]) -> str | None:
    """Why a point with these records has no figures; None if it has some, or no run of it failed."""
    if any(record.summary is not None for record in records):
        return None
    return next((record.failure for record in records if record.failure is not None), None)


def forget_run(point: Path, record: RunRecord) -> None:
    """Removes the record and the tables of a run, and leaves its server's access log."""
    record_path(point, record.run).unlink(missing_ok=True)
    for name in record.files:
        table_path(point, name, record.run).unlink(missing_ok=True)


def forget_damaged(point: Path) -> None:
    """Removes each run of a point whose tables are damaged, with its server's access log: it is to be made again."""
    for record in records_of(point):
        if missing_files(point, record):
            forget_run(point, record)
            log_path(point, record.run).unlink(missing_ok=True)
