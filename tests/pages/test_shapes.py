"""What commands print as JSON is what the reference says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from fake_core import FakeEngine
from waspbench.cli import doctor
from waspbench.cli.app import invoke
from waspbench.pages import shapes
from waspbench.testbed.doctor import Finding

EXPERIMENT = """
name = "x"
mode = "sim"
[[clients]]
count = 2
[measure]
runs = 3
[assert]
errors = "< 50%"
"""

SWEEP = (
    EXPERIMENT
    + """
[sweep]
"clients.count" = [2, 4]
"""
)

OPEN = {
    *("varied", "outcomes", "statuses", "judged", "a", "b", "parameters", "options", "scenario", "server", "clients"),
    *("experiment", "tcpext", "softnet", "device", "client_device"),
    *("table", "result", "runs", "loads", "line", "lines"),
}
"""Objects whose fields have names of their own, or a section of their own."""


def documented(name: str) -> set[str]:
    """The fields that the page has for a document."""
    [found] = [shape for shape in (*shapes.of_results(), *shapes.of_tools()) if shape.name == name]
    return {field.strip("`") for field, _ in found.fields}


def fields(found: Any, closed: Iterable[str] = (), before: str = "") -> set[str]:
    """The fields of JSON as the page writes them; what is in the fields ``closed`` is left out."""
    names: set[str] = set()
    if isinstance(found, dict):
        for name, value in found.items():
            names.add(f"{before}{name}")
            if name not in closed:
                names |= fields(value, closed, f"{before}{name}{'[]' if isinstance(value, list) else ''}.")
    elif isinstance(found, list):
        for value in found:
            names |= fields(value, closed, before)
    return names


def percentiles(names: set[str]) -> set[str]:
    """Those of the names that are of percentiles beyond the declared ones."""
    return {name for name in names if re.search(r"\.p[0-9.]+(_ci90)?$", name)}


@pytest.fixture(autouse=True)
def files(engine: FakeEngine, here: Path) -> None:
    """Files of an experiment, a sweep, and an experiment for a search."""
    for name, text in {"x": EXPERIMENT, "s": SWEEP, "c": EXPERIMENT.partition("[assert]")[0]}.items():
        (here / f"{name}.toml").write_text(text)


def printed(arguments: str, capsys: pytest.CaptureFixture[str]) -> Any:
    """What a command prints; those before the last ``;`` make what it needs."""
    *before, last = arguments.split("; ")
    for each in before:
        invoke([*each.split(), "--quiet"])
    capsys.readouterr()
    invoke([*last.split(), "--json"])
    captured = capsys.readouterr()
    assert captured.out, captured.err
    return json.loads(captured.out)


ONE = "run x.toml -o one"
ANOTHER = "run x.toml -o another --set seed=2"


@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("`--json`", f"{ONE}; show one"),
        ("`--json` of a sweep", "run s.toml -o sweep; show sweep"),
        ("`wasp capacity --json` and `capacity.json`", "capacity c.toml -o search --high 32; show search"),
        ("`wasp compare --json`", f"{ONE}; {ANOTHER}; compare one another --fail-on slower:5%"),
    ],
)
def test_results_are_documented(name: str, commands: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = fields(printed(commands, capsys), OPEN)
    assert found - percentiles(found) - documented(name) == {"table"}


@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("`wasp plot --json`", f"{ONE}; plot one"),
        ("`wasp normality --json`", f"{ONE}; normality one"),
        ("`wasp list --json`", f"{ONE}; list"),
        ("`wasp doctor --json`", "doctor"),
    ],
)
def test_what_is_printed_is_documented(
    name: str, commands: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: [Finding("device", "ok", "may be opened")])
    assert fields(printed(commands, capsys), OPEN) == documented(name)


def test_answers_to_queries_are_rows(capsys: pytest.CaptureFixture[str]) -> None:
    statement = "SELECT 1.5 AS a, 'nan'::DOUBLE AS b, [1.0, 'inf'::DOUBLE] AS c, DATE '2026-01-02' AS d"
    assert invoke(["query", statement, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"a": 1.5, "b": None, "c": [1.0, None], "d": "2026-01-02"}]


def test_a_manifest_is_documented(here: Path) -> None:
    invoke([*ONE.split(), "--quiet"])
    assert json.loads((here / "one" / "manifest.json").read_text()).keys() <= documented("`manifest.json`")


def test_checks_are_documented(capsys: pytest.CaptureFixture[str]) -> None:
    [check] = printed(f"{ONE} --quiet", capsys)["checks"]
    told = {name.removeprefix("checks[].") for name in documented("`--json`") if name.startswith("checks[].")}
    assert fields(check, OPEN) == told


def test_profiles_are_documented(capsys: pytest.CaptureFixture[str]) -> None:
    assert fields(list(printed("profiles", capsys).values())) == documented("`wasp profiles --json`")


def test_file_sets_are_documented(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = printed("files prowgen set --objects 30 --requests 200 --set cap=20KB", capsys)
    assert fields(written, OPEN) == documented("`wasp files --json`")
    manifest = fields(json.loads((here / "set" / "wasp-files.json").read_text()), OPEN)
    assert manifest == documented("`wasp files --json`") - {"files"} | documented("`wasp-files.json`")
    checked = fields(printed("files check set", capsys), OPEN)
    assert checked == documented("`wasp files --json`") | documented("`wasp files check --json`")


def test_a_report_is_documented(here: Path) -> None:
    invoke(["run", "s.toml", "-o", "sweep", "--quiet"])
    assert invoke(["report", "sweep", "-o", "r.json"]) in (0, 5)
    report = json.loads((here / "r.json").read_text())
    found = fields(report | {"points": []}, {"blocks"})
    assert found <= documented(shapes.REPORT)
    blocks = [block for section in report["sections"] for block in section["blocks"]]
    page = "".join(shapes.results())
    assert {block["kind"] for block in blocks} >= {"words", "table"}
    for block in blocks:
        for name in fields(block | ({"figure": {}} if "figure" in block else {})) - {"kind"}:
            assert f"| `{block['kind']}` | `{name}` |" in page


def test_every_field_is_explained() -> None:
    rows = [row for shape in (*shapes.of_results(), *shapes.of_tools()) for row in shape.fields]
    assert [field for field, said in rows if not said] == []
