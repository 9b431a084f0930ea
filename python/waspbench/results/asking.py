"""Who asks for what in a scenario: its workload, and those of groups' own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def workload_in(scenario: Mapping[str, Any], group: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a group of a scenario asks for: its own workload, or the one that groups share."""
    found: Mapping[str, Any] = group.get("workload") or scenario.get("workload") or {}
    return found


def has_own_workloads(scenario: Mapping[str, Any]) -> bool:
    """Whether a group of a scenario has a workload of its own."""
    return any(group.get("workload") for group in scenario.get("clients", ()))


def notes_of_mixtures(scenario: Mapping[str, Any]) -> list[str]:
    """That figures of all clients are of groups which ask for different things, where it is so."""
    groups = [group for group in scenario.get("clients", ()) if not group.get("background")]
    asked = {json.dumps(workload_in(scenario, group), sort_keys=True) for group in groups}
    return [_MIXTURE] if len(asked) > 1 else []


_MIXTURE = "groups have different workloads, and figures of all clients mix them; each group has figures of its own"
