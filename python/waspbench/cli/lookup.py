"""``wasp list``, ``show`` and ``query``: what was measured before."""

from __future__ import annotations

import math
import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from waspbench.cli import status
from waspbench.cli.options import RESULTS, Json, Percentiles, Root
from waspbench.errors import InputError

if TYPE_CHECKING:
    from waspbench.cli.studies import Shown
    from waspbench.results.catalogue import Entry


def list_results(*, root: Root = RESULTS, json: Json = False) -> int:
    """List results, newest first."""
    from waspbench.cli import science_text as words
    from waspbench.results import catalogue

    found = _catalogue(root)
    print(catalogue.to_json(found) if json else words.entries(found), end="\n" if json else "")
    return status.Status.DONE


def show(
    name: Annotated[str, Parameter(name="RESULT", help="A directory, an id, or the name of an experiment.")],
    /,
    *,
    percentiles: Percentiles = None,
    root: Root = RESULTS,
    json: Json = False,
) -> int:
    """Print results again."""
    from waspbench.cli import studies
    from waspbench.results import catalogue

    try:
        directory = catalogue.find(name, root)
    except (OSError, sqlite3.Error) as error:
        raise InputError.at(str(catalogue.location()), f"cannot be used: {error}") from None
    result = _loaded(directory, percentiles)
    print(studies.text(result, json), end="")
    return status.Status.DONE if result.valid else status.Status.INVALID


def _loaded(directory: Path, percentiles: str | None) -> Shown:
    """The results in a directory, of whatever kind they are."""
    from waspbench.experiment.metrics import asked_percentiles
    from waspbench.results.calibration import load_calibration
    from waspbench.results.capacity import load_capacity
    from waspbench.results.study import is_study, load_study, read_plan
    from waspbench.results.twins import load_twin
    from waspbench.results.workload import with_asked

    kind = read_plan(directory).kind if is_study(directory) else "sweep"
    asked = None if percentiles is None else asked_percentiles(percentiles)
    if kind in ("calibration", "twin"):
        if asked is not None:
            raise InputError.at("--percentiles", f"is for the tables of experiments, and this is a {kind}", percentiles)
        return load_calibration(directory) if kind == "calibration" else load_twin(directory)
    if kind == "capacity":
        return load_capacity(directory, percentiles=asked)
    return with_asked(load_study(directory, percentiles=asked))


def query(
    statement: Annotated[
        str, Parameter(name="SQL", help='Such as "SELECT outcome, count(*) FROM transactions GROUP BY ALL".')
    ],
    /,
    *,
    root: Root = RESULTS,
    json: Json = False,
) -> int:
    """Query results with SQL: a table results, and transactions, series, links and the others (needs DuckDB)."""
    import json as jsonlib

    from waspbench.cli import science_text as words
    from waspbench.results.query import query as query_results

    names, rows = query_results(statement, _catalogue(root))
    if json:
        found = [dict(zip(names, map(_in_json, row), strict=True)) for row in rows]
        print(jsonlib.dumps(found, indent=2, default=str))
    else:
        print(words.table(names, rows), end="")
    return status.Status.DONE


def _in_json(value: Any) -> Any:
    """A value of an answer as JSON has it: decimals as numbers, and null for a number that JSON does not know."""
    if isinstance(value, dict):
        return {name: _in_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_in_json(each) for each in value]
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else None
    return value


def _catalogue(root: Path) -> list[Entry]:
    from waspbench.results import catalogue

    try:
        return catalogue.entries(root)
    except (OSError, sqlite3.Error) as error:
        raise InputError.at(str(catalogue.location()), f"cannot be used: {error}") from None
