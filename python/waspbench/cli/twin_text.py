"""What is printed of an experiment live and in simulation."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from waspbench.cli.status import Status
from waspbench.colour import paint
from waspbench.experiment.sweep import text_of
from waspbench.results import errors
from waspbench.results.twin_figures import FIGURES
from waspbench.results.twins import SIDES, TwinResult, interval_text, verdict_text

_WIDTH = 100

MOST_DIFFERENCES = 10
"""Differences that are told in words."""


def text(result: TwinResult) -> str:
    """Both sides, figure by figure, and where they differ."""
    lines = [f"{result.name}: live and sim, seed {result.seed}", "", *result.listing.terminal(), ""]
    lines += _below("They differ in:", _differences(result))
    lines += _below("Outcomes of the transactions:", _outcomes(result))
    lines += _below(paint("NOT VALID:", "bad"), _reasons(result))
    lines += _below("Notes:", result.notes)
    if not result.complete:
        lines += [f"{paint('Not complete:', 'bad')} runs are missing.", ""]
    because = "" if result.valid else "; a side is not valid or not complete"
    return "\n".join([*lines, f"{verdict_text(result)}{because}", f"results: {result.results}"]) + "\n"


def status(result: TwinResult) -> Status:
    """The exit status."""
    if result.verdict == "outside":
        return Status.CHECK_FAILED
    return Status.DONE if result.valid and result.verdict in (None, "within") else Status.INVALID


def _below(head: str, told: Iterable[str]) -> list[str]:
    """A heading and what is told below it; nothing if that is nothing."""
    lines = [
        line
        for said in told
        for line in textwrap.wrap(said, _WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
    ]
    return [head, *lines, ""] if lines else []


def _differences(result: TwinResult) -> Iterator[str]:
    found = result.differences
    for point, row in found[:MOST_DIFFERENCES]:
        where = ", ".join(part for part in (text_of(point.varied), row.group or "") if part)
        ratio = "" if row.ratio is None else f": sim/live {row.ratio:.3f} ({interval_text(row)})"
        yield f"{FIGURES[row.figure].label}{f' at {where}' if where else ''}{ratio}"
    if len(found) > MOST_DIFFERENCES:
        yield f"and {len(found) - MOST_DIFFERENCES} more"


def _outcomes(result: TwinResult) -> Iterator[str]:
    """How transactions ended, of points where some were not ok."""
    for point in result.points:
        if any(errors.failed(each) for each in point.outcomes):
            sides = zip(SIDES, point.outcomes, strict=True)
            told = "; ".join(f"{side} {errors.text(each, None)}" for side, each in sides)
            yield f"{_at(point.varied)}{told}"


def _reasons(result: TwinResult) -> Iterator[str]:
    """Why sides are not valid."""
    for point in result.points:
        for side, reasons in zip(SIDES, point.reasons, strict=True):
            yield from (f"{side}: {_at(point.varied)}{reason.message}" for reason in reasons)


def _at(varied: dict[str, object]) -> str:
    return f"{text_of(varied)}: " if varied else ""
