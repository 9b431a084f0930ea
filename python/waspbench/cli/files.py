"""The commands that write and check file sets."""

from __future__ import annotations

import json as jsonlib
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter
from cyclopts.validators import Number

from waspbench.cli.options import ARGUMENTS, Json
from waspbench.cli.status import Status
from waspbench.errors import Argument, CannotRunError, InputError, renamed
from waspbench.extras import MissingLibraryError
from waspbench.suggestion import hint
from waspbench.tabular import NONE, Column, Listing

if TYPE_CHECKING:
    from waspbench.workload.check import Compared, Examination
    from waspbench.workload.fileset import Manifest

files = App(name="files", help="Write a set of files with the sizes and the popularity of a workload, or check one.")

Directory = Annotated[Path, Parameter(name="DIR", help="New directory for the files.")]
Seed = Annotated[int, Parameter(metavar="N", show_default=True, validator=Number(gte=0), help="Seed of the set.")]
Requests = Annotated[
    int | None,
    Parameter(metavar="N", help="Number of requests in the sequence, for all files together. [default: the preset's]"),
]
Settings = Annotated[
    list[str] | None,
    Parameter(
        name="--set",
        metavar="PATH=VALUE",
        help="Set a parameter, such as loner_sizes.tail.fraction=5%; may be repeated.",
    ),
]


@files.command
def surge(
    directory: Directory,
    /,
    *,
    seed: Seed = 1,
    preset: Annotated[
        str,
        Parameter(
            metavar="NAME",
            show_default=True,
            help="Named set of parameters: surge98, surge-50MB, surge99 or pries2012.",
        ),
    ] = "surge98",
    count: Annotated[
        int | None, Parameter(name="--files", metavar="N", help="Number of files. [default: the preset's]")
    ] = None,
    requests: Requests = None,
    matching: Annotated[
        str | None,
        Parameter(
            metavar="optimal|random",
            help="Which files are popular: those that give the intended sizes of requested files, or files at random. "
            "[default: the preset's]",
        ),
    ] = None,
    settings: Settings = None,
    json: Json = False,
) -> int:
    """Write the files of a SURGE workload: lognormal sizes with a Pareto tail, Zipf popularity, pages."""
    options = {"preset": preset, "files": count, "requests": requests, "matching": matching}
    return _generate(directory, "surge", options, seed, settings, json)


@files.command
def prowgen(
    directory: Directory,
    /,
    *,
    seed: Seed = 1,
    preset: Annotated[
        str, Parameter(metavar="NAME", show_default=True, help="Named set of parameters: ip-tne or webtraff.")
    ] = "ip-tne",
    objects: Annotated[int | None, Parameter(metavar="N", help="Number of files. [default: the preset's]")] = None,
    requests: Requests = None,
    settings: Settings = None,
    json: Json = False,
) -> int:
    """Write the files of a ProWGen workload: lognormal sizes with a Pareto tail, Zipf popularity, one-timers."""
    options = {"preset": preset, "objects": objects, "requests": requests}
    return _generate(directory, "prowgen", options, seed, settings, json)


@files.command
def check(
    directory: Annotated[Path, Parameter(name="DIR", help="A file set.")],
    /,
    *,
    run: Annotated[
        int,
        Parameter(
            metavar="N",
            show_default=True,
            validator=Number(gte=0, lte=2**32 - 1),
            help="Number of the run whose order of requests is checked.",
        ),
    ] = 0,
    figures: Annotated[
        Path | None, Parameter(metavar="DIR", help="Directory for the figures. [default: <DIR>-figures]")
    ] = None,
    kind: Annotated[
        str,
        Parameter(name="--format", metavar="svg|png|pdf", show_default=True, help="Format of the figures."),
    ] = "svg",
    json: Json = False,
) -> int:
    """Compare files with their manifest, and each distribution with the intended one, in numbers and figures."""
    from waspbench.workload.check import examine, verify

    # Drawing takes a second to import, which the other commands need not wait for.
    from waspbench.workload.figures import FORMATS, draw

    if kind not in FORMATS:
        raise InputError.at("--format", f"{hint(kind, FORMATS)}must be one of {', '.join(FORMATS)}", kind)
    manifest = verify(directory)
    examination = examine(manifest, run)
    target = figures or directory.resolve().with_name(f"{directory.resolve().name}-figures")
    where = str(target)
    try:
        drawn = draw(examination, target, kind)
    except OSError as error:
        raise CannotRunError(f"{error.filename or target}: cannot be written: {error.strerror}") from None
    except MissingLibraryError as error:
        if figures is not None:
            raise
        drawn, where = [], f"none: {error}"
    if json:
        found = {**_summary(manifest), **examination.model_dump(), "figures": [str(path) for path in drawn]}
        print(jsonlib.dumps(found))
    else:
        print(report(manifest, examination))
        print(f"figures         {where}")
    return Status.DONE


