"""The public face of the package."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import waspbench
from waspbench import _core

ROOT = Path(__file__).parents[1]


def test_every_public_name_is_there() -> None:
    assert waspbench.__all__ == sorted(waspbench.__all__)
    for name in waspbench.__all__:
        assert getattr(waspbench, name).__module__.startswith("waspbench."), name
    assert set(waspbench.__all__) <= set(dir(waspbench))


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
