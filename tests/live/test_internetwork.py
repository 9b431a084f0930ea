"""A backbone of four routers before a kernel: what ping, traceroute, tracepath, mtr and tshark see of it."""

from __future__ import annotations

import math
import re
import statistics
from pathlib import Path

import pytest

from measuring import conclusive
from waspbench.topology import resolved

from .harness import needs, tshark
from .probing import Hops, Seen, addresses, backbone, seen_beside

PROGRAMS = ("nginx", "nsenter", "ip", "ping", "traceroute", "tracepath", "mtr")
pytestmark = [pytest.mark.root, pytest.mark.slow, needs(*PROGRAMS)]

NEAR = 0.3
"""Milliseconds that the median round trip to a router or client may take beyond the configured delays."""
FAR = [10.0, 20.0, 30.0, 40.0, 40.2]
"""Milliseconds to each hop: four routers, and a client behind 0.1 ms in each direction."""
MTU = 1_000
"""Of the links between routers. The device and the clients have 1,500."""
WIDE = ("clients.homes.mtu=1500", f"network.link.mtu={MTU}")


@needs("tcpdump", "tshark", "ethtool")
def test_each_program_sees_each_hop_at_its_distance_and_the_path_mtu(tmp_path: Path) -> None:
    # Responses that fit every link do not teach the kernel the MTU before tracepath does.
    asked = backbone(*WIDE, "workload.size=100B", "measure.duration=25s")
    at = addresses(resolved(asked))
    far, routers = at["homes-r4"], [at[f"r{number}"] for number in range(1, 5)]
    trace = ["traceroute", "-n", "-q", "5", "-w", "5", "-z", "0.02", "-N", "1"]
    mtr = ["mtr", "-n", "-c", "20", "-i", "0.05", "--gracetime", "2"]
    ping = ["ping", "-n", "-c", "20", "-i", "0.05", "-W", "5"]
    traced = {
        "udp": [*trace, far],
        "icmp": [*trace, "-I", far],
        "tcp": [*trace, "-T", far],
        "long": [*trace, far, "3000"],
    }
    pinged = {
        "ping-router": [*ping, at["r3"]],
        "ping": [*ping, far],
        "ping-4000-router": [*ping, "-s", "4000", at["r4"]],
        "ping-4000": [*ping, "-s", "4000", far],
    }
    commands = {
        "tracepath": ["tracepath", "-n", far],
        "known": ["ip", "route", "get", far],
        "mtr": [*mtr, "--report", far],
        "mtr-udp": [*mtr, "--report", "--udp", far],
        "probes": [*mtr, "--raw", far],
        "router": [*trace, at["r4"]],
    }
    packets = tmp_path / "packets"

    def attempt() -> Seen:
        seen = seen_beside(asked, traced | commands | pinged, packets=packets)
        assert learnt(seen, [*routers, far]) == MTU, seen.printed
        if not seen.captured.missed:
            nothing_is_malformed(packets, {*routers, far})
        return seen

    def traces(seen: Seen) -> dict[str, Hops]:
        return {name: seen.traced(name) for name in (*traced, "router")} | {"probes": seen.probed("probes")}

    def unanswered(seen: Seen) -> str | None:
        path = [*routers, far]
        expected = {name: [(address, 5) for address in path] for name in traced}
        expected |= {"router": [(address, 5) for address in routers], "probes": [(address, 20) for address in path]}
        answers = {name: [(address, len(ms)) for address, ms in hops] for name, hops in traces(seen).items()}
        whole = {name: answers[name] == hops for name, hops in expected.items()}
        whole |= {name: seen.reported(name) == [(address, 0.0) for address in path] for name in ("mtr", "mtr-udp")}
        whole |= {name: "20 received, 0% packet loss" in seen.printed[name] for name in pinged}
        return next((seen.printed[name] for name, is_whole in whole.items() if not is_whole), None)

    def apart(seen: Seen) -> str | None:
        times = {(name, hop): (ms, FAR[hop]) for name, hops in traces(seen).items() for hop, (_, ms) in enumerate(hops)}
        distances = zip(pinged, (FAR[2], FAR[4], FAR[3], FAR[4]), strict=True)
        times |= {(name, 0): (seen.answered(name), ms) for name, ms in distances}
        medians = {place: (statistics.median(ms), asked_for) for place, (ms, asked_for) in times.items()}
        far_off = {place: pair for place, pair in medians.items() if not pair[1] <= pair[0] <= pair[1] + NEAR}
        return f"median round trips and what was asked for: {far_off}" if far_off else None

    def wrong(seen: Seen) -> str | None:
        return seen.incomplete or unanswered(seen) or apart(seen)

    conclusive(attempt, wrong, lambda seen: seen.run.disturbed)


