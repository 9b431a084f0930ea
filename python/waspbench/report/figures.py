"""The figures of a report: which ones each kind of results has, and why some of them are not there."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from waspbench.errors import InputError
from waspbench.figures.figure import Figure
from waspbench.figures.kinds import figure
from waspbench.figures.sources import NoFigureError, Source
from waspbench.figures.thin import thinned
from waspbench.report.content import Block, Drawn, Section, code, items

OF_POINT = (
    "response-time-cdf",
    "response-time-ccdf",
    "series",
    "outcomes",
    "queues",
    "waiting",
    "normal-probability",
)
"""The figures of a bench, in their order."""

OF_SWEEP = (
    "throughput",
    "capacity",
    "response-time",
    "response-time-ccdf",
    "response-time-cdf",
    "errors",
    "outcomes",
    "server-cpu",
    "goodput",
    "matrix",
)
"""The figures of a sweep."""

OF_SEARCH = ("capacity", "load-search")
"""The figures of a search for capacity."""

OF_SIDES = ("response-time-cdf", "response-time-ccdf", "outcomes")
"""The figures of results that are compared, besides that of the changes."""

AS_FILES = "Figures as files, for a paper"
UNREAD = "What cannot be read, so that figures are left out"
LEFT_OUT = "Figures that these results do not have"


class Wanted(NamedTuple):
    """Figures that a report has, if there are such figures of these sources."""

    sources: Sequence[Source]
    names: Sequence[str]


def section(wanted: Sequence[Wanted], directories: Sequence[str]) -> Section:
    """The figures that are wanted of results in ``directories``, what makes files of them, and which ones are not there
    with the reason.
    """
    made: list[Figure] = []
    missing: list[str] = []
    unread: list[str] = []
    for sources, names in wanted:
        for name in names:
            try:
                made.append(_drawn(sources, name))
            except NoFigureError as error:
                missing.append(error.problems[0].message)
            except InputError as error:
                unread.append(f"{name}: {error}")
    blocks: list[Block] = [Drawn(figure=each) for each in made]
    if made:
        commands = [["wasp", "plot", *directories, "--figure", each.name, "-o", f"{each.name}.pdf"] for each in made]
        blocks.append(code(AS_FILES, "\n".join(map(shlex.join, commands)) + "\n", "sh", folded=True))
    if missing:
        blocks.append(items(LEFT_OUT, missing))
    if unread:
        blocks.insert(0, items(UNREAD, unread, "bad"))
    return Section(name="figures", title="Figures", blocks=blocks)


def _drawn(sources: Sequence[Source], name: str) -> Figure:
    """A figure.

    Raises:
        NoFigureError: these results do not have it, or it would show nothing but zeros.
        InputError: what it is made of cannot be read.
    """
    made = figure(sources, name)
    counts = all(panel.y.from_zero for panel in made.panels)
    traces = [trace for panel in made.panels for trace in panel.traces if trace.kind != "reference"]
    if counts and not any(value for trace in traces for value in trace.y):
        raise NoFigureError.because(f"{name} would show nothing: all its values are 0")
    return thinned(made)
