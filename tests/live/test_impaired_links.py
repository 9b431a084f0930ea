"""Links with impairments, queues or rate traces before a kernel: downloads against the modelled server on the same
network, and packets with a flipped bit.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from measuring import conclusive
from waspbench import _core
from waspbench.experiment import Experiment, parse
from waspbench.experiment.resolve import resolve

from .harness import Run, bed_for, experiment, inside, measure, needs

pytestmark = [pytest.mark.root, pytest.mark.slow, needs("nginx")]

SIZE = 5_000_000
BAR = 0.15
"""Most that goodput of kernel and model may differ."""
LATE = {"reorder": {"down": {"share": "1%", "distance": 3}}}
"""One packet in a hundred comes three places late."""
TWICE = {"duplicate": {"down": "1%"}}
"""One packet in a hundred comes twice."""
JITTER = {"jitter": {"down": {"model": "normal", "deviation": "1ms", "order": "free"}}}

TRACE = Path(__file__).parents[2] / "examples" / "traces" / "lte.down"
VARYING = {"trace": {"down": {"file": str(TRACE), "opportunity": "6016B"}}}
"""Four packets at each time of the example: 23.6 Mbit/s on average, and half a second of nothing in ten."""

CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    # A packet of 1,500 bytes takes 0.6 ms at 20 Mbit/s, so three places are 1.8 ms; 0.12 and 0.36 ms at 100 Mbit/s.
    "late by 1.8 ms": ("20Mbit/s", "40ms", LATE),
    "late by 0.36 ms": ("100Mbit/s", "20ms", LATE),
    # The server is told of copies that it did not send (D-SACK), and its queue is full at times.
    "1 % come twice": ("20Mbit/s", "40ms", TWICE),
    # Most packets overtake one or more where 0.6 ms lie between them.
    "jitter of 1 ms": ("20Mbit/s", "40ms", JITTER),
    **{queue: ("20Mbit/s", "40ms", {"queue": {"down": queue}}) for queue in ("codel", "pie", "red")},
    "a rate trace": ("", "40ms", VARYING),
}


def asked(rate: str, rtt: str, link: dict[str, Any]) -> Experiment:
    """Two clients download one file after the other from a kernel, or a model, with `cubic`."""
    return parse(
        {
            "name": "reordering",
            "server": {"kind": "nginx", "congestion": "cubic"},
            "workload": {"kind": "single", "size": f"{SIZE}B"},
            "clients": [
                {
                    "count": 2,
                    "rtt": rtt,
                    "bandwidth": {"down": rate} if rate else None,
                    "queue": {"down": "256KiB"},
                    "http": {"requests_per_connection": 1},
                    **link,
                }
            ],
            "measure": {"warmup": "1s", "duration": "20s", "runs": 1},
        }
    )


def goodput(transactions: pl.DataFrame) -> float:
    """Bits a second of a download, over all of them."""
    whole = transactions.filter((pl.col("outcome") == "ok") & (pl.col("bytes") == SIZE))
    assert whole.height >= 10
    return 8e9 * SIZE * whole.height / float((whole["last_byte_ns"] - whole["start_ns"]).sum())


@pytest.mark.parametrize("case", CASES)
def test_kernel_and_model_have_the_same_goodput(case: str) -> None:
    downloads = asked(*CASES[case])
    outcome = _core.start(json.dumps(resolve(downloads, 0, mode="sim"))).wait()
    model = goodput(pl.DataFrame(outcome.tables()["transactions"]))

    def attempt() -> Run:
        with bed_for(downloads) as bed:
            return measure(bed, downloads)

    def wrong(run: Run) -> str | None:
        kernel = goodput(run.tables["transactions"])
        if abs(model / kernel - 1) <= BAR:
            return None
        return f"the kernel has {kernel / 1e6:.1f} Mbit/s, the model {model / 1e6:.1f} Mbit/s"

    conclusive(attempt, wrong, lambda run: run.disturbed)


def test_the_servers_kernel_and_the_clients_find_every_flipped_bit() -> None:
    corrupted = experiment(clients={"count": 20, "rtt": "20ms", "corrupt": "3%"}, size="64KiB", duration="4s")
    with bed_for(corrupted) as bed:
        run = measure(bed, corrupted)
        counters = inside(bed, "cat", "/proc/net/snmp")
    names, values = (line.split()[1:] for line in counters.splitlines() if line.startswith("Tcp:"))
    links = run.tables["links"].filter(pl.col("link") != "shared")
    up, down = (links.filter(pl.col("direction") == way)["corrupted"].sum() for way in ("up", "down"))
    assert min(up, down) > 100
    in_flight = run.summary["packets"]["in_flight"]
    # A flip in the length of the TCP header is found before the checksum is looked at. Both count as errors.
    refused = dict(zip(names, map(int, values), strict=True))["InErrs"]
    assert 0 <= up - refused <= in_flight
    assert 0 <= down - run.summary["fates"]["bad checksum"] <= in_flight
    rows = run.tables["transactions"].filter(pl.col("outcome") == "ok")
    assert rows.select("status", "bytes").unique().rows() == [(200, 65_536)]
