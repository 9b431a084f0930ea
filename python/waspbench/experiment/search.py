"""What a search for capacity looks for, and how: ``[capacity]`` of the experiment file, and what goes before it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from waspbench import _core
from waspbench.errors import Argument, InputError
from waspbench.experiment.base import FieldError, Part, one_of
from waspbench.experiment.conditions import objective

Method = Literal["search", "sweep"]
"""A search goes where most is to be gained or told; a sweep goes through the powers of two, as the paper does."""

Find = Literal["throughput", "clients", "rate"]
"""The largest throughput; or the most clients, or the highest rate of arrivals, that meet the objectives."""

METHODS: tuple[Method, ...] = get_args(Method)
FINDS: tuple[Find, ...] = get_args(Find)

LOW = 8
"""Where a search begins unless told: clients, or arrivals a second."""

HIGH: dict[Find, int] = {"throughput": 4096, "clients": 16_384, "rate": 65_536}
"""Where a search ends unless told. One under an objective climbs until a load misses it and seldom comes that far; one
for throughput shares out the range.
"""

_OBJECTIVES = 'must be a condition, such as "p99 < 1s", or a list of such'


def _conditions(value: Any) -> Any:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(_OBJECTIVES)
    for text in texts:
        try:
            objective(text, "slo")
        except InputError as error:
            raise FieldError("", error.problems[0].message, text) from None
    return texts


def _is_frequency(value: Any) -> bool:
    try:
        return isinstance(value, str) and _core.parse_frequency(value) > 0
    except _core.QuantityError:
        return False


def _bound(value: Any) -> Any:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if not is_count and not _is_frequency(value):
        raise ValueError('must be a number of clients, such as 64, or with find = "rate" a frequency, such as "50/s"')
    return value


def _least(value: Any) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf")
    if not is_number and not _is_frequency(value):
        raise ValueError('must be a number above 0, such as 500, or with find = "rate" a frequency, such as "50/s"')
    return value


_FREQUENCY = {"type": "string", "format": "frequency", "examples": ["50/s"]}
_BOUND = {"anyOf": [{"type": "integer", "minimum": 1}, _FREQUENCY]}
_LEAST = {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, _FREQUENCY]}

Objectives = Annotated[list[str], BeforeValidator(_conditions, json_schema_input_type=str | list[str])]
Bound = Annotated[int | str, BeforeValidator(_bound), WithJsonSchema(_BOUND)]
Least = Annotated[int | float | str, BeforeValidator(_least), WithJsonSchema(_LEAST)]


class CapacityTable(Part):
    """What wasp capacity looks for at every point; its flags override these fields. wasp run leaves them alone."""

    find: Annotated[Find, BeforeValidator(one_of(*FINDS))] = "throughput"
    """What is to be found: the largest throughput, or the most clients or the highest rate of arrivals that meet slo. A
    search for a rate scales the rates of all groups that are no background."""
    slo: Objectives = Field(default_factory=list)
    """Condition that each run must meet for its load to count, such as "p99 < 1s", or a list of conditions. Percentiles
    are those of all transactions that ended (all.p99); ok.p99 is that of ok ones."""
    low: Bound | None = None
    """Least load to try: clients, or with find = "rate" a frequency; 8, or 8/s, unless set."""
    high: Bound | None = None
    """Most load to try, likewise; unless set 4,096 clients for throughput, 16,384 clients, or 65536/s."""
    at_least: Least | None = None
    """What must be found at every point: clients, with find = "rate" a frequency, or ok transactions a second. A check:
    passed where the lower end of the 90 % interval is at least this, failed where the upper end is below."""

    @model_validator(mode="after")
    def _consistent(self) -> CapacityTable:
        try:
            search = Search.of(self)
        except InputError as error:
            [problem] = error.problems
            name = field_of_table(problem.where).rpartition(".")[2]
            raise FieldError(name, problem.message, problem.value) from None
        if search.high is not None and search.low > search.high:
            raise FieldError("low", f"must be at most high, which is {self.high}", self.low)
        return self


@dataclass(frozen=True)
class Search:
    """What is looked for, and how.

    Raises:
        InputError: a method or ``find`` is unknown, or ``at_least`` is not above 0.
    """

    method: Method = "search"
    """search, or sweep: the paper's powers of two, for throughput only."""
    low: float = LOW
    """Least load to try: clients in all, or arrivals a second where a rate is to be found."""
    high: float | None = None
    """Most load to try, likewise; 4,096 for throughput, 16,384 clients, or 65,536 arrivals a second unless given."""
    most: int = 15
    """Runs of a search at most, for each point."""
    confirm: int = 4
    """Fresh runs of a search at the load that it found."""
    objectives: tuple[str, ...] = ()
    """Conditions that each run must meet for its load to count, such as "p99 < 1s". Percentiles are those of all
    transactions that ended.
    """
    find: Find = "throughput"
    """The largest throughput, or the most clients or the highest rate of arrivals that meet the objectives."""
    at_least: float | None = None
    """What is to be found at every point at least, in ok transactions a second, clients, or arrivals a second: a check
    of the result. None: nothing is checked.
    """

    def __post_init__(self) -> None:
        if self.find not in FINDS:
            raise InputError.at(Argument("search.find"), f"must be one of {', '.join(FINDS)}", self.find)
        if self.method not in METHODS:
            raise InputError.at(Argument("search.method"), f"must be {' or '.join(METHODS)}", self.method)
        least = self.at_least
        if least is not None and not (isinstance(least, (int, float)) and 0 < least < float("inf")):
            raise InputError.at(Argument("search.at_least"), "must be a number above 0", least)

    @property
    def top(self) -> float:
        """Most load to try."""
        return HIGH[self.find] if self.high is None else self.high

    @classmethod
    def of(cls, asked: CapacityTable | None) -> Search:
        """The search that the table of a file asks for.

        Raises:
            InputError: a load is not of the kind that is looked for; it names the field of this class.
        """
        if asked is None:
            return cls()
        search = cls(find=asked.find, objectives=tuple(asked.slo))
        low, high = _load("low", asked.low, search.find), _load("high", asked.high, search.find)
        least = _amount("at_least", asked.at_least, search.find)
        return replace(search, low=LOW if low is None else low, high=high, at_least=least)


