"""What set the limit at the load that a search for capacity found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from waspbench import _core
from waspbench.experiment import Experiment
from waspbench.experiment.inputs import Inputs, of_one
from waspbench.experiment.search import Find
from waspbench.experiment.trace_files import mean_rate
from waspbench.results.capacity import LINK_FULL, SATURATED, Bottleneck
from waspbench.results.loads import LoadReading, load_text, readings_at
from waspbench.results.wording import trace
from waspbench.stats.capacity import Capacity
from waspbench.tabular import rate_text
from waspbench.topology import Topology, resolved

_FEWER = "; going by twice as many, fewer would hardly meet it"

_ALONE = "the paths, or the server for a single request, take too long"

_WAITED = "arrivals waited for clients that were busy, and with more of them (clients.count) the objective may be met"


def bottleneck_of(
    experiment: Experiment,
    found: Capacity | None,
    readings: Sequence[LoadReading],
    find: Find = "throughput",
    *,
    at_any: bool = False,
    inputs: Inputs | None = None,
) -> tuple[Bottleneck, str]:
    """What set the limit at the load that was found, as far as can be told from all readings, and why. ``at_any`` says
    that none was found because the objective is missed at any load. ``inputs`` are the contents of the files that
    the experiment names; without them those that are needed are read.
    """
    if found is None:
        return _nothing_found(readings, find, at_any=at_any)
    behind = readings_at(readings, found.load)
    beyond = [each for each in readings if each.load == found.limit and found.limited_by == "objective"]
    cpu, cpu_beyond = _cpu(behind), _cpu(beyond)
    busy = "server CPU unknown" if cpu is None else f"server CPU {100 * cpu:.0f} % busy"
    unmet = ""
    if found.limit is not None and found.limited_by == "objective":
        more = "" if cpu_beyond is None else f"{100 * cpu_beyond:.0f} %"
        busy += f", and {more} beyond" if more and more not in busy else ""
        unmet = f"; the objective was missed at {load_text(found.limit, find)}"
    elif found.limit is not None and found.limited_by == "failed":
        unmet = f"; at {load_text(found.limit, find)} a run {_failure(readings, found.limit)}"
    if max(cpu or 0.0, cpu_beyond or 0.0) >= SATURATED:
        return "server", f"saturated: {busy}{unmet}"
    goodput = max((each.goodput_bps for each in [*behind, *beyond]), default=0.0)
    link = _shared_rate(experiment, inputs)
    if link is not None and goodput >= LINK_FULL * link[0]:
        return "network", f"the shared link ({link[1]}) was full; {busy}{unmet}"
    narrow = _full_links(experiment, [*behind, *beyond], inputs)
    if narrow is not None:
        busy += f"; {narrow.text}"
        if narrow.crossed_by_all:
            return "network", f"{busy}{unmet}"
    if any(each.waited for each in beyond):
        return "clients", f"{_WAITED}; {busy}{unmet}"
    if unmet:
        return "unknown", f"not saturated: {busy}{unmet}"
    if found.limit is not None and found.limited_by == "emulator":
        return "emulator", f"from {load_text(found.limit, find)} on the emulator was the bottleneck; {busy}"
    if found.edge == "high":
        return _at_the_edge(found, readings, find, busy)
    return "unknown", f"not saturated: {busy}"


def _shared_rate(experiment: Experiment, inputs: Inputs | None) -> tuple[float, str] | None:
    """The rate of the shared link towards the clients in bits a second, of a trace the mean; and both in words."""
    if experiment.network.kind != "star":
        return None
    link = experiment.network.shared.directions()["down"]
    if link.trace is not None:
        text = of_one(experiment, inputs).traces[link.trace.file]
        option = link.trace.model_dump() | {"mean_bps": mean_rate(link.trace, text)}
        return option["mean_bps"], f"trace {trace(option)}"
    return None if link.rate is None else (_core.parse_rate(link.rate), link.rate)


@dataclass(frozen=True)
class _Narrow:
    """Links that were full, and whether every group that is measured crosses one."""

    text: str
    crossed_by_all: bool


def _full_links(experiment: Experiment, readings: Sequence[LoadReading], inputs: Inputs | None) -> _Narrow | None:
    """The links between nodes, and the one before the server if cross traffic loads it, that were full in one of these
    runs, if any were.
    """
    full = list(dict.fromkeys(link for each in readings for link in each.full_links))
    if not full:
        return None
    network = resolved(experiment, inputs)
    rates = {f"{link} {direction}": rate for (link, direction), rate in rates_of(network).items()}
    measured = {group.name for group in experiment.clients if not group.background}
    crossing = [
        group.name
        for group in network.groups
        if group.name in measured
        and any(f"{hop.link} {hop.direction}" in full for hop in (*group.up.links, *group.down.links))
    ]
    offered = _offered(network)
    named = ", ".join(f"{link} ({rate_text(rates.get(link))}{offered.get(link, '')})" for link in full)
    text = f"the link {named} was full" if len(full) == 1 else f"the links {named} were full"
    if len(crossing) < len(measured):
        of = f"{', '.join(crossing[:MOST_NAMED])}{', ...' if len(crossing) > MOST_NAMED else ''}" or "no group"
        text += f", which {of} of {len(measured)} groups cross{'es' if len(crossing) == 1 else ''}"
    return _Narrow(text, len(crossing) == len(measured))


MOST_NAMED = 4
"""Groups that cross a full link that are named."""


def _offered(network: Topology) -> dict[str, str]:
    """What cross traffic offers to links, each with its direction, in words."""
    offered: dict[str, float] = {}
    for load in network.cross_traffic:
        place = f"{load.link} {load.direction}"
        offered[place] = offered.get(place, 0.0) + load.mean_bps
    return {place: f", to which cross traffic offers {rate_text(round(bps))}" for place, bps in offered.items() if bps}


def rates_of(network: Topology) -> dict[tuple[str, str], int]:
    """The rates of the links between nodes, and of the one before the server if cross traffic loads it, in bits a
    second, of a trace the mean, by link and direction.
    """
    loaded = {load.link for load in network.cross_traffic}
    judged = {"between": True, "server": network.server_link in loaded, "access": False}
    links = [link for link in network.links if judged[link.kind]]
    return {(link.link, link.direction): link.rate_bps for link in links if link.rate_bps is not None}


def _at_the_edge(found: Capacity, readings: Sequence[LoadReading], find: Find, busy: str) -> tuple[Bottleneck, str]:
    """What set the limit where the most that was tried is what was found."""
    most = f"{load_text(found.load, find)} are the most that were tried, and"
    if find != "throughput":
        return ("clients" if find == "clients" else "unknown"), f"{most} the objective is still met; {busy}"
    if _grew(found, readings):
        return "clients", f"{most} throughput still grew; {busy}"
    return "unknown", f"not saturated: {busy}; {most} it is not shown that throughput still grew"


def _cpu(readings: Sequence[LoadReading]) -> float | None:
    """Busy share of the server's CPUs, mean over the runs that have it."""
    busy = [each.server_cpu for each in readings if each.server_cpu is not None]
    return sum(busy) / len(busy) if busy else None


