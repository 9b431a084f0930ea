"""What a search for capacity found: ``DIR/capacity.json``, beside the results of every run that it made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from waspbench.errors import InputError
from waspbench.experiment.metrics import PERCENTILES, asked_percentiles
from waspbench.results import errors
from waspbench.results.columns import Line, columns_of, no_line, settings, shown, swept
from waspbench.results.estimates import chosen, estimate_of, every_percentile, mean_of, response_time_of
from waspbench.results.formats import FORMAT, Record, json_of, read_document
from waspbench.results.records import read_record, record_path, table_path
from waspbench.results.store import NEEDED, populations_of, read_table
from waspbench.results.study import point_directory
from waspbench.results.summary import RunSummary
from waspbench.stats import Histogram
from waspbench.tabular import Column, Listing, whole

CAPACITY = "capacity.json"

SATURATED = 0.95
"""Busy share of the server's CPUs from which it counts as saturated."""

LINK_FULL = 0.90
"""Share of the shared link's rate in bodies alone from which that link counts as full."""

EXCUSED = frozenset({"server_queue"})
"""Reasons against a run that saturation excuses: a server at its limit turns connections away. All others stand."""

Bottleneck = Literal["server", "emulator", "network", "clients", "unknown"]


class LoadReading(Record):
    """One run of a search."""

    run: int
    """Number of the run: the order in which they were made."""
    load: int
    """Clients in all, those of background groups left out."""
    throughput: float
    goodput_bps: float = 0.0
    """Bits of bodies a second, those of background groups included."""
    interval_s: float | None = None
    """Length of the measured interval in seconds: longer than the file's where that was too short."""
    server_cpu: float | None
    """Busy share of the server's CPUs, without what other programs took of them."""
    meets: bool
    """Whether it met the objective."""
    counts: bool
    """Whether it did not fail and the emulator left the server its say."""
    failed: bool = False
    """Whether it did not come to its end, or had too many errors at a load that is too much for the server."""
    outcomes: dict[str, int] | None = None
    """Transactions by outcome; None if it did not come to its end, and in results of older versions."""
    statuses: dict[str, int] | None = None
    """Whole responses by status code; None likewise."""
    confirming: bool
    valid: bool | None
    """Whether nothing speaks against it but what saturation excuses (``server_queue``); None in results of older
    versions.
    """
    attempts: int = 1
    """How often it was tried."""
    notes: list[str] = Field(default_factory=list)
    """Why it failed, is not valid, or did not meet the objective; errors above 1 %, and what may help."""

    @property
    def unmade(self) -> bool:
        """Whether it did not come to its end, so that it has no figures here."""
        return self.failed and self.outcomes is None


class Load(Line):
    """The runs of a search at one load: those that explored, or the fresh ones that were to confirm it."""

    load: Annotated[int, Column("clients", whole)]
    """Clients in all, those of background groups left out."""
    fresh: Annotated[bool, Column("fresh", lambda fresh: "yes" if fresh else "no")]
    """Whether they were made to confirm what others had found."""
    counts: Annotated[Literal["yes", "failed", "emulator", "objective"], Column("counts")]
    """``yes``, or what excludes the load: a run ``failed``, the ``emulator`` was at its limit in one, or one did not
    meet the ``objective``.
    """


def load_columns(loads: Sequence[Load], percentiles: Iterable[str]) -> dict[str, Column]:
    """The columns of a table of these, with the ``percentiles`` of these names."""
    own = {name: column for name, column in columns_of(Load).items() if name not in Line.model_fields}
    if not any(load.fresh for load in loads):
        del own["fresh"]
    return {**own, **shown(percentiles)}


class PointCapacity(Record):
    """The capacity at one point of a sweep."""

    index: int
    varied: dict[str, Any]
    capacity: float | None
    """The largest throughput, in ok transactions a second; None if no load counted and met the objective."""
    ci90: tuple[float, float] | None
    """Student-t interval over the runs at that load."""
    load: int | None
    """Clients at which it was found."""
    server_cpu: float | None
    """Busy share of the server's CPUs there, without what other programs took of them."""
    saturated: bool | None
    """Whether that is at least 95 %."""
    bottleneck: Bottleneck
    """What set the limit."""
    why: str
    """The same in words."""
    confirmed: bool
    """Whether fresh runs at that load all counted and met the objective; a sweep makes none."""
    valid: bool | None
    """Whether it was found, confirmed where the method confirms, and every run that makes it up is valid; None in
    results of older versions.
    """
    runs: int
    """Runs made."""
    readings: list[LoadReading]
    loads: list[Load] = Field(default_factory=list)
    """The same by load, in rising order; the fresh runs of a load come last."""
    line: Line = Field(default_factory=no_line)
    """What those runs say together from which the capacity follows."""

    @property
    def behind(self) -> list[LoadReading]:
        """The runs from which the capacity follows."""
        return [] if self.load is None else readings_at(self.readings, self.load)

    def with_lines(self, folder: Path, percentiles: Sequence[str]) -> PointCapacity:
        """This with what is said of each load and of the capacity, as the runs below ``folder`` have it, with the
        percentiles of these names.

        Raises:
            InputError: one of their files cannot be read.
        """
        kinds = sorted({(reading.load, reading.confirming) for reading in self.readings})
        alike = [[each for each in self.readings if (each.load, each.confirming) == kind] for kind in kinds]
        loads = [
            Load(
                load=readings[0].load,
                fresh=readings[0].confirming,
                counts=_counted(readings),
                **dict(_line_of(readings, folder, percentiles)),
            )
            for readings in alike
        ]
        line = no_line(every_percentile(percentiles))
        if self.behind:
            line = _line_of(self.behind, folder, percentiles).model_copy(update={"valid": self.valid})
        return self.model_copy(update={"loads": loads, "line": line})


