"""The figures that conditions and comparisons name: ``[group.][request:NAME.|sessions.][all.]metric``.

throughput            ok transactions a second, of all clients
p99.9                 what 99.9 % of their ok transactions took at most
all.p99               the same of all that ended, whatever their outcome
phones.all.p95        of those of the group phones
request:order.p90     of the requests that are called order, of all clients
phones.sessions.p90   of whole sessions of the group phones
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

from waspbench.errors import Argument, InputError
from waspbench.experiment.field_error import FieldError
from waspbench.suggestion import hint

Kind = Literal["count", "rate", "duration", "share"]

ALL = "all"
"""Before the name of a response time: that of all transactions that ended, whatever their outcome."""
OK = "ok"
"""Before the name of a percentile of an objective: that of ``ok`` transactions, as it is anywhere else without it."""
REQUEST = "request:"
"""Before the name of a request."""
SESSIONS = "sessions"
"""Before the name of a figure: that of whole sessions, not of their requests."""

PERCENTILES = ("p50", "p90", "p95", "p99", "p99.9")
"""The percentiles that results always have; tables show them unless others are asked for."""

FIGURES: dict[str, tuple[Kind, str]] = {
    "throughput": ("count", "ok transactions a second"),
    "goodput": ("rate", "bits of bodies a second"),
    "mean": ("duration", "mean response time"),
    "max": ("duration", "longest response time"),
    "errors": ("share", "share of the ended transactions that were not ok"),
    "server_cpu": ("share", "busy share of the server's CPUs"),
}
"""What can be judged besides percentiles: the kind of its limit, and what it is. Durations are compared in
milliseconds.
"""

SCALES: dict[Kind, tuple[str, float]] = {
    "count": ("/s", 1.0),
    "rate": ("Mbit/s", 1e-6),
    "duration": ("ms", 1.0),
    "share": ("%", 100.0),
}
"""The unit in which a figure is shown, and what to multiply it with."""

_OF_THE_SERVER = "server_cpu"
"""The figure that no group of clients has."""

_LARGER_IS_FASTER = {"throughput": True, "goodput": True, "mean": False}
"""What can be compared besides percentiles, and whether more of it is faster."""

VALID = f"{', '.join(FIGURES)}, or a percentile such as p50 or p99.9"
"""What can be judged, in words."""
VALID_COMPARED = f"{', '.join(_LARGER_IS_FASTER)}, or a percentile such as p50 or p99.9"
"""What can be compared, in words."""

_PERCENTILE = r"p[0-9]{1,2}(?:\.[0-9]{1,4})?"
_REQUEST = re.compile(rf"(?:(?P<group>.+)\.)?{REQUEST}(?P<request>[A-Za-z0-9_-]+)")
_PATH = re.compile(rf"(?:(?P<of>.+)\.)?(?P<name>{'|'.join(FIGURES)}|p[0-9]+(?:\.[0-9]+)?)")


@dataclass(frozen=True)
class Metric:
    """A figure, and what it is of."""

    name: str
    """Such as ``throughput`` or ``p99.9``."""
    group: str | None = None
    """Name of the group of clients that it is of; None for all together."""
    request: str | None = None
    """Name of the requests that it is of; None for all requests."""
    sessions: bool = False
    """Whether it is of whole sessions, not of their requests."""
    all: bool = False
    """Whether a response time is that of all transactions that ended, not of ``ok`` ones."""

    def __str__(self) -> str:
        return self.path()

    def path(self, *, ok: bool = False) -> str:
        """What names it; with ``ok`` where that has to be said of ``ok`` transactions."""
        population = [ALL] if self.all else [OK] if ok else []
        of = [self.group, self.request and REQUEST + self.request, SESSIONS if self.sessions else None]
        return ".".join([*filter(None, of), *population, self.name])

    @property
    def kind(self) -> Kind:
        """The kind of its limit."""
        return "duration" if self.is_percentile else FIGURES[self.name][0]

    @property
    def counted(self) -> str:
        """What it counts: transactions or sessions."""
        return "sessions" if self.sessions else "transactions"

    @property
    def is_percentile(self) -> bool:
        """Whether it is a percentile of response times."""
        return is_percentile(self.name)

    @property
    def larger_is_faster(self) -> bool | None:
        """Whether more of it is faster; None of what cannot be compared."""
        return False if self.is_percentile else _LARGER_IS_FASTER.get(self.name)


def is_percentile(name: str) -> bool:
    """Whether it is the name of a percentile, such as ``p99.9``."""
    return re.fullmatch(_PERCENTILE, name) is not None


def fraction_of(percentile: str) -> float:
    """The share of values that do not exceed the percentile called so: 0.999 of ``p99.9``."""
    return float(Decimal(percentile[1:]) / 100)


def metric(text: str, valid: str = VALID) -> Metric:
    """The figure that ``text`` names; ``valid`` says in words what can be named.

    Raises:
        FieldError: it names none.
    """
    found = _PATH.fullmatch(text)
    if found is None:
        names = _LARGER_IS_FASTER if valid == VALID_COMPARED else FIGURES
        near = hint(text.rpartition(".")[2], [*names, *PERCENTILES])
        raise FieldError(text, f"{text}: unknown figure; {near}valid here: {valid}")
    name, of = found["name"], found["of"]
    if name not in FIGURES:
        try:
            name = percentile(name)
        except ValueError as error:
            raise FieldError(text, f"{text}: {error}") from None
    group, every = _without(of, ALL)
    group, sessions = _without(group, SESSIONS)
    group, request = _without_request(group, text)
    parts = () if group is None else tuple(group.split("."))
    if (sessions and request is not None) or (request is not None and SESSIONS in parts):
        message = f"{SESSIONS}. is of whole sessions; leave it or {REQUEST}{request} out"
        raise FieldError(text, f"{text}: {message}")
    if SESSIONS in parts:
        rest = ".".join(part for part in parts if part != SESSIONS)
        near = ".".join(filter(None, [rest, SESSIONS, name]))
        raise FieldError(text, f"{text}: {SESSIONS}. stands once, after the group, as in {near}")
    first, last = (None, None) if group is None else (group.split(".")[0], group.split(".")[-1])
    if last == OK:
        message = f"a figure is of ok transactions without {OK}., which objectives (--slo) have; leave it out"
        raise FieldError(text, f"{text}: {message}")
    if first in (ALL, OK):
        raise FieldError(text, f"{text}: {first}. stands after the group, as in phones.{first}.p99")
    made = Metric(name, group, request, sessions, every)
    if every and sessions and not made.is_percentile:
        message = f"{SESSIONS}.{ALL}. stands before percentiles only; a session that failed counts with an hour"
        raise FieldError(text, f"{text}: {message}")
    if every and made.kind != "duration":
        raise FieldError(text, f"{text}: {ALL}. stands before response times only: mean, max or a percentile")
    if name == _OF_THE_SERVER and text != name:
        raise FieldError(text, f"{text}: {name} is that of all clients; leave {of} out")
    return made


def _without_request(path: str | None, text: str) -> tuple[str | None, str | None]:
    """The group and the request in a path.

    Raises:
        FieldError: what begins like the name of a request is none.
    """
    if path is None or REQUEST not in path:
        return path, None
    found = _REQUEST.fullmatch(path)
    if found is None or REQUEST in (found["group"] or ""):
        raise FieldError(text, f"{text}: {REQUEST} stands after the group and before a name, as in {REQUEST}login.p99")
    return found["group"], found["request"]


def _without(path: str | None, last: str) -> tuple[str | None, bool]:
    """What stands before the part ``last`` of a path, and whether it is there."""
    if path == last:
        return None, True
    if path is not None and path.endswith(f".{last}"):
        return path.removesuffix(f".{last}"), True
    return path, False


def only_ok(text: str) -> tuple[str, bool]:
    """The name of a figure without ``ok``, which stands where ``all`` would, and whether it was there."""
    found = _PATH.fullmatch(text)
    of, is_there = (None, False) if found is None else _without(found["of"], OK)
    if found is None or not is_there:
        return text, False
    return f"{of}.{found['name']}" if of else found["name"], True


def compared(text: str) -> Metric:
    """The figure that ``text`` names, which can be compared.

    Raises:
        FieldError: it names none, or one that cannot.
    """
    found = metric(text, VALID_COMPARED)
    if found.larger_is_faster is None:
        raise FieldError(text, f"must be {VALID_COMPARED}")
    return found


@dataclass(frozen=True)
class Known:
    """What a figure may be of."""

    groups: Mapping[str, Sequence[str]]
    """The names of requests in each group of clients, by its name."""
    requests: Sequence[str] = ()
    """The names of requests of all clients, background groups left out."""
    sessions: Collection[str | None] = ()
    """The groups whose clients make sessions, by their names; with None if one of them is no background group."""


def check_known(of: Metric, known: Known) -> None:
    """Makes sure that the group and the request which a figure is of are ``known``.

    Raises:
        FieldError: one is not.
    """
    groups = known.groups
    if of.group is not None and not groups:
        raise FieldError(str(of), f"{of}: the results do not tell the figures of groups")
    if of.group is not None and of.group not in groups:
        near = hint(of.group, [*groups, *([SESSIONS] if known.sessions else [])])
        if of.request is None and of.group in known.requests:
            meant = replace(of, group=None, request=of.group)
            near = f"{of.group} is a request: did you mean {meant}? "
        message = f"{of}: no group is called {of.group}; {near}valid here: {', '.join(groups)}"
        raise FieldError(str(of), message)
    whose = "" if of.group is None else f" of {of.group}"
    if of.sessions and of.group not in known.sessions:
        raise FieldError(str(of), f"{of}: the clients{whose} make no sessions here; leave out `{SESSIONS}.`")
    if of.request is None:
        return
    names = known.requests if of.group is None else groups[of.group]
    if not names:
        message = f"{of}: no request{whose} has a name here; leave {REQUEST}{of.request} out"
        raise FieldError(str(of), message)
    if of.request not in names:
        near = hint(of.request, names)
        message = f"{of}: no request{whose} is called {of.request}; {near}valid here: {', '.join(names)}"
        raise FieldError(str(of), message)


def is_reserved(name: str) -> bool:
    """Whether a group of this name, or a part of it between dots, would be taken for part of a figure's name."""
    reserved = {ALL, OK, SESSIONS, *FIGURES}
    return any(part in reserved or is_percentile(part) for part in name.split("."))


