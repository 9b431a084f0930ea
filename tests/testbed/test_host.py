"""Servers that run already: reached through a device in the machine's own network, of which nothing stays."""

from __future__ import annotations

import ipaddress
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measuring import conclusive, disturbance
from waiting import SOON, eventually
from waspbench import RunFailedError, run
from waspbench.results import Result
from waspbench.testbed import CannotDoIt, HostSpec, Placement, Presence, TestbedError, linux
from waspbench.testbed.host import PREFIXES, free, is_local, routed, server_processes
from waspbench.testbed.presence import present

ROUTES = """\
Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	FE01A8C0	0003	0	0	0	00000000	0	0	0
eth0	0001A8C0	00000000	0001	0	0	0	00FFFFFF	0	0	0
wasp0	000012C6	00000000	0001	0	0	0	0080FFFF	0	0	0
"""


@pytest.mark.skipif(sys.byteorder == "big", reason="needs a little-endian kernel")
def test_routes_are_read_without_the_default() -> None:
    assert [str(network) for network in routed(ROUTES)] == ["192.168.1.0/24", "198.18.0.0/17"]
    assert [str(network) for network in free(PREFIXES, routed(ROUTES))] == list(PREFIXES[1:])


@given(st.text())
def test_no_text_upsets_the_parsers(text: str) -> None:
    routed(text)
    present(text)


@pytest.mark.parametrize(
    ("taken", "left"),
    [
        ("198.18.0.0/15", ()),
        ("198.18.0.0/16", PREFIXES[2:]),
        ("198.19.255.0/24", PREFIXES[:3]),
        ("10.0.0.0/8", PREFIXES),
    ],
)
def test_a_prefix_is_free_if_it_overlaps_nothing(taken: str, left: Sequence[str]) -> None:
    assert [str(prefix) for prefix in free(PREFIXES, [ipaddress.IPv4Network(taken)])] == list(left)


def test_addresses_of_this_machine_are_told_from_others() -> None:
    assert is_local("127.0.0.1")
    assert is_local("127.1.2.3")
    assert not is_local("192.0.2.1")


def test_two_runs_know_of_each_other_whichever_began_first() -> None:
    with Presence() as one:
        with Presence() as other:
            assert other.met()
        assert one.met()
        assert one.met()
    names = [line.split()[-1] for line in Path("/proc/net/unix").read_text().splitlines()]
    assert not [name for name in names if name.startswith(f"@wasp-live-{os.getpid()}-")]


def test_nothing_listening_is_told() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        with pytest.raises(TestbedError, match="nothing listens on"):
            server_processes("127.0.0.1", unused.getsockname()[1])


def test_without_privilege_it_is_said_what_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, queues: int) -> tuple[list[int], str]:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(linux, "open_tun", refuse)
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(CannotDoIt, match="needs root"):
        HostSpec("127.0.0.1", server.getsockname()[1]).start()


class Greeter:
    """A server that tells who asks for what; one request a connection."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self.socket.getsockname()[1]
        self.heads: list[bytes] = []
        self.peers: set[str] = set()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, peer = self.socket.accept()
            except OSError:
                return
            with connection:
                self.heads.append(connection.recv(4096))
                self.peers.add(peer[0])
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")


@pytest.fixture
def greeter() -> Iterator[Greeter]:
    server = Greeter()
    yield server
    # Closing alone does not wake a thread that waits in accept().
    with suppress(OSError):
        server.socket.shutdown(socket.SHUT_RDWR)
    server.socket.close()


def machine_state() -> dict[str, object]:
    """What a device in the machine's own network could leave behind."""
    settings = {
        str(file): file.read_text()
        for file in Path("/proc/sys/net/ipv4").rglob("*")
        if "/conf/" not in str(file) and "/neigh/" not in str(file) and file.is_file() and os.access(file, os.R_OK)
    }
    return {
        "devices": [name for name in sorted(os.listdir("/sys/class/net")) if not name.startswith("wasp")],
        "routes": [line for line in Path("/proc/net/route").read_text().splitlines() if not line.startswith("wasp")],
        "settings": settings,
        "affinity": os.sched_getaffinity(0),
    }


def experiment(port: int, path: str = "/a?b=1", **fields: object) -> dict[str, object]:
    return {
        "name": "x",
        "server": {"kind": "url", "url": f"http://localhost:{port}{path}"},
        "clients": [{"count": 4, "rtt": "20ms", "http": {"requests_per_connection": 1}}],
        "measure": {"warmup": "200ms", "duration": "1s", "runs": 1},
    } | fields


