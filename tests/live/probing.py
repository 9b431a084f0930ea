"""Commands in the server's namespace beside a run: what ping, traceroute, tracepath and mtr print of the network."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from waspbench import _core
from waspbench.experiment import Experiment
from waspbench.experiment.load import load
from waspbench.topology import Topology

from .harness import Capture, Run, bed_for, capture, inside, measure

EXAMPLES = Path(__file__).parents[2] / "examples"
SETTINGS = (
    "server.kind=nginx",
    "network.link.delay=5ms",
    # So fast that the length of a packet does not matter.
    "network.link.rate=100Gbit/s",
    "clients.bandwidth=100Gbit/s",
    "clients.count=1",
    "clients.think=50ms",
    "measure.duration=8s",
)

BEGUN = 1.0
"""Seconds of the measured interval that may be over when the commands begin."""

Hops = list[tuple[str, list[float]]]
"""The address of each hop, `*` of a silent one, and the round-trip times to it in milliseconds."""


@dataclass(frozen=True)
class Seen:
    """What the commands printed, the run beside which they ran, and how tcpdump did."""

    printed: dict[str, str]
    run: Run
    captured: Capture
    took: float
    """Seconds that the commands took."""
    room: float
    """Seconds that they had."""

    @property
    def incomplete(self) -> str | None:
        """Why it is not all that happened: the run ended before the commands, or tcpdump had no time for packets."""
        if self.took > self.room:
            return f"the commands took {self.took:.1f} s of the run"
        return f"tcpdump missed {self.captured.missed} packets" if self.captured.missed else None

    def traced(self, name: str) -> Hops:
        """What traceroute printed."""
        found = []
        for line in self.printed[name].splitlines()[1:]:
            address = re.match(r"\s*\d+  (\S+)", line)
            assert address is not None, line
            found.append((address[1], [float(ms) for ms in re.findall(r"([\d.]+) ms", line)]))
        return found

    def reported(self, name: str) -> list[tuple[str, float]]:
        """What `mtr --report` printed: the address of each hop, and the packets lost there in percent."""
        found = re.findall(r"^ *\d+\.\|-- (\S+) +([\d.]+)%", self.printed[name], re.MULTILINE)
        return [(address, float(lost)) for address, lost in found]

    def probed(self, name: str) -> Hops:
        """What `mtr --raw` printed, up to the first hop that has the address of the last."""
        addresses = dict(re.findall(r"^h (\d+) (\S+)$", self.printed[name], re.MULTILINE))
        times = defaultdict[str, list[float]](list)
        for hop, micros in re.findall(r"^p (\d+) (\d+) ", self.printed[name], re.MULTILINE):
            times[hop].append(int(micros) / 1e3)
        hops = [(addresses[hop], times[hop]) for hop in sorted(addresses, key=int)]
        last = [address for address, _ in hops].index(hops[-1][0]) if hops else 0
        return hops[: last + 1]

    def answered(self, name: str) -> list[float]:
        """The round-trip times in milliseconds that ping printed."""
        return [float(ms) for ms in re.findall(r"time=([\d.]+) ms", self.printed[name])]


def backbone(*settings: str) -> Experiment:
    """Four routers in a row, with a client at each. From the server to the first and from each to the next there are
    10 ms, there and back.
    """
    return load(EXAMPLES / "backbone.toml", [*SETTINGS, *settings])


def addresses(network: Topology) -> dict[str, str]:
    """The address of each node, and of the first client of each group."""
    nodes = {node.name: node.address or "" for node in network.nodes}
    return nodes | {group.name: group.first_address for group in network.groups}


def seen_beside(asked: Experiment, commands: dict[str, list[str]], *, packets: Path | None = None) -> Seen:
    """What these commands print in the server's namespace while a run goes on, with a capture of it or without."""
    seen: dict[str, str] = {}
    took: list[float] = []

    def look() -> None:
        start = time.monotonic()
        for name, command in commands.items():
            # A ping without an answer ends with status 1.
            seen[name] = inside(bed, "sh", "-c", f"{' '.join(command)} || true")
        took.append(time.monotonic() - start)

    with (
        bed_for(asked) as bed,
        nullcontext(Capture()) if packets is None else capture(bed, packets) as captured,
    ):
        run = measure(bed, asked, look, offload=packets is None)
    room = _core.parse_duration(asked.measure.duration) / 1e9 - BEGUN
    return Seen(seen, run, captured, took[0], room)
