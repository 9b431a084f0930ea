"""The command that looks at the machine."""

from __future__ import annotations

import json as jsonlib
import textwrap
from collections.abc import Sequence
from dataclasses import asdict

from waspbench.cli import status
from waspbench.testbed.doctor import Finding, able, examine

WIDTH = 80
_MARKS = {"ok": "ok", "note": "note", "missing": "MISSING"}


def doctor(json: bool) -> int:
    """Prints what was found, and returns the exit status."""
    findings = examine()
    print(as_json(findings) if json else text(findings), end="\n" if json else "")
    return status.Status.DONE if able(findings) else status.Status.CANNOT


def as_json(findings: Sequence[Finding]) -> str:
    """The findings as one JSON object."""
    return jsonlib.dumps({"live": able(findings), "findings": [asdict(finding) for finding in findings]}, indent=2)


def text(findings: Sequence[Finding]) -> str:
    """The findings in 80 columns, and the verdict."""
    width = max(len(finding.name) for finding in findings) + 2
    lines = []
    for finding in findings:
        head = f"{_MARKS[finding.status]:<9}{finding.name:<{width}}"
        lines += textwrap.wrap(finding.says, WIDTH - 1, initial_indent=head, subsequent_indent=" " * (9 + width))
        if finding.advice:
            indent = " " * (9 + width)
            lines += textwrap.wrap(f"-> {finding.advice}", WIDTH - 1, initial_indent=indent, subsequent_indent=indent)
    verdict = "live runs can be made" if able(findings) else "live runs cannot be made; simulation works everywhere"
    return "\n".join([*lines, "", verdict]) + "\n"
