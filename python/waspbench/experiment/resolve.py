"""From the experiment to what the engine takes for one run: defaults filled in, rates turned into chains."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from typing import Any

from waspbench import _core
from waspbench.errors import InputError
from waspbench.experiment.inputs import Inputs, of_one
from waspbench.experiment.location import Location
from waspbench.experiment.model import Experiment, Mode, Server
from waspbench.experiment.model_files import filled_in
from waspbench.experiment.request_files import encoded
from waspbench.experiment.server_presets import FLAT
from waspbench.experiment.sweep import text_of
from waspbench.experiment.units import AUTO
from waspbench.experiment.workload import Workload

SERVER_PORT = 80
"""The port of a server that the run starts, and of a modelled one."""

FIRST_WARMUP = "5s"
"""The warm-up with which the search for one begins."""
FIRST_DURATION = "10s"
"""The measured interval with which the search for one begins."""


def resolve(experiment: Experiment, run: int = 0, *, mode: Mode, inputs: Inputs | None = None) -> dict[str, Any]:
    """The engine's scenario for run number ``run`` (from 0). Parts without effect in ``mode`` are left out. ``inputs``
    are the contents of the files that the experiment names; without them the files are read.

    Raises:
        InputError: a file cannot be read, or the name in the server's URL is not known.
    """
    known = of_one(experiment, inputs)
    server = address_of(experiment, mode)
    server |= {} if experiment.server.at is None else {"at": experiment.server.at}
    server |= (
        modelled_server(experiment, known.models) if mode == "sim" else {"congestion": experiment.server.congestion}
    )
    return {
        "seed": experiment.seed,
        "run": run,
        "mode": mode,
        "server": server,
        "network": {
            **experiment.network.resolve(),
            "traces": known.traces,
        },
        **resolve_asking(experiment, mode),
        **({"files": encoded(known.files)} if known.files else {}),
        "measure": {
            "warmup": warmup_of(experiment),
            "duration": duration_of(experiment),
            "max_errors": experiment.measure.max_errors,
        },
    }


def accept(
    experiment: Experiment,
    mode: Mode,
    settings: Mapping[str, Any] | None = None,
    inputs: Inputs | None = None,
) -> None:
    """Lets the engine check the scenario. ``settings`` are those of its point in a sweep, which an error tells, and
    ``inputs`` are as in `resolve`.

    Raises:
        InputError: the engine cannot run it.
    """
    try:
        _core.check_scenario(json.dumps(resolve(experiment, 0, mode=mode, inputs=inputs)))
    except _core.ScenarioError as error:
        # A group without a name has that of the table.
        where = experiment.network.written(error.field.replace("clients.clients.", "clients.", 1))
        at = f" (at {text_of(settings)})" if settings else ""
        at += _origin_of(experiment, where)
        raise InputError.at(where, f"{error.message}{at}") from None


def _origin_of(experiment: Experiment, field: str) -> str:
    """Where values of the modelled server are from that do not stand in the experiment, in words."""
    model = experiment.server.model
    if not field.startswith("server.model.") or (model.preset is None and model.file is None):
        return ""
    return f" (preset {model.preset})" if model.file is None else f" (the model is from {model.file})"


def warmup_of(experiment: Experiment) -> str:
    """The warm-up; where it is to be found, the first that is tried."""
    warmup = experiment.measure.warmup
    return FIRST_WARMUP if warmup == AUTO else warmup


def duration_of(experiment: Experiment) -> str:
    """The length of the measured interval; where it is to be found, the first that is tried."""
    duration = experiment.measure.duration
    return FIRST_DURATION if duration == AUTO else duration


def address_of(experiment: Experiment, mode: Mode) -> dict[str, Any]:
    """Where the clients find the server, as the engine takes it.

    Raises:
        InputError: the name in its URL is not known.
    """
    if mode == "sim" or experiment.server.url is None:
        first = ipaddress.IPv4Network(experiment.network.prefix)[1]
        return {"address": str(first), "port": SERVER_PORT}
    there = Location.of(experiment.server.url)
    try:
        return {"address": there.address(), "port": there.port, "host": there.authority}
    except OSError as error:
        raise InputError.at(
            "server.url", f"{there.host} is not known: {error.strerror}", experiment.server.url
        ) from None


def modelled_server(experiment: Experiment, models: Mapping[str, str]) -> dict[str, Any]:
    """The model and the TCP of the server of a simulation, as the engine takes them. ``models`` are the texts of model
    files by their paths.
    """
    model = filled_in(experiment.server.model, models)
    return {"model": model.resolve(), "tcp": experiment.server.tcp.resolve()}


def about_modelled(experiment: Experiment, server: Mapping[str, Any], models: Mapping[str, str]) -> dict[str, Any]:
    """What results say of the server of a simulation, of which the engine was told ``server``. ``models`` are as in
    `modelled_server`; that of the experiment is among the files.
    """
    model = experiment.server.model
    about = {"name": "modelled server", "tcp": server["tcp"]}
    if model.file is None:
        return about | {"model": {"preset": model.preset or FLAT, **server["model"]}}
    return about | {"model": {"file": model.file, **server["model"]}, "files": {model.file: models[model.file]}}


def resolve_asking(experiment: Experiment, mode: Mode) -> dict[str, Any]:
    """Who asks for what, as the engine takes it: the workload that groups share, if any do, and the groups."""
    groups = [(group.resolve(), group.workload) for group in experiment.clients]
    server = experiment.server
    shared = any(own is None for _, own in groups)
    return {
        **({"workload": resolve_workload(experiment.workload, server, mode)} if shared else {}),
        "clients": [
            told if own is None else {**told, "workload": resolve_workload(own, server, mode)} for told, own in groups
        ],
    }


def resolve_workload(workload: Workload, server: Server, mode: Mode) -> dict[str, Any]:
    """What clients ask for before ``server``, as the engine takes it."""
    options = workload.options()
    own = Location.of(server.url).target if server.url is not None else server.path
    one = workload.kind == "single" and workload.files is None
    if mode == "live" and own is not None and one:
        options["path"] = own
    return options


def settings_used(mode: Mode, server: Server) -> dict[str, list[str]]:
    """Which parts of ``[server]`` a run in ``mode`` used, and which it did not."""
    live, sim = ["kind", *server.own, "congestion", "sysctl", "ready_timeout"], ["tcp", "model"]
    return {"used": live, "unused": sim} if mode == "live" else {"used": sim, "unused": live}
