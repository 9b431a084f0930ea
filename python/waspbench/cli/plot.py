"""``wasp plot``: one figure of results, for a paper or a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from waspbench.cli import status
from waspbench.cli.options import OUTPUT, Json
from waspbench.cli.outputs import check_new
from waspbench.errors import InputError

if TYPE_CHECKING:
    from waspbench.figures.figure import Figure
    from waspbench.figures.kinds import FigureKind
    from waspbench.figures.sources import Source


def plot(
    *sources: Annotated[
        str,
        Parameter(
            name="DIR",
            help="Results: DIR, or points of it: DIR@path=value,path=value. The figure comparison compares several "
            "with the first; response-time-cdf, response-time-ccdf and outcomes draw several over each other.",
        ),
    ],
    figure: Annotated[
        str | None,
        Parameter(
            metavar="NAME",
            help="Figure to draw, such as throughput-vs-load, phones.p99-vs-rtt or load-search. [default: a list of "
            "the figures]",
        ),
    ] = None,
    x: Annotated[
        str | None, Parameter(metavar="PATH", help="Swept field along the axis, such as clients.bandwidth.down.")
    ] = None,
    by: Annotated[
        list[str] | None,
        Parameter(
            metavar="PATH",
            help="Swept field whose values get a curve each; may be repeated. group draws a curve for each group of "
            "clients, and result one for each of more than two results compared. Other swept fields become panels. "
            "[default: all but the axis]",
        ),
    ] = None,
    log: Annotated[
        Literal["x", "y", "xy", "none"] | None,
        Parameter(
            name="--log-axes", metavar="x|y|xy|none", help="Which axes are logarithmic. [default: as fits the values]"
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Parameter(
            name=("--output", "-o"),
            metavar="FILE",
            group=OUTPUT,
            help="New file for the figure, a .pdf, .svg or .png. [default: NAME.svg]",
        ),
    ] = None,
    force: Annotated[bool, Parameter(group=OUTPUT, help="Write over a file that exists.")] = False,
    width: Annotated[
        float | None,
        Parameter(
            metavar="INCHES",
            group=OUTPUT,
            help="Width of the figure, such as 3.3 for a column of a paper. [default: 6.6, or more for several panels]",
        ),
    ] = None,
    bare: Annotated[
        bool,
        Parameter(
            group=OUTPUT, help="Leave out the title and the notes; the warning that a result is not valid stays."
        ),
    ] = False,
    json: Json = False,
) -> int:
    """Draw a figure of results as PDF, SVG or PNG, or list the figures that they have."""
    from waspbench.figures.kinds import kind_named
    from waspbench.figures.sources import load_source

    if not sources:
        raise InputError.at("DIR", "missing; name a directory of results")
    given = {"--x": x, "--by": by, "--log-axes": log, "-o": output, "--force": force, "--width": width, "--bare": bare}
    if figure is None:
        for flag, value in given.items():
            if value is not None and value is not False:
                raise InputError.at(flag, "has no effect without --figure, which names what is drawn")
        return _listed([load_source(text) for text in sources], json)
    if json:
        raise InputError.at("--json", "has no effect beside --figure; a figure is a file")
    percentiles = kind_named(figure).percentiles
    file = _new_file(Path(f"{figure.replace(':', '-')}.svg") if output is None else output, force=force)
    loaded = [load_source(text, percentiles) for text in sources]
    return _drawn(_made(loaded, figure, x, by or (), log), file, loaded, width=width, bare=bare)


def _new_file(path: Path, *, force: bool) -> Path:
    """The file for the figure, which can be written.

    Raises:
        InputError: it cannot, or a file is there already and would be lost.
    """
    from waspbench.figures.matplotlib import format_of

    format_of(path)
    check_new(path, force=force)
    return path


def _made(
    loaded: list[Source], name: str, x: str | None, by: Sequence[str], log: Literal["x", "y", "xy", "none"] | None
) -> Figure:
    from waspbench.figures.kinds import figure

    return figure(loaded, name, x=x, by=by, log=log)


def _drawn(made: Figure, file: Path, loaded: list[Source], *, width: float | None, bare: bool) -> int:
    from waspbench.figures.matplotlib import save

    save(made, file, width=width, bare=bare)
    print(f"{file}: {made.title}")
    for said in (*made.warnings, *made.notes):
        print(f"  {said}")
    valid = made.valid and all(source.complete for source in loaded)
    return status.Status.DONE if valid else status.Status.INVALID


def _listed(loaded: list[Source], json: bool) -> int:
    from waspbench.figures.kinds import available

    found = available(loaded)
    print(_json(found) if json else _text(found))
    return status.Status.DONE


def _json(found: list[tuple[FigureKind, str | None]]) -> str:
    import json as jsonlib

    rows = [
        {"name": kind.name, "description": kind.description, "available": why is None, "why_not": why}
        for kind, why in found
    ]
    return jsonlib.dumps(rows, indent=2)


def _text(found: list[tuple[FigureKind, str | None]]) -> str:
    """The figures that there are, and below them the others with the reason."""
    from waspbench.tabular import aligned

    there = [[kind.name, kind.description] for kind, why in found if why is None]
    absent: dict[str, list[str]] = {}
    for kind, why in found:
        if why is not None:
            absent.setdefault(why, []).append(kind.name)
    lines = aligned(["figure", "what it shows"], there, [True, True]) if there else ["no figure"]
    if absent:
        lines += ["", "Others are not of these results:"]
        lines += [f"- {_joined(names)}: {why}" for why, names in absent.items()]
    lines += [
        "",
        "Besides: what conditions name, such as p99.9-vs-load, phones.p95-vs-rtt, p99-comparison, p99-matrix.",
    ]
    return "\n".join(lines)


def _joined(names: Sequence[str]) -> str:
    """Names of figures in one line, those of one quantity together: ``errors (-vs-load, -vs-rtt)``."""
    fields: dict[str, list[str]] = {}
    for name in names:
        of, against, field = name.partition("-vs-")
        fields.setdefault(of, []).extend([f"{against}{field}"] if against else [])
    return ", ".join(_family(of, found, whole=of in names) for of, found in fields.items())


def _family(of: str, fields: Sequence[str], *, whole: bool) -> str:
    if whole and fields:
        return f"{of} ({', '.join(fields)})"
    return ", ".join(f"{of}{field}" for field in fields) or of
