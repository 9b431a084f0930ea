"""An experiment as a TOML file from which it can be made again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import tomli_w


def toml(document: Mapping[str, Any]) -> str:
    """``document`` as the text of a TOML file. TOML has no null: fields that are None are left out, and so are tables
    without a field.
    """
    return _SHORT.sub(_on_one_line, tomli_w.dumps(_plain(document), indent=2))


_SHORT = re.compile(r"\[\n((?:[ ]+[^\n\[\]{}]+,\n)+)[ ]*\]")
"""An array of values that are neither arrays nor tables, each on a line of its own. No text has lines."""

_WIDEST = 100
"""Characters of an array on one line."""


def _on_one_line(array: re.Match[str]) -> str:
    values = [line.strip(" ").removesuffix(",") for line in array[1].split("\n")[:-1]]
    short = f"[{', '.join(values)}]"
    return short if len(short) <= _WIDEST else array[0]


def _plain(value: Any) -> Any:
    """``value`` of types that TOML has."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items() if each is not None and each != {}}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value if each is not None]
    return value if isinstance(value, (bool, int, float)) else str(value)
