"""What was measured, and the network as it was, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import Any

from waspbench import _core
from waspbench.experiment import loss_label
from waspbench.experiment.network import directions_of
from waspbench.experiment.queues import DISCIPLINES
from waspbench.experiment.server_model import ServerModel
from waspbench.experiment.server_presets import FLAT, PRESETS
from waspbench.experiment.traces import RateTrace
from waspbench.results.columns import value_text
from waspbench.results.result import CrossTraffic, Direction, Result


def title(result: Result) -> str:
    """The name of an experiment, and what was measured."""
    return f"{result.name}: {described(result)}"


def described(result: Result) -> str:
    """What was measured, in a sentence or two."""
    measure = result.scenario["measure"]
    runs = f"{len(result.runs)} run{'s' if len(result.runs) != 1 else ''} of {measure['duration']}"
    where = "; ".join([*_groups(result.clients), *_network(result.scenario)])
    return f"{server(result)}, {where}. {result.mode}, {runs} after {measure['warmup']}, seed {result.seed}"


def server(result: Result) -> str:
    """The server under test."""
    if result.mode == "sim":
        return f"modelled server {_model(result.server.get('model') or {})}".rstrip()
    return f"{result.server['kind']} {result.server.get('version') or ''}".strip()


def _model(model: Mapping[str, Any]) -> str:
    """The preset or the file of a modelled server; nothing of one that has neither."""
    if (file := model.get("file")) is not None:
        return f"of {PurePath(file).name}"
    preset = model.get("preset", FLAT)
    if preset == FLAT or preset not in PRESETS:
        return "" if preset == FLAT else str(preset)
    usual = ServerModel(preset=preset).resolve()
    return str(preset) if all(model.get(field) == value for field, value in usual.items()) else f"{preset} (changed)"


USUAL_MTU = 1500
"""MTU of an access link that is not told."""
MOST_PLACED = 4
"""Groups at nodes of a network that are told one by one."""
MOST_LINKS = 3
"""Links of a graph that are told one by one where there is little room."""


def _groups(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    if len(groups) > MOST_PLACED and all(group.get("at") for group in groups):
        return [f"{sum(group['count'] for group in groups):,d} clients in {len(groups)} groups"]
    return [_group(group) for group in groups]


def _group(group: Mapping[str, Any]) -> str:
    own = " on its own links" if group.get("at") else ""
    mtu = [f"MTU {group['mtu']}"] if group.get("mtu", USUAL_MTU) != USUAL_MTU else []
    ecn = ["ECN"] if (group.get("tcp") or {}).get("ecn") else []
    met = [f"{losses(group['loss'])}{own}", *_traces(group), *_disciplines(group), *impairments(group), *mtu, *ecn]
    where = f"{group['rtt']} from {group['at']}" if group.get("at") else f"at {group['rtt']}"
    return f"{group['count']} {group['name']} {where}, {', '.join(met)}"


def _network(scenario: Mapping[str, Any]) -> list[str]:
    """What joins the access links and the server; nothing of a star whose shared link does nothing."""
    network = scenario.get("network") or {}
    if network.get("kind") == "graph" and len(network["links"]) > MOST_LINKS:
        routes = _routes(network)
        graph = f"graph of {len(network['nodes'])} nodes and {len(network['links'])} links"
        return [graph, *([f"static routes: {routes}"] if routes else []), *_loads(network)]
    links = [f"{name[:1].lower()}{name[1:]}: {text}" for name, text in shared_links(scenario)]
    return [*links, *_loads(network)]


MOST_LOADS = 3
"""Sources of cross traffic that are told one by one where there is little room."""


def _loads(network: Mapping[str, Any]) -> list[str]:
    """The cross traffic of a network, where there is little room."""
    told = cross_traffic(network)
    if len(told) > MOST_LOADS:
        return [f"cross traffic from {len(told)} sources"]
    return [f"{name[:1].lower()}{name[1:]}: {text}" for name, text in told]


def cross_traffic(network: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The cross traffic of a network, each with its name and the link that it loads."""
    return [
        (f"Cross traffic {each['name']} on {each['link']} {each['direction']}", load(each))
        for each in network.get("cross_traffic") or ()
    ]


