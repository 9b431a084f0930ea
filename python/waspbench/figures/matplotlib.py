"""Draws figures by matplotlib (extra ``plots``): for papers as PDF, for pages as SVG or PNG, in the house style.

The same figure makes the same bytes: no dates, and no random names. A value that must not be trusted is hollow.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from waspbench.errors import Argument, InputError
from waspbench.extras import needed
from waspbench.figures import style
from waspbench.figures.figure import Axis, Figure, Panel, Trace
from waspbench.figures.style import Style
from waspbench.figures.thin import distinct

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing
    from matplotlib.lines import Line2D

FORMATS = ("pdf", "svg", "png")

HOUSE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Helvetica", "Arial"],
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#d8d8d8",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.handlelength": 4.0,
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "text.parse_math": False,
    "svg.hashsalt": "waspbench",
}
"""The house style, as matplotlib's settings."""

WIDTHS = {1: 6.6, 2: 10.0, 3: 13.0}
"""Width in inches by the number of panels beside each other."""
LEAST_WIDTH = 3.2
"""Width in inches that a panel beside others has at least; with less room they are below each other."""
WIDTH_RANGE = (3.0, 40.0)
"""What may be asked for as width in inches."""
HEIGHTS = (2.4, 3.7)
"""Least and greatest height of a row of panels in inches; between them it is `SHAPE` of the width of a panel."""
SHAPE = 0.7
HEIGHT_BELOW = 1.9
"""Height of the rows of a figure that has its panels below each other."""
NOTE_SIZE = 7
NOTE_LINE = 0.135
"""Height of a line of a note in inches."""
LETTERS_AN_INCH = 17
"""Of a note."""
TITLE_LETTERS_AN_INCH = 13
LABEL_LETTERS_AN_INCH = 14
LEGEND_LETTERS = 40
"""Letters of a name in a legend before it goes on below."""
LEGEND_LINE = 0.17
"""Height of a line of a legend in inches."""
LEGEND_LETTER, LEGEND_BESIDE = 0.072, 0.75
"""Width in inches of a letter of a legend, and of what is beside a name."""
TICK_WIDTH = 0.5
"""Width in inches that a value beside an axis takes."""
MARGIN = 0.8
"""Width in inches of what is beside the axes of a panel."""
ARROW = 17.0
"""Length in points of an arrow to an end that is not known."""
NOTE_COLOUR, WARNING_COLOUR = "#333333", "#a00000"

_MARKERS = {
    "circle": "o",
    "square": "s",
    "triangle-up": "^",
    "diamond": "D",
    "x": "X",
    "star": "*",
    "triangle-down": "v",
    "cross": "P",
    "pentagon": "p",
    "triangle-left": "<",
    "hexagon": "h",
    "triangle-right": ">",
    "none": "",
}
_DASHES: dict[str, Any] = {
    "solid": "solid",
    "dashed": "dashed",
    "dotted": "dotted",
    "dashdot": "dashdot",
    "longdash": (0, (7, 2.5)),
    "longdashdot": (0, (6, 2, 1, 2)),
}
_WITHOUT_DATES: dict[str, dict[str, str | None]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
}


def save(figure: Figure, path: str | Path, *, width: float | None = None, bare: bool = False) -> None:
    """Draws a figure into the file ``path``, which is written anew; see `draw`.

    Raises:
        InputError: the suffix is none of ``.pdf``, ``.svg``, ``.png``, the width is not valid, or the file cannot be
            written.
        CannotRunError: matplotlib is not installed.
    """
    image, _ = rendered(figure, format_of(path), width=width, bare=bare)
    try:
        Path(path).write_bytes(image)
    except OSError as error:
        raise InputError.at(Argument("output"), f"cannot be written: {error.strerror}", str(path)) from None


def rendered(
    figure: Figure, kind: str, *, width: float | None = None, bare: bool = False
) -> tuple[bytes, tuple[float, float]]:
    """A figure as a file of one of the `FORMATS`, and its width and height in inches; see `draw`."""
    drawn = draw(figure, width=width, bare=bare)
    content = io.BytesIO()
    with _house():
        drawn.savefig(content, format=kind, metadata=_WITHOUT_DATES[kind])
    across, high = drawn.get_size_inches()
    return content.getvalue(), (float(across), float(high))


