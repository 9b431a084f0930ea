"""The command that holds the model to theory, to the papers and to the kernel."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from waspbench.cli.status import Status
from waspbench.errors import InputError

if TYPE_CHECKING:
    from waspbench.validation.page import Table

validate = App(name="validate", help="Compare the model with formulas, with the papers' findings and with Linux.")


@validate.command
def tcp(
    *,
    output: Annotated[
        Path | None,
        Parameter(
            name=("--output", "-o"),
            metavar="DIR",
            help="Directory for figures and for validation.md, whose part on senders this writes.",
        ),
    ] = None,
) -> int:
    """Measure the simulated senders against PFTK, Cardwell, RFC 9438 and the WASP paper; some minutes."""
    from waspbench.validation import validate_tcp
    from waspbench.validation.page import check, text, write

    if output is not None:
        check(output)
    tables = validate_tcp(_say)
    print(text(tables), end="")
    if output is not None:
        print(f"written: {write(output, {'simulated': tables})}", file=sys.stderr)
    return verdict(tables)


@validate.command
def kernel(
    *,
    only: Annotated[
        list[str] | None,
        Parameter(metavar="NAME", help="Name of a configuration to compare; may be repeated. [default: all]"),
    ] = None,
    results: Annotated[
        Path | None,
        Parameter(
            metavar="DIR", help="Directory that keeps the live runs; runs that it has already are not made again."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Parameter(
            name=("--output", "-o"), metavar="DIR", help="Directory with validation.md, whose table this writes."
        ),
    ] = None,
) -> int:
    """Measure the simulated server against this machine's kernel in 24 configurations; up to three hours."""
    from contextlib import nullcontext
    from tempfile import TemporaryDirectory

    from waspbench.validation import kept, linux
    from waspbench.validation.cases import CASES
    from waspbench.validation.page import check, write

    known = [each.name for each in CASES]
    for name in only or ():
        if name not in known:
            raise InputError.at("--only", f"{', '.join(known)} would be valid", name)
    if only and output is not None:
        raise InputError.at(
            "--only", "a part of the configurations does not make the page; leave --output out", only[0]
        )
    if output is not None:
        check(output)
    kept.require()
    chosen = [each for each in CASES if not only or each.name in only]
    with nullcontext(results) if results else TemporaryDirectory(prefix="wasp-validation-") as directory:
        table = linux.compare(Path(directory), chosen, _say)
    print(table.markdown(), end="")
    if output is not None:
        print(f"written: {write(output, {'kernel': [table]})}", file=sys.stderr)
    return verdict([table])


@validate.command
def clients(
    *,
    size: Annotated[
        str | None, Parameter(metavar="SIZE", help="Size of the points to measure, such as 20KB. [default: all sizes]")
    ] = None,
    loss: Annotated[
        str | None,
        Parameter(metavar="RATE", help="Loss rate of the points to measure, such as 1%. [default: all rates]"),
    ] = None,
    output: Annotated[
        Path | None,
        Parameter(
            name=("--output", "-o"), metavar="DIR", help="Directory with validation.md, whose table this writes."
        ),
    ] = None,
) -> int:
    """Measure the emulated clients against the kernel's own behind the same network; some forty minutes."""
    from waspbench.validation import clients as client_validation
    from waspbench.validation.page import check, write

    points = client_validation.CLIENT_CASES
    for flag, name, asked in (("--size", "size", size), ("--loss", "loss", loss)):
        known = list(dict.fromkeys(getattr(point, name) for point in points))
        if asked is not None and asked not in known:
            raise InputError.at(flag, f"{' or '.join(known)} would be valid", asked)
        if asked is not None and output is not None:
            raise InputError.at(flag, "a part of the points does not make the page; leave --output out", asked)
    if output is not None:
        check(output)
    client_validation.require()
    chosen = [point for point in points if size in (None, point.size) and loss in (None, point.loss)]
    table = client_validation.compare(chosen, _say)
    print(table.markdown(), end="")
    if output is not None:
        print(f"written: {write(output, {'clients': [table]})}", file=sys.stderr)
    return verdict([table])


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def verdict(tables: Sequence[Table]) -> Status:
    """One bar missed fails the check; otherwise one that could not be judged leaves it open."""
    if not all(all(table.judged) for table in tables):
        return Status.CHECK_FAILED
    return Status.INVALID if any(table.unjudged for table in tables) else Status.DONE
