"""Models whose fields have the texts below them as their descriptions."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from waspbench import field_texts


class Documented(BaseModel):
    """A model that is described by its source. Its subclasses set ``defer_build``, so that their schemas are made after
    their fields have been described.
    """

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        field_texts.document(cls)
