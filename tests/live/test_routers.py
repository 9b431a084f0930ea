"""Routers and clients before a kernel: what ping and traceroute see of them from the server's side."""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from measuring import conclusive
from waspbench.experiment import Experiment, parse
from waspbench.experiment.load import load
from waspbench.testbed import Testbed
from waspbench.topology import Topology, resolved

from .harness import Run, bed_for, inside, measure, needs

pytestmark = [pytest.mark.root, pytest.mark.slow, needs("nginx", "nsenter", "ping", "traceroute")]

EXAMPLES = Path(__file__).parents[2] / "examples"
SETTINGS = [
    "server.kind=nginx",
    "network.link.delay=5ms",
    "clients.count=1",
    "clients.think=50ms",
    "measure.duration=8s",
]
NEAR = 0.3
"""Milliseconds that the median round trip to a router or client may take beyond the configured delays."""
FAR = {1: 10.0, 2: 20.0, 3: 30.0, 4: 40.0, 5: 40.2}
"""Milliseconds to each hop: four routers, and a client behind 0.1 ms in each direction."""


@dataclass
class Seen:
    """What the programs printed, and the run beside which they ran."""

    printed: dict[str, str] = field(default_factory=dict)
    run: Run | None = None

    def hops(self, name: str) -> list[tuple[str, list[float]]]:
        """Address and round-trip times in milliseconds of each hop that traceroute tells, `*` of a silent one."""
        found = []
        for line in self.printed[name].splitlines()[1:]:
            address = re.match(r"\s*\d+  (\S+)", line)
            assert address is not None, line
            found.append((address[1], [float(ms) for ms in re.findall(r"([\d.]+) ms", line)]))
        return found


def addresses(network: Topology) -> dict[str, str]:
    """The address of each node, and of the first client of each group."""
    nodes = {node.name: node.address or "" for node in network.nodes}
    return nodes | {group.name: group.first_address for group in network.groups}


def seen_beside(asked: Experiment, commands: dict[str, list[str]]) -> Seen:
    """What these commands print in the server's namespace while a run goes on."""
    seen = Seen()
    with bed_for(asked) as bed:
        seen.run = measure(bed, asked, lambda: seen.printed.update(printed(bed, commands)))
    return seen


def printed(bed: Testbed, commands: dict[str, list[str]]) -> dict[str, str]:
    # A ping without an answer ends with status 1.
    return {name: inside(bed, "sh", "-c", f"{' '.join(command)} || true") for name, command in commands.items()}


def test_ping_and_traceroute_see_each_router_and_the_client_at_its_distance() -> None:
    asked = load(EXAMPLES / "backbone.toml", SETTINGS)
    at = addresses(resolved(asked))
    routers = [at[f"r{number}"] for number in range(1, 5)]
    trace = ["traceroute", "-n", "-q", "5", "-w", "1", "-z", "0.02", "-N", "1"]
    commands = {
        "udp": [*trace, at["homes-r4"]],
        "icmp": [*trace, "-I", at["homes-r4"]],
        "long": [*trace, at["homes-r4"], "3000"],
        "router": [*trace, at["r4"]],
        "ping": ["ping", "-n", "-c", "20", "-i", "0.05", "-W", "1", at["r3"]],
    }

    def attempt() -> Seen:
        seen = seen_beside(asked, commands)
        for name in ("udp", "icmp", "long"):
            assert [address for address, _ in seen.hops(name)] == [*routers, at["homes-r4"]], seen.printed
        assert [address for address, _ in seen.hops("router")] == routers, seen.printed
        assert "20 received, 0% packet loss" in seen.printed["ping"]
        return seen

    def wrong(seen: Seen) -> str | None:
        times = {name: [ms for _, ms in seen.hops(name)] for name in ("udp", "icmp", "router")}
        medians = {(name, hop): statistics.median(ms) for name, hops in times.items() for hop, ms in enumerate(hops, 1)}
        pings = [float(ms) for ms in re.findall(r"time=([\d.]+) ms", seen.printed["ping"])]
        medians["ping", 3] = statistics.median(pings)
        far = {place: ms for place, ms in medians.items() if not FAR[place[1]] <= ms <= FAR[place[1]] + NEAR}
        return f"{far} in place of {FAR}" if far else None

    conclusive(attempt, wrong, lambda seen: seen.run.disturbed if seen.run else None)


