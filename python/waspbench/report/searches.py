"""The report on a search for capacity."""

from __future__ import annotations

from collections.abc import Iterator

from waspbench.experiment.metrics import Metric
from waspbench.figures.sources import settings_of
from waspbench.report import again, alerts, amounts, figures, server, setting
from waspbench.report.content import Block, Cell, Items, Report, Section, Table, Tone, Words, items, table, with_blocks
from waspbench.report.costs import COSTS, UNTOLD, baselines, changed, costs_table, trusted_costs, validity
from waspbench.report.sources import SearchSource
from waspbench.report.studies import nature, title
from waspbench.report.tables import loads_table
from waspbench.results import answers
from waspbench.results.capacity import CapacityResult, PointCapacity, rows_by_request
from waspbench.results.columns import Line, column_of, columns_of, of_requests, settings, swept
from waspbench.results.loads import UNITS, load_columns, load_number, load_text
from waspbench.results.parts import WHOLE_SESSIONS
from waspbench.results.search_notes import ALARMS, beside, excluded, hints, made
from waspbench.results.sessions import text_of
from waspbench.results.workload import workloads_text
from waspbench.tabular import Column, Figures, Listing, span, whole

MOST_POINTS = 6
"""Points that are told in words, and whose loads have a table each."""

TRUSTED = "Yes: every point was found, confirmed where the method confirms, and made of valid runs."
BOUNDS = "Yes: every run behind these figures is valid. What is called 'at least' is a lower bound, and no capacity."
NOT_KNOWN = "these results are of an older version, which does not say whether its runs are valid"
NOTHING = "There is no figure to trust: no load was found."


def search_report(source: SearchSource) -> Report:
    """The report on a search."""
    search = source.search
    return Report(
        kind="capacity",
        title=title(search.name, source.origin),
        summary=f"{_sought(search)}, of the {_server(source)}. {search.mode}, by {search.method}, seed {search.seed}",
        mode=search.mode,
        directories=[source.name],
        created=source.origin.created,
        complete=search.complete,
        valid=search.valid,
        alerts=list(_alerts(source)),
        sections=with_blocks(
            _finding(source),
            _trust(source),
            setting.of_search(source),
            tables(source),
            figures.section([figures.Wanted([source.drawn()], figures.OF_SEARCH)], [source.name]),
            server.of(source.origin),
            again.of_search(source.origin, source.name),
        ),
        points=search.to_frame().to_dicts(),
    )


def _sought(search: CapacityResult) -> str:
    return answers.sought(search.find, search.objectives)


def _server(source: SearchSource) -> str:
    """The server under test, and what it is asked for."""
    found = next((setup.server for setup in source.origin.setups), {})
    about = "modelled server" if source.search.mode == "sim" else f"server {found.get('kind')}"
    scenario = setting.scenario_of(source.origin)
    return f"{about} ({workloads_text(scenario)})" if scenario else about


def _alerts(source: SearchSource) -> Iterator[Items]:
    search = source.search
    nothing = [point for point in search.points if point.capacity is None and point.outcome is not None]
    if nothing:
        yield items("No load was found", [f"{_at(point)}{point.why}" for point in nothing], "bad")
    reasons = reasons_of(search)
    if reasons:
        yield items(alerts.NOT_TRUSTED, reasons, "bad")
    if not search.complete:
        yield items(alerts.NOT_COMPLETE, [again.resume(source.origin)], "bad")
    bounds = [point for point in search.points if point.is_lower_bound and point.capacity is not None]
    if bounds:
        said = [f"{_at(point)}{'; '.join([point.why, *hints(point)])}" for point in bounds]
        of = f" at {len(bounds)} of {len(search.points)} points" if len(search.points) > 1 else ""
        yield items(f"Only a lower bound was found{of}", said, "doubt")
    yield from alerts.failed(search.checks)


