"""``wasp plot``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from figure_results import simulated
from waspbench import extras
from waspbench.cli.app import invoke
from waspbench.figures.kinds import KINDS

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("plot") / "swept"
    sweep = {"clients.count": [16, 64], "clients.loss.rate": ["0%", "5%"]}
    clients = [{"rtt": "50ms", "http": {"timeout": "400ms"}}]
    made = simulated(directory, sweep=sweep, clients=clients, measure={"warmup": "2s", "duration": "10s", "runs": 2})
    assert made.valid
    return made.results


def test_a_figure_is_drawn_into_a_file(swept: str, here: Path, capsys: Capture) -> None:
    assert invoke(["plot", swept, "--figure", "throughput-vs-load", "-o", "a.svg"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "a.svg: Throughput against load: sim (simulated)"
    assert "  bars: 90 % intervals over 2 runs" in said
    text = (here / "a.svg").read_text()
    assert "throughput (ok/s)" in text
    assert "loss 5%" in text
    again = ["plot", swept, "--figure", "throughput-vs-load", "-o", "a.svg", "--log-axes", "xy"]
    assert invoke(again) == 2
    refused = 'wasp: --output: "a.svg": exists already; name a new file, or write over it with --force\n'
    assert capsys.readouterr().err == refused
    assert (here / "a.svg").read_text() == text
    assert invoke([*again, "--force"]) == 0
    assert (here / "a.svg").read_text() != text


def test_a_file_is_called_by_its_figure_unless_told_otherwise(swept: str, here: Path) -> None:
    assert invoke(["plot", swept, "--figure", "p99.9-vs-load", "--bare", "--width", "3.3"]) == 0
    assert "response time p99.9" in (here / "p99.9-vs-load.svg").read_text()


def test_any_percentile_can_be_drawn(swept: str, here: Path) -> None:
    assert invoke(["plot", swept, "--figure", "p37.5-vs-load", "-o", "a.pdf"]) == 0
    assert (here / "a.pdf").read_bytes().startswith(b"%PDF")


def test_fields_are_chosen(swept: str, here: Path, capsys: Capture) -> None:
    flags = ["--x", "clients.loss.rate", "--by", "clients.count"]
    assert invoke(["plot", swept, "--figure", "throughput", *flags, "-o", "a.svg"]) == 0
    text = (here / "a.svg").read_text()
    assert "packet loss (%)" in text
    assert "clients 16" in text
    assert capsys.readouterr().out.startswith("a.svg: Throughput against loss: sim")


def test_several_results_are_laid_over_each_other(swept: str, here: Path) -> None:
    sides = [f"{swept}@clients.loss.rate={loss},clients.count=16" for loss in ("0%", "5%")]
    assert invoke(["plot", *sides, "--figure", "response-time-cdf", "-o", "a.png"]) == 0
    assert (here / "a.png").stat().st_size > 5_000


def test_the_figures_that_results_have_are_listed(swept: str, capsys: Capture) -> None:
    assert invoke(["plot", swept]) == 0
    there, absent = capsys.readouterr().out.split("\n\n", 1)
    assert "throughput-vs-load" in there
    assert "series" not in there
    assert "series" in absent
    assert invoke(["plot", swept, "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) == set(KINDS)
    assert rows["errors"] == {
        "name": "errors",
        "description": KINDS["errors"].description,
        "available": True,
        "why_not": None,
    }
    assert rows["series"]["why_not"].startswith("is of one point, and these results have 4")


def test_the_status_is_that_of_what_is_drawn(tmp_path: Path, here: Path) -> None:
    phones = {"name": "phones", "count": 30, "rtt": "200ms", "loss": "25%"}
    clients = [{"name": "homes", "count": 30, "rtt": "20ms"}, phones]
    made = simulated(tmp_path / "lossy", clients=clients, sweep={"clients.phones.rtt": ["200ms", "300ms"]})
    assert [group.valid for point in made.points if point.result for group in point.result.groups] == [True, False] * 2
    assert invoke(["plot", made.results, "--figure", "homes.p99"]) == 0
    assert invoke(["plot", made.results, "--figure", "phones.throughput"]) == 5


def test_the_status_of_a_search_is_that_of_what_was_found(tmp_path: Path, here: Path, capsys: Capture) -> None:
    search = ["capacity", "--mode", "sim", "--rtt", "20ms", "--duration", "2s", "--high", "16", "--confirm", "2"]
    found = invoke([*search, "--max-runs", "6", "-o", "found", "--quiet"])
    none = invoke([*search, "--slo", "p99 < 1ms", "-o", "none", "--quiet"])
    capsys.readouterr()
    assert (invoke(["plot", "found", "--figure", "load-search"]), found) == (0, 0)
    assert (invoke(["plot", "none", "--figure", "load-search", "--force"]), none) == (5, 5)
    assert "nothing found" in capsys.readouterr().out
    assert invoke(["plot", "found"]) == 0
    told = capsys.readouterr().out
    assert "load-search" in told.split("\n\n")[0]
    assert "- throughput (-vs-load, -vs-rtt, -vs-loss), response-time (" in told


def test_a_figure_of_invalid_results_is_drawn_and_the_status_says_so(
    tmp_path: Path, here: Path, capsys: Capture
) -> None:
    measure = {"warmup": "100ms", "duration": "1500ms", "runs": 2}
    made = simulated(tmp_path / "short", measure=measure, clients=[{"count": 1, "rtt": "50ms"}])
    assert not made.valid
    assert invoke(["plot", made.results, "--figure", "series", "-o", "a.svg"]) == 5
    assert "NOT TO BE TRUSTED" in capsys.readouterr().out
    assert "NOT TO BE TRUSTED" in (here / "a.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--figure series -o a.svg", "DIR: missing; name a directory of results"),
        ("DIR -o a.svg", "-o: has no effect without --figure, which names what is drawn"),
        ("DIR --force", "--force: has no effect without --figure, which names what is drawn"),
        (
            "DIR --figure serie -o a.svg",
            '--figure: "serie": unknown figure; did you mean series? valid here: throughput-vs',
        ),
        (
            "DIR --figure series -o a.svg",
            "--figure: series is of one point, and these results have 4; choose one (DIR@path",
        ),
        ("DIR --figure throughput-vs-load -o a.jpg", '--output: "a.jpg": must end in .pdf, .svg or .png'),
        (
            "DIR --figure throughput-vs-load -o no/a.svg",
            '--output: "no/a.svg": cannot be written: there is no such directory',
        ),
        ("DIR --figure throughput-vs-load -o a.svg --width 1", "--width: 1.0: must be from 3 to 40 inches"),
        (
            "DIR --figure throughput -o a.svg --x clients.rtt",
            "--figure: throughput cannot be drawn against clients.rtt, which does not",
        ),
        (
            "DIR --figure series -o a.svg --x clients.rtt",
            '--x: "clients.rtt": is for figures against a swept field, such as',
        ),
        (
            "DIR --figure throughput-vs-loss -o a.svg --log-axes x",
            '--log-axes: "x": the x axis (packet loss (%)) has the value 0',
        ),
        ("DIR --figure throughput-vs-loss -o a.svg --log-axes z", 'Invalid value "z" for --log-axes'),
        (
            "DIR DIR --figure series -o a.svg",
            "--figure: series is of one result, and 2 are given; of several are response",
        ),
        ("DIR --figure series -o a.svg --json", "--json: has no effect beside --figure; a figure is a file"),
        ("DIR --figure p99-vs-load@x", "--figure:"),
        ("no --figure series -o a.svg", "wasp: no: there is no such directory"),
        (". --figure series -o a.svg", "wasp: manifest.json: cannot be read"),
    ],
)
def test_bad_usage(arguments: str, message: str, swept: str, here: Path, capsys: Capture) -> None:
    given = [swept if word == "DIR" else word for word in arguments.split()]
    assert invoke(["plot", *given]) == 2
    assert message in capsys.readouterr().err
    assert list(here.glob("a.*")) == []


def test_without_matplotlib_the_status_is_that_of_a_machine_that_cannot(
    swept: str, here: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}")

    assert invoke(["files", "surge", "files", "--files", "20"]) == 0
    monkeypatch.setattr(extras, "import_module", missing)
    capsys.readouterr()
    assert invoke(["plot", swept, "--figure", "throughput-vs-load", "-o", "a.svg"]) == 3
    assert "pip install 'waspbench[plots]'" in capsys.readouterr().err
    assert list(here.glob("*.svg")) == []
    assert invoke(["plot", swept]) == 0
    assert invoke(["files", "check", "files", "--figures", "drawn"]) == 3
    capsys.readouterr()
    assert invoke(["files", "check", "files"]) == 0
    assert "figures         none: matplotlib is not installed" in capsys.readouterr().out
    assert [path.name for path in here.iterdir()] == ["files"]
