"""Figures of a file set: complementary distributions, popularity over rank, and stack distances."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from waspbench.extras import needed
from waspbench.workload.check import Compared, Examination, Popularity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "png", "pdf")

_GENERATED, _INTENDED = "tab:blue", "black"


def draw(examination: Examination, directory: Path, kind: str = "svg") -> list[Path]:
    """Draws everything into ``directory``, which is made if need be; the same bytes for the same set.

    Args:
        examination: What is drawn.
        directory: Where the figures go.
        kind: One of ``FORMATS``.

    Returns:
        The paths of the figures.

    Raises:
        CannotRunError: matplotlib is not installed.
    """
    needed("matplotlib", "plots")  # before anything is left behind
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for compared in examination.distributions:
        figure, axes = _axes()
        if compared.name == "stack distance":
            _histogram(axes, compared)
        else:
            _ccdf(axes, compared)
        paths.append(_save(figure, axes, directory / f"{_file_name(compared.name)}.{kind}"))
    figure, axes = _axes()
    _zipf(axes, examination.popularity)
    paths.append(_save(figure, axes, directory / f"popularity.{kind}"))
    return paths


def _axes() -> tuple[Figure, Axes]:
    figure: Figure = needed("matplotlib.figure", "plots").Figure(figsize=(6.0, 4.0), layout="constrained")
    return figure, figure.add_subplot()


def _ccdf(axes: Axes, compared: Compared) -> None:
    """The share of the values above each, on logarithmic axes, where a Pareto tail is a straight line."""
    # Zero has no place on a logarithmic axis, neither as a value nor as a share.
    points = [point for point in compared.points if point[0] > 0]
    above = [(value, share) for value, share, _ in points if share > 0]
    axes.step(*_columns(above), where="post", color=_GENERATED, label="generated")
    meant = [(value, share) for value, _, share in points if share is not None and share > 0]
    if meant:
        # Of numbers the distribution is a staircase, too.
        style = "default" if compared.unit else "steps-post"
        axes.plot(*_columns(meant), color=_INTENDED, linestyle="--", drawstyle=style, label="intended")
    unit = {"B": "bytes", "s": "seconds"}.get(compared.unit, "number")
    distance = "" if compared.distance is None else f" (KS distance {compared.distance:.4f})"
    axes.set(
        xscale="log",
        yscale="log",
        xlabel=f"{compared.name}, {unit}",
        ylabel="share of values above",
        title=f"{compared.name}{distance}",
    )


def _histogram(axes: Axes, compared: Compared) -> None:
    """The probability of each distance; points that stand for several distances show their mean."""
    steps = list(zip([(0.0, 1.0, 1.0), *compared.points], compared.points, strict=False))
    generated = [(after[0], (before[1] - after[1]) / (after[0] - before[0])) for before, after in steps]
    axes.step(*_columns(generated), where="mid", color=_GENERATED, label="generated")
    meant = [
        (after[0], (before[2] - after[2]) / (after[0] - before[0]))
        for before, after in steps
        if before[2] is not None and after[2] is not None
    ]
    if meant:
        axes.plot(*_columns(meant), color=_INTENDED, linestyle="--", label="intended")
    distance = "" if compared.distance is None else f" (KS distance {compared.distance:.4f})"
    axes.set(
        xscale="log",
        xlabel="stack distance, pages",
        ylabel="share of repeated requests",
        title=f"stack distance, median {compared.median:g}{distance}",
    )


def _zipf(axes: Axes, popularity: Popularity) -> None:
    """References over rank on logarithmic axes, where Zipf's law is a straight line."""
    axes.plot(*_columns(popularity.points), color=_GENERATED, marker=".", linestyle="none", label="generated")
    top = popularity.points[0][1]
    line = [(rank, top * rank**popularity.intended_slope) for rank, _ in popularity.points]
    axes.plot(*_columns(line), color=_INTENDED, linestyle="--", label=f"intended: slope {popularity.intended_slope:g}")
    first, last = popularity.ranks
    fitted = "" if popularity.slope is None else f": slope {popularity.slope:.3f} over ranks {first} to {last}"
    axes.set(xscale="log", yscale="log", xlabel="rank", ylabel="references", title=f"popularity{fitted}")


def _columns(points: list[tuple[float, float]] | list[tuple[int, int]] | list[tuple[int, float]]) -> list[list[float]]:
    return [[float(point[column]) for point in points] for column in (0, 1)]


def _save(figure: Figure, axes: Axes, path: Path) -> Path:
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(frameon=False)
    # No dates and no random names, so that equal figures are equal files.
    metadata = {"png": {"Software": None}, "pdf": {"CreationDate": None}}.get(path.suffix[1:], {"Date": None})
    with needed("matplotlib", "plots").rc_context({"svg.hashsalt": "waspbench"}):
        figure.savefig(path, metadata=metadata)
    return path


def _file_name(name: str) -> str:
    return name.replace(",", "").replace(" ", "-").lower()
