"""Figures for programs and notebooks: made of results in memory or in directories, and shown, saved or drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from waspbench.errors import Argument, InputError
from waspbench.extras import needed
from waspbench.figures import kinds
from waspbench.figures.figure import Figure
from waspbench.figures.options import Log
from waspbench.figures.sources import Results, Source, load_source, source_of
from waspbench.results.capacity import CapacityResult
from waspbench.results.comparing import ComparisonResult
from waspbench.results.result import Result
from waspbench.results.study import StudyResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Plotted = Results | str | Path
"""Results of which figures are made: in memory, or by a text or path that names them, such as ``DIR@path=value``."""

_PIXELS_AN_INCH = 100
"""Of a figure in a notebook."""


@dataclass(frozen=True, repr=False)
class Plot:
    """A figure of results, which a notebook shows."""

    figure: Figure
    """The figure as data: its panels, axes, curves, intervals, warnings and notes."""

    @property
    def valid(self) -> bool:
        """Whether the results in the figure are valid."""
        return self.figure.valid

    def save(self, path: str | Path, *, width: float | None = None, bare: bool = False) -> None:
        """Writes the figure to a file. It replaces an existing file.

        Args:
            path: the file, whose name ends with ``.pdf``, ``.svg`` or ``.png``.
            width: width in inches, such as 3.3 for a column of a paper. By default it depends on the number of panels.
            bare: whether to leave out the title and the notes. Warnings that the results are not valid stay.

        Raises:
            InputError: the name has another ending, or the file cannot be written, or the width is not valid.
        """
        from waspbench.figures.matplotlib import save

        save(self.figure, path, width=width, bare=bare)

    def draw(self, *, width: float | None = None, bare: bool = False) -> Drawing:
        """Makes a figure of matplotlib, which you can change. The arguments and errors are those of `save`."""
        from waspbench.figures.matplotlib import draw

        return draw(self.figure, width=width, bare=bare)

    def __repr__(self) -> str:
        said = "" if self.valid else ", NOT VALID"
        return f"<Plot {self.figure.name!r}: {self.figure.title}{said}>"

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """What a notebook shows: an image, and how large it is shown."""
        from waspbench.figures.matplotlib import rendered

        image, (width, height) = rendered(self.figure, "png")
        return image, {"width": round(width * _PIXELS_AN_INCH), "height": round(height * _PIXELS_AN_INCH)}


def plot(
    results: Plotted | Sequence[Plotted] | Mapping[str, Plotted],
    figure: str | None = None,
    *,
    x: str | None = None,
    by: str | Sequence[str] = (),
    log: Log | None = None,
) -> Plot:
    """Makes a figure of results. matplotlib draws it, which the extra ``plots`` of the package installs.

    Args:
        results: results in memory, directories of results, or points of a directory (``DIR@path=value``). Figures that
            show several results take a list, or a mapping whose keys are the names in the legend: ``{"before": a,
            "after": b}``.
        figure: name of the figure, such as ``throughput-vs-load``, ``phones.p99-vs-rtt`` or ``response-time-cdf``;
            docs/figures.md lists all. By default it is the first figure that these results have.
        x: the swept field along the horizontal axis, such as ``clients.rtt``. By default it depends on the figure.
        by: the swept field, or several, whose values have a curve each; or ``group`` for a curve for each group of
            clients. By default these are all other swept fields. Each value of a field that is left out has a panel of
            its own.
        log: the logarithmic axes: ``x``, ``y``, ``xy`` or ``none``. By default it depends on the values.

    Raises:
        InputError: no figure has this name, or an option is not valid for the figure, or these results do not have the
            figure.
        CannotRunError: matplotlib is not installed.
    """
    needed("matplotlib", "plots")
    if not isinstance(figure, str | None):
        raise InputError.at(Argument("figure"), "must be the name of a figure", repr(figure))
    sources = _sources(results, [] if figure is None else kinds.kind_named(figure).percentiles)
    if figure is not None:
        return Plot(kinds.figure(sources, figure, x=x, by=by, log=log))
    first = _first(sources)
    asked = x is not None or by or log is not None
    return Plot(kinds.figure(sources, first.name, x=x, by=by, log=log) if asked else first)


def _sources(results: Plotted | Sequence[Plotted] | Mapping[str, Plotted], percentiles: Sequence[str]) -> list[Source]:
    if isinstance(results, Mapping):
        return [replace(_source(each, percentiles), label=str(name)) for name, each in results.items()]
    if isinstance(results, (list, tuple)):
        return [_source(each, percentiles) for each in results]
    return [_source(results, percentiles)]


def _source(results: Any, percentiles: Sequence[str]) -> Source:
    if isinstance(results, (str, Path)):
        return load_source(str(results), percentiles)
    if isinstance(results, (Result, StudyResult, CapacityResult, ComparisonResult)):
        return source_of(results)
    message = "must be results, a directory of them, a list of such, or a mapping by names"
    raise InputError.at(Argument("results"), message, repr(results))


def _first(sources: Sequence[Source]) -> Figure:
    """The first figure that there is.

    Raises:
        InputError: there is none.
    """
    if not sources:
        raise InputError.at(Argument("results"), "missing; give at least one result")
    for name in kinds.KINDS:
        try:
            return kinds.figure(sources, name)
        except InputError:
            continue
    message = "these have no figure: no run of them is finished, or its tables are not here"
    raise InputError.at(Argument("results"), message)
