"""The configurations over which `wasp bench` is held against long runs: the matrix of ``benches/verdicts.py``."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from waspbench.cli import flags
from waspbench.experiment.load import set_path


@dataclass(frozen=True)
class Configuration:
    """What is simulated."""

    name: str
    given: str = ""
    """Flags of `wasp bench --mode sim`."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the experiment beside them, by path."""
    settles: float = 200.0
    """Seconds after which a run is in equilibrium; infinity where it never is."""
    lasts: float = 400.0
    """Seconds of each of the long runs that tell the truth."""

    @property
    def is_stable(self) -> bool:
        """Whether there is a truth."""
        return math.isfinite(self.settles)

    def document(self, **measure: Any) -> dict[str, Any]:
        """The content of an experiment file, with these fields of ``measure``."""
        words = shlex.split(self.given)
        values = dict(zip((word[2:].replace("-", "_") for word in words[::2]), words[1::2], strict=True))
        made = flags.document(self.name, values)
        for path, value in {**self.more, **{f"measure.{name}": value for name, value in measure.items()}}.items():
            set_path(made, path, value)
        return made


def _groups(**groups: dict[str, Any]) -> dict[str, Any]:
    return {"clients": [{"name": name, **about} for name, about in groups.items()]}


NEVER = math.inf

SERVER = {"server.model.per_request": "1ms"}
"""A server of 1,000 requests a second at most."""

_FAST = "--down 100Mbit/s"

BY_REASON = [
    Configuration(
        "windows-0.1", f"--file-size 1MB --rtt 200ms --clients 32 {_FAST} --loss 0.1%", settles=600, lasts=900
    ),
    Configuration(
        "windows-0.01", f"--file-size 1MB --rtt 200ms --clients 32 {_FAST} --loss 0.01%", settles=900, lasts=900
    ),
    Configuration(
        "half-never",
        "--file-size 20KB",
        _groups(
            near={"count": 16, "rtt": "20ms"},
            far={"count": 16, "rtt": "600ms", "bandwidth": {"down": "1kbit/s", "up": "1kbit/s"}},
        ),
    ),
    Configuration("bursts-98", "--loss 1% --burst 98% --clients 64", settles=900, lasts=3600),
    Configuration("above-1040", "--rate 1040/s --clients 30000", SERVER, settles=NEVER),
    Configuration("handshakes", "--rate 15/s", settles=300, lasts=3000),
    Configuration("surge", "--workload surge --clients 100 --profile cable --connections 4", settles=5000, lasts=20000),
    Configuration("in-step-think", "--think 12s", settles=1000, lasts=1000),
    Configuration("in-step-size", "--down 64kbit/s --file-size 92KB", settles=2000, lasts=1000),
    Configuration("near-2280", "--rate 2280/s --outstanding 100000", settles=300, lasts=600),
    Configuration("no-warmup", "--rtt 600ms --warmup 0ms"),
    Configuration("few-far", "--clients 8 --rtt 500ms --loss 3%", settles=600, lasts=5000),
]
"""Those that a reason is for: without it, the experiments are valid, and wrong by 8 to 100 %."""