def field_of_table(where: str) -> str:
    """The field of a file for the field of `Search` that comes from it; anything else as it is."""
    name = where.removeprefix("search.")
    field = "slo" if name == "objectives" else name
    is_there = isinstance(where, Argument) and name != where and field in CapacityTable.model_fields
    return f"capacity.{field}" if is_there else where


def load_of(text: str, find: Find, where: str) -> float:
    """The load that a text says: a number of clients, or a frequency where a rate is looked for.

    Raises:
        InputError: it says none.
    """
    if find == "rate":
        try:
            return _core.parse_frequency(text)
        except _core.QuantityError as error:
            raise InputError.at(where, error.message, text) from None
    if not text.isascii() or not text.isdecimal():
        raise InputError.at(where, "must be a number of clients, such as 64", text)
    return int(text)


def _load(name: str, value: int | float | str | None, find: Find) -> float | None:
    """The load that a field of the table says."""
    where = Argument(f"search.{name}")
    if isinstance(value, str):
        return load_of(value, find, where)
    if value is not None and find == "rate":
        raise InputError.at(where, 'must be a frequency, such as "50/s", where a rate is to be found', value)
    if isinstance(value, float):
        raise InputError.at(where, "must be a number of clients, such as 64", value)
    return value


def _amount(name: str, value: int | float | str | None, find: Find) -> float | None:
    """What a field of the table says of what is to be found."""
    if find != "throughput":
        return _load(name, value, find)
    if not isinstance(value, str):
        return value
    if _is_frequency(value):
        return _core.parse_frequency(value)
    try:
        return float(value)
    except ValueError:
        message = "must be transactions a second, such as 600"
        raise InputError.at(Argument(f"search.{name}"), message, value) from None
