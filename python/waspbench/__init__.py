"""WASP: Wide-Area Server Performance.

``run`` makes an experiment of one point and returns its `Result`; ``start`` returns a `Handle` to follow and stop it.
``study`` makes one with a sweep, ``capacity`` searches for a server's, ``calibrate`` finds what its work costs, and
``twin`` makes an experiment live and in simulation. ``resume`` makes what is left of any. ``load``, ``load_study``,
``load_capacity``, ``load_calibration`` and ``load_twin`` read what was made before, and ``compare_results`` holds one
against another.
Results have frames (``to_frame``, ``transactions`` and so on) and reports (``report``), and ``plot`` makes figures of
them.

Names are imported when they are first used: a process that needs little, such as the one that keeps a testbed, starts
fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from waspbench.lazy import attributes

if TYPE_CHECKING:
    from waspbench.errors import CannotRunError, InputError, Problem, RunFailedError, WaspError
    from waspbench.experiment import Experiment
    from waspbench.experiment.search import Search
    from waspbench.figures.plots import Plot, plot
    from waspbench.report import Report, report_of
    from waspbench.results import Advice, Estimate, Group, Reason, ResponseTime, Result, RunSummary, load
    from waspbench.results.calibration import CalibratedCost, CalibratedPoint, CalibrationResult, load_calibration
    from waspbench.results.capacity import CapacityResult, PointCapacity, load_capacity
    from waspbench.results.check import Check
    from waspbench.results.comparing import Compared, ComparisonResult, compare_results
    from waspbench.results.loads import Load, LoadReading
    from waspbench.results.named_requests import NamedRequest
    from waspbench.results.sessions import Sessions
    from waspbench.results.study import StudyPoint, StudyResult, load_study
    from waspbench.results.twin_figures import TwinRow
    from waspbench.results.twins import TwinPoint, TwinResult, load_twin
    from waspbench.runner.api import Handle, Progress, resume, run, start
    from waspbench.runner.calibration import calibrate
    from waspbench.runner.capacity import capacity
    from waspbench.runner.pipeline import StudyProgress
    from waspbench.runner.study import study
    from waspbench.runner.twin import twin

__all__ = [
    "Advice",
    "CalibratedCost",
    "CalibratedPoint",
    "CalibrationResult",
    "CannotRunError",
    "CapacityResult",
    "Check",
    "Compared",
    "ComparisonResult",
    "Estimate",
    "Experiment",
    "Group",
    "Handle",
    "InputError",
    "Load",
    "LoadReading",
    "NamedRequest",
    "Plot",
    "PointCapacity",
    "Problem",
    "Progress",
    "Reason",
    "Report",
    "ResponseTime",
    "Result",
    "RunFailedError",
    "RunSummary",
    "Search",
    "Sessions",
    "StudyPoint",
    "StudyProgress",
    "StudyResult",
    "TwinPoint",
    "TwinResult",
    "TwinRow",
    "WaspError",
    "calibrate",
    "capacity",
    "compare_results",
    "load",
    "load_calibration",
    "load_capacity",
    "load_study",
    "load_twin",
    "plot",
    "report_of",
    "resume",
    "run",
    "start",
    "study",
    "twin",
]

_HOMES = {
    "Advice": "results",
    "CalibratedCost": "results.calibration",
    "CalibratedPoint": "results.calibration",
    "TwinPoint": "results.twins",
    "TwinResult": "results.twins",
    "TwinRow": "results.twin_figures",
    "load_twin": "results.twins",
    "twin": "runner.twin",
    "CalibrationResult": "results.calibration",
    "CannotRunError": "errors",
    "CapacityResult": "results.capacity",
    "Check": "results.check",
    "Compared": "results.comparing",
    "ComparisonResult": "results.comparing",
    "Estimate": "results",
    "Experiment": "experiment",
    "Group": "results",
    "Handle": "runner.api",
    "InputError": "errors",
    "Load": "results.loads",
    "LoadReading": "results.loads",
    "NamedRequest": "results.named_requests",
    "Sessions": "results.sessions",
    "Plot": "figures.plots",
    "PointCapacity": "results.capacity",
    "Problem": "errors",
    "Progress": "runner.api",
    "Reason": "results",
    "Report": "report",
    "ResponseTime": "results",
    "Result": "results",
    "RunFailedError": "errors",
    "RunSummary": "results",
    "Search": "experiment.search",
    "StudyPoint": "results.study",
    "StudyProgress": "runner.pipeline",
    "StudyResult": "results.study",
    "WaspError": "errors",
    "calibrate": "runner.calibration",
    "capacity": "runner.capacity",
    "compare_results": "results.comparing",
    "load": "results",
    "load_calibration": "results.calibration",
    "load_capacity": "results.capacity",
    "load_study": "results.study",
    "plot": "figures.plots",
    "report_of": "report",
    "resume": "runner.api",
    "run": "runner.api",
    "start": "runner.api",
    "study": "runner.study",
}

__getattr__, __dir__ = attributes(__name__, _HOMES)
