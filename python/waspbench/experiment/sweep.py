"""Sweeps: from one experiment file to the points that it means.

    [sweep]
    "clients.loss.rate" = ["0%", "3%", "6%", "9%"]             # a list
    "clients.count" = { from = 8, to = 4096, times = 2 }       # 8, 16, 32, ... 4096
    "clients.homes.rtt" = { from = "20ms", to = "100ms", step = "20ms" }
    zip = { "server.kind" = ["builtin", "nginx"], "measure.duration" = ["10s", "20s"] }

Fields vary independently (every combination is a point), those in ``zip`` together; ``zip`` may be a list of tables.
The first field varies slowest.
"""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice, product
from math import prod
from typing import Any

from waspbench.errors import InputError, Problem, show
from waspbench.experiment.base import Part
from waspbench.experiment.load import parse, set_path, with_name
from waspbench.experiment.model import Experiment
from waspbench.suggestion import hint

MOST_POINTS = 100_000
"""More points than this are taken for a mistake."""

_RANGE = ("from", "to", "times", "step")
_QUANTITY = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>[A-Za-z/%]*)")

_OF_ALL = ("measure.runs", "measure.until", "measure.order", "measure.percentiles")
"""Fields that hold for all points together."""

Settings = dict[str, Any]
"""Values by the path of their field."""


@dataclass(frozen=True)
class Point:
    """One combination of the swept values."""

    index: int
    """Position in the order of the file, from 0."""
    settings: Settings
    experiment: Experiment


@dataclass(frozen=True)
class Factor:
    """Fields that vary together, and the values that they take in turn."""

    paths: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]


def factors(sweep: Mapping[str, Any]) -> list[Factor]:
    """What varies.

    Raises:
        InputError: the sweep is not valid.
    """
    found: list[Factor] = []
    for path, values in sweep.items():
        if path == "zip":
            tables = values if isinstance(values, list) else [values]
            found += [_zipped(table) for table in tables]
        else:
            where = f"sweep.{_key(path)}"
            listed = _values(where, values)
            _check_apart(where, listed)
            found.append(Factor((path,), tuple((value,) for value in listed)))
    paths = [path for factor in found for path in factor.paths]
    for path in paths:
        if not all(path.split(".")):
            raise InputError.at("sweep", "must name a field, such as clients.rtt", path)
        if path.split(".")[0] in ("sweep", "assert", "capacity", "name", "mode") or path.startswith(_OF_ALL):
            raise InputError.at(f"sweep.{_key(path)}", "cannot be swept")
        if paths.count(path) > 1:
            raise InputError.at(f"sweep.{_key(path)}", "is swept twice")
    size = prod(len(factor.values) for factor in found)
    if size > MOST_POINTS:
        raise InputError.at("sweep", f"has {size:,d} points; at most {MOST_POINTS:,d} are valid")
    return found


def count(sweep: Mapping[str, Any]) -> int:
    """Number of points: 1 without a sweep."""
    return prod(len(factor.values) for factor in factors(sweep))


def settings_of(sweep: Mapping[str, Any]) -> Iterator[Settings]:
    """What is set at each point, in order."""
    varying = factors(sweep)
    for combination in product(*(factor.values for factor in varying)):
        yield {
            path: value
            for factor, values in zip(varying, combination, strict=True)
            for path, value in zip(factor.paths, values, strict=True)
        }


def points(document: Mapping[str, Any]) -> list[Point]:
    """The points of the experiment file with the content ``document``; one without a sweep.

    Raises:
        InputError: the sweep or a point is not valid; a problem of a point says which.
    """
    whole = parse(document)
    given = whole.model_fields_set
    checked = {**document, **{key: part for key, part in whole if key in given and isinstance(part, Part)}}
    sweep = checked.pop("sweep", None) or {}
    _check_names(document, sweep)
    with uncollected():
        return [_point(document, checked, index, settings) for index, settings in enumerate(settings_of(sweep))]


def _check_names(document: Mapping[str, Any], sweep: Mapping[str, Any]) -> None:
    """Refuses numbers of groups: results of two experiments are matched by what was swept."""
    for path in (path for factor in factors(sweep) for path in factor.paths):
        name = with_name(document, path)
        if name != path:
            raise InputError.at(f"sweep.{_key(path)}", f"a sweep calls groups by their names: {name}")