def format_of(path: str | Path) -> str:
    """The format that a file's suffix asks for.

    Raises:
        InputError: it asks for none.
    """
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise InputError.at(Argument("output"), f"must end in .{', .'.join(FORMATS[:-1])} or .{FORMATS[-1]}", str(path))
    return kind


def draw(figure: Figure, *, width: float | None = None, bare: bool = False) -> Drawing:
    """A figure as one of matplotlib.

    Args:
        figure: What is drawn.
        width: Width in inches, such as that of a column; unless given, 6.6 for a panel, and more for several beside
            each other.
        bare: Whether the title and the notes are left out, as a paper has them in its caption. What speaks against the
            figure (its ``warnings``) stays.

    Raises:
        InputError: the width is not from 3 to 40.
        CannotRunError: matplotlib is not installed.
    """
    if width is not None:
        _check(width)
    across = min(len(figure.panels), figure.across)
    size = WIDTHS[across] if width is None else width
    across = max(1, min(across, int(size / LEAST_WIDTH)))
    with _house():
        below = _below(figure, size, bare=bare)
        names = _Legend.of(figure, size)
        foot = NOTE_LINE * len(below) + 0.08
        down = math.ceil(len(figure.panels) / across)
        row = HEIGHT_BELOW if figure.across == 1 else min(max(HEIGHTS[0], SHAPE * size / across), HEIGHTS[1])
        height = row * down + foot + names.height
        drawn: Drawing = needed("matplotlib.figure", "plots").Figure(figsize=(size, height))
        begin = (foot + names.height) / height
        layout = needed("matplotlib.layout_engine", "plots").ConstrainedLayoutEngine(rect=(0, begin, 1, 1 - begin))
        drawn.set_layout_engine(layout)
        if not bare:
            drawn.suptitle(textwrap.fill(figure.title, int(size * TITLE_LETTERS_AN_INCH)), fontsize=10)
        room = TICK_WIDTH / (size / across - MARGIN)
        axes = [drawn.add_subplot(down, across, place + 1) for place in range(len(figure.panels))]
        for place, (panel, own) in enumerate(zip(figure.panels, axes, strict=True)):
            _label(panel, own, (size / across, row), last=figure.across > 1 or place == len(axes) - 1)
            _draw_panel(panel, own, figure, max(room, style.TICK_ROOM))
        drawn.align_ylabels(axes)
        names.draw(drawn, axes, foot / height)
        for number, (line, colour) in enumerate(reversed(below)):
            up = (0.05 + NOTE_LINE * number) / height
            drawn.text(0.01, up, line, fontsize=NOTE_SIZE, va="bottom", color=colour)
    return drawn


@contextmanager
def _house() -> Iterator[None]:
    """Within it matplotlib has its own defaults and the house style, whatever the user's settings are."""
    with needed("matplotlib.style", "plots").context("default"), needed("matplotlib", "plots").rc_context(HOUSE):
        yield


def _check(width: float) -> None:
    least, most = WIDTH_RANGE
    if not least <= width <= most:
        raise InputError.at(Argument("width"), f"must be from {least:g} to {most:g} inches", width)


def _below(figure: Figure, width: float, *, bare: bool) -> list[tuple[str, str]]:
    """The lines below a figure, each with its colour."""
    notes = () if bare else figure.notes
    said = [(text, WARNING_COLOUR) for text in figure.warnings] + [(text, NOTE_COLOUR) for text in notes]
    letters = int(width * LETTERS_AN_INCH)
    return [(line, colour) for text, colour in said for line in textwrap.wrap(text, letters, subsequent_indent="    ")]


def _label(panel: Panel, axes: Axes, room: tuple[float, float], *, last: bool) -> None:
    """What is beside the axes of a panel with ``room`` of so many inches along and up; of panels below each other only
    the ``last`` says what is along them.
    """
    along, up = (int((inches - MARGIN) * LABEL_LETTERS_AN_INCH) for inches in room)
    if panel.title:
        axes.set_title(panel.title)
    if last:
        axes.set_xlabel(textwrap.fill(panel.x.label, along))
    if not style.is_matrix(panel):
        axes.set_ylabel(textwrap.fill(panel.y.label, up))


