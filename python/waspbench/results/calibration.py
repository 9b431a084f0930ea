"""What a calibration found: ``DIR/calibration.json``, beside the results of its runs and the model file.

DIR/study.json               what is to be done
DIR/full-load, DIR/part-load the runs of the two stages, each a directory of results like any other
DIR/model.json               the model that a simulation reads (``server.model.file``)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from waspbench.errors import InputError
from waspbench.experiment import Mode
from waspbench.results.formats import FORMAT, Record, read_document
from waspbench.results.shown import AtAGlance
from waspbench.results.study import check_kind, is_study
from waspbench.tabular import Column, Figures, Listing, decimals, percent

if TYPE_CHECKING:
    import polars as pl

CALIBRATION: Final = "calibration.json"
MODEL: Final = "model.json"
"""Names of the files in the directory of a calibration."""


class CalibratedCost(Record):
    """What one piece of work costs."""

    work: str
    """Kind of work: connections, requests, kib, frames, segments, received, interrupts, wakeups, doublings or
    seconds."""
    counted: str
    """What was counted, in words."""
    fields: list[str]
    """Fields of server.model that have this cost. The cost of a second is spread over the milliseconds of per_tick."""
    us: float
    """Cost in microseconds."""
    ci90: tuple[float, float]
    """90 % confidence interval of the cost. Its lower end is not below zero."""
    may_be_zero: bool
    """Whether the interval contains zero, so that the work may cost nothing."""
    inflation: float
    """Variance inflation factor of the cost: how many times its variance is what it would be if the numbers of this
    work were orthogonal to those of other work."""
    known_with: list[str]
    """Other kinds of work whose numbers go with the number of this one, so that only their common cost is known."""


class CalibratedPoint(Record):
    """A point of a calibration: what was measured, and what the costs say of it."""

    stage: str
    """Directory of the runs: full-load or part-load."""
    index: int
    """Number of the point in its stage, from 0."""
    varied: dict[str, Any]
    """Values of the swept fields, by path."""
    load: float | None
    """Load that the clients asked for, as a share of what the server can answer; 1 if they did not pause."""
    reached: float | None
    """Load that the server answered."""
    busy: float | None
    """Busy share of the server's CPUs, without the CPU time of other programs."""
    counts: dict[str, float | None]
    """How often each kind of work was done in the measured interval; null if it cannot be told."""
    measured_us: float | None
    """Measured CPU time of the server for a request, in microseconds."""
    fitted_us: float | None
    """The same as the costs have it; null if the point was left out."""
    error: float | None
    """measured_us / fitted_us - 1; null if the point was left out."""
    left_out: str
    """Why the costs do not follow from this point; empty if they do."""


class CalibrationResult(AtAGlance):
    """The costs of a server's work. Its JSON is what ``wasp calibrate --json`` prints."""

    format: int = FORMAT
    """Version of the file format."""
    name: str
    """Name of the experiment."""
    mode: Mode
    """live; sim if it measured the modelled server."""
    seed: int
    """Seed of all random choices."""
    results: str | None = None
    """Directory of the results."""
    server: dict[str, Any]
    """The server: its kind, name and version, and the number of its CPUs."""
    machine: dict[str, Any]
    """The machine: its kernel and its CPUs."""
    versions: dict[str, str]
    """Versions of WASP, Python, the kernel and the libraries."""
    model: dict[str, Any]
    """Fields of server.model; empty if no costs could be found."""
    costs: list[CalibratedCost] = Field(default_factory=list)
    """The cost of each kind of work."""
    points: list[CalibratedPoint] = Field(default_factory=list)
    """The points, including those that were left out."""
    error: float | None
    """Standard deviation of a point relative to what the costs say; null if no costs could be found."""
    worst: float | None
    """Largest error of a point, without its sign."""
    not_told: list[str] = Field(default_factory=list)
    """What the runs cannot tell, or cannot tell apart, and what the model assumes instead."""
    complete: bool
    """Whether all runs were made."""
    valid: bool
    """Whether the calibration is complete, and its costs say what was measured."""
    why: str = ""
    """Why it is not valid; empty if it is."""

    @property
    def listing(self) -> Listing:
        """The table with a line for each point."""
        return Listing(_OF_POINTS, [_row(point) for point in self.points])

    @property
    def costs_listing(self) -> Listing:
        """The table with a line for each cost."""
        return Listing(_OF_COSTS, [cost.model_dump() for cost in self.costs])

    def to_frame(self) -> pl.DataFrame:
        """A data frame of polars with a row for each cost. Its ``to_pandas()`` returns a frame of pandas."""
        from waspbench.results.frames.calibrations import cost_frame  # which takes polars to be imported

        return cost_frame(self)

    def to_json(self) -> str:
        """The result as one JSON object."""
        return self.model_dump_json(indent=2)

    def model_file(self) -> str:
        """The text of a model file (``server.model.file``): the fields of the model, and in the table ``fit`` what they
        were fitted on.
        """
        used = [point for point in self.points if not point.left_out]
        fit = {
            "valid": self.valid,
            "why": self.why,
            **{name: getattr(self, name) for name in ("mode", "server", "machine", "versions", "error", "worst")},
            "points": len(used),
            "costs": [cost.model_dump() for cost in self.costs],
            "not_told": self.not_told,
        }
        return json.dumps({**self.model, "fit": fit}, indent=2, ensure_ascii=False) + "\n"