@contextmanager
def uncollected() -> Iterator[None]:
    """Holds the garbage collector off, where many objects are made and none is dropped: it would double the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _point(document: Mapping[str, Any], checked: Mapping[str, Any], index: int, settings: Settings) -> Point:
    try:
        return Point(index, settings, parse(_applied(document, checked, settings)))
    except InputError as error:
        if not settings:
            raise
        at = f" (at {text_of(settings)})"
        problems = [Problem(p.where, p.message + at, p.value, p.has_value) for p in error.problems]
        raise InputError(problems) from None


def _applied(document: Mapping[str, Any], checked: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """``document`` with ``settings``. Tables that they do not touch are those of ``checked``, valid already."""
    changed = dict(checked)
    for first in {path.split(".")[0] for path in settings}:
        changed.pop(first, None)
        if first in document:
            changed[first] = _tables_copied(document[first])
    for path, value in settings.items():
        set_path(changed, path, value, "sweep")
    return changed


def _tables_copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tables_copied(inner) for key, inner in value.items()}
    return [_tables_copied(inner) for inner in value] if isinstance(value, list) else value


def text_of(settings: Mapping[str, Any]) -> str:
    """A point in words: ``clients.loss.rate=3% clients.count=64``; nothing without a sweep."""
    return " ".join(f"{path}={value if isinstance(value, str) else show(value)}" for path, value in settings.items())


def _zipped(table: Any) -> Factor:
    if not isinstance(table, Mapping) or not table:
        raise InputError.at("sweep.zip", "must be a table of fields that vary together, or a list of such", table)
    lists = {path: _values(f"sweep.zip.{_key(path)}", values) for path, values in table.items()}
    lengths = {len(values) for values in lists.values()}
    if len(lengths) > 1:
        counted = ", ".join(f"{path} has {len(values)}" for path, values in lists.items())
        raise InputError.at("sweep.zip", f"fields that vary together need equally many values: {counted}")
    rows = list(zip(*lists.values(), strict=True))
    _check_apart("sweep.zip", rows)
    return Factor(tuple(lists), tuple(rows))


def _check_apart(where: str, values: Sequence[Any]) -> None:
    """Makes sure that no two of the values of a factor are the same."""
    known: set[str] = set()
    for value in values:
        text = show(value, limit=sys.maxsize)
        if text in known:
            raise InputError.at(where, "stands in the list twice", value)
        known.add(text)


def _values(where: str, values: Any) -> list[Any]:
    if isinstance(values, Mapping):
        return _range(where, values)
    if not isinstance(values, list) or not values:
        raise InputError.at(
            where, "must be a list of values, or a range { from, to, times } or { from, to, step }", values
        )
    return values


def _range(where: str, table: Mapping[str, Any]) -> list[Any]:
    for field in table:
        if field not in _RANGE:
            message = f"unknown field; {hint(field, _RANGE)}valid here: from, to, and times or step"
            raise InputError.at(f"{where}.{field}", message)
    if "from" not in table or "to" not in table or ("times" in table) == ("step" in table):
        raise InputError.at(where, "must have from, to, and either times or step", dict(table))
    first, unit, whole = _quantity(f"{where}.from", table["from"])
    last, last_unit, last_whole = _quantity(f"{where}.to", table["to"])
    by = "times" if "times" in table else "step"
    change, change_unit, change_whole = _quantity(f"{where}.{by}", table[by])
    if last_unit != unit or (by == "step" and change_unit != unit):
        raise InputError.at(where, "from, to and step must have the same unit", dict(table))
    if by == "times" and (change_unit or change <= 1 or first <= 0):
        raise InputError.at(where, "times must be a number above 1, and from above zero", dict(table))
    if by == "step" and change <= 0:
        raise InputError.at(f"{where}.step", "must be above zero", table[by])
    if last < first:
        raise InputError.at(where, "to must not be below from", dict(table))
    numbers = list(islice(_numbers(first, last, change, by), MOST_POINTS + 1))
    if len(numbers) > MOST_POINTS:
        raise InputError.at(where, f"has more than {MOST_POINTS:,d} values")
    textual = isinstance(table["from"], str)
    whole = whole and last_whole and change_whole
    return [_written(number, unit, textual, whole) for number in numbers]


def _numbers(first: Decimal, last: Decimal, change: Decimal, by: str) -> Iterator[Decimal]:
    number = first
    while number <= last:
        yield number
        number = number * change if by == "times" else number + change


def _written(number: Decimal, unit: str, textual: bool, whole: bool) -> Any:
    if textual:
        return format(number.normalize(), "f") + unit
    return int(number) if whole else float(number)


def _quantity(where: str, value: Any) -> tuple[Decimal, str, bool]:
    """Number, unit, and whether it is a whole number without one."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise InputError.at(where, 'must be a number, or text with a unit such as "20ms"', value)
    match = _QUANTITY.fullmatch(value if isinstance(value, str) else format(Decimal(repr(value)), "f"))
    if match is None:
        raise InputError.at(where, 'must be a number, or text with a unit such as "20ms"', value)
    return Decimal(match["number"]), match["unit"], isinstance(value, int)


def _key(path: str) -> str:
    return show(path) if "." in path else path
