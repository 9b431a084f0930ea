"""How a check of the experiment names the field that is wrong."""

from __future__ import annotations

from typing import Any


class FieldError(ValueError):
    """A rule over several fields is broken; ``field`` is the one to name, ``value`` what it holds, if that is shown."""

    def __init__(self, field: str, message: str, *value: Any) -> None:
        super().__init__(message)
        self.field = field
        self.value = value
