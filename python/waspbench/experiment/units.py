"""Values with units, as fields of the experiment file.

The engine's parser (crate ``wasp-units``, through ``_core``) is the only one. A field keeps the text that was given,
because that is what the engine takes; the functions here turn it into a number where Python needs one.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from waspbench import _core

# The engine's probabilities are integers in this unit.
_PROBABILITY_STEPS = 10**12


def _parsed(parse: Callable[[str], Any], text: str) -> Any:
    try:
        return parse(text)
    except _core.QuantityError as error:
        raise ValueError(error.message) from None


def _checked(parse: Callable[[str], Any], example: str, above_zero: bool = False) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f'must be text with a unit, such as "{example}"')
        if _parsed(parse, value) == 0 and above_zero:
            raise ValueError(f'must be above zero, such as "{example}"')
        return value

    return check


def _probability(value: Any) -> str:
    """Takes ``"3%"``, ``"0.03"`` and the number 0.03."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = format(Decimal(repr(value)), "f")
    if not isinstance(value, str):
        raise ValueError('must be a probability, such as "3%"')
    _parsed(_core.parse_probability, value)
    return value


def _schema(unit: str, *examples: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "format": unit, "examples": list(examples)})


Duration = Annotated[
    str,
    BeforeValidator(_checked(_core.parse_duration, "100ms")),
    _schema("duration", "100ms", "1.5s", "2min"),
]
"""A length of time, zero included: ns, us, ms, s, min, h."""

AUTO = "auto"
"""In place of a duration: to be found rather than given."""

AutoDuration = Annotated[
    str,
    BeforeValidator(lambda value: value if value == AUTO else _checked(_core.parse_duration, "100ms")(value)),
    _schema("duration, or auto", "5s", "auto"),
]
"""A length of time, or ``auto``."""

AutoPositiveDuration = Annotated[
    str,
    BeforeValidator(
        lambda value: value if value == AUTO else _checked(_core.parse_duration, "10s", above_zero=True)(value)
    ),
    _schema("duration above zero, or auto", "10s", "auto"),
]
"""A length of time above zero, or ``auto``."""

PositiveDuration = Annotated[
    str,
    BeforeValidator(_checked(_core.parse_duration, "10s", above_zero=True)),
    _schema("duration above zero", "10s", "100ms"),
]
"""A length of time above zero."""

Size = Annotated[str, BeforeValidator(_checked(_core.parse_bytes, "64KiB")), _schema("size", "1KiB", "64KB", "500B")]
"""An amount of data: B, KB, KiB, MB, MiB, GB, GiB."""

PositiveSize = Annotated[
    str,
    BeforeValidator(_checked(_core.parse_bytes, "64KiB", above_zero=True)),
    _schema("size above zero", "1KiB", "64KB", "500B"),
]
"""An amount of data above zero."""

_rate = _checked(_core.parse_rate, "10Mbit/s")

Rate = Annotated[str, BeforeValidator(_rate), _schema("rate", "10Mbit/s", "56kbit/s")]
"""Bits a second, above zero: bit/s, kbit/s, Mbit/s, Gbit/s."""

NO_RATE = "0"
"""What stands for a rate of zero."""


def _rate_or_zero(value: Any) -> str:
    if value == NO_RATE or (value == 0 and not isinstance(value, bool)):
        return NO_RATE
    try:
        return _rate(value)
    except ValueError as error:
        raise ValueError(f"{error}; 0 is no traffic") from None


RateOrZero = Annotated[
    str,
    BeforeValidator(_rate_or_zero),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "rate", "examples": ["10Mbit/s"]}, {"const": 0}]}),
]
"""Bits a second, or 0 (``"0"``)."""

Frequency = Annotated[
    str, BeforeValidator(_checked(_core.parse_frequency, "100/s")), _schema("frequency", "100/s", "30/min")
]
"""Events in a time, above zero: /s, /min, /h."""

Probability = Annotated[
    str,
    BeforeValidator(_probability),
    WithJsonSchema(
        {
            "type": ["string", "number"],
            "minimum": 0,
            "maximum": 1,
            "format": "probability",
            "examples": ["3%", "0.1%", 0.03],
        }
    ),
]
"""A probability from 0 to 1: a percentage, or a plain number."""


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]
"""A name that may stand in a path."""


_PLACE_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$"


def _place_name(value: str) -> str:
    if not re.fullmatch(_PLACE_NAME, value):
        raise ValueError("must be letters, digits, '_' and '-', and begin with a letter or digit")
    return value


PlaceName = Annotated[
    str, AfterValidator(_place_name), WithJsonSchema({"type": "string", "pattern": _PLACE_NAME}, mode="validation")
]
"""A name that may be a step of a path of ``--set``."""


def _ipv4_address(value: str) -> str:
    try:
        return str(ipaddress.IPv4Address(value))
    except ValueError:
        raise ValueError("must be an IPv4 address, such as 198.18.4.1") from None


def _ipv4_prefix(value: str) -> str:
    try:
        found = ipaddress.IPv4Network(value)
        is_right = re.search(r"/[0-9]+$", value) is not None and 8 <= found.prefixlen <= 30
    except ValueError:
        is_right = False
    if not is_right:
        raise ValueError("must be an IPv4 prefix of 8 to 30 bits, the bits behind them zero, such as 198.18.4.0/24")
    return str(found)


Ipv4Address = Annotated[
    str, AfterValidator(_ipv4_address), WithJsonSchema({"type": "string", "format": "ipv4"}, mode="validation")
]
"""An IPv4 address."""

Ipv4Prefix = Annotated[str, AfterValidator(_ipv4_prefix), _schema("IPv4 prefix", "10.0.0.0/16", "198.18.4.0/24")]
"""A block of IPv4 addresses."""


def url_path(value: Any) -> str:
    """Checks a path and query of a URL, and returns it as it is.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, str) or not re.fullmatch(r"/[!-~]*", value) or "#" in value:
        raise ValueError("must be a path that begins with '/', percent-encoded, such as /index.html")
    return value


UrlPath = Annotated[str, BeforeValidator(url_path)]
"""What stands after the authority in a URL."""


def seconds(duration: str) -> float:
    """The duration in seconds."""
    return _core.parse_duration(duration) / 1e9


def duration(seconds: float) -> str:
    """A whole number of seconds as a duration."""
    return f"{seconds / 60:g}min" if seconds >= 120 and seconds % 60 == 0 else f"{seconds:g}s"


@lru_cache(maxsize=4096)
def exact(probability: str) -> Fraction:
    """The probability as the exact number that the engine sees."""
    return Fraction(round(_core.parse_probability(probability) * _PROBABILITY_STEPS), _PROBABILITY_STEPS)


@lru_cache(maxsize=4096)
def percentage(probability: Fraction) -> str:
    """The nearest probability that the engine can hold, as a percentage."""
    steps = round(probability * _PROBABILITY_STEPS)
    whole, rest = divmod(steps, _PROBABILITY_STEPS // 100)
    return f"{whole}.{rest:010d}".rstrip("0").rstrip(".") + "%"
