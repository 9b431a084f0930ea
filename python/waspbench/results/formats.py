"""The format of results, and the one way in which files of any format are read.

A document of the present format has every field that is declared. Older formats had fewer: a field that a document of
an older format does not have is its declared default, or null where it has none and may be null. Whoever adds a field
to the results declares it as one that may be None; nothing else has to know of older formats. What is newer is refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import NoneType
from typing import Any, TypeVar, get_args

from pydantic import ConfigDict, ValidationError, ValidationInfo, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import to_json

from waspbench.documented import Documented
from waspbench.errors import InputError
from waspbench.tabular import Figures

FORMAT = 4
"""Version of the layout of a results directory. It rises when a field or a column is added, or changes its meaning,
once after each release, and when a table is added. What was measured by a version in the making may lack a field of its
format, and is refused.
"""

_FORMAT = "format"
"""What the document's format is called in the context of a validation."""


class Record(Documented):
    """Part of the results. Figures that a later engine adds are kept."""

    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _of_its_format(cls, found: Any, info: ValidationInfo) -> Any:
        """Completes what was read from a file of an older format, and makes sure that one of the present is whole."""
        read = (info.context or {}).get(_FORMAT)
        if read is None or not isinstance(found, dict):
            return found
        absent = {name: field for name, field in cls.model_fields.items() if name not in found}
        if read < FORMAT:
            return found | {name: None for name, field in absent.items() if field.is_required() and _may_be_null(field)}
        if absent:
            raise ValueError(f"{', '.join(absent)}: missing, and format {FORMAT} has it")
        return found


def json_of(record: Record, table: Sequence[Figures]) -> str:
    """``record`` as one JSON object, and in ``table`` the lines that it has where it is printed for people."""
    found = {**record.model_dump(mode="json"), "table": table}
    return to_json(found, indent=2, inf_nan_mode="null").decode()


def _may_be_null(field: FieldInfo) -> bool:
    return NoneType in get_args(field.annotation)


M = TypeVar("M", bound=Record)


def read_document(model: type[M], text: str | bytes, where: str, kind: str) -> M:
    """The document ``text`` of any format up to the present one, which was found at ``where``; ``kind`` names it in
    errors, such as "manifest".

    Raises:
        InputError: it is none, or of a newer format.
    """
    document = _table(text, where, kind)
    found = document.get("format")
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise InputError.at(f"{where}: format", f"must be a whole number from 1, or this is no valid {kind}", found)
    if found > FORMAT:
        message = f"these results are newer than this version of waspbench, which reads up to format {FORMAT}"
        raise InputError.at(f"{where}: format", message, found)
    try:
        return model.model_validate(document, context={_FORMAT: found})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        at = f"{where}: {field}" if field else where
        raise InputError.at(at, f"no valid {kind}: {first['msg'].removeprefix('Value error, ')}") from None


def _table(text: str | bytes, where: str, kind: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise InputError.at(where, f"no valid {kind}: {error}") from None
    if not isinstance(document, dict):
        raise InputError.at(where, f"no valid {kind}: not a table")
    return document
