"""The network of an experiment as the engine resolves it: nodes, links, and the paths of each group."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from waspbench import _core
from waspbench.experiment import Experiment
from waspbench.experiment.inputs import Inputs, described
from waspbench.experiment.network import directions_of
from waspbench.experiment.resolve import accept, resolve
from waspbench.results.formats import Record
from waspbench.results.wording import OPTIONS, besides, load, queue
from waspbench.tabular import UNLIMITED, Column, Listing, rate_text, whole

SERVER = "server"
MOST_GROUPS = 6
"""Groups at one node that a drawing names; of more it says how many."""


class Route(Record):
    """A static route, which a router takes in the place of the shortest path."""

    to: str
    """Group of clients to which packets go, or ``server``."""
    via: str
    """Name of the link over which the router sends them."""


class Node(Record):
    """A router, or the server."""

    name: str
    """Name of the node; ``server`` is the server."""
    address: str | None
    """IPv4 address. A router has it at each port for which its link names no other one. Null for the router of a star
    that has so many clients that no address of its prefix is left."""
    subnet: str | None
    """IPv4 prefix of a router and its clients, if the file gives it."""
    routes: list[Route]
    """Static routes of a router."""


class Hop(Record):
    """A direction of a link on a path."""

    link: str
    """Name of the link. The access links of a group have the name of the group."""
    direction: str
    """Direction in which packets cross the link: ``up`` or ``down`` for access links and for the link before the
    server, ``forward`` or ``backward`` for others."""


class Link(Hop):
    """One direction of a link."""

    kind: Literal["between", "server", "access"]
    """What the link joins: two nodes (``between``), a node and the server, or the clients of a group and a node
    (``access``)."""
    from_: Annotated[str, Field(alias="from")]
    """Node at which the direction begins; group of clients for an access link."""
    to: str
    """Node at which it ends; group of clients for an access link."""
    from_address: str | None
    """IPv4 address of the port at which it begins; null where that is a client's, which differs from client to
    client."""
    to_address: str | None
    """IPv4 address of the port at which it ends; null where that is a client's."""
    rate_bps: int | None
    """Rate in bits of IP packets per second, the mean rate for a rate trace; null if it is unlimited."""
    delay_ns: int
    """Propagation delay in nanoseconds."""
    mtu: int | None
    """Largest IP packet that the link carries, in bytes; null if it carries any."""
    queue: dict[str, Any] | None
    """Queue in front of the link, with the options of its kind; null if it is unlimited."""
    impairments: list[str]
    """What else the link does to packets, such as ``loss`` and ``jitter``; ``trace`` if its rate is that of a trace."""
    does: list[str] = Field(default_factory=list)
    """The same in words, with the values of the options."""


class Path(Record):
    """The path from a client to the server, or back."""

    links: list[Hop]
    """Links in the order in which packets cross them."""
    rate_bps: int | None
    """Smallest rate of these links in bits of IP packets per second; null if all are unlimited."""
    bottlenecks: list[Hop]
    """Links that have this rate."""


class Group(Record):
    """A group of clients."""

    name: str
    """Name of the group."""
    at: str
    """Node at which the clients are."""
    count: int
    """Number of clients."""
    first_address: str
    """IPv4 address of the first client; the others have the next ones."""
    last_address: str
    """IPv4 address of the last client."""
    rtt_ns: int
    """Round-trip time to the server in nanoseconds, without queues, serialisation and jitter."""
    mtu: int
    """Largest IP packet that all links of both paths carry, in bytes."""
    up: Path
    """Path from a client to the server."""
    down: Path
    """Path from the server to a client."""


class CrossTraffic(Record):
    """Cross traffic, which loads a link beside the packets of clients and server."""

    name: str
    """Name of the cross traffic."""
    link: str
    """Name of the link that it loads. The access links of a group have the name of the group."""
    direction: str
    """Direction that it loads."""
    mean_bps: float
    """Mean rate in bits of IP packets per second; for access links the rate on each of them."""
    packet_bytes: int
    """Length of its packets in bytes, headers included."""
    sends: str = ""
    """When packets come, in words."""


