"""What nobody may overlook in a report, and whether its figures may be trusted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from waspbench.figures.sources import settings_of
from waspbench.figures.values import told
from waspbench.report.content import Block, Items, Section, Words, items, table
from waspbench.results import errors
from waspbench.results.check import Check
from waspbench.results.check import listing as listing_of_checks
from waspbench.results.columns import ALL_CLIENTS
from waspbench.results.reasons import Reason
from waspbench.results.result import Result
from waspbench.results.study import StudyPoint, StudyResult

NOT_TRUSTED = "Do not trust these figures"
NOT_COMPLETE = "Not complete: runs are missing"
FAILED_CHECKS = "Checks that did not pass"
UNTRUSTED = "No: what speaks against it stands at the top."

SIMULATED = (
    "In simulation there is no emulator to be late, and one seed gives the same figures again. How near the modelled "
    "server is to a real one is another question: a live run answers it."
)

MOST_REASONS = 4
"""Reasons that are told one by one; more are told by their codes."""

_MISSING = frozenset({"interrupted", "stopped"})
"""Codes of reasons that say that runs are missing, which has a box of its own."""


def of_study(study: StudyResult, resume: str) -> Iterator[Items]:
    """What nobody may overlook of a bench or a sweep; ``resume`` says how runs that are missing are made."""
    reasons = reasons_of(study)
    if reasons:
        yield items(_untrusted(study), reasons, "bad")
    if not study.complete:
        yield items(NOT_COMPLETE, [*_missing(study.points), resume], "bad")
    yield from failing([(settings_of(point.varied), point.result) for point in study.points if point.result])
    yield from failed(study.checks)


def _untrusted(study: StudyResult) -> str:
    """The title of the box with what speaks against points."""
    made = [point.result for point in study.points if point.result is not None]
    doubted = sum(not result.valid for result in made)
    if doubted == len(made):
        return NOT_TRUSTED
    return f"Do not trust {doubted} of {len(made)} points"


def reasons_of(study: StudyResult) -> list[str]:
    """What speaks against the points of a study, in words, but that runs are missing."""
    found = [
        (settings_of(point.varied), reason)
        for point in study.points
        if point.result is not None
        for reason in point.result.invalid_reasons
        if reason.code not in _MISSING
    ]
    if len(found) <= MOST_REASONS:
        return [f"{joined(place, _run(reason))}{reason.message} [{reason.code}]" for place, reason in found]
    by_code: defaultdict[str, list[tuple[str, Reason]]] = defaultdict(list)
    for place, reason in found:
        by_code[reason.code].append((place, reason))
    return [_of_code(code, some) for code, some in by_code.items()]


def _of_code(code: str, found: Sequence[tuple[str, Reason]]) -> str:
    """Reasons of one kind: how many, where, and the first."""
    place, first = found[0]
    if len(found) == 1:
        return f"{joined(place, _run(first))}{first.message} [{code}]"
    places = list(dict.fromkeys(each for each, _ in found if each))
    where = f" at {len(places)} point{'s' if len(places) > 1 else ''} ({told(places)})" if places else ""
    return f"{len(found)} times{where}, first at {joined(place, _run(first))}{first.message} [{code}]"


def _run(reason: Reason) -> str:
    return "" if reason.run is None else f"run {reason.run + 1}"


def joined(*parts: str) -> str:
    """What a sentence is about, before it; empty parts are left out."""
    said = ", ".join(filter(None, parts))
    return f"{said}: " if said else ""


def _missing(points: Sequence[StudyPoint]) -> list[str]:
    return [
        f"{joined(settings_of(point.varied))}{_made(point)}"
        for point in points
        if point.result is None or point.result.interrupted
    ]


def _made(point: StudyPoint) -> str:
    if point.result is None:
        return f"no run came to its end: {point.failure}" if point.failure else "no run"
    return "; ".join(
        f"{joined(_run(reason))}{reason.message}" for reason in point.result.invalid_reasons if reason.code in _MISSING
    )


def failing(made: Sequence[tuple[str, Result]]) -> Iterator[Items]:
    """Where more than 1 % of the transactions were not ok, in all and in each group; each result with its place."""
    found = []
    for place, result in made:
        groups = result.group_lines if len(result.groups) > 1 else {}
        for name, line in {ALL_CLIENTS: result.line, **groups}.items():
            if line.errors is not None and line.errors > errors.NOTED:
                who = f"{name}{' (in the background)' if line.background else ''}" if groups else ""
                said = errors.text(line.outcomes or {}, line.statuses)
                found.append(f"{joined(place, who)}{100 * line.errors:.2f} % of those that ended ({said})")
    if found:
        yield items(f"More than {100 * errors.NOTED:.0f} % of the transactions were not ok", found, "bad")


def failed(checks: Sequence[Check]) -> Iterator[Items]:
    """The checks that did not pass, if there are any."""
    lines = [check.line for check in checks if not check.passed]
    if lines:
        yield items(FAILED_CHECKS, lines, "bad")


def trust(said: Words, more: Sequence[Block], known: Sequence[str], checks: Sequence[Check] = ()) -> Section:
    """The section on whether figures may be trusted: what is said of that, ``more`` of it, what else is to be known,
    and the checks.
    """
    blocks: list[Block] = [said, *more]
    blocks += [items("To be known", known, "doubt")] if known else []
    blocks += [table("Checks", listing_of_checks(checks))] if checks else []
    return Section(name="trust", title="Whether to trust it", blocks=blocks)
