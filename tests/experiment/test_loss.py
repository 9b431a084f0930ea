"""Loss of the experiment file, resolved to what the engine takes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waspbench.errors import InputError
from waspbench.experiment import parse
from waspbench.experiment.resolve import resolve
from waspbench.experiment.units import exact


def resolved(loss: Any) -> dict[str, Any]:
    experiment = parse({"name": "loss", "clients": [{"loss": loss}]})
    result: dict[str, Any] = resolve(experiment, mode="sim")["clients"][0]["loss"]
    return result


def two_state(p: str, r: str, start: str = "good") -> dict[str, str]:
    return {"model": "two-state", "p": p, "r": r, "start": start}


@pytest.mark.parametrize(("label", "p"), [("3%", "2.0103092784%"), ("6%", "4.1489361702%"), ("9%", "6.4285714286%")])
def test_a_rate_means_two_state_loss_with_the_p_of_that_rate(label: str, p: str) -> None:
    # SPECS: p that gives the label exactly at r = .65 is .020103, .041489, .064286.
    chain = two_state(p, "65%")
    assert resolved(label) == {"up": chain, "down": chain, "scope": "direction"}


@pytest.mark.parametrize(("label", "p"), [("3%", "2%"), ("6%", "4%"), ("9%", "7%")])
def test_wasp2001_is_table_1_to_the_letter(label: str, p: str) -> None:
    assert resolved({"model": "wasp2001", "rate": label})["down"] == two_state(p, "65%")


def test_p_and_r_are_taken_as_they_are() -> None:
    loss = {"model": "two-state", "p": "2%", "r": "65%", "start": "stationary", "scope": "link"}
    chain = two_state("2%", "65%", "stationary")
    assert resolved(loss) == {"up": chain, "down": chain, "scope": "link"}


def test_independent_loss_has_a_rate() -> None:
    loss = {"model": "independent", "rate": "3%"}
    assert resolved(loss) == {"up": loss, "down": loss, "scope": "direction"}


def test_each_direction_may_differ() -> None:
    loss = {"up": {"model": "independent", "rate": "1%"}, "down": "3%", "scope": "connection"}
    assert resolved(loss) == {
        "up": {"model": "independent", "rate": "1%"},
        "down": two_state("2.0103092784%", "65%"),
        "scope": "connection",
    }


@pytest.mark.parametrize(
    "loss", ["0%", 0, {"model": "independent", "rate": "0%"}, {"p": "0%", "r": "50%"}, {"up": "0%"}]
)
def test_no_loss_is_no_process(loss: Any) -> None:
    assert resolved(loss) == {"up": None, "down": None, "scope": "direction"}


def test_a_plain_number_is_a_probability_too() -> None:
    assert resolved({"rate": 0.03, "burst": 0.35}) == resolved("3%")


@given(st.integers(1, 99), st.integers(1, 999))
def test_the_chain_of_a_rate_loses_that_rate_in_the_long_run(burst: int, tenths: int) -> None:
    r = 1 - burst / 100
    loss = {"rate": f"{tenths / 10:.1f}%", "burst": f"{burst}%"}
    if tenths / 1000 >= 1 / (1 + r):
        with pytest.raises(InputError, match=r"clients\.loss\.rate: .*must be below"):
            resolved(loss)
        return
    chain = resolved(loss)["down"]
    p, r = float(exact(chain["p"])), float(exact(chain["r"]))
    assert p / (p + r) == pytest.approx(tenths / 1000, abs=1e-9)
