"""The experiment: its declaration, how it is read, and what of it the engine is told."""

from waspbench.experiment.load import apply, load, parse
from waspbench.experiment.loss import DirectionsLoss, IndependentLoss, TwoStateLoss, Wasp2001Loss, loss_label
from waspbench.experiment.model import (
    Bandwidth,
    Clients,
    Experiment,
    Http,
    Measure,
    Mode,
    Network,
    Queue,
    Server,
    ServerModel,
    SharedDirection,
    SharedLink,
    Workload,
)
from waspbench.experiment.resolve import accept, path_of, resolve, settings_used
from waspbench.experiment.tcp import Tcp

__all__ = [
    "Bandwidth",
    "Clients",
    "DirectionsLoss",
    "Experiment",
    "Http",
    "IndependentLoss",
    "Measure",
    "Mode",
    "Network",
    "Queue",
    "Server",
    "ServerModel",
    "SharedDirection",
    "SharedLink",
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
