"""Results for continuous integration: their checks as JUnit XML, and a summary in Markdown."""

from __future__ import annotations

from xml.etree import ElementTree

from waspbench.experiment.sweep import text_of
from waspbench.results.brief import Reported, advice, against, brief_of, counts
from waspbench.results.check import WORDS
from waspbench.results.comparing import ComparisonResult
from waspbench.tabular import Column, Listing


def junit(result: Reported) -> str:
    """Its checks as JUnit XML: a test case each, of which an undecided one is an error. Results that are not valid are
    an error of their own.
    """
    checks, suite_name = result.checks, f"wasp.{_name(result)}"
    failures, undecided = counts(checks)
    suite = ElementTree.Element(
        "testsuite",
        name=suite_name,
        tests=str(len(checks) + 1),
        failures=str(failures),
        errors=str(int(not result.valid) + undecided),
    )
    valid = ElementTree.SubElement(suite, "testcase", classname=suite_name, name="the results are valid")
    if not result.valid:
        ElementTree.SubElement(valid, "error", message=_printable("; ".join([*against(result), *advice(result)])))
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


def markdown(result: Reported) -> str:
    """A summary for a pull request: what was found, the points or loads, the checks, and what speaks against it."""
    told = brief_of(result)
    lines = [f"### {told.title}: {told.verdict}", ""]
    lines += [f"{told.asked}:", ""] if told.asked else []
    lines += [*map(_item, told.found), ""] if told.found else []
    lines += told.table.markdown()
    lines += ["", *told.links.markdown()] if told.links else []
    if told.checks:
        lines += ["", *Listing(_CHECKS, [check.model_dump() for check in told.checks]).markdown()]
    for heading, texts in told.beside.items():
        lines += ["", f"{heading}:", "", *map(_item, texts)]
    return "\n".join(lines) + "\n"


def _printable(text: str) -> str:
    """``text`` without characters that XML cannot hold."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _name(result: Reported) -> str:
    return f"compare {result.b} against {result.a}" if isinstance(result, ComparisonResult) else result.name


_RESULTS = {passed: word if passed else f"**{word.lower()}**" for passed, word in WORDS.items()}

_CHECKS = {
    "condition": Column("check", lambda text: f"`{text}`", left=True),
    "varied": Column("point", text_of, left=True),
    "passed": Column("result", of_row=lambda row: _RESULTS[row["passed"]], left=True),
    "why": Column("", left=True),
}


def _item(text: str) -> str:
    return f"- {' '.join(text.split())}"
