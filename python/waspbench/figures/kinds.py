"""Every figure that there is: its name, what it shows, and what makes it from results. No library draws here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from waspbench.errors import Argument, InputError
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.metrics import Metric, metric, percentiles_of
from waspbench.experiment.metrics import compared as compared_metric
from waspbench.figures.capacities import capacity
from waspbench.figures.comparisons import comparison
from waspbench.figures.distributions import distribution
from waspbench.figures.fields import FieldKind
from waspbench.figures.figure import Axis, Figure, Panel
from waspbench.figures.matrices import matrix
from waspbench.figures.normality import normal_probability
from waspbench.figures.options import Log, Options
from waspbench.figures.outcomes import outcomes
from waspbench.figures.queues import queues
from waspbench.figures.runs import series
from waspbench.figures.searches import load_search
from waspbench.figures.sources import NoFigureError, Results, Source, source_of
from waspbench.figures.style import is_empty
from waspbench.figures.sweeps import QUANTITIES, Quantity, against, quantity_of
from waspbench.figures.values import told
from waspbench.figures.waiting import waiting
from waspbench.suggestion import hint

Maker = Callable[[Sequence[Source], Options], Figure]


@dataclass(frozen=True)
class FigureKind:
    """A figure that can be asked for."""

    name: str
    description: str
    """What it shows, in one line."""
    make: Maker
    metrics: tuple[Metric, ...] = ()
    """The figures of tables that it draws, as far as results must be loaded with them."""
    several: bool = False
    """Whether it shows several results at once."""
    swept: bool = False
    """Whether it has a swept field along its axis."""

    @property
    def percentiles(self) -> list[str]:
        """Names of the percentiles that results need for it."""
        return percentiles_of(self.metrics)


_AGAINST: dict[FieldKind | None, str] = {
    "load": "the number of clients or the rate of arrivals",
    "rtt": "the round-trip time",
    "loss": "the rate of loss",
    None: "any swept field",
}


def _swept(quantity: Quantity, kind: FieldKind | None) -> FigureKind:
    name = quantity.name if kind is None else f"{quantity.name}-vs-{kind}"
    description = f"{quantity.title} against {_AGAINST[kind]}."
    return FigureKind(name, description, against(quantity, kind), quantity.metrics, swept=True)


def _capacity(kind: FieldKind | None) -> FigureKind:
    name = "capacity" if kind is None else f"capacity-vs-{kind}"
    description = f"What a search found, or the largest throughput over loads, against {_AGAINST[kind]}."
    return FigureKind(name, description, capacity(kind), swept=True)


def _comparison(metric: Metric | None) -> FigureKind:
    what = "throughput, or of what searches found" if metric is None else str(metric)
    return FigureKind(
        "comparison" if metric is None else f"{metric}-comparison",
        f"Change of {what}, from the first of several results to the others.",
        comparison(metric),
        several=True,
        swept=True,
    )


def _matrix(metric: Metric | None) -> FigureKind:
    what = "Throughput and p99" if metric is None else str(metric)
    return FigureKind(
        "matrix" if metric is None else f"{metric}-matrix",
        f"{what} of every combination of two swept fields, as numbers in cells.",
        matrix(metric),
        (Metric("p99"),) if metric is None else (metric,),
        swept=True,
    )


def _normal(metric: Metric | None) -> FigureKind:
    return FigureKind(
        "normal-probability" if metric is None else f"{metric}-normal-probability",
        f"{'Throughput' if metric is None else metric} of runs against a normal distribution (Shapiro and Wilk).",
        normal_probability(metric),
        () if metric is None else (metric,),
    )


def _every() -> Iterator[FigureKind]:
    yield from (_swept(quantity, kind) for quantity in QUANTITIES for kind in _AGAINST)
    yield FigureKind(
        "response-time-cdf",
        "Share of the transactions that took no longer: of groups, points, or several results.",
        distribution(above=False),
        several=True,
    )
    yield FigureKind(
        "response-time-ccdf",
        "Share of the transactions that took longer, on logarithmic axes: the tail.",
        distribution(above=True),
        several=True,
    )
    yield from map(_capacity, _AGAINST)
    yield FigureKind(
        "load-search",
        "What each load of a search for capacity brought: throughput, and what objectives judge.",
        load_search,
    )
    yield _comparison(None)
    yield _matrix(None)
    yield FigureKind(
        "outcomes",
        "Shares of the transactions that ended in each way: of groups, points, or several results.",
        outcomes,
        several=True,
    )
    yield FigureKind("queues", "What waited before links, and the packets that did not pass, by group.", queues)
    yield FigureKind("waiting", "What waited at observed links by second, and how long packets waited there.", waiting)
    yield _normal(None)
    yield FigureKind("series", "Throughput, errors, transactions in flight and server CPU by second.", series)


KINDS: dict[str, FigureKind] = {kind.name: kind for kind in _every()}
"""Every figure, by its name. What conditions name can be drawn, too, such as ``phones.p99-vs-load``."""


def kind_named(name: str) -> FigureKind:
    """The figure with a name.

    Raises:
        InputError: there is none.
    """
    if name in KINDS:
        return KINDS[name]
    for ending, (read, make) in _OF_A_METRIC.items():
        if name.endswith(f"-{ending}"):
            return make(_asked(read, name.removesuffix(f"-{ending}"), name))
    of, _, field = name.rpartition("-vs-")
    kinds = {str(kind): kind for kind in _AGAINST if kind is not None}
    try:
        return _swept(quantity_of(metric(of if field in kinds else name)), kinds.get(field) if of else None)
    except FieldError:
        near = hint(name, [*KINDS, *(f"{of}-vs-{kind}" for kind in kinds if _is_metric(of))])
        more = f"and what conditions name: p99.9-vs-load, {', '.join(f'p99-{ending}' for ending in _OF_A_METRIC)}"
        message = f"unknown figure; {near}valid here: {', '.join(KINDS)}, {more}"
        raise InputError.at(Argument("figure"), message, name) from None


def _is_metric(text: str) -> bool:
    try:
        metric(text)
    except FieldError:
        return False
    return True


_OF_A_METRIC: dict[str, tuple[Callable[[str], Metric], Callable[[Metric | None], FigureKind]]] = {
    "comparison": (compared_metric, _comparison),
    "matrix": (metric, _matrix),
    "normal-probability": (metric, _normal),
}
"""How the names of figures end that have the name of a metric before, what reads it, and the figure."""


def _asked(read: Callable[[str], Metric], text: str, name: str) -> Metric:
    """The metric that the name of a figure begins with.

    Raises:
        InputError: it is none.
    """
    try:
        return read(text)
    except FieldError as error:
        raise InputError.at(Argument("figure"), str(error), name) from None


def figure(
    results: Results | Source | Sequence[Results | Source],
    name: str,
    *,
    x: str | None = None,
    by: Sequence[str] = (),
    log: Log | None = None,
) -> Figure:
    """The figure with a name, of results.

    Args:
        results: A result, a study, a search for capacity or a comparison; several where the figure shows several.
        name: One of `KINDS`, or what a condition names and a field, such as ``phones.p99-vs-load``.
        x: The swept field along the axis, such as ``clients.rtt``.
        by: Swept fields whose values are families of curves, and ``group`` for curves of each group of clients; all
            other swept fields unless given. Those left out make panels.
        log: The logarithmic axes: ``x``, ``y``, ``xy`` or ``none``; as fits the values unless given.

    Raises:
        InputError: no figure has the name, an option is not valid for it, or these results have no such figure
            (`NoFigureError`).
    """
    kind = kind_named(name)
    sources = _labelled(results)
    fields = (by,) if isinstance(by, str) else tuple(by)
    _check(kind, len(sources), x, fields, log)
    try:
        made = kind.make(sources, Options(x, fields))
    except NoFigureError as error:
        raise NoFigureError.because(f"{name} {error.problems[0].message}") from None
    if all(map(is_empty, made.panels)):
        why = f": {told(made.warnings)}" if made.warnings else ""
        raise NoFigureError.because(f"{name} would show nothing{why}")
    if log is None:
        return made
    return replace(made, panels=tuple(_scaled(panel, log) for panel in made.panels))


def _check(kind: FigureKind, sources: int, x: str | None, by: tuple[str, ...], log: Log | None) -> None:
    if (x or by) and not kind.swept:
        message = f"is for figures against a swept field, such as throughput-vs-load; {kind.name} is none"
        option, given = (Argument("x"), x) if x else (Argument("by"), by[0])
        raise InputError.at(option, f"{message}. DIR@path=value chooses points", given)
    if log is not None and log not in get_args(Log):
        raise InputError.at(Argument("log"), f"must be one of {', '.join(get_args(Log))}", log)
    if sources > 1 and not kind.several:
        able = ", ".join(each.name for each in KINDS.values() if each.several)
        raise NoFigureError.because(f"{kind.name} is of one result, and {sources} are given; of several are {able}")


def _labelled(results: Results | Source | Sequence[Results | Source]) -> list[Source]:
    """The sources, no two of them with the same label."""
    sources = [source_of(each) for each in (results if isinstance(results, Sequence) else [results])]
    if not sources:
        raise InputError.at(Argument("results"), "missing; give at least one result")
    labels = [source.label for source in sources]
    return [
        replace(source, label=f"{source.label} ({labels[: index + 1].count(source.label)})")
        if labels.count(source.label) > 1
        else source
        for index, source in enumerate(sources)
    ]


def _scaled(panel: Panel, log: Log) -> Panel:
    """A panel with the logarithmic axes that are asked for.

    Raises:
        InputError: an axis has names or values that have no place on a logarithmic one.
    """
    x = [value for trace in panel.traces for value in trace.x]
    y = [value for trace in panel.traces if trace.kind != "reference" for value in trace.y if value is not None]
    wanted = "" if log == "none" else log
    return replace(
        panel,
        x=_axis(panel.x, x, "x", log="x" in wanted),
        y=_axis(panel.y, y, "y", log="y" in wanted),
    )


def _axis(axis: Axis, values: Sequence[float], letter: str, *, log: bool) -> Axis:
    if log and axis.categories:
        names = ", ".join(axis.categories)
        raise InputError.at(Argument("log"), f"the {letter} axis has names, not numbers: {names}", letter)
    if log and min(values, default=1.0) <= 0:
        raise InputError.at(
            Argument("log"),
            f"the {letter} axis ({axis.label}) has the value {min(values):g}, and only values above 0 have a place on "
            "a logarithmic one",
            letter,
        )
    return replace(axis, log=log)


def available(results: Results | Source | Sequence[Results | Source]) -> list[tuple[FigureKind, str | None]]:
    """Every figure of `KINDS`, with why these results do not have it; None where they do."""
    found: list[tuple[FigureKind, str | None]] = []
    for kind in KINDS.values():
        try:
            figure(results, kind.name)
        except InputError as error:
            found.append((kind, error.problems[0].message.removeprefix(f"{kind.name} ")))
        else:
            found.append((kind, None))
    return found
