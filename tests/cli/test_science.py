"""The commands for experiments: what they print, write and return."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from answered_runs import answered
from fake_core import FakeEngine
from waspbench.cli.app import invoke
from waspbench.cli.progress import clock, line_of
from waspbench.runner.pipeline import Begun, StudyProgress

Capture = pytest.CaptureFixture[str]

FILE = """
name = "e"
mode = "sim"
[[clients]]
count = 8
rtt = "20ms"
loss = { model = "independent", rate = "0%" }
[measure]
runs = 4
warmup = "5s"
duration = "20s"
[sweep]
"clients.loss.rate" = ["0%", "9%"]
[assert]
errors = "< 50%"
"""


@pytest.fixture(autouse=True)
def file(here: Path) -> None:
    """An experiment with two points."""
    (here / "e.toml").write_text(FILE)


@pytest.fixture
def made(file: None, capsys: Capture) -> None:
    """Its results in ``out``."""
    assert invoke(["run", "e.toml", "-o", "out"]) == 0
    capsys.readouterr()


def test_a_sweep_is_a_line_for_each_point(capsys: Capture) -> None:
    assert invoke(["run", "e.toml", "-o", "out", "--jobs", "1"]) == 0
    output = capsys.readouterr()
    lines = output.out.splitlines()
    assert lines[0] == "e: sim, 2 points, seed 1"
    heads = (
        "rate +ok/s +90 % interval +mean ms +p50 ms +p90 ms +p95 ms +p99 ms +p99.9 ms +errors % +CPU % +runs +valid "
        "+outcomes and status codes"
    )
    assert re.fullmatch(heads, lines[2])
    assert re.fullmatch(r" +0% +399\.4 .* 4 +yes +ok [\d,]+ \(200\), unfinished \d+", lines[3])
    assert re.fullmatch(r" +9% +.* 4 +yes +ok [\d,]+ \(200\), unfinished \d+", lines[4])
    assert "results: out" in lines
    assert sum(line.startswith("passed  errors < 50% at clients.loss.rate=") for line in lines) == 2
    assert output.err.splitlines()[-1].startswith("8 of 8 runs, 0 s left")


def test_a_dry_run_lists_the_points_and_makes_nothing(capsys: Capture, here: Path) -> None:
    assert invoke(["run", "e.toml", "--dry-run", "-o", "out", "--set", 'measure.until={ci = "5%"}']) == 0
    output = capsys.readouterr().out
    assert re.fullmatch(
        r"2 points, 4 to 20 runs each:\n"
        r"    0  clients\.loss\.rate=0%\n"
        r"    1  clients\.loss\.rate=9%\n"
        r"at least 8 runs, about \d+ s\n",
        output,
    )
    assert [path.name for path in here.iterdir()] == ["e.toml"]


def test_a_check_that_fails_is_status_1_and_is_written_for_ci(capsys: Capture, here: Path) -> None:
    arguments = ["run", "e.toml", "-o", "out", "--junit", "j.xml", "--markdown", "m.md", "--assert", "throughput>350"]
    assert invoke(arguments) == 1
    printed = capsys.readouterr().out
    assert "FAILED  throughput > 350 at clients.loss.rate=9%: throughput is" in printed
    suite = ElementTree.parse(here / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("5", "1")
    assert (here / "m.md").read_text().startswith("### e: 1 of 4 checks failed\n")


def test_json_has_all_points_and_checks(capsys: Capture) -> None:
    assert invoke(["run", "e.toml", "-o", "out", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["complete"], result["valid"], len(result["points"])) == (True, True, 2)
    assert result["points"][1]["varied"] == {"clients.loss.rate": "9%"}
    assert [check["passed"] for check in result["checks"]] == [True, True]


def test_results_can_be_resumed_listed_shown_compared_and_queried(made: None, capsys: Capture) -> None:
    assert invoke(["resume", "out"]) == 0
    again = capsys.readouterr().out
    assert invoke(["show", "e"]) == 0
    assert capsys.readouterr().out == again.partition("passed")[0].replace("out\n", f"{Path('out').resolve()}\n")
    assert invoke(["list"]) == 0
    assert re.search(r"\be +sweep +sim +2 +8 +yes", capsys.readouterr().out)
    assert invoke(["compare", "out@clients.loss.rate=0%", "out@clients.loss.rate=9%"]) == 0
    compared = capsys.readouterr().out
    assert "slower\n  399.4 -> " in compared
    assert "permutation test, 4 and 4 runs: p = 0.0286" in compared
    assert invoke(["query", "SELECT point, count(DISTINCT run) AS runs FROM series GROUP BY point ORDER BY point"]) == 0
    assert capsys.readouterr().out == "point  runs\n0000      4\n0001      4\n"


def test_capacity_is_found_and_shown_again(capsys: Capture) -> None:
    flags = ["--set", "sweep={}", "--set", "server.model.per_request=1ms", "--high", "64", "--json", "-o", "out"]
    assert invoke(["capacity", "e.toml", *flags]) == 0
    printed = capsys.readouterr()
    [point] = json.loads(printed.out)["points"]
    assert printed.err.splitlines()[:2] == [
        "sim: as asked",
        "note: wasp run judges the file's [assert]; a search has objectives (--slo)",
    ]
    assert point["capacity"] == pytest.approx(1000, rel=0.02)
    assert point["bottleneck"] == "server"
    assert invoke(["show", "out"]) == 0
    assert "bottleneck: server; saturated: server CPU 100 % busy" in capsys.readouterr().out
    assert invoke(["resume", "out"]) == 0
    assert invoke(["resume", "out", "--junit", "j.xml"]) == 2


def test_a_search_of_which_all_runs_fail_is_status_4(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, here: Path
) -> None:
    answered(monkeypatch, lambda job: "gone")
    assert invoke(["capacity", "e.toml", "--set", "sweep={}", "--high", "64", "-o", "out"]) == 4
    assert capsys.readouterr().err.splitlines()[-1] == "wasp: gone"
    assert [path.name for path in here.iterdir()] == ["e.toml"]


def test_normality_is_judged_of_many_runs(capsys: Capture) -> None:
    flags = ["--runs", "12", "--set", "sweep={}", "--set", "clients.loss.rate=9%", "-o", "out"]
    assert invoke(["normality", "e.toml", *flags]) in (0, 1)
    printed = capsys.readouterr().out
    assert re.search(r"throughput of 12 runs is (consistent with a|NOT) normal", printed)
    assert "12 runs say little: with 10 the test notices even an exponential distribution only 46 times" in printed
    assert invoke(["normality", "out", "--json"]) in (0, 1)
    data = json.loads(capsys.readouterr().out)
    assert len(data["values"]) == len(data["cdf"]) == len(data["normal_quantiles"]) == 12


SWEEP = "a sweep makes measure.runs runs at every load; leave it or --sweep out"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("compare out none", "none/manifest.json: cannot be read: No such file or directory"),
        (
            "compare out out --metric max",
            '--metric: "max": must be throughput, goodput, mean, or a percentile such as p50 or p99.9',
        ),
        ("compare out out --alpha 5", "--alpha: 5.0: must be from 1e-06 to below 1"),
        ("capacity e.toml --sweep --max-runs 9", f"--max-runs: 9: {SWEEP}"),
        ("capacity e.toml --sweep --confirm 2", f"--confirm: 2: {SWEEP}"),
        ("show nonsense", "nonsense: neither a directory of results, nor an id or a name that wasp list shows"),
        ("query SELEKT", 'query: "SELEKT": Parser Error: syntax error at or near "SELEKT"'),
        ("normality e.toml", "e.toml: has a sweep; normality is judged at one point: --set 'sweep={}'"),
        ("normality out", "out: must be results of one point"),
        ("normality out --metric p98", None),
        ("run e.toml --junit no/j.xml -o new", '--junit: "no/j.xml": cannot be written: No such file or directory'),
        ("capacity e.toml --low 0", "--low: 0: must be at least 1, one client for each group"),
        ("capacity e.toml --slo p99", '--slo: "p99": must be <, <=, > or >= and a limit, such as "< 800ms"'),
        ("resume e.toml", "e.toml/study.json: cannot be read: Not a directory"),
        ("run e.toml --jobs 0", None),
    ],
)
def test_bad_usage(arguments: str, message: str | None, made: None, capsys: Capture) -> None:
    assert invoke(arguments.split()) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("wasp: ")
    if message is not None:
        assert last == f"wasp: {message}"


def test_runs_that_all_fail_are_status_4_and_leave_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, here: Path
) -> None:
    answered(monkeypatch, lambda job: "the server ended")
    assert invoke(["run", "e.toml", "--set", "sweep={}", "-o", "out"]) == 4
    assert capsys.readouterr().err.splitlines()[-1] == "wasp: the server ended"
    assert not (here / "out").exists()


def test_an_interrupt_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch, engine: FakeEngine, capsys: Capture) -> None:
    engine.interrupt_at = (2, 1)
    arguments = ["run", "e.toml", "--set", "sweep={}", "-o", "out"]
    assert invoke(arguments) == 130
    output = capsys.readouterr()
    assert "[interrupted]" in output.out
    assert output.err.splitlines()[-1] == "wasp: interrupted; wasp resume out makes the rest"
    assert invoke(["resume", "out"]) == 0


def test_an_interrupt_before_anything_was_measured_leaves_nothing(engine: FakeEngine, here: Path) -> None:
    engine.interrupt_at = (0, 0)
    arguments = ["run", "e.toml", "--set", "sweep={}", "-o", "out"]
    assert invoke(arguments) == 130
    assert not (here / "out").exists()


def test_a_catalogue_that_cannot_be_written_changes_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, here: Path
) -> None:
    monkeypatch.setenv("WASP_CATALOGUE", str(here / "e.toml" / "catalogue"))
    assert invoke(["run", "e.toml", "-o", "out"]) == 0
    assert "wasp: not in the catalogue: " in capsys.readouterr().err


def test_time_is_said_as_people_say_it() -> None:
    assert [clock(value) for value in (5.4, 89, 95, 3600, 7500)] == ["5 s", "89 s", "2 min", "60 min", "2 h 5 min"]


def test_progress_fits_a_line() -> None:
    progress = StudyProgress(12, 120, 1, 3000.0, Begun(12, "clients.loss.rate=3% " * 5))
    assert line_of(progress).startswith("12 of 120 runs, 50 min left, 1 failed  clients.loss.rate=3%")
    assert len(line_of(progress)) <= 79
