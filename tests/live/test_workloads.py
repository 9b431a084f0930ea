"""nginx's log and tshark on realistic work: popularity, sizes, order, connections, pipelining, slow readers."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from measuring import conclusive
from waspbench.experiment import Experiment, parse
from waspbench.experiment.uses import uses
from waspbench.testbed import nginx
from waspbench.workload import generate
from waspbench.workload.serving import build, files_of

from .harness import Capture, Run, bed_for, capture, logged, measure, needs, tshark, unfit

pytestmark = [pytest.mark.root, needs("nginx", "tcpdump", "tshark", "ethtool", "nsenter")]

SERVER = "198.18.0.1"
FORMAT = "'$remote_addr $connection $connection_requests $status $body_bytes_sent $request'"
SMALL = {"kind": "surge", "files": 30, "active_off": "0s", "sizes": {"mu": 7.0, "sigma": 1.0, "cap": "40000B"}}


@dataclass(frozen=True)
class Line:
    """A request as the server's log has it."""

    client: int
    connection: int
    ordinal: int
    status: int
    bytes: int
    target: str
    version: str


@dataclass(frozen=True)
class Witnessed:
    """A run, what the server logged of it, and its packets."""

    asked: Experiment
    run: Run
    log: list[Line]
    packets: Path
    captured: Capture

    def of(self, client: int) -> list[Line]:
        """A client's requests in the order of the log."""
        return [line for line in self.log if line.client == client]


def client_of(address: str) -> int:
    """The client's index: the first has the address after the server's."""
    return int(address.rpartition(".")[2]) - 2


def line_of(text: str) -> Line:
    address, connection, ordinal, status, sent, _, target, version = text.split(" ")
    return Line(client_of(address), int(connection), int(ordinal), int(status), int(sent), target, version)


def witnessed(
    path: Path, workload: dict[str, Any] | None, clients: list[dict[str, Any]], duration: str, most_us: float = 40_000
) -> Witnessed:
    """A run before nginx, none of whose packets was later than so many microseconds. After 40 ms the kernel would have
    sent another in its place.
    """
    asked = parse(
        {
            "name": "live-workload",
            "server": {"kind": "nginx"},
            **({} if workload is None else {"workload": workload}),
            "clients": clients,
            "measure": {"warmup": "200ms", "duration": duration, "runs": 1},
        }
    )
    connections = sum(group.count * group.http.connections for group in asked.clients)
    server = nginx(SERVER, 80, connections=connections, access_log=True)
    text = server.private_files["nginx.conf"].replace("access.log;", "access.log seen;")
    text = text.replace("http {", f"http {{\n    log_format seen {FORMAT};", 1)

    def attempt() -> Witnessed:
        with bed_for(asked, replace(server, private_files={"nginx.conf": text})) as bed:
            with capture(bed, path) as captured:
                run = measure(bed, asked, offload=False)
            return Witnessed(asked, run, [line_of(line) for line in logged(bed)], path, captured)

    return conclusive(attempt, lambda seen: unfit(seen.run, seen.captured, most_us), lambda seen: seen.run.disturbed)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Witnessed:
    """Four clients ask for the files of a small SURGE set, one by one, in HTTP/1.0, five on each connection."""
    workload = {name: value for name, value in SMALL.items() if name != "active_off"}
    workload |= {"embedded": {"model": "none"}, "requests": 120}
    http = {"version": "1.0", "requests_per_connection": 5}
    clients = [{"count": 4, "rtt": "4ms", "think": "0s", "http": http}]
    return witnessed(tmp_path_factory.mktemp("files") / "packets", workload, clients, "3s")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Witnessed:
    """Three clients ask for pages with six embedded files each, over three connections. Less than a round trip of
    lateness leaves what is sent at once before what is sent for an answer.
    """
    workload = SMALL | {"embedded": {"model": "constant", "value": 6}}
    clients = [{"count": 3, "rtt": "20ms", "think": "50ms", "http": {"connections": 3}}]
    return witnessed(tmp_path_factory.mktemp("pages") / "packets", workload, clients, "3s", most_us=15_000)


def test_a_directory_is_served_as_it_is(tmp_path: Path) -> None:
    options = {name: value for name, value in SMALL.items() if name not in ("kind", "active_off")}
    generate(tmp_path / "set", "surge", options, 7)
    workload = SMALL | {"seed": 7, "directory": str(tmp_path / "set")}
    seen = witnessed(tmp_path / "packets", workload, [{"count": 2, "rtt": "4ms", "think": "0s"}], "1s")
    sizes = dict(files_of(seen.asked, 0))
    assert len(seen.log) > 50
    assert {(line.status, line.bytes == sizes[line.target]) for line in seen.log} == {(200, True)}


