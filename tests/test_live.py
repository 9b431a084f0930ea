"""What a live run asks of the testbed."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from measured_runs import summary
from suite import ROOT
from waspbench import CannotRunError, InputError, _core, live, start
from waspbench.experiment import Experiment, Mode, parse, settings_used
from waspbench.experiment.resolve import resolve
from waspbench.results import Invalid
from waspbench.runner.study import prepare
from waspbench.serve import read_content
from waspbench.testbed import Bed, HostSpec, Launch, Placement, Support, command


def experiment(**server: object) -> Experiment:
    return parse({"name": "x", "server": server, "clients": [{"count": 8}, {"name": "b", "count": 4, "mtu": 9000}]})


PLACEMENT = Placement((0,), (0,))


def test_the_testbed_is_sized_to_all_clients() -> None:
    spec = live.managed(experiment(), PLACEMENT)
    assert (spec.clients, spec.mtu, spec.server.name) == (12, 9000, "builtin")


@pytest.mark.parametrize(
    ("network", "mtu"),
    [
        ({"shared": {"mtu": 1400}}, 1400),
        ({"shared": {"down": {"mtu": 600}}}, 600),
        ({"shared": {"up": {"mtu": 600}}}, 9000),
        ({"kind": "backbone", "subnetworks": 2, "link": {"mtu": 600}}, 9000),
    ],
)
def test_the_device_carries_what_the_shared_link_does(network: dict[str, object], mtu: int) -> None:
    at = {"at": "r2"} if "kind" in network else {}
    document = {"name": "x", "network": network, "clients": [{"name": "b", "mtu": 9000, **at}]}
    assert live.managed(parse(document), PLACEMENT).mtu == mtu


@pytest.mark.parametrize("cpus", [(0,), (0, 1), (0, 1, 2)])
def test_nginx_has_a_worker_for_each_of_its_cpus(cpus: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("waspbench.testbed.servers.find_program", lambda name: f"/nowhere/{name}")
    monkeypatch.setattr(
        "waspbench.testbed.servers.ask", lambda program, flag, parse: parse("nginx version: nginx/1.22.1")
    )
    server = live.managed(experiment(kind="nginx"), Placement(cpus, (0,))).server
    text = server.private_files["nginx.conf"]
    assert f"worker_processes {len(cpus)};" in text
    assert ("reuseport" in text) is (len(cpus) > 1)


def test_an_unknown_kernel_setting_is_an_input_error() -> None:
    with pytest.raises(InputError, match=r"^server\.sysctl: this kernel has no setting 'net\.ipv4\.tcp_magic'"):
        live.managed(experiment(sysctl={"net.ipv4.tcp_magic": 1}), PLACEMENT)


def test_a_list_that_is_none_names_its_argument() -> None:
    with pytest.raises(InputError, match=r"^server_cpus: 'x' is not a list of CPUs: "):
        live.choose_cpus("x", None)


@pytest.mark.parametrize(
    ("asked", "own", "able", "mode", "why"),
    [
        (None, None, True, "live", "this machine can"),
        (None, None, False, "sim", "this machine cannot do live: no device"),
        (None, "live", True, "live", "as asked"),
        ("live", "sim", True, "live", "as asked"),
        ("sim", "live", False, "sim", "as asked"),
        (None, "sim", True, "sim", "as asked"),
    ],
)
def test_the_mode_is_what_is_asked_for_or_else_live_where_it_can_be(
    monkeypatch: pytest.MonkeyPatch, asked: Mode | None, own: str | None, able: bool, mode: str, why: str
) -> None:
    monkeypatch.setattr(live, "live_support", lambda: Support(able, "" if able else "no device"))
    described = parse({"name": "x", "clients": [{}]} | ({"mode": own} if own else {}))
    assert live.choose_mode(asked, described) == (mode, why)


def test_live_that_cannot_be_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "live_support", lambda: Support(False, "no device"))
    with pytest.raises(CannotRunError, match=r"^mode: this machine cannot do live: no device"):
        live.choose_mode("live", experiment())


@pytest.mark.parametrize("shared", [{"up": {"rate": "10Mbit/s"}}, {"down": {"loss": "1%"}}])
def test_what_all_clients_share_keeps_the_emulator_on_one_thread(shared: dict[str, dict[str, str]]) -> None:
    made = parse({"name": "x", "clients": [{}], "network": {"shared": shared}})
    assert live.spec(made, PLACEMENT).placement == PLACEMENT
    with pytest.raises(InputError, match=r"^emulator_cpus: .*one CPU would be valid"):
        live.spec(made, Placement((0,), (0, 1)))


GRAPH: dict[str, Any] = {
    "kind": "graph",
    "nodes": {"edge": {}, "core": {}},
    "links": {"wan": {"from": "edge", "to": "core", "delay": "1ms"}},
}


def addressed(**nodes: Any) -> Experiment:
    """Two groups at one node, with such options of the nodes."""
    groups = [{"name": name, "at": "edge", "count": 4} for name in ("a", "b")]
    network = GRAPH | {"nodes": GRAPH["nodes"] | nodes}
    return parse({"name": "x", "server": {"at": "core"}, "clients": groups, "network": network})


def test_clients_whose_addresses_have_gaps_keep_the_emulator_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "may_steer", lambda: True)
    both = Placement((0,), (0, 1))
    for nodes in ({}, {"edge": {"subnet": "198.18.4.0/24"}}, {"core": {"address": "198.18.9.9"}}):
        assert live.spec(addressed(**nodes), both).placement == both
    between = addressed(core={"address": "198.18.0.7"})
    assert live.spec(between, PLACEMENT).placement == PLACEMENT
    with pytest.raises(InputError, match=r'^emulator_cpus: "0-1": .* groups do not follow each other.*one CPU'):
        live.spec(between, both)


def test_the_testbed_has_the_addresses_that_the_file_names() -> None:
    made = parse({"name": "x", "clients": [{}], "network": {"prefix": "10.9.0.0/16"}})
    spec = live.managed(made, PLACEMENT)
    assert (spec.prefix, spec.address) == ("10.9.0.0/16", "10.9.0.1")
    assert spec.server.argv[-2:] == ("10.9.0.1", "80")


def before_a_url(**network: Any) -> HostSpec:
    made = parse(
        {
            "name": "x",
            "server": {"kind": "url", "url": "http://127.0.0.1:80/"},
            "clients": [{"count": 4}],
            "network": network,
        }
    )
    spec = live.spec(made, Placement((0,), (0,)))
    assert isinstance(spec, HostSpec)
    return spec


def test_a_server_that_runs_already_has_private_addresses_before_it() -> None:
    assert len(before_a_url().prefixes) == 4
    assert before_a_url(prefix="10.9.0.0/16").prefixes == ("10.9.0.0/16",)
    assert before_a_url(prefix="198.18.64.0/20").prefixes == ("198.18.64.0/20",)
    for prefix in ("11.0.0.0/16", "172.32.0.0/12", "192.0.0.0/8", "8.8.8.0/24"):
        with pytest.raises(InputError, match=rf'^network\.prefix: "{prefix}": a server that runs already is reached'):
            before_a_url(prefix=prefix)


def test_several_threads_need_the_right_to_steer_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "may_steer", lambda: False)
    assert live.spec(experiment(), PLACEMENT).placement == PLACEMENT
    with pytest.raises(CannotRunError, match=r"^emulator_cpus: '0-1': .*CAP_BPF.*one CPU would be valid"):
        live.spec(experiment(), Placement((0,), (0, 1)))


def test_the_built_in_server_is_a_command_that_finds_this_package() -> None:
    launch = live.managed(experiment(), PLACEMENT).server
    assert launch.argv[1:] == ("-P", "-m", "waspbench.serve", "198.18.0.1", "80")
    path = launch.environment.get("PYTHONPATH")
    assert path is None or (Path(path) / "waspbench" / "serve.py").exists()
    # What results say of it is true on other machines too.
    described = launch.describe()
    assert described["argv"] == ["wasp", "serve", "--address", "198.18.0.1", "--port", "80"]
    assert described["environment"] == {}


def test_the_built_in_server_is_told_the_files_that_their_names_do_not_tell() -> None:
    document = {"name": "x", "clients": [{}], "workload": {"files": [{"size": "1KiB"}, {"size": "2KiB", "path": "/a"}]}}
    made = live.managed(parse(document), PLACEMENT)
    assert made.server.argv[-1] == "/dev/shm/content"
    assert read_content(made.server.private_files["content"]) == ({"/a": 2048}, [])
    assert list(made.files) == []


def test_the_built_in_server_has_no_directory() -> None:
    document = {"name": "x", "clients": [{}], "workload": {"kind": "surge", "directory": "somewhere"}}
    with pytest.raises(InputError, match=r'^workload\.directory: "somewhere": the built-in server makes its files up'):
        live.managed(parse(document), PLACEMENT)


def test_a_command_is_told_where_to_listen_and_what_to_serve() -> None:
    made = experiment(kind="command", command="python3 -m http.server {port} -d {root}", stop="kill {pid}")
    launch = live.managed(made, PLACEMENT).server
    assert launch.argv[1:] == ("-m", "http.server", "80", "-d", "/dev/shm/www")
    assert (launch.name, launch.stop[1:]) == ("python3", ("{pid}",))


def test_clients_ask_a_command_for_its_path_and_every_other_server_for_a_file() -> None:
    made = experiment(kind="command", command="true", path="/index.php?a=1")
    assert resolve(made, mode="live")["workload"]["path"] == "/index.php?a=1"
    assert resolve(made, mode="sim")["workload"]["path"] == "/1024"
    for path in ("/", "/index.php?a=1", f"/{'x' * 8000}"):
        asked = experiment(kind="command", command="true", path=path)
        assert list(live.managed(asked, PLACEMENT).files) == [("/1024", 1024)]
    assert resolve(experiment(), mode="live")["workload"]["path"] == "/1024"


def test_the_manifest_lists_the_fields_of_the_servers_kind() -> None:
    made = experiment(kind="command", command="true", path="/x").server
    assert settings_used("live", made)["used"] == ["kind", "command", "path", "congestion", "sysctl", "ready_timeout"]
    assert "command" in settings_used("sim", made)["unused"]


@pytest.mark.parametrize("kind", ["nginx", "apache"])
def test_a_server_logs_where_it_is_asked_to(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = inspect.signature(getattr(live, kind))

    def server(*where: Any, **asked: Any) -> Launch:
        real.bind(*where, **asked)
        return command([sys.executable], name=str(asked["access_log"]))

    monkeypatch.setattr(live, kind, server)
    assert live.managed(experiment(kind=kind, access_log=True), PLACEMENT).server.name == "True"
    assert live.managed(experiment(kind=kind), PLACEMENT).server.name == "False"


def test_the_manifest_lists_an_access_log_where_there_is_one() -> None:
    assert "access_log" in settings_used("live", experiment(kind="nginx", access_log=True).server)["used"]
    assert "access_log" not in settings_used("live", experiment(kind="builtin", access_log=False).server)["used"]


LOGGED: dict[str, Any] = {"name": "x", "server": {"kind": "nginx", "access_log": True}, "clients": [{}]}


def test_a_simulated_server_logs_nothing(tmp_path: Path) -> None:
    refused = r"^server\.access_log: true: is for live mode, and this is a simulation"
    with pytest.raises(InputError, match=refused):
        start(LOGGED, mode="sim", output=tmp_path / "out")
    document = LOGGED | {"server": {"kind": "nginx"}, "sweep": {"server.access_log": [False, True]}}
    with pytest.raises(InputError, match=refused):
        prepare(document, tmp_path / "out", mode="sim")


def test_a_url_of_another_machine_is_refused_with_the_reason() -> None:
    there = experiment(kind="url", url="http://192.0.2.1/")
    with pytest.raises(InputError, match=r"^server\.url: .*192\.0\.2\.1 is not an address of this machine"):
        live.spec(there, PLACEMENT)


def test_a_server_that_runs_already_is_not_moved() -> None:
    here = experiment(kind="url", url="http://127.0.0.1:8080/")
    with pytest.raises(InputError, match=r"^server_cpus: a server that runs already stays on its CPUs"):
        live.spec(here, live.choose_cpus("0", None))
    spec = live.spec(here, PLACEMENT)
    assert isinstance(spec, HostSpec)
    assert (spec.address, spec.port, spec.clients, spec.mtu) == ("127.0.0.1", 8080, 12, 9000)


def test_a_url_says_where_to_connect_whom_to_name_and_what_to_ask_for() -> None:
    scenario = resolve(experiment(kind="url", url="http://localhost:8080/a?b"), mode="live")
    assert scenario["server"] == {"address": "127.0.0.1", "port": 8080, "host": "localhost:8080", "congestion": "cubic"}
    assert scenario["workload"]["path"] == "/a?b"
    assert resolve(experiment(kind="url", url="http://localhost:8080/a?b"), mode="sim")["workload"]["path"] == "/1024"


@pytest.mark.parametrize(("profile", "codes"), [("release", ["steal"]), ("ci", ["steal", "profile"])])
def test_an_engine_that_is_built_for_tests_does_not_measure(
    profile: str, codes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_core, "profile", lambda: profile)
    bed = SimpleNamespace(remark=lambda: None)
    made = summary(100.0).model_copy(update={"invalid": [Invalid(code="steal", message="x")]})
    reasons = live.accounted(made, cast(Bed, bed)).invalid
    assert [reason.code for reason in reasons] == codes
    assert "profile ci" in reasons[-1].message or profile == "release"


PRETEND = "from waspbench import _core\n_core.profile = lambda: 'PROFILE'\n"


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize(("profile", "status"), [("release", 0), ("ci", 4)])
def test_tests_that_measure_are_refused_with_an_engine_that_is_built_for_tests(
    profile: str, status: int, workers: str, tmp_path: Path
) -> None:
    (tmp_path / "pretend.py").write_text(PRETEND.replace("PROFILE", profile))
    path = os.environ | {"PYTHONPATH": str(tmp_path)}
    words = [sys.executable, "-m", "pytest", "-p", "pretend", "-n", workers, "--only-full", "--collect-only", "-q"]
    done = subprocess.run(
        [*words, "tests/testbed/test_busiest_thread.py"],
        cwd=ROOT,
        env=path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert ("the engine is of profile ci" in done.stderr) is (profile == "ci")
