"""What was asked for: the workload in words, and its popularity as it came out, from the transactions of a result."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from waspbench.results.result import Asked, Result, Site
from waspbench.results.study import StudyResult

RANKS = 100
"""Ranks over which the slope of the popularity is fitted: two decades."""


def site_text(site: Site | None) -> str:
    """What there was to ask for in words; nothing of a single file."""
    if site is None or (site.files == 1 and site.log is None):
        return ""
    size = f"{site.bytes / 1e6:,.1f} MB" if site.bytes >= 100_000 else f"{site.bytes:,d} B"
    text = f": {site.files:,d} files of {size} together"
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
    changed = sorted(workload.keys() - {"kind", "deal", "preset", "seed"})
    more = f" with other {', '.join(changed)}" if changed else ""
    return f"{kind}, preset {workload['preset']}{more}{dealt}"


def arrival_text(workload: Mapping[str, Any]) -> str:
    """What arrives in an open loop with a workload of a scenario: pages, where they have embedded files."""
    paged = workload["kind"] == "surge" and workload.get("embedded") != {"model": "none"}
    return "pages" if paged else "requests"


def asked_for(result: Result) -> Asked | None:
    """What was asked for; None of a single file, or without transactions to look at."""
    workload = result.scenario["workload"]
    tables = sorted(Path(result.results or "", "transactions").glob("*.parquet"))
    if not tables or (workload["kind"] == "single" and not workload.get("files")):
        return None
    aside = [index for index, group in enumerate(result.scenario["clients"]) if group.get("background")]
    rows = pl.scan_parquet(tables).filter("measured", *([~pl.col("group").is_in(aside)] if aside else []))
    if "file" not in rows.collect_schema():
        return None  # results of an older version
    counts = rows.group_by("file").len().sort("len", descending=True).collect()["len"].to_numpy()
    if len(counts) == 0:
        return None
    mean = rows.filter(pl.col("outcome") == "ok").select(pl.col("bytes").mean()).collect().item()
    total = int(counts.sum())
    return Asked(
        requests=total,
        files=len(counts),
        top_share=float(counts[0]) / total,
        slope=_slope(counts[:RANKS]),
        mean_bytes=None if mean is None else float(mean),
    )


def with_asked(study: StudyResult) -> StudyResult:
    """A study with what was asked for at each point that has results, where that is more than one file."""
    points = []
    for point in study.points:
        asked = None if point.result is None else asked_for(point.result)
        if point.result is not None and asked is not None:
            point = point.model_copy(update={"result": point.result.model_copy(update={"asked": asked})})
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
