"""Conditions on what is measured: thresholds of ``[assert]`` and ``--assert``, objectives of ``--slo``.

[assert]
p99 = "< 800ms"
all.p99 = "< 5s"
throughput = ">= 600"
errors = ["< 0.1%"]
phones.p95 = "< 2s"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from waspbench import _core
from waspbench.errors import InputError
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.metrics import OK, Kind, Known, Metric, check_known, flat, metric, only_ok

_CONDITION = re.compile(r"\s*(?P<sign><=|>=|<|>)\s*(?P<limit>\S.*?)\s*")
_NAME = re.compile(r"\s*(?P<name>[A-Za-z0-9_.:-]+)")


def _count(text: str) -> float:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        raise ValueError("must be a number, such as 600")
    return float(text)


_PARSERS: dict[Kind, Callable[[str], float]] = {
    "count": _count,
    "rate": lambda text: float(_core.parse_rate(text)),
    "duration": lambda text: _core.parse_duration(text) / 1e6,
    "share": _core.parse_probability,
}


@dataclass(frozen=True)
class Condition:
    """``metric sign limit``."""

    metric: Metric
    sign: str
    limit: float
    """In /s, bit/s, milliseconds, or as a share from 0 to 1."""
    limit_text: str
    """As it was written."""
    objective: bool = False
    """Whether it is an objective, whose percentiles are those of all that ended unless it says ``ok``."""

    @property
    def text(self) -> str:
        """The condition in words, such as ``p99 < 800ms``."""
        path = self.metric.path(ok=self.objective and self.metric.is_percentile)
        return f"{path} {self.sign} {self.limit_text}"

    @property
    def upper(self) -> bool:
        """Whether the limit bounds from above, so that the interval's upper end is the unfavourable one."""
        return self.sign.startswith("<")

    def holds(self, value: float) -> bool:
        """Whether ``value`` keeps to the limit."""
        if "=" in self.sign and value == self.limit:
            return True
        return value < self.limit if self.upper else value > self.limit


def condition(text: str, where: str, known: Known | None = None) -> Condition:
    """The condition ``text``, such as ``phones.p99 < 800ms``; ``where`` names what it was given for. A group or a
    request that it names must be one of those that are ``known``, where these are given.

    Raises:
        InputError: it is none.
    """
    match = _NAME.match(text)
    try:
        if match is None:
            raise FieldError("", _EXAMPLE, text)
        found = _one(match["name"], text[match.end() :], known)
        check_share(found)
        return found
    except FieldError as error:
        raise InputError.at(where, str(error), text) from None


def objective(text: str, where: str, known: Known | None = None) -> Condition:
    """The condition ``text`` on what each run of a search must meet. Its percentiles are those of all transactions that
    ended, because a client that gave up was not served in time; ``ok.p99`` is that of ``ok`` ones alone.

    Raises:
        InputError: it is none.
    """
    match = _NAME.match(text)
    name, of_ok = only_ok("" if match is None else match["name"])
    asked = condition(text if match is None else name + text[match.end() :], where, known)
    if of_ok and not asked.metric.is_percentile:
        raise InputError.at(where, f"{OK}. stands before percentiles only", text)
    every = asked.metric.all or (asked.metric.is_percentile and not of_ok)
    return replace(asked, metric=replace(asked.metric, all=every), objective=True)


def check_share(asked: Condition) -> None:
    """Makes sure that a limit of 1, where it is a share, is not meant as 1%.

    Raises:
        FieldError: it may be.
    """
    if asked.metric.kind == "share" and asked.limit == 1 and "%" not in asked.limit_text:
        raise FieldError(str(asked.metric), "1 is 100%; say 1% or 100%", f"{asked.sign} {asked.limit_text}")


_EXAMPLE = "must be a condition, such as p99 < 800ms"


def conditions(table: Mapping[str, Any], known: Known | None = None) -> list[Condition]:
    """The conditions of an ``[assert]`` table; for ``known`` see `condition`.

    Raises:
        FieldError: one is none.
    """
    return [
        _one(name, text, known)
        for name, texts in flat(table).items()
        for text in (texts if isinstance(texts, list) else [texts])
    ]


def checked(table: Any) -> Any:
    """Makes sure that ``table`` holds conditions, and returns it with a name for each."""
    if not isinstance(table, Mapping):
        return table
    conditions(table)
    return flat(table)


def all_of(table: Mapping[str, Any], texts: Iterable[str], where: str, known: Known | None = None) -> list[Condition]:
    """The conditions of the file, and those that were given for ``where``; for ``known`` see `condition`."""
    return [*conditions(table, known), *(condition(text, where, known) for text in texts)]


def _one(name: str, text: Any, known: Known | None) -> Condition:
    found = metric(name)
    if known is not None:
        check_known(found, known)
    match = _CONDITION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise FieldError(name, 'must be <, <=, > or >= and a limit, such as "< 800ms"', text)
    try:
        limit = _PARSERS[found.kind](match["limit"])
    except _core.QuantityError as error:
        raise FieldError(name, error.message, text) from None
    except ValueError as error:
        raise FieldError(name, str(error), text) from None
    return Condition(found, match["sign"], limit, match["limit"])
