"""pydantic's errors in plain words: one line a problem, naming field, value and what would be valid."""

from __future__ import annotations

import re
from typing import Any, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from waspbench.errors import Problem, show
from waspbench.experiment.base import TAG
from waspbench.experiment.field_error import FieldError
from waspbench.suggestion import hint, meant

_KEY = "[key]"
"""Stands in the path of a problem behind the name of a table that is no valid one."""

_TYPES = {
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "list_type": "must be a list of tables",
}


def problems_of(error: ValidationError, document: Any, model: type[BaseModel]) -> list[Problem]:
    """The problems that ``error`` found in ``document``, an input of ``model``; one for each field."""
    found: dict[str, Problem] = {}
    for detail in error.errors(include_url=False):
        problem = _problem(detail, document, model)
        found.setdefault(problem.where, problem)
    return list(found.values())


def _problem(detail: ErrorDetails, document: Any, model: type[BaseModel]) -> Problem:
    where, kind, context = field_path(detail["loc"], document), detail["type"], detail.get("ctx", {})
    value = detail["input"]
    if kind == "value_error":
        error = context["error"]
        if isinstance(error, FieldError):
            path = ".".join(part for part in (where, error.field) if part)
            return Problem(path, str(error), *_given(error.value))
        return Problem(where, str(error), value, True)
    if kind == "missing":
        return Problem(where, "missing")
    if kind == "extra_forbidden":
        return Problem(where, _unknown(detail["loc"], model))
    if kind == "kind":
        return _unknown_kind(where, value, context["field"], context["valid"])
    if kind == "too_short":
        return Problem(where, f"must have at least {context['min_length']}", value, True)
    return Problem(where, _TYPES.get(kind) or _rule(kind, context, detail["msg"], value), value, True)


def _unknown_kind(where: str, value: Any, field: str, valid: str) -> Problem:
    if not isinstance(value, dict):
        return Problem(where, "must be a table", value, True)
    if field not in value:
        return Problem(f"{where}.{field}", f"missing; give one of {valid}")
    near = hint(value[field], valid.split(", "))
    return Problem(f"{where}.{field}", f"{near}must be one of {valid}", value[field], True)


def _given(value: tuple[Any, ...]) -> tuple[Any, bool]:
    return (value[0], True) if value else (None, False)


def _rule(kind: str, context: dict[str, Any], message: str, value: Any) -> str:
    if kind == "greater_than":
        return f"must be above {_plain(context['gt'])}"
    if kind == "greater_than_equal":
        return f"must be at least {_plain(context['ge'])}"
    if kind == "less_than_equal":
        return f"must be at most {_plain(context['le'])}"
    if kind == "literal_error":
        return _choice(context["expected"], value)
    if kind == "string_pattern_mismatch":
        return "must be letters, digits, '.', '_' and '-', and begin with a letter or digit"
    return message[:1].lower() + message[1:]


def _choice(expected: str, value: Any) -> str:
    """What could stand in the place of ``value``, by how pydantic tells it: 'GET', 'HEAD' or 'POST'."""
    near = hint(value, re.findall("'([^']*)'", expected))
    return f"{near}must be {expected.replace(chr(39), '')}"


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)


def _unknown(loc: tuple[int | str, ...], model: type[BaseModel]) -> str:
    """Says what could stand where an unknown field stands."""
    name, fields = str(loc[-1]), fields_at(loc[:-1], model)
    below = {field: fields_at((*loc[:-1], field), model) for field in fields}
    near = hint(name, fields)
    inside = [f"{field}.{name}" for field in fields if name in below[field]]
    table = meant(name, fields)
    if table is not None and (field := meant(name, below[table])) is not None:
        inside = inside or [f"{table}.{field}"]
    if len(inside) == 1:
        near = f"did you mean {inside[0]}? "
    return f"unknown field; {near}valid here: {', '.join(fields)}"


def fields_at(loc: tuple[int | str, ...], model: type[BaseModel]) -> list[str]:
    """Names of the fields of the table at ``loc``, in their order."""
    here: set[type[BaseModel]] = {model}
    is_key = False
    for step in loc:
        if isinstance(step, int):
            continue
        if _is_tag(step):
            here = {part for part in here if _tag_of(part) in (step.removeprefix(TAG), None)}
            continue
        if is_key:  # the name of a table, below which its fields stand
            is_key = False
            continue
        annotations = [parent.model_fields[step].annotation for parent in here if step in parent.model_fields]
        here = {part for annotation in annotations for part in _models_in(annotation)}
        is_key = any(map(_is_by_name, annotations))
    if is_key:
        return []
    return list(
        dict.fromkeys(
            field.alias or name
            for part in sorted(here, key=lambda part: part.__name__)
            for name, field in part.model_fields.items()
        )
    )


def _is_by_name(annotation: Any) -> bool:
    """Whether a field holds tables by their names."""
    if get_origin(annotation) is dict:
        return bool(_models_in(annotation))
    return any(map(_is_by_name, getattr(annotation, "__args__", ())))


def _is_tag(step: int | str) -> bool:
    return isinstance(step, str) and step.startswith(TAG)


def _tag_of(part: type[BaseModel]) -> str | None:
    """What tells this table from the others of its union; None if it is in none."""
    for name in ("model", "kind"):
        choices: tuple[Any, ...] = getattr(getattr(part.model_fields.get(name), "annotation", None), "__args__", ())
        if len(choices) == 1:
            return str(*choices)
    return "directions" if "up" in part.model_fields and "scope" in part.model_fields else None


def _models_in(annotation: Any) -> set[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {annotation}
    return {part for argument in getattr(annotation, "__args__", ()) for part in _models_in(argument)}


def field_path(loc: tuple[int | str, ...], document: Any) -> str:
    """A dotted path: groups of clients by name, without the names that pydantic gives to the branches of a union, and
    without the directions of a value that the document has for both.
    """
    steps: list[str] = []
    here = document
    for index, step in enumerate(loc):
        above, here = here, _below(here, step)
        if step in ("up", "down") and above is not None and here is None:
            here = above
            continue
        if isinstance(step, int):
            name = _item_name(document, loc[index - 1], step, here)
            if name:
                steps.append(name)
        elif not _is_tag(step) and step != _KEY:
            steps.append(_key(step))
    return ".".join(steps).replace(".[", "[")


def _below(value: Any, step: int | str) -> Any:
    """What a document has at a step below ``value``: None if nothing, and ``value`` itself for a branch of a union."""
    if _is_tag(step):
        return value
    if isinstance(step, int):
        return value[step] if isinstance(value, list) and step < len(value) else None
    return value.get(step) if isinstance(value, dict) else None


def _key(name: str) -> str:
    """A key as TOML would have it: quoted when it is not plain."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else show(name)


def _item_name(document: Any, table: int | str, index: int, item: Any) -> str:
    """What an item of a list is called in a path: by its name, if that is one, or by its position, from 1."""
    if table == "clients":
        return _group_name(document, index)
    name = item.get("name") if table == "requests" and isinstance(item, dict) else None
    return name if isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9_-]+", name) else f"[{index + 1}]"


def _group_name(document: Any, index: int) -> str:
    """The group's name; nothing if it is the only one and has none; else its position, from 1."""
    groups = document.get("clients", []) if isinstance(document, dict) else []
    group = groups[index] if isinstance(groups, list) and index < len(groups) else None
    name = group.get("name") if isinstance(group, dict) else None
    if isinstance(name, str) and name:
        return _key(name)
    return "" if isinstance(groups, list) and len(groups) == 1 else f"[{index + 1}]"
