"""What the experiment file can say, the engine takes, field by field; and it takes nothing else."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from waspbench import _core
from waspbench.experiment import Experiment, Mode, Tcp, parse
from waspbench.experiment.resolve import resolve

EVERY_CONSTANT: dict[str, Any] = {
    "preset": "bsd1999",
    "mss": 536,
    "window_scaling": False,
    "sack": False,
    "timestamps": False,
    "ecn": True,
    "receive_buffer": "16KiB",
    "send_buffer": "16KiB",
    "initial_window": 2,
    "recovery": "newreno",
    "congestion": "cubic",
    "cubic": "rfc9438",
    "hystart": True,
    "ack_counting": "bytes",
    "abc_limit": 2,
    "initial_rto": "3s",
    "min_rto": "1s",
    "max_rto": "64s",
    "timer_granularity": "500ms",
    "timer_slack": "ticks",
    "syn_linear_timeouts": 0,
    "syn_retries": 3,
    "retries": 12,
    "delayed_ack": "200ms",
    "delayed_ack_sweep": True,
    "quickack_segments": 0,
    "comp_sack_nr": 0,
    "limited_transmit": False,
    "segmentation_offload": False,
    "idle_restart": "restart-window",
    "nagle": True,
    "duplicate_ack_threshold": 3,
    "time_wait": "60s",
    "path_mtu_discovery": True,
    "min_path_mtu": 296,
}

TUNED: dict[str, Any] = {
    "preset": "linux",
    "receive_buffer_max": "1MiB",
    "send_buffer_overhead": "576B",
    "send_buffer_max": "1MiB",
}
"""What contradicts one of the constants above."""


PARETO = {"model": "pareto", "shape": 1.5, "scale": "1s", "cap": "20s"}
DELAYS: list[dict[str, Any]] = [
    {"model": "none"},
    {"model": "constant", "value": "1s"},
    {"model": "exponential", "mean": "1s"},
    PARETO,
    {"model": "weibull", "shape": 1.5, "scale": "1s"},
    {"model": "lognormal", "mu": 0.5, "sigma": 1.0},
]
LOSSES: list[dict[str, Any]] = [
    {"model": "two-state", "rate": "3%", "burst": "50%", "start": "stationary", "scope": "connection"},
    {"model": "two-state", "p": "1%", "r": "50%", "scope": "link"},
    {"model": "independent", "rate": "1%", "scope": "link"},
    {"model": "periodic", "every": 10, "scope": "link"},
    {"model": "wasp2001", "rate": "3%", "scope": "connection"},
    {"up": {"model": "independent", "rate": "1%"}, "down": "3%", "scope": "connection"},
]
JITTERS: list[dict[str, Any]] = [
    {"model": "normal", "deviation": "1ms", "order": "free"},
    {"model": "pareto", "mean": "1ms", "shape": 2.5, "order": "free"},
    {"model": "uniform", "min": "1ms", "max": "2ms", "order": "free"},
]
FIFO = {"packets": 50, "bytes": "64KiB"}
CODEL = FIFO | {"target": "6ms", "interval": "90ms", "max_packet": "600B"}
QUEUES: list[dict[str, Any]] = [
    {"kind": "drop-tail"} | FIFO,
    {"kind": "red", "min": "9KB", "max": "20%", "weight": "1%", "max_probability": "5%", "gentle": False} | FIFO,
    {"kind": "red", "mean_packet": "600B", "ecn": True} | FIFO,
    {"kind": "codel", "ecn": True} | CODEL,
    {"kind": "fq-codel", "quantum": "300B", "flows": 64, "ecn": False} | CODEL,
    {"kind": "fq-codel", "ce_threshold": "1ms"} | CODEL,
    {"kind": "pie", "target": "20ms", "update": "10ms", "max_burst": "100ms", "alpha": 0.2, "beta": 1.5} | FIFO,
    {
        "kind": "pie",
        "mean_packet": "600B",
        "derandomize": True,
        "cap_adjustment": True,
        "ecn": True,
        "ecn_threshold": "20%",
    }
    | FIFO,
]
RECORDED = str(Path(__file__).parents[1] / "examples" / "traces" / "lte.down")
MODEL_FILE = str(Path(__file__).parent / "experiment" / "model.toml")
TRACES: list[dict[str, Any]] = [
    {"file": RECORDED, "start": "3s", "opportunity": "1500B", "overhead": "0B"},
    {"file": RECORDED, "start": "2s", "repeat": False},
]
IMPAIRMENTS: dict[str, Any] = {
    "reorder": {"share": "1%", "distance": 5, "wait": "50ms"},
    "duplicate": {"share": "1%"},
    "corrupt": {"share": "0.1%"},
}
HTTP: dict[str, Any] = {
    "version": "1.1",
    "requests_per_connection": 8,
    "connections": 2,
    "method": "POST",
    "body": "1KiB",
    "headers": {"Accept": "*/*"},
    "timeout": "5s",
    "next_after": "close",
    "abort": {"after": "2s", "bytes": "1KiB"},
    "read_rate": "1Mbit/s",
}
GROUP: dict[str, Any] = {
    "name": "homes",
    "count": 12,
    "background": False,
    "observe": False,
    "rtt": "60ms",
    "loss": LOSSES[-1],
    "bandwidth": {"up": "1Mbit/s", "down": "5Mbit/s"},
    "queue": {"up": "64KiB", "down": "64KiB"},
    "jitter": {"up": JITTERS[0], "down": JITTERS[0]},
    **{name: {"up": option, "down": option} for name, option in IMPAIRMENTS.items()},
    "mtu": 1400,
    "http": HTTP,
    "think": {"model": "none"},
    "start": "together",
    "tcp": EVERY_CONSTANT,
}
SIDE: dict[str, Any] = {
    "rate": "1Gbit/s",
    "queue": "1MiB",
    "delay": "1ms",
    "mtu": 1400,
    "loss": {"p": "1%", "r": "50%", "start": "stationary"},
    "jitter": JITTERS[0],
    **IMPAIRMENTS,
}
MACHINE: dict[str, Any] = {
    "syn_queue": 256,
    "fin_with_data": True,
    **dict.fromkeys(
        (
            "per_data",
            "per_ack",
            "per_duplicate_ack",
            "per_syn",
            "per_interrupt",
            "per_timer",
            "per_frame",
            "per_segment",
            "per_retransmission",
            "per_wakeup",
            "per_doubling",
            "per_tick",
            "wakeup_latency",
            "interrupt_interval",
        ),
        "1us",
    ),
}
FULL: dict[str, Any] = {
    "name": "x",
    "seed": 3,
    "mode": "sim",
    "server": {
        "tcp": EVERY_CONSTANT,
        "model": {
            "cores": 2,
            "per_connection": "1us",
            "per_request": "1us",
            "per_kib": "2us",
            "per_packet": "1us",
            "requests_per_connection": 100,
            "accept_queue": 511,
        },
    },
    "workload": {"kind": "single", "size": "2KiB", "deal": "modulo"},
    "network": {"shared": {"up": SIDE, "down": SIDE}},
    "clients": [GROUP],
    "measure": {
        "warmup": "1s",
        "duration": "4s",
        "runs": 2,
        "until": {"ci": "5%", "max_runs": 9},
        "max_errors": "5%",
        "percentiles": [75],
        "time_limit": "1min",
        "order": "listed",
    },
    "sweep": {"clients.rtt": ["60ms", "70ms"]},
    "assert": {"p99": "< 1s"},
    "capacity": {"find": "clients", "slo": "p99 < 1s", "low": 8, "high": 64, "at_least": 9},
}
SURGE: dict[str, Any] = {
    "kind": "surge",
    "deal": "modulo",
    "preset": "surge98",
    "seed": 1,
    "directory": "set",
    "files": 500,
    "requests": 9000,
    "zipf_slope": 1.0,
    "sampling": "stratified",
    "request_sizes": {"shape": 1.0, "scale": "1000B", "cap": "3MB"},
    "matching": "random",
    "embedded": {"model": "pareto", "shape": 2.0, "scale": 1, "cap": 20, "counts_base": True},
    "locality": {"model": "lognormal", "mu": 1.5, "sigma": 0.8},
    "inactive_off": PARETO,
    "active_off": {"model": "weibull", "shape": 0.5, "scale": "1s"},
}
SIZES = {"mu": 9.0, "sigma": 1.0, "tail": {"fraction": "7%", "shape": 1.1, "scale": "133KB"}, "cap": "10MB"}
PROWGEN: dict[str, Any] = {
    "kind": "prowgen",
    "deal": "modulo",
    "preset": "ip-tne",
    "seed": 1,
    "directory": "set",
    "objects": 100,
    "requests": 900,
    "one_timers": "50%",
    "zipf_slope": 0.8,
    "body": {"mean": "7KB", "deviation": "11KB"},
    "tail": {"fraction": "10%", "shape": 1.2, "scale": "10KB"},
    "cap": "10MB",
    "sampling": "independent",
    "correlation": "zero",
    "popular_limit": {"references": 100, "size": "10KB"},
    "stack": {"model": "dynamic", "depth": 10},
}
REPLAY = {
    "kind": "replay",
    "deal": "modulo",
    "log": "access.log",
    "format": "log",
    "max_bad_lines": "2%",
    "unknown_size": "5KB",
    "times": False,
    "repeat": True,
    "directory": "set",
}
REQUESTS: dict[str, Any] = {
    "kind": "requests",
    "deal": "modulo",
    "requests": [
        {
            "name": "order",
            "method": "POST",
            "path": "/orders",
            "weight": 2.0,
            "headers": {"Accept": "text/plain"},
            "body": "item=7",
            "expect": {"status": [201, "2xx"], "contains": "accepted", "length": ">= 9"},
            "size": "2KiB",
        },
        {"name": "upload", "method": "PUT", "path": "/files", "body": {"size": "1MiB"}},
        {"name": "file", "method": "PUT", "path": "/files", "body": {"file": RECORDED, "template": True}},
        {"name": "plain", "method": "PUT", "path": "/files", "body": {"text": "{client}"}},
    ],
    "folder": "data",
}
SESSION: dict[str, Any] = {
    "kind": "requests",
    "order": "session",
    "cookies": True,
    "requests": [
        {"name": "in", "path": "/in", "once": True, "capture": {"token": {"header": "X-Token"}}},
        {"name": "list", "path": "/{token}", "capture": {"id": {"after": "id=", "before": ";"}}, "think": DELAYS[1]},
    ],
}
LIVE: dict[str, Any] = {"mode": "live", "workload": {"kind": "single"}}
URL = {"kind": "url", "url": "http://127.0.0.1:8080/x"}


def group(**fields: Any) -> dict[str, Any]:
    return {"clients": [{"name": "homes", **fields}]}


def workload(**fields: Any) -> dict[str, Any]:
    return {"workload": fields} | group()


SURGE_LEFT: list[dict[str, Any]] = [
    {"base_sizes": SIZES, "embedded_sizes": SIZES, "loner_sizes": SIZES, "shares": {"base": "30%", "embedded": "38%"}},
    {"sizes": SIZES, "embedded": {"model": "constant", "value": 2}},
    {"embedded": {"model": "gamma", "shape": 0.2, "scale": 23.0, "cap": 20}},
    {"embedded": {"model": "none"}, "locality": {"model": "none"}},
]
DIRECTIONS = {"forward": {"delay": "1ms"}, "backward": {"loss": "2%"}}
ENDS = {"from": "a", "to": "b", "from_address": "10.0.9.1", "to_address": "10.0.9.2"}
NODES: dict[str, Any] = {"a": {"subnet": "10.0.4.0/22", "routes": {"server": "core"}}, "b": {"address": "10.0.9.3"}}
ADDRESSED = {"kind": "graph", "nodes": NODES, "prefix": "10.0.0.0/16", "icmp": {"rate": "9/s", "burst": 3}}
server_at: dict[str, Any] = {"server": {"at": "b"}}
CROSS_TRAFFIC: dict[str, dict[str, Any]] = {
    "a": {"link": "shared", "direction": "down", "rate": "1Mbit/s", "packet": "500B", "flows": 9},
    "b": {"link": "homes", "direction": "up", "model": "on-off", "rate": "9Mbit/s", "on": "1s", "off": DELAYS[1]},
    "c": {"link": "shared", "direction": "up", "model": "constant", "rate": 0},
}
CHANGES: dict[str, dict[str, Any]] = {
    "everything": {},
    "a machine with workers": {"server": {"model": MACHINE | {"concurrency": "event", "workers": 3}}} | group(),
    "a machine with processes": {
        "server": {"model": MACHINE | {"concurrency": "process", "processes": 64, "per_runnable": "1us"}}
    }
    | group(),
    "cross traffic": {"network": {"cross_traffic": CROSS_TRAFFIC}} | group(),
    **{f"loss {index}": group(loss=loss) for index, loss in enumerate(LOSSES)},
    **{f"jitter {jitter['model']}": group(jitter=jitter) for jitter in JITTERS},
    **{f"queue {index}": group(bandwidth="1Mbit/s", queue=queue) for index, queue in enumerate(QUEUES)},
    **{f"trace {index}": group(trace={"up": trace, "down": trace}) for index, trace in enumerate(TRACES)},
    "shared trace": {"network": {"shared": {way: {"trace": TRACES[0]} for way in ("up", "down")}}} | group(),
    **{
        f"{name} {what}": {"network": network} | (server_at if name == "graph" else {}) | group(at=at)
        for what, options in (("link", SIDE), ("trace", {"trace": TRACES[0]}))
        for name, network, at in (
            ("star", {"shared": options}, None),
            ("backbone", {"kind": "backbone", "subnetworks": 2, "link": options | DIRECTIONS}, "r2"),
            ("graph", {**ADDRESSED, "links": {"core": options | ENDS | DIRECTIONS}}, "a"),
        )
    },
    **{f"think {delay['model']}": group(think=delay) for delay in DELAYS},
    "profile": {
        "clients": [{"name": "homes", "profile": "lte"}, {"name": "others", "background": True, "observe": True}]
    },
    "conditional": group(http={"conditional": True, "pipeline": 2}),
    "arrivals": group(arrivals={"model": "constant", "rate": "9/s", "outstanding": 300}),
    "tuned buffers": group(tcp=TUNED),
    "files": workload(kind="single", files=[{"size": "1KiB", "weight": 2.0, "path": "/a"}, {"size": "2KiB"}]),
    "surge": workload(**SURGE),
    **{f"surge {index}": workload(kind="surge", **each) for index, each in enumerate(SURGE_LEFT)},
    "prowgen": workload(**PROWGEN),
    "HTTP 1.0": group(http={"version": "1.0"}),
    "presets": workload(kind="surge", preset="surge99"),
    "other presets": workload(kind="prowgen", preset="webtraff"),
    "static stack": workload(kind="prowgen", stack={"model": "static", "depth": 10}),
    "no stack": workload(kind="prowgen", stack={"model": "none"}),
    "replay": workload(**REPLAY),
    "requests": workload(**REQUESTS),
    "session": workload(**SESSION),
    "workload of a group": {"clients": [{"name": "homes"}, {"name": "phones", "workload": {"size": "9KiB"}}]},
    "URLs": workload(**REPLAY | {"format": "urls", "times": True, "repeat": False}),
    "preset of the model": {"server": {"model": {"preset": "flash-2001"}}},
    "file of the model": {"server": {"model": {"file": MODEL_FILE}}},
    "nginx": LIVE | {"server": {"kind": "nginx", "access_log": True, "ready_timeout": "5s", "congestion": "reno"}},
    "apache": LIVE | {"server": {"kind": "apache", "mpm": "event", "sysctl": {"net.ipv4.tcp_sack": 0}}},
    "command": LIVE | {"server": {"kind": "command", "command": "true", "stop": "kill {pid}", "path": "/x"}},
    "url": LIVE | {"server": URL},
}
"""What together sets every field: each of these in the place of fields of `FULL`."""

OF_THE_PACKAGE: dict[str, set[str]] = {
    "Experiment": {"mode", "sweep", "thresholds", "capacity"},
    "Measure": {"runs", "until", "percentiles", "time_limit", "order"},
    "Until": {"ci", "max_runs"},
    "CapacityTable": {"find", "slo", "low", "high", "at_least"},
    "Server": {"kind", "mpm", "command", "stop", "access_log", "ready_timeout", "sysctl"},
    "Surge": {"directory"},
    "Prowgen": {"directory"},
    "Replay": {"directory"},
    "Clients": {"profile"},  # the fields that it stands for are told
    "Single": {"kind"},  # there is one choice
    "TwoStateLoss": {"model"},  # likewise
    "NormalJitter": {"model"},  # told also where it is the default
}
"""Fields of which the engine is not told."""

changed = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())


def described(change: dict[str, Any]) -> Experiment:
    return parse(FULL | ({} if not change else {"sweep": {}, "capacity": {}}) | change)


def scenario_of(change: dict[str, Any]) -> dict[str, Any]:
    experiment = described(change)
    return resolve(experiment, mode=experiment.mode or "sim")


def fields_below(kind: Any, found: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Every field of a part of the experiment file, by the part's class, with those of the parts below."""
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        for inner in get_args(kind):
            fields_below(inner, found)
        return found
    for name, field in kind.model_fields.items():
        if (kind.__name__, name) not in found:
            found.add((kind.__name__, name))
            fields_below(field.annotation, found)
    return found


