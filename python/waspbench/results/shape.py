"""What the tables of a result say of its shape: how response times are spread, and how throughput went over time."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from waspbench.experiment.units import seconds
from waspbench.results.records import table_path
from waspbench.results.result import Result
from waspbench.results.store import populations_of, read_table
from waspbench.results.summary import RunSummary
from waspbench.stats import Histogram, Populations, merge

if TYPE_CHECKING:
    import polars as pl


def populations(result: Result) -> list[Populations] | None:
    """The response times (nanoseconds) of each run; None where a run's table is not kept.

    Raises:
        InputError: a table cannot be read.
    """
    tables = _tables(result, "histogram")
    return None if tables is None else [populations_of(read_table(table)) for table in tables]


def response_times(result: Result) -> Histogram | None:
    """Those of all ``ok`` transactions in nanoseconds; None where a run's table is not kept.

    Raises:
        InputError: a table cannot be read.
    """
    found = populations(result)
    return None if found is None else merge(run.ok for run in found)


def series(result: Result) -> list[pl.DataFrame] | None:
    """The table ``series`` of each run; None where one is not kept.

    Raises:
        InputError: a table cannot be read.
    """
    return _read(result, "series")


def links(result: Result) -> list[pl.DataFrame] | None:
    """The table ``links`` of each run; None where one is not kept.

    Raises:
        InputError: a table cannot be read.
    """
    return _read(result, "links")


def link_series(result: Result) -> list[pl.DataFrame] | None:
    """The table ``link_series`` of each run; None where one is not kept.

    Raises:
        InputError: a table cannot be read.
    """
    return _read(result, "link_series")


def link_waits(result: Result) -> list[pl.DataFrame] | None:
    """The table ``link_waits`` of each run; None where one is not kept.

    Raises:
        InputError: a table cannot be read.
    """
    return _read(result, "link_waits")


def throughput_by_second(result: Result) -> list[list[int]] | None:
    """The ``ok`` transactions in each whole second of each run's measured interval; None where a table is not kept.

    Raises:
        InputError: a table cannot be read.
    """
    tables = series(result)
    if tables is None:
        return None
    begin = math.ceil(warmup_of(result))
    return [
        table.filter((table["second"] >= begin) & (table["second"] < whole_seconds(result, run)))["ok"].to_list()
        for run, table in zip(result.runs, tables, strict=True)
    ]


def warmup_of(result: Result) -> float:
    """Seconds from the start of a run to that of its measured interval."""
    return seconds(result.scenario["measure"]["warmup"])


def whole_seconds(result: Result, run: RunSummary) -> int:
    """How many seconds a run filled from its start on."""
    return math.floor(warmup_of(result) + run.interval_s + 1e-6)


def _read(result: Result, name: str) -> list[pl.DataFrame] | None:
    """A table of each run; None where one is not kept."""
    tables = _tables(result, name)
    return None if tables is None else [read_table(table) for table in tables]


def _tables(result: Result, name: str) -> list[Path] | None:
    """The files of a table, one a run."""
    folder = result.directory
    found = [] if folder is None else [table_path(folder, name, run.run) for run in result.runs]
    return found if found and all(path.exists() for path in found) else None