def load(traffic: Mapping[str, Any]) -> str:
    """When packets of cross traffic come, and how long they are."""
    model = traffic["model"]
    if "rate" not in traffic:
        return "none"
    bursts = [f"{name} {lengths(model[name])}" for name in ("on", "off") if name in model]
    kind = f"{model['kind']} ({', '.join(bursts)})" if bursts else model["kind"]
    flows = f" in {traffic['flows']:,d} flows" if traffic["flows"] > 1 else ""
    return f"{traffic['rate']} {kind}, packets of {traffic['packet']}{flows}"


def lengths(law: Mapping[str, Any]) -> str:
    """A distribution of lengths of time, with its parameters."""
    if law["model"] in ("none", "constant"):
        return str(law.get("value", "none"))
    told = " ".join(f"{name}={value}" for name, value in law.items() if name != "model" and value is not None)
    return f"{law['model']} {told}"


def shared_links(scenario: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the links do that connections share, each with what it is called, and the static routes; what does nothing
    is left out."""
    network = scenario.get("network") or {}
    sides: dict[str, dict[str, str]] = {}
    for name, way, link in directions_of(network):
        is_delay = name == "link" and network.get("subnetworks") == 1
        sides.setdefault(name, {})[way] = ", ".join(_link({"delay": link.get("delay")} if is_delay else link))
    routers = network.get("subnetworks")
    one, many = "Backbone of 1 router, the link before it", f"Backbone of {routers} routers, each link between them"
    called = {"shared": "Shared link", "link": one if routers == 1 else many}
    if network.get("kind") == "graph":
        called = {link["name"]: f"Link {link['name']} ({link['from']} to {link['to']})" for link in network["links"]}
    told = ((called[name], _both_sides(of_link)) for name, of_link in sides.items())
    return [(name, text) for name, text in [*told, ("Static routes", _routes(network))] if text]


def _routes(network: Mapping[str, Any]) -> str:
    """The static routes of the nodes of a graph, which are texts in results of older versions."""
    nodes = [node for node in network.get("nodes") or () if isinstance(node, Mapping)]
    routes = [(route["to"], node["name"], route["via"]) for node in nodes for route in node.get("routes") or ()]
    return ", ".join(f"to {to} at {at} over {via}" for to, at, via in routes)


def _both_sides(sides: Mapping[str, str]) -> str:
    """The texts of both directions, told once where they are alike."""
    alike = len(set(sides.values())) == 1
    return next(iter(sides.values())) if alike else "; ".join(f"{way} {side}" for way, side in sides.items() if side)


def _link(link: Mapping[str, Any]) -> list[str]:
    """What one direction of a link that connections share does."""
    delay, loss = link.get("delay"), link.get("loss")
    transport = [link["rate"]] if link.get("rate") else []
    transport += [f"trace {trace(link['trace'])}"] if link.get("trace") else []
    transport += [f"queue {queue(link['queue'])}"] if link.get("queue") else []
    transport += [f"delay {delay}"] if delay and _core.parse_duration(delay) else []
    transport += [f"MTU {link['mtu']}"] if link.get("mtu") else []
    transport += [f"loss {_loss(loss)}"] if loss else []
    return transport + of_link(link)


OPTIONS = ("trace", "loss", "jitter", "reorder", "duplicate", "corrupt")
"""The options of a direction of a link beside rate, queue, delay and MTU."""


def besides(link: Mapping[str, Any]) -> list[str]:
    """What one direction of a link does beside its rate, queue, delay and MTU."""
    told = [f"trace {trace(link['trace'])}"] if link.get("trace") else []
    told += [f"loss {_loss(link['loss'])}"] if link.get("loss") else []
    return told + of_link(link)


def of_link(link: Mapping[str, Any]) -> list[str]:
    """What one direction of a link does beside losing packets and delaying them."""
    told = ((name, _IMPAIRMENTS[name](link[name])) for name in _IMPAIRMENTS if link.get(name))
    return [f"{name} {text}" for name, text in told if text]


def losses(loss: Mapping[str, Any]) -> str:
    """What a group of clients of a scenario loses, in each direction unless both are alike."""
    sides = {way: _loss(loss[way]) for way in ("up", "down") if loss[way]}
    if not sides:
        return "no loss"
    if len(sides) == 2 and sides["up"] == sides["down"]:
        return f"loss {sides['up']}"
    return ", ".join(f"loss {way} {side}" for way, side in sides.items())


def impairments(group: Mapping[str, Any]) -> list[str]:
    """What the access links of a group of clients of a scenario do beside losing packets, in each direction unless both
    are alike. Scenarios of older versions have none.
    """
    return [text for name, told in _IMPAIRMENTS.items() for text in _of_both_ways(name, group.get(name) or {}, told)]


def trace(option: Mapping[str, Any]) -> str:
    """The rate trace of one direction of a link: its file, its mean rate if that is known, and the options that are not
    the default.
    """
    fields, mean = RateTrace.model_fields, option.get("mean_bps")
    said = [] if mean is None else [f"mean {_rate(mean)}"]
    default = {name: fields[name].default for name in ("start", "opportunity", "overhead")}
    if not option["repeat"]:
        said.append("once")
        default["start"] = "0ms"
    said += [f"{name}={option[name]}" for name, value in default.items() if not _same(option[name], value)]
    file: str = option["file"]
    return f"{file} ({', '.join(said)})" if said else file


def _same(one: str, two: str) -> bool:
    """Whether two values of an option of a trace are the same, such as 0s and 0ms."""
    for parse in (_core.parse_duration, _core.parse_bytes):
        with suppress(ValueError):
            return parse(one) == parse(two)
    return one == two


def _rate(bits_per_second: float) -> str:
    mega = bits_per_second / 1e6
    return f"{mega:,.0f} Mbit/s" if mega >= 100 else f"{mega:.3g} Mbit/s"


def _traces(group: Mapping[str, Any]) -> list[str]:
    """The rate traces of the access links of a group."""
    return _of_both_ways("trace", group.get("trace") or {}, trace)


def queue(option: str | Mapping[str, Any]) -> str:
    """The queue of one direction of a link: its size, or its discipline with the options that are not the default."""
    if isinstance(option, str):
        return option
    kind: str = option["kind"]
    fields = DISCIPLINES[kind].model_fields
    default = {name: field.default for name, field in fields.items() if name != "kind"}
    changed = {name: option[name] for name in default if option.get(name, default[name]) != default[name]}
    options = " ".join(f"{name}={value_text(value)}" for name, value in changed.items())
    return f"{kind} ({options})" if options else kind


def _disciplines(group: Mapping[str, Any]) -> list[str]:
    """The queues of the access links of a group, if they are more than limited in size."""
    ways = group.get("queue") or {}
    only_sizes = all(isinstance(option, str | None) for option in ways.values())
    return [] if only_sizes else _of_both_ways("queue", ways, queue)


def queues(group: Mapping[str, Any]) -> str:
    """The queues of the access links of a group of clients, in each direction unless both are alike; empty where they
    have no limit.
    """
    return ", ".join(text.removeprefix("queue ") for text in _of_both_ways("queue", group.get("queue") or {}, queue))


def _of_both_ways(name: str, ways: Mapping[str, Any], told: Callable[[Any], str]) -> list[str]:
    sides = {way: text for way in ("up", "down") if ways.get(way) and (text := told(ways[way]))}
    if len(sides) == 2 and sides["up"] == sides["down"]:
        return [f"{name} {sides['up']}"]
    return [f"{name} {way} {side}" for way, side in sides.items()]


def _jitter(jitter: Mapping[str, Any]) -> str:
    size = jitter[{"normal": "deviation", "pareto": "mean", "uniform": "max"}[jitter["model"]]]
    if not _core.parse_duration(size):
        return ""
    sizes = {
        "normal": lambda: f"{size} normal",
        "pareto": lambda: f"{size} pareto (shape={jitter['shape']:g})",
        "uniform": lambda: f"{jitter['min']} to {size}",
    }
    order = " out of order" if jitter["order"] == "free" else ""
    return sizes[jitter["model"]]() + order


def _share(impairment: Mapping[str, Any]) -> str:
    share = _core.parse_probability(impairment["share"])
    return f"{100 * share:.4g}%" if share else ""


def _reorder(reorder: Mapping[str, Any]) -> str:
    share = _share(reorder)
    return share and f"{share} by {reorder['distance']}"


_IMPAIRMENTS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "jitter": _jitter,
    "reorder": _reorder,
    "duplicate": _share,
    "corrupt": _share,
}
"""How options of a link are told, by their names; empty where they do nothing."""


def _loss(loss: Mapping[str, Any]) -> str:
    if loss["model"] == "independent":
        return f"{loss['rate']} independent"
    if loss["model"] == "periodic":
        return f"one packet of {loss['every']:,}"
    p, r = (f"{100 * _core.parse_probability(loss[name]):.4g}%" for name in ("p", "r"))
    return f"{100 * loss_label(loss):.4g}% two-state (p={p} r={r})"


def hidden(result: Result) -> str:
    """What the measured intervals were too short for, by the upper estimate; empty where that is not known."""
    most = None if result.censoring is None else result.censoring.at_most
    return "" if most is None else f"long transactions may hide up to {max(0.1, 100 * most):.1f} % of the mean"


def carried(traffic: CrossTraffic) -> str:
    """What became of the packets of one cross traffic."""
    where = f"{traffic.name} on {traffic.link} {traffic.direction}"
    if not traffic.packets:
        return f"{where}: no packets"
    offered = f"{_rate((traffic.offered_bps.mean or 0.0) / traffic.links)} offered"
    offered += f" on each of {traffic.links} links" if traffic.links > 1 else ""
    early = f" ({traffic.dropped_early:,d} of them early)" if traffic.dropped_early else ""
    shares = {f"{traffic.lost:,d} lost": traffic.lost, f"{traffic.dropped:,d} dropped{early}": traffic.dropped}
    told = [f"{what} ({100 * count / traffic.packets:.2f} %)" for what, count in shares.items() if count]
    return ", ".join([f"{where}: {offered}", f"{traffic.packets:,d} packets", *told])


def direction(way: Direction) -> str:
    """What became of the packets of one direction."""
    rate = "" if way.loss_rate is None else f" ({100 * way.loss_rate:.2f} %)"

    def told(count: int | None, what: str) -> list[str]:
        return [f"{count:,d} {what} ({100 * count / way.packets:.2f} %)"] if count and way.packets else []

    early = f" ({way.dropped_early:,d} of them early)" if way.dropped_early else ""
    impaired = [*told(way.marked, "marked"), *told(way.corrupted, "corrupted"), *told(way.duplicated, "duplicated")]
    if way.held:
        impaired += [*told(way.held, "held back"), f"{way.reordered or 0:,d} of them overtaken"]
    shown = ", ".join(
        [f"{way.packets:,d} packets", f"{way.lost:,d} lost{rate}", f"{way.dropped:,d} dropped{early}", *impaired]
    )
    rates = {"label": way.label_loss_rate, "stationary": way.stationary_loss_rate, "expected": way.expected_loss_rate}
    if not way.stationary_loss_rate:
        return shown
    return shown + "; loss " + ", ".join(f"{name} {100 * value:.4g} %" for name, value in rates.items() if value)
