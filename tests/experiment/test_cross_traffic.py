"""Cross traffic in an experiment file: what the engine is told, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from waspbench import InputError
from waspbench.experiment import parse
from waspbench.experiment.load import load
from waspbench.experiment.resolve import accept, resolve
from waspbench.experiment.sweep import points

OTHERS: dict[str, Any] = {"link": "shared", "direction": "down", "rate": "6Mbit/s"}
EXPONENTIAL = {"model": "exponential", "mean": "200ms"}
PARETO = {"model": "pareto", "shape": 0.9, "scale": "1s"}
BURSTS = {"model": "on-off", "on": "1s", "off": EXPONENTIAL}


def loaded(**traffic: Any) -> dict[str, Any]:
    """An experiment with cross traffic by name."""
    return {"name": "loaded", "clients": [{"name": "homes"}], "network": {"cross_traffic": traffic}}


def told(**traffic: Any) -> Any:
    return resolve(parse(loaded(**traffic)), mode="sim")["network"]["cross_traffic"]


def test_the_engine_is_told_each_source_by_its_name() -> None:
    others, video = told(others=OTHERS, video={**OTHERS, **BURSTS, "link": "homes", "packet": "1200B"})
    assert others == {"name": "others", **OTHERS, "packet": "1000B", "flows": 1, "model": {"kind": "poisson"}}
    lengths = {"on": {"model": "constant", "value": "1s"}, "off": EXPONENTIAL}
    assert video["model"] == {"kind": "on-off", **lengths}
    assert "cross_traffic" not in resolve(parse(loaded()), mode="sim")["network"]


@pytest.mark.parametrize("zero", [0, 0.0, "0"])
def test_a_rate_of_zero_is_no_rate(zero: Any) -> None:
    experiment = parse(loaded(others={**OTHERS, "rate": zero}))
    assert "rate" not in resolve(experiment, mode="sim")["network"]["cross_traffic"][0]
    accept(experiment, "sim")
    assert parse(experiment.model_dump(mode="json", exclude_unset=True)) == experiment


def test_a_sweep_varies_a_rate_from_zero_on() -> None:
    swept = {"sweep": {"network.cross_traffic.others.rate": [0, "3Mbit/s"]}}
    found = points(loaded(others=OTHERS) | swept)
    assert [point.experiment.network.cross_traffic["others"].rate for point in found] == ["0", "3Mbit/s"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"link": None}, "network.cross_traffic.others.link: missing"),
        ({"rate": None}, "network.cross_traffic.others.rate: missing"),
        ({"rate": False}, "network.cross_traffic.others.rate: false: must be text with a unit"),
        ({"rate": "0Mbit/s"}, 'network.cross_traffic.others.rate: "0Mbit/s": out of range; expected a rate above z'),
        ({"rate": "fast"}, "Gbit/s); 0 is no traffic"),
        ({"packet": "0B"}, 'network.cross_traffic.others.packet: "0B": must be above zero'),
        (
            {"direction": "sideways"},
            'network.cross_traffic.others.direction: "sideways": must be one of up, down, forw',
        ),
        ({"model": "poison"}, 'network.cross_traffic.others.model: "poison": did you mean poisson?'),
        ({"on": "1s"}, 'network.cross_traffic.others.on: is for model = "on-off", and this is "poisson"'),
        ({"model": "on-off", "on": "1s"}, 'network.cross_traffic.others.off: missing; model = "on-off" needs'),
        ({"flows": 0}, "network.cross_traffic.others.flows: 0: must be at least 1"),
        ({"size": "1KB"}, "network.cross_traffic.others.size: unknown field"),
    ],
)
def test_impossible_sources_are_refused_by_the_field(change: dict[str, Any], said: str) -> None:
    traffic = {name: value for name, value in (OTHERS | change).items() if value is not None}
    with pytest.raises(InputError) as refused:
        parse(loaded(others=traffic))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"link": "home"},
            'network.cross_traffic.others.link: "home"; there is no such link; valid here: shared, homes',
        ),
        ({"packet": "9KB"}, "network.cross_traffic.others.packet: 9000B; must be from 28B"),
        (
            {**BURSTS, "on": "1ms"},
            "network.cross_traffic.others.on: 1ms; the mean of a burst must be at least 1333.334us",
        ),
        ({**BURSTS, "off": PARETO | {"scale": "30h"}}, "network.cross_traffic.others.off.scale: "),
        (
            {**BURSTS, "on": PARETO},
            "network.cross_traffic.others.on.shape: 0.9; must be above 1, or lengths need a cap",
        ),
    ],
)
def test_what_no_link_can_carry_is_refused_by_the_field(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        accept(parse(loaded(others=OTHERS | change)), "sim")
    assert said in str(refused.value)


def test_settings_name_a_source_by_its_path() -> None:
    path = "network.cross_traffic.others"
    experiment = load("examples/cross-traffic.toml", [f"{path}.rate=1Mbit/s", f"{path}.packet=500B"])
    others = experiment.network.cross_traffic["others"]
    assert (others.rate, others.packet, others.model) == ("1Mbit/s", "500B", "on-off")


def test_sources_are_tables_by_name() -> None:
    with pytest.raises(InputError, match=r"network\.cross_traffic: .*must be tables by name, such as \[network\.c"):
        parse({"name": "loaded", "clients": [{}], "network": {"cross_traffic": [OTHERS]}})
    named = loaded(others=OTHERS) | {"clients": [{"name": "shared"}]}
    with pytest.raises(InputError, match=r"clients\.shared\.name: .* shared-clients would be valid"):
        accept(parse(named), "sim")
