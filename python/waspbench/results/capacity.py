"""What a search for capacity found: ``DIR/capacity.json``, beside the results of every run that it made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from waspbench.errors import InputError, check_choice
from waspbench.experiment import Mode
from waspbench.experiment.metrics import PERCENTILES, asked_percentiles
from waspbench.experiment.search import Find, Method
from waspbench.results.check import Check
from waspbench.results.columns import Line, no_line, settings, swept
from waspbench.results.estimates import every_percentile
from waspbench.results.formats import FORMAT, Record, json_of, read_document
from waspbench.results.lines import figures_line, row_of
from waspbench.results.loads import Load, LoadReading, Number, line_of, load_columns, loads_of, on_disk, readings_at
from waspbench.results.named_requests import NamedRequest, requests_of
from waspbench.results.parts import own_parts
from waspbench.results.sessions import Sessions, sessions_of
from waspbench.results.shown import WithFiles, owned
from waspbench.results.study import check_kind, point_directory
from waspbench.stats.capacity import More
from waspbench.stats.objective import Outcome
from waspbench.tabular import Figures, Listing

if TYPE_CHECKING:
    import polars as pl

CAPACITY = "capacity.json"

SATURATED = 0.95
"""Busy share of the server's CPUs from which it counts as saturated."""

LINK_FULL = 0.90
"""Share of the shared link's rate in bodies alone from which that link counts as full."""

EXCUSED = frozenset({"server_queue"})
"""Reasons against a run that saturation excuses: a server at its limit turns connections away. All others stand."""

Bottleneck = Literal["server", "emulator", "network", "clients", "unknown"]


class GroupLoad(Record):
    """A group of clients at the load that was found, and what its clients do."""

    name: str
    """Name of the group."""
    load: Number | None
    """Number of its clients, or its arrivals a second; None if no load was found."""
    background: bool
    """Whether the group is background load, which the search neither counts nor changes."""
    asks: str
    """What its clients ask for, such as ``/`` or ``1KiB``."""
    waits: str | None
    """Pause of a client before its next request, such as ``5s``; None without a pause, and in an open loop."""


class PointCapacity(Record):
    """The capacity at one point of a sweep."""

    index: int
    """Number of the point, from 0."""
    varied: dict[str, Any]
    """Values of the swept fields, by path."""
    capacity: Number | None
    """The capacity: the largest throughput in ok transactions a second, the number of clients, or the arrivals a
    second. None if no load counted and met the objectives."""
    ci90: tuple[Number, Number | None] | None
    """90 % confidence interval of the capacity. For throughput it is Student's t over the runs at that load. For
    clients and a rate it is the range of loads in which the server begins to miss the objective; its upper end is None
    if no load was too much for the server."""
    load: Number | None
    """The load that was found, or the load with the largest throughput."""
    groups: list[GroupLoad] | None = None
    """The groups of clients at that load. None in results of older versions."""
    outcome: Outcome | None = None
    """How the search ended. ``found``: it found the capacity. ``not reached``: the largest load was not too much for
    the server, or other loads may have a larger throughput. ``emulator``: from some load on the emulator was the limit.
    In these two cases the capacity is a lower bound. ``none``: it found none. None if the search is not complete, and
    in results of older versions."""
    refined: bool | None = None
    """Whether the search for clients or a rate made the interval as narrow as it could, rather than ending because it
    had no runs left. None for throughput, and if the search is not complete."""
    more: More | None = None
    """Whether the capacity may lie ``below`` or ``above`` the loads that were tried; None if not. In results of older
    versions it is given for throughput only."""
    bound: float | None = None
    """Largest throughput that loads between the tried ones can have, since throughput grows no faster than the number
    of clients and its curve bends down. None for clients and rates, and in results of older versions."""
    again: Number | None = None
    """Smallest load above the interval that met the objective again; None if there is none."""
    server_cpu: float | None
    """Busy share of the server's CPUs at that load, without the CPU time of other programs."""
    saturated: bool | None
    """Whether server_cpu is at least 95 %."""
    bottleneck: Bottleneck
    """What limited the capacity."""
    why: str
    """The bottleneck in words."""
    confirmed: bool
    """Whether all fresh runs at that load counted and met the objectives. The method sweep makes no fresh runs; then it
    is false."""
    valid: bool | None
    """Whether the capacity is valid: there is one (it may be a lower bound), the fresh runs of a search confirmed it,
    and every run behind it is valid. None in results of older versions."""
    runs: int
    """Number of runs."""
    readings: list[LoadReading]
    """The runs, in the order of the search."""
    loads: list[Load] = Field(default_factory=list)
    """The runs by load, in rising order; fresh runs of a load come last."""
    line: Line = Field(default_factory=no_line)
    """Figures of the runs from which the capacity follows."""
    requests: list[NamedRequest] = Field(default_factory=list)
    """Figures of each named request in these runs, of all groups but background groups. Empty if requests have no
    names, and in results of older versions."""
    sessions: Sessions | None = None
    """Figures of whole sessions in these runs, likewise. None if clients make none, and in results of older versions.
    """

    @property
    def is_lower_bound(self) -> bool:
        """Whether the capacity is only a lower bound, because loads that may have a larger one were not tried, or
        because the emulator or the number of clients was the limit.
        """
        return self.outcome in ("not reached", "emulator") or self.bottleneck == "clients"

    @property
    def ends(self) -> tuple[Number | None, Number | None]:
        """The two ends between which the capacity lies; None for an end that is not known. They are the ends of
        ``ci90``. For the largest throughput the upper end includes what loads between those that were tried may have.
        """
        low, high = self.ci90 or (None, None)
        if self.is_lower_bound or high is None:
            return low, None
        return low, max(high, self.bound or 0.0)

    @property
    def behind(self) -> list[LoadReading]:
        """The runs from which the capacity follows."""
        return [] if self.load is None else readings_at(self.readings, self.load)


