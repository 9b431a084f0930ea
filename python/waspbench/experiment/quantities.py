"""Texts with a unit as numbers of one unit, such as 20.0 milliseconds of ``"20ms"``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from waspbench import _core


@dataclass(frozen=True)
class Unit:
    """A unit in which texts of one kind are read."""

    suffix: str
    """What the name of a number in it ends with."""
    words: str
    """What it is called: ``in milliseconds``."""
    read: Callable[[str], float]
    """The number that a text has in it. Raises ValueError if it is of another kind."""


MILLISECONDS = Unit("ms", "in milliseconds", lambda text: _core.parse_duration(text) / 1e6)
BITS_A_SECOND = Unit("bps", "in bits a second", lambda text: float(_core.parse_rate(text)))
BYTES = Unit("bytes", "in bytes", lambda text: float(_core.parse_bytes(text)))
A_SECOND = Unit("per_s", "a second", _core.parse_frequency)
SHARE = Unit("share", "as a share from 0 to 1", _core.parse_probability)

UNITS = (MILLISECONDS, BITS_A_SECOND, BYTES, A_SECOND, SHARE)
"""Every unit; a text with a unit can be read in one of them."""


def quantity(text: str) -> tuple[float, Unit] | None:
    """The number that a text with a unit has in the one that it can be read in; None of other texts, and of numbers."""
    try:
        float(text)
    except ValueError:
        return next(((read, unit) for unit in UNITS if (read := _read(unit, text)) is not None), None)
    return None


def _read(unit: Unit, text: str) -> float | None:
    try:
        return float(unit.read(text))
    except ValueError:
        return None


def common_unit(values: Sequence[Any]) -> Unit | None:
    """The one unit of texts among ``values``, as far as all the others are numbers of it: 0 of any, and what is from 0
    to 1 of a share. None if there is none.
    """
    found = [quantity(value) if isinstance(value, str) else None for value in values]
    units = {read[1] for read in found if read is not None}
    if len(units) != 1:
        return None
    [unit] = units
    rest = [value for value, read in zip(values, found, strict=True) if read is None]
    return unit if all(_is_number_of(unit, value) for value in rest) else None


def number_in(unit: Unit, value: Any) -> float:
    """The number of a value that `common_unit` has found to have this unit."""
    read = quantity(value) if isinstance(value, str) else None
    return float(value) if read is None else read[0]


def _is_number_of(unit: Unit, value: Any) -> bool:
    if isinstance(value, bool):
        return False
    try:
        number = float(value)
    except (TypeError, ValueError):
        return False
    return number == 0 or (unit is SHARE and 0 <= number <= 1)
