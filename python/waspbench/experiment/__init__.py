"""The experiment: its declaration, how it is read, and what of it the engine is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waspbench.lazy import attributes

if TYPE_CHECKING:
    from waspbench.experiment.clients import Arrivals, Clients
    from waspbench.experiment.http import Http
    from waspbench.experiment.impairments import (
        Corrupt,
        Duplicate,
        NormalJitter,
        ParetoJitter,
        Reorder,
        UniformJitter,
    )
    from waspbench.experiment.links import (
        BackboneLink,
        Bandwidth,
        Corrupts,
        Duplicates,
        Jitters,
        LinkDirection,
        NamedLink,
        Queue,
        Reorders,
        SharedLink,
    )
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
        Server,
    )
    from waspbench.experiment.network import Network
    from waspbench.experiment.profiles import PROFILES, Profile
    from waspbench.experiment.queues import Codel, DropTail, FqCodel, Pie, Red
    from waspbench.experiment.requests import Request, Requests
    from waspbench.experiment.resolve import accept, settings_used
    from waspbench.experiment.server_model import ServerModel
    from waspbench.experiment.tcp import Tcp
    from waspbench.experiment.traces import RateTrace
    from waspbench.experiment.workload import Prowgen, Replay, Single, Surge, Workload, path_of

__all__ = [
    "PROFILES",
    "Arrivals",
    "BackboneLink",
    "Bandwidth",
    "Clients",
    "Codel",
    "Corrupt",
    "Corrupts",
    "DirectionsLoss",
    "DropTail",
    "Duplicate",
    "Duplicates",
    "Experiment",
    "FqCodel",
    "Http",
    "IndependentLoss",
    "Jitters",
    "LinkDirection",
    "Measure",
    "Mode",
    "NamedLink",
    "Network",
    "NormalJitter",
    "ParetoJitter",
    "PeriodicLoss",
    "Pie",
    "Profile",
    "Prowgen",
    "Queue",
    "RateTrace",
    "Red",
    "Reorder",
    "Reorders",
    "Replay",
    "Request",
    "Requests",
    "Server",
    "ServerModel",
    "SharedLink",
    "Single",
    "Surge",
    "Tcp",
    "Traces",
    "TwoStateLoss",
    "UniformJitter",
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
    "PROFILES": "profiles",
    "Arrivals": "clients",
    "BackboneLink": "links",
    "Bandwidth": "links",
    "Clients": "clients",
    "Codel": "queues",
    "Corrupt": "impairments",
    "Corrupts": "links",
    "DirectionsLoss": "loss",
    "DropTail": "queues",
    "Duplicate": "impairments",
    "Duplicates": "links",
    "Experiment": "model",
    "FqCodel": "queues",
    "Http": "http",
    "IndependentLoss": "loss",
    "Jitters": "links",
    "LinkDirection": "links",
    "Measure": "model",
    "Mode": "model",
    "NamedLink": "links",
    "Network": "network",
    "NormalJitter": "impairments",
    "ParetoJitter": "impairments",
    "PeriodicLoss": "loss",
    "Pie": "queues",
    "Profile": "profiles",
    "Prowgen": "workload",
    "Queue": "links",
    "RateTrace": "traces",
    "Red": "queues",
    "Reorder": "impairments",
    "Reorders": "links",
    "Replay": "workload",
    "Request": "requests",
    "Requests": "requests",
    "Server": "model",
    "ServerModel": "server_model",
    "SharedLink": "links",
    "Single": "workload",
    "Surge": "workload",
    "Tcp": "tcp",
    "Traces": "links",
    "TwoStateLoss": "loss",
    "UniformJitter": "impairments",
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
