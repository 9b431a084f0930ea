"""What two results that are compared do not have in common, besides what was to be compared."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from waspbench.experiment.load import parse
from waspbench.experiment.uses import as_document
from waspbench.results.formats import Record
from waspbench.results.store import load_manifest
from waspbench.results.study import StudyPlan, is_study, read_plan
from waspbench.results.wording import queue
from waspbench.tabular import NONE

_IGNORED = ("name", "mode", "sweep", "assert", "capacity", "measure.percentiles")
"""Parts of an experiment that say nothing of what was measured; the mode that was used counts instead."""


class Difference(Record):
    """A field in which two results differ."""

    field: str
    """The field: ``mode``, a path in the experiment file, ``machine.cpu``, ``versions.waspbench``..."""
    a: Any
    """Value in A; None if A does not have the field."""
    b: Any
    """Value in B; None if B does not have the field."""


MOST_LISTED = 12
"""Fields that are listed; ``--json`` has all."""


def listed(found: Sequence[Difference]) -> list[str]:
    """Differences in words, a line each."""
    lines = [f"{each.field}: {_text(each.a)} -> {_text(each.b)}" for each in found[:MOST_LISTED]]
    more = len(found) - MOST_LISTED
    return [*lines, f"and {more} more, which --json lists"] if more > 0 else lines


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.6g}"
    return NONE if value is None else str(value)


def facts(directory: str | Path) -> dict[str, Any]:
    """How the results in a directory were made, by path: mode, experiment with its defaults, machine, version.

    Raises:
        InputError: there are no results, or they are not valid or newer than this version.
    """
    if is_study(directory):
        made: Any = read_plan(directory)
        document = made.document
        placed = {"server_cpus": made.server_cpus, "emulator_cpus": made.emulator_cpus}
        traces, files = made.traces, made.files
    else:
        made = load_manifest(directory)
        document, placed = made.experiment, {}
        traces, files = _digests(made.scenario["network"].get("traces", {})), _digests(made.scenario.get("files", {}))
    # Parsed anew, a field that older results do not know has its default in both.
    asked = as_document(parse(document, measured=True))
    used = {
        path: _with_digest(path, leaf, traces)
        for path, leaf in _leaves("", asked)
        if not (path.startswith(_IGNORED) or path.endswith("workload.folder"))
    }
    # Results of one experiment that began in different directories are compared by what the files hold.
    used |= _held(files)
    found = {"mode": made.mode, **used, **dict(_leaves("machine", made.machine)), **placed}
    found["versions.waspbench"] = made.versions.get("waspbench")
    return found


def differences(one: Mapping[str, Any], two: Mapping[str, Any], apart: Iterable[str]) -> list[Difference]:
    """Where two results' `facts` differ, the swept fields ``apart`` left out."""
    left_out = tuple(apart)
    return [
        Difference(field=field, a=one.get(field), b=two.get(field))
        for field in dict.fromkeys([*one, *two])
        if one.get(field) != two.get(field) and not any(_within(field, path) for path in left_out)
    ]


def incomparable(first: str | Path, second: str | Path) -> list[str]:
    """Why the capacities in two directories are not of one kind; empty if they are.

    Raises:
        InputError: there is no valid plan.
    """
    one, two = (_kind(read_plan(directory)) for directory in (first, second))
    return [f"{name}: {one[name]} and {two[name]}" for name in one if one[name] != two[name]]


def _kind(plan: StudyPlan) -> dict[str, str]:
    objectives = sorted(plan.search.get("objectives", []))
    return {
        "they looked for different things": str(plan.search.get("find", "throughput")),
        "methods differ": str(plan.search.get("method")),
        "objectives differ": ", ".join(objectives) or "none",
    }


_QUEUE = re.compile(r"\.queue(\.(up|down))?$")
"""The ends of paths at which a table may be a queue discipline with its options."""


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every value in nested tables by its path; groups of clients by their names."""
    if isinstance(value, Mapping) and "kind" in value and _QUEUE.search(path):
        yield path, queue(value)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}" if path else str(key), inner)
    elif isinstance(value, list) and value and all(isinstance(each, Mapping) and "name" in each for each in value):
        for each in value:
            yield from _leaves(f"{path}.{each['name']}", {key: own for key, own in each.items() if key != "name"})
    else:
        yield path, value


def _held(files: Mapping[str, str]) -> dict[str, str]:
    """What tells files with these SHA-256 from others, by their paths from the folder that all are in."""
    try:
        folder = os.path.commonpath([os.path.dirname(path) for path in files])
    except ValueError:  # there are none, or only some are relative
        folder = ""
    names = {path: os.path.relpath(path, folder) if folder else path for path in files}
    return {f"files.{names[path]}": f"SHA-256 {digest[:12]}" for path, digest in files.items()}


def _digests(about: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    return {path: facts["sha256"] for path, facts in about.items()}


_TRACE = re.compile(r"\.trace(\.(up|down))?\.file$")
"""The ends of paths at which the path of a rate trace stands."""


def _with_digest(path: str, leaf: Any, traces: Mapping[str, str]) -> Any:
    """A value; of the path of a trace the name of the file, and the beginning of the SHA-256 of its content."""
    return f"{PurePath(leaf).name} (SHA-256 {traces[leaf][:12]})" if _TRACE.search(path) and leaf in traces else leaf


def _within(field: str, path: str) -> bool:
    """Whether a swept path sets ``field``: ``clients.rtt`` is that of every group."""
    if field == path or field.startswith(f"{path}."):
        return True
    part, _, rest = field.partition(".")
    return part == "clients" and "." in rest and _within_group(rest.partition(".")[2], path)


def _within_group(field: str, path: str) -> bool:
    group = path.removeprefix("clients.")
    return group != path and (field == group or field.startswith(f"{group}."))