class Topology(Record):
    """The network of an experiment."""

    nodes: list[Node]
    """Routers, and the server."""
    links: list[Link]
    """Both directions of each link: of links between routers, of the link before the server, and of the access links of
    each group."""
    groups: list[Group]
    """Groups of clients."""
    cross_traffic: list[CrossTraffic] = Field(default_factory=list)
    """What loads links beside the packets of clients and server."""

    @property
    def between(self) -> Iterator[tuple[Link, Link]]:
        """Both directions of each link between two nodes, the server among them."""
        links = [link for link in self.links if link.kind != "access"]
        return zip(links[::2], links[1::2], strict=True)

    @property
    def server_link(self) -> str:
        """Name of the link before the server."""
        return next(link.link for link in self.links if link.kind == "server")

    @property
    def unused_routes(self) -> list[tuple[Node, Route]]:
        """Static routes that no group's packets take, each with its node."""
        begins = {(link.link, link.direction): link.from_ for link in self.links}
        met = {("server", begins[hop.link, hop.direction]) for group in self.groups for hop in group.up.links}
        met |= {(group.name, begins[hop.link, hop.direction]) for group in self.groups for hop in group.down.links}
        return [(node, route) for node in self.nodes for route in node.routes if (route.to, node.name) not in met]

    @property
    def unused(self) -> list[Link]:
        """Directions of links that no group's packets cross."""
        paths = (path for group in self.groups for path in (group.up, group.down))
        used = {(hop.link, hop.direction) for path in paths for hop in path.links}
        return [link for link in self.links if (link.link, link.direction) not in used]


def resolved(experiment: Experiment, inputs: Inputs | None = None) -> Topology:
    """The network of an experiment. ``inputs`` are the contents of the files that it names; without them these are
    read.

    Raises:
        InputError: the engine cannot run the experiment.
    """
    accept(experiment, "sim", inputs=inputs)
    scenario = resolve(experiment, mode="sim", inputs=inputs)
    found = Topology.model_validate_json(_core.topology(json.dumps(scenario)))
    does = _does(described(scenario))
    links = [
        link.model_copy(update={"does": does.get((_written_as(link, experiment), link.direction), [])})
        for link in found.links
    ]
    sends = [load(traffic) for traffic in scenario["network"].get("cross_traffic") or ()]
    loads = [each.model_copy(update={"sends": text}) for each, text in zip(found.cross_traffic, sends, strict=True)]
    return found.model_copy(update={"links": links, "cross_traffic": loads})


def _idle(network: Topology) -> list[str]:
    """Cross traffic that changes nothing: packets do not wait for its link, which draws nothing for them either."""
    idle = {(link.link, link.direction) for link in network.links if link.rate_bps is None and not link.impairments}
    return [each.name for each in network.cross_traffic if each.mean_bps and (each.link, each.direction) in idle]


def _too_much(network: Topology) -> list[str]:
    """Links that cross traffic alone would fill, each with its direction."""
    offered: dict[tuple[str, str], float] = {}
    for each in network.cross_traffic:
        place = each.link, each.direction
        offered[place] = offered.get(place, 0.0) + each.mean_bps
    return [
        f"{link.link} {link.direction} ({rate_text(round(bps))} for {rate_text(link.rate_bps)})"
        for link in network.links
        if link.rate_bps is not None and (bps := offered.get((link.link, link.direction), 0.0)) >= link.rate_bps
    ]


def _does(scenario: Mapping[str, Any]) -> dict[tuple[str, str], list[str]]:
    """What each direction of each link does to packets beside their rate, queue and delay, by link and direction."""
    shared = {(name, way): besides(link) for name, way, link in directions_of(scenario["network"])}
    own = {
        (group["name"], way): besides({name: (group.get(name) or {}).get(way) for name in OPTIONS})
        for group in scenario["clients"]
        for way in ("up", "down")
    }
    return shared | own


def _written_as(link: Link, experiment: Experiment) -> str:
    """The name of a link by which a scenario has its options: all of a backbone are one."""
    is_of_backbone = experiment.network.kind == "backbone" and link.kind == "between"
    return "link" if is_of_backbone else link.link