def fields_set(value: Any) -> Iterator[tuple[str, str]]:
    """Every field that is set somewhere in a part."""
    if isinstance(value, BaseModel):
        for name in value.model_fields_set:
            yield (type(value).__name__, name)
            yield from fields_set(getattr(value, name))
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        yield from fields_set(inner)


def test_every_field_of_the_experiment_file_is_set_somewhere() -> None:
    declared = fields_below(Experiment, set())
    assert len(declared) > 150
    assert declared - {field for change in CHANGES.values() for field in fields_set(described(change))} == set()


def undone(value: Any) -> Iterator[tuple[tuple[str, str], Any]]:
    """Each field that is set somewhere in a part and has a default, and the part with that."""
    if isinstance(value, BaseModel):
        for name in value.model_fields_set:
            declared = type(value).model_fields[name]
            if not declared.is_required():
                default = declared.get_default(call_default_factory=True)
                yield (type(value).__name__, name), value.model_copy(update={name: default})
            for field, other in undone(getattr(value, name)):
                yield field, value.model_copy(update={name: other})
    elif isinstance(value, dict):
        for key, inner in value.items():
            for field, other in undone(inner):
                yield field, {**value, key: other}
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            for field, other in undone(inner):
                yield field, [*value[:index], other, *value[index + 1 :]]


