"""Results for continuous integration: their checks as JUnit XML, and a summary in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from waspbench.experiment.sweep import text_of
from waspbench.results.answers import answer, reasons, sought
from waspbench.results.capacity import CapacityResult
from waspbench.results.check import WORDS, Check
from waspbench.results.comparing import ComparisonResult
from waspbench.results.differences import listed as differences_listed
from waspbench.results.reasons import longest
from waspbench.results.regression import untrusted
from waspbench.results.study import StudyResult
from waspbench.results.verdicts import sentence
from waspbench.tabular import Column, Listing

Exported = StudyResult | CapacityResult | ComparisonResult


def junit(result: Exported) -> str:
    """Its checks as JUnit XML: a test case each, of which an undecided one is an error. Results that are not valid are
    an error of their own.
    """
    checks, suite_name = result.checks, f"wasp.{_name(result)}"
    failures, undecided = _counts(checks)
    suite = ElementTree.Element(
        "testsuite",
        name=suite_name,
        tests=str(len(checks) + 1),
        failures=str(failures),
        errors=str(int(not result.valid) + undecided),
    )
    valid = ElementTree.SubElement(suite, "testcase", classname=suite_name, name="the results are valid")
    if not result.valid:
        ElementTree.SubElement(valid, "error", message=_printable("; ".join(_reasons(result))))
    for check in checks:
        name = " at ".join(part for part in (check.condition, text_of(check.varied)) if part)
        case = ElementTree.SubElement(suite, "testcase", classname=suite_name, name=_printable(name))
        if check.passed:
            ElementTree.SubElement(case, "system-out").text = _printable(check.why)
        else:
            kind = "error" if check.passed is None else "failure"
            ElementTree.SubElement(case, kind, message=_printable(check.why))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def markdown(result: Exported) -> str:
    """A summary for a pull request: what was found, the points or loads, the checks, and what speaks against it."""
    checks = result.checks
    lines = [f"### {_title(result)}: {_verdict(result)}", ""]
    if isinstance(result, CapacityResult):
        lines += [
            f"{sought(result.find, result.objectives)}, {result.mode}, by {result.method}:",
            "",
            *_answers(result),
            "",
        ]
    if isinstance(result, ComparisonResult):
        lines += [*(_item(f"{_of(point.varied)}{sentence(point, result.metric)}") for point in result.points), ""]
    lines += result.listing.markdown()
    if checks:
        lines += ["", *Listing(_CHECKS, [check.model_dump() for check in checks]).markdown()]
    reasons = _reasons(result)
    if reasons:
        lines += ["", "Not to be trusted:", "", *map(_item, reasons)]
    if isinstance(result, ComparisonResult):
        lines += _beside(result)
    noted = notes(result) if isinstance(result, StudyResult) else []
    if noted:
        lines += ["", "Notes:", "", *map(_item, noted)]
    return "\n".join(lines) + "\n"


def notes(study: StudyResult) -> list[str]:
    """What is to be known of the points and speaks not against them: each note with its points, unless it is of all."""
    found: dict[str, list[str]] = {}
    for point in study.points:
        for note in () if point.result is None else point.result.notes:
            found.setdefault(note, []).append(text_of(point.varied))
    return [
        note if len(points) == len(study.points) else f"{note} ({'; '.join(points)})" for note, points in found.items()
    ]


def _counts(checks: Sequence[Check]) -> tuple[int, int]:
    """How many failed, and how many are undecided."""
    return sum(check.passed is False for check in checks), sum(check.passed is None for check in checks)


def _printable(text: str) -> str:
    """``text`` without characters that XML cannot hold."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _reasons(result: Exported) -> list[str]:
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
    advice = longest(point.result.advice for point in result.points if point.result is not None)
    return found if advice is None else [*found, f"advice: {advice.text}"]


def _against_comparison(result: ComparisonResult) -> list[str]:
    if result.not_comparable:
        return [f"the two cannot be compared: {'; '.join(result.not_comparable)}"]
    return [
        f"{_of(point.varied)}{untrusted(point)} must not be trusted; wasp show says why"
        for point in result.points
        if not point.valid
    ]


def _beside(result: ComparisonResult) -> list[str]:
    """What else is to be known of a comparison."""
    lines = [*differences_listed(result.differences)]
    lines = ["", "They differ also in:", "", *map(_item, lines)] if lines else []
    left_out = [*(f"{point}: only there" for point in result.unmatched), *result.lacking]
    return [*lines, *(["", "Not compared:", "", *map(_item, left_out)] if left_out else [])]


def _name(result: Exported) -> str:
    return f"compare {result.b} against {result.a}" if isinstance(result, ComparisonResult) else result.name


def _title(result: Exported) -> str:
    if isinstance(result, ComparisonResult):
        return f"{result.metric} of {result.b} against {result.a}"
    return result.name


def _answers(result: CapacityResult) -> list[str]:
    """What was found at each point, as a list."""
    found = []
    for point in result.points:
        limit = [] if point.capacity is None else [f"bottleneck: {point.bottleneck}; {point.why}"]
        found.append(_item(f"{_of(point.varied)}{'; '.join([*answer(point, result), *limit])}"))
    return found


def _of(varied: Mapping[str, Any]) -> str:
    return f"{text_of(varied)}: " if varied else ""


_RESULTS = {passed: word if passed else f"**{word.lower()}**" for passed, word in WORDS.items()}

_CHECKS = {
    "condition": Column("check", lambda text: f"`{text}`", left=True),
    "varied": Column("point", text_of, left=True),
    "passed": Column("result", of_row=lambda row: _RESULTS[row["passed"]], left=True),
    "why": Column("", left=True),
}


def _verdict(result: Exported) -> str:
    """What the results and their checks come to, in a few words."""
    failed, undecided = _counts(result.checks)
    said = [] if result.valid else ["not valid"]
    said += [f"{failed} of {len(result.checks)} checks failed"] if failed else []
    said += [f"{undecided} of {len(result.checks)} checks undecided"] if undecided else []
    if isinstance(result, ComparisonResult) and not result.checks:
        counted = Counter(point.verdict for point in result.points)
        said += [f"{count} {verdict}" if len(result.points) > 1 else verdict for verdict, count in counted.items()]
    return ", ".join(said) or "passed"


def _item(text: str) -> str:
    return f"- {' '.join(text.split())}"
