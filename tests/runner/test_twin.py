"""A twin: both sides of an experiment, what is said of them, and what is left when it is interrupted."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

import fake_core
from fake_core import FakeEngine
from waspbench import InputError, RunFailedError, load, load_study, load_twin, resume, run, twin
from waspbench.calibration.counts import cpu_time
from waspbench.cli import twin_text
from waspbench.cli.app import invoke
from waspbench.cli.status import Status
from waspbench.report import report_of
from waspbench.results import catalogue
from waspbench.results.study import read_plan
from waspbench.results.twin_figures import TwinRow, judged, rows_of
from waspbench.results.twins import TwinResult, twin_of
from waspbench.runner.pipeline import StudyProgress
from waspbench.runner.twin import Twin, prepare_twin

FILE = """
name = "e"
[server]
kind = "nginx"
[[clients]]
count = 8
rtt = "20ms"
[measure]
runs = 4
warmup = "5s"
duration = "20s"
"""

Capture = pytest.CaptureFixture[str]


class Sides:
    """What each side's runs say: a share of the fake figures."""

    def __init__(self) -> None:
        self.throughput = 1.0
        self.time = 1.0
        self.body = 1.0
        self.invalid: list[dict[str, str]] = []


@pytest.fixture
def sides(engine: FakeEngine, pretended_live: None, here: Path, monkeypatch: pytest.MonkeyPatch) -> Sides:
    """An engine whose simulated runs say other figures than its live ones, and an experiment."""
    (here / "e.toml").write_text(FILE)
    sides, real = Sides(), fake_core.summary_of

    def summary_of(scenario: dict[str, Any], interval: float, invalid: list[dict[str, str]]) -> dict[str, Any]:
        made = real(scenario, interval, invalid)
        made["tcpext"] = {"RetransSegs": 80, "OutSegs": 7920}
        if scenario["mode"] == "sim":
            made["throughput"] *= sides.throughput
            made["response_time_ms"]["mean"] *= sides.time
            made["goodput_bps"] *= sides.body
            made["invalid"] = [*invalid, *sides.invalid]
            made["tcpext"] = None
            made["server_tcp"] = {
                "connections": 8, "segments_sent": 4000, "retransmitted": 40, "fast_retransmits": 1, "timeouts": 1,
                "first_timeouts": 1, "first_timeouts_ms": 200,
            }  # fmt: skip
        return made

    monkeypatch.setattr(fake_core, "summary_of", summary_of)
    return sides


def row(result: TwinResult, name: str) -> TwinRow:
    [found] = [row for row in result.points[0].rows if row.figure == name]
    return found


def test_both_sides_are_results_like_any_other(sides: Sides, capsys: Capture) -> None:
    made = twin("e.toml", output="out", within="15%")
    assert [load_study(f"out/{side}").mode for side in ("live", "sim")] == ["live", "sim"]
    assert load("out/sim").runs[3].throughput == load("out/live").runs[3].throughput == 670
    assert load_twin("out") == made
    assert made.complete
    assert made.valid
    assert made.points[0].runs == (4, 4)
    assert invoke(["compare", "out/live", "out/sim"]) == 0
    assert invoke(["list", "--root", "."]) == 0
    assert " twin " in capsys.readouterr().out
    assert catalogue.describe(Path("out")).runs == 8
    with pytest.raises(InputError, match=r"^out: holds a twin, which wasp show prints and load_twin reads"):
        load_study("out")
    with pytest.raises(InputError, match=r"^out: holds a twin"):
        load("out")
    with pytest.raises(InputError, match=r"^out/sim: holds an experiment, which load_study reads"):
        load_twin("out/sim")