def resolved(experiment: Experiment, mode: Mode) -> dict[str, Any] | None:
    """The scenario; None of an experiment that makes no sense without a field."""
    try:
        return resolve(experiment, mode=mode)
    except AssertionError:
        return None


def test_every_field_changes_what_the_engine_is_told_unless_it_is_the_packages_own() -> None:
    told: set[tuple[str, str]] = set()
    for change in CHANGES.values():
        experiment = described(change)
        scenario = scenario_of(change)
        told |= {field for field, other in undone(experiment) if resolved(other, scenario["mode"]) != scenario}
        required = (field for field in fields_set(experiment) if field not in dict(undone(experiment)))
        told |= {field for field in required if f'"{field[1].rstrip("_")}"' in json.dumps(scenario)}
    own = {(part, field) for part, fields in OF_THE_PACKAGE.items() for field in fields}
    assert fields_below(Experiment, set()) - told == own


@changed
def test_the_engine_takes_every_field(change: dict[str, Any]) -> None:
    _core.check_scenario(json.dumps(scenario_of(change)))


def test_every_constant_of_the_declaration_is_one_of_the_engine() -> None:
    assert EVERY_CONSTANT.keys() | TUNED.keys() == Tcp.model_fields.keys()
    scenario = scenario_of({})
    _core.check_scenario(json.dumps(scenario))
    scenario["clients"][0]["tcp"] = TUNED
    _core.check_scenario(json.dumps(scenario))
    scenario["clients"][0]["tcp"] = TUNED | {"receive_buffer": "1MiB"}
    with pytest.raises(_core.ScenarioError, match=r"receive_buffer_max: 1MiB: expected none beside receive_buffer"):
        _core.check_scenario(json.dumps(scenario))


def tables(node: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Paths of all tables in a scenario."""
    if isinstance(node, dict):
        yield path
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from tables(value, (*path, key))


@changed
def test_the_engine_rejects_unknown_fields_everywhere(change: dict[str, Any]) -> None:
    scenario = scenario_of(change)
    paths = [path for path in tables(scenario) if path[-1:] != ("headers",)]
    assert len(paths) > 10
    for path in paths:
        changed = copy.deepcopy(scenario)
        table: Any = changed
        for step in path:
            table = table[step]
        table["nonsense"] = 1
        with pytest.raises(_core.ScenarioError, match="nonsense"):
            _core.check_scenario(json.dumps(changed))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": -1}, r"^seed: invalid value: integer `-1`, expected u64$"),
        ({"mode": "replay"}, r"^mode: unknown variant `replay`"),
        ({"measure": {"warmup": "1s", "duration": "1"}}, r'^measure\.duration: "1": unknown or missing unit'),
    ],
)
def test_the_engines_errors_name_the_field(change: dict[str, Any], message: str) -> None:
    with pytest.raises(_core.ScenarioError, match=message):
        _core.check_scenario(json.dumps(scenario_of({}) | change))
