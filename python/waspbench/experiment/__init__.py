"""The experiment: its declaration, how it is read, and what of it the engine is told."""

from waspbench.experiment.clients import Arrivals, Bandwidth, Clients, Queue
from waspbench.experiment.http import Http
from waspbench.experiment.load import apply, load, parse
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
from waspbench.experiment.resolve import accept, resolve, settings_used
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
    "load",
    "loss_label",
    "parse",
    "path_of",
    "resolve",
    "settings_used",
]