def rows_by_request(point: PointCapacity) -> list[Figures]:
    """The lines of the table of named requests, and of whole sessions, at the load that was found."""
    found = own_parts(None, point.requests, point.sessions)
    return [row_of(key, figures_line(of, point.line.runs, valid=bool(point.valid))) for key, of in found.items()]


def with_lines(point: PointCapacity, folder: Path, percentiles: Sequence[str]) -> PointCapacity:
    """``point`` with what is said of each load, of the capacity, and of named requests there, as the runs below
    ``folder`` have it, with the percentiles of these names.

    Raises:
        InputError: one of their files cannot be read.
    """
    loads = loads_of(point.readings, folder, percentiles)
    names = every_percentile(percentiles)
    if not point.behind:
        return point.model_copy(update={"loads": loads, "line": no_line(names)})
    line = line_of(point.behind, folder, percentiles).model_copy(update={"valid": point.valid})
    runs, populations = on_disk(point.behind, folder)
    several = max((len(run.by_group or ()) for run in runs), default=0) > 1
    requests = requests_of([run.requests or [] for run in runs], populations, names, several=several)
    sessions = sessions_of([run.sessions for run in runs], populations, names, several=False)
    return point.model_copy(update={"loads": loads, "line": line, "requests": requests, "sessions": sessions})


class CapacityResult(WithFiles):
    """The result of a search for capacity. Its JSON is what ``wasp capacity --json`` prints; ``capacity.json`` has the
    same fields without ``table``.
    """

    format: int = FORMAT
    """Version of the file format."""
    name: str
    """Name of the experiment."""
    mode: Mode
    """live or sim."""
    seed: int
    """Seed of all random choices."""
    method: Method
    """Method: search or sweep."""
    find: Find = "throughput"
    """What the search looks for: throughput, clients or rate."""
    objectives: list[str]
    """Objectives that a load must meet."""
    results: str | None = None
    """Directory of the results; None if none was named."""
    complete: bool
    """Whether the search has ended at every point."""
    valid: bool
    """Whether the search is complete and the capacity of every point is valid."""
    points: list[PointCapacity]
    """The capacity of each point; without a sweep there is one point."""
    checks: list[Check] = Field(default_factory=list)
    """Whether the capacity of each point is at least the required one; empty if none was required."""
    percentiles: list[str] = Field(default_factory=lambda: list(PERCENTILES))
    """Names of the percentiles that tables show."""

    @property
    def listing(self) -> Listing:
        """The table with a line for each load of each point."""
        rows = [
            {"point": point.index, **settings(point.varied), **load.figures}
            for point in self.points
            for load in point.loads
        ]
        columns = load_columns([load for point in self.points for load in point.loads], self.percentiles, self.find)
        return Listing({**swept(point.varied for point in self.points), **columns}, rows)

    def to_frame(self, rows: Literal["points", "loads", "runs"] = "points") -> pl.DataFrame:
        """A data frame of polars with what the search found. Its ``to_pandas()`` returns a frame of pandas.

        Args:
            rows: ``points`` for a row for each point of the sweep (one without a sweep), ``loads`` for a row for each
                load that was tried, or ``runs`` for a row for each run.

        Raises:
            InputError: ``rows`` has another value.
        """
        from waspbench.results.frames.searches import FRAMES  # which takes polars to be imported

        return check_choice("rows", rows, FRAMES)(self)

    def to_json(self) -> str:
        """The result as one JSON object, with the lines of ``listing`` as its field ``table``."""
        return json_of(self, self.listing.rows)


def load_capacity(path: str | Path, *, percentiles: Sequence[str] | None = None) -> CapacityResult:
    """Reads the result of a search for capacity in a directory.

    Args:
        path: the directory.
        percentiles: names of the percentiles that tables show, such as ``p99.9``. By default they are those of the
            experiment.

    Raises:
        InputError: the directory has no result of a search, or a newer version of WASP wrote it, or a file of it is not
            valid.
    """
    check_kind(path, "capacity")
    file = Path(path) / CAPACITY
    try:
        text = file.read_bytes()
    except OSError as error:
        raise InputError.at(str(file), f"cannot be read: {error.strerror}") from None
    found = read_document(CapacityResult, text, str(file), "capacity")
    points, asked = found.points, found.percentiles if percentiles is None else asked_percentiles(percentiles)
    if found.format < FORMAT or percentiles is not None:
        folders = [point_directory(file.parent, point.index, len(points)) for point in points]
        points = [with_lines(point, folder, asked) for point, folder in zip(points, folders, strict=True)]
    return owned(found.model_copy(update={"points": points, "percentiles": asked, "results": str(path)}))
