"""The command that holds the model to theory, to the papers and to the kernel."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from waspbench.cli.app import app
from waspbench.cli.status import Status
from waspbench.validation import linux, validate_tcp
from waspbench.validation.page import Table, check, text, write

validate = typer.Typer(help="Hold the model to formulas, to the papers' findings and to Linux.")
app.add_typer(validate, name="validate")


@validate.callback()
def _group() -> None:
    """Hold the model to formulas, to the papers' findings and to Linux."""


@validate.command()
def tcp(
    live: Annotated[
        bool, typer.Option("--live", help="Compare with this machine's kernel too; some ten minutes.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Write validation.md and its figures there."),
    ] = None,
) -> int:
    """Measure the simulated senders against PFTK, Cardwell, RFC 9438 and the WASP paper; some minutes."""
    if output is not None:
        check(output)
    if live:
        linux.require()
    simulated, compared = validate_tcp(live, lambda line: print(line, file=sys.stderr, flush=True))
    tables = [*simulated, *(compared or ())]
    print(text(tables), end="")
    if output is not None:
        print(f"written: {write(output, simulated, compared)}", file=sys.stderr)
    return verdict(tables)


def verdict(tables: Sequence[Table]) -> Status:
    """One bar missed fails the check; otherwise one that could not be judged leaves it open."""
    if not all(all(table.judged) for table in tables):
        return Status.CHECK_FAILED
    return Status.INVALID if any(table.unjudged for table in tables) else Status.DONE
