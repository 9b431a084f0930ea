"""The report on several results, each of them held against the first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from waspbench.experiment.metrics import metric
from waspbench.experiment.search import FINDS
from waspbench.figures.sources import Source, settings_of, short_name
from waspbench.report import again, alerts, figures, searches, server, setting, studies
from waspbench.report.content import Block, Items, Report, Section, Table, Words, items, table, with_blocks
from waspbench.report.sources import ComparisonSource, Side, StudySource
from waspbench.results import answers
from waspbench.results.columns import Line, columns_of, settings, swept
from waspbench.results.comparing import Compared, ComparisonResult
from waspbench.results.frames.comparisons import comparison_frame
from waspbench.results.regression import CAPACITY
from waspbench.results.verdicts import change, failing, means, sentence, tested, unit_of_means
from waspbench.tabular import NONE, Column, Listing

MOST_TOLD = 6
"""Points of all comparisons that are told in words; the table has all."""

TRUSTED = "Yes: all results are valid. The next section says in what they differ besides what is compared."


def comparison_report(source: ComparisonSource) -> Report:
    """The report on a comparison, or on several with the same first side."""
    first, names = source.comparisons[0], [found.b for found in source.comparisons]
    modes = dict.fromkeys(side.origin.mode for side in source.sides)
    return Report(
        kind="comparison",
        title=_title([*names, first.a]),
        summary=f"{first.metric} of {_and(names)} against {first.a}",
        mode=" and ".join(modes),
        metric=first.metric,
        unit=unit_of_means(first.metric),
        directories=[first.a, *names],
        complete=not any(found.unmatched or found.lacking for found in source.comparisons),
        valid=source.valid,
        alerts=list(_alerts(source)),
        sections=with_blocks(
            _finding(source),
            _trust(source),
            setting.of_comparison(source),
            _tables(source),
            _figures(source),
            server.of_sides(source.lettered),
            again.of_comparison(source),
        ),
        points=_rows(source),
    )


def _title(names: Sequence[str]) -> str:
    """Short names, unless they are alike."""
    short = [short_name(name) for name in names]
    called = short if len(set(short)) == len(short) else names
    return f"{_and(called[:-1])} against {called[-1]}"


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _alerts(source: ComparisonSource) -> Iterator[Items]:
    apart = [f"{letter} and A: {why}" for letter, found in source.against_first for why in found.not_comparable]
    if apart:
        yield items("Not comparable", apart, "bad")
    reasons = [f"{letter}: {text}" for letter, side in source.lettered for text in _reasons(side)]
    if reasons:
        yield items(alerts.NOT_TRUSTED, reasons, "bad")
    apart = [text for letter, found in source.against_first for text in _not_compared(found, letter)]
    if apart:
        yield items("Points that are not compared", apart, "bad")
    few = [f"{letter} and A: {text}" for letter, found in source.against_first for text in _too_few(source, found)]
    if few:
        yield items("Too few runs to show a difference", few, "doubt")
    yield from alerts.failing(
        [
            (", ".join(filter(None, (letter, settings_of(point.varied)))), point.result)
            for letter, side in source.lettered
            if isinstance(side, StudySource)
            for point in side.study.points
            if point.result is not None
        ]
    )


def _too_few(source: ComparisonSource, found: ComparisonResult) -> list[str]:
    """Why no difference could have been shown; that of searches is no matter of runs."""
    if not all(isinstance(side, StudySource) for side in source.sides):
        return []
    return list(dict.fromkeys(point.note for point in found.points if point.note is not None))


def _not_compared(found: ComparisonResult, letter: str) -> Iterator[str]:
    """The points that only one of the two has, or that cannot be compared; each of these texts begins with A or B."""
    for text in found.unmatched:
        side, other = ("A", letter) if text.startswith("A") else (letter, "A")
        yield f"in {side}, and not in {other}{text[1:]}"
    for text in found.lacking:
        yield f"{letter} and A: {_sided(text, letter)}"


def _sided(text: str, letter: str) -> str:
    """A text that begins with A or B, with the letter of the side in place of B."""
    return f"{letter}{text[1:]}" if text.startswith("B") else text


def _reasons(side: Side) -> list[str]:
    if isinstance(side, StudySource):
        return alerts.reasons_of(side.study)
    if any(point.valid is None for point in side.search.points):
        return [searches.NOT_KNOWN]
    return [] if side.search.valid else searches.reasons_of(side.search) or answers.against(side.search)


def _finding(source: ComparisonSource) -> Section:
    """Whether each side is faster or slower than A, by how much, and how sure that is."""
    few = sum(len(found.points) for found in source.comparisons) <= MOST_TOLD
    blocks: list[Block] = [_nature(source)]
    for letter, found in source.against_first:
        title = f"{found.metric} of {letter}, {found.b}, against A, {found.a}"
        blocks += _told(title, found, letter, few=few)
    return Section(name="finding", title="What was found", blocks=blocks)


def _told(title: str, found: ComparisonResult, letter: str, *, few: bool) -> list[Block]:
    """How many points there are of each verdict, below a ``title``; and every point where they are few, else the two
    with the largest changes.
    """
    if found.not_comparable:
        return [items(title, [f"not comparable: {why}" for why in found.not_comparable], "bad")]
    if len(found.points) == 1:
        only = _point(found.points[0], found, letter)
        return [only.model_copy(update={"title": ", ".join(filter(None, (title, only.title)))})]
    of = len(found.points)
    counts = Counter(point.verdict for point in found.points)
    told = [f"{verdict} at {count} of {of} points" for verdict, count in counts.items()]
    shown = found.points if few else _extremes(found.points)
    if len(shown) < of:
        told.append("the points with the least and the largest change follow; the table has all")
    return [items(title, told), *(_point(point, found, letter) for point in shown)]


def _nature(source: ComparisonSource) -> Words:
    """Which sides were measured, and which simulated."""
    live, sim = ([letter for letter, side in source.lettered if side.origin.mode == mode] for mode in ("live", "sim"))
    if not live or not sim:
        return studies.nature("live" if live else "sim")
    told = ((live, "measured"), (sim, "simulated"))
    parts = [f"{_and(letters)} {'was' if len(letters) == 1 else 'were'} {how}" for letters, how in told]
    return Words(text=f"{'; '.join(parts)}.", tone="doubt")


def _extremes(points: Sequence[Compared]) -> list[Compared]:
    """The points at which a side has least and most of A's figure, in their order."""
    known = [(point.ratio, index) for index, point in enumerate(points) if point.ratio is not None]
    return [points[index] for index in sorted({choose(known)[1] for choose in (min, max)})] if known else []


