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
    """What a search for capacity looks for, and how. ``capacity`` checks the other fields.

    Raises:
        InputError: ``method`` or ``find`` is unknown, or ``at_least`` is not above 0.
    """

    method: Method = "search"
    """Method. search: WASP chooses each load by the runs so far. sweep: it tries the powers of two, for throughput
    only, as the WASP paper does."""
    low: float = LOW
    """Smallest load to try: number of clients, or arrivals a second if find is rate."""
    high: float | None = None
    """Largest load to try, in the same unit. If None, it is 4,096 clients for throughput, 16,384 clients, or 65,536
    arrivals a second."""
    most: int = 15
    """Largest number of runs for each point; at least ``confirm`` + 4."""
    confirm: int = 4
    """Number of fresh runs at the load that the search found."""
    objectives: Sequence[str] = ()
    """Conditions that each run of a load must meet, such as "p99 < 1s"; a single condition may be a text. Needed if
    find is clients or rate. Percentiles are those of all transactions that ended."""
    find: Find = "throughput"
    """What to look for. throughput: the largest throughput. clients and rate: the largest number of clients, or the
    highest rate of arrivals, that meets the objectives."""
    at_least: float | None = None
    """Capacity that every point must reach: ok transactions a second, clients, or arrivals a second. The result's
    ``checks`` say whether it does. None if there is no such check."""

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
        """Largest load to try."""
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
