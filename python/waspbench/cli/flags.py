"""Flags of ``wasp bench``: each stands for a field of the experiment file, whose documentation is its help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer
from pydantic import BaseModel

from waspbench.errors import InputError, Problem
from waspbench.experiment import Arrivals, Clients, Experiment, Http, Measure, Replay, Server, Single, Surge, Tcp, parse
from waspbench.experiment.load import set_path, value_of
from waspbench.experiment.model import Mode, Until
from waspbench.session import check

LOSS_FLAGS = ("loss", "loss_up", "loss_down", "loss_model", "burst")

PATHS: dict[str, tuple[str, ...]] = {
    "mode": ("mode",),
    "seed": ("seed",),
    "server": ("server.kind",),
    "mpm": ("server.mpm",),
    "command": ("server.command",),
    "path": ("server.path",),
    "url": ("server.url",),
    "access_log": ("server.access_log",),
    "congestion": ("server.congestion",),
    "file_size": ("workload.size",),
    "workload": ("workload.kind",),
    "preset": ("workload.preset",),
    "log": ("workload.log",),
    "profile": ("clients.profile",),
    "clients": ("clients.count",),
    "rtt": ("clients.rtt",),
    "down": ("clients.bandwidth.down",),
    "up": ("clients.bandwidth.up",),
    "queue": ("clients.queue.up", "clients.queue.down"),
    "mss": ("clients.tcp.mss",),
    "tcp": ("clients.tcp.preset", "server.tcp.preset"),
    "requests_per_connection": ("clients.http.requests_per_connection",),
    "http_version": ("clients.http.version",),
    "connections": ("clients.http.connections",),
    "pipeline": ("clients.http.pipeline",),
    "method": ("clients.http.method",),
    "think": ("clients.think",),
    "rate": ("clients.arrivals.rate",),
    "arrivals": ("clients.arrivals.model",),
    "outstanding": ("clients.arrivals.outstanding",),
    "timeout": ("clients.http.timeout",),
    "warmup": ("measure.warmup",),
    "duration": ("measure.duration",),
    "runs": ("measure.runs",),
    "until": ("measure.until.ci",),
    "max_runs": ("measure.until.max_runs",),
    "max_errors": ("measure.max_errors",),
}
"""Each flag, as the name of its parameter, and the fields that it sets."""

AS_GIVEN = ("command", "path", "url", "access_log", "log", "http_version", "profile")
"""Parameters that are the value as they are: a text, whatever it looks like in TOML, or True for a flag without one."""

_MODELS: dict[str, tuple[type[BaseModel], ...]] = {
    "": (Experiment,),
    "server": (Server,),
    "workload": (Single, Surge, Replay),
    "clients": (Clients,),
    "clients.tcp": (Tcp,),
    "clients.http": (Http,),
    "clients.arrivals": (Arrivals,),
    "measure": (Measure,),
    "measure.until": (Until,),
}


def flag(parameter: str) -> str:
    """The flag of a parameter: ``--file-size`` of ``file_size``. The URL is the one argument."""
    return "URL" if parameter == "url" else "--" + parameter.replace("_", "-")


def option(parameter: str, metavar: str | None, text: str = "") -> Any:
    """The option of a parameter. Its help is ``text``, or else the documentation of the field that it sets."""
    return typer.Option(
        flag(parameter), metavar=metavar, help=text or _documentation(PATHS[parameter][0]), show_default=False
    )


def _documentation(path: str) -> str:
    table, _, name = path.rpartition(".")
    field = next(model.model_fields[name] for model in _MODELS[table] if name in model.model_fields)
    default = "" if field.is_required() or field.default is None else f" [default: {field.default}]"
    return f"{field.description}{default}"


def experiment(document: Mapping[str, Any], values: Mapping[str, Any]) -> Experiment:
    """The experiment in a `document` made from ``values``.

    Raises:
        InputError: its problems name flags.
    """
    try:
        return check(parse(document))
    except InputError as error:
        raise InputError(named(error.problems, values)) from None


def document(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The content of an experiment file that says what the flags say; ``values`` has what was given, or None, for
    each parameter.

    Raises:
        InputError: flags contradict each other.
    """
    made: dict[str, Any] = {"name": name, "clients": [{}]}
    for parameter, paths in PATHS.items():
        if values.get(parameter) is not None:
            for path in paths:
                text = values[parameter]
                set_path(made, path, text if parameter in AS_GIVEN else value_of(text))
    for kind in ("command", "url"):
        if values.get(kind) is not None and values.get("server") is None:
            set_path(made, "server.kind", kind)
    loss = _loss({name: values.get(name) for name in LOSS_FLAGS})
    if loss is not None:
        set_path(made, "clients.loss", loss)
    return made


def check_effects(mode: Mode, values: Mapping[str, Any]) -> None:
    """Refuses flags that a run in ``mode`` would not obey.

    Raises:
        InputError: there is one.
    """
    if mode == "live":
        return
    if values["congestion"] is not None:
        message = "sets the server's kernel in a live run; --tcp chooses the TCP of a modelled server"
        raise InputError.at("--congestion", message, values["congestion"])
    for parameter in ("mpm", "command", "path", "url", "access_log"):
        if values[parameter] is not None:
            message = "is for the server of a live run, in whose place a simulation has a modelled one"
            raise InputError.at(flag(parameter), message, values[parameter])


def _loss(values: Mapping[str, str | None]) -> dict[str, Any] | None:
    """The loss table, in the shortest form that says what the flags say."""
    rates = {name: values[name] for name in ("loss", "loss_up", "loss_down")}
    shape = {
        field: value_of(text)
        for field, text in (("model", values["loss_model"]), ("burst", values["burst"]))
        if text is not None
    }
    if all(rate is None for rate in rates.values()):
        for name in ("loss_model", "burst"):
            if values[name] is not None:
                raise InputError.at(flag(name), "has no effect without --loss, --loss-up or --loss-down", values[name])
        return None
    if rates["loss_up"] is None and rates["loss_down"] is None:
        return {**shape, "rate": value_of(str(rates["loss"]))}
    if all(rate is not None for rate in rates.values()):
        raise InputError.at("--loss", "has no effect beside --loss-up and --loss-down", rates["loss"])
    sides = {way: rates[f"loss_{way}"] or rates["loss"] for way in ("up", "down")}
    return {way: {**shape, "rate": value_of(rate)} for way, rate in sides.items() if rate is not None}


def named(problems: tuple[Problem, ...], values: Mapping[str, Any]) -> list[Problem]:
    """The problems with flags in place of fields, one for each flag."""
    flags = {path: flag(parameter) for parameter, paths in PATHS.items() for path in paths}
    flags |= {"clients.loss.rate": "--loss", "clients": "--clients", "clients.arrivals": "--rate"}
    flags |= {"clients.think.value": "--think"}
    for way in ("up", "down"):
        flags[f"clients.loss.{way}.rate"] = flag(f"loss_{way}" if values.get(f"loss_{way}") is not None else "loss")
    for prefix in ("clients.loss", "clients.loss.up", "clients.loss.down"):
        flags |= {f"{prefix}.burst": "--burst", f"{prefix}.model": "--loss-model"}
    found: dict[str, Problem] = {}
    for problem in problems:
        where = flags.get(problem.where, problem.where)
        found.setdefault(where, Problem(where, problem.message, problem.value, problem.has_value))
    return list(found.values())
