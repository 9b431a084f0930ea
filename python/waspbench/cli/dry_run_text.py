"""What ``--dry-run`` prints: samples of named requests, the points, and the time that their runs will take."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from waspbench import _core
from waspbench.cli.progress import clock
from waspbench.experiment import Mode, Requests
from waspbench.experiment.resolve import resolve, resolve_asking
from waspbench.experiment.search import Search
from waspbench.experiment.sweep import Point, text_of
from waspbench.experiment.uses import uses
from waspbench.results.answers import sought
from waspbench.results.asking import has_own_workloads, workload_in
from waspbench.results.loads import load_number, load_text
from waspbench.results.workload import workload_lines
from waspbench.runner.capacity_plan import machine_of
from waspbench.runner.lengths import LONGEST
from waspbench.runner.load import with_load
from waspbench.runner.timing import estimate
from waspbench.stats.capacity import CapacitySweep


def experiment(found: Sequence[Point], mode: Mode, jobs: int | None) -> str:
    """That of an experiment."""
    measure = found[0].experiment.measure
    runs = f"{measure.runs} to {measure.until.max_runs}" if measure.until else str(measure.runs)
    total = len(found) * measure.runs
    least = "at least " if measure.open_ended else ""
    about = _about(found, mode, jobs)
    head = f"{_points(found)}, {runs} runs each:"
    return _text(head, found, mode, f"{least}{total} runs, about {about}")


def search(found: Sequence[Point], asked: Search, mode: Mode, jobs: int | None) -> str:
    """That of a search for capacity. In simulation the time of a run follows from its load."""
    low, high = load_number(asked.low), load_text(asked.top, asked.find)
    head = f"{_points(found)}, {sought(asked.find, asked.objectives)}, {low} to {high}:"
    machine = machine_of(asked, found[0].experiment.measure.runs)
    if isinstance(machine, CapacitySweep):
        loads = [_with(point, asked, load) for load in machine.loads() for point in found]
        return _text(head, found, mode, f"{len(found) * machine.most} runs, about {_about(loads, mode, jobs)}")
    about = _about([_with(point, asked, asked.top, machine.most) for point in found], mode, jobs)
    each = f" in all if each had {high}" if mode == "sim" else ""
    runs = f"at most {len(found) * machine.most} runs, about {about}{each}"
    return _text(head, found, mode, f"{runs}; a run that is too short is made again, for up to {clock(LONGEST)}")


def _about(found: Sequence[Point], mode: Mode, jobs: int | None) -> str:
    return clock(max(1.0, estimate(found, mode, jobs)))


def _text(head: str, found: Sequence[Point], mode: Mode, total: str) -> str:
    points = [f"{point.index:>5}  {text_of(point.settings)}" for point in found if point.settings]
    return "\n".join([*_workloads(found, mode), *_requests(found[0], mode), head, *points, total]) + "\n"


def _workloads(found: Sequence[Point], mode: Mode) -> list[str]:
    """Which group asks for what, at the first point, where groups have workloads of their own."""
    first = found[0]
    scenario = resolve_asking(first.experiment, mode)
    if not has_own_workloads(scenario):
        return []
    at = f" at {text_of(first.settings)}" if len(found) > 1 else ""
    return [f"workloads{at}:", *(f"  {line}" for line in workload_lines(scenario, None))]


_SAMPLES = 20
"""Named requests that are shown."""
_SHOWN = 600
"""Characters of a body that are shown."""


def _requests(first: Point, mode: Mode) -> list[str]:
    """The named requests of the first point, as they would be the first ones of the first client of each group."""
    if not any(isinstance(use.workload, Requests) for use in uses(first.experiment)):
        return []
    scenario = resolve(first.experiment, mode=mode)
    groups = zip(scenario["clients"], _core.sample_requests(json.dumps(scenario)), strict=True)
    found = [
        (group["name"], name, content, _captured(workload_in(scenario, group)))
        for group, samples in groups
        for name, content in samples
    ]
    several = len(scenario["clients"]) > 1
    workloads = [workload_in(scenario, group) for group in scenario["clients"]]
    sessions = {workload["order"] == "session" for workload in workloads if workload["kind"] == "requests"}
    lines = [_HEADS[True in sessions, False in sessions]]
    for group, name, content, captured in found[:_SAMPLES]:
        lines += ["", f"  {name} of {group}" if several else f"  {name}"]
        lines += [f"    {line}".rstrip() for line in _sample(content, captured)]
    more = [f"  and {len(found) - _SAMPLES} more", ""] if len(found) > _SAMPLES else []
    return [*lines, "", *more]


_UNKNOWN = "captured values and cookies are not known beforehand:"
_HEADS = {
    (False, True): "requests, each as the first one of a client:",
    (True, False): f"requests, as in the first session of a client; {_UNKNOWN}",
    (True, True): f"requests, each as the first one of a client, or as in its first session; {_UNKNOWN}",
}


def _captured(workload: Mapping[str, Any]) -> list[str]:
    """The placeholders of the values that the sessions of a workload capture."""
    steps = workload.get("requests", ()) if workload.get("order") == "session" else ()
    return [f"{{{name}}}" for step in steps for name in step.get("capture", ())]


def _sample(content: bytes, captured: Sequence[str]) -> list[str]:
    head, _, body = content.decode(errors="replace").partition("\r\n\r\n")
    length = re.search(r"\r\nContent-Length: ([0-9]+)", head)
    if not body and length is not None and int(length[1]) > 0:
        body = f"({int(length[1]):,d} bytes without meaning)"
    unknown = [name for name in captured if name in body]
    if unknown:
        head = re.sub(r"(\r\nContent-Length: )[0-9]+", rf"\1(depends on {', '.join(dict.fromkeys(unknown))})", head)
    cut = body if len(body) <= _SHOWN else f"{body[:_SHOWN]}... ({len(body):,d} characters)"
    return [*head.split("\r\n"), *([""] if cut else []), *cut.splitlines()]


def _points(found: Sequence[Point]) -> str:
    return f"{len(found)} point{'s' if len(found) > 1 else ''}"


def _with(point: Point, asked: Search, load: float, runs: int | None = None) -> Point:
    """A point at a load, and with so many runs."""
    there = with_load(point.experiment, load, asked.find)
    measure = there.measure if runs is None else there.measure.model_copy(update={"runs": runs})
    return replace(point, experiment=there.model_copy(update={"measure": measure}))
