"""Files of rate traces: where an experiment names one, and what it holds."""

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

MOST = 64 << 20
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


def used(experiments: Iterable[Experiment]) -> dict[str, str]:
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


def text_of(content: bytes, path: str, field: str) -> str:
    """The text of a trace with this content, which ``field`` names.

    Raises:
        InputError: it is no trace.
    """
    try:
        text = content.decode("ascii")
        _core.trace_facts(text)
    except UnicodeDecodeError:
        message = "is no rate trace, because it is no text; each line must be a whole number of milliseconds such as 17"
        raise InputError.at(field, f"{path}: {message}") from None
    except ValueError as error:
        raise InputError.at(field, f"{path}: is no rate trace: {error}") from None
    return text


def _about(text: str) -> dict[str, Any]:
    opportunities, milliseconds, _ = _core.trace_facts(text)
    return {
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "opportunities": opportunities,
        "length": f"{milliseconds}ms",
    }
