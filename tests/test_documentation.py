"""The documentation says what the code says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

from waspbench import _core
from waspbench.cli import reference
from waspbench.cli.app import invoke
from waspbench.cli.status import Status
from waspbench.experiment import Tcp, parse
from waspbench.experiment.load import read
from waspbench.experiment.resolve import resolve
from waspbench.results import RunSummary
from waspbench.results.tables import TABLES

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def small_run() -> tuple[dict[str, object], dict[str, pl.DataFrame]]:
    described = parse({"name": "x", "clients": [{"count": 2}], "measure": {"warmup": "1s", "duration": "1s"}})
    outcome = _core.start(json.dumps(resolve(described, mode="sim"))).wait()
    tables = {name: pl.DataFrame(table) for name, table in outcome.tables().items()}
    return json.loads(outcome.summary()), tables


def test_the_reference_page_is_current() -> None:
    kept = (ROOT / "docs" / "reference.md").read_text()
    assert kept == reference.page(), "python -m waspbench.cli.reference > docs/reference.md"


def test_the_documented_columns_are_those_of_a_run() -> None:
    _, tables = small_run()
    documented = {name: [column[:2] for column in columns] for name, (_, columns) in TABLES.items()}
    made = {
        name: [("run", "UInt32"), *((column, str(kind)) for column, kind in table.schema.items())]
        for name, table in tables.items()
    }
    assert documented == made


def test_the_documented_summary_is_that_of_a_run() -> None:
    summary, _ = small_run()
    assert summary.keys() - RunSummary.model_fields.keys() == reference.SUMMARY.keys()


def test_every_exit_status_is_documented() -> None:
    assert list(reference.STATUS) == list(Status)


def test_the_documented_presets_are_the_engines() -> None:
    assert list(reference.PRESETS) == [field for field in Tcp.model_fields if field != "preset"]
    source = (ROOT / "crates/tcp/src/config.rs").read_text()
    linux, bsd = (preset_in(source, name) for name in ("linux", "bsd1999"))
    for field, documented in reference.PRESETS.items():
        if field == "abc_limit":  # only beside ack_counting = "bytes", which is no preset's
            continue
        assert documented == (linux[field], bsd.get(field, linux[field])), field


def preset_in(source: str, name: str) -> dict[str, str]:
    """The constants of a preset as an experiment file would have them."""
    body = source.partition(f"pub fn {name}() -> Self {{")[2].partition("\n    }\n")[0]
    fields = dict(re.findall(r"^\s+(\w+): (.+),$", body, re.MULTILINE))
    fields |= buffer(fields["receive_buffer"], "receive_buffer") | buffer(fields["send_buffer"], "send_buffer")
    return {field: constant(text) for field, text in fields.items()}


def buffer(text: str, name: str) -> dict[str, str]:
    """What stands for a buffer: a size, or the limits within which it sizes itself."""
    if fixed := re.fullmatch(r"\w+::Fixed\((.+)\)", text):
        return {name: fixed[1], f"{name}_max": "", f"{name}_overhead": ""}
    limits = re.fullmatch(r"\w+::Tuned \{ (?:overhead: (\d+), )?most: (.+?) \}", text)
    assert limits, text
    return {name: "", f"{name}_max": limits[2], f"{name}_overhead": f"{limits[1]}B"}


def constant(text: str) -> str:
    text = re.sub(r"(?<=\d)_(?=\d)", "", text)
    if match := re.fullmatch(r"Duration::from_(sec|milli)s\((\d+)\)", text):
        return match[2] + {"sec": "s", "milli": "ms"}[match[1]]
    if match := re.fullmatch(r"(\d+) << (10|20)", text):
        return match[1] + {"10": "KiB", "20": "MiB"}[match[2]]
    if match := re.fullmatch(r"(\d+) \* (\d+)", text):
        return f"{int(match[1]) * int(match[2])}B"
    if match := re.fullmatch(r"(\w+)::(\w+)", text):
        kind, choice = match.groups()
        if kind == "Nagle":
            return str(choice != "Off").lower()
        kebab = re.sub(r"(?<=[a-z])(?=[A-Z])", "-" if kind == "IdleRestart" else "", choice).lower()
        return {"acknowledgments": "acks"}.get(kebab, kebab)
    return text


def test_every_reason_not_to_trust_a_run_is_explained() -> None:
    files = (ROOT / "crates/engine/src/summary").glob("*.rs")
    engine = "".join(file.read_text().split("mod tests")[0] for file in files)
    made = r'\b(?:all|said|of_all|of_group|of_each|about|groups_or_all)\(\s*"(\w+)"|code: "(\w+)"'
    codes = {code for found in re.findall(made, engine) for code in found if code}
    package = ROOT / "python/waspbench"
    for file in (*package.glob("*.py"), *(package / "runner").glob("*.py")):
        codes |= set(re.findall(r'code="(\w+)"', file.read_text()))
    explained = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/concepts.md").read_text(), re.MULTILINE)
    assert set(explained) == codes


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_every_example_is_a_valid_experiment(file: Path) -> None:
    assert invoke(["run", str(file), "--dry-run"]) == 0
    assert read(file)["name"] == file.stem


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target
