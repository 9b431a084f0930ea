"""The texts below the fields of classes, which are their documentation: read from the source, a module at once.

Pydantic can read them as well (``use_attribute_docstrings``), anew for each class, which takes longer than all else
that its models need. Help takes texts and defaults from here, without importing a model.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import BaseModel

_PACKAGE = Path(__file__).parent


@dataclass(frozen=True)
class Field:
    """A field as the source declares it."""

    name: str
    text: str
    """What stands below it; empty if nothing does."""
    default: str | int | float | bool | None
    """Its default, if that is written as such; None if it is not."""


def of_class(module: str, name: str) -> dict[str, Field]:
    """The fields that a class at the top of a module of this package declares itself; none where there is no source."""
    return _of_module(module).get(name, {})


def document(model: type[BaseModel]) -> None:
    """Documents the fields of a model by the texts below them."""
    for declaring in model.__mro__:
        for name, declared in of_class(declaring.__module__, declaring.__qualname__).items():
            field = model.__pydantic_fields__.get(name)
            if field is not None and field.description is None:
                field.description = declared.text or None


def in_data(text: str) -> str:
    """A text of a field, on one line, for its value in JSON or in a frame, where None is null."""
    said = " ".join(text.replace("``", "`").split())
    said = re.sub(r"(?<![\w-])None\b(?!-)", "null", said)
    said = re.sub(r"(?<!^)(?<!\. )\bFalse\b", "false", said)
    return re.sub(r"(^|\. )null\b", r"\1Null", said)


@cache
def _of_module(name: str) -> dict[str, dict[str, Field]]:
    """The fields of every class at the top of a module."""
    package, *path = name.split(".")
    file = _PACKAGE.joinpath(*path).with_suffix(".py")
    if package != _PACKAGE.name or not file.is_file():
        return {}
    classes = (each for each in ast.parse(file.read_bytes()).body if isinstance(each, ast.ClassDef))
    return {each.name: {field.name: field for field in _fields(each.body)} for each in classes}


def _fields(body: Sequence[ast.stmt]) -> Iterator[Field]:
    following: list[ast.stmt | None] = [*body[1:], None]
    for statement, after in zip(body, following, strict=True):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield Field(statement.target.id, _text(after), _default(statement.value))


def _text(statement: ast.stmt | None) -> str:
    """The text that a statement is, if it is one."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return inspect.cleandoc(str(statement.value.value))
    return ""


def _default(value: ast.expr | None) -> str | int | float | bool | None:
    found = value.value if isinstance(value, ast.Constant) else None
    return found if isinstance(found, (str, int, float, bool)) else None