def test_figures_are_ratios_of_simulation_to_live(sides: Sides) -> None:
    sides.throughput, sides.time = 0.5, 1.5
    made = twin("e.toml", output="out")
    found = {name: row(made, name) for name in ("throughput", "mean", "server_cpu", "retransmitted", "packets_down")}
    assert found["throughput"].ratio == pytest.approx(0.5)
    assert found["mean"].ratio == pytest.approx(1.5)
    assert found["server_cpu"].ratio == 1
    assert (found["retransmitted"].live, found["retransmitted"].sim) == (0.01, 0.01)
    assert found["packets_down"].live == 8000 / 6400
    # 42 % of one CPU over 10 s for 6400 transactions.
    assert row(made, "cpu_per_transaction").live == pytest.approx(0.42 * 10e6 / 6400)
    assert made.verdict is None
    assert {row.verdict for row in made.points[0].rows} == {"not judged"}
    assert [row.figure for _, row in made.differences][:2] == ["throughput", "mean"]
    low, high = found["throughput"].ratio_ci90 or (0, 0)
    assert low < 0.5 < high


def test_segments_sent_again_are_a_share_of_all(sides: Sides) -> None:
    """The kernel's OutSegs leaves out what is sent again (RFC 4022); the model's number of segments does not."""
    made = twin("e.toml", output="out")
    live, sim = load("out/live"), load("out/sim")
    assert (live.runs[0].tcpext or {})["RetransSegs"] == 80
    assert row(made, "retransmitted").live == pytest.approx(80 / (7920 + 80))
    already = live.model_copy(update={"server": {**live.server, "kind": "url"}})
    [found] = [each for each in rows_of(already, sim, 0.15) if each.figure == "retransmitted"]
    assert (found.live, found.verdict) == (None, "not judged")


def test_the_time_of_a_server_that_ran_already_is_that_of_its_processes(sides: Sides) -> None:
    """One thread of it is 60 % busy on a machine of eight CPUs: 0.6 CPU seconds a second, not 4.8."""
    twin("e.toml", output="out")
    live, sim = load("out/live"), load("out/sim")
    cpu = {"busy": 0.6, "processes_s": 6.0}
    runs = [run.model_copy(update={"server_cpu": run.server_cpu.model_copy(update=cpu)}) for run in live.runs]
    server = {**live.server, "kind": "url", "cpus": list(range(8))}
    already = live.model_copy(update={"server": server, "runs": runs})
    assert {run.interval_s for run in runs} == {10}
    found = {each.figure: each.live for each in rows_of(already, sim)}
    assert found["cpu_per_transaction"] == pytest.approx(6e6 / 6400)
    assert found["server_cpu"] == pytest.approx(0.6)
    assert cpu_time(already) == pytest.approx(4 * 6e6)
    assert cpu_time(already.model_copy(update={"server": {**server, "kind": "command"}})) == pytest.approx(8 * 4 * 6e6)


def test_sides_that_are_different_servers_are_told(sides: Sides) -> None:
    [flat] = twin("e.toml", output="flat").notes
    assert flat.startswith("the modelled server is the preset flat, whose costs are round numbers and no server's")
    Path("model.json").write_text('{"per_request": "1ms", "cores": 2}')
    own = {"kind": "command", "command": "serve {port}", "model": {"file": "model.json"}}
    command = {**_document(), "server": own}
    [cpus] = twin(command, output="own").notes
    assert cpus.startswith("CPUs of the live server: 1; of the modelled one: 2 (server.model.cores)")
    costs = {**_document(), "server": {**own, "model": {"per_request": "1ms"}}}
    assert twin(costs, output="costs").notes == []
    Path("model.json").write_text('{"per_request": "1ms"}')
    sides.body = 0.5
    # 5,242,880 bit/s for 10 s are 6,553,600 bytes, of 6,400 responses.
    [size] = twin(command, output="size").notes
    assert size.startswith("a response had 1,024 bytes live and 512 in simulation: ")


def test_a_server_that_uses_one_of_its_cpus_has_a_model_of_one(sides: Sides) -> None:
    """The busy shares are of two CPUs and of one. The CPUs that are kept busy are the same number."""
    twin("e.toml", output="out")
    live, sim = load("out/live"), load("out/sim")
    cpu = {"busy": 0.21, "others": 0.0}
    runs = [run.model_copy(update={"server_cpu": run.server_cpu.model_copy(update=cpu)}) for run in live.runs]
    two = live.model_copy(update={"server": {**live.server, "cpus": [0, 1]}, "runs": runs})
    [found] = [each for each in rows_of(two, sim, 0.15) if each.figure == "server_cpu"]
    assert found.ratio == pytest.approx(1)
    assert found.verdict == "within"


