"""The table ``[capacity]`` of the experiment file: what ``wasp capacity`` looks for."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from waspbench.errors import Argument, InputError
from waspbench.experiment.base import Part, one_of
from waspbench.experiment.conditions import objective
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.search import FINDS, Find, Search, is_frequency

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


def field_of_table(where: str) -> str:
    """The field of a file for the field of `Search` that comes from it; anything else as it is."""
    name = where.removeprefix("search.")
    field = "slo" if name == "objectives" else name
    is_there = isinstance(where, Argument) and name != where and field in CapacityTable.model_fields
    return f"capacity.{field}" if is_there else where
