"""What others see of a live run: tcpdump and tshark on the server's side of the device, and nginx's own log."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from measuring import conclusive
from waspbench.testbed import nginx

from .harness import Capture, Run, bed_for, capture, experiment, logged, measure, needs, tshark, unfit

pytestmark = [pytest.mark.root, needs("nginx", "tcpdump", "tshark", "ethtool", "nsenter")]

SERVER = "198.18.0.1"
CLIENTS = 8
CHECKED = {"ip.check_checksum": "TRUE", "tcp.check_checksum": "TRUE"}


@dataclass(frozen=True)
class Witnessed:
    """A run, its capture, and the server's access log."""

    run: Run
    packets: Path
    log: list[str]
    captured: Capture


def witnessed(path: Path, *, loss: str | None, requests: int | None, size: str) -> Witnessed:
    """A run of eight clients at 100 ms, none of whose packets was so late that the kernel sent another for it."""
    clients = {"count": CLIENTS, "rtt": "100ms", "http": {"requests_per_connection": requests}}
    asked = experiment(
        clients=clients | ({"loss": {"model": "two-state", "rate": loss}} if loss else {}), size=size, duration="4s"
    )

    def attempt() -> Witnessed:
        with bed_for(asked, nginx(SERVER, 80, connections=CLIENTS, access_log=True)) as bed:
            with capture(bed, path) as captured:
                run = measure(bed, asked, offload=False)
            return Witnessed(run, path, logged(bed), captured)

    return conclusive(attempt, lambda seen: unfit(seen.run, seen.captured, 40_000), lambda seen: seen.run.disturbed)


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Witnessed:
    """One request a connection, no loss."""
    return witnessed(tmp_path_factory.mktemp("clean") / "packets", loss=None, requests=1, size="20KiB")


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Witnessed:
    """Four requests a connection, 3 % bursty loss each way."""
    return witnessed(tmp_path_factory.mktemp("lossy") / "packets", loss="3%", requests=4, size="20KiB")


@pytest.mark.parametrize("name", ["clean", "lossy"])
def test_no_packet_is_malformed(name: str, request: pytest.FixtureRequest) -> None:
    seen: Witnessed = request.getfixturevalue(name)
    # Put together from segments, a body would be "malformed" wherever one was sent twice.
    alone = {"tcp.desegment_tcp_streams": "FALSE"}
    malformed = "_ws.malformed || _ws.expert.group == malformed || tcp.options.unknown"
    assert tshark(seen.packets, malformed, "frame.number", "_ws.expert.message", options=alone) == []
    assert tshark(seen.packets, "!tcp", "_ws.col.Info") == []


@pytest.mark.parametrize("name", ["clean", "lossy"])
def test_no_checksum_is_bad(name: str, request: pytest.FixtureRequest) -> None:
    seen: Witnessed = request.getfixturevalue(name)
    assert tshark(seen.packets, "ip.checksum.status == Bad", "frame.number", options=CHECKED) == []
    assert tshark(seen.packets, "tcp.checksum.status == Bad", "frame.number", options=CHECKED) == []
    good = tshark(seen.packets, "tcp.checksum.status == Good", "ip.src", options=CHECKED)
    assert {packet[0] == SERVER for packet in good} == {True, False}


def test_each_connection_has_one_syn(clean: Witnessed) -> None:
    syns = Counter(
        client_of(packet[0]) for packet in tshark(clean.packets, "tcp.flags.syn == 1 && ip.dst == 198.18.0.1", "ip.src")
    )
    opened = clean.run.tables["connections"]
    # A SYN is on its way for half a round trip.
    arrived = opened.filter(pl.col("opened_ns") < (clean.run.elapsed - 0.06) * 1e9)
    for client in range(CLIENTS):
        least, most = (table.filter(pl.col("client") == client).height for table in (arrived, opened))
        assert 10 < least <= syns[client] <= most


@pytest.mark.parametrize("name", ["clean", "lossy"])
def test_the_servers_log_has_every_transaction_once(name: str, request: pytest.FixtureRequest) -> None:
    seen: Witnessed = request.getfixturevalue(name)
    transactions = seen.run.tables["transactions"]
    complete = transactions.filter(pl.col("outcome") == "ok")
    sent = transactions.filter(pl.col("sent_ns").is_not_null())
    assert complete.filter(pl.col("attempts") != 1).height == 0
    assert all('"GET /20480 HTTP/1.1" 200 20480 ' in line for line in seen.log)
    requests = Counter(client_of(line.split(" ", 1)[0]) for line in seen.log)
    for client in range(CLIENTS):
        # The server logs a response when it has written it, which may be before the client has read it.
        least, most = (table.filter(pl.col("client") == client).height for table in (complete, sent))
        assert 3 < least <= requests[client] <= most