def test_what_no_live_run_has_is_outside(sides: Sides) -> None:
    twin("e.toml", output="out")
    live, sim = load("out/live"), load("out/sim")
    counters = {"RetransSegs": 0, "OutSegs": 7920}
    runs = [run.model_copy(update={"tcpext": counters}) for run in live.runs]
    without = live.model_copy(update={"runs": runs})
    [found] = [each for each in rows_of(without, sim, 0.15) if each.figure == "retransmitted"]
    assert (found.live, found.ratio, found.differs, found.verdict) == (0, None, True, "outside")


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((0.86, 1.14), "within"),
        ((1.16, 1.2), "outside"),
        ((0.5, 0.84), "outside"),
        ((0.8, 0.9), "undecided"),
        ((0.8, 1.2), "undecided"),
        (None, "undecided"),
    ],
)
def test_a_figure_is_judged_by_its_whole_interval(interval: tuple[float, float] | None, verdict: str) -> None:
    assert judged(interval, 0.15) == verdict
    assert judged(interval, None) == "not judged"


@pytest.mark.parametrize(
    ("time", "reasons", "status"),
    [
        (1.0, [], Status.DONE),
        (1.5, [], Status.CHECK_FAILED),
        (1.15, [], Status.INVALID),
        (1.0, [{"code": "lag", "message": "late"}], Status.INVALID),
    ],
    ids=["within", "outside", "undecided", "not valid"],
)
def test_the_exit_status_says_what_the_limit_says(
    sides: Sides, time: float, reasons: list[dict[str, str]], status: Status, capsys: Capture
) -> None:
    sides.time, sides.invalid = time, reasons
    assert invoke(["twin", "e.toml", "--within", "15%", "-o", "out"]) == status
    output = capsys.readouterr().out
    word = {Status.DONE: "WITHIN", Status.CHECK_FAILED: "OUTSIDE"}.get(status, "UNDECIDED")
    assert f"\n{word} 15%: of the figures " in output
    assert ("NOT VALID:" in output) == bool(reasons)
    assert invoke(["resume", "out", "--json"]) == status
    again = TwinResult.model_validate_json(capsys.readouterr().out)
    assert again == load_twin("out")


def test_one_run_a_side_cannot_be_judged(sides: Sides, engine: FakeEngine, capsys: Capture) -> None:
    """It is refused before the runs, which would end undecided."""
    one = ["twin", "e.toml", "-o", "out", "--set", "measure.runs=1"]
    assert invoke([*one, "--within", "15%"]) == 2
    assert "measure.runs: 1: gives no interval" in capsys.readouterr().err
    assert not engine.scenarios
    assert not Path("out").exists()
    until = "measure.until={ ci = '5%', max_runs = 4 }"
    assert invoke([*one, "--within", "15%", "--set", until, "--dry-run"]) == 0
    assert invoke(one) == 0


def test_without_a_limit_only_validity_counts(sides: Sides, capsys: Capture) -> None:
    sides.time = 3.0
    assert invoke(["twin", "e.toml", "-o", "out"]) == 0
    output = capsys.readouterr().out
    assert "They differ in:\n- response time mean, ms: sim/live 3.000" in output
    assert invoke(["show", "out"]) == 0
    assert capsys.readouterr().out == output
    sides.invalid = [{"code": "lag", "message": "late"}]
    assert invoke(["twin", "e.toml", "-o", "other"]) == Status.INVALID