def readings_at(readings: Sequence[LoadReading], load: int) -> list[LoadReading]:
    """The runs at a load that tell its throughput: of those that counted and met the objective the ones that
    confirmed it, or else all.
    """
    found = [reading for reading in readings if reading.load == load and reading.counts and reading.meets]
    return [reading for reading in found if reading.confirming] or found


def load_directory(folder: Path, load: int) -> Path:
    """Where the runs at a load of the point in ``folder`` are."""
    return folder / f"load-{load}"


def _line_of(readings: Sequence[LoadReading], folder: Path, percentiles: Sequence[str]) -> Line:
    """What runs at one load say together. Failed runs have no figures; what is not on disk has no response times."""
    made = [reading for reading in readings if not reading.unmade]
    unknown = any(reading.valid is None for reading in readings)
    valid = None if unknown else all(reading.valid for reading in readings)
    if not made:
        return no_line(every_percentile(percentiles)).model_copy(update={"valid": valid})
    rate = estimate_of([each.throughput for each in made])
    outcomes = errors.total(each.outcomes for each in made)
    summaries, histograms = _on_disk(made, load_directory(folder, made[0].load))
    time = response_time_of([each.response_time_ms for each in summaries], histograms, every_percentile(percentiles))
    return Line(
        throughput=rate.mean,
        throughput_ci90=rate.ci90,
        goodput_bps=chosen((each.goodput_bps for each in summaries), mean_of),
        mean_ms=time.mean,
        percentiles_ms=time.percentiles,
        errors=None if outcomes is None else errors.share(outcomes),
        server_cpu=chosen((each.server_cpu for each in made), mean_of),
        runs=len(made),
        valid=valid,
        outcomes=outcomes,
        statuses=errors.total(each.statuses for each in made),
    )


def _on_disk(made: Sequence[LoadReading], folder: Path) -> tuple[list[RunSummary], list[Histogram]]:
    """Figures, and response times (nanoseconds) of ``ok`` transactions, of these runs; nothing where a file is gone."""
    paths = [(record_path(folder, each.run), table_path(folder, NEEDED, each.run)) for each in made]
    if not all(path.exists() for pair in paths for path in pair):
        return [], []
    summaries = [read_record(record).summary for record, _ in paths]
    histograms = [populations_of(read_table(table)).ok for _, table in paths]
    return [summary for summary in summaries if summary is not None], histograms


def _counted(readings: Sequence[LoadReading]) -> Literal["yes", "failed", "emulator", "objective"]:
    """Whether the runs at a load let it count, or what spoke against one of them."""
    if any(reading.failed for reading in readings):
        return "failed"
    if not all(reading.counts for reading in readings):
        return "emulator"
    return "yes" if all(reading.meets for reading in readings) else "objective"


class CapacityResult(Record):
    """``capacity.json``; what ``wasp capacity --json`` prints has a ``table``, too."""

    format: int = FORMAT
    name: str
    mode: str
    seed: int
    method: str
    """search or sweep."""
    objectives: list[str]
    results: str | None = None
    complete: bool
    valid: bool
    """Whether it is complete and every point's capacity is valid."""
    points: list[PointCapacity]
    percentiles: list[str] = Field(default_factory=lambda: list(PERCENTILES))
    """Names of the percentiles that tables show."""

    @property
    def listing(self) -> Listing:
        """A table with a line for each load of each point."""
        rows = [
            {"point": point.index, **settings(point.varied), **load.figures}
            for point in self.points
            for load in point.loads
        ]
        columns = load_columns([load for point in self.points for load in point.loads], self.percentiles)
        return Listing({**swept(point.varied for point in self.points), **columns}, rows)

    def to_json(self) -> str:
        """The result as one JSON object, the rows of its `listing` included."""
        return json_of(self, self.listing.rows)


def load_capacity(path: str | Path, *, percentiles: Sequence[str] | None = None) -> CapacityResult:
    """The result in the directory at ``path``. Its tables show the ``percentiles`` of these names; unless given, those
    that the experiment asked for.

    Raises:
        InputError: there is none, or it is not valid or newer than this version.
    """
    file = Path(path) / CAPACITY
    try:
        text = file.read_bytes()
    except OSError as error:
        raise InputError.at(str(file), f"cannot be read: {error.strerror}") from None
    found = read_document(CapacityResult, text, str(file), "capacity")
    points, asked = found.points, found.percentiles if percentiles is None else asked_percentiles(percentiles)
    if found.format < FORMAT or percentiles is not None:
        folders = [point_directory(file.parent, point.index, len(points)) for point in points]
        points = [point.with_lines(folder, asked) for point, folder in zip(points, folders, strict=True)]
    return found.model_copy(update={"points": points, "percentiles": asked, "results": str(path)})