def _closed() -> Iterator[Configuration]:
    """Closed loops over kept connections, with loss."""
    for clients, rtt, size, loss, burst, lasts in [
        (16, 20, 2, 1, 0, 600),
        (8, 20, 20, 3, 35, 900),
        (8, 20, 20, 0.1, 35, 1200),
        (4, 20, 100, 1, 35, 900),
        (32, 50, 2, 5, 35, 900),
        (32, 50, 20, 1, 0, 600),
        (32, 50, 20, 1, 80, 1200),
        (4, 50, 500, 0.1, 35, 1800),
        (64, 100, 2, 3, 35, 900),
        (64, 100, 20, 0.1, 0, 600),
        (256, 100, 20, 1, 35, 400),
        (64, 100, 20, 3, 35, 900),
        (64, 100, 20, 5, 80, 1800),
        (64, 100, 100, 1, 35, 600),
        (32, 100, 100, 3, 0, 900),
        (32, 100, 500, 1, 35, 900),
        (256, 200, 2, 0.1, 35, 600),
        (16, 200, 20, 1, 35, 3000),
        (64, 200, 64, 9, 35, 1800),
        (1024, 300, 2, 1, 35, 400),
        (128, 300, 20, 3, 35, 900),
        (16, 300, 500, 0.1, 35, 1800),
        (512, 600, 2, 3, 35, 900),
        (16, 600, 20, 3, 35, 6000),
        (128, 600, 20, 0.1, 35, 1200),
        (32, 600, 1000, 1, 35, 1800),
    ]:
        lost = f"--loss {loss}% " + (f"--burst {burst}%" if burst else "--loss-model independent")
        name = f"closed-{clients}-{rtt}ms-{size}KB-{loss}-{burst}"
        given = f"--clients {clients} --rtt {rtt}ms --file-size {size}KB {lost}"
        yield Configuration(name, given, settles=600, lasts=lasts)


OTHER_CLOSED = [
    Configuration("default"),
    Configuration("one-client", "--clients 1 --rtt 100ms"),
    Configuration("one-client-loss", "--clients 1 --rtt 50ms --loss 1%", settles=600, lasts=20000),
    Configuration("4096-clients", "--clients 4096 --rtt 600ms --file-size 2KB", settles=60, lasts=120),
    Configuration(
        "modem", "--clients 64 --down 56kbit/s --up 33kbit/s --rtt 150ms --file-size 20KB", settles=900, lasts=900
    ),
    Configuration("cable", "--clients 32 --profile cable --file-size 100KB"),
    Configuration("far-large", "--clients 16 --rtt 300ms --file-size 1MB --down 20Mbit/s"),
    Configuration("impatient", "--clients 64 --loss 9% --timeout 300ms --max-errors 100%", settles=600, lasts=900),
    Configuration("slow-server", "--clients 64 --rtt 20ms", {"server.model.per_request": "10ms"}),
    Configuration(
        "bottleneck-deep",
        "--clients 64 --rtt 50ms --file-size 100KB",
        {"network.shared": {"down": {"rate": "50Mbit/s", "queue": "4MiB"}}},
        settles=300,
        lasts=600,
    ),
    Configuration(
        "bottleneck-short",
        "--clients 32 --rtt 50ms --file-size 100KB",
        {"network.shared": {"down": {"rate": "20Mbit/s", "queue": "64KiB"}}},
        settles=300,
        lasts=900,
    ),
]
"""Closed loops over kept connections without loss, or before something else that is narrow."""

NEW = [
    Configuration("new", "--clients 64 --requests-per-connection 1 --rtt 100ms"),
    Configuration("new-1", "--clients 64 --requests-per-connection 1 --rtt 100ms --loss 1%", lasts=900),
    Configuration("new-3", "--clients 128 --requests-per-connection 1 --rtt 50ms --loss 3%", lasts=900),
    Configuration("new-5-far", "--clients 256 --requests-per-connection 1 --rtt 300ms --loss 5%", lasts=900),
    Configuration(
        "new-10-impatient",
        "--requests-per-connection 1 --timeout 300ms --loss-model independent --loss-down 10% --max-errors 100%",
    ),
    Configuration(
        "ten-requests", "--clients 64 --requests-per-connection 10 --rtt 100ms --loss 1% --file-size 64KB", lasts=900
    ),
]
"""Connections that end."""

WORKLOADS = [
    Configuration("think-1s", "--clients 256 --think 1s --rtt 100ms --loss 1%", settles=600, lasts=600),
    Configuration(
        "think-3s-large", "--clients 64 --think 3s --rtt 100ms --loss 1% --file-size 500KB", settles=900, lasts=1200
    ),
    Configuration("think-30s", "--clients 1000 --think 30s --rtt 100ms", settles=600, lasts=1200),
    Configuration("surge-50", "--workload surge --clients 50 --rtt 50ms", settles=5000, lasts=20000),
    Configuration("surge-400", "--workload surge --clients 400 --profile cable", settles=2000, lasts=3000),
    Configuration("prowgen", "--workload prowgen --clients 100 --rtt 100ms --loss 1%", settles=600, lasts=1200),
]
"""Pauses, pages, and sizes that differ."""

