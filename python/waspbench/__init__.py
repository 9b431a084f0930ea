"""WASP: Wide-Area Server Performance.

``run`` makes an experiment of one point and returns its `Result`; ``start`` returns a `Handle` to follow and stop it.
``study`` makes one with a sweep, ``resume`` what is left of it, ``capacity`` searches for a server's. Names are
imported when they are first used: a process that needs little, such as the one that keeps a testbed, starts fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from waspbench.lazy import attributes

if TYPE_CHECKING:
    from waspbench.errors import CannotRunError, InputError, RunFailedError, WaspError
    from waspbench.experiment import Experiment
    from waspbench.results import Result, load
    from waspbench.results.capacity import CapacityResult
    from waspbench.results.comparing import ComparisonResult, compare_results
    from waspbench.results.study import StudyResult, load_study
    from waspbench.runner.api import Handle, Progress, resume, run, start
    from waspbench.runner.capacity import capacity
    from waspbench.runner.study import study

__all__ = [
    "CannotRunError",
    "CapacityResult",
    "ComparisonResult",
    "Experiment",
    "Handle",
    "InputError",
    "Progress",
    "Result",
    "RunFailedError",
    "StudyResult",
    "WaspError",
    "capacity",
    "compare_results",
    "load",
    "load_study",
    "resume",
    "run",
    "start",
    "study",
]

_HOMES = {
    "CannotRunError": "errors",
    "CapacityResult": "results.capacity",
    "ComparisonResult": "results.comparing",
    "Experiment": "experiment",
    "Handle": "runner.api",
    "InputError": "errors",
    "Progress": "runner.api",
    "Result": "results",
    "RunFailedError": "errors",
    "StudyResult": "results.study",
    "WaspError": "errors",
    "capacity": "runner.capacity",
    "compare_results": "results.comparing",
    "load": "results",
    "load_study": "results.study",
    "resume": "runner.api",
    "run": "runner.api",
    "start": "runner.api",
    "study": "runner.study",
}

__getattr__, __dir__ = attributes(__name__, _HOMES)
