"""What was run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from waspbench.experiment import Mode
from waspbench.experiment.resolve import resolve_asking
from waspbench.figures.sources import settings_of
from waspbench.report.content import Block, Section, Table, Words, items, table
from waspbench.report.sources import ComparisonSource, Origin, SearchSource, Side, StudySource
from waspbench.results.asking import workload_in
from waspbench.results.columns import value_text
from waspbench.results.comparing import ComparisonResult
from waspbench.results.wording import cross_traffic, described, impairments, losses, queues, shared_links, trace
from waspbench.results.workload import workload_lines
from waspbench.tabular import NONE, Column, Listing, whole


def of_study(source: StudySource) -> Section:
    """What a bench or a sweep ran."""
    study, (point, result) = source.study, source.made[0]
    swept = len(study.points) > 1
    said = [f"At {settings_of(point.varied)}: {described(result)}"] if swept else []  # else it stands at the top
    said += [f"Workload: {text}" for text in workload_lines(result.scenario, result.site)]
    if result.lengths is not None and result.lengths.why is None:
        said.append(f"Lengths: {result.lengths.text}")
    title = f"Groups of clients{f' at {settings_of(point.varied)}' if swept else ''}"
    network = result.scenario.get("network") or {}
    said += [f"{name}: {text}" for name, text in [*shared_links(result.scenario), *cross_traffic(network)]]
    blocks: list[Block] = [items("", said), clients_table(title, _with_workloads(result.scenario))]
    return _section([*blocks, *_varied(source.origin, [each.varied for each in study.points])])


def of_search(source: SearchSource) -> Section:
    """What a search ran."""
    origin, blocks = source.origin, list[Block]()
    scenario = scenario_of(origin)
    if scenario is not None:
        varied = "the rate of their arrivals" if source.search.find == "rate" else "their number"
        network = origin.points[0].experiment.network.resolve()
        met = [*shared_links({"network": network}), *cross_traffic(network)]
        links = [f"{name}: {text}" for name, text in met]
        blocks.append(items("", [*(f"Workload: {text}" for text in workload_lines(scenario, None)), *links]))
        title = f"Groups of clients; the search varies {varied}"
        blocks.append(clients_table(title, _with_workloads(scenario)))
    return _section([*blocks, *_varied(origin, [each.varied for each in source.search.points])])


def _with_workloads(scenario: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The groups of a scenario, each with what it asks for."""
    return [{**group, "workload": workload_in(scenario, group)} for group in scenario["clients"]]


def scenario_of(origin: Origin) -> dict[str, Any] | None:
    """Who asks for what in an experiment; None where this version cannot read the file."""
    if not origin.points:
        return None
    mode: Mode = "live" if origin.mode == "live" else "sim"
    return resolve_asking(origin.points[0].experiment, mode)


def of_comparison(source: ComparisonSource) -> Section:
    """In what results differ from the first."""
    first = source.sides[0]
    return _section(
        [
            _differences(found, letter, first, side)
            for (letter, found), side in zip(source.against_first, source.sides[1:], strict=True)
        ]
    )


def _section(blocks: list[Block]) -> Section:
    return Section(name="setting", title="What was run", blocks=blocks)


def _differences(found: ComparisonResult, letter: str, first: Side, side: Side) -> Block:
    """In what a side differs from the first: what was chosen by, and what else."""
    chosen = [(path, first.chosen.get(path), side.chosen.get(path)) for path in {**first.chosen, **side.chosen}]
    rows = [{"field": path, "a": _text(a), "b": _text(b)} for path, a, b in chosen if a != b]
    rows += [{"field": each.field, "a": _text(each.a), "b": _text(each.b)} for each in found.differences]
    one, two = (_search_of(each.origin) for each in (first, side))
    rows += [
        {"field": name, "a": _text(one.get(name)), "b": _text(two.get(name))}
        for name in {**one, **two}
        if one.get(name) != two.get(name)
    ]
    if not rows:
        same = " These are the same results." if first.origin.directory == side.origin.directory else ""
        return Words(text=f"Experiment, machine and version of A and {letter} are the same.{same}")
    columns = {"field": Column("field", left=True), "a": Column("A", left=True), "b": Column(letter, left=True)}
    return table(f"In what A and {letter} differ besides what both sweep", Listing(columns, rows))


