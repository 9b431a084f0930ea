"""What all parts of the experiment file share: strictness, and plain words for fields that do not exist yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pydantic
from pydantic import ConfigDict, Discriminator, model_validator

from waspbench.documented import Documented
from waspbench.experiment.field_error import FieldError
from waspbench.suggestion import hint


class Part(Documented):
    """A table of the experiment file. Unknown fields are errors, and types are not converted."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        validate_default=True,
        defer_build=True,
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
            raise ValueError(f"{hint(value, now)}must be {valid}")
        return value

    return check


TAG = "|"
"""How the names of the branches of a union begin, which pydantic puts into the paths of problems."""


def Tag(kind: str) -> pydantic.Tag:  # noqa: N802
    """Marks the table of a union whose discriminating field has the value ``kind``."""
    return pydantic.Tag(TAG + kind)


class _Context(dict[str, Any]):
    """What goes with an error. A discriminator stands in an annotation, which is hashed, and this is part of it."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


def kinds(
    field: str, *valid: str, default: str | None = None, besides: Callable[[Any], str | None] = lambda _: None
) -> Discriminator:
    """Tells the tables of a union apart by their ``field``, which is ``default`` unless it is given; or, before that,
    by what ``besides`` says.
    """

    def kind(value: Any) -> str | None:
        found = value.get(field, default) if isinstance(value, dict) else getattr(value, field, default)
        found = besides(value) or (found if found in valid else None)
        return found and TAG + found

    return Discriminator(
        kind,
        custom_error_type="kind",
        custom_error_message="{field} must be one of {valid}",
        custom_error_context=_Context(field=field, valid=", ".join(valid)),
    )
