"""Kinds of network in the experiment file: what holds for which link, where groups are, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from waspbench.errors import InputError
from waspbench.experiment import Experiment, apply, parse
from waspbench.experiment.resolve import accept, resolve
from waspbench.experiment.sweep import points

BACKBONE: dict[str, Any] = {"kind": "backbone", "subnetworks": 3, "link": {"delay": "1ms"}}
WAN: dict[str, Any] = {"from": "edge", "to": "core", "delay": "1ms"}
GRAPH: dict[str, Any] = {"kind": "graph", "nodes": ["edge", "core"], "links": {"wan": WAN}}
STAR: dict[str, Any] = {"name": "x", "clients": [{}]}
NO_NODES: list[Any] = ["edge", [], {}, [{"name": "a"}], ["edge", 1], 5]
AT_CORE: dict[str, Any] = {"name": "x", "server": {"at": "core"}}


def along(**group: Any) -> dict[str, Any]:
    return {"name": "x", "network": BACKBONE, "clients": [group]}


def drawn(network: dict[str, Any] = GRAPH, **group: Any) -> dict[str, Any]:
    return AT_CORE | {"network": network, "clients": [{"at": "edge", **group}]}


def linked(**options: Any) -> dict[str, Any]:
    return drawn(GRAPH | {"links": {"wan": WAN | options}})


def noted(**core: Any) -> dict[str, Any]:
    """With such options of the node core."""
    return drawn(GRAPH | {"nodes": {"edge": {}, "core": core}})


def network_of(document: dict[str, Any]) -> dict[str, Any]:
    network: dict[str, Any] = resolve(parse(document), mode="sim")["network"]
    return network


def test_an_option_of_a_link_holds_for_both_directions_unless_one_has_its_own() -> None:
    link = {"rate": "8Mbit/s", "delay": "5ms", "loss": "1%", "forward": {"rate": "1Mbit/s", "queue": "codel"}}
    wan = network_of(drawn(GRAPH | {"links": {"wan": WAN | link}}))["links"][0]
    assert (wan["name"], wan["from"], wan["to"]) == ("wan", "edge", "core")
    forward, backward = wan["forward"], wan["backward"]
    assert (forward["rate"], backward["rate"]) == ("1Mbit/s", "8Mbit/s")
    assert forward["delay"] == backward["delay"] == "5ms"
    assert forward["loss"] == backward["loss"] is not None
    assert (forward["queue"]["kind"], backward["queue"]) == ("codel", None)
    shared = network_of(STAR | {"network": {"shared": {"delay": "5ms", "down": {"delay": "1ms"}}}})
    assert {way: link["delay"] for way, link in shared["shared"].items()} == {"up": "5ms", "down": "1ms"}


def test_a_star_is_told_as_before() -> None:
    network = network_of(STAR)
    assert network.keys() == {"prefix", "shared", "icmp", "traces"}
    kind = network_of(STAR | {"network": {"kind": "star"}})
    assert kind == network


def test_a_group_at_all_routers_is_one_at_each() -> None:
    groups = parse(along(name="homes", at="all", count=4)).clients
    assert [(group.name, group.at, group.count, group.rtt) for group in groups] == [
        ("homes-r1", "r1", 4, "0ms"),
        ("homes-r2", "r2", 4, "0ms"),
        ("homes-r3", "r3", 4, "0ms"),
    ]
    assert [group.name for group in parse(along(at="all")).clients] == ["clients-r1", "clients-r2", "clients-r3"]
    far = parse(along(at="r3", rtt="9ms")).clients[0]
    assert (far.name, far.at, far.rtt) == ("clients", "r3", "9ms")
    assert parse(along(at="r1", profile="lte")).clients[0].rtt != "0ms"
    assert parse({"name": "x", "clients": [{}]}).clients[0].rtt == "100ms"


def test_what_is_written_out_is_read_again() -> None:
    for document in (
        along(at="all"),
        drawn(),
        noted(routes={"clients": "wan"}),
        STAR | {"network": {"shared": {"delay": "1ms"}}},
    ):
        experiment = parse(document)
        again = Experiment.model_validate(experiment.model_dump(by_alias=True))
        assert resolve(again, mode="sim") == resolve(experiment, mode="sim")


def test_settings_and_sweeps_name_links_and_groups() -> None:
    document = apply(drawn(), ["network.links.wan.rate=8Mbit/s", "network.links.wan.backward.queue.kind=pie"])
    wan = network_of(document)["links"][0]
    assert wan["forward"]["rate"] == wan["backward"]["rate"] == "8Mbit/s"
    assert wan["backward"]["queue"]["kind"] == "pie"
    sweep = {"network.link.delay": ["1ms", "2ms"], "clients.homes.count": [1, 2]}
    found = [point.experiment for point in points(along(name="homes", at="all") | {"sweep": sweep})]
    delays = [each.network.resolve()["link"]["forward"]["delay"] for each in found]
    assert (delays, [each.clients[2].count for each in found]) == (["1ms", "1ms", "2ms", "2ms"], [1, 2, 1, 2])


def test_nodes_are_a_list_of_names_or_tables_by_name() -> None:
    assert network_of(drawn())["nodes"] == [{"name": "edge"}, {"name": "core"}]
    assert network_of(drawn(GRAPH | {"nodes": {"edge": {}, "core": {}}})) == network_of(drawn())
    # Results do not differ in how the file writes nodes.
    assert parse(drawn(GRAPH | {"nodes": {"edge": {}, "core": {}}})) == parse(drawn())
    document = apply(drawn(), ["network.nodes.core.address=198.18.4.1", "network.nodes.core.routes.clients=wan"])
    core = network_of(document)["nodes"][1]
    assert core == {"name": "core", "address": "198.18.4.1", "routes": [{"to": "clients", "via": "wan"}]}
    sweep = {"network.nodes.core.address": ["198.18.4.1", "198.18.5.1"]}
    found = [point.experiment.network.nodes for point in points(drawn() | {"sweep": sweep})]
    assert [nodes["core"].address for nodes in found if nodes] == ["198.18.4.1", "198.18.5.1"]
    # A node may have the name of a direction.
    up = {"nodes": ["up", "core"], "links": {"wan": WAN | {"from": "up"}}}
    document = apply(drawn(GRAPH | up, at="up"), ["network.nodes.up.subnet=198.18.4.0/24"])
    assert network_of(document)["nodes"] == [{"name": "up", "subnet": "198.18.4.0/24"}, {"name": "core"}]


def test_addresses_lie_in_the_prefix_and_the_server_has_the_first() -> None:
    scenario = resolve(parse(STAR | {"network": {"prefix": "10.0.0.0/8"}}), mode="live")
    assert (scenario["network"]["prefix"], scenario["server"]["address"]) == ("10.0.0.0/8", "10.0.0.1")
    named = [
        drawn(),
        STAR | {"network": {"prefix": "198.18.0.0/17"}},
        noted(subnet="198.18.4.0/24"),
        linked(from_address="198.18.4.1"),
        noted(routes={"clients": "wan"}),
    ]
    assert [parse(each).network.names_addresses for each in named] == [False, False, True, True, False]
    assert parse(STAR | {"network": {"prefix": "10.0.0.0/8"}}).network.names_addresses


def test_the_engine_is_told_the_limit_of_icmp_errors() -> None:
    assert network_of(STAR)["icmp"] == {"rate": "1000/s", "burst": 100}
    assert network_of(STAR | {"network": {"icmp": {"burst": 5}}})["icmp"] == {"rate": "1000/s", "burst": 5}


def test_a_direction_may_have_the_other_of_rate_and_trace() -> None:
    trace = {"file": "lte.down"}
    link = parse(linked(rate="8Mbit/s", backward={"trace": trace})).network.directions()
    told = {path.rpartition(".")[2]: (direction.rate, direction.trace is not None) for path, direction in link}
    assert told == {"forward": ("8Mbit/s", False), "backward": (None, True)}
    link = parse(linked(trace=trace, backward={"rate": "8Mbit/s"})).network.directions()
    told = {path.rpartition(".")[2]: (direction.rate, direction.trace is not None) for path, direction in link}
    assert told == {"forward": (None, True), "backward": ("8Mbit/s", False)}


def test_a_queue_for_both_directions_is_for_those_with_a_rate() -> None:
    found = network_of(STAR | {"network": {"shared": {"queue": "100KB", "down": {"rate": "1Mbit/s"}}}})["shared"]
    assert (found["up"]["queue"], found["down"]["queue"]) == (None, "100KB")
    accept(parse(STAR | {"network": {"shared": {"queue": "100KB", "down": {"rate": "1Mbit/s"}}}}), "sim")


def test_one_router_has_no_link_but_that_to_the_server() -> None:
    link = {"delay": "1ms", "loss": "1%", "rate": "1Mbit/s"}
    network = parse(along(at="r1") | {"network": BACKBONE | {"subnetworks": 1, "link": link}}).network
    assert [direction.options() for _, direction in network.directions()] == [{"delay": "1ms"}] * 2


def test_a_problem_of_a_group_at_all_routers_is_told_once() -> None:
    document = along(name="homes", at="all", count=0)
    document["clients"].append({"name": "homes-r9", "at": "r1", "count": 0})
    with pytest.raises(InputError) as refused:
        parse(document)
    assert [problem.where for problem in refused.value.problems] == ["clients.homes.count", "clients.homes-r9.count"]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (along(at="all") | {"network": {"kind": "ring"}}, 'network.kind: "ring": must be one of star, backbone, graph'),
        (along() | {"network": {"kind": "backbone"}}, 'network.subnetworks: missing; kind = "backbone" needs'),
        (
            along() | {"network": BACKBONE | {"shared": {}}},
            'network.shared: is for kind = "star", and this is "backbone"',
        ),
        (
            drawn({"kind": "graph"}),
            'network.nodes: missing; kind = "graph" needs the names of its nodes, such as ["edge", "core"]',
        ),
        *(
            (
                drawn(GRAPH | {"nodes": wrong}),
                'must be a list of names, such as ["edge", "core"], or tables by name, such',
            )
            for wrong in NO_NODES
        ),
        (drawn(GRAPH | {"nodes": ["edge", "core", "edge"]}), ": two nodes have the name edge; names must differ"),
        (
            drawn(GRAPH | {"nodes": ["a b"]}),
            "network.nodes.\"a b\": \"a b\": must be letters, digits, '_' and '-', and begin",
        ),
        (noted(adress="10.0.0.1"), "network.nodes.core.adress: unknown field; did you mean address?"),
        (noted(address="10.0.0"), 'network.nodes.core.address: "10.0.0": must be an IPv4 address, such as 198.18.4.1'),
        (noted(routes={"server": "a b"}), 'network.nodes.core.routes.server: "a b": must be letters, digits'),
        *(
            (
                noted(subnet=subnet),
                f"network.nodes.core.subnet: {json.dumps(subnet)}: must be an IPv4 prefix of 8 to 30",
            )
            for subnet in ("10.0.0.0", "10.0.0.1/24", "10.0.0.0/31", "10.0.0.0/4", "x/24", "10.0.0.0/255.0.0.0")
        ),
        (STAR | {"network": {"prefix": "10.0.0.1/24"}}, 'network.prefix: "10.0.0.1/24": must be an IPv4 prefix of'),
        (STAR | {"network": {"icmp": {"rate": "0/s"}}}, 'network.icmp.rate: "0/s": '),
        (STAR | {"network": {"icmp": {"burst": -1}}}, "network.icmp.burst: -1: "),
        (linked(to_address="core"), 'network.links.wan.to_address: "core": must be an IPv4 address'),
        (drawn(GRAPH | {"links": [WAN]}), "must be tables by name, such as [network.links.core]"),
        (drawn(GRAPH | {"links": {"a.b": WAN}}), 'network.links."a.b": "a.b": must be letters, digits'),
        (
            drawn(GRAPH | {"links": {"queue": WAN}}),
            "network.links.queue: is a field of a link, and a link cannot be named like one",
        ),
        ({"name": "x", "clients": [{}], "network": {"links": {}}}, 'network.links: is for kind = "graph", and this is'),
        (drawn(GRAPH | {"links": {"lan": {"from": "edge", "too": "core"}}}), "network.links.lan.to: missing\n"),
        (
            drawn(GRAPH | {"links": {"wan": WAN, "xy": {"rate": "1Mbit/s"}}}),
            "network.links.xy.from: missing; other links are wan; a link has the names of two nodes, from and to",
        ),
        (
            drawn(GRAPH | {"links": {"wan": WAN, "wann": {"rate": "1Mbit/s"}}}),
            "network.links.wann.from: missing; did you mean wan? a link has the names of two nodes, from and to",
        ),
        (
            drawn(GRAPH | {"links": {"wan": WAN | {"rat": "1Mbit/s"}}}),
            "network.links.wan.rat: unknown field; did you mean rate?",
        ),
        (linked(rate=5), "network.links.wan.rate: 5: "),
        (along(at="all", count=0), "clients.count: 0: must be at least 1"),
        (
            drawn(GRAPH | {"links": {"wan": WAN | {"forward": {"loss": {"rate": "1%", "scope": "link"}}}}}),
            "network.links.wan.forward.loss.scope: ",
        ),
    ],
)
def test_impossible_networks_are_refused_by_the_field(document: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        parse(document)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"name": "x", "clients": [{"at": "r1"}]}, 'clients.at: "r1"; a star has one router'),
        (
            STAR | {"server": {"at": "r1"}},
            'server.at: is for kind = "graph", and this is "star"',
        ),
        (along(), "clients.at: missing; clients of a backbone are at one of its nodes: r1, r2, r3"),
        (along(name="homes", at="r9"), 'clients.homes.at: "r9"; there is no such node; valid here: r1, r2, r3'),
        (drawn() | {"server": {}}, "server.at: missing; the server of a graph is at one of its nodes: edge, core"),
        (
            noted(routes={"clients": "lan"}),
            'network.nodes.core.routes.clients: "lan"; the node "core" has no such link',
        ),
        (
            noted(address="10.0.0.1"),
            'network.nodes.core.address: "10.0.0.1"; must lie in network.prefix, 198.18.0.0/17',
        ),
        (
            noted(address="198.18.0.1"),
            'network.nodes.core.address: "198.18.0.1"; is the server\'s; addresses must differ',
        ),
        (
            noted(routes={"server": "wan"}),
            'network.nodes.core.routes.server: is at "core" itself, which needs no route',
        ),
        (
            STAR | {"network": {"prefix": "10.0.0.0/30"}},
            "network.prefix: 10.0.0.0/30; has addresses for 1 clients, and there are 256",
        ),
        (STAR | {"network": {"prefix": "224.0.0.0/8"}}, 'network.prefix: "224.0.0.0/8"; has addresses of no host'),
        # An option for both directions is named where it stands.
        (linked(queue="codel"), "network.links.wan.queue: a queue never fills"),
        (
            linked(rate="1Mbit/s", queue={"kind": "codel", "target": "200ms"}),
            "network.links.wan.queue.target: 200ms; must be",
        ),
        (
            linked(backward={"queue": "codel"}),
            "network.links.wan.backward.queue: a queue never fills",
        ),
        (
            STAR | {"network": {"shared": {"queue": "codel"}}},
            "network.shared.queue: a queue never",
        ),
        (
            along(at="r1") | {"network": BACKBONE | {"link": {"queue": "codel"}}},
            "network.link.queue: a queue never",
        ),
    ],
)
def test_what_the_engine_refuses_is_named_where_it_stands(document: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        accept(parse(document), "sim")
    assert str(refused.value).startswith(said)