def test_the_files_of_several_workloads_are_served_side_by_side(tmp_path: Path) -> None:
    options = {name: value for name, value in SMALL.items() if name not in ("kind", "active_off")}
    generate(tmp_path / "set", "surge", options, 7)
    log = tmp_path / "urls"
    log.write_text("/a/b.html 0 700\n/c 0 90\n")
    groups: dict[str, dict[str, Any]] = {
        "directory": SMALL | {"seed": 7, "directory": str(tmp_path / "set")},
        "made": SMALL,
        "log": {"kind": "replay", "log": str(log), "format": "urls"},
        "list": {"files": [{"size": "3KB", "path": "/made/x"}, {"size": "1KiB"}]},
    }
    clients = [{"name": name, "count": 1, "rtt": "4ms", "think": "0s"} for name in groups]
    clients = [{**client, "workload": workload} for client, workload in zip(clients, groups.values(), strict=True)]
    seen = witnessed(tmp_path / "packets", None, clients, "1s")
    for client in range(4):
        sizes = dict(files_of(seen.asked, client))
        lines = seen.of(client)
        assert len(lines) > 20
        assert {(line.status, line.bytes == sizes[line.target]) for line in lines} == {(200, True)}


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Witnessed:
    """One client with four requests ahead, and one that reads 400 kbit/s through a buffer of 4 KiB."""
    clients = [
        {"name": "ahead", "count": 1, "rtt": "40ms", "http": {"pipeline": 4, "requests_per_connection": 8}},
        {"name": "slow", "count": 1, "rtt": "4ms", "http": {"read_rate": "400kbit/s"}},
    ]
    clients[1]["tcp"] = {"receive_buffer": "4KiB"}
    return witnessed(tmp_path_factory.mktemp("slow") / "packets", {"size": "20KiB"}, clients, "3s")


def targets(seen: Witnessed) -> dict[int, str]:
    """The target of each file."""
    return {place: path for place, (path, _) in enumerate(files_of(seen.asked, 0))}


def test_sizes_and_versions_are_those_of_the_workload(files: Witnessed) -> None:
    sizes = dict(files_of(files.asked, 0))
    assert len(sizes) == 30
    assert len(files.log) > 200
    for line in files.log:
        assert (line.status, line.bytes, line.version) == (200, sizes[line.target], "HTTP/1.0")


def test_one_pass_of_a_client_has_the_intended_popularity(files: Witnessed) -> None:
    references = {path: count for path, _, _, count in build(uses(files.asked)[0]).entries()}
    length = sum(references.values())
    for client in range(4):
        asked = [line.target for line in files.of(client)]
        assert len(asked) > length, "too short a run for one pass"
        assert Counter(asked[:length]) == references


def test_each_client_asks_in_the_order_of_its_stream(files: Witnessed) -> None:
    paths = targets(files)
    transactions = files.run.tables["transactions"].sort("request")
    for client in range(4):
        wanted = [paths[file] for file in transactions.filter(pl.col("client") == client)["file"]]
        logged = [line.target for line in files.of(client)]
        assert logged == wanted[: len(logged)]
        assert len(wanted) - len(logged) <= 1


def test_connections_end_after_so_many_requests(files: Witnessed) -> None:
    for client in range(4):
        ordinals = [line.ordinal for line in files.of(client)]
        assert ordinals == [1 + place % 5 for place in range(len(ordinals))]


def test_a_page_comes_over_parallel_connections(pages: Witnessed) -> None:
    entries = {path: part for path, _, part, _ in build(uses(pages.asked)[0]).entries()}
    for client in range(3):
        lines = pages.of(client)
        assert len({line.connection for line in lines}) == 3, "kept connections are few"
        by_connection = Counter(line.connection for line in lines if entries[line.target] == "embedded")
        assert min(by_connection.values()) > 0.2 * sum(by_connection.values())


