"""What the tables of a result say of its shape: how response times are spread, and how throughput went over time."""

from __future__ import annotations

import math
from pathlib import Path

from waspbench.experiment.units import seconds
from waspbench.results.records import table_path
from waspbench.results.result import Result
from waspbench.results.store import populations_of, read_table
from waspbench.stats import Histogram, merge


def response_times(result: Result) -> Histogram | None:
    """Those of all ``ok`` transactions in nanoseconds; None where a run's table is not kept.

    Raises:
        InputError: a table cannot be read.
    """
    tables = _tables(result, "histogram")
    return None if tables is None else merge(populations_of(read_table(table)).ok for table in tables)


def throughput_by_second(result: Result) -> list[list[int]] | None:
    """The ``ok`` transactions in each whole second of each run's measured interval; None where a table is not kept.

    Raises:
        InputError: a table cannot be read.
    """
    tables = _tables(result, "series")
    if tables is None:
        return None
    begin = seconds(result.scenario["measure"]["warmup"])
    found = []
    for run, path in zip(result.runs, tables, strict=True):
        table = read_table(path)
        end = math.floor(begin + run.interval_s + 1e-6)
        inside = (table["second"] >= math.ceil(begin)) & (table["second"] < end)
        found.append(table.filter(inside)["ok"].to_list())
    return found


def _tables(result: Result, name: str) -> list[Path] | None:
    """The files of a table, one a run."""
    found = [table_path(Path(result.results), name, run.run) for run in result.runs] if result.results else []
    return found if found and all(path.exists() for path in found) else None