def _draw_panel(panel: Panel, axes: Axes, figure: Figure, room: float) -> None:
    if style.is_matrix(panel):
        _matrix(panel, axes)
        return
    looks = style.styles(figure)
    for order, trace in enumerate(panel.traces):
        look = looks[style.key(trace)]
        if trace.kind == "steps":
            _steps(distinct(trace, panel), axes, look, order)
        elif trace.kind == "reference":
            _reference(trace, axes, look)
        elif panel.x.categories:
            aside = style.aside(trace, panel)
            _marks(replace(trace, x=tuple(x + aside for x in trace.x)), axes, look)
        else:
            if trace.kind == "line":
                axes.plot(trace.x, _numbers(trace.y), color=look.colour, linestyle=_DASHES[look.dash], marker="")
            _marks(trace, axes, look, halo=style.is_halo(trace, panel))
    _scale(axes, panel, figure, room)


def _matrix(panel: Panel, axes: Axes) -> None:
    """A row a trace, a shade a value, which is written in its cell."""
    colours = needed("matplotlib", "plots").colormaps["cividis"].with_extremes(bad="#eeeeee")
    shades = [[math.nan if value is None else style.shade(panel, value) for value in trace.y] for trace in panel.traces]
    axes.pcolormesh(shades, cmap=colours, vmin=0, vmax=1, edgecolors="white", linewidth=0.8)
    for down, trace in enumerate(panel.traces):
        for along, value in enumerate(trace.y):
            if value is not None:
                said = style.cell(trace, along)
                colour = "black" if style.shade(panel, value) > style.LIGHT else "white"
                axes.text(along + 0.5, down + 0.5, said, ha="center", va="center", fontsize=NOTE_SIZE, color=colour)
    axes.set_xticks([place + 0.5 for place in range(len(panel.x.categories))], panel.x.categories)
    axes.set_yticks([place + 0.5 for place in range(len(panel.traces))], [trace.name for trace in panel.traces])
    axes.invert_yaxis()
    axes.grid(visible=False)


def _numbers(values: Sequence[float | None]) -> list[float]:
    return [math.nan if value is None else value for value in values]


def _reference(trace: Trace, axes: Axes, look: Style) -> None:
    width = style.reference_width(trace)
    axes.plot(
        trace.x,
        _numbers(trace.y),
        color=look.colour,
        linestyle=_DASHES[look.dash],
        marker="",
        linewidth=width,
        zorder=1.5,
    )


def _marks(trace: Trace, axes: Axes, look: Style, *, halo: bool = False) -> None:
    """Markers, those of values that must not be trusted hollow and before the others, and intervals. A ``halo`` is
    larger and behind.
    """
    _intervals(trace, axes, look)
    for invalid in (False, True):
        chosen = [place for place in range(len(trace.x)) if style.is_invalid(trace, place) == invalid]
        [marks] = axes.plot(
            [trace.x[place] for place in chosen],
            _numbers([trace.y[place] for place in chosen]),
            linestyle="none",
            marker=_MARKERS[look.marker],
            color=look.colour,
            markerfacecolor="white" if invalid else look.colour,
            markersize=style.HALO if halo else HOUSE["lines.markersize"],
            zorder=(2.2 if invalid else 2.1) - 0.2 * halo,
            clip_on=False,
        )
        marks.set_in_layout(False)


def _intervals(trace: Trace, axes: Axes, look: Style) -> None:
    """Bars from the low to the high ends, with caps; an arrow where one of the ends is not known."""
    for x, y, low, high in zip(trace.x, trace.y, trace.low, trace.high, strict=False):
        if y is None or (low is None and high is None):
            continue
        ends = [y if low is None else low, y if high is None else high]
        axes.plot([x, x], ends, color=look.colour, linewidth=1.0, marker="_", markersize=6)
        if low is None or high is None:
            _arrow(axes, x, y, look, ARROW if high is None else -ARROW)


def _arrow(axes: Axes, x: float, y: float, look: Style, length: float) -> None:
    """An arrow upwards from a value, or downwards with a negative ``length`` in points."""
    drawn = axes.annotate(
        "",
        xy=(x, y),
        xytext=(0, length),
        textcoords="offset points",
        arrowprops={"arrowstyle": "<-", "color": look.colour, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0},
        annotation_clip=False,
    )
    drawn.set_in_layout(False)


