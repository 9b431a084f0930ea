"""The plan of a search for capacity: what is looked for, checked at every point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from waspbench.errors import Argument, InputError, Problem
from waspbench.experiment import Experiment, Mode, accept
from waspbench.experiment.conditions import objective
from waspbench.experiment.model import known_in
from waspbench.experiment.search import Find, Search
from waspbench.experiment.sweep import Point
from waspbench.experiment.units import AUTO
from waspbench.results.study import StudyPlan
from waspbench.runner.load import with_load
from waspbench.runner.study import prepare
from waspbench.stats.capacity import BoundsError, CapacitySearch, CapacitySweep
from waspbench.stats.objective import ObjectiveSearch

Machine = CapacitySearch | CapacitySweep | ObjectiveSearch
"""What says which load is next."""


def prepare_capacity(
    document: Mapping[str, Any],
    directory: Path | None,
    search: Search,
    *,
    mode: Mode | None = None,
    server_cpus: str | None = None,
    emulator_cpus: str | None = None,
) -> tuple[StudyPlan, list[Point]]:
    """The plan of a search at every point of an experiment; nothing is written. For the errors see
    `waspbench.runner.study.prepare`.
    """
    plan, found = prepare(document, directory, mode=mode, server_cpus=server_cpus, emulator_cpus=emulator_cpus)
    objectives = _checked(search, found)
    for point in found:
        for load in (search.low, most_of(search, point.experiment)):
            _check_load(with_load(point.experiment, load, search.find), load, search, plan.mode)
    asked = {**vars(search), "high": search.top, "objectives": objectives}
    return plan.model_copy(update={"kind": "capacity", "search": asked}), found


def _checked(search: Search, found: Sequence[Point]) -> list[str]:
    """The objectives of a search, which can be made at every point.

    Raises:
        InputError: it cannot.
    """
    objectives: list[str] = []
    for point in found:
        known = known_in(point.experiment)
        found_here = [objective(text, Argument("search.objectives"), known) for text in search.objectives]
        objectives = [each.text for each in found_here]
        for each in found_here if search.find != "throughput" else ():
            if not each.upper:
                message = "must be an upper limit, such as p99 < 1s: the search is for where it ceases to be met"
                raise InputError.at(Argument("search.objectives"), message, each.text)
    if search.find != "throughput":
        if not objectives:
            message = f'missing; {_WHAT[search.find]} under an objective, such as "p99 < 1s"'
            raise InputError.at(Argument("search.objectives"), message)
        if search.method == "sweep":
            message = f"a sweep looks for the largest throughput, and not for {search.find}"
            raise InputError.at(Argument("search.method"), message)
    _check_varied(search, found)
    _check_bounds(search, found)
    _check_least(search)
    return objectives


def _check_least(search: Search) -> None:
    """Makes sure that a search can tell whether it finds enough."""
    if search.at_least is None:
        return
    least = Argument("search.at_least")
    if search.method == "sweep":
        message = "a sweep confirms nothing, and the largest of several means is too high on average; leave one out"
        raise InputError.at(least, message, search.at_least)
    if search.find != "throughput" and search.at_least > search.top:
        message = f"must be at most {said(search.top, search)}, the most that are tried"
        raise InputError.at(least, message, said(search.at_least, search))
    if search.find == "throughput" and search.confirm < 2:
        message = "must be at least 2 where throughput is to be at least so much: one run has no interval"
        raise InputError.at(Argument("search.confirm"), message, search.confirm)


_WHAT: dict[Find, str] = {
    "throughput": "",
    "clients": "the most clients are found",
    "rate": "the highest rate is found",
}


def _check_varied(search: Search, found: Sequence[Point]) -> None:
    """Makes sure that nothing else varies what the search does, or how long runs are."""
    last = "arrivals.rate" if search.find == "rate" else "count"
    for path in found[0].settings:
        if path.startswith("clients") and path.endswith(f".{last}"):
            raise InputError.at(f"sweep.{path}", "is what a search for capacity varies; leave it out")
    measure = found[0].experiment.measure
    automatic = [(name, getattr(measure, name) == AUTO) for name in ("warmup", "duration")]
    for name, used in (*automatic, ("until", measure.until is not None)):
        if used:
            raise InputError.at(f"measure.{name}", "a search for capacity does not follow it; leave it out or set it")
    for group in (group for point in found for group in point.experiment.clients if not group.background):
        if search.find == "rate" and group.arrivals is None:
            message = (
                'missing; a search for a rate scales the rates of all groups that are no background, such as "10/s"'
            )
            raise InputError.at(f"{group.path}.arrivals", message)
        if search.find != "rate" and group.arrivals is not None:
            message = "an open loop's rate does not follow the number of clients; a search for a rate varies it"
            raise InputError.at(f"{group.path}.arrivals", message)


def _check_bounds(search: Search, found: Sequence[Point]) -> None:
    for name, value in (("low", search.low), ("high", search.top)):
        if search.find == "rate":
            if not 0 < value < float("inf"):
                message = "must be a number of arrivals a second"
                raise InputError.at(Argument(f"search.{name}"), message, said(value, search))
        elif not isinstance(value, int) or isinstance(value, bool):
            raise InputError.at(Argument(f"search.{name}"), "must be a whole number of clients", value)
    groups = max(sum(not group.background for group in point.experiment.clients) for point in found)
    if search.find != "rate" and search.low < groups:
        message = f"must be at least {groups}, one client for each group"
        raise InputError.at(Argument("search.low"), message, search.low)


def machine_of(search: Search, runs: int) -> Machine:
    """The state machine that says what to run.

    Raises:
        InputError: its bounds are not valid.
    """
    low, high, most, confirm = search.low, search.top, search.most, search.confirm
    try:
        if search.find == "rate":
            return ObjectiveSearch(float(low), float(high), most, confirm, whole=False)
        if search.find == "clients":
            return ObjectiveSearch(int(low), int(high), most, confirm)
        if search.method == "sweep":
            return CapacitySweep(int(low), int(high), runs)
        return CapacitySearch(int(low), int(high), most, confirm)
    except BoundsError as error:
        is_load = error.field in ("low", "high")
        value = said(error.value, search) if is_load else error.value
        raise InputError.at(Argument(f"search.{error.field}"), error.message, value) from None


def search_of(plan: StudyPlan) -> Search:
    """What the plan of a search looks for, and how."""
    asked = dict(plan.search)
    return Search(**{**asked, "objectives": tuple(asked["objectives"])})


def most_of(search: Search, experiment: Experiment) -> float:
    """The most load that a search can ask for."""
    machine = machine_of(search, experiment.measure.runs)
    return machine.loads()[-1] if isinstance(machine, CapacitySweep) else machine.high


def said(load: float, search: Search) -> float | str:
    """A load as errors show it: a rate with its unit."""
    return f"{load:.10g}/s" if search.find == "rate" else load


def _check_load(experiment: Experiment, load: float, search: Search, mode: str) -> None:
    try:
        accept(experiment, "live" if mode == "live" else "sim")
    except InputError as error:
        bound = Argument("search.low" if load == search.low else "search.high")
        raise InputError(Problem(bound, str(problem), said(load, search), True) for problem in error.problems) from None