def reasons_of(search: CapacityResult) -> list[str]:
    """What speaks against what a search found; that it found nothing at a point is no such reason."""
    doubted = [point for point in search.points if point.capacity is not None and not point.valid]
    return answers.reasons(search.model_copy(update={"points": doubted})) if doubted else []


def _at(point: PointCapacity) -> str:
    return alerts.joined(settings_of(point.varied))


def _finding(source: SearchSource) -> Section:
    """What was found at each point, and what limits it; of many points at the best and the worst."""
    search = source.search
    told = _told(search)
    said = [_words(point, search) for point in told]
    every = [text for text in said[0] if all(text in other for other in said)] if len(said) > 1 else []
    blocks: list[Block] = [nature(search.mode)]
    for point, texts in zip(told, said, strict=True):
        tone: Tone = "bad" if any(text.startswith(ALARMS) for text in texts) else "plain"
        blocks.append(items(settings_of(point.varied), [text for text in texts if text not in every], tone))
    blocks += [items("At every point", every)] if every else []
    costs = _cost_words(source)
    if costs:
        blocks.append(items(COSTS, costs))
    elif baselines(source.points):
        blocks.append(Words(text=UNTOLD))
    return Section(name="finding", title="What was found", blocks=blocks)


def _words(point: PointCapacity, search: CapacityResult) -> list[str]:
    once = ["of one run, so without an interval"] if len(point.behind) == 1 else []
    said = [*answers.answer(point, search), *beside(point, search.find), *once]
    return [" ".join(text.split()) for text in said]


def _told(search: CapacityResult) -> list[PointCapacity]:
    """All points where they are few, or else the best and the worst of those that may be trusted."""
    if len(search.points) <= MOST_POINTS:
        return search.points
    known = [point for point in search.points if point.capacity is not None and point.valid]
    if not known:
        return search.points[:1]
    best, worst = (choose(known, key=lambda point: point.capacity or 0.0) for choose in (max, min))
    return [best] if best.index == worst.index else [best, worst]


def _cost_words(source: SearchSource) -> list[str]:
    search = source.search
    points = {point.index: point for point in search.points if point.valid and point.capacity is not None}
    lines = []
    for cost in trusted_costs(source.points, points):
        here, there = points[cost.index], points[cost.baseline]
        changed = _change(there, here) or "by how much cannot be told: both are lower bounds"
        values = f"{_amount(there, search)} -> {_amount(here, search)}"
        at = f"{settings_of(here.varied)}, against {settings_of(there.varied)}"
        lines.append(f"{cost.what.capitalize()}: {at}: {values} ({changed}).")
    return lines


def _change(there: PointCapacity | None, here: PointCapacity) -> str:
    """How much more was found at a point than at its baseline; empty where that is not known."""
    if there is None or (there.is_lower_bound and here.is_lower_bound):
        return ""
    said = amounts.change(amounts.ratio(there.capacity, here.capacity))
    if not said:
        return ""
    return f"at most {said}" if there.is_lower_bound else f"at least {said}" if here.is_lower_bound else said


def _amount(point: PointCapacity, search: CapacityResult) -> str:
    if point.capacity is None:
        return "none yet" if point.outcome is None and not search.complete else "none"
    return f"{'at least ' if point.is_lower_bound else ''}{answers.amount(point.capacity, search.find)}"


def _interval(point: PointCapacity, search: CapacityResult) -> str:
    """The interval of what was found, without its unit."""
    found = answers.interval(point, search.find)
    return found or (amounts.ONE_RUN if len(point.behind) == 1 and search.find == "throughput" else "")


def _trust(source: SearchSource) -> Section:
    search = source.search
    more: list[Block] = [Words(text=alerts.SIMULATED)] if search.mode == "sim" else []
    return alerts.trust(_trusted(search), more, source.origin.labels, search.checks)


