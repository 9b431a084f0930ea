"""Results and points of them by a text: ``DIR``, or ``DIR@path=value,path=value``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from waspbench.errors import InputError, show
from waspbench.experiment.load import value_of
from waspbench.suggestion import hint


def split(text: str) -> tuple[str, dict[str, Any]]:
    """The directory, and the values of swept fields that choose points.

    Raises:
        InputError: the text is neither ``DIR`` nor ``DIR@path=value``, or names a field twice.
    """
    directory, separator, rest = text.rpartition("@")
    if not separator or "=" not in rest or Path(text).exists():
        return text, {}
    chosen = {}
    for part in rest.split(","):
        path, equals, value = part.partition("=")
        if not equals or not path.strip():
            raise InputError.at(text, "must be DIR, or DIR@path=value such as DIR@clients.loss.rate=3%")
        if path.strip() in chosen:
            raise InputError.at(text, f"names {path.strip()} twice; a point has one value of each field")
        chosen[path.strip()] = value_of(value.strip())
    return directory, chosen


def check_swept(text: str, chosen: Iterable[str], points: Iterable[Mapping[str, Any]]) -> None:
    """Makes sure that the fields ``chosen`` in ``text`` are swept: ``points`` are the values at each point.

    Raises:
        InputError: one is not.
    """
    swept = {path for varied in points for path in varied}
    for path in chosen:
        if path not in swept:
            known = ", ".join(sorted(swept)) or "nothing"
            raise InputError.at(text, f"{path} is not swept there; {hint(path, swept)}valid here: {known}")


def is_chosen(varied: Mapping[str, Any], chosen: Mapping[str, Any]) -> bool:
    """Whether the point that these values make is one of those chosen."""
    return all(_same(varied.get(path), value) for path, value in chosen.items())


def _same(one: Any, other: Any) -> bool:
    return one == other or show(one).strip('"') == show(other).strip('"')