def load_calibration(path: str | Path) -> CalibrationResult:
    """Reads the result of a calibration in a directory.

    Args:
        path: the directory.

    Raises:
        InputError: the directory has no result of a calibration, or a newer version of WASP wrote it, or its file is
            not valid.
    """
    check_kind(path, "calibration")
    file = Path(path) / CALIBRATION
    if not file.exists() and is_study(path):
        raise InputError.at(str(path), f"is not complete; wasp resume {path} makes the rest")
    try:
        text = file.read_bytes()
    except OSError as error:
        raise InputError.at(str(file), f"cannot be read: {error.strerror}") from None
    return read_document(CalibrationResult, text, str(file), "calibration").model_copy(update={"results": str(path)})


def _interval(row: Figures) -> str:
    return f"{row['ci90'][0]:,.3f} to {row['ci90'][1]:,.3f}"


def _remark(row: Figures) -> str:
    if row["known_with"]:
        return f"known only together with {', '.join(row['known_with'])}"
    if row["work"] == "seconds" and not row["may_be_zero"]:
        return f"{row['us'] / 1e4:.2g} % of the time; per_tick is the cost of a millisecond"
    return "may be zero" if row["may_be_zero"] else ""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


_OF_COSTS = {
    "counted": Column("work", left=True),
    "us": Column("us each", decimals(3)),
    "ci90": Column("90 %", of_row=_interval),
    "fields": Column("server.model", _listed, left=True),
    "remark": Column("remark", of_row=_remark, left=True),
}

_SETTINGS = {
    "connections": "clients.count",
    "rtt": "clients.rtt",
    "size": "workload.size",
    "requests": "clients.http.requests_per_connection",
    "mss": "clients.tcp.mss",
    "delayed_ack": "clients.tcp.delayed_ack",
}

_OF_POINTS = {
    "connections": Column("connections"),
    "rtt": Column("RTT"),
    "size": Column("size"),
    "requests": Column("requests each"),
    "mss": Column("MSS"),
    "delayed_ack": Column("delayed ACK"),
    "load": Column("load %", percent(0)),
    "reached": Column("reached %", percent(0)),
    "busy": Column("CPU %", percent(1)),
    "measured_us": Column("CPU us a request", decimals(2)),
    "fitted_us": Column("by the costs", decimals(2)),
    "error": Column("measured vs costs %", lambda part: f"{100 * part:+.1f}"),
    "left_out": Column("left out", left=True),
}


def _row(point: CalibratedPoint) -> Figures:
    """The figures of the line of a point."""
    told = ("load", "reached", "busy", "measured_us", "fitted_us", "error", "left_out")
    return {
        **{name: point.varied.get(path) for name, path in _SETTINGS.items()},
        **{name: getattr(point, name) for name in told},
    }
