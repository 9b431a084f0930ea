"""From a file, a mapping or flags to a valid experiment."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from waspbench.errors import Argument, InputError, show
from waspbench.experiment import impairments, inputs, queues, traces
from waspbench.experiment.clients import DEFAULT_NAME, Clients
from waspbench.experiment.links import WAYS, for_both
from waspbench.experiment.loss import expand_loss
from waspbench.experiment.metrics import flat
from waspbench.experiment.model import MEASURED, Experiment
from waspbench.experiment.network import nodes_written_out
from waspbench.experiment.places import as_written, placed
from waspbench.experiment.problems import problems_of
from waspbench.experiment.workload import start_from_preset
from waspbench.suggestion import hint, spelt_like

_SETTINGS = Argument("settings")

_NUMBERED = re.compile(r"^clients\[([0-9]+)\]\.")
"""How errors name a group that has no name."""


def load(path: str | Path, settings: Iterable[str] = ()) -> Experiment:
    """The experiment in the TOML file at ``path``, with ``settings`` (``path=value``) on top.

    Raises:
        InputError: the file cannot be read, is no TOML, or is no valid experiment.
    """
    return parse(apply(read(path), settings))


def read(path: str | Path) -> dict[str, Any]:
    """The content of the TOML file at ``path``. The paths of files, which are relative to that file, are those from the
    current directory.

    Raises:
        InputError: the file cannot be read or is no TOML.
    """
    try:
        return inputs.located(tomllib.loads(Path(path).read_bytes().decode()), Path(path).parent)
    except OSError as error:
        near = _near(Path(path)) if isinstance(error, FileNotFoundError) else ""
        raise InputError.at(str(path), f"cannot be read: {error.strerror}{near}") from None
    except UnicodeDecodeError:
        raise InputError.at(str(path), "cannot be read: not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        dots = '; a name with a dot may need quotes, as "p99.9" beside p99' if "overwrite" in str(error) else ""
        nodes = (
            "; nodes are a list of names, or a table for each, not both" if "'network', 'nodes'" in str(error) else ""
        )
        raise InputError.at(str(path), f"not valid TOML: {error}{dots}{nodes}") from None


def _near(path: Path) -> str:
    """The file beside one that does not exist which may have been meant, as part of a message."""
    try:
        found = spelt_like(path.stem, [file.stem for file in path.parent.glob("*.toml")])
    except OSError:
        return ""
    return "" if found is None else f"; did you mean {path.with_name(found)}.toml?"


def parse(document: Mapping[str, Any], *, measured: bool = False) -> Experiment:
    """The experiment that ``document`` (the file's content as a mapping) describes. What was ``measured`` already may
    have groups with names that no new one may have.

    Raises:
        InputError: with one problem for each field that is not valid.
    """
    try:
        return Experiment.model_validate(document, context={MEASURED: measured})
    except ValidationError as error:
        problems = problems_of(error, placed(document, DEFAULT_NAME), Experiment)
        raise InputError(as_written(problems, document, DEFAULT_NAME)) from None


def apply(document: Mapping[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """``document`` with each ``path=value`` set. ``clients.rtt`` means all groups; ``clients.homes.rtt`` means one, and
    so does ``clients.2.rtt`` (or ``clients[2].rtt``), which counts from 1.
    """
    changed = copy.deepcopy(dict(document))
    for setting in settings:
        path, separator, value = setting.partition("=")
        if not separator or not all(path.strip().split(".")):
            raise InputError.at(_SETTINGS, "must be path=value, such as clients.rtt=50ms", setting)
        set_path(changed, path.strip(), value_of(value.strip()))
    return changed


def value_of(text: str) -> Any:
    """The value that ``text`` is in TOML, or else the text itself: ``50ms`` needs no quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"] if "\n" not in text else text
    except tomllib.TOMLDecodeError:
        return text


def set_path(document: dict[str, Any], path: str, value: Any, where: str = _SETTINGS) -> None:
    """Sets one field of ``document``, in place, making the tables on the way to it. Errors name ``where``.

    Raises:
        InputError: something on the way is no table, or names no group.
    """
    steps = _NUMBERED.sub(r"clients.\1.", path).split(".")
    _start_workload(document, steps)
    if steps[0] == "assert" and len(steps) > 1:
        table = document.get("assert", {})
        document["assert"] = {**(flat(table) if isinstance(table, Mapping) else {}), ".".join(steps[1:]): value}
    elif steps[0] == "clients" and len(steps) > 1:
        for group, rest in _groups(document, steps[1:], where):
            _start_workload(group, rest)
            above = ["clients", *([group["name"]] if "name" in group else [])]
            _set_in(group, rest, value, path, where, above)
    else:
        _set_in(document, steps, value, path, where)


def _start_workload(table: dict[str, Any], steps: list[str]) -> None:
    """Starts from the preset where ``steps`` lead to a field within a table of the workload of ``table``."""
    if steps[0] == "workload" and len(steps) > 2 and isinstance(workload := table.get("workload"), dict):
        start_from_preset(workload, steps[1])


def with_name(document: Mapping[str, Any], path: str) -> str:
    """``path`` with the name of a group in place of its number."""
    first, *rest = _NUMBERED.sub(r"clients.\1.", path).split(".")
    groups = document.get("clients")
    if first != "clients" or not rest or not isinstance(groups, list) or _named(groups, rest[0]):
        return path
    numbered = _numbered(groups, rest[0])
    return ".".join([first, _name(numbered[0]), *rest[1:]]) if numbered else path


def _name(group: Mapping[str, Any]) -> str:
    return str(group.get("name", DEFAULT_NAME))


def _named(groups: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [group for group in groups if group.get("name", DEFAULT_NAME) == name]


def _groups(document: dict[str, Any], steps: list[str], where: str) -> list[tuple[dict[str, Any], list[str]]]:
    """The groups that a path means, each with the rest of the path."""
    groups = document.get("clients")
    if not isinstance(groups, list) or not groups or not all(isinstance(group, dict) for group in groups):
        raise InputError.at(where, "there are no [[clients]] to set this for", ".".join(["clients", *steps]))
    named = _named(groups, steps[0]) or _numbered(groups, steps[0])
    if named:
        if len(steps) == 1:
            raise InputError.at(where, "names a group; name one of its fields too", ".".join(["clients", *steps]))
        return [(group, steps[1:]) for group in named]
    if steps[0] not in Clients.model_fields and len(steps) > 1:
        valid = [*map(_name, groups), *Clients.model_fields]
        message = f"neither a group nor a field of one; {hint(steps[0], valid)}valid here: {', '.join(valid)}"
        raise InputError.at(f"clients.{steps[0]}", message)
    return [(group, steps) for group in groups]


def _numbered(tables: list[dict[str, Any]], step: str) -> list[dict[str, Any]]:
    """The table that ``step`` counts, from 1; nothing if it counts none."""
    number = int(step) if step.isascii() and step.isdecimal() else 0
    return tables[number - 1 : number] if number else []


def _set_in(
    table: dict[str, Any], steps: list[str], value: Any, path: str, where: str, above: Sequence[str] = ()
) -> None:
    """Sets a field below ``table``, which stands at ``above`` in the document."""
    for index, step in enumerate(steps[:-1]):
        here = [*above, *steps[: index + 1]]
        found = table.get(step, {})
        if step == "requests" and isinstance(found, list):
            request = _request(found, [*here, steps[index + 1]], where)
            if index + 2 == len(steps):
                raise InputError.at(where, "names a request; name one of its fields too", path)
            return _set_in(request, steps[index + 2 :], value, path, where, [*here, steps[index + 1]])
        inner = _opened(steps, index, found)
        if not isinstance(inner, dict):
            raise InputError.at(where, f"{'.'.join(here)} is not a table but {show(inner)}", path)
        table[step] = inner
        table = inner
    table[steps[-1]] = value
    return None


def _request(requests: list[Any], steps: list[str], where: str) -> dict[str, Any]:
    """The named request of a workload that the last of ``steps`` means: by its name, or by its number from 1."""
    tables = [request for request in requests if isinstance(request, dict)]
    named = [request for request in tables if request.get("name") == steps[-1]] or _numbered(tables, steps[-1])
    if not named:
        names = [str(request.get("name")) for request in tables]
        message = f"no request is called {steps[-1]}; {hint(steps[-1], names)}valid here: {', '.join(names)}"
        raise InputError.at(where, message, ".".join(steps))
    return named[0]


_WRITTEN_OUT: dict[str, Callable[[Any], Any]] = {
    **{option: partial(impairments.written_out, option) for option in impairments.SHORT},
    "queue": queues.written_out,
    "trace": traces.written_out,
}
"""What makes a table of the short form of an option of links, by its name."""


def _opened(steps: list[str], index: int, value: Any) -> Any:
    """The value at a step of a path, as a table in which the next step may be set: short forms written out."""
    if steps[index] == "nodes":
        return nodes_written_out(value)
    option = steps[index - 1] if index and steps[index] in WAYS else steps[index]
    if option == "loss":
        return expand_loss(value)
    if option not in _WRITTEN_OUT:
        return value
    if option == steps[index] and steps[index + 1] in WAYS and value:
        return for_both(value)
    return _WRITTEN_OUT[option](value)
