"""SQL over the Parquet files of results, by DuckDB (the extra ``sql``). The files are only read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from waspbench.errors import CannotRunError, InputError
from waspbench.results.catalogue import Entry
from waspbench.results.tables import TABLES


def query(statement: str, results: Sequence[Entry]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Column names and rows of the answer to ``statement``.

    There is a view for each table of results (transactions, connections, series, links, link_series, link_waits,
    histogram) over the files of all ``results``, with the columns ``result`` (its id), ``experiment`` (its name) and
    ``point`` (the directory of its point) in front, and a table ``results`` of what the catalogue has. A column that
    results of an older format do not have is null in their rows.

    Raises:
        CannotRunError: DuckDB is not installed.
        InputError: the statement is not valid SQL.
    """
    try:
        import duckdb
    except ImportError:
        raise CannotRunError("DuckDB is not installed: pip install 'waspbench[sql]'") from None
    connection = duckdb.connect(":memory:")
    try:
        connection.execute(
            "CREATE TABLE results (id VARCHAR, path VARCHAR, name VARCHAR, kind VARCHAR, mode VARCHAR, "
            "created VARCHAR, points BIGINT, runs BIGINT, valid BOOLEAN)"
        )
        for entry in results:
            values = [getattr(entry, name) for name in Entry.model_fields]
            connection.execute("INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        for table in TABLES if results else ():
            parts = [part for entry in results for part in _part(table, entry)]
            connection.execute(f"CREATE VIEW {table} AS {' UNION ALL BY NAME '.join([_no_rows(table), *parts])}")
        try:
            answer = connection.execute(statement)
            names = [column[0] for column in answer.description or ()]
            return names, answer.fetchall()
        except duckdb.Error as error:
            raise InputError.at("query", str(error).splitlines()[0], statement) from None
    finally:
        connection.close()


_SQL_TYPES = {
    "Boolean": "BOOLEAN",
    "Float64": "DOUBLE",
    "Int64": "BIGINT",
    "String": "VARCHAR",
    "UInt8": "UTINYINT",
    "UInt16": "USMALLINT",
    "UInt32": "UINTEGER",
    "UInt64": "UBIGINT",
}


def _no_rows(table: str) -> str:
    """All columns of a table and none of its rows, as SQL: what older results do not have is there, and null."""
    own = [f"NULL::VARCHAR AS {column}" for column in ("result", "experiment", "point")]
    declared = [f'NULL::{_SQL_TYPES[kind]} AS "{column}"' for column, kind, _ in TABLES[table][1]]
    return f"SELECT {', '.join([*own, *declared])} WHERE false"


def _part(table: str, entry: Entry) -> list[str]:
    """The rows of one table of one result, as SQL."""
    files = sorted(path for path in Path(entry.path).rglob(f"{table}/run-*.parquet") if not path.name.startswith("."))
    if not files:
        return []
    listed = ", ".join(_quoted(str(path)) for path in files)
    # The point's directory is two levels above its file.
    point = f"regexp_extract(filename, '([^/]+)/{table}/[^/]+$', 1)"
    return [
        f"SELECT {_quoted(entry.id)} AS result, {_quoted(entry.name)} AS experiment, {point} AS point, "
        f"* EXCLUDE (filename) FROM read_parquet([{listed}], filename = true, union_by_name = true)"
    ]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