def test_embedded_files_come_after_their_base_file_and_before_the_next(pages: Witnessed) -> None:
    paths = targets(pages)
    entries = {path: part for path, _, part, _ in build(uses(pages.asked)[0]).entries()}
    transactions = pages.run.tables["transactions"].filter(pl.col("outcome") == "ok")
    pages_seen = 0
    for client in range(3):
        rows = transactions.filter(pl.col("client") == client).sort("request")
        before: list[tuple[str, int]] = []
        base_end = 0
        for file, sent, end in rows.select("file", "sent_ns", "end_ns").iter_rows():
            part = entries[paths[file]]
            if part == "embedded":
                assert sent >= base_end, "an embedded file before its page"
                before.append((part, end))
                continue
            assert all(ended <= sent for _, ended in before), "the next page before the end of this one"
            if before:
                assert len(before) == 6
                pages_seen += 1
            before, base_end = [], end
    assert pages_seen > 10


def payloads(seen: Witnessed, client: str) -> dict[str, list[tuple[float, bool, int, str]]]:
    """By the client's port: time, whether from the server, length and beginning of each segment with data."""
    flows: dict[str, list[tuple[float, bool, int, str]]] = defaultdict(list)
    fields = ("frame.time_relative", "ip.src", "tcp.srcport", "tcp.dstport", "tcp.len", "tcp.payload")
    for at, source, sport, dport, length, data in tshark(seen.packets, f"tcp.len > 0 && ip.addr == {client}", *fields):
        server = source == SERVER
        start = "" if server else bytes.fromhex(data.replace(":", "")).decode("latin-1")
        flows[dport if server else sport].append((float(at), server, int(length), start))
    return flows


@dataclass
class Exchange:
    """A request and its response as their packets pass the server, in seconds."""

    port: str
    target: str
    asked: float
    answered: float = 0.0
    received: int = 0


def exchanges(seen: Witnessed, client: str) -> list[Exchange]:
    """What a client without pipelining asked for, in the order of its requests."""
    found: list[Exchange] = []
    for port, segments in payloads(seen, client).items():
        for at, server, length, start in segments:
            if not server:
                found.append(Exchange(port, start.split(" ")[1], at))
            else:
                found[-1].answered = at
                found[-1].received += length
    return sorted(found, key=lambda exchange: exchange.asked)


def test_packets_show_a_whole_base_file_and_then_requests_on_all_connections_at_once(pages: Witnessed) -> None:
    rtt, clock = 0.020, 1e-4
    sizes = dict(files_of(pages.asked, 0))
    parts = {path: part for path, _, part, _ in build(uses(pages.asked)[0]).entries()}
    for client in range(3):
        asked = exchanges(pages, f"198.18.0.{2 + client}")
        bases = [place for place, exchange in enumerate(asked) if parts[exchange.target] != "embedded"]
        with_files = 0
        for begin, end in pairwise(bases):
            base, embedded = asked[begin], asked[begin + 1 : end]
            assert base.received > sizes[base.target], "body and head"
            # What the client sends when it has something passes the server a round trip after that did.
            assert all(one.asked >= base.answered + rtt - clock for one in embedded)
            with_files += bool(embedded)
            if not embedded or with_files == 1:
                continue  # a lone file; or the first page, for which connections are opened
            first = embedded[:3]
            assert len({one.port for one in first}) == 3
            assert max(one.asked for one in first) < min(one.answered for one in first) + rtt, "one after the other"
        assert with_files > 5


def test_pipelined_requests_leave_before_the_first_response_ends(slow: Witnessed) -> None:
    checked = 0
    for segments in payloads(slow, "198.18.0.2").values():
        received = 0
        requests = 0
        for _, server, length, start in segments:
            if server:
                received += length
            elif received < 20 * 1024:
                requests += start.count("GET /20480 HTTP/1.1\r\n")
        if received > 20 * 1024:
            assert requests == 4
            checked += 1
    assert checked > 3


def test_a_slow_clients_window_and_rate_are_as_configured(slow: Witnessed) -> None:
    windows = [
        int(window)
        for (window,) in tshark(slow.packets, "ip.src == 198.18.0.3 && tcp.flags.syn == 0", "tcp.window_size")
    ]
    assert max(windows) <= 4096
    assert min(windows) < 1024, "a slow reader's window closes"
    # The kernel sends ahead what the window lets it, so that a whole response takes what reading it takes.
    rows = slow.run.tables["transactions"].filter((pl.col("group") == 1) & (pl.col("outcome") == "ok"))
    assert rows.height > 3
    for sent, end in rows.select("sent_ns", "end_ns").iter_rows():
        rate = 20 * 1024 * 8 / ((end - sent) / 1e9)
        assert 300e3 < rate < 410e3
