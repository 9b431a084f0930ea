"""The documentation says what the code says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import polars as pl
import pytest

from snippets import PAGES, prose
from waspbench import _core
from waspbench.cli.app import invoke
from waspbench.cli.status import Status
from waspbench.experiment import Tcp, parse
from waspbench.experiment.load import read
from waspbench.experiment.resolve import resolve
from waspbench.pages import reference, shapes
from waspbench.results import RunSummary, together
from waspbench.results.capacity import EXCUSED
from waspbench.results.reasons import HOPELESS
from waspbench.results.summary import PackageCode
from waspbench.results.tables import TABLES
from waspbench.runner.job import BOTTLENECKS, DISTURBANCES
from waspbench.runner.lengths import SETTLES, SHOWS
from waspbench.runner.pilots import FEW
from waspbench.runner.readings import OVERLOAD
from waspbench.runner.run_lengths import TOO_SHORT
from waspbench.validation.clients import OVERLOADED
from waspbench.validation.kept import ALIKE

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


def small_run() -> tuple[dict[str, object], dict[str, pl.DataFrame]]:
    described = parse({"name": "x", "clients": [{"count": 2}], "measure": {"warmup": "1s", "duration": "1s"}})
    outcome = _core.start(json.dumps(resolve(described, mode="sim"))).wait()
    tables = {name: pl.DataFrame(table) for name, table in outcome.tables().items()}
    return json.loads(outcome.summary()), tables


def test_the_reference_page_is_current() -> None:
    kept = (ROOT / "docs" / "reference.md").read_text()
    assert kept == reference.page(), "python -m waspbench.pages.reference > docs/reference.md"


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
    assert summary.keys() - RunSummary.model_fields.keys() == shapes.SUMMARY.keys()


def test_every_exit_status_is_documented() -> None:
    assert list(reference.STATUS) == list(Status)


def test_every_constant_of_tcp_is_known_to_the_experiment_file() -> None:
    options = ('{"preset": "linux"}', '{"preset": "bsd1999"}', '{"ack_counting": "bytes"}')
    known = [json.loads(_core.tcp_constants(each)) for each in options]
    assert set().union(*known) == Tcp.model_fields.keys()


CODES = {*_core.reason_codes(), *get_args(PackageCode)}
"""Codes of the reasons not to trust a run."""


def test_every_reason_not_to_trust_a_run_is_explained() -> None:
    explained = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/concepts.md").read_text(), re.MULTILINE)
    assert sorted(explained) == sorted(CODES)


def test_reasons_that_are_told_apart_are_there() -> None:
    found = [ALIKE, BOTTLENECKS, DISTURBANCES, EXCUSED, HOPELESS, OVERLOADED, TOO_SHORT, {OVERLOAD}]
    found += [SETTLES.keys(), SHOWS.keys() - {FEW}]
    found.append(together.CODES)
    assert set().union(*found) - {"mser"} <= CODES  # which older versions have


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_every_example_is_a_valid_experiment(file: Path) -> None:
    assert invoke(["run", str(file), "--dry-run"]) == 0
    assert read(file)["name"] == file.stem


def anchors(page: Path) -> set[str]:
    """What a link to a heading of a page may name."""
    found: list[str] = []
    for heading in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE):
        found.append(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-"))
    numbered = (f"{name}-{found[:at].count(name)}" if name in found[:at] else name for at, name in enumerate(found))
    return set(numbered)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)", page.read_text()):
        there = page.parent / target if target else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), f"{target}#{anchor}"