def test_who_is_not_there_is_unreachable_and_errors_stay_within_their_limit() -> None:
    limited = load(EXAMPLES / "backbone.toml", [*SETTINGS, "network.icmp.rate=1/h", "network.icmp.burst=3"])
    at = addresses(resolved(limited))
    ping = ["ping", "-n", "-i", "0.05", "-W", "1"]
    seen = seen_beside(
        limited,
        {"absent": [*ping, "-c", "5", "198.18.99.1"], "router": [*ping, "-c", "30", at["r1"]]},
    )
    assert seen.printed["absent"].count(f"From {at['r1']} icmp_seq=") == 3, seen.printed
    assert "Destination Host Unreachable" in seen.printed["absent"]
    assert "30 received, 0% packet loss" in seen.printed["router"]


def two_places(duration: str, **options: Any) -> Experiment:
    """A client at each of two routers. The device and the first have an MTU of 1,500, the second one of 576."""
    clients = [
        {"name": "near", "at": "r1", "count": 1, "think": "50ms", "mtu": 1_500, **options},
        {"name": "narrow", "at": "r2", "count": 1, "think": "50ms", "mtu": 576, **options},
    ]
    return parse(
        {
            "name": "two-places",
            "server": {"kind": "nginx"},
            "workload": {"kind": "single", "size": "1KiB"},
            "network": {"kind": "backbone", "subnetworks": 2, "link": {"delay": "1ms"}},
            "clients": clients,
            "measure": {"warmup": "500ms", "duration": duration, "runs": 1},
        }
    )


def test_long_packets_are_fragmented_where_they_may_be_and_put_together_at_their_end() -> None:
    asked = two_places("6s")
    at = addresses(resolved(asked))
    ping = ["ping", "-n", "-c", "3", "-i", "0.1", "-W", "1"]
    commands = {
        "kernel": [*ping, "-s", "4000", at["near"]],
        "router": [*ping, "-s", "4000", at["r1"]],
        "longest": [*ping, "-s", "65507", at["near"]],
        "both": [*ping, "-s", "4000", at["narrow"]],
        "emulated": [*ping, "-M", "dont", "-s", "1472", at["narrow"]],
        "refused": [*ping, "-M", "do", "-s", "1472", at["narrow"]],
    }
    seen = seen_beside(asked, commands)
    assert seen.run is not None
    for name in ("kernel", "router", "longest", "both", "emulated"):
        assert "3 received, 0% packet loss" in seen.printed[name], seen.printed[name]
    assert f"From {at['r2']} icmp_seq=1 Frag needed and DF set (mtu = 576)" in seen.printed["refused"]
    fates = seen.run.summary["fates"]
    # The clients cut their answers of 4,008, 65,515, 4,008 and 1,480 bytes, and the first router its own of 4,008.
    # Before the narrow link the router cuts the kernel's three fragments of 4,008 bytes, and the packet of 1,480.
    assert fates["fragmented"] == 3 * (1 + 1 + 1 + 1 + 1) + 3 * (3 + 1), fates
    assert fates["too big"] == 1
    assert fates["reassembly timeout"] == fates["malformed"] == fates["bad checksum"] == 0, fates


def test_a_client_tells_of_fragments_whose_others_are_lost() -> None:
    """Of 40 echoes in three fragments each most are incomplete, and of those some have the first."""
    asked = two_places("36s", loss={"down": "50%"})
    at = addresses(resolved(asked))
    ping = ["ping", "-n", "-c", "40", "-i", "0.02", "-W", "1", "-s", "4000", at["near"], ";"]
    seen = seen_beside(asked, {"ping": [*ping, "sleep", "31;", "grep", "Icmp:", "/proc/net/snmp"]})
    assert seen.run is not None
    names, values = [line.split() for line in seen.printed["ping"].splitlines()[-2:]]
    told = int(values[names.index("InTimeExcds")])
    assert 5 < told < 40, seen.printed["ping"]
    assert told < seen.run.summary["fates"]["reassembly timeout"] < 80