def _search_of(origin: Origin) -> dict[str, Any]:
    """How a search looked for a capacity; nothing of what is none."""
    plan = origin.plan
    return {} if plan is None else {f"search.{name}": value for name, value in plan.search.items()}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else value_text(value)


def _varied(origin: Origin, points: Sequence[Mapping[str, Any]]) -> list[Block]:
    """What varies over points, and which of all were chosen."""
    values: dict[str, dict[str, None]] = {}
    for varied in points:
        for path, value in varied.items():
            values.setdefault(path, {})[_text(value)] = None
    lines = [f"{path}: {', '.join(texts)}" for path, texts in values.items()]
    all_points = len(origin.points)
    chosen = [f"{len(points)} of {all_points} points were chosen"] if len(points) < all_points else []
    return [items(f"What varies over {len(points)} points", [*lines, *chosen])] if lines or chosen else []


def clients_table(title: str, groups: Sequence[Mapping[str, Any]]) -> Table:
    """A line for each group of clients of a scenario: where it is, and what it does."""
    told = (("impairments", impairments), ("queue", queues), ("at", lambda group: group.get("at")))
    idle = {name for name, of_group in told if not any(map(of_group, groups))}
    columns = {name: column for name, column in _CLIENTS.items() if name not in idle}
    if "at" in idle:
        columns["rtt"] = replace(columns["rtt"], head="rtt")
    return table(title, Listing(columns, list(groups)))


def _rate(way: str) -> Column:
    def text(row: Mapping[str, Any]) -> str:
        recorded = (row.get("trace") or {}).get(way)
        if recorded:
            return f"trace {trace(recorded)}"
        return (row.get("bandwidth") or {}).get(way) or "unlimited"

    return Column(way, of_row=text)


def _name(row: Mapping[str, Any]) -> str:
    return f"{row['name']}{' (background)' if row.get('background') else ''}"


def _kept(row: Mapping[str, Any]) -> str:
    kept = row["http"].get("requests_per_connection")
    return "unlimited" if kept is None else f"{kept:,d}"


def _asks(row: Mapping[str, Any]) -> str:
    """When the clients of a group ask."""
    arrivals, think = row.get("arrivals"), row.get("think")
    if arrivals:
        return f"open loop, {arrivals.get('rate')} {arrivals.get('model', '')}".strip()
    workload = row.get("workload") or {}
    if not think and workload.get("kind") == "surge":
        think = workload.get("inactive_off")
        if think is None:
            return f"after a pause of {workload.get('preset')}"
    if think and think.get("model") != "none":
        told = [str(value) for name, value in think.items() if name != "model"]
        return f"after a pause: {think.get('model')} {' '.join(told)}".strip()
    return "when it has its answer"


_CLIENTS = {
    "name": Column("group", of_row=_name, left=True),
    "count": Column("clients", whole),
    "at": Column("at", left=True),
    "rtt": Column("access rtt"),
    "loss": Column("loss", losses, left=True),
    "impairments": Column("impairments", of_row=lambda row: ", ".join(impairments(row)) or NONE, left=True),
    "down": _rate("down"),
    "up": _rate("up"),
    "queue": Column("queue", of_row=lambda row: queues(row) or "unlimited", left=True),
    "version": Column("HTTP", of_row=lambda row: str(row["http"].get("version") or NONE)),
    "connections": Column("connections each", of_row=lambda row: str(row["http"].get("connections") or 1)),
    "kept": Column("requests a connection", of_row=_kept),
    "asks": Column("asks", of_row=_asks, left=True),
    "tcp": Column("TCP", of_row=lambda row: str((row.get("tcp") or {}).get("preset") or NONE), left=True),
}


def plain(value: Any) -> str:
    """A setting as text: lists with commas, tables as their fields."""
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {plain(each)}" for name, each in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(plain, value)) or "none"
    return str(value)
