"""The tables of runs, read as frames: those of all runs of a result, or of all points of a study."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from waspbench.errors import InputError
from waspbench.results.records import table_path
from waspbench.results.result import Result
from waspbench.results.store import read_table
from waspbench.results.study import StudyResult
from waspbench.results.tables import SINCE, TABLES


def table_frame(results: Result | StudyResult, table: str) -> pl.DataFrame:
    """A table of all runs of a result, or of a study with the number of the ``point`` before its columns. In the column
    ``group`` is the name of the group of clients, whose index the files have.

    Raises:
        InputError: the results have no files, or one of them cannot be read.
    """
    points = [(0, results)] if isinstance(results, Result) else [(each.index, each.result) for each in results.points]
    found = [(index, result) for index, result in points if result is not None]
    if not found:
        raise InputError.at(table, "no run is finished")
    frames = [
        _named(read, _groups(result)).insert_column(0, pl.lit(index, dtype=pl.UInt32).alias("point"))
        for index, result in found
        for read in _runs(result, table)
    ]
    frame = pl.concat(frames)
    return frame.drop("point") if isinstance(results, Result) else frame


def _runs(result: Result, table: str) -> list[pl.DataFrame]:
    if result.directory is None:
        raise InputError.at(table, "these results have no files here; make them with a directory (output) to keep them")
    declared = [name for name, *_ in TABLES[table][1]]
    if table in SINCE and not (result.directory / table).is_dir():
        raise InputError.at(table, f"results of formats before {SINCE[table]} do not have this table")
    return [read_table(table_path(result.directory, table, run.run)).select(declared) for run in result.runs]


def _groups(result: Result) -> list[str]:
    return [str(group["name"]) for group in result.clients]


def _named(frame: pl.DataFrame, groups: Sequence[str]) -> pl.DataFrame:
    """The table with the name of each group in place of its index."""
    if "group" not in frame.columns:
        return frame
    return frame.with_columns(pl.col("group").replace_strict(range(len(groups)), groups, return_dtype=pl.String))