def notes(network: Topology) -> list[str]:
    """What else is to be said of a network."""
    unused = ", ".join(f"{link.link} {link.direction}" for link in network.unused)
    routes = ", ".join(f"{node.name} to {route.to} via {route.via}" for node, route in network.unused_routes)
    silent = ", ".join(node.name for node in network.nodes if node.address is None)
    told = {
        "no packets of clients or server cross": unused,
        "no packets of clients or server take the static routes from": routes,
        "no address is left in network.prefix for a router, which sends no ICMP messages:": silent,
        "cross traffic without effect, because its link has no rate:": ", ".join(_idle(network)),
        "cross traffic alone offers as much as the link carries, or more:": ", ".join(_too_much(network)),
    }
    return [f"{text} {what}" for text, what in told.items() if what]


def tables(network: Topology) -> list[tuple[str, Listing]]:
    """Nodes, links by direction, and groups, each with a title."""
    told = network.model_dump(by_alias=True)
    own = {node.name: node.address for node in network.nodes}
    for link in told["links"]:
        link |= {f"{end}_port": _port(link[end], link[f"{end}_address"], own) for end in ("from", "to")}
    clients = {group.name: group.count for group in network.groups}
    loads = [{**load, "each": _on_each(clients.get(load["link"], 1))} for load in told["cross_traffic"]]
    return [
        ("Nodes", Listing(_NODES, told["nodes"])),
        ("Links", Listing(_LINKS, told["links"])),
        ("Groups of clients, and their paths to the server and back", Listing(_GROUPS, told["groups"])),
        *([("Cross traffic", Listing(_CROSS_TRAFFIC, loads))] if loads else []),
    ]


def _on_each(links: int) -> str:
    return f" on each of {links} links" if links > 1 else ""


def _port(node: str, address: str | None, own: Mapping[str, str | None]) -> str:
    """A node at the end of a link, and the address of the port there if it is not the node's."""
    return node if address is None or address == own.get(node) else f"{node} ({address})"


def routes_text(routes: Sequence[Mapping[str, Any]]) -> str:
    """The static routes of a node."""
    return ", ".join(f"{route['to']} via {route['via']}" for route in routes) or "none"


def time_text(nanoseconds: int) -> str:
    """A time in milliseconds."""
    return f"{nanoseconds / 1e6:.6g} ms"


def queue_text(option: Mapping[str, Any] | None) -> str:
    """A queue: its discipline and its room, and the options that are not the default."""
    if option is None:
        return UNLIMITED
    if option["kind"] == "drop-tail" and option.get("packets") is None:
        return f"{_core.parse_bytes(option['bytes']):,d} B"
    return queue(option)


def hops_text(hops: Sequence[Mapping[str, Any]]) -> str:
    """The links of a path, in order."""
    return ", ".join(f"{hop['link']} {hop['direction']}" for hop in hops)


def _least(path: Mapping[str, Any]) -> str:
    """The least rate of a path, and the links that have it."""
    narrow = hops_text(path["bottlenecks"])
    return f"{rate_text(path['rate_bps'])} ({narrow})" if narrow else UNLIMITED


_NODES = {
    "name": Column("node", left=True),
    "address": Column("address", of_row=lambda row: row["address"] or "none", left=True),
    "subnet": Column("subnet", of_row=lambda row: row["subnet"] or "none", left=True),
    "routes": Column("static routes", routes_text, left=True),
}
_LINKS = {
    "link": Column("link", left=True),
    "direction": Column("direction", left=True),
    "from_port": Column("from", left=True),
    "to_port": Column("to", left=True),
    "rate_bps": Column("rate", of_row=lambda row: rate_text(row["rate_bps"])),
    "delay_ns": Column("delay", time_text),
    "mtu": Column("MTU", of_row=lambda row: str(row["mtu"] or UNLIMITED)),
    "queue": Column("queue", of_row=lambda row: queue_text(row["queue"]), left=True),
    "does": Column("besides", of_row=lambda row: ", ".join(row["does"]) or "nothing", left=True),
}


def _addresses(group: Mapping[str, Any]) -> str:
    """The addresses of the clients of a group."""
    first, last = group["first_address"], group["last_address"]
    return first if first == last else f"{first} to {last}"


