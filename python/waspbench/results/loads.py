"""The runs of a search for capacity by their load, and the lines that tables have of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from waspbench.experiment.metrics import Kind, Metric, fraction_of, metric
from waspbench.experiment.search import Find
from waspbench.results import errors
from waspbench.results.columns import Line, columns_of, no_line, shown
from waspbench.results.estimates import chosen, estimate_of, every_percentile, mean_of, response_time_of
from waspbench.results.formats import Record
from waspbench.results.parts import times_of
from waspbench.results.records import read_record, record_path, table_path
from waspbench.results.store import NEEDED, populations_of, read_table
from waspbench.results.summary import RunSummary
from waspbench.stats import Populations, merge
from waspbench.stats.histogram import percentiles as percentiles_of_values
from waspbench.tabular import Column, decimals, percent

Number = int | float
"""A load: clients, which are whole, or arrivals a second."""


class LoadReading(Record):
    """One run of a search."""

    run: int
    """Number of the run in the order of the search, from 0."""
    load: Number
    """Load: the number of clients, background groups left out, or arrivals a second if the search looks for a rate."""
    throughput: float
    """``ok`` transactions a second."""
    goodput_bps: float = 0.0
    """Bits of bodies a second, background groups included."""
    full_links: list[str] = Field(default_factory=list)
    """Links between nodes of a backbone or a graph, and the shared link of a star if it has cross traffic, that carried
    at least 90 % of their rate over the whole run; each with its direction. Empty in results of older versions."""
    interval_s: float | None = None
    """Length of the measured interval in seconds. It is longer than that of the file if that was too short."""
    server_cpu: float | None
    """Busy share of the server's CPUs, without the CPU time of other programs."""
    judged: dict[str, float | None] = Field(default_factory=dict)
    """Figures that the objectives name: in /s, bit/s, milliseconds, or as a share. Empty if the run did not end, and in
    results of older versions."""
    ratio: float | None = None
    """How much of an objective's limit the figure took: figure / limit for an upper limit, limit / figure for a lower
    one; the worst of several objectives. Above 1 the run missed the objective. None if this is not known, and in
    results of older versions."""
    meets: bool | None
    """Whether the run met the objectives. None if it had too few transactions to tell and the search did not need to
    know, and if the run did not end."""
    waited: bool = False
    """Whether the run missed the objective only because arrivals waited for busy clients: it would have met it if
    response times started when the client sent the request. False in results of older versions."""
    misses: bool = False
    """Whether the run certainly missed the objective: it had enough transactions, or more of few took too long than
    chance explains, or the queue of an open loop grows without end."""
    counts: bool
    """Whether the run tells something about the server: it did not fail, and the emulator was not at its limit."""
    failed: bool = False
    """Whether the run failed: it did not end, or it had too many errors at a load that is too much for the server."""
    outcomes: dict[str, int] | None = None
    """Number of transactions by outcome. None if the run did not end, and in results of older versions."""
    statuses: dict[str, int] | None = None
    """Number of complete responses by status code. None if the run did not end, and in results of older versions."""
    confirming: bool
    """Whether it is a fresh run, which confirms the load that earlier runs found."""
    valid: bool | None
    """Whether the run is valid, apart from a reason that saturation excuses (``server_queue``). None in results of
    older versions, and if the search did not need to know whether the run met the objective."""
    attempts: int = 1
    """Number of attempts that the run took."""
    notes: list[str] = Field(default_factory=list)
    """Why the run failed, is not valid, or missed the objective; also errors above 1 %, and what may help."""

    @property
    def unmade(self) -> bool:
        """Whether the run did not finish and so has no figures here."""
        return self.failed and self.outcomes is None


class Load(Line):
    """The runs of a search at one load: those that explored the load, or the fresh ones that had to confirm it."""

    load: Annotated[Number, Column("clients or arrivals/s")]
    """Load: the number of clients, background groups left out, or arrivals a second if the search looks for a rate."""
    fresh: Annotated[bool, Column("fresh", lambda fresh: "yes" if fresh else "no")]
    """Whether these are fresh runs, which confirm the load that earlier runs found."""
    counts: Annotated[Literal["yes", "failed", "emulator", "objective", "undecided"], Column("counts")]
    """``yes``, or why the load does not count: a run ``failed``, the ``emulator`` was at its limit in a run, or a run
    missed the ``objective``. ``undecided`` if the search passed over a run with too few transactions to tell."""
    judged: dict[str, float | None] = Field(default_factory=dict)
    """Figures that the objectives name, in /s, bit/s, milliseconds, or as a share: percentiles of the transactions of
    all runs together, and means over the runs of other figures."""

    @property
    def figures(self) -> dict[str, Any]:
        """All these figures by name, as the line of a table has them: figures that objectives name have names such as
        ``all.p99_ms``.
        """
        found = super().figures
        judged = {_key(name): value for name, value in found.pop("judged").items()}
        return {**judged, **found}  # what a line has is of all its runs together


_KINDS: dict[Kind, tuple[str, str, Callable[[float], str]]] = {
    "count": ("", " /s", decimals()),
    "rate": ("_bps", " Mbit/s", lambda bps: f"{bps / 1e6:,.2f}"),
    "duration": ("_ms", " ms", decimals()),
    "share": ("", " %", percent(2)),
}
"""Of the figures that objectives name: how the name of a row's figure ends, the unit of its column, and its text."""


def _key(name: str) -> str:
    """The name in a row of a figure that an objective names."""
    return name + _KINDS[metric(name).kind][0]


