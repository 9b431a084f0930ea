"""The report on a bench or a sweep."""

from __future__ import annotations

import re
from collections.abc import Sequence

from waspbench.experiment.metrics import Metric
from waspbench.experiment.sweep import text_of as point_text
from waspbench.figures.sources import settings_of, short_name
from waspbench.report import again, alerts, amounts, figures, server, setting, study_words
from waspbench.report.content import Block, Cell, Report, Section, Table, Words, items, table, with_blocks
from waspbench.report.costs import COSTS, UNTOLD, baselines, changed, costs_table, validity
from waspbench.report.sources import Origin, StudySource
from waspbench.report.tables import emulator_table, figures_table, points_table, requests_table
from waspbench.results import server_work
from waspbench.results.brief import advice, notes
from waspbench.results.columns import column_of
from waspbench.results.ecn import ecn_of, ecn_text
from waspbench.results.lines import told_of_sessions
from waspbench.results.observed import interval, listing
from waspbench.results.remarks import remarks
from waspbench.results.result import Result
from waspbench.results.study import StudyResult
from waspbench.results.wording import carried, described, direction, hidden
from waspbench.results.wording import server as server_text
from waspbench.results.workload import workloads_text

PREDICTED = "These figures are a prediction: clients, network and server were simulated."
MEASURED = "These figures are a measurement: emulated clients and network before a real server."

MOST_SERVERS = 4
"""Different servers of a sweep that its summary names."""

TRUSTED = "Yes: every run is valid."
LATE = (
    "The emulator's own error: how busy its CPU was, how late packets left it, and how long frames waited before it "
    "read them. A run is not valid where either wait is too long for its least round-trip time."
)


def study_report(source: StudySource) -> Report:
    """The report on a bench, or on a sweep if there are several points."""
    study, (_, first) = source.study, source.made[0]
    swept = len(study.points) > 1
    return Report(
        kind="sweep" if swept else "bench",
        title=title(study.name, source.origin),
        summary=_swept(source) if swept else described(first),
        mode=study.mode,
        directories=[source.name],
        created=source.origin.created,
        complete=study.complete,
        valid=study.valid,
        alerts=list(alerts.of_study(study, again.resume(source.origin))),
        sections=with_blocks(
            _finding(source),
            _trust(source),
            setting.of_study(source),
            tables(source),
            _figures(source),
            _groups(source),
            _requests(source),
            server.of(source.origin),
            again.of_study(source.origin, source.name),
        ),
        points=study.to_frame(
            by_group=any(len(result.groups) > 1 for _, result in source.made),
            by_request=bool(study.listing_by_request.rows),
        ).to_dicts(),
    )


def title(name: str, origin: Origin) -> str:
    """The name of an experiment; of one that was made by flags, and has that of the command, that of the directory."""
    return short_name(origin.directory) if name in ("bench", "capacity") else name


def _swept(source: StudySource) -> str:
    """What a sweep measured, in a sentence."""
    study, (_, first) = source.study, source.made[0]
    fields = ", ".join(dict.fromkeys(path for point in study.points for path in point.varied))
    measure = first.scenario["measure"]
    return (
        f"{_servers(study)}, {workloads_text(first.scenario)}, {len(study.points)} points over {fields}. "
        f"{study.mode}, {_runs(source)} of {measure['duration']} after {measure['warmup']} at each, seed {study.seed}"
    )


def _servers(study: StudyResult) -> str:
    """The servers of all points."""
    found = list(dict.fromkeys(server_text(point.result) for point in study.points if point.result is not None))
    more = f" and {len(found) - MOST_SERVERS} more" if len(found) > MOST_SERVERS else ""
    return f"{', '.join(found[:MOST_SERVERS])}{more}"


def _runs(source: StudySource) -> str:
    """How many runs each point was to have, or has where that is not known."""
    measure = source.points[0].experiment.measure if source.points else None
    known = measure is not None and measure.until is None
    counts = {measure.runs} if measure and known else {len(result.runs) for _, result in source.made}
    least, most = min(counts), max(counts)
    number = str(most) if least == most else f"{least} to {most}"
    return f"{number} run{'' if number == '1' else 's'}"


def nature(mode: str) -> Words:
    """Whether figures were measured or simulated."""
    return Words(text=PREDICTED if mode == "sim" else MEASURED)


def _finding(source: StudySource) -> Section:
    blocks: list[Block] = [nature(source.study.mode)]
    if len(source.study.points) == 1:
        blocks.append(items("", study_words.bench(source.made[0][1])))
    else:
        blocks.append(items("", study_words.sweep(source)))
        costs = study_words.costs(source)
        if costs:
            blocks.append(items(COSTS, costs))
        elif baselines(source.points):
            blocks.append(Words(text=UNTOLD))
    return Section(name="finding", title="What was found", blocks=blocks)


def _trust(source: StudySource) -> Section:
    return alerts.trust(_trusted(source), _emulator(source), known(source), source.study.checks)


def _trusted(source: StudySource) -> Words:
    """Whether a bench or a sweep may be trusted."""
    study, valid = source.study, len(study_words.trusted_of(source))
    if study.valid:
        caveats = [hidden(result) for _, result in source.made]
        caveat = f" {caveats[0][:1].upper()}{caveats[0][1:]}." if len(caveats) == 1 and caveats[0] else ""
        return Words(text=f"{TRUSTED}{caveat}", tone="good")
    if not valid:
        return Words(text=alerts.UNTRUSTED, tone="bad")
    said = f"In part: {valid} of {len(study.points)} points {'is' if valid == 1 else 'are'} valid."
    return Words(text=f"{said} What speaks against the others stands at the top.", tone="doubt")