OPEN = [
    Configuration("open-light", "--rate 100/s --rtt 100ms --clients 64"),
    Configuration("open-light-loss", "--rate 200/s --rtt 100ms --clients 64 --loss 1%", settles=600, lasts=1200),
    Configuration(
        "open-new", "--rate 200/s --rtt 100ms --clients 256 --requests-per-connection 1 --loss 1%", lasts=1200
    ),
    Configuration("open-500", "--rate 500/s --clients 3000", SERVER),
    Configuration("open-800", "--rate 800/s --clients 3000", SERVER),
    Configuration("open-950", "--rate 950/s --clients 3000", SERVER, settles=300, lasts=900),
    Configuration("open-980", "--rate 980/s --clients 30000", SERVER, settles=600, lasts=2000),
    Configuration("open-995", "--rate 995/s --clients 30000", SERVER, settles=2000, lasts=6000),
    Configuration("open-1010", "--rate 1010/s --clients 30000", SERVER, settles=NEVER),
    Configuration("open-1100", "--rate 1100/s --clients 30000", SERVER, settles=NEVER),
    Configuration("open-2000", "--rate 2000/s --clients 30000", SERVER, settles=NEVER),
    Configuration("open-shed", "--rate 1000/s", lasts=1000),
    Configuration(
        "open-link",
        "--rate 56/s --clients 20 --connections 8 --file-size 20KB --down 512kbit/s",
        settles=300,
        lasts=3000,
    ),
]
"""Open loops below, near and above what can be taken."""

GROUPS = [
    Configuration(
        "near-and-far",
        "--file-size 20KB",
        _groups(near={"count": 32, "rtt": "20ms"}, far={"count": 32, "rtt": "300ms", "loss": "1%"}),
        settles=600,
        lasts=900,
    ),
    Configuration(
        "many-and-few",
        "--file-size 20KB",
        _groups(many={"count": 64, "rtt": "50ms"}, few={"count": 4, "rtt": "300ms", "loss": "3%"}),
        settles=600,
        lasts=3000,
    ),
    Configuration(
        "errors-of-few",
        "--file-size 20KB",
        _groups(many={"count": 64, "rtt": "50ms"}, few={"count": 4, "rtt": "300ms", "http": {"timeout": "250ms"}}),
    ),
    Configuration(
        "four-groups",
        "--file-size 20KB",
        _groups(
            a={"count": 16, "rtt": "20ms"},
            b={"count": 16, "rtt": "50ms", "loss": "1%"},
            c={"count": 16, "rtt": "150ms", "loss": "1%"},
            d={"count": 16, "rtt": "300ms", "loss": "3%"},
        ),
        settles=600,
        lasts=1800,
    ),
    Configuration(
        "open-and-closed",
        "--file-size 20KB",
        _groups(
            closed={"count": 16, "rtt": "100ms", "loss": "1%"},
            open={"count": 64, "rtt": "100ms", "arrivals": {"rate": "50/s"}},
        ),
        settles=600,
        lasts=1200,
    ),
]
"""Groups of clients that differ."""

FAMILIES = {
    "one for each reason": BY_REASON,
    "closed loops, loss": list(_closed()),
    "closed loops, other limits": OTHER_CLOSED,
    "connections that end": NEW,
    "pauses and workloads": WORKLOADS,
    "open loops": OPEN,
    "groups": GROUPS,
}

CONFIGURATIONS = [each for family in FAMILIES.values() for each in family]


def named(names: list[str]) -> list[Configuration]:
    """Those of these names or families, each once; all where none is given.

    Raises:
        KeyError: there is none of this name.
    """
    by_name = FAMILIES | {each.name: [each] for each in CONFIGURATIONS}
    asked = dict.fromkeys(each.name for name in names for each in by_name[name])
    return [each for each in CONFIGURATIONS if not names or each.name in asked]