def load_columns(loads: Sequence[Load], percentiles: Iterable[str], find: Find) -> dict[str, Column]:
    """The columns of a table of these, with the ``percentiles`` of these names. Figures that objectives name stand
    beside the load where they are not shown anyway.
    """
    of_lines = shown(percentiles)
    own = {name: column for name, column in columns_of(Load).items() if name not in Line.model_fields}
    own["load"] = Column(UNITS[find], load_number)
    if not any(load.fresh for load in loads):
        del own["fresh"]
    for name in dict.fromkeys(name for load in loads for name in load.judged):
        if _key(name) not in of_lines:
            _, unit, text = _KINDS[metric(name).kind]
            own[_key(name)] = Column(f"{name}{unit}", text)
    return {**own, **of_lines}


UNITS: dict[Find, str] = {"throughput": "clients", "clients": "clients", "rate": "arrivals/s"}
"""Units of loads, by what is looked for."""


def load_number(load: float) -> str:
    """A load without its unit; a rate with four digits."""
    return f"{load:,d}" if isinstance(load, int) else f"{float(f'{load:.4g}'):,.10g}"


def load_text(load: float, find: Find) -> str:
    """A load with its unit."""
    unit = "client" if load == 1 and find != "rate" else UNITS[find]
    return f"{load_number(load)} {unit}"


def readings_at(readings: Sequence[LoadReading], load: float) -> list[LoadReading]:
    """The runs at a load that tell its throughput: of those that counted and met the objective the ones that
    confirmed it, or else all.
    """
    found = [reading for reading in readings if reading.load == load and reading.counts and reading.meets]
    return [reading for reading in found if reading.confirming] or found


def load_directory(folder: Path, load: float) -> Path:
    """Where the runs at a load of the point in ``folder`` are."""
    return folder / (f"load-{load}" if isinstance(load, int) else f"load-{load:.10g}")


def loads_of(readings: Sequence[LoadReading], folder: Path, percentiles: Sequence[str]) -> list[Load]:
    """The lines of a point's runs by load, in rising order, with the ``percentiles`` of these names.

    Raises:
        InputError: a file of a run below ``folder`` cannot be read.
    """
    kinds = sorted({_kind(reading) for reading in readings})
    alike = [[each for each in readings if _kind(each) == kind] for kind in kinds]
    return [
        Load(
            load=some[0].load,
            fresh=some[0].confirming,
            counts=_counted(some),
            judged=_judged(some, folder),
            **dict(line_of(some, folder, percentiles)),
        )
        for some in alike
    ]


def _kind(reading: LoadReading) -> tuple[float, bool, bool]:
    """What the runs of a line have in common: the load, whether they were to confirm it, and to tell of it."""
    return reading.load, reading.confirming, reading.meets is not None or reading.failed


def line_of(readings: Sequence[LoadReading], folder: Path, percentiles: Sequence[str]) -> Line:
    """What runs at one load say together. Failed runs have no figures; what is not on disk has no response times."""
    made = [reading for reading in readings if not reading.unmade]
    unknown = any(reading.valid is None for reading in readings)
    valid = None if unknown else all(reading.valid for reading in readings)
    if not made:
        return no_line(every_percentile(percentiles)).model_copy(update={"valid": valid})
    rate = estimate_of([each.throughput for each in made])
    outcomes = errors.total(each.outcomes for each in made)
    summaries, populations = on_disk(made, folder)
    time = response_time_of(
        [each.response_time_ms for each in summaries],
        [each.ok for each in populations],
        every_percentile(percentiles),
    )
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


def on_disk(made: Sequence[LoadReading], folder: Path) -> tuple[list[RunSummary], list[Populations]]:
    """Figures, and response times (nanoseconds), of these runs at one load of the point in ``folder``; nothing where a
    file is gone.
    """
    folder = load_directory(folder, made[0].load)
    paths = [(record_path(folder, each.run), table_path(folder, NEEDED, each.run)) for each in made]
    if not all(path.exists() for pair in paths for path in pair):
        return [], []
    summaries = [read_record(record).summary for record, _ in paths]
    populations = [populations_of(read_table(table)) for _, table in paths]
    return [summary for summary in summaries if summary is not None], populations


def _judged(readings: Sequence[LoadReading], folder: Path) -> dict[str, float | None]:
    """The figures that objectives name, of these runs together: of a percentile that of all their transactions, of
    other figures, and where a file is gone, the mean of what each run was judged by.
    """
    made = [each for each in readings if each.judged]
    names = made[0].judged if made else {}
    means = {name: chosen((each.judged[name] for each in made), mean_of) for name in names}
    if len(made) < 2:
        return means
    summaries, populations = on_disk(made, folder)
    pooled = {
        name: _pooled(metric(name), summaries[0], populations)
        for name in means
        if summaries and metric(name).is_percentile
    }
    return means | {name: value for name, value in pooled.items() if value is not None}


def _pooled(of: Metric, summary: RunSummary, populations: Sequence[Populations]) -> float | None:
    """A percentile in milliseconds of all transactions of some runs."""
    times = merge([times_of(summary, of, each) for each in populations])
    [found] = percentiles_of_values(times, [fraction_of(of.name)])
    return None if found is None else found / 1e6


def _counted(readings: Sequence[LoadReading]) -> Literal["yes", "failed", "emulator", "objective", "undecided"]:
    """Whether the runs at a load let it count, or what spoke against one of them."""
    if any(reading.failed for reading in readings):
        return "failed"
    if not all(reading.counts for reading in readings):
        return "emulator"
    decided = [reading.meets for reading in readings if reading.meets is not None]
    if not decided:
        return "undecided"
    return "yes" if all(decided) else "objective"
