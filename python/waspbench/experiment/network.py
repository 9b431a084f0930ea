"""The network of an experiment: what joins the clients' access links and the server."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from waspbench.experiment.base import Part, one_of
from waspbench.experiment.cross_traffic import CrossTraffic
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.links import BackboneLink, BothDirections, LinkDirection, NamedLink, SharedLink
from waspbench.experiment.units import Frequency, Ipv4Address, Ipv4Prefix, PlaceName
from waspbench.suggestion import hint

KINDS = ("star", "backbone", "graph")
MOST_SUBNETWORKS = 63
"""Routers of a backbone: packets live through no more."""
MOST_NODES = 1024
FIELDS_OF_A_LINK = {field.alias or name for name, field in NamedLink.model_fields.items()}

Kind = Annotated[Literal["star", "backbone", "graph"], BeforeValidator(one_of(*KINDS))]


PREFIX = "198.18.0.0/17"
"""Where addresses lie unless the file says otherwise: a part of the range for benchmarks (RFC 2544)."""


class Node(Part):
    """A node of a graph, which is a router."""

    address: Ipv4Address | None = None
    """IPv4 address of the router, in network.prefix. Unless set, it is the first of the subnet, or a free one of
    network.prefix. Each port has it, except those for which a link names another one (from_address, to_address)."""
    subnet: Ipv4Prefix | None = None
    """IPv4 prefix of the node and its clients, in network.prefix. Without it they have free addresses of
    network.prefix."""
    routes: dict[str, PlaceName] = Field(default_factory=dict)
    """Static routes. Each has the name of a group of clients, or server, and the name of a link of this node. The node
    sends packets to that group, or to the server, over that link, and not along the shortest path."""

    def resolve(self) -> dict[str, Any]:
        """As the engine takes it."""
        routes = [{"to": to, "via": via} for to, via in self.routes.items()]
        told = {"address": self.address, "subnet": self.subnet, "routes": routes}
        return {name: value for name, value in told.items() if value}


class Icmp(Part):
    """ICMP errors of the routers: time exceeded, destination unreachable, and fragmentation needed. Answers to an echo
    and the messages of clients have no limit."""

    rate: Frequency = "1000/s"
    """Most errors that each router sends in the long run."""
    burst: Annotated[int, Field(ge=0, le=1_000_000)] = 100
    """Most errors that each router sends at once, after a pause. With 0 the routers send no errors, whatever the
    rate."""


def nodes_written_out(value: Any) -> Any:
    """Nodes as a table by name, of which a list of names is the short form."""
    return {name: {} for name in value} if isinstance(value, list) else value


def _nodes(value: Any) -> Any:
    is_list = isinstance(value, list) and all(isinstance(name, str) for name in value)
    if not value or not (is_list or isinstance(value, dict)):
        message = 'must be a list of names, such as ["edge", "core"], or tables by name, such as [network.nodes.edge]'
        raise ValueError(message)
    for name in value if is_list else ():
        if value.count(name) > 1:
            raise ValueError(f"two nodes have the name {name}; names must differ")
    return nodes_written_out(value)


_NodeNames = Annotated[
    list[PlaceName], Field(min_length=1, max_length=MOST_NODES, json_schema_extra={"uniqueItems": True})
]
_NodeTables = Annotated[
    dict[PlaceName, Node],
    Field(min_length=1, max_length=MOST_NODES, json_schema_extra={"additionalProperties": False}),
]


def _by_name(value: Any) -> Any:
    """Makes sure that each link of a table says which nodes it joins."""
    if not isinstance(value, dict):
        raise ValueError("must be tables by name, such as [network.links.core]")
    for name, link in value.items():
        if name in FIELDS_OF_A_LINK:
            message = "is a field of a link, and a link cannot be named like one: give each link a name of its own"
            raise FieldError(name, message)
        if isinstance(link, dict) and link.keys() <= FIELDS_OF_A_LINK:
            for end in ("from", "to"):
                if end not in link:
                    raise FieldError(f"{name}.{end}", _without_an_end(name, value))
    return value


def _sources_by_name(value: Any) -> Any:
    if not isinstance(value, dict):
        raise ValueError("must be tables by name, such as [network.cross_traffic.others]")
    return value


def _without_an_end(name: str, links: Mapping[str, Any]) -> str:
    others = [other for other, link in links.items() if isinstance(link, dict) and {"from", "to"} <= link.keys()]
    known = hint(name, others) or (f"other links are {', '.join(others[:8])}; " if others else "")
    return f"missing; {known}a link has the names of two nodes, from and to"


class Network(Part):
    """The network between the clients and the server. Each client has an access link of its own, which the fields of
    its group describe. What joins the access links and the server depends on the kind."""

    kind: Kind = "star"
    """star: one router, and one link from it to the server, which all clients share. backbone: routers r1, r2 and so on
    in series, with the server before r1. graph: nodes and links with names."""
    shared: SharedLink = Field(default_factory=SharedLink)
    """The shared link of a star; unlimited and without delay unless set."""
    subnetworks: Annotated[int, Field(ge=1, le=MOST_SUBNETWORKS)] | None = None
    """Number of routers of a backbone."""
    link: BackboneLink | None = None
    """The links between routers of a backbone: b1 joins r1 and r2, and so on. They are all alike. Their delay is also
    that of the link between the server and r1, which has no other option."""
    nodes: Annotated[_NodeTables, BeforeValidator(_nodes, json_schema_input_type=_NodeNames | _NodeTables)] | None = (
        None
    )
    """Nodes of a graph, each a router: a list of their names, or a table [network.nodes.NAME] for each."""
    links: (
        Annotated[
            dict[PlaceName, NamedLink],
            Field(json_schema_extra={"additionalProperties": False}),
            BeforeValidator(_by_name),
        ]
        | None
    ) = None
    """Links of a graph, each a table [network.links.NAME]. Packets take the path of least delay; of several such paths,
    that of the fewest links; of several of these, the one that comes first in the file. Routes of a node come before
    all of these."""
    prefix: Ipv4Prefix = PREFIX
    """IPv4 prefix in which all addresses lie: that of the server, then those of the clients, then those of the routers.
    A server that runs already (a URL) keeps its own address."""
    cross_traffic: Annotated[
        dict[PlaceName, CrossTraffic],
        Field(json_schema_extra={"additionalProperties": False}),
        BeforeValidator(_sources_by_name),
    ] = Field(default_factory=dict)
    """Traffic that loads links beside that of the clients, each a table [network.cross_traffic.NAME]."""
    icmp: Icmp = Field(default_factory=Icmp)
    """How often routers send ICMP errors. In a simulation they have no reason to send one."""

    of_kind: ClassVar[dict[str, str]] = {
        "shared": "star",
        "subnetworks": "backbone",
        "link": "backbone",
        "nodes": "graph",
        "links": "graph",
    }
    """The kind of network that has each field."""

    @model_validator(mode="before")
    @classmethod
    def _fields_of_its_kind(cls, data: Any) -> Any:
        kind = data.get("kind", "star") if isinstance(data, dict) else None
        for field, own in cls.of_kind.items() if kind in KINDS else ():
            if own != kind and data.get(field) is not None:
                raise FieldError(field, f'is for kind = "{own}", and this is "{kind}"')
        return data

    @model_validator(mode="after")
    def _whole(self) -> Network:
        if self.kind == "backbone" and self.subnetworks is None:
            raise FieldError("subnetworks", 'missing; kind = "backbone" needs the number of its routers')
        if self.kind == "graph" and self.nodes is None:
            raise FieldError("nodes", 'missing; kind = "graph" needs the names of its nodes, such as ["edge", "core"]')
        return self

    @model_serializer(mode="wrap")
    def _written(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without the fields of other kinds of network, which would be errors if they were read again."""
        return {name: value for name, value in write(self).items() if self.of_kind.get(name, self.kind) == self.kind}

    @property
    def names_addresses(self) -> bool:
        """Whether the file says where addresses lie, so that no other prefix will do."""
        nodes = (self.nodes or {}).values()
        ports = ((link.from_address, link.to_address) for link in (self.links or {}).values())
        in_nodes = any(node.address or node.subnet for node in nodes)
        return self.prefix != PREFIX or in_nodes or any(any(pair) for pair in ports)

    def _shared_links(self) -> dict[str, BothDirections]:
        """The links that connections share, by their paths; those of a backbone once."""
        if self.kind == "star":
            return {"network.shared": self.shared}
        if self.kind == "backbone":
            return {"network.link": self.link or BackboneLink()}
        return {f"network.links.{name}": link for name, link in (self.links or {}).items()}

    def directions(self) -> Iterator[tuple[str, LinkDirection]]:
        """Each direction of each link that connections share, with its path; those of a backbone once. One router has
        no link but that to the server.
        """
        for path, link in self._shared_links().items():
            for way, direction in link.directions().items():
                is_delay = self.kind == "backbone" and self.subnetworks == 1
                yield f"{path}.{way}", LinkDirection(delay=direction.delay) if is_delay else direction

    def written(self, path: str) -> str:
        """The path of what the file has of ``path``, an option of one direction of a link: without the direction where
        the option stands for both.
        """
        found = re.fullmatch(r"(network\.(?:shared|link|links\.[^.]+))\.(\w+)\.(\w+)(.*)", path)
        link = None if found is None else self._shared_links().get(found[1])
        if found is None or link is None or found[2] not in link.ways or found[3] not in link.options():
            return path
        is_own = found[3] in getattr(link, found[2]).options()
        return path if is_own else f"{found[1]}.{found[3]}{found[4]}"

    def resolve(self) -> dict[str, Any]:
        """As the engine takes it, without traces."""
        cross_traffic = [{"name": name, **traffic.resolve()} for name, traffic in self.cross_traffic.items()]
        told = {"prefix": self.prefix, **self._resolve_kind(), "icmp": self.icmp.model_dump()}
        return told | ({"cross_traffic": cross_traffic} if cross_traffic else {})

    def _resolve_kind(self) -> dict[str, Any]:
        if self.kind == "star":
            return {"shared": self.shared.resolve()}
        if self.kind == "backbone":
            link = (self.link or BackboneLink()).resolve()
            return {"kind": self.kind, "subnetworks": self.subnetworks, "link": link}
        nodes = [{"name": name, **node.resolve()} for name, node in (self.nodes or {}).items()]
        links = [{"name": name, **link.resolve()} for name, link in (self.links or {}).items()]
        return {"kind": self.kind, "nodes": nodes, "links": links}


_DIRECTIONS = (*SharedLink.ways, *NamedLink.ways)

Direction = Mapping[str, Any]
"""What one direction of a link does, as the engine takes it."""


def directions_of(network: Mapping[str, Any] | None) -> Iterator[tuple[str, str, Direction]]:
    """Each direction of each link that connections share in a resolved ``network``, which may be of an older version:
    the name of the link, that of the direction, and what it does. Those of a backbone come once.
    """
    for name, link in _links_of(network or {}):
        for way in _DIRECTIONS:
            if way in link:
                yield name, way, link[way] or {}


def _links_of(network: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from ((name, network[name]) for name in ("shared", "link") if network.get(name))
    yield from ((link["name"], link) for link in network.get("links") or ())


def with_directions(network: Mapping[str, Any], change: Callable[[Direction], Direction]) -> dict[str, Any]:
    """A resolved ``network`` with ``change`` of each direction of each link that connections share."""

    def changed(link: Mapping[str, Any]) -> dict[str, Any]:
        return {name: change(value) if name in _DIRECTIONS else value for name, value in link.items()}

    made = dict(network)
    made |= {name: changed(network[name]) for name in ("shared", "link") if name in network}
    return made | ({"links": [changed(link) for link in network["links"]]} if "links" in network else {})