def _trusted(search: CapacityResult) -> Words:
    """Whether what a search found may be trusted."""
    if any(point.valid is None for point in search.points):
        return Words(text=f"Not known: {NOT_KNOWN}.", tone="doubt")
    if search.valid:
        bounded = any(point.is_lower_bound for point in search.points)
        return Words(text=BOUNDS if bounded else TRUSTED, tone="good")
    if search.complete and all(point.capacity is None for point in search.points):
        return Words(text=NOTHING, tone="doubt")
    return Words(text=alerts.UNTRUSTED, tone="bad")


def tables(source: SearchSource) -> Section:
    """What was found at each point, against its baseline, and at each load."""
    search = source.search
    blocks: list[Block] = [_found(search)]
    costs = _costs(source)
    blocks += [] if costs is None else [costs]
    for point in search.points[:MOST_POINTS]:
        blocks += _loads(point, search)
    if len(search.points) > MOST_POINTS:
        rest = f"The loads of {len(search.points) - MOST_POINTS} more points are in capacity.json."
        blocks.append(Words(text=rest))
    return Section(name="tables", title="Numbers with their intervals", blocks=blocks)


def _found(search: CapacityResult) -> Table:
    """A line for each point."""
    columns = {
        **swept(point.varied for point in search.points),
        "found": Column("found"),
        "load": Column(UNITS[search.find], load_number),
        "throughput": column_of(_THROUGHPUT),
        **_OF_POINTS,
    }
    shown = {point.index: point for point in search.points}

    def interval(name: str, row: Figures) -> str:
        point = shown[row["point"]]
        if name == "throughput" and point.line.throughput_ci90 is not None:
            return span(point.line.throughput_ci90)
        return _interval(point, search) if name == "found" else ""

    return table(
        _sentence(_sought(search)), Listing(columns, [_row(point, search) for point in search.points]), interval
    )


_THROUGHPUT = Metric("throughput")

_OF_POINTS = {
    "bottleneck": Column("bottleneck", left=True),
    "runs": Column("runs", whole),
    "confirmed": Column("confirmed", lambda confirmed: "yes" if confirmed else "no"),
    "valid": columns_of(Line)["valid"],
}


def _row(point: PointCapacity, search: CapacityResult) -> Figures:
    return {
        **settings(point.varied),
        "point": point.index,
        "found": _amount(point, search),
        "load": point.load,
        "throughput": point.line.throughput,
        "bottleneck": point.bottleneck,
        "runs": point.runs,
        "confirmed": point.confirmed,
        "valid": point.valid,
    }


def _costs(source: SearchSource) -> Table | None:
    """What was found at each point against its baseline."""
    points = {point.index: point for point in source.search.points}

    def held(index: int, baseline: int) -> list[Cell]:
        here, there = points[index], points[baseline]
        return [
            Cell(text=_amount(here, source.search), interval=_interval(here, source.search)),
            changed(_change(there, here), is_baseline=index == baseline),
            validity(there.valid, here.valid),
        ]

    return costs_table(source.points, points, ["found", "change", "valid"], held)


def _loads(point: PointCapacity, search: CapacityResult) -> list[Block]:
    """The loads that were tried at a point, and what speaks against those that do not count."""
    where = settings_of(point.varied)
    at, and_at = (f" at {where}", f" and {where}") if where else ("", "")
    columns = load_columns(point.loads, search.percentiles, search.find)
    listing = Listing(columns, [load.figures for load in point.loads])
    blocks: list[Block] = [loads_table(f"The loads that were tried{at}, {made(point)}", listing)]
    said = excluded(point, search.find)
    if said:
        blocks.append(items("What speaks against loads", said, "doubt"))
    rows = rows_by_request(point)
    if rows and point.load is not None:
        by_request = Listing(of_requests(search.percentiles, rows), rows)
        blocks.append(table(f"Each named request at {load_text(point.load, search.find)}{and_at}", by_request))
    if point.sessions is not None:
        blocks.append(Words(text=f"{_sentence(WHOLE_SESSIONS)}: {text_of(point.sessions)}."))
    return blocks


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