def _steps(trace: Trace, axes: Axes, look: Style, order: int) -> None:
    """Steps, with a few markers along them so that they are told apart in grey, on the band of their intervals."""
    if all(value is None for value in trace.y):
        return  # markers have no place along nothing
    if trace.low:
        axes.fill_between(
            trace.x,
            _numbers(trace.low),
            _numbers(trace.high),
            step="post",
            color=look.colour,
            alpha=style.BAND,
            linewidth=0,
        )
    [steps] = axes.step(
        trace.x,
        _numbers(trace.y),
        where="post",
        color=look.colour,
        linestyle=_DASHES[look.dash],
        marker=_MARKERS[look.marker],
        markerfacecolor="white" if style.is_hollow(trace) else look.colour,
        markevery=(0.03 + 0.01 * order, 0.14),
        clip_on=False,
    )
    steps.set_in_layout(False)


def _scale(axes: Axes, panel: Panel, figure: Figure, room: float) -> None:
    """Axes: logarithmic or from zero, with values or names beside them, and as long as those of panels alike."""
    ticker = needed("matplotlib.ticker", "plots")
    alike = style.together(panel, figure)
    for letter, axis, drawn in (("x", panel.x, axes.xaxis), ("y", panel.y, axes.yaxis)):
        if axis.categories:
            _categories(axes, axis)
            continue
        own = style.ticks(axis, figure, room) if letter == "x" else None
        if axis.log:
            getattr(axes, f"set_{letter}scale")("log", nonpositive="clip")
        if letter == "x":
            axes.set_xlim(style.ends(axis, figure))
        if axis.log:
            low, high = getattr(axes, f"get_{letter}lim")()
            drawn.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0) if high / low < 100 else (1.0,)))
        if own is not None:
            drawn.set_major_locator(ticker.FixedLocator(own))
            drawn.set_minor_locator(ticker.NullLocator())
        drawn.set_major_formatter(ticker.FuncFormatter(lambda value, _: style.number(value)))
        drawn.set_minor_formatter(ticker.NullFormatter())
    axes.set_ylim(style.limits(alike))


def _categories(axes: Axes, axis: Axis) -> None:
    """Names along the x axis."""
    names = [textwrap.fill(name, 24) for name in axis.categories]
    crowded = sum(map(len, axis.categories)) > 44
    turned: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    axes.set_xticks(range(len(names)), names, **turned)
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.grid(visible=False, axis="x")


@dataclass(frozen=True)
class _Legend:
    """The names of a figure with their looks: within the axes where these have room, and below them else."""

    handles: list[Line2D]
    texts: list[str]
    columns: int
    """0 within the axes."""

    @classmethod
    def of(cls, figure: Figure, width: float) -> _Legend:
        traces, looks = style.legend(figure), style.styles(figure)
        handles = [_handle(looks[style.key(trace)], trace, figure.panels[0]) for trace in traces]
        texts = [textwrap.fill(trace.name, LEGEND_LETTERS) for trace in traces]
        if len(figure.panels) == 1 and len(texts) <= style.LEGEND_INSIDE and width >= WIDTHS[1]:
            return cls(handles, texts, 0)
        letters = max((len(line) for text in texts for line in text.split("\n")), default=0)
        return cls(handles, texts, max(1, int(width / (LEGEND_BESIDE + LEGEND_LETTER * letters))))

    @property
    def height(self) -> float:
        """Inches that it takes below the axes."""
        if not self.columns or not self.texts:
            return 0.0
        rows = math.ceil(len(self.texts) / self.columns)
        lines = [text.count("\n") + 1 for text in self.texts]
        return LEGEND_LINE * max(sum(lines[first : first + rows]) for first in range(0, len(lines), rows)) + 0.12

    def draw(self, drawn: Drawing, axes: Sequence[Axes], bottom: float) -> None:
        """Puts it into a drawing, where it begins at ``bottom``, a part of its height."""
        if not self.texts:
            return
        if not self.columns:
            axes[0].legend(self.handles, self.texts, loc="best")
            return
        legend = drawn.legend(
            self.handles, self.texts, loc="lower center", bbox_to_anchor=(0.5, bottom), ncols=self.columns
        )
        legend.set_in_layout(False)


def _handle(look: Style, trace: Trace, panel: Panel) -> Line2D:
    line: Line2D = needed("matplotlib.lines", "plots").Line2D(
        [],
        [],
        color=look.colour,
        linestyle=_DASHES[look.dash] if style.is_joined(trace, panel) else "none",
        linewidth=style.reference_width(trace) if trace.kind == "reference" else 1.4,
        marker=_MARKERS[look.marker],
        markersize=style.HALO if style.is_halo(trace, panel) else HOUSE["lines.markersize"],
        markerfacecolor="white" if style.is_hollow(trace) else look.colour,
    )
    return line