def learnt(seen: Seen, hops: list[str]) -> int:
    """The MTU of the path that tracepath tells and the kernel knows from then on."""
    lines = seen.printed["tracepath"]
    assert re.findall(r"pmtu (\d+)", lines) == ["1500", str(MTU), str(MTU)], lines
    told = re.findall(r"^ *\d+: +(\S+) +[\d.]+ms", lines, re.MULTILINE)
    assert list(dict.fromkeys(told)) == hops, lines
    end = re.search(r"Resume: pmtu (\d+) hops (\d+) back (\d+)", lines)
    assert end is not None, lines
    assert end.group(2, 3) == (str(len(hops)), str(len(hops))), lines
    assert f"mtu {end[1]}" in seen.printed["known"], seen.printed["known"]
    return int(end[1])


def nothing_is_malformed(packets: Path, others: set[str]) -> None:
    """Holds a capture to be valid, and to have errors from routers and the client, and fragments in both directions."""
    checks = {f"{name}.check_checksum": "TRUE" for name in ("ip", "udp", "tcp")}
    alone = checks | {"tcp.desegment_tcp_streams": "FALSE"}
    bad = " || ".join(f"{name}.checksum.status == Bad" for name in ("ip", "udp", "tcp", "icmp"))
    wrong = f"_ws.malformed || _ws.expert.group == malformed || tcp.options.unknown || {bad}"
    assert tshark(packets, wrong, "frame.number", "_ws.col.Info", options=alone) == []
    # Of a packet in a packet tshark tells the fields of both.
    senders = tshark(packets, "icmp.checksum.status == Good", "ip.src")
    assert {source.partition(",")[0] for (source,) in senders} >= others
    codes = tshark(packets, "icmp.type == 3 || icmp.type == 11", "icmp.code")
    assert {code.partition(",")[0] for (code,) in codes} >= {"0", "3", "4"}
    assert len(tshark(packets, "!icmp && udp.checksum.status == Good", "frame.number", options=alone)) >= 40
    whole = "!(icmp.type == 3 || icmp.type == 11)"
    for direction in ("ip.src", "ip.dst"):
        for kind in ("ip.flags.mf == 1", "tcp.len > 0 && tcp.checksum.status == Good", "ip.checksum.status == Good"):
            found = tshark(packets, f"{direction} == 198.18.0.1 && {whole} && {kind}", "frame.number", options=alone)
            assert len(found) >= 40, f"{len(found)} packets with {direction} of the server have {kind}"


LOSS = 0.1
"""Of packets on each link between two routers, in each direction."""
PROBES = 400


def test_mtr_and_ping_lose_what_the_links_lose() -> None:
    loss = ("network.link.loss.model=independent", f"network.link.loss.rate={LOSS}")
    asked = backbone(*WIDE, *loss, "measure.duration=25s")
    at = addresses(resolved(asked))
    on_path = [*(at[f"r{number}"] for number in range(1, 5)), at["homes-r4"]]
    often = ["-n", "-c", str(PROBES)]
    commands = {
        "mtr": ["mtr", *often, "-i", "0.02", "--report", "--gracetime", "2", on_path[4]],
        "ping": ["ping", *often, "-i", "0.01", "-W", "2", on_path[2]],
    }

    def wrong(seen: Seen) -> str | None:
        if seen.incomplete:
            return seen.incomplete
        reported = seen.reported("mtr")
        if [address for address, _ in reported] != on_path:
            return seen.printed["mtr"]
        ping = re.search(rf"{PROBES} packets transmitted, (\d+) received", seen.printed["ping"])
        assert ping is not None, seen.printed["ping"]
        # Each link between routers is crossed in both directions.
        crossed = [0, 2, 4, 6, 6, 4]
        lost = [*(percent / 100 for _, percent in reported), 1 - int(ping[1]) / PROBES]
        for links, share in zip(crossed, lost, strict=True):
            expected = 1 - (1 - LOSS) ** links
            sigma = math.sqrt(expected * (1 - expected) / PROBES)
            if abs(share - expected) > 4 * sigma:
                return f"{share} lost over {links} links in place of {expected}: {seen.printed}"
        return None

    conclusive(lambda: seen_beside(asked, commands), wrong, lambda seen: seen.run.disturbed)
