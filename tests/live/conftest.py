"""Live tests need root and a kernel that lets it make namespaces and TUN devices."""

from __future__ import annotations

import os

import pytest

from waspbench.testbed import live_support


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if item.path.parent.name == "live" and item.get_closest_marker("root")]
    if not here or (os.geteuid() == 0 and (support := live_support()).ok):
        return
    why = "needs root" if os.geteuid() != 0 else f"this machine cannot: {support.why}"
    for item in here:
        item.add_marker(pytest.mark.skip(reason=why))
