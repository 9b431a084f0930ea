"""The configurations in which the modelled server is held to the kernel's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

RUNS, WARMUP = 6, "10s"
"""Live runs of a configuration, and what comes before the measured interval of each run."""


@dataclass(frozen=True)
class Case:
    """Clients that ask for files of one size behind one kind of path."""

    name: str
    clients: int
    rtt: str
    size: str
    loss: str
    """Of each direction."""
    kept: bool = False
    """Whether connections are kept; else each request has one of its own."""
    think: str = ""
    bandwidth: str = ""
    """Down the access link."""
    queue: str = ""
    congestion: str = "cubic"
    sack: bool = True
    short: str = ""
    """Why the model is known to fall short of a bar."""

    def document(self, duration: float, constants: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The experiment of one run; the server's kernel and its model, with these ``constants``, are set alike."""
        tcp = {"congestion": self.congestion, "sack": self.sack} | dict(constants or {})
        loss = {"model": "independent", "rate": self.loss}
        group: dict[str, Any] = {
            "name": "clients",
            "count": self.clients,
            "rtt": self.rtt,
            "loss": {"up": loss, "down": loss},
        }
        if not self.kept:
            group["http"] = {"requests_per_connection": 1}
        if self.think:
            group["think"] = {"model": "exponential", "mean": self.think}
        if self.bandwidth:
            group |= {"bandwidth": {"down": self.bandwidth}, "queue": {"down": self.queue}}
        return {
            "name": "validation",
            "workload": {"size": self.size},
            "server": {
                "kind": "nginx",
                "congestion": self.congestion,
                "sysctl": {"net.ipv4.tcp_sack": int(self.sack)},
                "tcp": tcp,
            },
            "clients": [group],
            "measure": {"warmup": WARMUP, "duration": f"{duration:.0f}s", "runs": 1},
        }


CASES = (
    Case("new-20k-1", 96, "50ms", "20KB", "1%"),
    Case("new-20k-3", 96, "50ms", "20KB", "3%"),
    Case("new-64k-1", 96, "50ms", "64KB", "1%", short="within the interval"),
    Case("new-64k-3", 128, "50ms", "64KB", "3%"),
    Case("new-500k-1", 96, "50ms", "500KB", "1%"),
    Case("new-500k-3", 128, "50ms", "500KB", "3%"),
    Case("nosack-64k-1", 96, "50ms", "64KB", "1%", sack=False, short="recovery without SACK"),
    Case("nosack-500k-1", 96, "50ms", "500KB", "1%", sack=False, short="recovery without SACK"),
    Case("kept-20k-3", 200, "100ms", "20KB", "3%", kept=True),
    Case("kept-64k-1", 200, "100ms", "64KB", "1%", kept=True),
    Case("kept-64k-3", 200, "100ms", "64KB", "3%", kept=True),
    Case("kept-500k-1", 200, "100ms", "500KB", "1%", kept=True),
    Case("think1-64k-1", 300, "100ms", "64KB", "1%", kept=True, think="1s"),
    Case("think1-500k-1", 300, "100ms", "500KB", "1%", kept=True, think="1s"),
    Case("think3-20k-3", 600, "100ms", "20KB", "3%", kept=True, think="3s"),
    Case("think3-64k-1", 600, "100ms", "64KB", "1%", kept=True, think="3s"),
    Case("near-64k-1", 64, "20ms", "64KB", "1%", kept=True),
    Case("far-64k-1", 400, "200ms", "64KB", "1%", kept=True, think="1s"),
    Case("farther-64k-1", 300, "300ms", "64KB", "1%"),
    Case("farther-64k-3", 400, "300ms", "64KB", "3%", kept=True),
    Case("queue-64k-1", 96, "50ms", "64KB", "1%", kept=True, think="1s", bandwidth="10Mbit/s", queue="32KB"),
    Case("queue-500k-0.1", 64, "100ms", "500KB", "0.1%", bandwidth="10Mbit/s", queue="64KB", short="its phase"),
    Case("reno-64k-3", 200, "100ms", "64KB", "3%", congestion="reno"),
    Case("reno-500k-1", 300, "100ms", "500KB", "1%", kept=True, think="1s", congestion="reno"),
)
