"""What loss and distance cost: each point of a sweep against its baseline, the point without loss and with the least
round-trip time among those that agree with it in all other swept fields.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from waspbench.experiment.loss import loss_label
from waspbench.experiment.model import Experiment
from waspbench.experiment.sweep import Point
from waspbench.experiment.units import seconds
from waspbench.report.content import MOST_ROWS, Cell, Head, Table
from waspbench.results.columns import settings, swept
from waspbench.tabular import NONE, Column

_DISTANCE = ("rtt", "delay")


@dataclass(frozen=True)
class Place:
    """How far the clients of a point are, and what they lose, as sums that grow with either. In a backbone or a graph a
    link counts once, whoever crosses it.
    """

    loss: float
    """Sum of the groups' rates of loss in both directions, and of those of shared links; 0 where nothing is lost."""
    distance: float
    """Sum of the groups' round-trip times and of the delays of shared links, in seconds."""


def place_of(experiment: Experiment) -> Place:
    """Where the clients of an experiment are."""
    groups = [group.resolve() for group in experiment.clients]
    shared = [direction.resolve() for _, direction in experiment.network.directions()]
    losses = [group["loss"][way] for group in groups for way in ("up", "down")]
    losses += [way["loss"] for way in shared]
    times = [*(group["rtt"] for group in groups), *(way["delay"] for way in shared)]
    return Place(sum(map(loss_label, losses)), sum(map(seconds, times)))


def baselines(points: Sequence[Point]) -> dict[int, int]:
    """The baseline of each point that has one, by index; empty where neither loss nor distance is swept."""
    if not any(_is_place(path) for point in points for path in point.settings):
        return {}
    alike: dict[str, list[Point]] = {}
    for point in points:
        others = {path: value for path, value in point.settings.items() if not _is_place(path)}
        alike.setdefault(json.dumps(others, sort_keys=True, default=str), []).append(point)
    found: dict[int, int] = {}
    for some in alike.values():
        places = {point.index: place_of(point.experiment) for point in some}
        lossless = [index for index, place in places.items() if place.loss == 0]
        if lossless and len(some) > 1:
            found |= dict.fromkeys(places, min(lossless, key=lambda index: places[index].distance))
    return found


def _is_place(path: str) -> bool:
    steps = path.split(".")
    return "loss" in steps or steps[-1] in _DISTANCE


@dataclass(frozen=True)
class Cost:
    """A point that differs from its baseline in loss alone or in distance alone, and in that the most."""

    what: str
    """Loss or distance."""
    index: int
    baseline: int


def largest(points: Sequence[Point], found: Mapping[int, int]) -> list[Cost]:
    """Of each baseline the point with the most loss at its distance, and the farthest point without loss."""
    places = {point.index: place_of(point.experiment) for point in points if point.index in found}
    return [cost for baseline in dict.fromkeys(found.values()) for cost in _of(baseline, places, found)]


def _of(baseline: int, places: Mapping[int, Place], found: Mapping[int, int]) -> Iterator[Cost]:
    here = places[baseline]
    own = [index for index, other in found.items() if other == baseline and index != baseline]
    lossy = [index for index in own if places[index].loss > 0 and places[index].distance == here.distance]
    far = [index for index in own if places[index].loss == 0 and places[index].distance > here.distance]
    if lossy:
        yield Cost("loss", max(lossy, key=lambda index: places[index].loss), baseline)
    if far:
        yield Cost("distance", max(far, key=lambda index: places[index].distance), baseline)


AGAINST = "Each point against its baseline, which has no loss and the least RTT"
COSTS = "What loss and distance cost, each point against its baseline, which has no loss and the least RTT"
UNTOLD = "What loss and distance cost cannot be told: a point or its baseline has no figures, or must not be trusted."

MOST_TOLD = 6
"""Costs that are told in words; the table has all."""


def trusted_costs(points: Sequence[Point], trusted: Collection[int]) -> list[Cost]:
    """The `largest` costs of points that may be trusted, by their indices, against baselines that may be, too."""
    found = {
        index: baseline for index, baseline in baselines(points).items() if index in trusted and baseline in trusted
    }
    return largest(points, found)[:MOST_TOLD]


def costs_table(
    points: Sequence[Point], made: Collection[int], heads: Sequence[str], held: Callable[[int, int], list[Cell]]
) -> Table | None:
    """A line for each of ``points`` that has a baseline among them and was ``made``; None where none has one. ``held``
    are the cells below the ``heads`` of a point, by its index, that is held against a baseline, which may not have been
    made.
    """
    found = baselines(points)
    shown = [point for point in points if point.index in found and point.index in made]
    if not shown:
        return None
    fields = swept(point.settings for point in points)
    return Table(
        title=AGAINST,
        heads=[
            *(Head(text=column.head, left=column.left) for column in fields.values()),
            *(Head(text=text, left=False) for text in heads),
        ],
        rows=[[*_place_cells(fields, point), *held(point.index, found[point.index])] for point in shown[:MOST_ROWS]],
        left_out=max(0, len(shown) - MOST_ROWS),
    )


def _place_cells(fields: Mapping[str, Column], point: Point) -> list[Cell]:
    values = settings(point.settings)
    return [Cell(text=column.cell(path, values)) for path, column in fields.items()]


def changed(text: str, interval: str = "", *, is_baseline: bool = False) -> Cell:
    """The cell of a change; the ``text`` is empty where it is not known."""
    return Cell(text="baseline") if is_baseline else Cell(text=text or NONE, interval=interval)


def validity(*valid: bool | None) -> Cell:
    """The cell that says whether a point and its baseline are valid."""
    every = None if None in valid else all(valid)
    return Cell(text={None: NONE, True: "yes", False: "NO"}[every], alarm=every is False)
