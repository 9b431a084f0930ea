"""What was asked for: the workload in words, and its popularity as it came out, from the transactions of a result."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from waspbench.results.asking import has_own_workloads, workload_in
from waspbench.results.result import Asked, GroupSite, Result, Site
from waspbench.results.study import StudyResult

_NAMES = 5
"""Names of requests that are told of a workload."""

RANKS = 100
"""Ranks over which the slope of the popularity is fitted: two decades."""


def workload_lines(scenario: Mapping[str, Any], site: Site | None) -> list[str]:
    """The workloads of a scenario in words, each with what there was to ask for. Where groups have workloads of their
    own, each line begins with the names of those that it is about.
    """
    if not has_own_workloads(scenario):
        return [workload_text(scenario["workload"]) + site_text(site)]
    groups = scenario["clients"]
    sharing = [group["name"] for group in groups if not group.get("workload")]
    told = [(", ".join(sharing), scenario["workload"], sharing[0])] if sharing else []
    told += [(group["name"], group["workload"], group["name"]) for group in groups if group.get("workload")]
    sites = (site.groups if site is not None else None) or {}
    return [f"{names}: {workload_text(workload)}{site_text(sites.get(of))}" for names, workload, of in told]


def workloads_text(scenario: Mapping[str, Any]) -> str:
    """The workloads of a scenario in a few words."""
    lines = workload_lines(scenario, None)
    return lines[0] if len(lines) == 1 else f"{len(lines)} workloads"


def site_text(site: GroupSite | None) -> str:
    """What there was to ask for in words; nothing of a single file, and of named requests."""
    if site is None or site.files == 0 or (site.files == 1 and site.log is None):
        return ""
    size = f"{site.bytes / 1e6:,.1f} MB" if site.bytes >= 100_000 else f"{site.bytes:,d} B"
    text = f": {site.files:,d} files of {size} together" if site.files > 1 else f": 1 file of {size}"
    if site.log is None:
        return text
    log = site.log
    out = [(log.other_methods, "not GET"), (log.other_statuses, "not 200, 206 or 304"), (log.bad, "make no sense")]
    left = ", ".join(f"{count:,d} {why}" for count, why in out if count)
    first = f" (the first: {log.first_bad[0]})" if log.first_bad else ""
    return f"{text}; {log.requests:,d} of {log.lines:,d} lines are replayed" + (f"; {left}{first}" if left else "")


def workload_text(workload: Mapping[str, Any]) -> str:
    """A workload of a scenario in words."""
    kind, dealt = workload["kind"], ", dealt by modulo" if workload.get("deal") == "modulo" else ""
    if kind == "single":
        files = workload.get("files")
        return f"{len(files)} files by weight{dealt}" if files else f"{workload['path']}, {workload['size']}"
    if kind == "replay":
        return f"replay of {workload['log']}{dealt}"
    if kind == "requests":
        names = [request["name"] for request in workload["requests"]]
        shown = ", ".join(names[:_NAMES]) + (f" and {len(names) - _NAMES} more" if len(names) > _NAMES else "")
        if workload.get("order") == "session":
            return f"sessions of {shown}"
        return f"named request{'' if len(names) == 1 else 's'} {shown}{dealt}"
    changed = sorted(workload.keys() - {"kind", "deal", "preset", "seed"})
    more = f" with other {', '.join(changed)}" if changed else ""
    return f"{kind}, preset {workload['preset']}{more}{dealt}"


def arrival_text(scenario: Mapping[str, Any]) -> str:
    """What arrives in the open loops of a scenario: pages, where they have embedded files; sessions, where they have
    steps; arrivals, if different things arrive.
    """
    groups = [group for group in scenario.get("clients", ()) if not group.get("background")]
    opened = [group for group in groups if group.get("arrivals")] or groups
    found = {_arrival(workload_in(scenario, group)) for group in opened}
    return "arrivals" if len(found) > 1 else next(iter(found), "requests")


def _arrival(workload: Mapping[str, Any]) -> str:
    if workload.get("order") == "session":
        return "sessions"
    paged = workload.get("kind") == "surge" and workload.get("embedded") != {"model": "none"}
    return "pages" if paged else "requests"


def asked_for(result: Result) -> Asked | None:
    """What was asked for; None of a single file, of named requests, where groups have workloads of their own, or
    without transactions to look at.
    """
    if has_own_workloads(result.scenario) or not _has_files(result.scenario["workload"]):
        return None
    counts = _counts(result)
    aside = [index for index, group in enumerate(result.scenario["clients"]) if group.get("background")]
    return None if counts is None else _asked(counts.filter(~pl.col("group").is_in(aside)) if aside else counts)


def asked_by_group(result: Result) -> dict[str, Asked] | None:
    """What each group asked for that asks for several files, background groups among them; None if no group has a
    workload of its own.
    """
    scenario = result.scenario
    counts = _counts(result) if has_own_workloads(scenario) else None
    if counts is None:
        return None
    groups = enumerate(scenario["clients"])
    several = {index: group["name"] for index, group in groups if _has_files(workload_in(scenario, group))}
    found = {name: _asked(counts.filter(pl.col("group") == index)) for index, name in several.items()}
    return {name: asked for name, asked in found.items() if asked is not None}


def _has_files(workload: Mapping[str, Any]) -> bool:
    """Whether a workload asks for several files."""
    return workload["kind"] != "requests" and (workload["kind"] != "single" or bool(workload.get("files")))


def _counts(result: Result) -> pl.DataFrame | None:
    """The requests of each group for each file, and of the ``ok`` ones the number and the bytes of the bodies; None
    without tables, and of older versions.
    """
    tables = sorted(Path(result.results or "", "transactions").glob("*.parquet"))
    rows = pl.scan_parquet(tables).filter("measured") if tables else None
    if rows is None or "file" not in rows.collect_schema():
        return None
    ok = pl.col("outcome") == "ok"
    return (
        rows.group_by("group", "file")
        .agg(requests=pl.len(), ok=ok.sum(), bytes=pl.col("bytes").filter(ok).sum())
        .collect()
    )


def _asked(counts: pl.DataFrame) -> Asked | None:
    """What was asked for; None if nothing was."""
    files = counts.group_by("file").agg(pl.col("requests", "ok", "bytes").sum()).sort("requests", descending=True)
    requests = files["requests"].to_numpy()
    if len(requests) == 0:
        return None
    total, ok = int(requests.sum()), int(files["ok"].sum())
    return Asked(
        requests=total,
        files=len(requests),
        top_share=float(requests[0]) / total,
        slope=_slope(requests[:RANKS]),
        mean_bytes=float(files["bytes"].sum()) / ok if ok else None,
    )


def with_asked(study: StudyResult) -> StudyResult:
    """A study with what was asked for at each point that has results, where that is more than one file."""
    points = []
    for point in study.points:
        if point.result is not None:
            asked = {"asked": asked_for(point.result), "asked_by_group": asked_by_group(point.result)}
            point = point.model_copy(update={"result": point.result.model_copy(update=asked)})
        points.append(point)
    return study.model_copy(update={"points": points})


def _slope(counts: np.ndarray[Any, Any]) -> float | None:
    if len(counts) < 10:
        return None
    ranks = np.arange(1, len(counts) + 1)
    return float(np.polyfit(np.log(ranks), np.log(counts), 1)[0])


def asked_text(asked: Asked) -> str:
    """The same in words."""
    slope = "" if asked.slope is None else f", popularity slope {asked.slope:.2f}"
    mean = "" if asked.mean_bytes is None else f", mean body {asked.mean_bytes:,.0f} B"
    return (
        f"{asked.requests:,d} requests for {asked.files:,d} files, {100 * asked.top_share:.1f} % of them for one"
        f"{slope}{mean}"
    )
