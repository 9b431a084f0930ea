"""``wasp report``: formats, files, errors and exit status."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from fake_core import FakeEngine
from waspbench import run
from waspbench.cli.app import invoke

STORED = Path(__file__).parents[1] / "results" / "stored"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def results(here: Path) -> None:
    """A result in ``out``."""
    shutil.copytree(STORED / "1-last" / "bench", here / "out")


def test_a_page_is_written_beside_you_unless_told_otherwise(here: Path, capsys: Capture) -> None:
    assert invoke(["report", "out"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "report.html: out\n"
    assert (here / "report.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("format", "beginning"), [("markdown", "# out\n"), ("json", '{\n  "format": 1,'), ("csv", "point,client_count,")]
)
def test_other_formats_are_printed(format: str, beginning: str, here: Path, capsys: Capture) -> None:
    assert invoke(["report", "out", "--format", format]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith(beginning)
    assert printed.err == ""
    assert [path.name for path in here.iterdir()] == ["out"]


@pytest.mark.parametrize(
    ("name", "beginning"),
    [("r.md", "# out"), ("r.json", "{"), ("r.CSV", "point,"), ("r.html", "<!doctype")],
)
def test_the_name_of_the_output_says_the_format(name: str, beginning: str, here: Path) -> None:
    assert invoke(["report", "out", "-o", name]) == 0
    assert (here / name).read_text().startswith(beginning)


def test_a_name_that_says_no_format_is_refused(here: Path, capsys: Capture) -> None:
    assert invoke(["report", "out", "-o", "r.pdf"]) == 2
    assert capsys.readouterr().err.startswith('wasp: --output: "r.pdf": says no format; .')
    assert not (here / "r.pdf").exists()
    assert invoke(["report", "out", "-o", "r.txt", "--format", "markdown"]) == 0
    assert (here / "r.txt").read_text().startswith("# out")


def test_a_file_is_written_over_only_when_asked(here: Path, capsys: Capture) -> None:
    (here / "r.md").write_text("mine")
    assert invoke(["report", "out", "-o", "r.md"]) == 2
    assert capsys.readouterr().err == (
        'wasp: --output: "r.md": exists already; name a new file, or write over it with --force\n'
    )
    assert (here / "r.md").read_text() == "mine"
    assert invoke(["report", "out", "-o", "r.md", "--force"]) == 0
    assert (here / "r.md").read_text().startswith("# out")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "DIR: missing; name a directory of results"),
        ("none", "none: there is no such directory"),
        ("out none", "none: there is no such directory"),
        (
            "out -o r.md --format csv",
            '--format: "csv": contradicts the name of r.md, which says markdown; leave one out',
        ),
        ("out --metric p50", '--metric: "p50": is for a comparison; name what the results are held against'),
        ("out -o out --format csv", '--output: "out": is a directory; name a file'),
        ("out -o none/r.md", '--output: "none/r.md": cannot be written: there is no such directory'),
        (
            "out --format csv --force",
            "--force: is for a file, and this report is printed; name one (-o), or leave it out",
        ),
    ],
)
def test_a_mistake_is_one_line(arguments: str, said: str, here: Path, capsys: Capture) -> None:
    assert invoke(["report", *arguments.split()]) == 2
    assert capsys.readouterr().err == f"wasp: {said}\n"
    assert [path.name for path in here.iterdir()] == ["out"]


def test_an_unknown_format_is_told_what_there_is(capsys: Capture) -> None:
    assert invoke(["report", "out", "--format", "pdf"]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    for name in ("html", "markdown", "json", "csv"):
        assert name in said


def test_a_result_that_is_not_valid_is_status_5(here: Path, engine: FakeEngine) -> None:
    engine.invalid = [{"code": "lag", "message": "packets were late"}]
    run({"name": "x", "mode": "sim", "clients": [{}]}, output=here / "late")
    assert invoke(["report", "late", "-o", "r.json"]) == 5
    report = json.loads((here / "r.json").read_text())
    assert report["valid"] is False
    assert report["alerts"][0]["items"][0] == "run 1: packets were late [lag]"


def test_results_are_compared_with_the_first(here: Path) -> None:
    assert invoke(["report", "out", "out", "-o", "r.md"]) == 0
    said = (here / "r.md").read_text()
    assert "no difference shown" in said
    assert "throughput of B, out, against A, out" in said
    assert invoke(["report", "out", "out", "--metric", "p50", "-o", "p50.json"]) == 0
    report = json.loads((here / "p50.json").read_text())
    assert (report["metric"], report["unit"], report["points"][0]["unit"]) == ("p50", "ms", "ms")
    assert invoke(["report", "out", "out", "out", "-o", "r.csv"]) == 0
    assert [line.split(",")[0] for line in (here / "r.csv").read_text().splitlines()] == ["side", "B", "C"]
