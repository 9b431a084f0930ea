"""Comparing results, points within one, or capacities: which belong together, and what the statistics say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from waspbench.errors import Argument, InputError, show
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.metrics import PERCENTILES, Metric, compared, percentiles_of
from waspbench.experiment.search import Find
from waspbench.experiment.sweep import text_of
from waspbench.results.capacity import PointCapacity, load_capacity
from waspbench.results.check import Check
from waspbench.results.checks import check_measured, lacking_of_runs, run_values
from waspbench.results.chosen import check_swept, is_chosen
from waspbench.results.columns import Line, no_line, settings, shown, swept
from waspbench.results.differences import Difference, differences, facts, incomparable
from waspbench.results.estimates import every_percentile
from waspbench.results.formats import Record, json_of
from waspbench.results.lines import line_of
from waspbench.results.named import Comparable, Named, named
from waspbench.results.regression import CAPACITY, judge, limit_of
from waspbench.results.result import Result
from waspbench.results.shown import Shown
from waspbench.results.study import is_study, load_study, read_plan
from waspbench.stats.comparison import Comparison, Span, TestName, Verdict, compare, compare_spans, runs_needed
from waspbench.stats.levels import ALPHA
from waspbench.tabular import Column, Listing

if TYPE_CHECKING:
    import polars as pl

LEAST_ALPHA = 1e-6
"""The least level at which a call can be asked for; far below, no number of runs could be enough."""

NOT_COMPARABLE: Literal["not comparable"] = "not comparable"
"""The verdict on capacities that were found in different ways or under different objectives."""


UNFINISHED = "no run is finished"
"""What a point lacks that has no results."""


class Compared(Record):
    """B against A at one point."""

    varied: dict[str, Any]
    """Values of the swept fields that both have in common, by path."""
    runs: tuple[int, int]
    """Number of runs of A and of B."""
    means: tuple[float, float]
    """Means of A and of B over their runs, in the unit of the figure: /s, bit/s or milliseconds. For a percentile it is
    the mean of the runs' percentiles, which may differ from the percentile of all runs together. For searches for
    clients or a rate, it is the number of clients or arrivals a second that they found."""
    ratio: float | None
    """Ratio of the means, mean(B) / mean(A); None if both are only lower bounds of a capacity."""
    ratio_ci90: tuple[float, float] | None
    """90 % confidence interval of the ratio (Fieller). For clients and rates it reaches from the smallest to the
    largest ratio that the intervals of A and B allow."""
    ratio_ends: tuple[float | None, float | None] = (None, None)
    """Ends of that interval as far as they are known: the lower end is None if A is only a lower bound, and the upper
    end if B is."""
    shift: float
    """Hodges-Lehmann estimate of the shift from A to B."""
    test: TestName
    """Test of the difference: permutation, Mann-Whitney, or interval (for clients and rates that searches found)."""
    p: float
    """P-value: the probability of a difference at least as large if there is none."""
    p_holm: float
    """P-value corrected for the number of points (Holm)."""
    verdict: Verdict | Literal["not comparable"]
    """Verdict on B, at the significance level ``alpha`` over all points together: faster, slower, or no difference
    shown; or not comparable, for the reason in not_comparable."""
    lines: tuple[Line, Line]
    """Figures of A and of B, or of the group of clients that the metric names. For a capacity they are of the runs that
    confirmed it."""
    at_least: tuple[bool, bool] = (False, False)
    """Whether A, and whether B, is only a lower bound of a capacity."""
    note: str | None
    """Why the test could not have shown any difference; None if it could."""
    valid: bool
    """Whether both results are valid."""


class ComparisonResult(Shown):
    """The comparison of two results. Its JSON is what ``wasp compare --json`` prints."""

    a: str
    """Name of A: the text that named the results, or the directory or name of results in memory."""
    b: str
    """Name of B, of the same kind."""
    metric: str
    """Figure that is compared, such as ``throughput`` or ``phones.p95``."""
    alpha: float
    """Significance level over all points together: the probability to report a difference where there is none."""
    points: list[Compared]
    """The points that A and B have in common."""
    unmatched: list[str]
    """Points that only A or only B has."""
    lacking: list[str] = Field(default_factory=list)
    """Points that cannot be compared, with the reason, such as too few transactions for the percentile."""
    differences: list[Difference]
    """Other differences between A and B, apart from swept fields: in mode, experiment, machine, version."""
    not_comparable: list[str]
    """Why the two capacities are of different kinds; empty if they are of one kind."""
    valid: bool
    """Whether both results are valid and comparable."""
    percentiles: list[str] = Field(default_factory=lambda: list(PERCENTILES))
    """Names of the percentiles that tables show."""
    checks: list[Check] = Field(default_factory=list)
    """Whether B is slower than the limit (``fail_on``) allows, at each point."""

    @property
    def listing(self) -> Listing:
        """The table with a line for each side of each point."""
        rows = [
            {**settings(point.varied), "side": side, **line.figures}
            for point in self.points
            for side, line in zip("AB", point.lines, strict=True)
        ]
        columns = {**swept(point.varied for point in self.points), "side": Column(""), **shown(self.percentiles)}
        return Listing(columns, rows)

    def to_frame(self) -> pl.DataFrame:
        """A data frame of polars with a row for each point: both means, their ratio, and the verdict. Its
        ``to_pandas()`` returns a frame of pandas.
        """
        from waspbench.results.frames.comparisons import comparison_frame  # which takes polars to be imported

        return comparison_frame(self)

    def to_json(self) -> str:
        """The comparison as one JSON object, with the lines of ``listing`` as its field ``table``."""
        return json_of(self, self.listing.rows)


@dataclass(frozen=True)
class Candidate:
    """A point that can be compared."""

    varied: dict[str, Any]
    values: list[float]
    """The figure in each of its runs; for a capacity, throughput in those that confirmed it."""
    valid: bool
    line: Line = field(default_factory=no_line)
    """What a table says of them, or of the group of clients that the figure is of."""
    lacking: str | None = None
    """Why one of its runs has no such figure, in words."""
    percentiles: tuple[str, ...] = PERCENTILES
    """Those that its tables show."""
    span: Span | None = None
    """The interval of the load that a search for clients or a rate found."""
    is_lower_bound: bool = False
    """Whether a search found no more than a lower bound."""


Side = tuple[dict[str, Any], list[Candidate]]


def _side(given: Named, metric: Metric | None, percentiles: Sequence[str] | None) -> Side:
    """The values that choose points of results, and the points with a figure of each of their runs; without a
    ``metric`` they are capacities.

    Raises:
        InputError: there are no such results or points.
    """
    directory, chosen, shown = given.directory, given.chosen, percentiles or given.percentiles
    found = _capacities(directory, shown) if metric is None else _points(directory, metric, shown)
    if given.points is not None:
        found = _of_these(found, given)
    check_swept(given.label, chosen, (point.varied for point in found))
    points = [point for point in found if is_chosen(point.varied, chosen)]
    if not any(point.values or point.lacking != UNFINISHED for point in points):
        raise InputError.at(given.label, "has no finished point" + (f" with {text_of(chosen)}" if chosen else ""))
    return points[0].varied if given.alone else chosen, points


def _of_these(found: Sequence[Candidate], given: Named) -> list[Candidate]:
    """The points of a directory that are those of results in memory.

    Raises:
        InputError: there are others now.
    """
    wanted = given.points or {}
    kept = [found[index] for index in wanted if index < len(found) and found[index].varied == wanted[index]]
    if len(kept) < len(wanted):
        raise InputError.at(given.label, "its directory has other results now")
    return kept


def _points(directory: str, metric: Metric, percentiles: Sequence[str] | None) -> list[Candidate]:
    study = load_study(directory, percentiles=percentiles, judged_percentiles=percentiles_of([metric]))
    return [
        Candidate(point.varied, [], False, lacking=UNFINISHED)
        if point.result is None
        else _candidate(point.varied, point.result, metric)
        for point in study.points
    ]


def _candidate(varied: dict[str, Any], result: Result, metric: Metric) -> Candidate:
    check_measured(metric, result)
    line = line_of(result, metric)
    return Candidate(
        varied,
        run_values(result, metric),
        result.valid,
        line,
        lacking_of_runs(result, metric),
        tuple(result.percentiles),
    )


def _capacities(directory: str, percentiles: Sequence[str] | None) -> list[Candidate]:
    found = load_capacity(directory, percentiles=percentiles)
    return [
        Candidate(
            point.varied,
            [reading.throughput for reading in point.behind],
            bool(point.valid),
            point.line,
            percentiles=tuple(found.percentiles),
            lacking=_lacking_capacity(point),
            span=_span(point, found.find),
            is_lower_bound=point.is_lower_bound,
        )
        for point in found.points
    ]


def _lacking_capacity(point: PointCapacity) -> str | None:
    if point.capacity is not None:
        return None
    return "none was found" if point.readings else UNFINISHED


def _span(point: PointCapacity, find: Find) -> Span | None:
    """The interval of the load that was looked for; None of throughput, which has runs to be compared by."""
    if find == "throughput" or point.capacity is None or point.ci90 is None:
        return None
    low, high = point.ends
    return None if low is None else Span(point.capacity, low, high, point.runs)


def _found_by(directories: Sequence[str]) -> str:
    """The figure by which two searches are compared."""
    finds = {str(read_plan(directory).search.get("find", "throughput")) for directory in directories}
    return CAPACITY if finds == {"throughput"} or len(finds) > 1 else finds.pop()


def _is_capacity(directory: str) -> bool:
    return is_study(directory) and read_plan(directory).kind == "capacity"


def compare_results(
    first: Comparable,
    second: Comparable,
    metric: str = "throughput",
    alpha: float = ALPHA,
    *,
    percentiles: Sequence[str] | None = None,
    fail_on: str | None = None,
) -> ComparisonResult:
    """Compares two results, point by point. Points that only one of them has are ``unmatched``.

    Args:
        first: A: results in memory, a directory of results, or ``DIR@path=value,path=value``, which chooses points of a
            directory.
        second: B, of the same kinds.
        metric: the figure to compare: ``throughput``, ``goodput``, ``mean`` or a percentile such as ``p95``; with
            ``all.`` in front of all transactions that ended, errors included; and with the name of a group of clients
            before that: ``phones.p95``, ``phones.all.p95``.
        alpha: significance level over all points together: the probability to report a difference where there is none.
        percentiles: names of the percentiles that tables show, such as ``p99.9``. By default they are those of A.
        fail_on: how much slower B may be, such as ``slower:5%``. The result's ``checks`` say at which points B keeps
            this limit.

    Raises:
        InputError: there are no such results, no point is common to both, several points of one side match one of the
            other, no common point can be compared, or an argument is not valid.
    """
    if not LEAST_ALPHA <= alpha < 1:
        raise InputError.at(Argument("alpha"), f"must be from {LEAST_ALPHA:g} to below 1", alpha)
    limit = None if fail_on is None else limit_of(fail_on)
    given = named(first, "first"), named(second, "second")
    if limit is not None and given[0].is_same(given[1]):
        raise InputError.at(given[1].label, "is the same as A, so that it cannot be slower")
    figure = _figure(given, metric)
    one = _side(given[0], figure, percentiles)
    sides = one, _side(given[1], figure, percentiles or one[1][0].percentiles)
    result = _compared_sides(given, sides, figure, alpha, partly=limit is not None)
    if limit is None:
        return result
    faster = figure is None or bool(figure.larger_is_faster)
    return result.model_copy(update={"checks": judge(result, limit, larger_is_faster=faster)})


def _compared_sides(
    given: tuple[Named, Named], sides: tuple[Side, Side], figure: Metric | None, alpha: float, *, partly: bool
) -> ComparisonResult:
    """The comparison of two sides; ``partly`` says whether it is one where no point can be compared, too.

    Raises:
        InputError: it is not.
    """
    one, two = sides
    pairs, unmatched = matched(one, two)
    if not pairs:
        raise InputError.at(given[1].label, f"has no point in common with {given[0].label}")
    lacks = [text for pair in pairs for text in _lacking(*pair)]
    pairs = [pair for pair in pairs if not _lacking(*pair)]
    if not pairs and not partly:
        raise InputError.at(given[1].label, f"cannot be compared with {given[0].label}: {'; '.join(lacks)}")
    directories = [each.directory for each in given]
    apart = incomparable(*directories) if figure is None else []
    faster = figure is None or bool(figure.larger_is_faster)
    made = _tested([(a, b) for _, a, b in pairs], alpha, larger_is_faster=faster)
    points = [
        _compared(varied, a, b, found, alpha, len(pairs)) for (varied, a, b), found in zip(pairs, made, strict=True)
    ]
    if apart:
        points = [point.model_copy(update={"verdict": NOT_COMPARABLE}) for point in points]
    asked = [] if figure is None else percentiles_of([figure])
    a, b = _labels(*given)
    return ComparisonResult(
        a=a,
        b=b,
        metric=_found_by(directories) if figure is None else str(figure),
        alpha=alpha,
        points=points,
        unmatched=unmatched,
        lacking=lacks,
        differences=differences(facts(directories[0]), facts(directories[1]), _fields(one[1]) | _fields(two[1])),
        not_comparable=apart,
        valid=not apart and all(point.valid for point in points),
        percentiles=every_percentile([*one[1][0].percentiles, *asked], always=()),
    )


def _labels(one: Named, two: Named) -> tuple[str, str]:
    """What A and B are called; other results under one name are told apart."""
    alike = one.label == two.label and not one.is_same(two)
    return (f"{one.label} (A)", f"{two.label} (B)") if alike else (one.label, two.label)


def _figure(given: tuple[Named, Named], metric: str) -> Metric | None:
    """The figure that is compared; None of two searches for capacity.

    Raises:
        InputError: it cannot be compared, or only one of the two is a search.
    """
    try:
        figure = compared(metric)
    except FieldError as error:
        raise InputError.at(Argument("metric"), str(error), metric) from None
    searched = [_is_capacity(each.directory) for each in given]
    if not any(searched):
        return figure
    for each in given:
        if not Path(each.directory).is_dir():
            raise InputError.at(each.directory, "there is no such directory")
    if not all(searched):
        raise InputError.at(given[1].label, "one of the two is a search for capacity, and the other is not")
    if metric != "throughput":
        raise InputError.at(Argument("metric"), "capacities are compared by what was found", metric)
    return None


def _tested(pairs: Sequence[tuple[Candidate, Candidate]], alpha: float, *, larger_is_faster: bool) -> list[Comparison]:
    """What statistics say of each pair: of intervals where both sides have one, else of the values of their runs."""
    spans = [(one.span, two.span) for one, two in pairs if one.span is not None and two.span is not None]
    if len(spans) == len(pairs):
        return compare_spans(spans, alpha=alpha)
    values = [(one.values, two.values) for one, two in pairs]
    return compare(values, larger_is_faster=larger_is_faster, alpha=alpha)


def matched(one: Side, two: Side) -> tuple[list[tuple[dict[str, Any], Candidate, Candidate]], list[str]]:
    """The points of both sides that agree in all fields that both sweep and neither chose by, and the rest in words.

    Raises:
        InputError: points of one side cannot be told apart by these fields.
    """
    chosen = one[0].keys() | two[0].keys()
    common = _fields(one[1]) & _fields(two[1]) - chosen
    sides = [_keyed(points, common, name) for (_, points), name in ((one, "A"), (two, "B"))]
    pairs = [(_part(point.varied, common), point, sides[1][key]) for key, point in sides[0].items() if key in sides[1]]
    unmatched = [
        f"{name}: {text_of(point.varied)}"
        for name, mine, others in (("A", sides[0], sides[1]), ("B", sides[1], sides[0]))
        for key, point in mine.items()
        if key not in others
    ]
    return pairs, unmatched


def _lacking(varied: dict[str, Any], one: Candidate, two: Candidate) -> list[str]:
    """Why a point cannot be compared, in words; nothing where it can."""
    at = text_of(varied)
    return [
        f"{name}{f' at {at}' if at else ''}: {candidate.lacking}"
        for name, candidate in (("A", one), ("B", two))
        if candidate.lacking is not None
    ]


def _fields(points: Sequence[Candidate]) -> set[str]:
    return {path for point in points for path in point.varied}


def _part(varied: Mapping[str, Any], paths: set[str]) -> dict[str, Any]:
    return {path: value for path, value in varied.items() if path in paths}


def _keyed(points: Sequence[Candidate], paths: set[str], name: str) -> dict[str, Candidate]:
    found: dict[str, Candidate] = {}
    for point in points:
        key = show({path: point.varied.get(path) for path in sorted(paths)}, 10_000)
        if key in found:
            how = "choose (DIR@path=value, or study.at in Python)"
            message = f"{text_of(found[key].varied)} and {text_of(point.varied)} both match; {how}"
            raise InputError.at(name, message)
        found[key] = point
    return found


def _compared(
    varied: dict[str, Any], one: Candidate, two: Candidate, found: Comparison, alpha: float, points: int
) -> Compared:
    bound = _bound(found, one, two)
    return Compared(
        varied=varied,
        runs=(found.first, found.second),
        means=found.means,
        ratio=found.ratio,
        ratio_ci90=found.interval,
        ratio_ends=(
            None if one.is_lower_bound else found.ends[0],
            None if two.is_lower_bound else found.ends[1],
        ),
        shift=found.shift,
        test=found.test,
        p=found.p,
        p_holm=found.p_holm,
        verdict="no difference shown" if bound else found.verdict,
        lines=(one.line, two.line),
        at_least=(one.is_lower_bound, two.is_lower_bound),
        note=bound if found.able else _unable(found, alpha, points),
        valid=one.valid and two.valid,
    )


def _bound(found: Comparison, one: Candidate, two: Candidate) -> str | None:
    """Why a difference is not shown that there seems to be: the smaller capacity is only a lower bound."""
    smaller = {"slower": ("B", two), "faster": ("A", one)}.get(found.verdict)
    if smaller is None or not smaller[1].is_lower_bound:
        return None
    return f"the capacity of {smaller[0]} is only a lower bound, and may be larger than the other's"


def _unable(found: Comparison, alpha: float, points: int) -> str:
    """Why no difference could have been shown."""
    if found.test == "interval":
        return "neither interval has an upper end: more than was found may meet the objective"
    over = f" over {points} points" if points > 1 else ""
    needed = runs_needed(alpha, points)
    return (
        f"{found.first} and {found.second} runs are too few to show any difference at {100 * alpha:g} %{over}: "
        f"at least {needed} and {needed} are needed"
    )
