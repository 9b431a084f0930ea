"""What routers and clients answer to a kernel: errors and their limit, fragments, and nothing where nobody is."""

from __future__ import annotations

from typing import Any

import pytest

from waspbench.experiment import Experiment, parse
from waspbench.topology import resolved

from .harness import needs
from .probing import addresses, backbone, seen_beside

pytestmark = [pytest.mark.root, pytest.mark.slow, needs("nginx", "nsenter", "ping")]


def test_who_is_not_there_is_unreachable_and_errors_stay_within_their_limit() -> None:
    limited = backbone("network.icmp.rate=1/h", "network.icmp.burst=3")
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
    names, values = [line.split() for line in seen.printed["ping"].splitlines()[-2:]]
    told = int(values[names.index("InTimeExcds")])
    assert 5 < told < 40, seen.printed["ping"]
    assert told < seen.run.summary["fates"]["reassembly timeout"] < 80
