"""What is to be said of results with packets that were longer than a link carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from waspbench.results.summary import RunSummary


def notes_of_mtus(scenario: Mapping[str, Any], runs: Sequence[RunSummary]) -> list[str]:
    """How many packets were dropped for that, and how many were cut."""
    dropped, cut = (sum(run.fates.get(fate, 0) for run in runs) for fate in ("too big", "fragmented"))
    icmp = (scenario.get("network") or {}).get("icmp") or {}
    silent = "routers send no errors (network.icmp.burst=0), so that the senders do not learn it"
    told = silent if icmp.get("burst") == 0 else "routers tell their senders"
    longer = "longer than the MTU of a link"
    notes = {
        f"{dropped:,d} packets were {longer} and were dropped, because their headers forbid fragments; {told}": dropped,
        f"{cut:,d} packets were {longer}; fragments took their place": cut,
    }
    return [note for note, count in notes.items() if count]