def test_there_are_no_retransmissions_without_loss(clean: Witnessed) -> None:
    assert clean.run.summary["network"]["up"]["lost"] == clean.run.summary["network"]["down"]["lost"] == 0
    assert retransmissions(clean.packets, from_server=True) == Counter()
    assert retransmissions(clean.packets, from_server=False) == Counter()
    assert clean.run.tables["connections"]["retransmitted"].sum() == 0


def test_only_connections_that_lost_packets_have_retransmissions(lossy: Witnessed) -> None:
    connections = lossy.run.tables["connections"]
    down = dict(connections.group_by("client").agg(pl.col("down_lost").sum()).iter_rows())
    assert sum(down.values()) > 10
    again = retransmissions(lossy.packets, from_server=True)
    assert sum(again.values()) > 10
    # Every packet with data that was lost is sent again; few are without it (acknowledgments of requests, of FINs).
    assert sum(again.values()) >= 0.7 * sum(down.values())
    lost = losses(connections, ports_of(lossy.packets))
    assert min(lost.values()) == 0 < max(lost.values())
    assert [flow for flow in again if not lost[flow]] == []


def losses(connections: pl.DataFrame, ports: dict[int, list[int]]) -> dict[tuple[int, int], int]:
    """Packets that each connection lost, by client and port. One of which nothing arrived is on no wire."""
    found: dict[tuple[int, int], int] = {}
    arrived = connections.filter(pl.col("up_packets") > pl.col("up_lost")).sort("client", "connection")
    for (client,), own in arrived.group_by("client", maintain_order=True):
        counts = (own["up_lost"] + own["down_lost"]).to_list()
        # The last one's first packet may have been on its way at the end.
        assert len(counts) - len(ports[client]) in (0, 1)
        found |= dict(zip(((client, port) for port in ports[client]), counts, strict=False))
    return found


def ports_of(packets: Path) -> dict[int, list[int]]:
    """The ports of each client, in the order of its connections, which has one at a time."""
    found: dict[int, list[int]] = {}
    for source, port in tshark(packets, f"tcp && ip.dst == {SERVER}", "ip.src", "tcp.srcport"):
        ports = found.setdefault(client_of(source), [])
        if int(port) not in ports:
            ports.append(int(port))
    return found


@pytest.mark.parametrize("name", ["clean", "lossy"])
def test_the_wire_agrees_with_the_emulators_own_account(name: str, request: pytest.FixtureRequest) -> None:
    seen: Witnessed = request.getfixturevalue(name)
    account = seen.run.tables["connections"].select(pl.col("^(up|down)_.*$").sum()).row(0, named=True)
    up = len(tshark(seen.packets, f"ip.dst == {SERVER}", "frame.number"))
    down = len(tshark(seen.packets, f"ip.src == {SERVER}", "frame.number"))
    # The kernel sees what was not lost and is not under way; the emulator meets all that the kernel sends but what is
    # still in the device at the end.
    waiting = 10 * CLIENTS
    assert 0 <= account["up_packets"] - account["up_lost"] - up <= seen.run.summary["packets"]["in_flight"]
    assert 0 <= down - account["down_packets"] <= waiting
    if name == "clean":
        assert account["up_lost"] == account["down_lost"] == 0


def client_of(address: str) -> int:
    """The client's index: the first has the address after the server's."""
    return int(address.rpartition(".")[2]) - 2


def retransmissions(packets: Path, *, from_server: bool) -> Counter[tuple[int, int]]:
    """Segments with data of which every byte had been seen before, by client and its port.

    Only as long as the emulator was there: what the server sends after its last packet can only be unanswered.
    """
    fields = ("ip.src", "ip.dst", "tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.len")
    segments = tshark(packets, "tcp", *fields)
    while segments and segments[-1][0] == SERVER:
        segments.pop()
    seen: dict[tuple[str, ...], int] = {}
    again: Counter[tuple[int, int]] = Counter()
    ours = (1, 3) if from_server else (0, 2)
    for *addresses, sequence, length in segments:
        flow = tuple(addresses)
        end = int(sequence) + int(length)
        if length == "0" or (flow[0] == SERVER) != from_server:
            continue
        if flow in seen and (seen[flow] - end) & 0xFFFFFFFF < 1 << 31:  # sequence numbers wrap
            again[client_of(flow[ours[0]]), int(flow[ours[1]])] += 1
        else:
            seen[flow] = end & 0xFFFFFFFF
    return again