def _point(point: Compared, found: ComparisonResult, letter: str) -> Items:
    said = [sentence(point, found.metric), tested(point), *_undecided(point, found), *failing(point, f"A{letter}")]
    note = [] if point.note is None else [re.sub(r"\bB\b", letter, point.note)]  # no text of the results is in it
    return items(settings_of(point.varied), [*said, *note])


def _undecided(point: Compared, found: ComparisonResult) -> Iterator[str]:
    """Why a difference is not called that one point alone would have shown."""
    if point.p < found.alpha <= point.p_holm and not any(point.at_least):
        of = f"{len(found.points)} points at {100 * found.alpha:g} %"
        yield f"by itself this point would be called; over {of} together it is not, and more runs would tell"


def _trust(source: ComparisonSource) -> Section:
    said = Words(text=TRUSTED, tone="good") if source.valid else Words(text=alerts.UNTRUSTED, tone="bad")
    known = [
        f"{letter}: {text}"
        for letter, side in source.lettered
        for text in (studies.known(side) if isinstance(side, StudySource) else side.origin.labels)
    ]
    return alerts.trust(said, [], known)


def _tables(source: ComparisonSource) -> Section:
    """The verdicts, and the figures of all sides."""
    blocks = _verdicts(source)
    for letter, side in source.lettered:
        made = studies.tables(side) if isinstance(side, StudySource) else searches.tables(side)
        blocks += [
            block.model_copy(update={"title": f"{letter}: {block.title[:1].lower()}{block.title[1:]}"})
            for block in made.blocks
            if isinstance(block, Table)
        ]
    return Section(name="tables", title="Numbers with their intervals", blocks=blocks)


def _verdicts(source: ComparisonSource) -> list[Block]:
    """A line for each point of each comparison."""
    first = source.comparisons[0]
    several = len(source.comparisons) > 1
    rows = [
        {
            **settings(point.varied),
            "side": letter,
            "means": means(point, found.metric),
            "change": change(point) or NONE,
            "test": point.test,
            "p": point.p_holm,
            "verdict": point.verdict,
            "runs": f"{point.runs[0]} and {point.runs[1]}",
            "valid": point.valid,
        }
        for letter, found in source.against_first
        for point in found.points
    ]
    fields = swept(point.varied for found in source.comparisons for point in found.points)
    side = {"side": Column("side", left=True)} if several else {}
    pair = {"means": Column(f"A -> {'side' if several else 'B'}", left=True)}
    whole = "the points of each comparison" if several else "all points"
    every = f", Holm over {whole}" if len(first.points) > 1 else ""
    title = f"{first.metric}, called at {100 * first.alpha:g} %{every}"
    made: list[Block] = [table(title, Listing({**side, **fields, **pair, **_VERDICT}, rows))]
    return [*made, Words(text=OF_RUNS)] if _is_percentile(first.metric) else made


OF_RUNS = (
    "A percentile is compared by its mean over the runs. The tables below have that of all runs' transactions "
    "together, which may differ."
)


def _is_percentile(figure: str) -> bool:
    return figure not in (CAPACITY, *FINDS[1:]) and metric(figure).is_percentile


_VERDICT = {
    "change": Column("change", left=True),
    "test": Column("test", left=True),
    "p": Column("p", lambda p: f"{p:.3g}"),
    "verdict": Column("verdict", left=True, alarms=lambda row: row["verdict"] == "not comparable"),
    "runs": Column("runs"),
    "valid": columns_of(Line)["valid"],
}


def _figures(source: ComparisonSource) -> Section:
    """The changes; then what the runs of all sides say side by side."""
    first = source.comparisons[0]
    compared = [Source(found, _called(letter, found.b)) for letter, found in source.against_first]
    changes = f"{first.metric}-comparison" if again.metric_flag(first.metric) else "comparison"
    wanted = [figures.Wanted(compared, [changes])]
    if all(isinstance(side, StudySource) for side in source.sides):
        sides = [side.drawn(_called(letter, side.name)) for letter, side in source.lettered]
        wanted.append(figures.Wanted(sides, figures.OF_SIDES))
    return figures.section(wanted, [first.a, *(found.b for found in source.comparisons)])


def _called(letter: str, name: str) -> str:
    """A side in a legend."""
    return f"{letter}, {short_name(name)}"


def _rows(source: ComparisonSource) -> list[dict[str, object]]:
    """The rows of the CSV; of several comparisons with the side and its results before them."""
    if len(source.comparisons) == 1:
        return comparison_frame(source.comparisons[0]).to_dicts()
    rows = [
        {"side": letter, "results": found.b, **row}
        for letter, found in source.against_first
        for row in comparison_frame(found).to_dicts()
    ]
    columns = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in columns} for row in rows]
