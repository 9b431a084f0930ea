"""Every mistake on the command line is one line on standard error, with the exit status of its kind."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from fake_core import FakeEngine
from waspbench import live
from waspbench.cli.app import invoke
from waspbench.testbed import CannotDoIt, Support

DURATIONS = "expected a duration such as 100ms, 1.5s or 2min (units: ns, us, ms, s, min, h)"

BAD_USAGE = [
    ("bench --clients 0", "--clients: 0: must be at least 1"),
    ("bench --clients -1", "--clients: -1: must be at least 1"),
    ("bench --clients abc", '--clients: "abc": must be a whole number'),
    ("bench --rtt 100", '--rtt: 100: must be text with a unit, such as "100ms"'),
    ("bench --rtt 100m", f'--rtt: "100m": unknown or missing unit; {DURATIONS}'),
    ("bench --rtt=-5ms", f'--rtt: "-5ms": {DURATIONS}'),
    ("bench --loss 100%", '--loss: "100%": must be below 60.61%, which is 1/(1+r) at r = 65%'),
    ("bench --loss-up 70%", '--loss-up: "70%": must be below 60.61%, which is 1/(1+r) at r = 65%'),
    (
        "bench --loss 3 --loss-up 1%",
        "--loss: 3: out of range; expected a probability from 0% to 100% such as 3%, 0.1% or 0.03",
    ),
    ("bench --loss 100% --loss-model independent", '--loss: "100%": must be below 100%'),
    (
        "bench --loss 3% --loss-model bursty",
        '--loss-model: "bursty": did you mean two-state? must be one of two-state, independent, periodic, wasp2001',
    ),
    ("bench --loss 4% --loss-model wasp2001", '--loss: "4%": must be 3%, 6% or 9%, the labels of the wasp2001 table'),
    ("bench --loss 3% --loss-model independent --burst 9%", "--burst: only two-state loss has it"),
    ("bench --loss-down 3% --burst 100%", '--burst: "100%": must be below 100%, or a burst never ends'),
    ("bench --burst 35%", '--burst: "35%": has no effect without --loss, --loss-up or --loss-down'),
    (
        "bench --loss-model independent",
        '--loss-model: "independent": has no effect without --loss, --loss-up or --loss-down',
    ),
    (
        "bench --down 10Mbps",
        '--down: "10Mbps": unknown or missing unit; '
        "expected a rate above zero such as 10Mbit/s or 56kbit/s (units: bit/s, kbit/s, Mbit/s, Gbit/s)",
    ),
    ("bench --queue 0B", '--queue: "0B": must be above zero, such as "64KiB"'),
    ("bench --file-size 0B", '--file-size: "0B": must be above zero, such as "64KiB"'),
    ("bench --mss 0", "--mss: 0: must be at least 1"),
    ("bench --tcp plan9", '--tcp: "plan9": must be linux or bsd1999'),
    ("bench --requests-per-connection 0", "--requests-per-connection: 0: must be at least 1"),
    ("bench --runs 0", "--runs: 0: must be at least 1"),
    ("bench --seed -1", "--seed: -1: must be at least 0"),
    ("bench --duration 0s", '--duration: "0s": must be above zero, such as "10s"'),
    ("bench --timeout 0s", '--timeout: "0s": must be above zero, such as "10s"'),
    ("bench --warmup 5", '--warmup: 5: must be text with a unit, such as "100ms"'),
    ("bench --server iis", '--server: "iis": must be one of builtin, nginx, apache, command, url'),
    ("bench --server command", '--command: missing; kind = "command" needs a start line'),
    ("bench --server nginx --path /x", '--path: "/x": is for kind = "command", and this is "nginx"'),
    ("bench --mode shim", '--mode: "shim": comes in a later version; valid now: live, sim'),
    (
        "bench https://localhost/",
        'URL: "https://localhost/": https:// comes in a later version; http:// is valid now',
    ),
    (
        "bench --server nginx http://localhost:8080/x",
        'URL: "http://localhost:8080/x": is for kind = "url", and this is "nginx"',
    ),
    ("bench nginx", 'URL: "nginx": must be a URL, such as http://127.0.0.1:8080/index.html'),
    ("bench --server url", 'URL: missing; kind = "url" needs one, such as http://127.0.0.1:8080/'),
    (
        "bench http://localhost/ --mode sim",
        'URL: "http://localhost/": is for the server of a live run, in whose place a simulation has a modelled one',
    ),
    ("bench --mode sim --server-cpus 0", '--server-cpus: "0": only a live run places anything on CPUs'),
    ("bench --mode sim -o .", '--output: ".": exists already; name a new directory'),
    ("bench --xyzzy", "Unknown option: --xyzzy (wasp bench --help lists what is valid)"),
    ("bench --rrt 5ms", "Unknown option: --rrt. Did you mean --rtt? (wasp bench --help lists what is valid)"),
    ("bench --clients", "--clients requires an argument (wasp bench --help lists what is valid)"),
    ("nonsense", 'Unknown command "nonsense" (wasp --help lists what is valid)'),
    (
        "run good.toml --rtt 5ms",
        "Unknown option: --rtt. Here it is --set clients.rtt=VALUE (wasp run --help lists what is valid)",
    ),
    (
        "run good.toml -c 5",
        "Unknown option: -c. Here it is --set clients.count=VALUE (wasp run --help lists what is valid)",
    ),
    (
        "run good.toml --burst 5%",
        "Unknown option: --burst. Here it is --set clients.loss.burst=VALUE (wasp run --help lists what is valid)",
    ),
    ("bench --slo x", "Unknown option: --slo. It is a flag of wasp capacity (wasp bench --help lists what is valid)"),
    (
        "list --quiet",
        "Unknown option: --quiet. It is a flag of wasp bench and others (wasp list --help lists what is valid)",
    ),
    ("hlep", 'Unknown command "hlep". Did you mean help? (wasp --help lists what is valid)'),
    (
        "run good.toml --set runs=5",
        "runs: unknown field; did you mean measure.runs? valid here: name, seed, mode, server, workload, network, clients, measure, sweep, assert, capacity",
    ),
    (
        "run good.toml --set users=5",
        "users: unknown field; did you mean clients.count? valid here: name, seed, mode, server, workload, network, clients, measure, sweep, assert, capacity",
    ),
    ("bnech", 'Unknown command "bnech". Did you mean bench? (wasp --help lists what is valid)'),
    ("run", "FILE.toml requires an argument (wasp run --help lists what is valid)"),
    ("run no.toml", "no.toml: cannot be read: No such file or directory"),
    ("run .", ".: cannot be read: Is a directory"),
    ("run bad.toml", "bad.toml: not valid TOML: Invalid value (at line 1, column 8)"),
    ("run good.toml --set clients.rtt", '--set: "clients.rtt": must be path=value, such as clients.rtt=50ms'),
    ("run good.toml --set clients.homes.rtt=9", 'clients.homes.rtt: 9: must be text with a unit, such as "100ms"'),
    (
        "run good.toml --set sweep.rtt=1",
        "sweep.rtt: 1: must be a list of values, or a range { from, to, times } or { from, to, step }",
    ),
    ("run good.toml --assert p99", '--assert: "p99": must be <, <=, > or >= and a limit, such as "< 800ms"'),
    ("resume .", "study.json: cannot be read: No such file or directory"),
    ("run good.toml --mode real", 'mode: "real": did you mean live? must be live or sim'),
    ("serve --address localhost", '--address: "localhost": expected an IP address such as 127.0.0.1'),
]


@pytest.fixture
def files(here: Path) -> Path:
    (here / "bad.toml").write_text("name = \n")
    (here / "good.toml").write_text('name = "good"\n[[clients]]\nname = "homes"\n')
    return here


@pytest.mark.parametrize(("arguments", "message"), BAD_USAGE, ids=[arguments for arguments, _ in BAD_USAGE])
def test_bad_usage(
    arguments: str, message: str, engine: FakeEngine, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(arguments.split()) == 2
    output = capsys.readouterr()
    lines = [line for line in output.err.splitlines() if not line.startswith("sim: ")]
    assert (lines, output.out) == ([f"wasp: {message}"], "")
    assert engine.scenarios == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "--trace-up no",
            "--trace-up: no: cannot be read: No such file or directory; the path of a rate trace would be valid",
        ),
        (
            "--trace-down text",
            '--trace-down: text: is no rate trace: line 2: "x"; must be a whole number of milliseconds such as 17',
        ),
        ("--trace-up lte --up 9kbit/s", "--trace-up: stands in the place of bandwidth.up; leave one out"),
    ],
)
def test_what_is_wrong_with_a_trace_names_the_flag(
    arguments: str, message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lte").write_text("1\n")
    (tmp_path / "text").write_text("1\nx\n")
    assert invoke(["bench", *arguments.split()]) == 2
    assert capsys.readouterr().err == f"wasp: {message}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "--queue 64KiB",
            "--queue: a queue never fills without a rate; set bandwidth.up or trace.up, too, or leave out the queue",
        ),
        ("--mss 1461", "--mss: 1461; must be at most 1460, the MTU less 40"),
        ("--clients 40000", "--clients: 40000: must be at most 32765"),
        ("--warmup 1000h", "--warmup: 3600000s; must be at most 24h"),
    ],
)
def test_what_the_engine_refuses_names_the_flag(
    arguments: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["bench", *arguments.split()]) == 2
    assert capsys.readouterr().err == f"wasp: {message}\n"


def test_two_mistakes_are_two_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["bench", "--clients", "0", "--runs", "0"]) == 2
    said = ["wasp: --clients: 0: must be at least 1", "wasp: --runs: 0: must be at least 1"]
    assert capsys.readouterr().err.splitlines() == said


def test_live_on_a_machine_that_cannot(
    monkeypatch: pytest.MonkeyPatch, engine: FakeEngine, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(live, "live_support", lambda: Support(False, "/dev/net/tun: Permission denied"))
    assert invoke(["bench", "--mode", "live"]) == 3
    expected = "wasp: --mode: this machine cannot do live: /dev/net/tun: Permission denied (wasp doctor says more)\n"
    assert capsys.readouterr().err == expected


def test_a_server_that_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, engine: FakeEngine, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(*_: object, **__: object) -> None:
        raise CannotDoIt("server: nginx is not installed")

    monkeypatch.setattr(live, "live_support", lambda: Support(True))
    monkeypatch.setattr(live, "nginx", missing)
    assert invoke(["bench", "--mode", "live", "--server", "nginx"]) == 3
    assert capsys.readouterr().err.splitlines()[-1] == "wasp: server: nginx is not installed"


def test_an_address_that_cannot_be_listened_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["serve", "--address", "203.0.113.1", "--port", "8080"]) == 3
    said = capsys.readouterr().err
    assert said.startswith(f"wasp: cannot listen on 203.0.113.1:8080: {os.strerror(errno.EADDRNOTAVAIL)}"), said


def test_a_run_that_fails(engine: FakeEngine, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine.fail_in = 0
    assert invoke(["bench", "--mode", "sim", "--runs", "1"]) == 4
    assert capsys.readouterr().err.splitlines()[-1] == "wasp: the packet device failed: gone"