def known(source: StudySource) -> list[str]:
    """What else is to be known of a bench or a sweep: advice, notes, what runs say, what the testbed could not do."""
    said = [*(f"advice: {text}" for text in advice(source.study)), *_alike(notes(source.study, settings_of))]
    for point, result in source.made:
        said += [f"{alerts.joined(settings_of(point.varied))}{remark}" for remark in remarks(result)]
    return [*said, *source.origin.labels]


def _alike(texts: Sequence[str]) -> list[str]:
    """Of texts that differ in nothing but figures, where they are many, the first and how many more there are."""
    found: dict[str, list[str]] = {}
    for text in texts:
        found.setdefault(re.sub(r"\d[\d.,]*|\([^()]*\)$", "", text), []).append(text)
    return [
        line
        for first, *rest in found.values()
        for line in ([first, *rest] if len(rest) < MOST_ALIKE else [f"{first}; and at {len(rest)} more points alike"])
    ]


MOST_ALIKE = 3
"""Notes of points that are told one by one where they differ in nothing but figures."""


def _emulator(source: StudySource) -> list[Block]:
    table = emulator_table(source.study)
    blocks: list[Block] = [Words(text=alerts.SIMULATED)] if table is None else [Words(text=LATE), table]
    if len(source.study.points) == 1:
        [(_, result)] = source.made
        ways = {"down": result.network.down, "up": result.network.up}
        loads = [f"cross traffic {carried(traffic)}" for traffic in result.cross_traffic]
        told = [f"{name}: {direction(way)}" for name, way in ways.items()]
        used = ecn_of(result.runs)
        ecn = [] if used is None else [f"ECN: {ecn_text(used)}"]
        blocks.append(items("The network as it was", [*told, *ecn, *loads]))
    return blocks


def tables(source: StudySource) -> Section:
    """One result figure by figure, or a line for each point; then what loss and distance cost."""
    study = source.study
    if len(study.points) == 1:
        [(_, result)] = source.made
        blocks: list[Block] = [figures_table(result)]
    else:
        blocks = [points_table("A line for each point", study)]
        costs = _costs(source)
        blocks += [] if costs is None else [costs]
    links = listing(study)
    blocks += [] if links is None else [Words(text=OBSERVED), table("Observed links", links, interval)]
    work = server_work.listing(study)
    blocks += [] if work is None else [Words(text=SERVER_WORK), table("Work of the server", work)]
    return Section(name="tables", title="Numbers with their intervals", blocks=blocks)


SERVER_WORK = (
    "What the CPUs of the simulated server did in the measured interval, and the CPU microseconds that it took for "
    "each ok transaction. Work for transactions that failed is part of it."
)

OBSERVED = (
    "Links that clients share, and access links of groups with observe, in the measured interval: what they carried, "
    "how long packets waited in the queue, and shares of the packets that arrived. Directions with little to say are "
    "left out."
)


def _costs(source: StudySource) -> Table | None:
    """Each point against its baseline."""
    results = {point.index: result for point, result in source.made}
    times = study_words.ends_of_times(list(results.values()))

    def held(index: int, baseline: int) -> list[Cell]:
        here, there, same = results[index], results.get(baseline), index == baseline
        ratio, span = (None, "") if there is None else study_words.throughput_change(there, here)
        cells = [_cell(study_words.THROUGHPUT, here), changed(amounts.change(ratio), span, is_baseline=same)]
        for time in times:
            before = None if there is None else amounts.value(time, there)
            said = amounts.change(amounts.ratio(before, amounts.value(time, here)))
            cells += [_cell(time, here), changed(said, is_baseline=same)]
        return [*cells, validity(False if there is None else there.valid, here.valid)]

    heads = [head for of in (study_words.THROUGHPUT, *times) for head in (column_of(of).head, "change")]
    return costs_table(source.points, results, [*heads, "valid"], held)


def _cell(of: Metric, result: Result) -> Cell:
    return Cell(text=amounts.text(of, result), interval=amounts.interval(of, result))


def _figures(source: StudySource) -> Section:
    names = figures.OF_SWEEP if len(source.study.points) > 1 else figures.OF_POINT
    return figures.section([figures.Wanted([source.drawn()], names)], [source.name])


def _groups(source: StudySource) -> Section:
    """The groups of clients of one result, where there are several; of a sweep the table of points has them."""
    several = len(source.study.points) == 1 and any(len(result.groups) > 1 for _, result in source.made)
    blocks: list[Block] = [points_table("All clients, and each group", source.study)] if several else []
    return Section(name="groups", title="Groups of clients", blocks=blocks)


def _requests(source: StudySource) -> Section:
    """The named requests at each point, where requests have names, and what became of whole sessions."""
    if not source.study.listing_by_request.rows:
        return Section(name="requests", title="Named requests", blocks=[])
    told = [
        f"{point_text(point.varied)}: {text}" if point.varied else text
        for point in source.study.points
        if point.result is not None
        for text in told_of_sessions(point.result)
    ]
    at = " at each point" if len(source.study.points) > 1 else ""
    blocks: list[Block] = [requests_table(f"Each named request{at}", source.study)]
    return Section(name="requests", title="Named requests", blocks=[*blocks, items("", told)] if told else blocks)
