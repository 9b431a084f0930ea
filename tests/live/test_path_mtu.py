"""Bodies in both directions between a kernel and emulated clients over a path with a narrow link."""

from __future__ import annotations

from typing import Any

import pytest

from waspbench.experiment import Experiment, parse

from .harness import bed_for, inside, measure

pytestmark = [pytest.mark.root, pytest.mark.slow]

BODY = "64KiB"
WITHOUT = {"sysctl": {"net.ipv4.ip_no_pmtu_disc": 1}}, {"path_mtu_discovery": False}
LEAST = {"sysctl": {"net.ipv4.route.min_pmtu": 68}}, {"min_path_mtu": 88}
USUAL: tuple[dict[str, Any], dict[str, Any]] = ({}, {})


def over_a_link(mtu: int, server: dict[str, Any], tcp: dict[str, Any]) -> Experiment:
    """Four clients that send and receive a body over a link with this MTU, a connection each time."""
    return parse(
        {
            "name": "narrow",
            "server": {"kind": "builtin", "at": "near", **server},
            "workload": {"kind": "single", "size": BODY},
            "network": {
                "kind": "graph",
                "nodes": ["far", "between", "near"],
                "links": {
                    "narrow": {"from": "far", "to": "between", "mtu": mtu, "delay": "1ms"},
                    "wide": {"from": "between", "to": "near"},
                },
            },
            "clients": [
                {
                    "name": "homes",
                    "at": "far",
                    "count": 4,
                    "rtt": "2ms",
                    "http": {"method": "POST", "body": BODY},
                    "tcp": tcp,
                }
            ],
            "measure": {"warmup": "500ms", "duration": "3s", "runs": 1},
        }
    )


@pytest.mark.parametrize(
    ("mtu", "ends", "too_big", "fragmented"),
    [
        (1500, USUAL, False, False),
        (1500, WITHOUT, False, False),
        (576, USUAL, True, False),
        (576, WITHOUT, False, True),
        (296, LEAST, True, False),
        (296, WITHOUT, False, True),
        # Neither end shortens segments for less than 552 bytes: routers fragment them.
        (296, USUAL, True, True),
    ],
)
def test_bodies_arrive_over_every_mtu_with_and_without_discovery(
    mtu: int, ends: tuple[dict[str, Any], dict[str, Any]], too_big: bool, fragmented: bool
) -> None:
    asked = over_a_link(mtu, *ends)
    learnt: list[str] = []
    with bed_for(asked) as bed:
        run = measure(bed, asked, lambda: learnt.append(inside(bed, "ip", "route", "show", "cache")))
    summary = run.summary
    outcomes, fates = summary["outcomes"], summary["fates"]
    assert outcomes["ok"] > 20, outcomes
    assert {name for name, count in outcomes.items() if count} <= {"ok", "unfinished"}, outcomes
    assert (fates["too big"] > 0, fates["fragmented"] > 0) == (too_big, fragmented), fates
    assert fates["malformed"] == fates["bad checksum"] == fates["reassembly timeout"] == 0, fates
    # Each connection of a pair knows the path from the first one on.
    assert fates["too big"] <= 2 * 4 * 10 * 2, fates
    known = {576: "mtu 576", 296: "mtu 296" if ends is LEAST else "mtu lock 552"}.get(mtu, "") if too_big else ""
    assert known in learnt[0], learnt
