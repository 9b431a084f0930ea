"""The figures that every table of results shows, each declared once: name, type, head, and meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from waspbench.experiment.metrics import PERCENTILES, Metric
from waspbench.results import errors
from waspbench.results.formats import Record
from waspbench.tabular import NONE, Column, Figures, Listing, decimals, percent, span, whole

ALL_CLIENTS = "all clients"
"""What a line is called that is about all groups together; no group can have this name."""


def _validity(row: Figures) -> str:
    if row.get("background"):
        return "background"
    valid = row.get("valid")
    return NONE if valid is None else "yes" if valid else "NO"


def _has_errors(row: Figures) -> bool:
    return (row.get("errors") or 0.0) > errors.NOTED


def _ended(row: Figures) -> str:
    outcomes = row.get("outcomes")
    return NONE if outcomes is None else errors.text(outcomes, row.get("statuses"))


class Line(Record):
    """The figures of a line of a table: of a point, a group of clients, a load, or a side of a comparison."""

    throughput: Annotated[float | None, Column("ok/s", decimals(), label="throughput (ok/s)")]
    """``ok`` transactions a second, mean over the runs."""
    throughput_ci90: Annotated[tuple[float, float] | None, Column("90 % interval", span)]
    """90 % confidence interval of that mean (Student's t over the runs); None with one run."""
    goodput_bps: Annotated[float | None, Column("Mbit/s", lambda bps: f"{bps / 1e6:,.2f}", label="goodput (Mbit/s)")]
    """Bits of the bodies of ``ok`` transactions a second, mean over the runs."""
    mean_ms: Annotated[float | None, Column("mean ms", decimals(), label="response time mean (ms)")]
    """Mean response time of ``ok`` transactions in milliseconds: the mean over the runs of their means."""
    percentiles_ms: dict[str, float | None]
    """Percentiles of the response times of ``ok`` transactions, of all runs together, and others that were asked for.
    None with too few transactions."""
    errors: Annotated[float | None, Column("errors %", percent(2), label="errors (%)", alarms=_has_errors)]
    """Share of the ended transactions that were not ok; None if none ended."""
    server_cpu: Annotated[float | None, Column("CPU %", percent(), label="server CPU busy (%)")]
    """Busy share of the server's CPUs, mean over the runs. In a search for capacity it leaves out CPU time that other
    programs took. None for a group."""
    runs: Annotated[int, Column("runs", whole)]
    """Number of runs behind the figures."""
    valid: Annotated[bool | None, Column("valid", of_row=_validity, alarms=lambda row: _validity(row) == "NO")]
    """Whether the figures are valid. None if a run of a search did not need a verdict, and in results of older
    versions. For a background group it says nothing about the figures of all clients."""
    background: bool = False
    """Whether the group is background load, which the figures of all clients leave out."""
    outcomes: Annotated[dict[str, int] | None, Column("outcomes and status codes", of_row=_ended, left=True)]
    """Number of transactions by outcome; None if it is not known."""
    statuses: dict[str, int] | None
    """Number of complete responses by status code; None if it is not known."""

    @property
    def figures(self) -> dict[str, Any]:
        """All these figures by name, as the line of a table has them; a percentile has a name such as ``p99_ms``."""
        return dict(_flat(dict(self)))


_PERCENTILES = "percentiles_ms"


def _flat(figures: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, figure in figures.items():
        if name == _PERCENTILES:
            yield from ((f"{percentile}_ms", value) for percentile, value in figure.items())
        else:
            yield name, figure


def columns_of(kind: type[Line]) -> dict[str, Column]:
    """The column of each figure that has one, by its name; those of percentiles are not among them."""
    found = ((name, told) for name, field in kind.model_fields.items() for told in field.metadata)
    return {name: told for name, told in found if isinstance(told, Column)}


_OF_LINES = columns_of(Line)

_SHOWN = (
    "throughput",
    "throughput_ci90",
    "mean_ms",
    _PERCENTILES,
    "errors",
    "server_cpu",
    "runs",
    "valid",
    "outcomes",
)
_OF_GROUPS = ("throughput", "mean_ms", _PERCENTILES, "errors", "valid")
_OF_REQUESTS = ("throughput", "mean_ms", _PERCENTILES, "errors", "outcomes")


def shown(percentiles: Iterable[str]) -> dict[str, Column]:
    """What every table of lines shows, after what each is about; of the percentiles those of these names."""
    return _named(_SHOWN, percentiles)


def of_groups(percentiles: Iterable[str]) -> dict[str, Column]:
    """What fits beside the name of a group."""
    return _named(_OF_GROUPS, percentiles)


def of_requests(percentiles: Iterable[str], rows: Iterable[Figures]) -> dict[str, Column]:
    """What fits beside the names of requests, of which ``rows`` has lines, and of their groups if it has some."""
    group = {"group": GROUP} if any(row["group"] is not None for row in rows) else {}
    return {**group, "request": REQUEST, **_named(_OF_REQUESTS, percentiles)}


def every(percentiles: Iterable[str]) -> dict[str, Column]:
    """What results side by side show, a figure a line."""
    return _named([name for name in Line.model_fields if name in _OF_LINES or name == _PERCENTILES], percentiles)


def _named(names: Iterable[str], percentiles: Iterable[str]) -> dict[str, Column]:
    declared = {name: None if name == _PERCENTILES else _OF_LINES[name] for name in names}
    of_percentiles = {f"{name}_ms": _time(name) for name in percentiles}
    return {
        name: column
        for declared_name, told in declared.items()
        for name, column in (of_percentiles.items() if told is None else [(declared_name, told)])
    }


def _time(name: str) -> Column:
    """The column of a response time, such as ``mean`` or ``p99``."""
    return Column(f"{name} ms", decimals(), label=f"response time {name} (ms)")


def column_of(metric: Metric) -> Column:
    """The column of a figure, of whatever clients it is."""
    if metric.kind != "duration":
        return _OF_LINES["goodput_bps" if metric.name == "goodput" else metric.name]
    return _time(metric.name)


def label_of(metric: Metric) -> str:
    """What a figure is called where it has a line or an axis of its own, with its unit."""
    said = column_of(metric).label
    if metric.all:
        said = f"{said.removesuffix(' (ms)')} of all that ended (ms)"
    part = "whole sessions" if metric.sessions else metric.request and f"request {metric.request}"
    of = [text for text in (metric.group, part) if text]
    return f"{', '.join(of)}: {said}" if of else said


GROUP = Column("group", of_row=lambda row: ALL_CLIENTS if row["group"] is None else str(row["group"]), left=True)
"""The name of a group of clients."""
REQUEST = Column("request", left=True)
"""The name of a named request."""


def no_line(percentiles: Iterable[str] = PERCENTILES) -> Line:
    """What is said of a point without a finished run, which has none of these percentiles."""
    nothing = {_PERCENTILES: dict.fromkeys(percentiles), "runs": 0, "valid": False, "background": False}
    return Line(**dict.fromkeys(Line.model_fields) | nothing)


def swept(points: Iterable[Mapping[str, Any]]) -> dict[str, Column]:
    """The columns of swept fields, by path: ``points`` are the values at each point."""
    found: dict[str, bool] = {}
    for varied in points:
        for path, value in varied.items():
            found[path] = found.get(path, False) or isinstance(value, (Mapping, list))
    return {path: Column(head, left=found[path]) for path, head in _short(list(found)).items()}


def settings(varied: Mapping[str, Any]) -> dict[str, Any]:
    """The values of swept fields in a row of a table, in which a list or a table of the file is one text."""
    return {path: value_text(value) if isinstance(value, (Mapping, list)) else value for path, value in varied.items()}


def value_text(value: Any) -> str:
    """The value of a swept field in words."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return " ".join(f"{name}={value_text(inner)}" for name, inner in value.items())
    return "; ".join(map(value_text, value)) if isinstance(value, list) else str(value)


def _short(paths: Sequence[str]) -> dict[str, str]:
    """The shortest ends of the paths that tell them apart."""
    short = {}
    for path in paths:
        steps = path.split(".")
        for length in range(1, len(steps) + 1):
            name = ".".join(steps[-length:])
            if sum(other == name or other.endswith("." + name) for other in paths) == 1:
                break
        short[path] = name
    return short


def with_groups(
    points: Iterable[tuple[Figures, Line, Mapping[str, Line]]],
    percentiles: Iterable[str],
    columns: Mapping[str, Column] | None = None,
) -> Listing:
    """A table with a line for each of ``points``, and for each group of clients at it where there are several. Of a
    point it has what the line is about, which ``columns`` show before the figures, what all clients say, and each group
    by name. ``percentiles`` are those that it shows.
    """
    rows: list[Figures] = []
    for about, line, groups in points:
        rows.append({**about, "group": None, **line.figures})
        if len(groups) > 1:
            rows += [{**about, "group": name, **group.figures} for name, group in groups.items()]
    by_group = {"group": GROUP} if any(row["group"] is not None for row in rows) else {}
    return Listing({**(columns or {}), **by_group, **shown(percentiles)}, rows)
