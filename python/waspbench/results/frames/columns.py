"""The columns of frames: those of figures, of swept fields, of outcomes, and of the fields of records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import UnionType
from typing import Any, get_args

import polars as pl

from waspbench.experiment.metrics import Kind, Metric
from waspbench.experiment.quantities import Unit, common_unit, number_in
from waspbench.field_texts import in_data
from waspbench.results import errors
from waspbench.results.columns import value_text
from waspbench.results.formats import Record


@dataclass(frozen=True)
class FrameColumn:
    """A column of a frame."""

    name: str
    kind: str
    """Its type in polars, such as Float64."""
    meaning: str
    value: Callable[[Any], Any]
    """Its value in a row, from what the row is about."""


def frame_of(columns: Sequence[FrameColumn], rows: Sequence[Any]) -> pl.DataFrame:
    """A frame with these columns of what ``rows`` are about."""
    return pl.DataFrame(
        [
            pl.Series(column.name, [column.value(row) for row in rows], dtype=getattr(pl, column.kind))
            for column in columns
        ]
    )


POINT = FrameColumn("point", "UInt32", "Number of the point, from 0.", lambda row: row.index)


def own(kind: type[Record], names: Iterable[str], of: Callable[[Any], Any] = lambda row: row) -> Iterator[FrameColumn]:
    """Columns of fields of a record, by their names, with the texts of the fields; ``of`` finds the record in what a
    row is about.
    """
    for name in names:
        field = kind.model_fields[name]
        yield FrameColumn(name, _kind_of(field.annotation), in_data(field.description or ""), partial(_own, name, of))


def _own(name: str, of: Callable[[Any], Any], row: Any) -> Any:
    found = of(row)
    value = None if found is None else getattr(found, name)
    return "; ".join(value) if isinstance(value, list) else value


_KINDS: dict[Any, str] = {float: "Float64", int: "UInt32", bool: "Boolean"}


def _kind_of(annotation: Any) -> str:
    """The type of a column of values with a type of Python; of several the widest."""
    types = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    return next((kind for python, kind in _KINDS.items() if python in types), "String")


def with_interval(
    column: FrameColumn, ends: Callable[[Any], tuple[float | None, float | None] | None], over: str = " over the runs"
) -> Iterator[FrameColumn]:
    """A column, and the ends of its 90 % interval in two more."""
    lower = f"Lower end of its 90 % confidence interval{over}; null if it is not known."
    yield column
    yield FrameColumn(f"{column.name}_low", "Float64", lower, partial(_end, ends, 0))
    yield FrameColumn(f"{column.name}_high", "Float64", "Upper end of that interval.", partial(_end, ends, 1))


def _end(ends: Callable[[Any], tuple[float | None, float | None] | None], index: int, row: Any) -> float | None:
    found = ends(row)
    return None if found is None else found[index]


def outcome_columns(of: Callable[[Any], Mapping[str, int] | None]) -> Iterator[FrameColumn]:
    """A column for each outcome; ``of`` finds their numbers in what a row is about."""
    for outcome in errors.OUTCOMES:
        yield FrameColumn(
            outcome,
            "Int64",
            "Number of transactions, or of whole sessions, with this outcome.",
            partial(_count, outcome, of),
        )


def _count(outcome: str, of: Callable[[Any], Mapping[str, int] | None], row: Any) -> int | None:
    counts = of(row)
    return None if counts is None else counts.get(outcome, 0)


def swept_columns(points: Sequence[Mapping[str, Any]]) -> Iterator[FrameColumn]:
    """A column for each swept field, under its path; ``points`` are the values at each point. Texts with a unit have
    another one beside them, with the same as a number: ``clients.rtt`` and ``clients.rtt_ms``.
    """
    for path in dict.fromkeys(path for varied in points for path in varied):
        values = [varied[path] for varied in points if varied.get(path) is not None]
        kind = _kind_of_values(values)
        yield FrameColumn(path, kind, f"Value of the swept field `{path}`.", partial(_setting, path, kind))
        unit = common_unit(values)
        if unit is not None:
            name = f"{path}_{unit.suffix}"
            yield FrameColumn(name, "Float64", f"The same {unit.words}.", partial(_number, path, unit))


def _setting(path: str, kind: str, row: Any) -> Any:
    given = row.varied.get(path)
    return value_text(given) if kind == "String" and given is not None else given


def _number(path: str, unit: Unit, row: Any) -> float | None:
    given = row.varied.get(path)
    return None if given is None else number_in(unit, given)


def _kind_of_values(values: Sequence[Any]) -> str:
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return "Boolean"
    if kinds == {int}:
        return "Int64"
    return "Float64" if kinds in ({float}, {int, float}) else "String"


_SUFFIXES: dict[Kind, str] = {"count": "", "rate": "_bps", "duration": "_ms", "share": ""}
"""What the name of a figure's column ends with."""


def column_name(of: Metric) -> str:
    """What a figure is called in a frame."""
    return f"{of}{_SUFFIXES[of.kind]}"


def metrics(percentiles: Sequence[str]) -> list[Metric]:
    """The figures of a frame, with the percentiles of these names."""
    times = ["mean", *percentiles, "max"]
    return [
        Metric("throughput"),
        Metric("goodput"),
        *(Metric(name) for name in times),
        Metric("errors"),
        Metric("server_cpu"),
        *(Metric(name, all=True) for name in times),
    ]


_MEANINGS = {
    "throughput": "`ok` transactions a second; in the row of whole sessions, `ok` sessions a second.",
    "goodput": "Bits of the bodies of `ok` transactions a second.",
    "errors": "Share of the ended transactions that were not `ok`; null if none ended.",
    "server_cpu": "Busy share of the server's CPUs; in simulation, of the model's CPUs. Null in the row of a group.",
}


def meaning_of(of: Metric) -> str:
    """What a figure is, in a sentence."""
    if of.kind != "duration":
        return _MEANINGS[of.name]
    population = "all transactions that ended" if of.all else "`ok` transactions"
    if of.is_percentile:
        hour = "; of whole sessions, one that failed counts with an hour" if of.all else ""
        return (
            f"Percentile of the response times of {population}, in milliseconds; null with too few transactions{hour}."
        )
    none = "; null in the row of whole sessions" if of.all else ""
    return f"{'Mean' if of.name == 'mean' else 'Longest'} response time of {population}, in milliseconds{none}."
