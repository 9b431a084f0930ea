"""The figure of waiting: what waited before observed links second by second, and how long packets waited there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from waspbench.figures.choice import choose, left_out
from waspbench.figures.figure import Axis, Figure, Panel, Trace
from waspbench.figures.options import Options
from waspbench.figures.queues import CLIENT, KIB
from waspbench.figures.sources import NoFigureError, Source, called, only_point, only_study
from waspbench.figures.style import is_empty
from waspbench.figures.values import Part, told, warnings_of
from waspbench.results.result import Result
from waspbench.results.shape import link_series, link_waits, warmup_of, whole_seconds

MS = 1e6
"""Nanoseconds in a millisecond."""

Place = tuple[str, str]
"""The name of a link, or of a group for the access links of its clients, and a direction."""

BY_SECOND = (
    (pl.col("mean_queue_bytes").mean() / KIB, "waiting (KiB)"),
    (pl.col("carried_bytes").mean() * 8 / 1e6, "carried (Mbit/s)"),
    ((pl.col("dropped") + pl.col("marked")).mean(), "dropped or marked (packets/s)"),
)
"""What is drawn of the links under a name in each second of a run, and what is beside the axes."""


def waiting(sources: Sequence[Source], options: Options) -> Figure:
    """What waited before observed links in each second, what they carried and dropped, and the waiting times."""
    study = only_study(sources)
    result = only_point(study)
    series, waits = link_series(result), link_waits(result)
    if series is None or waits is None:
        raise NoFigureError.because("is made of the tables of runs (link_series), which these results do not have")
    seconds = _all(
        table.filter(pl.col("second") < whole_seconds(result, run))
        for run, table in zip(result.runs, series, strict=True)
    )
    if seconds.is_empty():
        raise NoFigureError.because("needs a run of a second at least")
    worth = _worth(seconds)
    if not worth:
        raise NoFigureError.because("would show nothing: at no observed link a packet waited or was dropped")
    every = list(worth)
    links = [every[place] for place in choose(list(worth.values()))]
    panels = [_panel(seconds, links, value, label, result) for value, label in BY_SECOND]
    panels.append(_longer(_all(waits), links, result))
    shown = [panel for panel in panels if not is_empty(panel) and _has_any(panel)]
    idle = sorted({*_links(seconds)} - {*every})
    runs = len(result.runs)
    return Figure(
        name="waiting",
        title=f"Waiting at links: {called(study)}",
        panels=tuple(shown),
        warnings=tuple(warnings_of([Part("", result)])),
        notes=(
            f"by second: means over {runs} runs; waiting times: in the measured interval of all runs"
            if runs > 1
            else "waiting times: in the measured interval",
            *(["a group's values are means over the links of its clients"] if _has_groups(seconds) else []),
            *left_out(len(every), len(links), "links"),
            *([f"no packet waited or was dropped at {told([' '.join(link) for link in idle])}"] if idle else []),
        ),
        across=2,
    )


def _all(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """The rows of all runs, with the name of the group in the place of those of its clients' access links."""
    return pl.concat(tables).with_columns(pl.col("link").str.replace(CLIENT, "").alias("place"))


def _has_groups(seconds: pl.DataFrame) -> bool:
    return bool(seconds["link"].str.contains(CLIENT).any())


def _of(frame: pl.DataFrame, place: Place) -> pl.DataFrame:
    return frame.filter((pl.col("place") == place[0]) & (pl.col("direction") == place[1]))


def _links(seconds: pl.DataFrame) -> list[Place]:
    return list(seconds.select("place", "direction").unique(maintain_order=True).iter_rows())


def _worth(seconds: pl.DataFrame) -> dict[Place, float]:
    """The most that ever waited before each link at which a packet waited, or was dropped or marked."""
    found = seconds.group_by("place", "direction", maintain_order=True).agg(
        pl.col("max_queue_bytes").max(), (pl.col("dropped") + pl.col("marked")).sum().alias("signals")
    )
    return {
        (row["place"], row["direction"]): float(row["max_queue_bytes"])
        for row in found.iter_rows(named=True)
        if row["max_queue_bytes"] or row["signals"]
    }


def _panel(seconds: pl.DataFrame, links: Sequence[Place], value: pl.Expr, label: str, result: Result) -> Panel:
    """A value of each second, which is the mean over the runs."""
    lines = []
    for link in links:
        of_runs = _of(seconds, link).group_by("run", "second").agg(value.alias("value"))
        means = of_runs.group_by("second").agg(pl.col("value").mean()).sort("second")
        x, y = means["second"].cast(pl.Float64).to_list(), means["value"].cast(pl.Float64).to_list()
        lines.append(_line(link, [*x, x[-1] + 1], [*y, y[-1]], result))  # the last value holds for a second, too
    most = max((y for line in lines for y in line.y if y is not None), default=0.0)
    warmup = warmup_of(result)
    mark = [Trace("end of warm-up", (warmup, warmup), (0.0, most), kind="reference")] if warmup else []
    return Panel(Axis("time since the start of the run (s)"), Axis(label), (*lines, *mark))


def _longer(waits: pl.DataFrame, links: Sequence[Place], result: Result) -> Panel:
    """The share of the packets that waited longer than each time."""
    lines = []
    for link in links:
        own = _of(waits, link).group_by("lower_ns", "upper_ns").agg(pl.col("count").sum()).sort("lower_ns")
        counts = own["count"].cast(pl.Int64).to_numpy()
        total = int(counts.sum())
        if not total:
            continue
        longer = (total - np.cumsum(counts)) / total
        longer[-1] = 1 / total  # the axis has no zero: the curve ends with the share of one packet
        edges = [own["lower_ns"][0] / MS, *(own["upper_ns"] / MS).to_list()]
        lines.append(_line(link, edges, [1.0, *longer.tolist()], result))
    return Panel(Axis("waiting time (ms)"), Axis("share of packets that waited longer", log=bool(lines)), tuple(lines))


def _line(link: Place, x: Sequence[float], y: Sequence[float], result: Result) -> Trace:
    return Trace(" ".join(link), tuple(x), tuple(y), kind="steps", invalid=() if result.valid else (True,) * len(x))


def _has_any(panel: Panel) -> bool:
    return any(y for trace in panel.traces if trace.kind != "reference" for y in trace.y)