def test_figures_that_are_next_to_nothing_are_not_judged(sides: Sides, monkeypatch: pytest.MonkeyPatch) -> None:
    faked = fake_core.summary_of

    def without_losses(*arguments: Any) -> dict[str, Any]:
        made = faked(*arguments)
        for name in ("tcpext", "server_tcp"):
            if made.get(name):
                made[name] |= {"RetransSegs": 1} if name == "tcpext" else {"retransmitted": 0}
        return made

    monkeypatch.setattr(fake_core, "summary_of", without_losses)
    found = row(twin("e.toml", output="out", within="15%"), "retransmitted")
    assert (found.verdict, found.ratio, found.sim) == ("not judged", None, 0)


def test_a_dry_run_says_both_sides_and_makes_nothing(sides: Sides, engine: FakeEngine, capsys: Capture) -> None:
    assert invoke(["twin", "e.toml", "--dry-run", "-o", "out"]) == 0
    assert [line[:5] for line in capsys.readouterr().out.splitlines() if line.startswith(("live", "sim"))] == [
        "live:",
        "sim: ",
    ]
    # One run tells how long simulated ones take, and leaves nothing.
    assert [each["mode"] for each in engine.scenarios] == ["sim"]
    assert not Path("out").exists()


@pytest.mark.parametrize("limit", ["0%", "100%", "much"])
def test_a_limit_is_a_share(sides: Sides, limit: str, capsys: Capture) -> None:
    assert invoke(["twin", "e.toml", "--within", limit]) == 2
    assert "--within:" in capsys.readouterr().err


def test_an_interrupted_twin_is_gone_on_with(sides: Sides, engine: FakeEngine, capsys: Capture) -> None:
    whole = twin("e.toml", output="whole", within="15%")
    for stop_in in (1, 2):
        engine.interrupt_at = (stop_in, 2)
        directory = f"out-{stop_in}"
        assert invoke(["twin", "e.toml", "--within", "15%", "-o", directory]) == Status.INTERRUPTED
        assert f"wasp resume {directory} makes the rest" in capsys.readouterr().err
        begun = load_twin(directory)
        assert not begun.complete
        result = resume(directory)
        assert isinstance(result, TwinResult)
        assert result.complete
        assert result.points == whole.points


def test_the_simulated_side_is_gone_on_with(sides: Sides, engine: FakeEngine) -> None:
    whole = twin("e.toml", output="out")
    made = len(engine.scenarios)
    for name in ("out/sim/runs/run-2.json", "out/sim/runs/run-3.json"):
        Path(name).unlink()
    again = resume("out")
    assert isinstance(again, TwinResult)
    assert again.points == whole.points
    assert [(each["mode"], each["run"]) for each in engine.scenarios[made:]] == [("sim", 2), ("sim", 3)]


def test_an_interrupted_simulated_side_is_gone_on_with(sides: Sides, engine: FakeEngine, capsys: Capture) -> None:
    whole = twin("e.toml", output="whole")
    for name in ("whole/sim/runs/run-1.json", "whole/sim/runs/run-2.json", "whole/sim/runs/run-3.json"):
        Path(name).unlink()
    engine.interrupt_at = (1, 2)
    assert invoke(["resume", "whole"]) == Status.INTERRUPTED
    assert "Not complete: runs are missing; wasp resume whole makes them." in capsys.readouterr().out
    assert not load_twin("whole").complete
    again = resume("whole")
    assert isinstance(again, TwinResult)
    assert again.points == whole.points


def test_pilot_runs_of_a_side_are_something_to_go_on_from(sides: Sides) -> None:
    plan, _ = prepare_twin(_document(), Path("out"))
    begun = Twin.begin(plan, Path("out"))
    assert begun.empty
    Path("out/live").mkdir()
    Path("out/live/lengths.json").write_text('{"pilots": []}')
    assert not begun.empty


