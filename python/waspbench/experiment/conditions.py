"""Conditions on what is measured: thresholds of ``[assert]`` and ``--assert``, objectives of ``--slo``.

[assert]
p99 = "< 800ms"
all.p99 = "< 5s"
throughput = ">= 600"
errors = ["< 0.1%"]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from waspbench import _core
from waspbench.errors import InputError
from waspbench.experiment.base import FieldError

Kind = Literal["count", "rate", "duration", "share"]

ALL = "all."
"""Before the name of a response time: that of all transactions that ended, whatever their outcome."""
OK = "ok."
"""Before the name of a percentile of an objective: that of ``ok`` transactions, as it is anywhere else without it."""

_TIMES = {
    "mean": "mean response time",
    "p50": "median response time",
    "p90": "response time that 90 % do not exceed",
    "p99": "response time that 99 % do not exceed",
    "max": "longest response time",
}
PERCENTILES = ("p50", "p90", "p99")

METRICS: dict[str, tuple[Kind, str]] = {
    "throughput": ("count", "ok transactions a second"),
    "goodput": ("rate", "bits of bodies a second"),
    **{name: ("duration", f"{text}, of ok transactions") for name, text in _TIMES.items()},
    **{f"{ALL}{name}": ("duration", f"{text}, of all that ended") for name, text in _TIMES.items()},
    "errors": ("share", "share of the ended transactions that were not ok"),
    "server_cpu": ("share", "busy share of the server's CPUs"),
}
"""What can be judged: the kind of its limit, and what it is. Durations are compared in milliseconds."""

COMPARABLE = {"throughput": True, "goodput": True, "mean": False, "p50": False, "p90": False, "p99": False}
"""What can be compared, and whether more of it is faster."""

_CONDITION = re.compile(r"\s*(?P<sign><=|>=|<|>)\s*(?P<limit>\S.*?)\s*")


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

    metric: str
    sign: str
    limit: float
    """In /s, bit/s, milliseconds, or as a share from 0 to 1."""
    text: str
    """As it was written."""

    @property
    def upper(self) -> bool:
        """Whether the limit bounds from above, so that the interval's upper end is the unfavourable one."""
        return self.sign.startswith("<")

    def holds(self, value: float) -> bool:
        """Whether ``value`` keeps to the limit."""
        if "=" in self.sign and value == self.limit:
            return True
        return value < self.limit if self.upper else value > self.limit


def condition(text: str, where: str) -> Condition:
    """The condition ``text``, such as ``p99 < 800ms``; ``where`` names what it was given for.

    Raises:
        InputError: it is none.
    """
    match = re.match(r"\s*([A-Za-z0-9_.]+)", text)
    rest = text[match.end() :] if match else text
    try:
        if match is None:
            raise FieldError("", _EXAMPLE, text)
        return _one(match[1], rest)
    except FieldError as error:
        raise InputError.at(where, str(error), text) from None


def objective(text: str, where: str) -> Condition:
    """The condition ``text`` on what each run of a search must meet. Its percentiles are those of all transactions that
    ended, because a client that gave up was not served in time; ``ok.p99`` is that of ``ok`` ones alone.

    Raises:
        InputError: it is none.
    """
    name = text.strip()
    if name.startswith(OK) and name.removeprefix(OK).startswith(PERCENTILES):
        return condition(name.removeprefix(OK), where)
    asked = condition(text, where)
    return condition(f"{ALL}{name}", where) if name.startswith(PERCENTILES) else asked


_EXAMPLE = "must be a condition, such as p99 < 800ms"


def conditions(table: Mapping[str, Any]) -> list[Condition]:
    """The conditions of an ``[assert]`` table.

    Raises:
        FieldError: one is none.
    """
    return [
        _one(metric, text)
        for metric, texts in _flat(table).items()
        for text in (texts if isinstance(texts, list) else [texts])
    ]


def _flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """``table`` with what stands in its table ``all`` (TOML takes ``all.p99 = ...`` for one) by full names."""
    flat: dict[str, Any] = {}
    for metric, texts in table.items():
        below = texts.items() if isinstance(texts, Mapping) else None
        flat |= {metric: texts} if below is None else {f"{metric}.{name}": text for name, text in below}
    return flat


def checked(table: Any) -> Any:
    """Makes sure that ``table`` holds conditions, and returns it with a name for each."""
    if not isinstance(table, Mapping):
        return table
    conditions(table)
    return _flat(table)


def all_of(table: Mapping[str, Any], texts: Iterable[str], where: str) -> list[Condition]:
    """The conditions of the file, and those that were given for ``where``."""
    return [*conditions(table), *(condition(text, where) for text in texts)]


def _one(metric: str, text: Any) -> Condition:
    if metric not in METRICS:
        raise FieldError(metric, f"{metric}: unknown figure; valid here: {', '.join(METRICS)}")
    match = _CONDITION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise FieldError(metric, 'must be <, <=, > or >= and a limit, such as "< 800ms"', text)
    try:
        limit = _PARSERS[METRICS[metric][0]](match["limit"])
    except _core.QuantityError as error:
        raise FieldError(metric, error.message, text) from None
    except ValueError as error:
        raise FieldError(metric, str(error), text) from None
    return Condition(metric, match["sign"], limit, f"{metric} {match['sign']} {match['limit']}")
