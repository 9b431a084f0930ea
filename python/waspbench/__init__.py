"""WASP: Wide-Area Server Performance.

``run`` makes an experiment and returns its `Result`; ``start`` returns a `Handle` to follow and stop it. Names are
imported when they are first used: a process that needs little, such as the one that keeps a testbed, starts fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from waspbench.errors import CannotRunError, InputError, RunFailedError, WaspError
    from waspbench.experiment import Experiment
    from waspbench.results import Result, load
    from waspbench.session import Handle, Progress, run, start

__all__ = [
    "CannotRunError",
    "Experiment",
    "Handle",
    "InputError",
    "Progress",
    "Result",
    "RunFailedError",
    "WaspError",
    "load",
    "run",
    "start",
]

_HOMES = {
    "CannotRunError": "errors",
    "Experiment": "experiment",
    "Handle": "session",
    "InputError": "errors",
    "Progress": "session",
    "Result": "results",
    "RunFailedError": "errors",
    "WaspError": "errors",
    "load": "results",
    "run": "session",
    "start": "session",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
