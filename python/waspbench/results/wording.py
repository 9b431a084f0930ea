"""What was measured, and the network as it was, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from waspbench import _core
from waspbench.experiment import loss_label
from waspbench.results.result import Direction, Result


def title(result: Result) -> str:
    """The name of an experiment, and what was measured."""
    return f"{result.name}: {described(result)}"


def described(result: Result) -> str:
    """What was measured, in a sentence or two."""
    measure = result.scenario["measure"]
    runs = f"{len(result.runs)} run{'s' if len(result.runs) != 1 else ''} of {measure['duration']}"
    groups = "; ".join(map(_group, result.clients))
    return f"{server(result)}, {groups}. {result.mode}, {runs} after {measure['warmup']}, seed {result.seed}"


def server(result: Result) -> str:
    """The server under test."""
    if result.mode == "sim":
        return "modelled server"
    return f"{result.server['kind']} {result.server.get('version') or ''}".strip()


def _group(group: Mapping[str, Any]) -> str:
    return f"{group['count']} {group['name']} at {group['rtt']}, {losses(group['loss'])}"


def losses(loss: Mapping[str, Any]) -> str:
    """What a group of clients of a scenario loses, in each direction unless both are alike."""
    sides = {way: _loss(loss[way]) for way in ("up", "down") if loss[way]}
    if not sides:
        return "no loss"
    if len(sides) == 2 and sides["up"] == sides["down"]:
        return f"loss {sides['up']}"
    return ", ".join(f"loss {way} {side}" for way, side in sides.items())


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


def direction(way: Direction) -> str:
    """What became of the packets of one direction."""
    rate = "" if way.loss_rate is None else f" ({100 * way.loss_rate:.2f} %)"
    shown = f"{way.packets:,d} packets, {way.lost:,d} lost{rate}, {way.dropped:,d} dropped"
    rates = {"label": way.label_loss_rate, "stationary": way.stationary_loss_rate, "expected": way.expected_loss_rate}
    if not way.stationary_loss_rate:
        return shown
    return shown + "; loss " + ", ".join(f"{name} {100 * value:.4g} %" for name, value in rates.items() if value)
