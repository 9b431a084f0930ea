"""Routers before a kernel: what ping and traceroute see of them from the server's side while a run goes on."""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from measuring import conclusive
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
"""Milliseconds that the median round trip to a router may take beyond the configured delays."""


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


def seen_beside(settings: list[str], commands: dict[str, list[str]]) -> Seen:
    """What these commands print in the server's namespace while a run goes on."""
    seen = Seen()
    asked = load(EXAMPLES / "backbone.toml", settings)
    with bed_for(asked) as bed:
        seen.run = measure(bed, asked, lambda: seen.printed.update(printed(bed, commands)))
    return seen


def printed(bed: Testbed, commands: dict[str, list[str]]) -> dict[str, str]:
    # A ping without an answer ends with status 1.
    return {name: inside(bed, "sh", "-c", f"{' '.join(command)} || true") for name, command in commands.items()}


def test_ping_and_traceroute_see_each_router_at_its_distance() -> None:
    network = resolved(load(EXAMPLES / "backbone.toml", SETTINGS))
    at = addresses(network)
    routers = [at[f"r{number}"] for number in range(1, 5)]
    trace = ["traceroute", "-n", "-q", "5", "-w", "1", "-z", "0.02", "-N", "1"]
    commands = {
        "udp": [*trace, "-m", "4", at["homes-r4"]],
        "icmp": [*trace, "-I", at["r4"]],
        "router": [*trace, at["r4"]],
        "ping": ["ping", "-n", "-c", "20", "-i", "0.05", "-W", "1", at["r3"]],
    }

    def attempt() -> Seen:
        seen = seen_beside(SETTINGS, commands)
        for name in ("udp", "icmp", "router"):
            assert [address for address, _ in seen.hops(name)] == routers, seen.printed
        assert "20 received, 0% packet loss" in seen.printed["ping"]
        return seen

    def wrong(seen: Seen) -> str | None:
        times = {name: [ms for _, ms in seen.hops(name)] for name in ("udp", "icmp", "router")}
        medians = {(name, hop): statistics.median(ms) for name, hops in times.items() for hop, ms in enumerate(hops, 1)}
        pings = [float(ms) for ms in re.findall(r"time=([\d.]+) ms", seen.printed["ping"])]
        medians["ping", 3] = statistics.median(pings)
        far = {place: ms for place, ms in medians.items() if not 10 * place[1] <= ms <= 10 * place[1] + NEAR}
        return f"{far} in place of 10 ms a hop" if far else None

    conclusive(attempt, wrong, lambda seen: seen.run.disturbed if seen.run else None)


def test_who_is_not_there_is_unreachable_and_errors_stay_within_their_limit() -> None:
    limited = [*SETTINGS, "network.icmp.rate=1/h", "network.icmp.burst=3"]
    at = addresses(resolved(load(EXAMPLES / "backbone.toml", limited)))
    ping = ["ping", "-n", "-i", "0.05", "-W", "1"]
    seen = seen_beside(
        limited,
        {"absent": [*ping, "-c", "5", "198.18.99.1"], "router": [*ping, "-c", "30", at["r1"]]},
    )
    assert seen.printed["absent"].count(f"From {at['r1']} icmp_seq=") == 3, seen.printed
    assert "Destination Host Unreachable" in seen.printed["absent"]
    assert "30 received, 0% packet loss" in seen.printed["router"]
