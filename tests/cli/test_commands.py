"""What the commands ask of the engine, what they print, and their exit status."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from answered_runs import answered
from defaults import DEFAULT_HTTP
from fake_core import FakeEngine
from waiting import HANGS, SOON
from waspbench import _core, live
from waspbench.cli.app import invoke
from waspbench.cli.progress import SILENCE, WIDTH, ProgressLine, second
from waspbench.runner.pipeline import Begun, StudyProgress
from waspbench.testbed import Support


@pytest.fixture(autouse=True)
def nowhere(here: Path) -> None:
    """Results go to an empty directory."""


def test_the_defaults_of_bench(engine: FakeEngine) -> None:
    assert invoke(["bench", "--mode", "sim"]) == 0
    assert len(engine.scenarios) == 3
    scenario = engine.scenarios[0]
    assert scenario["measure"] == {"warmup": "5s", "duration": "10s", "max_errors": "10%"}
    assert scenario["workload"]["size"] == "1KiB"
    assert scenario["clients"][0] == {
        "name": "clients",
        "count": 256,
        "background": False,
        "observe": False,
        "rtt": "100ms",
        "loss": {"up": None, "down": None, "scope": "direction"},
        "bandwidth": {"up": None, "down": None},
        "trace": {"up": None, "down": None},
        "queue": {"up": None, "down": None},
        "jitter": {"up": None, "down": None},
        "reorder": {"up": None, "down": None},
        "duplicate": {"up": None, "down": None},
        "corrupt": {"up": None, "down": None},
        "mtu": 1500,
        "http": DEFAULT_HTTP,
        "think": None,
        "start": "equilibrium",
        "arrivals": None,
        "tcp": {"preset": "linux"},
    }


def test_every_flag_of_bench_reaches_the_engine(engine: FakeEngine) -> None:
    flags = (
        "--mode sim --server nginx --clients 64 --rtt 50ms --loss 3% --loss-up 1% --burst 50% "
        "--down 10Mbit/s --up 1Mbit/s --queue 64KiB --mss 536 --tcp bsd1999 --file-size 20KB "
        "--requests-per-connection 4 --http-version 1.0 --connections 2 --pipeline 3 --method HEAD "
        "--think 1s --start together --jitter 2ms --reorder 1% --duplicate 2% --corrupt 0.03 "
        "--rate 100/s --arrivals constant --outstanding 50 --warmup 1s --duration 2s "
        "--runs 1 --seed 9 --timeout 5s --max-errors 20%"
    )
    assert invoke(["bench", *flags.split()]) == 0
    scenario = engine.scenarios[0]
    group = scenario["clients"][0]
    assert (scenario["seed"], scenario["mode"], group["count"], group["rtt"]) == (9, "sim", 64, "50ms")
    assert group["loss"]["up"] == {"model": "two-state", "p": "0.5050505051%", "r": "50%", "start": "good"}
    assert group["loss"]["down"] == {"model": "two-state", "p": "1.5463917526%", "r": "50%", "start": "good"}
    assert group["bandwidth"] == {"up": "1Mbit/s", "down": "10Mbit/s"}
    assert group["queue"] == {"up": "64KiB", "down": "64KiB"}
    assert group["jitter"]["down"] == {"model": "normal", "deviation": "2ms", "order": "kept"}
    assert group["reorder"]["up"] == {"share": "1%", "distance": 3, "wait": "100ms"}
    assert (group["duplicate"]["up"], group["corrupt"]["down"]) == ({"share": "2%"}, {"share": "0.03"})
    assert group["tcp"] == {"preset": "bsd1999", "mss": 536}
    assert scenario["server"]["tcp"] == {"preset": "bsd1999"}
    assert group["http"] == DEFAULT_HTTP | {
        "version": "1.0",
        "requests_per_connection": 4,
        "connections": 2,
        "pipeline": 3,
        "method": "HEAD",
        "timeout": "5s",
    }
    assert group["think"] == {"model": "constant", "value": "1s"}
    assert group["start"] == "together"
    assert group["arrivals"] == {"model": "constant", "rate": "100/s", "outstanding": 50}
    assert scenario["workload"] == {"kind": "single", "deal": "own", "path": "/20000", "size": "20KB"}
    assert scenario["measure"] == {"warmup": "1s", "duration": "2s", "max_errors": "20%"}
    assert len(engine.scenarios) == 1


@pytest.mark.parametrize(("condition", "status"), [("p99 < 1s", 0), ("throughput > 10000", 1)])
def test_bench_judges_conditions(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str], condition: str, status: int
) -> None:
    assert invoke(["bench", "--mode", "sim", "--assert", condition]) == status
    assert f"{'FAILED' if status else 'passed'}  {condition}" in capsys.readouterr().out


def test_bench_makes_runs_until_the_interval_is_narrow(engine: FakeEngine) -> None:
    assert invoke(["bench", "--mode", "sim", "--runs", "2", "--until", "3%", "--max-runs", "9", "-o", "out"]) == 0
    assert [scenario["run"] for scenario in engine.scenarios] == [0, 1, 2]
    assert len(json.loads(Path("out/manifest.json").read_text())["runs"]) == 3


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ("--congestion reno", '--congestion: "reno": sets the server\'s kernel in a live run'),
        ("--access-log", '--access-log: true: is for kind = "nginx" or "apache", and this is "builtin"'),
        ("--server nginx --access-log", "--access-log: true: is for the server of a live run"),
        ("--max-runs 4", "--until: missing"),
        ("--until 0%", '--until: "0%": must be above 0% and below 100%'),
        ("--assert p100<1s", "--assert: "),
        ("--percentiles 50,100", '--percentiles: "100": must be above 0 and below 100'),
        ("--percentiles 50,", '--percentiles: "": must be above 0 and below 100'),
    ],
)
def test_flags_without_effect_or_sense_are_refused(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str], flags: str, complaint: str
) -> None:
    assert invoke(["bench", "--mode", "sim", *flags.split()]) == 2
    assert capsys.readouterr().err.startswith(f"wasp: {complaint}")
    assert engine.scenarios == []


@pytest.mark.parametrize(
    ("flags", "up", "down"),
    [
        ("--loss 3%", True, True),
        ("--loss-up 3%", True, False),
        ("--loss-down 3%", False, True),
        ("--loss 3% --loss-up 0%", False, True),
        ("--loss 0%", False, False),
    ],
)
def test_directions_of_loss(engine: FakeEngine, flags: str, up: bool, down: bool) -> None:
    assert invoke(["bench", "--mode", "sim", *flags.split()]) == 0
    loss = engine.scenarios[0]["clients"][0]["loss"]
    assert (loss["up"] is not None, loss["down"] is not None) == (up, down)


def test_json_is_one_object_with_all_figures(engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["bench", "--mode", "sim", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["throughput"].keys() == {"mean", "ci90"}
    percentiles = ("p50", "p90", "p95", "p99", "p99.9")
    assert result["response_time_ms"].keys() == {
        *("mean", "ci90", "max", *percentiles),
        *(f"{name}_ci90" for name in percentiles),
    }
    assert result["goodput_bps"]["mean"] == 5_242_880.0
    assert result["outcomes"]["ok"] == 19_200
    assert result["server_cpu"]["busy"] == pytest.approx(0.42)
    none = {"p50": None, "p99": None, "max": None}
    shares = dict.fromkeys(("cpu", "others", "run_delay", "run_delay_by_others", "threads"))
    assert result["emulator"] == {**shares, "lag_us": none, "unread_us": none}
    for way in ("down", "up"):
        assert result["network"][way].keys() == {
            *("packets", "lost", "loss_rate", "dropped", "dropped_early", "marked"),
            *("corrupted", "duplicated", "held", "reordered"),
            *("label_loss_rate", "stationary_loss_rate", "expected_loss_rate"),
        }
    assert result["valid"] is True
    assert result["invalid_reasons"] == []
    assert len(result["runs"]) == 3
    assert result["server"]["kind"] == "builtin"
    assert result["clients"][0]["count"] == 256
    assert result["scenario"] == engine.scenarios[0]
    assert Path(result["results"], "manifest.json").exists()


def test_the_table_reads_well(engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["bench", "--mode", "sim", "--loss", "3%", "-o", "out"]) == 0
    output = capsys.readouterr()
    assert output.out == (
        "bench: modelled server, 256 clients at 100ms, loss 3% two-state (p=2.01%\n"
        "  r=65%). sim, 3 runs of 10s after 5s, seed 1\n"
        "\n"
        "workload        /1024, 1KiB\n"
        "throughput      650.0 /s   (90 %: 633.1 to 666.9)\n"
        "goodput         5.24 Mbit/s   (90 %: 5.24 to 5.24)\n"
        "response time   mean 101.0 ms   (90 %: 99.3 to 102.7)\n"
        "                p50    100.1 ms   (90 %: 100.0 to 100.1)\n"
        "                p90    100.1 ms   (90 %: 100.0 to 100.1)\n"
        "                p95    100.1 ms   (90 %: 100.0 to 100.1)\n"
        "                p99    300.2 ms   (90 %: 300.0 to 300.2)\n"
        "                p99.9  300.2 ms   (90 %: 300.0 to 300.2)\n"
        "                max    303.0 ms\n"
        "outcomes        ok 19,200 (200), reset 3; 6 of them made once more\n"
        "errors          0.02 %\n"
        "server CPU      42.0 % busy\n"
        "network down    24,000 packets, 720 lost (3.00 %), 3 dropped; loss label 3 %,\n"
        "                stationary 3 %, expected 3 %\n"
        "network up      21,000 packets, 630 lost (3.00 %), 3 dropped; loss label 3 %,\n"
        "                stationary 3 %, expected 3 %\n"
        "\n"
        "response times of ok transactions\n"
        "100 ms to 112 ms    ██████████████████████████████████████████████████   98.0 %\n"
        "112 ms to 125 ms                                                          0.0 %\n"
        "125 ms to 140 ms                                                          0.0 %\n"
        "140 ms to 160 ms                                                          0.0 %\n"
        "160 ms to 180 ms                                                          0.0 %\n"
        "180 ms to 200 ms                                                          0.0 %\n"
        "200 ms to 224 ms                                                          0.0 %\n"
        "224 ms to 250 ms                                                          0.0 %\n"
        "250 ms to 280 ms                                                          0.0 %\n"
        "280 ms to 315 ms    █                                                     2.0 %\n"
        "\n"
        "valid           yes\n"
        "results         out\n"
    )
    assert output.err.splitlines()[0] == "sim: as asked"


def test_an_invalid_result_is_marked_and_has_its_own_status(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.invalid = [{"code": "lag", "message": "lag p99 3.1 ms is above 1 ms"}]
    assert invoke(["bench", "--mode", "sim", "--runs", "1"]) == 5
    output = capsys.readouterr().out
    assert "valid           NO: do not trust these figures\n" in output
    assert "                - run 1: lag p99 3.1 ms is above 1 ms [lag]\n" in output


def test_the_table_fits_80_columns(engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    engine.invalid = [{"code": "warmup", "message": "throughput " + "of the first quarter differs " * 8}]
    invoke(["bench", "--mode", "sim", "--loss", "3%", "-o", "out"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_an_interrupt_prints_what_was_measured(engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    engine.interrupt_at = (1, 2)
    assert invoke(["bench", "--mode", "sim", "-o", "out"]) == 130
    assert "[interrupted]" in capsys.readouterr().out
    assert json.loads(Path("out/manifest.json").read_text())["interrupted"] is True


def test_an_interrupt_before_anything_was_measured(engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    engine.interrupt_at = (0, 0)
    assert invoke(["bench", "--mode", "sim", "-o", "out"]) == 130
    output = capsys.readouterr()
    assert output.err.splitlines()[-1] == "wasp: interrupted before anything was measured"
    assert output.out == ""
    assert not Path("out").exists()


def test_run_takes_a_file_and_settings(engine: FakeEngine) -> None:
    Path("e.toml").write_text('name = "e"\n[[clients]]\nname = "a"\n[[clients]]\nname = "b"\n[measure]\nruns = 1\n')
    assert (
        invoke(["run", "e.toml", "--mode", "sim", "--set", "clients.b.rtt=20ms", "--set", "seed=4", "-o", "out"]) == 0
    )
    scenario = engine.scenarios[0]
    assert [(group["name"], group["rtt"]) for group in scenario["clients"]] == [("a", "100ms"), ("b", "20ms")]
    assert scenario["seed"] == 4


def test_results_have_a_place_of_their_own_unless_one_is_named(engine: FakeEngine) -> None:
    for _ in range(2):
        assert invoke(["bench", "--mode", "sim", "--runs", "1"]) == 0
    places = sorted(Path("results").iterdir())
    assert len(places) == 2
    assert all("-bench" in place.name for place in places)


def test_the_mode_and_why_is_the_first_line(
    monkeypatch: pytest.MonkeyPatch, engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(live, "live_support", lambda: Support(False, "no device"))
    assert invoke(["bench", "--runs", "1"]) == 0
    assert capsys.readouterr().err.splitlines()[0] == "sim: this machine cannot do live: no device"


def test_the_demo_compares_no_loss_with_loss(
    monkeypatch: pytest.MonkeyPatch, engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(live, "live_support", lambda: Support(False, "no device"))
    assert invoke(["demo"]) == 0
    output = capsys.readouterr()
    assert output.err.splitlines()[0] == "sim: this machine cannot do live: no device"
    lines = output.out.splitlines()
    assert [scenario["clients"][0]["loss"]["down"] is None for scenario in engine.scenarios] == [True, False]
    assert any(line.split() == ["no", "loss", "3", "%", "loss", "change"] for line in lines)
    assert lines[-1].startswith("results: results/")
    assert max(map(len, lines)) <= 80


def test_the_demo_says_why_a_part_of_it_is_missing(
    monkeypatch: pytest.MonkeyPatch, engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(live, "live_support", lambda: Support(False, "no device"))
    answered(monkeypatch, lambda job: "the engine gave up" if job.point == 1 else None)
    assert invoke(["demo"]) == 5
    said = capsys.readouterr().out
    assert "3 % loss: not valid: no run came to its end: the engine gave up" in said.splitlines()
    assert "throughput (ok/s)" in said
    assert "change" not in said


def test_an_interrupt_anywhere_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("waspbench.validation.tcp.SIMULATED", (interrupted,))
    assert invoke(["validate", "tcp"]) == 130
    assert capsys.readouterr().err == "wasp: interrupted\n"


SAMPLE: _core.Sample = {
    "elapsed": 12.0, "measuring": True, "throughput": 640.0, "in_flight": 256, "completed": 7000, "errors": 2,
}  # fmt: skip
LINE = "run 1/3     12 s measuring       640 ok/s     256 in flight  2 errors"


def progress(**more: Any) -> StudyProgress:
    run = Begun(0, "")
    fields: dict[str, Any] = {"done": 0, "total": 3, "failed": 0, "left": None, "latest": run, "sample": SAMPLE}
    return StudyProgress(**(fields | more))


def begun(run: int, why: str, at: str = "") -> Begun:
    return Begun(run, at, 2, (why,))


def test_bench_takes_settings(engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    settings = ["--set", "clients.tcp.sack=false", "--set", "measure.runs=2"]
    assert invoke(["bench", "--mode", "sim", *settings]) == 0
    assert len(engine.scenarios) == 2
    assert engine.scenarios[0]["clients"][0]["tcp"]["sack"] is False
    assert invoke(["bench", "--mode", "sim", "--set", "clients.latency=5ms"]) == 2
    assert "clients.latency: unknown field; did you mean rtt? " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "setting"),
    [
        ("--runs 2", "measure.runs=5"),
        ("--mode sim", "mode=live"),
        ("--down 5Mbit/s", "clients.bandwidth=1Mbit/s"),
        ("--tcp bsd1999", "server.tcp.preset=linux"),
        ("--clients 5", "clients.count=9"),
        ("--loss 3%", "clients.loss.rate=20%"),
        ("--loss-up 3%", "clients.loss=20%"),
    ],
)
def test_a_flag_and_a_setting_do_not_say_the_same(
    flags: str, setting: str, engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    name = flags.split()[0]
    assert invoke(["bench", *flags.split(), "--set", setting]) == 2
    field = setting.partition("=")[0]
    assert capsys.readouterr().err == f'wasp: --set: "{setting}": {name} says {field}, too; leave one out\n'
    assert engine.scenarios == []


def test_progress_is_a_line_that_fits() -> None:
    large = SAMPLE | {"elapsed": 12_345.0, "throughput": 123_456.0, "in_flight": 1_000_000, "errors": 1_234_567}
    for each in (Begun(99, "", 2), Begun(0, "", 2, pilot=12)):
        line = second(progress(latest=each, total=100))
        assert line.endswith("measuring       640 ok/s     256 in flight  2 errors")
        line = second(progress(latest=each, total=100, left=40.0))
        assert line.endswith("measuring       640 ok/s  2 errors  40 s left")
        line = second(progress(latest=each, total=100, left=4e6, sample=large))
        assert len(line) < WIDTH
        assert line.endswith("1,234,567 errors")


def test_progress_is_plain_lines_unless_on_a_terminal() -> None:
    stream = io.StringIO()
    with ProgressLine(stream) as line:
        line(progress())
    assert stream.getvalue() == LINE + "\n"


def test_a_log_has_a_line_for_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("waspbench.cli.progress.time.monotonic", lambda: now)
    stream = io.StringIO()
    with ProgressLine(stream) as line:
        for run, (done, left) in enumerate([(0, 40.0), (1, 20.0)]):
            for elapsed, measuring in ((1.0, False), (2.0, True), (3.0, True)):
                now += 1
                sample = SAMPLE | {"elapsed": elapsed, "measuring": measuring}
                line(progress(done=done, total=2, left=left, latest=Begun(run, ""), sample=sample))
            line(progress(done=done + 1, total=2, left=left - 20, latest=Begun(run, ""), sample=None))
        now += SILENCE
        line(progress(done=2, total=4, latest=Begun(2, "")))
        line(progress(done=3, total=4, left=9.0, sample=None))
    assert stream.getvalue().splitlines() == [
        "run 1/2      2 s measuring       640 ok/s     256 in flight  2 errors  40 s left",
        "run 2/2      2 s measuring       640 ok/s     256 in flight  2 errors  20 s left",
        "run 3/4     12 s measuring       640 ok/s     256 in flight  2 errors",
    ]


def test_a_log_has_a_line_for_each_run_that_is_made_elsewhere() -> None:
    stream = io.StringIO()
    with ProgressLine(stream) as line:
        for done in (0, 0, 1, 1, 2, 3):
            line(progress(done=done, left=3.0 - done, latest=Begun(2, "load=8"), ended=f"load={done}", sample=None))
    assert stream.getvalue().splitlines() == [
        "1 of 3 runs, 2 s left  load=1",
        "2 of 3 runs, 1 s left  load=2",
        "3 of 3 runs  load=3",
    ]


def test_a_pilot_does_not_hide_the_run_that_follows() -> None:
    stream = io.StringIO()
    with ProgressLine(stream) as line:
        line(progress(latest=Begun(0, "", pilot=1)))
        line(progress(latest=Begun(0, "", pilot=1), sample=None))
        line(progress(latest=Begun(0, ""), done=1, sample=None, ended="load=8"))
    assert stream.getvalue().splitlines() == [LINE.replace("run 1/3", "pilot 1"), "1 of 3 runs  load=8"]


def test_what_was_made_before_is_told_once_where_runs_are_resumed() -> None:
    stream = io.StringIO()
    with ProgressLine(stream) as line:
        line(progress(done=2, sample=None))
        line(progress(done=2, latest=Begun(2, "load=8")))
        line(progress(done=3, latest=Begun(2, "load=8"), sample=None))
    assert stream.getvalue().splitlines() == ["2 of 3 runs", LINE.replace("run 1/3", "run 3/3") + "  load=8"]


def test_quiet_progress_says_why_a_run_is_made_again_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    with ProgressLine(stream, quiet=True) as line:
        line(progress())
        line(progress(latest=begun(0, "gone"), again=(begun(0, "gone"),)))
        line(progress(done=3, sample=None))
    assert stream.getvalue() == "run 1/3 again: gone\n"


def test_a_log_hears_of_a_long_run_each_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("waspbench.cli.progress.time.monotonic", lambda: now)
    stream = io.StringIO()
    with ProgressLine(stream) as line:
        for now in range(300):
            line(progress(sample=SAMPLE | {"elapsed": float(now), "measuring": now > 100}))
    assert [line.split()[2] for line in stream.getvalue().splitlines()] == ["60", "101", "161", "221", "281"]


def test_progress_is_rewritten_in_place_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    with ProgressLine(stream) as line:
        line(progress())
    assert stream.getvalue() == f"\r\x1b[K{LINE}\r\x1b[K"


def test_why_a_run_is_made_again_is_said_once() -> None:
    stream = io.StringIO()
    with ProgressLine(stream) as line:
        again = begun(1, "the hypervisor took 3 %")
        line(progress(latest=again, again=(again,)))
        line(progress(latest=again))
    shown = LINE.replace("run 1/3", "run 2/3 again")
    assert stream.getvalue() == f"run 2/3 again: the hypervisor took 3 %\n{shown}\n"


def test_every_run_that_is_made_again_side_by_side_is_told() -> None:
    stream = io.StringIO()
    with ProgressLine(stream) as line:
        line(progress(sample=None, done=1, again=(begun(0, "gone", at="load=8"), begun(2, "went"))))
    assert stream.getvalue() == "run 1/3 (load=8) again: gone\nrun 3/3 again: went\n1 of 3 runs\n"


@pytest.mark.parametrize("path", ["clients.1.count", "clients[1].count", "clients.clients.count"])
def test_a_setting_of_the_only_group_is_one_of_all(
    path: str, engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["bench", "--mode", "sim", "--clients", "5", "--set", f"{path}=9"]) == 2
    assert "--clients says clients.count, too; leave one out" in capsys.readouterr().err
    assert invoke(["bench", "--mode", "sim", "--set", f"{path}=9"]) == 0
    assert engine.scenarios[0]["clients"][0]["count"] == 9


def test_profiles_say_where_they_come_from(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["profiles", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told["lte"]) == ["down", "up", "rtt", "source", "entry", "loss"]


@pytest.mark.parametrize("arguments", ["help bench", "profiles"])
def test_output_that_nobody_reads_is_no_failed_check(arguments: str) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "waspbench", *arguments.split()]
    try:
        done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, timeout=HANGS, check=False)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_disk_without_room_for_the_output_is_said() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m waspbench profiles > /dev/full"],
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (4, "wasp: standard output: No space left on device\n")


@pytest.mark.parametrize("arguments", [["version"], ["--version"], ["--version", "bench"]])
def test_the_version_is_told_by_a_command_and_by_a_flag(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(arguments) == 0
    assert capsys.readouterr().out == f"wasp {_core.version()}\n"
    assert list(Path().iterdir()) == []


def test_without_arguments_the_command_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke([]) == 0
    assert "Usage: wasp" in capsys.readouterr().out


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_answers_until_it_is_told_to_stop(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "waspbench", "serve", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        url = server.stderr.readline().split()[1]
        with urllib.request.urlopen(f"{url}1000", timeout=HANGS) as answer:
            assert len(answer.read()) == 1000
        server.send_signal(number)
        assert server.wait(SOON) == 0
        assert server.stderr.read() == ""
