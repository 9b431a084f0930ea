"""What all parts of the experiment file share: strictness, and plain words for fields that do not exist yet."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator


class FieldError(ValueError):
    """A rule over several fields is broken; ``field`` is the one to name, ``value`` what it holds, if that is shown."""

    def __init__(self, field: str, message: str, *value: Any) -> None:
        super().__init__(message)
        self.field = field
        self.value = value


class Part(BaseModel):
    """A table of the experiment file. Unknown fields are errors, and types are not converted."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True, validate_default=True
    )

    refused: ClassVar[dict[str, str]] = {}
    """Fields that one could expect here and that do not exist (yet), each with what to do instead."""

    @model_validator(mode="before")
    @classmethod
    def _refuse(cls, data: Any) -> Any:
        if isinstance(data, dict):
            for field in cls.refused.keys() & data.keys():
                raise FieldError(field, cls.refused[field])
        return data


def one_of(*now: str, later: tuple[str, ...] = ()) -> Any:
    """A check for a choice whose ``later`` values are known but not built."""
    valid = " or ".join(now) if len(now) < 3 else "one of " + ", ".join(now)

    def check(value: Any) -> Any:
        if value in later:
            raise ValueError(f"comes in a later version; valid now: {', '.join(now)}")
        if value not in now:
            raise ValueError(f"must be {valid}")
        return value

    return check
