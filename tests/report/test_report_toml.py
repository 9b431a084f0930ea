"""What is written as TOML is read again as it was."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waspbench.experiment import parse
from waspbench.experiment.load import read
from waspbench.report.toml import toml

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "examples").glob("*.toml"), *(ROOT / "experiments").rglob("*.toml")])

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
PLAIN = st.one_of(st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), TEXTS)
VALUES = st.recursive(
    PLAIN, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)), max_leaves=8
)


def without_nothing(value: Any) -> Any:
    """``value`` without tables that have no field."""
    if isinstance(value, dict):
        return {key: without_nothing(inner) for key, inner in value.items() if inner != {}}
    return [without_nothing(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_example_is_written_as_it_was_read(file: Path) -> None:
    document = read(file)
    assert tomllib.loads(toml(document)) == without_nothing(document)


def test_an_experiment_with_every_default_is_one_again() -> None:
    described = parse({"name": "x", "clients": [{"name": "far", "count": 2, "loss": "3%"}]})
    written = toml(described.model_dump(exclude_none=True, by_alias=True))
    assert parse(tomllib.loads(written)) == parse(described.model_dump(exclude_none=True, by_alias=True))


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_any_tables_are_read_again_as_they_were(document: dict[str, Any]) -> None:
    assert tomllib.loads(toml(document)) == without_nothing(document)


def test_there_is_no_null() -> None:
    assert tomllib.loads(toml({"a": None, "b": {"c": None, "d": [1, None]}})) == {"b": {"d": [1]}}


def test_what_toml_has_no_type_for_is_text() -> None:
    assert tomllib.loads(toml({"path": Path("a/b"), "pair": (1, "x")})) == {"path": "a/b", "pair": [1, "x"]}
