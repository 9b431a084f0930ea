"""Explicit congestion notification before a kernel: both ends agree, queues mark in place of early drops, and downloads
and uploads take as long as with the modelled server.
"""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from measuring import conclusive
from waspbench import _core
from waspbench.experiment import Experiment, parse
from waspbench.experiment.resolve import resolve

from .harness import Run, bed_for, measure, needs

pytestmark = [pytest.mark.root, pytest.mark.slow, needs("nginx")]

SIZE = 5_000_000
BAR = 0.15
"""Most that the rates of kernel and model may differ."""


def asked(queue: dict[str, Any], http: dict[str, Any], size: int, sysctl: dict[str, int]) -> Experiment:
    return parse(
        {
            "name": "ecn",
            "server": {"kind": "nginx", "congestion": "cubic", "sysctl": sysctl},
            "workload": {"kind": "single", "size": f"{size}B"},
            "clients": [
                {
                    "count": 2,
                    "rtt": "40ms",
                    "bandwidth": "20Mbit/s",
                    "queue": queue,
                    "tcp": {"ecn": True},
                    "http": {"requests_per_connection": 1, **http},
                }
            ],
            "measure": {"warmup": "1s", "duration": "20s", "runs": 1},
        }
    )


def links(tables: Any, way: str) -> pl.DataFrame:
    rows = pl.DataFrame(tables["links"])
    return rows.filter((pl.col("link") != "shared") & (pl.col("direction") == way))


DOWN: dict[str, Any] = {"http": {}, "size": SIZE}
UP: dict[str, Any] = {"http": {"method": "POST", "body": "5MB"}, "size": 200}
CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    **{f"{kind} down": ("down", DOWN, kind) for kind in ("red", "codel", "fq-codel", "pie")},
    "codel up": ("up", UP, "codel"),
}


@pytest.mark.parametrize("case", CASES)
def test_marks_take_the_place_of_early_drops(case: str) -> None:
    way, asks, kind = CASES[case]
    transfers = asked({way: {"kind": kind, "ecn": True}}, sysctl={}, **asks)
    outcome = _core.start(json.dumps(resolve(transfers, 0, mode="sim"))).wait()
    model = json.loads(outcome.summary())

    def attempt() -> Run:
        with bed_for(transfers) as bed:
            return measure(bed, transfers)

    def wrong(run: Run) -> str | None:
        used, marked = run.summary["ecn"], links(run.tables, way)["marked"].sum()
        assert used["agreed"] == used["connections"] > 0
        # What reaches the clients with a mark, or lets their windows fall, was marked on this link.
        assert marked >= (used["marked"] if way == "down" else used["reduced"]) > 0
        assert links(run.tables, way)["dropped_early"].sum() == 0
        if way == "down":
            # The kernel has heard of the marks, and has sent nothing again.
            assert run.summary["tcpext"]["TCPDeliveredCE"] > 0
            assert run.summary["tcpext"]["RetransSegs"] == 0
        if abs(model["throughput"] / run.summary["throughput"] - 1) <= BAR:
            return None
        return f"{run.summary['throughput']:.2f} a second with the kernel, {model['throughput']:.2f} with the model"

    conclusive(attempt, wrong, lambda run: run.disturbed)


def test_a_kernel_that_refuses_ecn_has_its_packets_dropped() -> None:
    refused = asked({"down": {"kind": "codel", "ecn": True}}, sysctl={"net.ipv4.tcp_ecn": 0}, **DOWN)
    with bed_for(refused) as bed:
        run = measure(bed, refused)
    used = run.summary["ecn"]
    assert (used["agreed"], used["marked"], used["reduced"]) == (0, 0, 0)
    assert used["connections"] > 0
    assert links(run.tables, "down")["dropped_early"].sum() > 0
