"""Quantities: one parser, in Rust, seen from Python."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waspbench import _core
from waspbench.experiment.units import exact, percentage, seconds

NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
BYTES = {"B": 1, "KB": 10**3, "kB": 10**3, "KiB": 2**10, "MB": 10**6, "MiB": 2**20, "GB": 10**9, "GiB": 2**30}
BITS = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}


@given(st.integers(0, 10**6), st.sampled_from(sorted(NANOSECONDS)))
def test_a_whole_duration_is_its_number_of_nanoseconds(number: int, unit: str) -> None:
    assert _core.parse_duration(f"{number}{unit}") == number * NANOSECONDS[unit]


@given(st.integers(0, 10**6), st.sampled_from(sorted(BYTES)))
def test_a_whole_size_is_its_number_of_bytes(number: int, unit: str) -> None:
    assert _core.parse_bytes(f"{number}{unit}") == number * BYTES[unit]


@given(st.integers(1, 10**6), st.sampled_from(sorted(BITS)))
def test_a_whole_rate_is_its_number_of_bits(number: int, unit: str) -> None:
    assert _core.parse_rate(f"{number}{unit}") == number * BITS[unit]


@given(st.decimals(0, 1000, places=3))
def test_decimals_are_exact(number: Decimal) -> None:
    assert _core.parse_duration(f"{number:f}s") == int(number * 10**9)


@given(st.integers(0, 10**10))
def test_a_percentage_is_read_back_as_it_was_printed(steps: int) -> None:
    probability = Fraction(steps, 10**10)
    assert exact(percentage(probability)) == probability


def accepts(parse: Callable[[str], float], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


@given(st.text(max_size=20))
def test_any_text_is_a_quantity_or_a_plain_error(text: str) -> None:
    for parse in (_core.parse_duration, _core.parse_bytes, _core.parse_rate, _core.parse_probability):
        with nullcontext() if accepts(parse, text) else pytest.raises(ValueError, match=r"^[^\n]*expected[^\n]*$"):
            assert parse(text) >= 0


@pytest.mark.parametrize(
    "text", ["", "5", "ms", "-5ms", "5 ms", "5ms ", "1e3ms", "0.5ns", "5MS", ".5s", "5.s", "1.2.3s"]
)
def test_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="expected a duration such as"):
        _core.parse_duration(text)


@pytest.mark.parametrize("text", ["0bit/s", "10", "10Mbps", "10MBit/s", "-1bit/s"])
def test_no_rate(text: str) -> None:
    with pytest.raises(ValueError, match="expected a rate above zero such as"):
        _core.parse_rate(text)


@pytest.mark.parametrize("text", ["101%", "1.01", "-1%", "three", "%"])
def test_no_probability(text: str) -> None:
    with pytest.raises(ValueError, match="expected a probability from 0% to 100%"):
        _core.parse_probability(text)


def test_seconds_of_a_duration() -> None:
    assert seconds("1.5s") == 1.5
