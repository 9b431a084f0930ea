"""The models that results consist of."""

from __future__ import annotations

import inspect
from typing import Any, get_args

from pydantic import BaseModel


def reachable(annotation: Any, found: set[type[BaseModel]]) -> set[type[BaseModel]]:
    """The models that a type consists of."""
    for part in get_args(annotation):
        reachable(part, found)
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel) and annotation not in found:
        found.add(annotation)
        for field in annotation.model_fields.values():
            reachable(field.annotation, found)
    return found