def _nothing_found(readings: Sequence[LoadReading], find: Find, *, at_any: bool) -> tuple[Bottleneck, str]:
    if readings and not any(reading.counts for reading in readings):
        last = readings[-1]
        bottleneck: Bottleneck = "unknown" if all(reading.failed for reading in readings) else "emulator"
        return bottleneck, f"no run counted; at {load_text(last.load, find)}: {last.notes[0]}"
    lowest = min((each.load for each in readings), default=0)
    least = [each for each in readings if each.load == lowest]
    if not any(each.counts and each.meets is False for each in least):
        if find == "throughput":
            return "unknown", "no load counted and met the objective"
        return "unknown", "no load was shown to meet the objective: runs were too few, or too short"
    who = f"{load_text(lowest, find)}, the least that {'was' if lowest == 1 else 'were'} tried"
    missed = f"{who}, {'does' if lowest == 1 else 'do'} not meet the objective"
    if any(each.waited for each in least):
        return "clients", f"{missed}: {_WAITED}"
    fewer = "" if find == "clients" and lowest == 1 else _FEWER
    return "unknown", f"{missed}{fewer}: {_ALONE}" if at_any else missed


def _failure(readings: Sequence[LoadReading], load: float) -> str:
    """What the first run that failed at a load says of it."""
    return next(reading.notes[0] for reading in readings if reading.load == load and reading.failed)


def _grew(found: Capacity, readings: Sequence[LoadReading]) -> bool:
    """Whether throughput at the load found is above that of the next lower one by more than its interval allows."""
    lower = max((reading.load for reading in readings if reading.load < found.load and reading.counts), default=None)
    if lower is None or found.interval is None:
        return False
    below = [reading.throughput for reading in readings_at(readings, lower)]
    return bool(below) and found.interval[0] > sum(below) / len(below)