@pytest.mark.root
def test_a_server_on_loopback_answers_clients_from_far_away(greeter: Greeter) -> None:
    before = machine_state()

    def attempt() -> Result:
        return run(experiment(greeter.port), mode="live")

    def slow(result: Result) -> str | None:
        return None if result.outcomes["ok"] > 50 else f"{result.outcomes['ok']} responses"

    result = conclusive(attempt, slow, lambda each: disturbance(each.invalid_reasons))
    assert eventually(lambda: machine_state() == before, SOON), (before, machine_state())
    assert set(greeter.heads) == {greeter.heads[0]}
    assert greeter.heads[0].startswith(b"GET /a?b=1 HTTP/1.1\r\nHost: localhost:%d\r\n" % greeter.port)
    assert len(greeter.peers) == 4
    assert all(ipaddress.ip_address(peer) in ipaddress.ip_network("198.18.0.0/15") for peer in greeter.peers)
    assert result.response_time_ms.p50 is not None
    assert result.response_time_ms.p50 >= 40  # the handshake and the request: two round trips
    cpu = result.server_cpu.busy
    assert cpu is not None
    assert 0 < cpu <= 1
    assert result.server["port"] == greeter.port


@pytest.mark.root
def test_a_run_right_after_another_meets_no_connection_of_it(greeter: Greeter) -> None:
    # The server closes first, so that its kernel keeps every connection in TIME-WAIT; the same seed means the same
    # ports.
    def slow(result: Result) -> str | None:
        p90 = result.response_time_ms.p90
        # A SYN that is not taken is sent again after a second.
        return None if p90 is not None and p90 < 500 else f"p90 {p90} ms"

    document = experiment(greeter.port, measure={"warmup": "200ms", "duration": "2s", "runs": 1})
    run(document, mode="live")
    conclusive(lambda: run(document, mode="live"), slow, lambda each: disturbance(each.invalid_reasons))


@pytest.mark.root
def test_no_connection_leaves_metrics_for_the_next(greeter: Greeter) -> None:
    run(experiment(greeter.port, clients=[{"count": 4, "rtt": "20ms", "loss": "10%"}]), mode="live")
    shown = subprocess.run(["ip", "tcp_metrics", "show"], capture_output=True, text=True, check=True).stdout
    ours = [line for line in shown.splitlines() if line.split()[0] in greeter.peers and "source 127.0.0.1" in line]
    # A congestion window is noted all the same, and means nothing to the kernel where it is not locked.
    assert ours, shown
    assert not [line for line in ours if "rtt" in line or "ssthresh" in line or "reordering" in line]


@pytest.mark.root
def test_as_many_at_once_as_there_are_prefixes(greeter: Greeter) -> None:
    spec = HostSpec("127.0.0.1", greeter.port, placement=Placement((0,), (0,)))
    with ExitStack() as stack:
        taken = routed(Path("/proc/net/route").read_text())
        beds = [stack.enter_context(spec.start()) for _ in free(PREFIXES, taken)]
        assert len({bed.prefix for bed in beds}) == len(beds) > 0
        assert beds[0].server_pids() == [os.getpid()]
        with pytest.raises(CannotDoIt, match="every prefix for the clients"):
            spec.start()


@pytest.mark.root
def test_a_prefix_of_ones_own_is_routed_once_and_from_the_address_of_the_server(greeter: Greeter) -> None:
    spec = HostSpec("127.0.0.1", greeter.port, placement=Placement((0,), (0,)), prefixes=("10.251.0.0/16",))
    with spec.start() as bed:
        assert bed.prefix == "10.251.0.0/16"
        shown = subprocess.run(["ip", "route", "show", bed.prefix], capture_output=True, text=True, check=True).stdout
        assert " src 127.0.0.1 " in shown
        with pytest.raises(CannotDoIt, match=r"^network\.prefix: 10\.251\.0\.0/16: addresses of it are routed"):
            spec.start()


@pytest.mark.root
def test_a_server_that_went_is_a_reason_not_to_trust_the_run(greeter: Greeter) -> None:
    with HostSpec("127.0.0.1", greeter.port).start() as bed:
        assert bed.remark() is None
        greeter.socket.shutdown(socket.SHUT_RDWR)
        assert "nothing listens" in str(bed.remark())


@pytest.mark.root
def test_nothing_listening_fails_the_run() -> None:
    with pytest.raises(RunFailedError, match="nothing listens on"):
        run(experiment(9), mode="live")
