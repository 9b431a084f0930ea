"""What is to be said of results whose links follow rate traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from waspbench.experiment.network import directions_of
from waspbench.experiment.traces import RANDOM


def notes_of_traces(scenario: Mapping[str, Any], runs: int) -> list[str]:
    """That all of several runs meet the same part of a trace, for each trace of which this is so."""
    if runs < 2:
        return []
    fixed = {option["file"]: option["start"] for option in _options(scenario) if option["start"] != RANDOM}
    return [
        f"all runs and clients meet the same part of the rate trace {file} (start={start}): intervals say nothing "
        "about its other parts"
        for file, start in fixed.items()
    ]


def _options(scenario: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The rate traces of all links of a scenario; older ones have none."""
    groups = [group.get("trace") or {} for group in scenario.get("clients", ())]
    options = [group.get(way) for group in groups for way in ("up", "down")]
    options += [link.get("trace") for _, _, link in directions_of(scenario.get("network"))]
    return (option for option in options if option)
