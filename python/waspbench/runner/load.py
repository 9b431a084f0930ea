"""An experiment at another load: what a search for capacity varies. Background groups stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from waspbench import _core
from waspbench.experiment import Clients, Experiment
from waspbench.experiment.search import Find


def with_load(experiment: Experiment, load: float, find: Find = "throughput") -> Experiment:
    """``experiment`` with ``load`` clients in all, shared among its groups as in the file; or, where a rate is to be
    found, with so many arrivals a second, which the groups share as in the file.
    """
    return _with_rate(experiment, load) if find == "rate" else _with_clients(experiment, int(load))


def _with_clients(experiment: Experiment, load: int) -> Experiment:
    measured = [group for group in experiment.clients if not group.background]
    total = sum(group.count for group in measured)
    counts = {group.name: max(1, load * group.count // total) for group in measured}
    # What rounding down left over goes to the first groups; what a group's one client took comes from the largest.
    counts[max(counts, key=lambda name: counts[name])] += load - sum(counts.values())
    return _changed(experiment, lambda group: {"count": counts[group.name]})


def _with_rate(experiment: Experiment, load: float) -> Experiment:
    total = sum(rate_of(group) for group in experiment.clients if not group.background)

    def scaled(group: Clients) -> dict[str, Any]:
        assert group.arrivals is not None, "checked before"
        rate = f"{load * rate_of(group) / total:.5f}/s"  # as fine as frequencies are
        return {"arrivals": group.arrivals.model_copy(update={"rate": rate})}

    return _changed(experiment, scaled)


def rate_of(group: Clients) -> float:
    """Arrivals a second of a group; none of a closed loop."""
    return 0.0 if group.arrivals is None else _core.parse_frequency(group.arrivals.rate)


def _changed(experiment: Experiment, changes: Callable[[Clients], dict[str, Any]]) -> Experiment:
    groups = [group if group.background else group.model_copy(update=changes(group)) for group in experiment.clients]
    return experiment.model_copy(update={"clients": groups})
