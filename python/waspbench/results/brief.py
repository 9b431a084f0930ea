"""Results in brief, for any renderer: what was found, the table of it, the checks, and what else is to be known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from waspbench.experiment.sweep import text_of
from waspbench.results.answers import answer, reasons, sought
from waspbench.results.capacity import CapacityResult
from waspbench.results.check import Check
from waspbench.results.comparing import ComparisonResult
from waspbench.results.differences import listed as differences_listed
from waspbench.results.observed import listing
from waspbench.results.reasons import longest
from waspbench.results.regression import untrusted
from waspbench.results.study import StudyResult
from waspbench.results.verdicts import sentence
from waspbench.tabular import Listing

Reported = StudyResult | CapacityResult | ComparisonResult
"""Results that are told in brief; one result is a study of one point."""


@dataclass(frozen=True)
class Brief:
    """What is told of results, in this order."""

    title: str
    """What was measured."""
    verdict: str
    """What the results and their checks come to, in a few words."""
    found: Sequence[str]
    """What was found at each point, a sentence each; empty where the table says it."""
    asked: str
    """What that answers; empty where the title says it."""
    table: Listing
    links: Listing | None
    """The table of observed links; None where there is nothing to say of them."""
    checks: Sequence[Check]
    beside: Mapping[str, Sequence[str]]
    """Lists by their headings: what speaks against the results, and what else is to be known. None is empty."""


AGAINST = "Not to be trusted"
"""The heading of what speaks against results."""


def brief_of(result: Reported) -> Brief:
    """Results in brief."""
    beside = {AGAINST: against(result), "Advice": advice(result)}
    asked = ""
    found: list[str] = []
    if isinstance(result, CapacityResult):
        asked, found = f"{sought(result.find, result.objectives)}, {result.mode}, by {result.method}", _answers(result)
    elif isinstance(result, ComparisonResult):
        found = [f"{_of(point.varied)}{sentence(point, result.metric)}" for point in result.points]
        beside["They differ also in"] = differences_listed(result.differences)
        beside["Not compared"] = [*(f"{point}: only there" for point in result.unmatched), *result.lacking]
        beside["Notes"] = list(dict.fromkeys(point.note for point in result.points if point.note is not None))
    else:
        beside["Notes"] = notes(result)
    return Brief(
        _title(result),
        _verdict(result),
        found,
        asked,
        result.listing,
        listing(result) if isinstance(result, StudyResult) else None,
        result.checks,
        {heading: texts for heading, texts in beside.items() if texts},
    )


def notes(study: StudyResult, name: Callable[[Mapping[str, Any]], str] = text_of) -> list[str]:
    """What is to be known of the points and speaks not against them: each note with its points, by their ``name``,
    unless it is of all.
    """
    found: dict[str, list[str]] = {}
    for point in study.points:
        for note in () if point.result is None else point.result.notes:
            found.setdefault(note, []).append(name(point.varied))
    return [
        note if len(points) == len(study.points) else f"{note} ({'; '.join(points)})" for note, points in found.items()
    ]


def counts(checks: Sequence[Check]) -> tuple[int, int]:
    """How many checks failed, and how many are undecided."""
    return sum(check.passed is False for check in checks), sum(check.passed is None for check in checks)


def unmet(checks: Sequence[Check]) -> list[str]:
    """The same in words; nothing where all passed."""
    words = zip(counts(checks), ("failed", "undecided"), strict=True)
    return [f"{count} of {len(checks)} checks {word}" for count, word in words if count]


def against(result: Reported) -> list[str]:
    """What speaks against results."""
    if isinstance(result, CapacityResult):
        return reasons(result) if not result.valid else []
    if isinstance(result, ComparisonResult):
        return _against_comparison(result)
    found = []
    for point in result.points:
        at = f" ({text_of(point.varied)})" if point.varied else ""
        if point.result is None:
            found.append((f"no run came to its end: {point.failure}" if point.failure else "no run is finished") + at)
        else:
            found += [reason.message + at for reason in point.result.invalid_reasons]
    return found


def advice(result: Reported) -> list[str]:
    """What to try next, if anything."""
    if not isinstance(result, StudyResult):
        return []
    found = longest(point.result.advice for point in result.points if point.result is not None)
    return [] if found is None else [found.text]


def _against_comparison(result: ComparisonResult) -> list[str]:
    if result.not_comparable:
        return [f"the two cannot be compared: {'; '.join(result.not_comparable)}"]
    return [
        f"{_of(point.varied)}{untrusted(point)} must not be trusted; its own reasons (wasp show) say why"
        for point in result.points
        if not point.valid
    ]


def _title(result: Reported) -> str:
    if isinstance(result, ComparisonResult):
        return f"{result.metric} of {result.b} against {result.a}"
    return result.name


def _answers(result: CapacityResult) -> list[str]:
    """What was found at each point."""
    found = []
    for point in result.points:
        limit = [] if point.capacity is None else [f"bottleneck: {point.bottleneck}; {point.why}"]
        found.append(f"{_of(point.varied)}{'; '.join([*answer(point, result), *limit])}")
    return found


def _of(varied: Mapping[str, Any]) -> str:
    return f"{text_of(varied)}: " if varied else ""


def _verdict(result: Reported) -> str:
    said = [*([] if result.valid else ["not valid"]), *unmet(result.checks)]
    if isinstance(result, ComparisonResult) and not result.checks:
        counted = Counter(point.verdict for point in result.points)
        said += [f"{count} {verdict}" if len(result.points) > 1 else verdict for verdict, count in counted.items()]
    return ", ".join(said) or "passed"
