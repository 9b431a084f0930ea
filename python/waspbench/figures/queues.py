"""The figure of queues: what waited before the links of a point's groups, and the packets that did not pass."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from waspbench.figures.choice import choose, left_out
from waspbench.figures.figure import Axis, Figure, Panel
from waspbench.figures.options import Options
from waspbench.figures.sources import NoFigureError, Source, called, only_point, only_study
from waspbench.figures.values import Part, Value, runs_note, told, trace, warnings_of
from waspbench.results.shape import links
from waspbench.stats import mean_interval

KIB = 1024
CLIENT = r"/\d+$"
"""What follows the name of a group in the name of a client's access link."""

Link = tuple[str, str]
"""The access links of a group, or the shared one, and a direction."""
Figures = dict[str, float]

PANELS = (
    (
        "waiting (KiB)",
        ("mean", "most"),
        "mean: over links and time; most: of any link at any time of any run",
        "nothing waited",
    ),
    (
        "packets that did not pass (%)",
        ("lost", "dropped"),
        "lost: by the loss model; dropped: for another reason, mostly by queues",
        "no packet was lost or dropped",
    ),
)


def queues(sources: Sequence[Source], options: Options) -> Figure:
    """Bytes that waited before the links of each group and the shared one, and packets that did not pass."""
    study = only_study(sources)
    result = only_point(study)
    tables = links(result)
    if tables is None:
        raise NoFigureError.because("is made of the tables of runs (links), which these results do not have")
    runs = [_links(table) for table in tables]
    every = list(dict.fromkeys(link for run in runs for link in run))
    busy = [link for link in every if any(any(run[link].values()) for run in runs if link in run)]
    if not busy:
        raise NoFigureError.because("would show nothing: no packet waited, was lost or dropped at a link")
    places = [busy[index] for index in choose([max(run[link]["most"] for run in runs) for link in busy])]
    x = Axis("links", categories=tuple(f"{name} {direction}" for name, direction in places))
    panels = []
    notes = []
    for label, columns, meaning, nothing in PANELS:
        traces = []
        for column in columns:
            of_links = [[run[link][column] for run in runs if link in run] for link in places]
            values = [_most(each) if column == "most" else _mean(each) for each in of_links]
            marked = [Value(value.y, value.low, value.high, not result.valid) for value in values]
            traces.append(trace(column, [float(place) for place in range(len(places))], marked, "points"))
        if any(y for each in traces for y in each.y):
            panels.append(Panel(x, Axis(label), tuple(traces)))
            notes.append(meaning)
        else:
            notes.append(nothing)
    idle = [link for link in every if link not in busy]
    bounded = any(each.low for panel in panels for each in panel.traces)
    return Figure(
        name="queues",
        title=f"Queues and losses of links: {called(study)}",
        panels=tuple(panels),
        warnings=tuple(warnings_of([Part("", result)])),
        notes=(
            "whole runs, warm-up included; up: towards the server; a group's values are of the links of its clients"
            + ("" if {"up", "down"} >= {direction for _, direction in every} else "; forward: from a link's first end"),
            *notes,
            *runs_note([("", len(runs))], bounded=bounded),
            *left_out(len(busy), len(places), "links"),
            *([f"no packet waited, was lost or dropped at {told([' '.join(link) for link in idle])}"] if idle else []),
        ),
    )


def _links(table: pl.DataFrame) -> dict[Link, Figures]:
    """The figures of the links of each group in a run."""
    grouped = (
        table.with_columns(pl.col("link").str.replace(CLIENT, "").alias("place"))
        .group_by("place", "direction", maintain_order=True)
        .agg(
            pl.col("mean_queue_bytes").mean(),
            pl.col("max_queue_bytes").max(),
            pl.col("packets", "lost", "dropped").sum(),
        )
    )
    return {
        (row["place"], row["direction"]): {
            "mean": (row["mean_queue_bytes"] or 0) / KIB,
            "most": (row["max_queue_bytes"] or 0) / KIB,
            "lost": _percent(row["lost"], row["packets"]),
            "dropped": _percent(row["dropped"], row["packets"]),
        }
        for row in grouped.iter_rows(named=True)
    }


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def _mean(values: Sequence[float]) -> Value:
    low, high = mean_interval(values) or (None, None)
    return Value(sum(values) / len(values), low, high)


def _most(values: Sequence[float]) -> Value:
    return Value(max(values))