def test_points_without_figures_on_a_side_are_told(sides: Sides, capsys: Capture) -> None:
    swept = {**_document(), "sweep": {"clients.rtt": ["20ms", "80ms"]}}
    whole = twin(swept, output="out", within="15%", jobs=1)
    assert [point.failures for point in whole.points] == [(None, None)] * 2
    plan, live, sim = read_plan(Path("out")), load_study("out/live"), load_study("out/sim")
    lost = sim.points[1].model_copy(update={"result": None, "failure": "the engine ended"})
    partly = sim.model_copy(update={"points": [sim.points[0], lost], "valid": False})
    made = twin_of(plan, Path("out"), live, partly)
    assert [point.failures for point in made.points] == [(None, None), (None, "the engine ended")]
    assert (made.points[1].rows, made.points[1].runs, made.verdict) == ([], (4, 0), "undecided")
    told = twin_text.text(made)
    assert "- sim: clients.rtt=80ms: no run came to its end: the engine ended" in told
    assert "the engine ended" in made._repr_html_()


def test_a_live_side_without_figures_is_an_error(sides: Sides, engine: FakeEngine) -> None:
    engine.fail_in = 0
    with pytest.raises(RunFailedError):
        twin({**_document(), "measure": {"runs": 1, "warmup": "1s", "duration": "2s"}}, output="out")


def test_progress_counts_both_sides(sides: Sides) -> None:
    told: list[StudyProgress] = []
    plan, _ = prepare_twin(_document(), Path("out"))
    Twin.begin(plan, Path("out")).run(on_progress=told.append)
    assert {each.total for each in told} == {8}
    assert sorted({each.latest.run for each in told if each.latest is not None}) == list(range(8))


def test_groups_have_rows_of_their_own(tmp_path: Path) -> None:
    group = {"count": 8, "rtt": "20ms"}
    document = {
        "name": "two",
        "mode": "sim",
        "clients": [{**group, "name": "near"}, {**group, "name": "far", "rtt": "80ms"}],
        "measure": {"runs": 2, "warmup": "1s", "duration": "4s"},
    }
    made = run(document, output=tmp_path / "out")
    rows = rows_of(made, made, 0.15)
    times = {row.group: row.live for row in rows if row.figure == "mean"}
    assert set(times) == {None, "near", "far"}
    assert (times["far"] or 0) > 3 * (times["near"] or 0) > 0
    assert {row.figure for row in rows if row.group == "far"} == {"throughput", "mean", "p90", "p99", "errors"}
    assert {row.ratio for row in rows if row.verdict != "not judged"} == {1}


def test_a_report_compares_both_sides(sides: Sides) -> None:
    sides.throughput = 0.5
    twin("e.toml", output="out")
    [point] = report_of("out").points
    assert "slower" in str(point)
    swept = {**_document(), "sweep": {"clients.rtt": ["20ms", "80ms"]}}
    twin(swept, output="swept", jobs=1)
    assert len(report_of("swept@clients.rtt=80ms").points) == 1
    shutil.rmtree("out/sim")
    with pytest.raises(InputError, match=r"^out: has no sim runs yet; wasp resume out makes them"):
        report_of("out")


def test_results_show_themselves(sides: Sides) -> None:
    made = twin("e.toml", output="out", within="15%")
    assert repr(made).startswith("<TwinResult 'e', live and sim: WITHIN 15%: of the figures ")
    assert repr(made).endswith(", valid>")
    assert "<table>" in made._repr_html_()
    assert made.to_frame().height == len(made.points[0].rows)


def _document() -> dict[str, Any]:
    return tomllib.loads(FILE)


@pytest.mark.root
@pytest.mark.slow
def test_the_built_in_server_has_a_twin(tmp_path: Path) -> None:
    """That a live twin and its simulation come to an end with figures on both sides, not what they are."""
    document = {
        "name": "small",
        "clients": [{"count": 16, "rtt": "20ms"}],
        "measure": {"runs": 1, "warmup": "500ms", "duration": "1s"},
    }
    made = twin(document, output=tmp_path / "out")
    assert made.complete
    found = {each.figure: each for each in made.points[0].rows}
    for name in ("throughput", "mean", "server_cpu", "cpu_per_transaction", "packets_up", "packets_down"):
        assert found[name].live, name
        assert found[name].sim, name
    assert (found["packets_up"].ratio or 0) == pytest.approx(1, abs=0.5)
