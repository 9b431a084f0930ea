"""What two results that are compared do not have in common, besides what was to be compared."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from waspbench.experiment.inputs import digests
from waspbench.experiment.load import parse
from waspbench.experiment.model_files import filled_in
from waspbench.experiment.server_model import ServerModel
from waspbench.experiment.server_presets import FLAT
from waspbench.experiment.sweep import factors
from waspbench.experiment.uses import as_document
from waspbench.results.formats import Record
from waspbench.results.store import load_manifest
from waspbench.results.study import StudyPlan, is_study, read_plan
from waspbench.results.wording import queue
from waspbench.tabular import NONE

_IGNORED = ("name", "mode", "sweep", "assert", "capacity", "measure.percentiles")
"""Parts of an experiment that say nothing of what was measured; the mode that was used counts instead."""


_MODEL = "server.model."
"""How the paths of the modelled server begin."""
_PRESET = f"{_MODEL}preset"
_SOURCES = {"server", "server.model", _PRESET, f"{_MODEL}file"}
"""Swept fields that choose a modelled server."""
_OWN, _FILES = "server.model", "server.model.file"
"""Keys of `facts` that no field has: what an experiment itself sets of the modelled server, and its swept files."""


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
        swept = {path for factor in factors(document.get("sweep", {})) for path in factor.paths}
        placed = {"server_cpus": made.server_cpus, "emulator_cpus": made.emulator_cpus}
        traces, files, models = made.traces, made.files, made.models
    else:
        made = load_manifest(directory)
        document, placed, swept = made.experiment, {}, set(made.varied)
        models = made.server.get("files", {}) if made.mode == "sim" else {}
        traces, files = _digests(made.scenario["network"].get("traces", {})), _digests(made.scenario.get("files", {}))
    # Parsed anew, a field that older results do not know has its default in both.
    experiment = parse(document, measured=True)
    asked = as_document(experiment)
    used = {
        path: _with_digest(path, leaf, traces)
        for path, leaf in _leaves("", asked)
        if not (path.startswith((*_IGNORED, _MODEL)) or path.endswith("workload.folder"))
    }
    if made.mode == "sim":
        used |= _model_of(experiment.server.model, models, swept=is_study(directory) and bool(swept & _SOURCES))
    # Results of one experiment that began in different directories are compared by what the files hold.
    used |= _held(files)
    found = {"mode": made.mode, **used, **dict(_leaves("machine", made.machine)), **placed}
    found["versions.waspbench"] = made.versions.get("waspbench")
    return found


def differences(one: Mapping[str, Any], two: Mapping[str, Any], apart: Iterable[str]) -> list[Difference]:
    """Where two results' `facts` differ, the swept fields ``apart`` left out."""
    left_out = tuple(apart)
    one, two = _with_models(one, two, left_out)
    fields = [
        field
        for field in dict.fromkeys([*one, *two])
        if one.get(field) != two.get(field) and not any(_within(field, path) for path in left_out)
    ]
    # The name of a preset tells nothing where all its values are those of the other model.
    if [field for field in fields if field.startswith(_MODEL)] == [_PRESET]:
        fields.remove(_PRESET)
    return [Difference(field=field, a=one.get(field), b=two.get(field)) for field in fields]


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


def _model_of(model: ServerModel, models: Mapping[str, str], *, swept: bool) -> dict[str, Any]:
    """What the modelled server costs, wherever its values are from, and what the experiment itself sets of it. A study
    in which preset or file is ``swept`` has no such values, but several files.
    """
    own = {f"{_MODEL}{field}": value for field, value in model.model_dump(exclude={"preset", "file"}).items()}
    if swept:
        return {_OWN: own, _FILES: _held(digests(models))}
    whole = filled_in(model, models)
    values = {"preset": whole.preset or FLAT, **whole.resolve()}
    return {_OWN: own, **{f"{_MODEL}{field}": value for field, value in values.items()}}


def _with_models(
    one: Mapping[str, Any], two: Mapping[str, Any], apart: Iterable[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two results' `facts` with their modelled servers as they can be compared: not at all if one is live, by their
    values, or where these differ by a swept preset or file, by what the experiments set themselves.
    """
    sides = (one, two)
    simulated = all(_OWN in side for side in sides)
    whole = all(_PRESET in side for side in sides) and not _SOURCES & set(apart)
    files = all(_FILES in side for side in sides)

    def level(side: Mapping[str, Any]) -> dict[str, Any]:
        kept = {field: value for field, value in side.items() if field not in (_OWN, _FILES)}
        if simulated and whole:
            return kept
        kept = {field: value for field, value in kept.items() if not field.startswith(_MODEL)}
        return kept | (side[_OWN] if simulated else {}) | (side[_FILES] if files else {})

    return level(one), level(two)


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
