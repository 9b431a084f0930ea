"""The table ``[capacity]`` of the experiment file: what ``wasp capacity`` looks for."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from waspbench.errors import Argument, InputError
from waspbench.experiment.base import Part, one_of
from waspbench.experiment.conditions import objective
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.search import FINDS, Find, is_frequency, search_of_table

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


def _bound(value: Any) -> Any:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if not is_count and not is_frequency(value):
        raise ValueError('must be a number of clients, such as 64, or with find = "rate" a frequency, such as "50/s"')
    return value


def _least(value: Any) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf")
    if not is_number and not is_frequency(value):
        raise ValueError('must be a number above 0, such as 500, or with find = "rate" a frequency, such as "50/s"')
    return value


_FREQUENCY = {"type": "string", "format": "frequency", "examples": ["50/s"]}
_BOUND = {"anyOf": [{"type": "integer", "minimum": 1}, _FREQUENCY]}
_LEAST = {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, _FREQUENCY]}

Objectives = Annotated[list[str], BeforeValidator(_conditions, json_schema_input_type=str | list[str])]
Bound = Annotated[int | str, BeforeValidator(_bound), WithJsonSchema(_BOUND)]
Least = Annotated[int | float | str, BeforeValidator(_least), WithJsonSchema(_LEAST)]


class CapacityTable(Part):
    """What wasp capacity looks for at every point. The flags override these fields. wasp run ignores them."""

    find: Annotated[Find, BeforeValidator(one_of(*FINDS))] = "throughput"
    """What to find: the largest throughput, the most clients that meet slo, or the highest rate of arrivals that meets
    slo. A search for a rate scales the rates of all groups but background groups."""
    slo: Objectives = Field(default_factory=list)
    """Objective that each run of a load must meet, such as "p99 < 1s", or a list of objectives. p99 is the percentile
    of all transactions that ended, errors included (all.p99); ok.p99 is that of the ok ones."""
    low: Bound | None = None
    """Smallest load to try, in clients, or as a frequency with find = "rate". Unless set, it is 8, or 8/s."""
    high: Bound | None = None
    """Largest load to try. Unless set, it is 4,096 clients for throughput, 16,384 for clients, and 65536/s for a rate.
    """
    at_least: Least | None = None
    """Capacity that every point must reach: clients, a frequency with find = "rate", or ok transactions a second. The
    check passes if the lower end of the 90 % confidence interval is at least this, and fails if the upper end is below.
    """

    @model_validator(mode="after")
    def _consistent(self) -> CapacityTable:
        try:
            search = search_of_table(self)
        except InputError as error:
            [problem] = error.problems
            name = field_of_table(problem.where).rpartition(".")[2]
            raise FieldError(name, problem.message, problem.value) from None
        if search.high is not None and search.low > search.high:
            raise FieldError("low", f"must be at most high, which is {self.high}", self.low)
        return self


def field_of_table(where: str) -> str:
    """The field of a file for the field of `Search` that comes from it; anything else as it is."""
    name = where.removeprefix("search.")
    field = "slo" if name == "objectives" else name
    is_there = isinstance(where, Argument) and name != where and field in CapacityTable.model_fields
    return f"capacity.{field}" if is_there else where
