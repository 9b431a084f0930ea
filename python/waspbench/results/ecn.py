"""Explicit congestion notification in results: how far it was agreed on, and why it had no effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from waspbench.experiment.network import directions_of
from waspbench.experiment.queues import DISCIPLINES
from waspbench.results.summary import RunEcn, RunSummary

MARKING = "fq-codel marks unless its ecn is false, and red, codel and pie mark with ecn = true"


def ecn_of(runs: Sequence[RunSummary]) -> RunEcn | None:
    """The sums over the runs; None if no client asks for ECN."""
    used = [run.ecn for run in runs if run.ecn is not None]
    sums = {name: sum(getattr(run, name) for run in used) for name in RunEcn.model_fields}
    return RunEcn(**sums) if used else None


def ecn_text(used: RunEcn) -> str:
    """On how many connections ECN was agreed, in words."""
    return f"agreed on {used.agreed:,d} of {used.connections:,d} connections of the whole run"


def notes_of_ecn(scenario: Mapping[str, Any], runs: Sequence[RunSummary], mode: str | None) -> list[str]:
    """Why ECN that clients ask for had no effect; empty if it had, or if there was nothing to mark."""
    used = ecn_of(runs)
    if used is None or used.connections == 0:
        return []
    if used.agreed == 0:
        return [f"clients asked for ECN, and the server agreed on no connection: {_refusal(mode)}"]
    ways = [way for run in runs for way in (run.network.up, run.network.down)]
    if sum(way.marked or 0 for way in ways):
        return []
    if not any(_marks(queue) for queue in _queues(scenario)):
        return [f"clients use ECN, and no queue marks packets: {MARKING}"]
    dropped = sum(way.dropped for way in ways)
    return [f"clients use ECN, and {dropped:,d} packets were dropped and none was marked"] if dropped else []


def _refusal(mode: str | None) -> str:
    if mode == "sim":
        return "a modelled server refuses if server.tcp.ecn is false, and with preset bsd1999 unless it is true"
    return "the setting net.ipv4.tcp_ecn of its kernel decides that"


def _queues(scenario: Mapping[str, Any]) -> list[Any]:
    """The queues of all links."""
    groups = [group.get("queue") or {} for group in scenario.get("clients", ())]
    shared = [link.get("queue") for _, _, link in directions_of(scenario.get("network"))]
    return [way for group in groups for way in group.values()] + shared


def _marks(queue: Any) -> bool:
    if not isinstance(queue, Mapping):
        return False
    unset = DISCIPLINES[queue["kind"]].model_fields.get("ecn")
    return bool(queue.get("ecn", False if unset is None else unset.default))
