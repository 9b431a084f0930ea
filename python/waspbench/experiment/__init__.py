"""The experiment: its declaration, how it is read, and what of it the engine is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waspbench.lazy import attributes

if TYPE_CHECKING:
    from waspbench.experiment.clients import Arrivals, Bandwidth, Clients, Queue
    from waspbench.experiment.http import Http
    from waspbench.experiment.load import apply, parse
    from waspbench.experiment.loss import (
        DirectionsLoss,
        IndependentLoss,
        PeriodicLoss,
        TwoStateLoss,
        Wasp2001Loss,
        loss_label,
    )
    from waspbench.experiment.model import (
        Experiment,
        Measure,
        Mode,
        Network,
        Server,
        ServerModel,
        SharedDirection,
        SharedLink,
    )
    from waspbench.experiment.profiles import PROFILES, Profile
    from waspbench.experiment.resolve import accept, settings_used
    from waspbench.experiment.tcp import Tcp
    from waspbench.experiment.workload import Prowgen, Replay, Single, Surge, Workload, path_of

__all__ = [
    "PROFILES",
    "Arrivals",
    "Bandwidth",
    "Clients",
    "DirectionsLoss",
    "Experiment",
    "Http",
    "IndependentLoss",
    "Measure",
    "Mode",
    "Network",
    "PeriodicLoss",
    "Profile",
    "Prowgen",
    "Queue",
    "Replay",
    "Server",
    "ServerModel",
    "SharedDirection",
    "SharedLink",
    "Single",
    "Surge",
    "Tcp",
    "TwoStateLoss",
    "Wasp2001Loss",
    "Workload",
    "accept",
    "apply",
    "loss_label",
    "parse",
    "path_of",
    "settings_used",
]

_HOMES = {
    "Arrivals": "clients",
    "Bandwidth": "clients",
    "Clients": "clients",
    "DirectionsLoss": "loss",
    "Experiment": "model",
    "Http": "http",
    "IndependentLoss": "loss",
    "Measure": "model",
    "Mode": "model",
    "Network": "model",
    "PROFILES": "profiles",
    "PeriodicLoss": "loss",
    "Profile": "profiles",
    "Prowgen": "workload",
    "Queue": "clients",
    "Replay": "workload",
    "Server": "model",
    "ServerModel": "model",
    "SharedDirection": "model",
    "SharedLink": "model",
    "Single": "workload",
    "Surge": "workload",
    "Tcp": "tcp",
    "TwoStateLoss": "loss",
    "Wasp2001Loss": "loss",
    "Workload": "workload",
    "accept": "resolve",
    "apply": "load",
    "loss_label": "loss",
    "parse": "load",
    "path_of": "workload",
    "settings_used": "resolve",
}

__getattr__, __dir__ = attributes(__name__, _HOMES)
