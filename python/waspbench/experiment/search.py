"""What a search for capacity looks for, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from waspbench import _core
from waspbench.errors import Argument, InputError
from waspbench.suggestion import hint

if TYPE_CHECKING:
    from waspbench.experiment.capacity_table import CapacityTable

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
    objectives: Sequence[str] = ()
    """Conditions that each run must meet for its load to count, such as "p99 < 1s"; a single one may be a text.
    Percentiles are those of all transactions that ended.
    """
    find: Find = "throughput"
    """The largest throughput, or the most clients or the highest rate of arrivals that meet the objectives."""
    at_least: float | None = None
    """What is to be found at every point at least, in ok transactions a second, clients, or arrivals a second: a check
    of the result. None: nothing is checked.
    """

    def __post_init__(self) -> None:
        if isinstance(self.objectives, str):
            object.__setattr__(self, "objectives", (self.objectives,))
        if self.find not in FINDS:
            message = f"{hint(self.find, FINDS)}must be one of {', '.join(FINDS)}"
            raise InputError.at(Argument("search.find"), message, self.find)
        if self.method not in METHODS:
            raise InputError.at(Argument("search.method"), f"must be {' or '.join(METHODS)}", self.method)
        least = self.at_least
        if least is not None and not (isinstance(least, (int, float)) and 0 < least < float("inf")):
            raise InputError.at(Argument("search.at_least"), "must be a number above 0", least)

    @property
    def top(self) -> float:
        """Most load to try."""
        return HIGH[self.find] if self.high is None else self.high


def search_of_table(asked: CapacityTable | None) -> Search:
    """The search that the table of a file asks for.

    Raises:
        InputError: a load is not of the kind that is looked for; it names the field of `Search`.
    """
    if asked is None:
        return Search()
    search = Search(find=asked.find, objectives=tuple(asked.slo))
    low, high = _load("low", asked.low, search.find), _load("high", asked.high, search.find)
    least = _amount("at_least", asked.at_least, search.find)
    return replace(search, low=LOW if low is None else low, high=high, at_least=least)


def is_frequency(value: Any) -> bool:
    """Whether it is a text that says so many a second, such as ``50/s``."""
    try:
        return isinstance(value, str) and _core.parse_frequency(value) > 0
    except _core.QuantityError:
        return False


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
    if is_frequency(value):
        return _core.parse_frequency(value)
    try:
        return float(value)
    except ValueError:
        message = "must be transactions a second, such as 600"
        raise InputError.at(Argument(f"search.{name}"), message, value) from None
