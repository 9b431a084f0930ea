"""What a search for capacity found at a point, from the runs that it made there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from waspbench.experiment import Experiment, Mode
from waspbench.experiment.inputs import Inputs
from waspbench.experiment.metrics import percentiles
from waspbench.experiment.search import Search
from waspbench.experiment.sweep import Point
from waspbench.results.behaviour import asks_for, waits
from waspbench.results.bottleneck import bottleneck_of
from waspbench.results.capacity import SATURATED, Bottleneck, GroupLoad, PointCapacity, with_lines
from waspbench.results.loads import LoadReading, readings_at
from waspbench.runner.load import rate_of, with_load
from waspbench.stats.capacity import Capacity, More
from waspbench.stats.intervals import mean_interval
from waspbench.stats.objective import Crossing, Outcome


def point_capacity(
    point: Point,
    said: Capacity | Crossing | None,
    readings: Sequence[LoadReading],
    search: Search,
    mode: Mode,
    folder: Path,
    *,
    over: bool,
    inputs: Inputs,
) -> PointCapacity:
    """What was found at ``point``: what the search ``said``, None if it is not ``over`` or there is nothing, with what
    the runs below ``folder`` say besides. ``inputs`` are the contents of the files that it names.
    """
    crossing = said if isinstance(said, Crossing) else None
    found = _at(said, readings) if isinstance(said, Crossing) else said
    load = None if found is None else found.load
    at_load = [] if load is None else readings_at(readings, load)
    busy = [reading.server_cpu for reading in at_load if reading.server_cpu is not None]
    cpu = sum(busy) / len(busy) if busy else None
    at_any = crossing is not None and crossing.at_any
    bottleneck, why = bottleneck_of(point.experiment, found, readings, search.find, at_any=at_any, inputs=inputs)
    confirmed = found is not None and found.confirmed
    made = PointCapacity(
        index=point.index,
        varied=point.settings,
        capacity=None if found is None else found.mean if crossing is None else load,
        ci90=None if found is None else found.interval if crossing is None else crossing.interval,
        load=load,
        groups=_groups(point.experiment, load, search, mode),
        outcome=crossing.outcome if crossing is not None else _outcome(found, bottleneck, cpu) if over else None,
        refined=None if crossing is None else crossing.refined,
        more=_more(point, said, readings, search, bottleneck, cpu) if over else None,
        bound=None if found is None or crossing is not None else found.bound,
        again=None if crossing is None else crossing.again,
        server_cpu=cpu,
        saturated=None if cpu is None else cpu >= SATURATED,
        bottleneck=bottleneck,
        why=why,
        confirmed=confirmed,
        valid=bool(at_load) and (confirmed or search.method == "sweep") and all(reading.valid for reading in at_load),
        runs=len(readings),
        readings=list(readings),
    )
    return with_lines(made, folder, percentiles(point.experiment.measure.percentiles))


def _at(crossing: Crossing, readings: Sequence[LoadReading]) -> Capacity | None:
    """What the runs at the largest load that met the objective say of throughput; None if there is no such load."""
    values = [] if crossing.load is None else [each.throughput for each in readings_at(readings, crossing.load)]
    if crossing.load is None or not values:
        return None
    return Capacity(
        load=crossing.load,
        values=values,
        mean=sum(values) / len(values),
        interval=mean_interval(values),
        edge="high" if crossing.outcome == "not reached" else None,
        limit=crossing.limit,
        limited_by=crossing.limited_by,
        confirmed=crossing.confirmed,
        runs=crossing.runs,
        bound=max(values),
        more=None,
    )


def _more(
    point: Point,
    said: Capacity | Crossing | None,
    readings: Sequence[LoadReading],
    search: Search,
    bottleneck: Bottleneck,
    cpu: float | None,
) -> More | None:
    """Where a search that is over may find more."""
    if said is None or (isinstance(said, Crossing) and said.outcome == "none"):
        at_any = said is not None and said.at_any
        return "below" if not at_any and bottleneck != "clients" and _may_be_less(point, readings, search) else None
    if isinstance(said, Crossing):
        return "above" if said.outcome == "not reached" and said.load == search.top else None
    return _more_throughput(said, bottleneck, cpu)


def _more_throughput(found: Capacity, bottleneck: Bottleneck, cpu: float | None) -> More | None:
    """Where there may be more throughput; not above, if the server or the network is at its limit."""
    full = bottleneck == "network" or (cpu or 0.0) >= SATURATED
    return None if found.more == "above" and full else found.more


def _may_be_less(point: Point, readings: Sequence[LoadReading], search: Search) -> bool:
    """Whether the least load that was tried was too much, and there is a lower one."""
    least = min((each.load for each in readings), default=0)
    too_much = any(
        not each.unmade and (each.failed or (each.counts and each.meets is False))
        for each in readings
        if each.load == least
    )
    measured = sum(not group.background for group in point.experiment.clients)
    return too_much and (search.find == "rate" or least > measured)


def _outcome(found: Capacity | None, bottleneck: Bottleneck, cpu: float | None) -> Outcome:
    """How a search for throughput ended."""
    if found is None:
        return "none"
    if bottleneck == "emulator":
        return "emulator"
    return "found" if _more_throughput(found, bottleneck, cpu) is None else "not reached"


def _groups(experiment: Experiment, load: float | None, search: Search, mode: Mode) -> list[GroupLoad]:
    """The groups of clients at a load, and what their clients do."""
    there = experiment if load is None else with_load(experiment, load, search.find)
    return [
        GroupLoad(
            name=group.name,
            load=None if load is None else rate_of(group) or group.count,
            background=group.background,
            asks=asks_for(there, group, mode),
            waits=waits(there, group),
        )
        for group in there.clients
    ]
