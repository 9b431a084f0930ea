"""What is printed of an experiment live and in simulation."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from waspbench.cli.status import Status
from waspbench.colour import paint
from waspbench.experiment.sweep import text_of
from waspbench.results import errors
from waspbench.results.twin_figures import FIGURES, TwinRow
from waspbench.results.twin_notes import at
from waspbench.results.twins import SIDES, TwinPoint, TwinResult, interval_text, verdict_text

_WIDTH = 100

MOST_TOLD = 20
"""Lines below a heading."""


def text(result: TwinResult) -> str:
    """Both sides, figure by figure, and where they differ."""
    lines = [f"{result.name}: live and sim, seed {result.seed}", "", *result.listing.terminal(), ""]
    lines += _below("They differ in:", _differences(result))
    lines += _below("Outcomes of the transactions:", list(_outcomes(result)))
    lines += _below(paint("NOT VALID:", "bad"), list(_reasons(result)))
    lines += _below("Notes:", result.notes)
    if not result.complete:
        lines += [f"{paint('Not complete:', 'bad')} runs are missing; wasp resume {result.results} makes them.", ""]
    because = "" if result.valid else "; a side is not valid or not complete"
    return "\n".join([*lines, f"{verdict_text(result)}{because}", f"results: {result.results}"]) + "\n"


def status(result: TwinResult) -> Status:
    """The exit status."""
    if result.verdict == "outside":
        return Status.CHECK_FAILED
    return Status.DONE if result.valid and result.verdict in (None, "within") else Status.INVALID


def _below(head: str, told: Sequence[str]) -> list[str]:
    """A heading and what is told below it; nothing if that is nothing."""
    more = len(told) - MOST_TOLD
    shown = [*told[:MOST_TOLD], *([f"and {more} more; the JSON (--json) has all"] if more > 0 else [])]
    lines = [
        line
        for said in shown
        for line in textwrap.wrap(said, _WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
    ]
    return [head, *lines, ""] if lines else []


def _differences(result: TwinResult) -> list[str]:
    return [_difference(point, row) for point, row in result.differences]


def _difference(point: TwinPoint, row: TwinRow) -> str:
    where = ", ".join(part for part in (text_of(point.varied), row.group or "") if part)
    ratio = ": none live" if row.ratio is None else f": sim/live {row.ratio:.3f} ({interval_text(row)})"
    return f"{FIGURES[row.figure].label}{f' at {where}' if where else ''}{ratio}"


def _outcomes(result: TwinResult) -> Iterator[str]:
    """How transactions ended, of points where some were not ok."""
    for point in result.points:
        if any(errors.failed(each) for each in point.outcomes):
            sides = zip(SIDES, point.outcomes, strict=True)
            told = "; ".join(f"{side} {errors.text(each, None)}" for side, each in sides)
            yield f"{at(point.varied)}{told}"


def _reasons(result: TwinResult) -> Iterator[str]:
    """Why sides are not valid."""
    for point in result.points:
        for side, reasons, failure in zip(SIDES, point.reasons, point.failures, strict=True):
            yield from (f"{side}: {at(point.varied)}{reason.message} [{reason.code}]" for reason in reasons)
            if failure is not None:
                yield f"{side}: {at(point.varied)}no run came to its end: {failure}"
