"""Fields of declared models and classes as rows of Markdown tables, for the pages that are made from declarations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from pydantic import BaseModel

from waspbench.field_texts import in_data, of_class
from waspbench.tabular import piped

Schema = Mapping[str, Any]


def rows_of(model: type[BaseModel], *, skip: Sequence[str] = (), deep: bool = True) -> list[tuple[str, str]]:
    """The fields of a model in JSON and their texts, nested ones with a dot; those in the fields ``skip`` are left
    out.
    """
    schema = model.model_json_schema(mode="serialization")
    rows: list[tuple[str, str]] = []

    def visit(properties: Schema, prefix: str) -> None:
        for name, shape in properties.items():
            rows.append((f"`{prefix}{name}`", in_data(meaning_of(schema, shape))))
            for inner in references(shape) if deep and name not in skip else ():
                kinds = {option.get("type") for option in (shape, *shape.get("anyOf", ()))}
                listed = "[]" if "array" in kinds else ""
                visit(schema["$defs"][inner]["properties"], f"{prefix}{name}{listed}.")

    visit(schema["properties"], "")
    return rows


def rows_of_class(kind: type, prefix: str = "") -> list[tuple[str, str]]:
    """The fields of a dataclass in JSON and their texts."""
    told = of_class(kind.__module__, kind.__qualname__)
    return [(f"`{prefix}{each.name}`", in_data(told[each.name].text)) for each in fields(kind)]


def references(shape: Any) -> list[str]:
    """Names of the tables that a field may hold."""
    if isinstance(shape, list):
        return [name for part in shape for name in references(part)]
    if not isinstance(shape, Mapping):
        return []
    if "$ref" in shape:
        return [shape["$ref"].rpartition("/")[2]]
    return [name for key in ("anyOf", "oneOf", "items", "allOf") for name in references(shape.get(key))]


def meaning_of(schema: Schema, shape: Schema) -> str:
    """The text of a field, or that of the table which it holds."""
    said = shape.get("description") or " ".join(
        schema["$defs"][name].get("description", "") for name in references(shape)
    )
    return str(said)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(piped(head, [[plain(cell) for cell in row] for row in rows])) + "\n"


def plain(text: str) -> str:
    """A text on one line, with code as Markdown has it."""
    return " ".join(text.replace("``", "`").split())
