"""The public face of the package."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import waspbench
from models import reachable
from waspbench import _core, field_texts

ROOT = Path(__file__).parents[1]


def test_every_public_name_is_there() -> None:
    assert waspbench.__all__ == sorted(waspbench.__all__)
    for name in waspbench.__all__:
        assert getattr(waspbench, name).__module__.startswith("waspbench."), name
    assert set(waspbench.__all__) <= set(dir(waspbench))


def test_every_public_name_is_documented() -> None:
    undocumented = [
        f"{name}{'.' if member else ''}{member}"
        for name in waspbench.__all__
        for member, text in documentation(getattr(waspbench, name))
        if not text
    ]
    assert undocumented == []


def documentation(public: Any) -> Iterator[tuple[str, str | None]]:
    """What is said of a name, of the methods of a class, and of its fields."""
    yield "", inspect.getdoc(public)
    if not inspect.isclass(public):
        return
    members = {name: value for name, value in inspect.getmembers(public) if name in vars(public)}
    for name, value in members.items():
        if not name.startswith("_") and (callable(value) or isinstance(value, property)):
            yield name, inspect.getdoc(value)
    if dataclasses.is_dataclass(public):
        told = field_texts.of_class(public.__module__, public.__qualname__)
        yield from ((field.name, told[field.name].text) for field in dataclasses.fields(public))


def test_every_field_of_results_is_documented() -> None:
    models = {model for name in waspbench.__all__ for model in reachable(getattr(waspbench, name), set())}
    assert waspbench.RunSummary in models
    undocumented = [
        f"{model.__name__}.{name}"
        for model in models
        for name, field in model.model_fields.items()
        if not field.description
    ]
    assert undocumented == []


def test_functions_that_make_results_take_the_same() -> None:
    names = ("run", "start", "study", "capacity")
    common = [inspect.signature(getattr(waspbench, name)).parameters for name in names]
    for name in ("experiment", "output", "mode", "server_cpus", "emulator_cpus"):
        assert len({(each[name].annotation, each[name].default, each[name].kind) for each in common}) == 1, name


@pytest.mark.parametrize("package", ["experiment", "results", "stats", "testbed", "workload"])
def test_what_a_package_exports_is_there(package: str) -> None:
    module = importlib.import_module(f"waspbench.{package}")
    for name in module.__all__:
        assert hasattr(module, name), name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        waspbench.nonsense  # noqa: B018


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, waspbench; print({'polars', 'numpy', 'pydantic', 'cyclopts'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_version_is_declared_the_same_everywhere() -> None:
    python = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    rust = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert python == rust == _core.version()
