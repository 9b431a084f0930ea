"""What a client of a group does, in the words of an answer: it asks for ``/``, it waits 5s."""

from __future__ import annotations

from waspbench.experiment.clients import Clients
from waspbench.experiment.delay import ConstantDelay, Delay, ExponentialDelay, NoDelay
from waspbench.experiment.http import Http
from waspbench.experiment.location import Location
from waspbench.experiment.model import Experiment, Mode
from waspbench.experiment.requests import Requests
from waspbench.experiment.units import duration, seconds
from waspbench.experiment.uses import workload_of
from waspbench.experiment.workload import Replay, Single, Surge
from waspbench.results.session_notes import pause_of

_NAMES = 4
"""Names of steps that are told of a session."""


def asks_for(experiment: Experiment, group: Clients, mode: Mode) -> str:
    """What a client asks for and how, such as ``/`` or ``1KiB on a new connection each time``."""
    return f"{_asked(experiment, group, mode)}{_method(group.http)}{_connections(group.http)}"


def _asked(experiment: Experiment, group: Clients, mode: Mode) -> str:
    workload = workload_of(experiment, group)
    if isinstance(workload, Single):
        return _single(experiment, workload, mode)
    if isinstance(workload, Replay):
        return f"what {workload.log} says"
    if isinstance(workload, Requests):
        names = [request.name for request in workload.requests]
        if workload.order == "session":
            return _session(workload, names)
        return names[0] if len(names) == 1 else f"one of {len(names)} named requests"
    return f"{'pages' if isinstance(workload, Surge) else 'files'} of {workload.preset}"


def _session(workload: Requests, names: list[str]) -> str:
    pause = pause_of(workload.options())
    pauses = f" with pauses of {duration(round(pause, 3))}" if pause else ""
    return f"sessions of {', '.join(names) if len(names) <= _NAMES else f'{len(names)} steps'}{pauses}"


def _method(http: Http) -> str:
    if http.method == "GET":
        return ""
    return f" ({http.method})" if http.body is None else f" ({http.method} of {http.body})"


def _connections(http: Http) -> str:
    """How connections are used, where it is not one that is kept."""
    parallel = f" over {http.connections} connections" if http.connections > 1 else ""
    pipeline = f", {http.pipeline} requests at a time" if http.pipeline > 1 else ""
    if http.requests_per_connection is None:
        return f"{parallel}{pipeline}"
    if http.requests_per_connection == 1:
        return f"{parallel} on a new connection each time"
    return f"{parallel}{pipeline}, with {http.requests_per_connection} requests a connection"


def waits(experiment: Experiment, group: Clients) -> str | None:
    """How long a client pauses before it asks again, such as ``5s``; None where it does not, and in an open loop."""
    if group.arrivals is not None:
        return None
    if group.think is not None:
        return _pause(group.think)
    workload = workload_of(experiment, group)
    if isinstance(workload, Surge):
        return f"as {workload.preset} says" if workload.inactive_off is None else _pause(workload.inactive_off)
    if isinstance(workload, Replay) and workload.times:
        return "as the log says"
    return None


def _single(experiment: Experiment, workload: Single, mode: Mode) -> str:
    server = experiment.server
    if workload.files is not None:
        return f"one of {len(workload.files)} files"
    if mode == "live" and server.url is not None:
        return Location.of(server.url).target
    own = server.path if mode == "live" else None
    return own or str(workload.options()["size"])


def _pause(think: Delay) -> str | None:
    if isinstance(think, NoDelay):
        return None
    if isinstance(think, ConstantDelay):
        return think.value if seconds(think.value) > 0 else None
    if isinstance(think, ExponentialDelay):
        return f"{think.mean} on average (exponential)"
    return f"a {think.model} time"
