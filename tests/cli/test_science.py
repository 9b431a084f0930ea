"""The commands for experiments: what they print, write and return."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from answered_runs import answered
from fake_core import FakeEngine
from measured_runs import summary
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
    assert output.err.splitlines()[-1].startswith("8 of 8 runs  clients.loss.rate=")


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
    assert (point["outcome"], point["groups"][0]["asks"], point["groups"][0]["waits"]) == ("found", "1KiB", None)
    assert point["capacity"] == pytest.approx(1000, rel=0.02)
    assert point["bottleneck"] == "server"
    assert invoke(["show", "out"]) == 0
    shown = capsys.readouterr().out
    assert re.search(rf"^  [\d.,]+ /s at {point['load']} clients without pauses   \(90 %: ", shown, re.MULTILINE)
    assert "  each asks for 1KiB\n  bottleneck: server; saturated: server CPU 100 % busy" in shown
    assert invoke(["resume", "out"]) == 0


MODEL = ["--mode", "sim", "--set", "server.model.per_request=5ms", "--warmup", "2s", "--duration", "5s"]


def test_the_most_clients_are_found_by_flags(capsys: Capture) -> None:
    flags = ["--find", "clients", "--slo", "p99 < 1s", "--think", "2s", "--rtt", "20ms", "--percentiles", "99"]
    assert invoke(["capacity", *MODEL, *flags, "-o", "out"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("capacity: most clients under all.p99 < 1s, sim, by search, seed 1\n")
    answer = (
        r"^  (5[4-9]\d|6[01]\d) clients with all\.p99 < 1s   \(90 %: 5\d\d to 6\d\d\)\n  each asks for 1KiB, waits 2s$"
    )
    assert re.search(answer, printed, re.MULTILINE)
    assert re.search(
        r"^    clients +fresh +counts +all.p99 ms +ok/s +90 % interval +mean ms +p99 ms", printed, re.MULTILINE
    )
    for again in ("show", "resume"):
        assert invoke([again, "out"]) == 0
        assert capsys.readouterr().out == printed
    assert invoke(["compare", "out", "out"]) == 0
    assert "clients, B against A:\n\nno difference shown\n" in capsys.readouterr().out


def test_a_rate_is_found_by_flags(capsys: Capture) -> None:
    flags = ["--find", "rate", "--slo", "p99 < 400ms", "--clients", "600", "--requests-per-connection", "1"]
    assert invoke(["capacity", *MODEL, *flags, "--low", "30/min", "--high", "1000/s", "--json", "-o", "out"]) == 0
    found = json.loads(capsys.readouterr().out)
    [point] = found["points"]
    assert found["find"] == "rate"
    assert point["readings"][0]["load"] == 0.5
    assert all(reading["load"] <= 1000 for reading in point["readings"])
    assert 100 < point["load"] < 200
    assert point["capacity"] == point["load"]
    assert point["ci90"][0] <= point["load"] <= point["ci90"][1]


CAPACITY = """
[capacity]
find = "clients"
slo = "p99 < 1s"
low = 64
high = 128
"""


def test_the_file_says_what_is_looked_for_and_flags_go_before_it(capsys: Capture, here: Path) -> None:
    (here / "e.toml").write_text(FILE.partition("[sweep]")[0] + CAPACITY)
    assert invoke(["capacity", "e.toml", "-o", "out"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith(
        "e: most clients under all.p99 < 1s, sim, by search, seed 1\n\n  at least 128 clients"
    )
    assert "  a higher --high may find more\n" in printed.out
    assert (
        invoke(["capacity", "e.toml", "--find", "throughput", "--slo", "p99 < 2s", "--high", "99", "-o", "more"]) == 0
    )
    printed = capsys.readouterr()
    assert printed.out.startswith("e: capacity under all.p99 < 2s, sim")
    assert "  at least " in printed.out
    assert "; 99 clients are the most that were tried, and throughput still grew; " in printed.out
    assert invoke(["run", "e.toml", "--dry-run"]) == 0


def test_a_gate_stands_in_the_file(capsys: Capture, here: Path) -> None:
    (here / "e.toml").write_text(FILE.partition("[sweep]")[0] + CAPACITY + "at_least = 100\n")
    assert invoke(["capacity", "e.toml", "-o", "out"]) == 0
    on = "the 90 % interval is from 128 clients on; more were not tried"
    assert f"passed  clients >= 100: {on}\n" in capsys.readouterr().out
    assert invoke(["capacity", "e.toml", "--at-least", "128", "--high", "100", "-o", "more"]) == 2
    assert "wasp: --at-least: 128: must be at most 100, the most that are tried" in capsys.readouterr().err
    assert invoke(["capacity", "e.toml", "--high", "80", "-o", "more"]) == 2
    assert "wasp: capacity.at_least: 100: must be at most 80" in capsys.readouterr().err
    assert invoke(["capacity", "e.toml", "--find", "throughput", "-o", "more"]) == 2
    wanted = 'is for find = "clients"; beside --find throughput give --at-least as well'
    assert f"wasp: capacity.at_least: 100: {wanted}\n" in capsys.readouterr().err
    assert invoke(["capacity", "e.toml", "--at-least", "64", "--low", "64", "--slo", "p99 < 1ms", "-o", "less"]) == 1
    missed = "64 clients, the least that were tried, do not meet the objective; going by twice as many, fewer would"
    assert f"FAILED  clients >= 64: {missed} hardly" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        ("--high 64 --at-least 150/s", 0, "passed  throughput >= 150/s: the 90 % interval is "),
        ("--high 64 --at-least 250", 1, "FAILED  throughput >= 250/s: the 90 % interval is "),
        (
            "--low 4 --high 4 --rtt 100ms --at-least 100",
            5,
            "undecided  throughput >= 100/s: the 90 % interval is from ",
        ),
        (
            "--slo p99<1ms --rtt 50ms --high 64 --at-least 10",
            5,
            "undecided  throughput >= 10/s: 8 clients, the least that were tried, do not meet the objective\n",
        ),
        ("--find rate --slo p99<1s --clients 2 --rtt 200ms --low 2/s --at-least 50/s", 5, "undecided  rate >= 50/s: "),
    ],
)
def test_only_the_servers_limit_fails_a_check(arguments: str, status: int, told: str, capsys: Capture) -> None:
    assert invoke(["capacity", *MODEL, *arguments.split(), "-o", "out"]) == status
    assert f"\n{told}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("least", "status", "word", "why"),
    [
        ("450", 0, "passed", "the 90 % interval is 5"),
        ("2000", 1, "FAILED", "the 90 % interval is 5"),
        ("560", 5, "undecided", "the 90 % interval is 5"),
    ],
)
def test_what_is_found_is_checked_for_ci(
    least: str, status: int, word: str, why: str, capsys: Capture, here: Path
) -> None:
    model = [text.replace("5ms", "10ms") for text in MODEL]
    flags = ["--find", "clients", "--slo", "p99 < 1s", "--think", "5s", "--rtt", "20ms"]
    files = ["--junit", "j.xml", "--markdown", "m.md"]
    assert invoke(["capacity", *model, *flags, "--at-least", least, *files, "-o", "out"]) == status
    printed = capsys.readouterr().out
    assert f"\n{word}  clients >= {least}: {why}" in printed
    suite = ElementTree.parse(here / "j.xml").getroot()
    counts = {"passed": ("0", "0"), "FAILED": ("1", "0"), "undecided": ("0", "1")}[word]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", *counts)
    written = (here / "m.md").read_text()
    assert f"- {re.search('5.. clients with', printed)[0]} all.p99 < 1s (90 %: " in written  # type: ignore[index]
    assert f"| `clients >= {least}` |  | " in written
    assert invoke(["resume", "out"]) == status
    assert capsys.readouterr().out == printed


def test_a_dry_run_says_how_long_a_search_may_take(capsys: Capture, here: Path) -> None:
    flags = ["--find", "clients", "--slo", "p99 < 1s", "--high", "64", "--dry-run"]
    assert invoke(["capacity", "e.toml", *flags]) == 0
    assert re.fullmatch(
        r"2 points, most clients under all\.p99 < 1s, 8 to 64 clients:\n"
        r"    0  clients\.loss\.rate=0%\n"
        r"    1  clients\.loss\.rate=9%\n"
        r"at most 30 runs, about \d+ s in all if each had 64 clients; a run that is too short is made again, for up to "
        r"30 min\n",
        capsys.readouterr().out,
    )
    assert invoke(["capacity", "e.toml", "--sweep", "--high", "64", "--set", "sweep={}", "--dry-run"]) == 0
    assert re.fullmatch(r"1 point, capacity, 8 to 64 clients:\n16 runs, about \d+ s\n", capsys.readouterr().out)
    assert [path.name for path in here.iterdir()] == ["e.toml"]


def test_a_file_may_not_end_in_toml(here: Path, capsys: Capture) -> None:
    (here / "e.toml").rename(here / "experiment")
    assert invoke(["capacity", "experiment", "--set", "sweep={}", "--low", "9", "--high", "8"]) == 2
    assert capsys.readouterr().err == "wasp: --low: 9: must lie from 1 to high, which is 8\n"


def test_a_search_of_which_all_runs_fail_is_status_4(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, here: Path
) -> None:
    answered(monkeypatch, lambda job: "gone")
    assert invoke(["capacity", "e.toml", "--set", "sweep={}", "--high", "64", "-o", "out"]) == 4
    assert capsys.readouterr().err.splitlines()[-1] == "wasp: gone"
    assert [path.name for path in here.iterdir()] == ["e.toml"]


def test_normality_is_judged_of_many_runs(capsys: Capture) -> None:
    flags = ["--runs", "12", "--set", "sweep={}", "--set", "clients.loss.rate=9%", "-o", "out"]
    assert invoke(["normality", "e.toml", *flags]) == 0
    printed = capsys.readouterr().out
    assert "throughput of 12 runs is consistent with a normal distribution" in printed
    assert "12 runs say little: with 10 the test notices even an exponential distribution only 46 times" in printed
    assert invoke(["normality", "out", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert len(data["values"]) == len(data["cdf"]) == len(data["normal_quantiles"]) == 12


def test_runs_that_are_not_normal_are_status_1(monkeypatch: pytest.MonkeyPatch, capsys: Capture, file: None) -> None:
    answered(monkeypatch, lambda job: summary(900.0 if job.run == 11 else 600.0 + job.run, job.run))
    assert invoke(["normality", "e.toml", "--runs", "12", "--set", "sweep={}", "-o", "uneven"]) == 1
    assert "throughput of 12 runs is NOT normal" in capsys.readouterr().out
    assert invoke(["normality", "uneven"]) == 1


VARIED = "their number is what a search varies, from --low to --high"
SWEEP = "a sweep makes measure.runs runs at every load; leave it or --sweep out"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("compare out none", "none: there is no such directory"),
        (
            "compare out@a=1,a=2 out",
            "out@a=1,a=2: names a twice; a point has one value of each field",
        ),
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
        ("run e.toml --junit no/j.xml -o new", '--junit: "no/j.xml": cannot be written: there is no such directory'),
        ("run e.toml --junit out -o new", '--junit: "out": cannot be written: it is a directory'),
        ("resume out --markdown no/m.md", '--markdown: "no/m.md": cannot be written: there is no such directory'),
        ("run e.toml --dry-run --json", "--json: has no effect beside --dry-run, which makes no runs"),
        (
            "capacity e.toml --dry-run --junit j.xml",
            '--junit: "j.xml": has no effect beside --dry-run, which makes no runs',
        ),
        (
            "capacity e.toml --find clients --slo p99<1s --high 64 --at-least 65",
            "--at-least: 65: must be at most 64, the most that are tried",
        ),
        (
            "capacity e.toml --at-least many",
            '--at-least: "many": must be transactions a second, such as 600',
        ),
        ("capacity e.toml --slo errors<1", '--slo: "errors<1": 1 is 100%; say 1% or 100%'),
        ("run e.toml --assert errors<1", '--assert: "errors<1": 1 is 100%; say 1% or 100%'),
        ("run e.toml --set assert.errors=<1", "assert.errors: 1 is 100%; say 1% or 100%"),
        (
            "capacity e.toml --set capacity={low=9} --high 8",
            "capacity.low: 9: must lie from 1 to high, which is 8",
        ),
        ("capacity e.toml --set capacity={low=9} --low 9 --high 8", "--low: 9: must lie from 1 to high, which is 8"),
        (
            "capacity e.toml --set capacity={low='5/s'}",
            'capacity.low: "5/s": must be a number of clients, such as 64',
        ),
        ("run e.toml --set sweep={'capacity.low'=[1,2]}", 'sweep."capacity.low": cannot be swept'),
        ("capacity e.toml --low 0", "--low: 0: must be at least 1, one client for each group"),
        ("capacity e.toml --low 2.5", '--low: "2.5": must be a number of clients, such as 64'),
        (
            "capacity e.toml --find users",
            '--find: "users": did you mean clients? must be one of throughput, clients, rate',
        ),
        (
            "capacity e.toml --find clients",
            '--slo: missing; the most clients are found under an objective, such as "p99 < 1s"',
        ),
        (
            "capacity e.toml --find rate --slo p99<1s",
            "clients.arrivals: missing; a search for a rate scales the rates of all groups that are no background, "
            'such as "10/s"',
        ),
        (
            "capacity e.toml --find rate --slo p99<1s --low 5",
            '--low: "5": unknown or missing unit; expected a frequency above zero such as 100/s or 30/min '
            "(units: /s, /min, /h)",
        ),
        (
            "capacity e.toml --sweep --find clients --slo p99<1s",
            "--sweep: a sweep looks for the largest throughput, and not for clients",
        ),
        (
            "capacity e.toml --rtt 5ms",
            '--rtt: "5ms": describes an experiment without a file; the file says clients.rtt, and --set changes it',
        ),
        (
            "capacity e.toml --find rate --clients 5",
            '--clients: "5": describes an experiment without a file; the file says clients.count, and --set changes it',
        ),
        (
            "capacity --mode sim --find clients --slo p99<1s --set clients.arrivals.rate=5/s",
            "clients.arrivals: an open loop's rate does not follow the number of clients; a search for a rate "
            "varies it",
        ),
        (
            "capacity --mode sim --find rate --slo p99<1s --think 5s",
            '--think: "5s": is for a closed loop; with --find rate clients ask when arrivals come',
        ),
        ("capacity --mode sim --clients 5", f'--clients: "5": {VARIED}'),
        (
            "capacity none",
            'FILE.toml|URL: "none": must be an experiment file (FILE.toml), or a URL such as http://127.0.0.1:8080/',
        ),
        (
            "capacity --mode sim --runs 5",
            '--runs: "5": is for --sweep; a search makes --confirm runs (4) at the load that it found',
        ),
        (
            "capacity --mode sim --outstanding 5",
            '--outstanding: "5": is for an open loop, which --find rate searches',
        ),
        (
            "capacity --mode sim --access-log --server nginx",
            "--access-log: true: is for the server of a live run, in whose place a simulation has a modelled one",
        ),
        ("capacity --mode sim --rtt 5", '--rtt: 5: must be text with a unit, such as "100ms"'),
        ("capacity e.toml --slo p99", '--slo: "p99": must be <, <=, > or >= and a limit, such as "< 800ms"'),
        ("resume e.toml", "e.toml/study.json: cannot be read: Not a directory"),
    ],
)
def test_bad_usage(arguments: str, message: str, made: None, capsys: Capture) -> None:
    assert invoke(arguments.split()) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"wasp: {message}"


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


SIDES = ("out@clients.loss.rate=0%", "out@clients.loss.rate=9%")


@pytest.fixture
def five(file: None, capsys: Capture) -> None:
    """Results of five runs at each point in ``out``."""
    assert invoke(["run", "e.toml", "--set", "measure.runs=5", "--quiet", "-o", "out"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("sides", "limit", "status", "word"),
    [(SIDES, "slower:5%", 1, "FAILED"), (SIDES[::-1], "slower:5%", 0, "passed"), (SIDES, "slower:90%", 0, "passed")],
)
def test_a_comparison_can_be_a_check(
    sides: tuple[str, str], limit: str, status: int, word: str, five: None, capsys: Capture, here: Path
) -> None:
    files = ["--junit", "j.xml", "--markdown", "m.md"]
    assert invoke(["compare", *sides, "--fail-on", limit, *files]) == status
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"{word}  throughput {limit}: slowdown ")
    suite = ElementTree.parse(here / "j.xml").getroot()
    counts = (suite.get("tests"), suite.get("failures"), suite.get("errors"))
    assert (suite.get("name"), *counts) == (
        f"wasp.compare {sides[1]} against {sides[0]}",
        "2",
        str(int(status == 1)),
        "0",
    )
    summary = (here / "m.md").read_text()
    assert summary.startswith(f"### throughput of {sides[1]} against {sides[0]}: ")
    assert ("- slower: 399.4 -> " if sides == SIDES else "- faster: ") in summary
    assert f"| `throughput {limit}` |" in summary
    assert invoke(["compare", *sides, "--fail-on", limit, "--json"]) == status
    [check] = json.loads(capsys.readouterr().out)["checks"]
    assert check["passed"] is (status == 0)


def test_too_few_runs_leave_a_comparison_undecided(made: None, capsys: Capture) -> None:
    assert invoke(["compare", *SIDES, "--fail-on", "slower:5%"]) == 5
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith("undecided  throughput slower:5%: slowdown ")
    assert line.endswith("of 4 and 4 runs; at least 5 a side are needed")
    assert invoke(["compare", *SIDES, "--fail-on", "5%"]) == 2
    assert capsys.readouterr().err == (
        'wasp: --fail-on: "5%": must be slower: and a share in per cent, such as slower:5%\n'
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("run e.toml -q --set measure.runs=1", "ok/s"),
        ("bench --mode sim --clients 8 --rtt 20ms --runs 1 --quiet", "throughput"),
        ("capacity e.toml --quiet --sweep --high 8 --set measure.runs=1 --set sweep={}", "8 clients"),
        ("normality e.toml --quiet --runs 3 --set sweep={}", "throughput of 3 runs is consistent with a normal"),
    ],
)
def test_quiet_says_nothing_but_the_result(arguments: str, told: str, capsys: Capture) -> None:
    assert invoke(arguments.split()) == 0
    output = capsys.readouterr()
    assert output.err == ""
    assert told in output.out
    assert "results" in output.out


def test_errors_are_told_quietly_too(capsys: Capture) -> None:
    assert invoke(["run", "no.toml", "--quiet"]) == 2
    assert capsys.readouterr().err == "wasp: no.toml: cannot be read: No such file or directory\n"
    Path("phones.toml").write_text(FILE)
    assert invoke(["run", "phone.toml", "--quiet"]) == 2
    assert capsys.readouterr().err.endswith("; did you mean phones.toml?\n")
    assert invoke(["run", "bench.toml", "--quiet"]) == 2  # people's own names have no other words
    assert "did you mean" not in capsys.readouterr().err
    assert invoke(["run", f"{'x' * 300}.toml", "--quiet"]) == 2
    assert capsys.readouterr().err.endswith(": cannot be read: File name too long\n")