def percentile(value: Any) -> str:
    """The name of a percentile that is given in per cent, as a number or a text: ``p99.9`` of 99.9.

    Raises:
        ValueError: it is none.
    """
    text = str(value).strip().removeprefix("p")
    number = None if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,2}(\.[0-9]{1,4})?", text) else Decimal(text)
    if not number:
        raise ValueError("must be above 0 and below 100, with at most four decimals, such as 99.9")
    return f"p{number.normalize():f}"


def percentiles(value: Any) -> list[str]:
    """The names of the percentiles in a list, or in a text with commas, in rising order.

    Raises:
        ValueError: there are none, or one is none.
    """
    parts = _parts(value)
    if not parts:
        raise ValueError("must name one percentile at least, such as 99.9")
    return sorted({percentile(part) for part in parts}, key=fraction_of)


def _parts(value: Any) -> list[Any]:
    return value.split(",") if isinstance(value, str) else list(value) if isinstance(value, (list, tuple)) else [value]


def asked_percentiles(value: Any) -> list[str]:
    """The same of what was given for an argument ``percentiles``.

    Raises:
        InputError: there are none, or one is none.
    """
    wrong: Any = value
    try:
        for wrong in _parts(value):
            percentile(wrong)
        return percentiles(value)
    except ValueError as error:
        several = "; commas separate several" if isinstance(value, str) else ""
        raise InputError.at(Argument("percentiles"), f"{error}{several}", wrong) from None


def flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """``table`` with what stands in tables below it (TOML takes ``phones.all.p99 = ...`` for such) by full names.

    Raises:
        FieldError: two ways to write one name have each a value, or a name has none.
    """
    found: dict[str, Any] = {}
    for path, value in _paths("", table):
        if path in found:
            raise FieldError(path, "stands there twice, once in quotes; give it a list of conditions")
        found[path] = value
    return found


def _paths(before: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, inner in table.items():
        path = f"{before}{name}"
        if inner in ({}, []):
            raise FieldError(path, "has no condition; give it one, such as < 800ms, or leave it out")
        if isinstance(inner, Mapping):
            yield from _paths(f"{path}.", inner)
        else:
            yield path, inner


def percentiles_of(metrics: Iterable[Metric]) -> list[str]:
    """The names of the percentiles among these figures."""
    return [each.name for each in metrics if each.is_percentile]
