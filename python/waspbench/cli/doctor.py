"""The command that looks at the machine."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
from dataclasses import asdict

from waspbench.cli import status
from waspbench.tabular import aligned
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
    rows = [
        [_MARKS[finding.status], finding.name, finding.says + (f"\n-> {finding.advice}" if finding.advice else "")]
        for finding in findings
    ]
    alarms = [[finding.status == "missing", False, False] for finding in findings]
    lines = aligned([""] * 3, rows, [True] * 3, room=WIDTH, alarms=alarms)
    verdict = "live runs can be made" if able(findings) else "live runs cannot be made; simulation works everywhere"
    return "\n".join([*lines, "", verdict]) + "\n"
