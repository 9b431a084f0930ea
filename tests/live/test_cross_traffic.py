"""Cross traffic in live runs: ping waits behind it as queueing theory says, and none of it reaches a device."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from measuring import conclusive
from waspbench.topology import resolved

from .harness import needs, tshark
from .probing import Seen, addresses, backbone, seen_beside

pytestmark = [pytest.mark.root, pytest.mark.slow, needs("nginx", "ping", "tcpdump", "tshark", "ethtool")]

SERVICE = 2.0
"""Milliseconds that a packet of cross traffic takes at the rate of the link."""
LOAD = 0.6
WAIT = LOAD / (2 * (1 - LOAD)) * SERVICE
"""Mean wait of M/D/1 in milliseconds."""
DEVIATION = SERVICE * (LOAD / (3 * (1 - LOAD)) + (LOAD / (2 * (1 - LOAD))) ** 2) ** 0.5
"""Standard deviation of that wait (Kleinrock, Queueing Systems, volume 1, section 5.7)."""
PINGS = 500
INDEPENDENT = 0.5
"""Share of the pings that count as independent: 40 ms are some twenty services apart."""
OWN = 20.0 + 4 * 84 * 8 / 4_000
"""Milliseconds of a round trip to the second router: four links of 5 ms, on two of which 84 bytes take their time."""
NEAR = 0.3
"""Milliseconds that machine and emulator may add."""


def test_ping_waits_behind_poisson_traffic_as_m_d_1_says(tmp_path: Path) -> None:
    others = "network.cross_traffic.others"
    asked = backbone(
        "network.link.rate=4Mbit/s",
        f"{others}.link=b1",
        f"{others}.direction=forward",
        f"{others}.rate={4 * LOAD}Mbit/s",
        "workload.size=100B",
        "clients.think=2s",
        "measure.duration=26s",
    )
    far = addresses(resolved(asked))["r2"]
    packets = tmp_path / "packets"

    def attempt() -> Seen:
        seen = seen_beside(asked, {"ping": ["ping", "-n", "-c", str(PINGS), "-i", "0.04", far]}, packets=packets)
        # Whatever the machine does: the server's device sees clients and pings alone.
        assert tshark(packets, "ip.addr == 240.0.0.0/4", "frame.number") == []
        assert len(tshark(packets, f"ip.src == {far}", "frame.number")) >= PINGS // 2
        [told] = seen.run.summary["cross_traffic"]
        sent = LOAD * 1000 / SERVICE * 26
        assert abs(told["packets"] - sent) < 5 * sent**0.5
        assert told["lost"] == told["dropped"] == 0
        # The same wait as the results tell it. Some twelve packets that follow each other count as one.
        observed = {(link["link"], link["direction"]): link for link in seen.run.summary["observed"]}
        loaded = observed["b1", "forward"]
        assert abs(loaded["waiting_ms"]["mean"] - WAIT) < 4 * DEVIATION / (sent / 12) ** 0.5
        assert abs(loaded["utilization"] - LOAD) < 5 * LOAD / sent**0.5 + 0.01
        return seen

    def wrong(seen: Seen) -> str | None:
        times = seen.answered("ping")
        if len(times) < PINGS:
            return seen.printed["ping"]
        waited = statistics.fmean(times) - OWN
        error = 4 * DEVIATION / (INDEPENDENT * PINGS) ** 0.5
        if -error < waited - WAIT < error + NEAR:
            return None
        return f"pings waited {waited:.2f} ms on average, not {WAIT:.2f} ms within {error:.2f} ms"

    conclusive(attempt, wrong, lambda seen: seen.run.disturbed or seen.incomplete)
