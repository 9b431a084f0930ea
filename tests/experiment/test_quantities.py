"""Texts with a unit as numbers of one unit."""

from __future__ import annotations

from typing import Any

import pytest

from waspbench.experiment import quantities
from waspbench.experiment.quantities import Unit, common_unit, number_in, quantity


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [
        ("20ms", 20.0, quantities.MILLISECONDS),
        ("1.5s", 1500.0, quantities.MILLISECONDS),
        ("10Mbit/s", 1e7, quantities.BITS_A_SECOND),
        ("64KiB", 65536.0, quantities.BYTES),
        ("30/min", 0.5, quantities.A_SECOND),
        ("3%", 0.03, quantities.SHARE),
    ],
)
def test_a_text_with_a_unit_is_a_number(text: str, number: float, unit: Unit) -> None:
    assert quantity(text) == (number, unit)


@pytest.mark.parametrize("text", ["", "nginx", "8", "0.03", "20 m", "ms", "inf", "nan"])
def test_other_texts_are_none(text: str) -> None:
    assert quantity(text) is None


@pytest.mark.parametrize(
    ("values", "unit", "numbers"),
    [
        (["20ms", "1s"], quantities.MILLISECONDS, [20.0, 1000.0]),
        (["20ms", 0], quantities.MILLISECONDS, [20.0, 0.0]),
        (["3%", 0.5, "0"], quantities.SHARE, [0.03, 0.5, 0.0]),
    ],
)
def test_values_have_one_unit(values: list[Any], unit: Unit, numbers: list[float]) -> None:
    assert common_unit(values) is unit
    assert [number_in(unit, value) for value in values] == pytest.approx(numbers)


@pytest.mark.parametrize(
    "values",
    [
        [],
        [1, 2],
        ["20ms", "3%"],
        ["20ms", 8],
        ["3%", 2],
        ["3%", True],
        ["3%", "auto"],
        ["20ms", None],
        [{"rate": "3%"}],
    ],
)
def test_values_without_one_unit_have_none(values: list[Any]) -> None:
    assert common_unit(values) is None