def _generate(
    directory: Path, kind: str, options: dict[str, Any], seed: int, settings: list[str] | None, json: bool
) -> int:
    from waspbench.workload.generate import complete, generate

    given = {name: value for name, value in options.items() if value is not None}
    flags = {**ARGUMENTS, "seed": "--seed", **{f"options.{name}": f"--{name}" for name in options}}

    def flag_of(where: str) -> str:
        return flags.get(where, where.removeprefix("options.")) if isinstance(where, Argument) else where

    with renamed(flag_of):
        manifest = generate(directory, kind, complete(kind, given, settings or []), seed)
    if json:
        print(jsonlib.dumps(_summary(manifest)))
    else:
        print(f"{directory}: {_title(manifest)}")
    return Status.DONE


def _summary(manifest: Manifest) -> dict[str, Any]:
    return {**manifest.model_dump(exclude={"entries", "format"}), "files": len(manifest.entries)}


def _title(manifest: Manifest) -> str:
    size = f"{manifest.bytes / 1e6:,.1f} MB"
    return f"{manifest.kind}, seed {manifest.seed}: {len(manifest.entries):,d} files of {size} together"


def report(manifest: Manifest, examination: Examination) -> str:
    """What ``wasp files check`` prints."""
    popularity = examination.popularity
    slope = NONE if popularity.slope is None else f"{popularity.slope:.3f}"
    first, last = popularity.ranks
    lines = [
        f"{_title(manifest)}, all as in the manifest",
        f"one pass        {examination.pages:,d} pages, {examination.requests:,d} requests, "
        f"{examination.requested_bytes / 1e6:,.1f} MB",
        f"popularity      slope {slope} over ranks {first} to {last}, intended {popularity.intended_slope:g}",
    ]
    if examination.never_requested or examination.overdrawn:
        lines.append(
            f"embedded files  {examination.never_requested:,d} in no page, {examination.overdrawn:,d} requests more "
            "than their popularity"
        )
    lines += ["", *Listing(_DISTRIBUTIONS, [_row(compared) for compared in examination.distributions]).terminal()]
    lines += ["", *textwrap.wrap(f"Limits of KS: {_limits(examination)}.", 79)]
    if not all(compared.as_intended for compared in examination.distributions):
        lines.append("!: beyond the limit. One in twenty distributions is beyond its 5 % critical value by chance.")
    return "\n".join(lines) + "\n"


def _limits(examination: Examination) -> str:
    """Each reason of a limit with what it limits, in the order of the table."""
    limited: dict[str, list[str]] = {}
    for compared in examination.distributions:
        if compared.limit is not None:
            limited.setdefault(compared.reason, []).append(compared.name)
    return "; ".join(f"{reason} ({', '.join(names)})" for reason, names in limited.items())


def _row(compared: Compared) -> dict[str, Any]:
    unit = f", {compared.unit}" if compared.unit else ""
    return {**dict(compared), "name": compared.name + unit, "mark": "" if compared.as_intended else "!"}


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _distance(value: float) -> str:
    return f"{value:.4f}"


_DISTRIBUTIONS = {
    "name": Column("", left=True),
    "median": Column("median", _number),
    "intended_median": Column("intended", _number),
    "mean": Column("mean", _number),
    "intended_mean": Column("intended", _number),
    "distance": Column("KS", _distance),
    "limit": Column("limit", _distance),
    "mark": Column("", left=True),
}
