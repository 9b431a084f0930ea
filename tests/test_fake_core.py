"""The engine of tests tells nothing that the real one does not."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from fake_core import FakeEngine, FakeHandle, FakeResult, summary_of, tables_of
from waspbench import _core
from waspbench.experiment import parse
from waspbench.experiment.resolve import resolve

ASKED: dict[str, Any] = {
    "name": "x",
    "clients": [{"count": 64, "rtt": "10ms", "loss": "1%"}],
    "measure": {"warmup": "1s", "duration": "2s"},
}
SCENARIO = resolve(parse(ASKED), mode="sim")


@pytest.fixture(scope="module")
def real() -> _core.RunResult:
    return _core.start(json.dumps(SCENARIO)).wait()


def differences(fake: Any, real: Any, path: str = "") -> Iterator[str]:
    """Where ``fake`` has what ``real`` has not, and where the two are of other kinds: what is null may be any."""
    if fake is None or real is None:
        return
    if kind_of(fake) is not kind_of(real):
        yield path
    elif isinstance(fake, dict):
        for key, value in fake.items():
            where = f"{path}.{key}"
            yield from [where] if key not in real else differences(value, real[key], where)
    elif isinstance(fake, list):
        for value in fake:
            yield from differences(value, real[0], f"{path}[]") if real else [f"{path}[]"]


def kind_of(value: Any) -> type:
    """What JSON tells apart."""
    return float if type(value) is int else type(value)


def test_the_summary_has_fields_of_the_real_one(real: _core.RunResult) -> None:
    few = resolve(parse(ASKED | {"clients": [{"count": 1}]}), mode="sim")
    reasons = json.loads(_core.start(json.dumps(few)).wait().summary())["invalid"]
    summary = json.loads(real.summary()) | {"invalid": reasons}
    told = summary_of(SCENARIO, 10.0, [{"code": "stopped", "message": "x"}])
    assert list(differences(told, summary)) == []
    assert {*told["outcomes"], *told["fates"]} <= {*summary["outcomes"], *summary["fates"]}


def test_a_field_that_is_not_there_is_a_difference(real: _core.RunResult) -> None:
    summary = json.loads(real.summary())
    told = summary_of(SCENARIO, 10.0, []) | {"more": 1, "throughput": "fast"}
    told["by_group"] = [told["by_group"][0] | {"other": 1}]
    told |= {"network": "fast", "retried": True, "invalid": [{"code": "lag"}]}
    wrong = [".throughput", ".by_group[].other", ".retried", ".network", ".invalid[]", ".more"]
    assert list(differences(told, summary | {"invalid": []})) == wrong


def test_the_tables_have_columns_of_the_real_ones(real: _core.RunResult) -> None:
    tables = {name: pl.DataFrame(table) for name, table in real.tables().items()}
    for name, table in tables_of(SCENARIO).items():
        assert table.schema.items() <= tables[name].schema.items(), name
        assert table.columns == [column for column in tables[name].columns if column in table.columns], name


def test_what_is_called_is_there_and_takes_the_same() -> None:
    for fake, true in ((FakeHandle, _core.Handle), (FakeResult, _core.RunResult)):
        names = {name for name in vars(fake) if not name.startswith("_")}
        assert names == {name for name in vars(true) if not name.startswith("_")}
        for name in names:
            assert [*inspect.signature(getattr(fake, name)).parameters] == [
                *inspect.signature(getattr(true, name)).parameters
            ]
    with pytest.raises(TypeError, match="unexpected keyword argument 'devices'"):
        FakeEngine().start(json.dumps(SCENARIO), devices=[1])


def test_a_sample_has_the_real_ones_fields() -> None:
    handle = _core.start(json.dumps(SCENARIO | {"measure": {"warmup": "1s", "duration": "24h"}}))
    while (sample := handle.next_sample(10.0)) is None:
        assert not handle.done()
    handle.stop()
    handle.wait()
    told = FakeEngine().start(json.dumps(SCENARIO)).next_sample(1.0)
    assert told is not None
    assert {name: type(value) for name, value in told.items()} == {name: type(value) for name, value in sample.items()}


def test_a_refusal_has_the_real_ones_attributes() -> None:
    engine = FakeEngine()
    engine.refusal = ("clients.rtt", "is wrong")
    with pytest.raises(_core.ScenarioError) as fake:
        engine.check_scenario(json.dumps(SCENARIO))
    with pytest.raises(_core.ScenarioError) as real:
        _core.check_scenario(json.dumps(SCENARIO | {"seed": -1}))
    assert vars(fake.value).keys() == vars(real.value).keys()
    assert str(fake.value) == "clients.rtt: is wrong"