_GROUPS = {
    "name": Column("group", left=True),
    "count": Column("clients", whole),
    "at": Column("at", left=True),
    "addresses": Column("addresses", of_row=_addresses, left=True),
    "rtt_ns": Column("RTT", time_text),
    "mtu": Column("MTU", str),
    "up_least": Column("bottleneck up", of_row=lambda row: _least(row["up"]), left=True),
    "down_least": Column("bottleneck down", of_row=lambda row: _least(row["down"]), left=True),
    "up": Column("path up", of_row=lambda row: hops_text(row["up"]["links"]), left=True),
    "down": Column("path down", of_row=lambda row: hops_text(row["down"]["links"]), left=True),
}


_CROSS_TRAFFIC = {
    "name": Column("cross traffic", left=True),
    "link": Column("link", left=True),
    "direction": Column("direction", left=True),
    "mean": Column("mean rate", of_row=lambda row: rate_text(round(row["mean_bps"])) + row["each"]),
    "sends": Column("sends", left=True),
}


def mermaid(network: Topology) -> str:
    """The network as a flowchart of Mermaid. The label of a link has its rate and delay, of both directions where they
    differ.
    """
    numbers = {node.name: f"n{index}" for index, node in enumerate(network.nodes)}
    lines = ["flowchart LR"]
    for node in network.nodes:
        text = _quoted("<br>".join(_label_of_node(node)))
        lines.append(f"  {numbers[node.name]}" + (f"[{text}]" if node.name == SERVER else f"({text})"))
    for index, (at, texts) in enumerate(_groups_by_node(network)):
        lines += [f"  g{index}[/{_quoted('<br>'.join(texts))}/]", f"  g{index} --- {numbers[at]}"]
    for there, back in network.between:
        lines.append(f"  {numbers[there.from_]} ---|{_quoted(_label_of_link(there, back))}| {numbers[there.to]}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return f'"{text}"'


def dot(network: Topology) -> str:
    """The network as a graph of Graphviz. The label of a link has its rate and delay, of both directions where they
    differ.
    """
    lines = ["graph network {", "  rankdir=LR;", "  node [shape=ellipse];"]
    for node in network.nodes:
        shape = " shape=box" if node.name == SERVER else ""
        lines.append(f"  {json.dumps(node.name)} [label={_lines(_label_of_node(node))}{shape}];")
    for at, texts in _groups_by_node(network):
        name = json.dumps(f"at {at}")  # no node has a blank in its name
        lines += [f"  {name} [label={_lines(texts)} shape=plaintext];", f"  {name} -- {json.dumps(at)};"]
    for there, back in network.between:
        ends = f"{json.dumps(there.from_)} -- {json.dumps(there.to)}"
        lines.append(f"  {ends} [label={json.dumps(_label_of_link(there, back))}];")
    return "\n".join([*lines, "}"]) + "\n"


def _lines(texts: Sequence[str]) -> str:
    return json.dumps("\n".join(texts))


def _label_of_node(node: Node) -> list[str]:
    return [node.name, *([node.address] if node.address else [])]


def _groups_by_node(network: Topology) -> Iterator[tuple[str, list[str]]]:
    """Each node that has groups, and what a drawing says of them, a text a line."""
    for node in network.nodes:
        groups = [group for group in network.groups if group.at == node.name]
        texts = [f"{each.name}: {each.count:,d} clients, RTT {time_text(each.rtt_ns)}" for each in groups[:MOST_GROUPS]]
        if groups:
            more = len(groups) - MOST_GROUPS
            yield node.name, [*texts, *([f"and {more} more groups"] if more > 0 else [])]


def _label_of_link(there: Link, back: Link) -> str:
    one, other = (_label_of_direction(link) for link in (there, back))
    return f"{there.link}: {one}" if one == other else f"{there.link}: to {there.to} {one}, to {back.to} {other}"


def _label_of_direction(link: Link) -> str:
    rate = "" if link.rate_bps is None else f"{rate_text(link.rate_bps)}, "
    return rate + time_text(link.delay_ns)
