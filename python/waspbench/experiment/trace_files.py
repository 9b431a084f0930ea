"""Files of rate traces: where an experiment names one, what it holds, and whether it is still the same."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from waspbench import _core
from waspbench.errors import InputError
from waspbench.experiment.links import WAYS, Traces
from waspbench.experiment.network import with_directions
from waspbench.experiment.traces import RateTrace

if TYPE_CHECKING:
    from waspbench.experiment.model import Experiment

_MOST = 64 << 20
"""Bytes of a trace; a longer file is taken for a mistake."""


def located(document: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """``document``, which is the content of an experiment file in ``folder``, with the paths of traces as they are from
    the current directory.
    """
    made = dict(document)
    for part in ("clients", "network"):
        if part in made:
            made[part] = _with_paths(made[part], folder)
    if isinstance(made.get("sweep"), dict):
        made["sweep"] = _in_sweep(made["sweep"], folder)
    return made


def _with_paths(value: Any, folder: Path) -> Any:
    if isinstance(value, list):
        return [_with_paths(inner, folder) for inner in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _trace(inner, folder) if key == "trace" else _with_paths(inner, folder) for key, inner in value.items()
    }


def _trace(value: Any, folder: Path) -> Any:
    """What a field ``trace`` holds: a path, a table with one, or one of these for each direction."""
    if isinstance(value, str) and value:
        return os.path.normpath(folder / value)
    if not isinstance(value, dict):
        return value
    return {key: _trace(inner, folder) if key in ("file", *WAYS) else inner for key, inner in value.items()}


def _in_sweep(sweep: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path, values in sweep.items():
        if path == "zip":
            tables = values if isinstance(values, list) else [values]
            found[path] = [_in_sweep(table, folder) if isinstance(table, dict) else table for table in tables]
        elif isinstance(values, list) and _holds_a_path(path):
            found[path] = [_trace(value, folder) for value in values]
        else:
            found[path] = _with_paths(values, folder)
    return found


def _holds_a_path(field: str) -> bool:
    """Whether a swept field is a trace, one of its directions, or the file of one."""
    before, _, last = field.rpartition(".")
    return last == "trace" or (last in ("file", *WAYS) and _holds_a_path(before))


def contents(experiments: Iterable[Experiment], folder: Path | None = None) -> dict[str, str]:
    """The content of every trace of some experiments, by its path, which is relative to ``folder`` (by default the
    current directory).

    Raises:
        InputError: one cannot be read, or is no trace.
    """
    return {path: _read(folder or Path(), path, field) for path, field in _used(experiments).items()}


def digests(traces: Mapping[str, str]) -> dict[str, str]:
    """The SHA-256 of each of these contents, by its path."""
    return {path: _digest(text) for path, text in traces.items()}


def unchanged_contents(experiments: Iterable[Experiment], known: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The same as `contents`, if each content is still the one with the SHA-256 that is ``known`` of its path.

    Raises:
        InputError: one is another, or cannot be read.
    """
    used = _used(experiments)
    found = {path: _read(folder, path, field) for path, field in used.items()}
    for path, text in found.items():
        if _digest(text) != known.get(path, _digest(text)):
            message = (
                f"{path}: the file has changed since these results were begun; the file with the SHA-256 {known[path]} "
                "would be valid, or new results"
            )
            raise InputError.at(used[path], message)
    return found


def contents_for(experiment: Experiment, known: Mapping[str, str] | None) -> dict[str, str]:
    """The contents of an experiment's traces: those that are ``known``, if any are; otherwise they are read.

    Raises:
        InputError: one cannot be read, or is no trace.
    """
    return contents([experiment]) if known is None else {path: known[path] for path in _used([experiment])}


def mean_rate(trace: RateTrace, text: str) -> int:
    """Bits of IP a second that a trace with this content can carry in packets of 1,500 bytes."""
    _, _, mean = _core.trace_facts(text, trace.opportunity, trace.overhead)
    return mean


def described(scenario: dict[str, Any]) -> dict[str, Any]:
    """``scenario`` as results keep it: of each trace its SHA-256, opportunities and length in place of its text, and
    the mean rate of each link that follows one.
    """
    network: dict[str, Any] = scenario["network"]
    texts: Mapping[str, str] = network.get("traces", {})
    if not texts:
        return scenario

    def told(option: Mapping[str, Any] | None) -> dict[str, Any] | None:
        if option is None:
            return None
        _, _, mean = _core.trace_facts(texts[option["file"]], option["opportunity"], option["overhead"])
        return {**option, "mean_bps": mean}

    changed = with_directions(network, lambda link: {**link, "trace": told(link["trace"])})
    groups = [
        {**group, "trace": {way: told(option) for way, option in group["trace"].items()}}
        for group in scenario["clients"]
    ]
    about = {path: _about(text) for path, text in texts.items()}
    return {**scenario, "network": {**changed, "traces": about}, "clients": groups}


def _used(experiments: Iterable[Experiment]) -> dict[str, str]:
    """The paths of the traces of some experiments, each with the first field that asks for it."""
    found: dict[str, str] = {}
    for experiment in experiments:
        for field, trace in _options(experiment):
            found.setdefault(trace.file, field)
    return found


def _options(experiment: Experiment) -> Iterator[tuple[str, RateTrace]]:
    """The traces of links, each with the field that asks for it."""
    for group in experiment.clients:
        ways = group.trace or Traces()
        if ways.up is not None and ways.up == ways.down:
            yield f"{group.path}.trace", ways.up
        else:
            yield from _given((f"{group.path}.trace.up", ways.up), (f"{group.path}.trace.down", ways.down))
    for path, direction in experiment.network.directions():
        yield from _given((experiment.network.written(f"{path}.trace"), direction.trace))


def _given(*options: tuple[str, RateTrace | None]) -> Iterator[tuple[str, RateTrace]]:
    return ((field, trace) for field, trace in options if trace is not None)


def _read(folder: Path, path: str, field: str) -> str:
    """The content of a trace.

    Raises:
        InputError: it cannot be read, or is no trace.
    """
    there = folder / path
    try:
        size, is_file = there.stat().st_size, there.is_file()
        content = there.read_bytes() if is_file and size <= _MOST else b""
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError.at(field, f"{path}: cannot be read: {why}; the path of a rate trace would be valid") from None
    if not is_file:
        raise InputError.at(field, f"{path}: is no regular file; the path of a rate trace would be valid")
    if size > _MOST:
        raise InputError.at(field, f"{path}: has {size:,d} bytes; a rate trace may have at most {_MOST:,d}")
    try:
        text = content.decode("ascii")
        _core.trace_facts(text)
    except UnicodeDecodeError:
        message = "is no rate trace, because it is no text; each line must be a whole number of milliseconds such as 17"
        raise InputError.at(field, f"{path}: {message}") from None
    except ValueError as error:
        raise InputError.at(field, f"{path}: is no rate trace: {error}") from None
    return text


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _about(text: str) -> dict[str, Any]:
    opportunities, milliseconds, _ = _core.trace_facts(text)
    return {"sha256": _digest(text), "opportunities": opportunities, "length": f"{milliseconds}ms"}
