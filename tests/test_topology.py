"""The network of an experiment as tables and as drawings, and ``wasp topology``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from waspbench.cli.app import invoke
from waspbench.experiment.load import load
from waspbench.tabular import rate_text
from waspbench.topology import Topology, dot, mermaid, notes, queue_text, resolved, tables

EXAMPLES = Path(__file__).parents[1] / "examples"
BOTTLENECKS = EXAMPLES / "two-bottlenecks.toml"
BACKBONE = EXAMPLES / "backbone.toml"


@pytest.fixture(scope="module")
def two() -> Topology:
    return resolved(load(BOTTLENECKS))


def test_a_group_is_told_its_way_its_round_trip_time_and_its_bottlenecks(two: Topology) -> None:
    far, near = two.groups
    assert [(hop.link, hop.direction) for hop in far.up.links] == [
        ("far", "up"),
        ("outer", "forward"),
        ("inner", "forward"),
        ("server", "up"),
    ]
    assert (far.rtt_ns, near.rtt_ns) == (40_000_000, 20_000_000)
    assert [hop.link for hop in far.down.bottlenecks] == ["outer"]
    assert (near.down.rate_bps, near.mtu, near.first_address) == (20_000_000, 1500, "198.18.0.6")


def test_round_trip_times_along_a_backbone_are_those_of_the_paper() -> None:
    for delay in (1, 8, 32):
        network = resolved(load(BACKBONE, [f"network.link.delay={delay}ms"]))
        assert [group.rtt_ns for group in network.groups] == [2_000_000 * i * delay + 200_000 for i in (1, 2, 3, 4)]


def test_the_mtu_of_a_group_is_the_least_of_its_links() -> None:
    narrow = resolved(load(BOTTLENECKS, ["network.links.outer.forward.mtu=1400", "network.links.inner.mtu=1300"]))
    far, near = narrow.groups
    assert (far.mtu, near.mtu) == (1300, 1300)
    mtus = {(link.link, link.direction): link.mtu for link in narrow.links}
    assert (mtus["outer", "forward"], mtus["outer", "backward"], mtus["server", "down"]) == (1400, None, 1500)


def test_tables_have_a_line_for_each_direction_and_group(two: Topology) -> None:
    (_, nodes), (_, links), (_, groups) = tables(two)
    assert nodes.cells[2:] == [["core", "198.18.0.12", "none", "none"], ["server", "198.18.0.1", "none", "none"]]
    assert links.cells[:2] == [
        ["outer", "forward", "village", "town", "10 Mbit/s", "10 ms", "unlimited", "100,000 B", "nothing"],
        [
            "outer",
            "backward",
            "town",
            "village",
            "10 Mbit/s",
            "10 ms",
            "unlimited",
            "100,000 B",
            "nothing",
        ],
    ]
    assert len(links.cells) == 2 * (2 + 1 + 2)
    assert groups.cells[1] == [
        "near",
        "4",
        "town",
        "198.18.0.6 to 198.18.0.9",
        "20 ms",
        "1500",
        "20 Mbit/s (inner forward)",
        "20 Mbit/s (inner backward)",
        "near up, inner forward, server up",
        "server down, inner backward, near down",
    ]


def test_drawings_have_every_node_link_and_group(two: Topology) -> None:
    assert mermaid(two).splitlines() == [
        "flowchart LR",
        '  n0("village<br>198.18.0.10")',
        '  n1("town<br>198.18.0.11")',
        '  n2("core<br>198.18.0.12")',
        '  n3["server<br>198.18.0.1"]',
        '  g0[/"far: 4 clients, RTT 40 ms"/]',
        "  g0 --- n0",
        '  g1[/"near: 4 clients, RTT 20 ms"/]',
        "  g1 --- n1",
        '  n0 ---|"outer: 10 Mbit/s, 10 ms"| n1',
        '  n1 ---|"inner: 20 Mbit/s, 5 ms"| n2',
        '  n2 ---|"server: 0 ms"| n3',
    ]
    graph = dot(two)
    assert graph.startswith("graph network {\n")
    assert graph.endswith("}\n")
    for line in (
        '"village" [label="village\\n198.18.0.10"];',
        '"server" [label="server\\n198.18.0.1" shape=box];',
        '"at village" -- "village";',
        '"village" -- "town" [label="outer: 10 Mbit/s, 10 ms"];',
    ):
        assert f"  {line}\n" in graph


def test_a_drawing_of_many_groups_says_how_many_more(tmp_path: Path) -> None:
    file = tmp_path / "many.toml"
    file.write_text('name = "many"\n' + "".join(f'[[clients]]\nname = "g{n}"\ncount = 1\n' for n in range(9)))
    network = resolved(load(file, ["network.shared.down.rate=1Mbit/s"]))
    text = mermaid(network)
    assert [f"g{number}: 1 clients" in text for number in (5, 6)] == [True, False]
    assert "<br>and 3 more groups" in text
    assert 'n0 ---|"shared: to server 0 ms, to router 1 Mbit/s, 0 ms"| n1' in text


def test_what_links_do_is_told_with_its_values() -> None:
    settings = ["network.link.loss=2%", "network.link.forward.jitter=1ms", "clients.reorder.up=1%"]
    network = resolved(load(BACKBONE, settings))
    does = {(link.link, link.direction): link.does for link in network.links}
    assert does["b2", "forward"] == ["loss 2% two-state (p=1.327% r=65%)", "jitter 1ms normal"]
    assert does["b3", "backward"] == ["loss 2% two-state (p=1.327% r=65%)"]
    assert does["server", "up"] == []
    assert does["homes-r2", "up"] == ["reorder 1% by 3"]
    kinds = [link.kind for link in network.links]
    assert kinds == ["between"] * 6 + ["server"] * 2 + ["access"] * 8


def test_links_that_nobody_crosses_are_noted() -> None:
    assert notes(resolved(load(BOTTLENECKS))) == []
    settings = ["network.links.slow.from=village", "network.links.slow.to=core", "network.links.slow.delay=90ms"]
    assert notes(resolved(load(BOTTLENECKS, settings))) == [
        "no packets of clients or server cross slow forward, slow backward"
    ]


def test_routes_that_no_packet_takes_and_a_router_that_is_silent_are_noted(tmp_path: Path) -> None:
    settings = ["network.nodes.village.routes.near=outer", "network.nodes.core.routes.near=inner"]
    settings += ["network.nodes.town.routes.server=inner", "network.nodes.village.routes.server=outer"]
    assert notes(resolved(load(BOTTLENECKS, settings))) == [
        "no packets of clients or server take the static routes from village to near via outer"
    ]
    file = tmp_path / "full.toml"
    file.write_text('name = "full"\nclients = [{ count = 1 }]\nnetwork = { prefix = "10.0.0.0/30" }\n')
    assert notes(resolved(load(file))) == [
        "no address is left in network.prefix for a router, which sends no ICMP messages: router"
    ]


def test_ports_and_static_routes_are_told() -> None:
    settings = [
        "network.nodes.core.routes.near=inner",
        "network.links.inner.to_address=198.18.9.2",
        "network.nodes.village.subnet=198.18.4.0/24",
        "clients.near.count=1",
    ]
    network = resolved(load(BOTTLENECKS, settings))
    assert [node.address for node in network.nodes] == ["198.18.4.1", "198.18.0.3", "198.18.0.4", "198.18.0.1"]
    inner = network.links[2]
    assert (inner.from_address, inner.to_address) == ("198.18.0.3", "198.18.9.2")
    access = network.links[-2]
    assert (access.from_, access.from_address, access.to_address) == ("near", None, "198.18.0.3")
    (_, nodes), (_, links), (_, groups) = tables(network)
    assert nodes.cells[::2] == [
        ["village", "198.18.4.1", "198.18.4.0/24", "none"],
        ["core", "198.18.0.4", "none", "near via inner"],
    ]
    assert links.cells[2][2:4] == ["town", "core (198.18.9.2)"]
    assert [cells[3] for cells in groups.cells] == ["198.18.4.2 to 198.18.4.5", "198.18.0.2"]


def test_texts_of_rates_and_queues() -> None:
    assert [rate_text(bps) for bps in (None, 500, 64_000, 1_475_000, 10**10)] == [
        "unlimited",
        "500 bit/s",
        "64 kbit/s",
        "1.475 Mbit/s",
        "10 Gbit/s",
    ]
    assert queue_text({"kind": "codel", "packets": 1000, "bytes": "2MB"}) == "codel (bytes=2MB)"
    assert queue_text({"kind": "drop-tail", "packets": 50, "bytes": None}) == "drop-tail (packets=50)"
    assert queue_text(None) == "unlimited"


def test_the_command_prints_tables_drawings_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["topology", str(BOTTLENECKS)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Nodes\n\n  node ")
    assert "\n\nGroups of clients, and their paths to the server and back\n\n" in printed
    assert "Note: this is the first of 3 points of the sweep: network.links.inner.queue=" in printed
    assert invoke(["topology", str(BOTTLENECKS), "--json", "--set", "network.links.inner.delay=6ms"]) == 0
    assert json.loads(capsys.readouterr().out)["links"][2]["delay_ns"] == 6_000_000
    assert invoke(["topology", str(BOTTLENECKS), "--format", "dot"]) == 0
    assert capsys.readouterr().out.startswith("graph network {")


def test_the_command_refuses_what_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["topology", str(BOTTLENECKS), "--set", "clients.far.at=city"]) == 2
    expected = 'wasp: clients.far.at: "city"; there is no such node; valid here: village, town, core'
    assert capsys.readouterr().err.startswith(expected)
    assert invoke(["topology", str(BOTTLENECKS), "--json", "--format", "dot"]) == 2
    assert "--format" in capsys.readouterr().err


CROSS = EXAMPLES / "cross-traffic.toml"
OTHERS = "network.cross_traffic.others"


def test_cross_traffic_is_told_with_its_mean_rate_and_where_it_has_no_effect_or_too_much() -> None:
    network = resolved(load(CROSS, [f"{OTHERS}.rate=18Mbit/s"]))
    [others] = network.cross_traffic
    assert (others.link, others.direction, others.mean_bps, others.packet_bytes) == ("shared", "down", 9e6, 1_000)
    title, listing = tables(network)[-1]
    law = "pareto shape=1.5 scale=100ms"
    sends = f"18Mbit/s on-off (on {law}, off {law}), packets of 1000B"
    assert (title, listing.cells) == ("Cross traffic", [["others", "shared", "down", "9 Mbit/s", sends]])
    assert notes(network) == []
    too_much = resolved(load(CROSS, [f"{OTHERS}.rate=50Mbit/s"]))
    said = "cross traffic alone offers as much as the link carries, or more: shared down (25 Mbit/s for 20 Mbit/s)"
    assert notes(too_much) == [said]
    idle = resolved(load(CROSS, [f"{OTHERS}.rate=50Mbit/s", f"{OTHERS}.direction=up"]))
    assert notes(idle) == ["cross traffic without effect, because its link has no rate: others"]
    assert notes(resolved(load(CROSS, [f"{OTHERS}.direction=up"]))) == []
    at_homes = resolved(load(CROSS, [f"{OTHERS}.link=homes", f"{OTHERS}.rate=2Mbit/s", f"{OTHERS}.flows=9"]))
    name, *_, mean, sends = tables(at_homes)[-1][1].cells[0]
    assert (name, mean) == ("others", "1 Mbit/s on each of 4 links")
    assert sends.endswith(", packets of 1000B in 9 flows")
