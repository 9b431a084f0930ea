"""From a file, a mapping or flags to a valid experiment."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from waspbench.errors import Argument, InputError, show
from waspbench.experiment.clients import Clients
from waspbench.experiment.loss import expand_loss
from waspbench.experiment.metrics import flat
from waspbench.experiment.model import MEASURED, Experiment
from waspbench.experiment.problems import problems_of
from waspbench.experiment.workload import start_from_preset

_SETTINGS = Argument("settings")


def load(path: str | Path, settings: Iterable[str] = ()) -> Experiment:
    """The experiment in the TOML file at ``path``, with ``settings`` (``path=value``) on top.

    Raises:
        InputError: the file cannot be read, is no TOML, or is no valid experiment.
    """
    return parse(apply(read(path), settings))


def read(path: str | Path) -> dict[str, Any]:
    """The content of the TOML file at ``path``.

    Raises:
        InputError: the file cannot be read or is no TOML.
    """
    try:
        return tomllib.loads(Path(path).read_bytes().decode())
    except OSError as error:
        raise InputError.at(str(path), f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError.at(str(path), "cannot be read: not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        dots = '; a name with a dot may need quotes, as "p99.9" beside p99' if "overwrite" in str(error) else ""
        raise InputError.at(str(path), f"not valid TOML: {error}{dots}") from None


def parse(document: Mapping[str, Any], *, measured: bool = False) -> Experiment:
    """The experiment that ``document`` (the file's content as a mapping) describes. What was ``measured`` already may
    have groups with names that no new one may have.

    Raises:
        InputError: with one problem for each field that is not valid.
    """
    try:
        return Experiment.model_validate(document, context={MEASURED: measured})
    except ValidationError as error:
        raise InputError(problems_of(error, document, Experiment)) from None


def apply(document: Mapping[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """``document`` with each ``path=value`` set. ``clients.rtt`` means all groups, ``clients.homes.rtt`` one."""
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
    steps = path.split(".")
    if steps[0] == "workload" and len(steps) > 2 and isinstance(workload := document.get("workload"), dict):
        start_from_preset(workload, steps[1])
    if steps[0] == "assert" and len(steps) > 1:
        table = document.get("assert", {})
        document["assert"] = {**(flat(table) if isinstance(table, Mapping) else {}), ".".join(steps[1:]): value}
    elif steps[0] == "clients" and len(steps) > 1:
        for group, rest in _groups(document, steps[1:], where):
            _set_in(group, rest, value, path, where)
    else:
        _set_in(document, steps, value, path, where)


def _groups(document: dict[str, Any], steps: list[str], where: str) -> list[tuple[dict[str, Any], list[str]]]:
    """The groups that a path means, each with the rest of the path."""
    groups = document.get("clients")
    if not isinstance(groups, list) or not groups or not all(isinstance(group, dict) for group in groups):
        raise InputError.at(where, "there are no [[clients]] to set this for", ".".join(["clients", *steps]))
    named = [group for group in groups if group.get("name") == steps[0]]
    if named:
        if len(steps) == 1:
            raise InputError.at(where, "names a group; name one of its fields too", ".".join(["clients", *steps]))
        return [(group, steps[1:]) for group in named]
    if steps[0] not in Clients.model_fields and len(steps) > 1:
        names = [str(group.get("name", "clients")) for group in groups]
        valid = ", ".join([*names, *Clients.model_fields])
        raise InputError.at(f"clients.{steps[0]}", f"neither a group nor a field of one; valid here: {valid}")
    return [(group, steps) for group in groups]


def _set_in(table: dict[str, Any], steps: list[str], value: Any, path: str, where: str) -> None:
    for index, step in enumerate(steps[:-1]):
        inner = table.get(step, {})
        if step == "loss" or (index and steps[index - 1] == "loss" and step in ("up", "down")):
            inner = expand_loss(inner)
        if not isinstance(inner, dict):
            raise InputError.at(where, f"{'.'.join(steps[: index + 1])} is not a table but {show(inner)}", path)
        table[step] = inner
        table = inner
    table[steps[-1]] = value
