"""The network in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from measured_runs import populations_of_a_run, result, summary
from waspbench.experiment import Clients, parse
from waspbench.experiment.inputs import described
from waspbench.experiment.resolve import resolve
from waspbench.experiment.traces import RateTrace
from waspbench.results.ecn import ecn_of, ecn_text, notes_of_ecn
from waspbench.results.mtu_notes import notes_of_mtus
from waspbench.results.result import combine
from waspbench.results.summary import RunCrossTraffic, RunEcn
from waspbench.results.trace_notes import notes_of_traces
from waspbench.results.wording import (
    carried,
    cross_traffic,
    impairments,
    queues,
    shared_links,
    trace,
)
from waspbench.results.wording import described as heading_of

CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"jitter": "2ms"}, ["jitter 2ms normal"]),
    (
        {"jitter": {"down": {"model": "pareto", "mean": "2ms", "shape": 3, "order": "free"}}},
        ["jitter down 2ms pareto (shape=3) out of order"],
    ),
    ({"jitter": {"model": "uniform", "max": "4ms"}, "corrupt": 0.001}, ["jitter 0ms to 4ms", "corrupt 0.1%"]),
    ({"reorder": {"up": "1%", "down": {"share": "2%", "distance": 5}}}, ["reorder up 1% by 3", "reorder down 2% by 5"]),
    ({"duplicate": "1%"}, ["duplicate 1%"]),
    ({"jitter": "0ms", "reorder": "0%", "duplicate": "0%", "corrupt": {"down": "0%"}}, []),
]


@pytest.mark.parametrize(("given", "told"), CASES)
def test_impairments_are_told_in_each_direction_unless_both_are_alike(given: dict[str, Any], told: list[str]) -> None:
    assert impairments(Clients.model_validate(given).resolve()) == told


def test_scenarios_of_older_versions_have_no_impairments() -> None:
    assert impairments({"name": "clients", "loss": {"up": None, "down": None}}) == []


QUEUES: list[tuple[dict[str, Any], str]] = [
    ({}, ""),
    ({"queue": "64KiB"}, "64KiB"),
    ({"queue": {"up": "64KiB", "down": {"kind": "codel", "target": "10ms"}}}, "up 64KiB, down codel (target=10ms)"),
    ({"queue": {"kind": "drop-tail", "packets": 100}}, "drop-tail (packets=100)"),
    ({"queue": {"down": {"kind": "red", "gentle": False, "packets": 9}}}, "down red (packets=9 gentle=false)"),
]


@pytest.mark.parametrize(("given", "told"), QUEUES)
def test_queues_are_told_with_the_options_that_are_not_the_default(given: dict[str, Any], told: str) -> None:
    assert queues(Clients.model_validate(given).resolve()) == told


TRACED: list[tuple[dict[str, Any], str]] = [
    ({"file": "traces/lte.down"}, "traces/lte.down"),
    ({"file": "lte.down", "start": "random"}, "lte.down"),
    ({"file": "lte.down", "repeat": False}, "lte.down (once)"),
    ({"file": "lte.down", "start": "0s", "repeat": False, "overhead": "4B"}, "lte.down (once)"),
    ({"file": "lte.down", "start": "5s", "repeat": False}, "lte.down (once, start=5s)"),
    ({"file": "lte.down", "start": "0ms", "overhead": "0B"}, "lte.down (start=0ms, overhead=0B)"),
]


@pytest.mark.parametrize(("given", "told"), TRACED)
def test_traces_are_told_with_the_options_that_are_not_the_default(given: dict[str, Any], told: str) -> None:
    assert trace(RateTrace.model_validate(given).model_dump()) == told


@pytest.mark.parametrize(("mean", "told"), [(20_000, "0.02"), (5_898_000, "5.9"), (1_234_567_890, "1,235")])
def test_the_mean_rate_of_a_trace_is_told_where_it_is_known(mean: int, told: str) -> None:
    option = RateTrace(file="lte.down", start="0ms").model_dump() | {"mean_bps": mean}
    assert trace(option) == f"lte.down (mean {told} Mbit/s, start=0ms)"


LTE = Path(__file__).parents[2] / "examples" / "traces" / "lte.down"
DOWN = "down 10Mbit/s, queue 64KB, loss one packet of 50"
SHARED: list[tuple[dict[str, Any], str]] = [
    ({}, ""),
    ({"down": {"delay": "0s"}}, ""),
    ({"down": {"rate": "10Mbit/s", "queue": "64KB", "loss": {"model": "periodic", "every": 50}}}, DOWN),
    ({"up": {"delay": "5ms"}, "down": {"delay": "5ms"}}, "delay 5ms"),
    ({"down": {"delay": "5ms", "mtu": 1400, "loss": None}}, "down delay 5ms, MTU 1400"),
    ({"down": {"rate": "1Mbit/s", "queue": "fq-codel"}}, "down 1Mbit/s, queue fq-codel"),
    ({"up": {"delay": "5ms"}, "down": {"jitter": "1ms"}}, "up delay 5ms; down jitter 1ms normal"),
]


@pytest.mark.parametrize(
    ("group", "runs", "noted"),
    [
        ({}, 3, 0),
        ({"trace": "a"}, 3, 0),
        ({"trace": {"file": "a", "start": "0ms"}}, 3, 1),
        ({"trace": {"file": "a", "start": "0ms"}}, 1, 0),
        ({"trace": {"up": {"file": "a", "start": "0ms"}, "down": {"file": "b", "repeat": False}}}, 2, 2),
    ],
)
def test_that_all_runs_meet_the_same_part_of_a_trace_is_noted(group: dict[str, Any], runs: int, noted: int) -> None:
    assert len(notes_of_traces({"clients": [Clients.model_validate(group).resolve()]}, runs)) == noted


def test_a_shared_link_with_a_trace_is_told_and_noted() -> None:
    link = {"trace": {"file": str(LTE), "start": "2s"}}
    experiment = parse({"name": "x", "clients": [{}], "network": {"shared": {"down": link}}})
    scenario = described(resolve(experiment, mode="sim"))
    assert shared_links(scenario) == [("Shared link", f"down trace {LTE} (mean 5.9 Mbit/s, start=2s)")]
    assert notes_of_traces(scenario, 2) == [
        f"all runs and clients meet the same part of the rate trace {LTE} (start=2s): intervals say nothing about its "
        "other parts"
    ]


@pytest.mark.parametrize(("given", "told"), SHARED)
def test_what_the_shared_link_does_is_told(given: dict[str, Any], told: str) -> None:
    experiment = parse({"name": "x", "clients": [{}], "network": {"shared": given}})
    assert shared_links(resolve(experiment, mode="sim")) == ([("Shared link", told)] if told else [])


def test_static_routes_are_told() -> None:
    links = {name: {"from": "edge", "to": "core", "delay": "1ms"} for name in ("wan", "satellite")}
    nodes = {"edge": {"routes": {"server": "wan"}}, "core": {"routes": {"homes": "satellite"}}}
    network = {"kind": "graph", "nodes": nodes, "links": links}
    experiment = parse(
        {"name": "x", "server": {"at": "core"}, "clients": [{"name": "homes", "at": "edge"}], "network": network}
    )
    scenario = resolve(experiment, mode="sim")
    told = "to server at edge over wan, to homes at core over satellite"
    assert shared_links(scenario)[2:] == [("Static routes", told)]
    # Results of older versions have the names of nodes alone.
    assert shared_links({"network": scenario["network"] | {"nodes": ["edge", "core"]}}) == shared_links(scenario)[:2]


def test_what_the_links_of_a_backbone_and_a_graph_do_is_told() -> None:
    link = {"delay": "5ms", "rate": "8Mbit/s"}
    backbone = {"kind": "backbone", "subnetworks": 3, "link": link}
    along = resolve(parse({"name": "x", "clients": [{"at": "all"}], "network": backbone}), mode="sim")
    assert shared_links(along) == [("Backbone of 3 routers, each link between them", "8Mbit/s, delay 5ms")]
    one = backbone | {"subnetworks": 1}
    alone = resolve(parse({"name": "x", "clients": [{"at": "r1"}], "network": one}), mode="sim")
    assert shared_links(alone) == [("Backbone of 1 router, the link before it", "delay 5ms")]
    links = {
        "wan": {"from": "edge", "to": "core", **link, "forward": {"jitter": "1ms", "rate": "1Mbit/s"}},
        "free": {"from": "core", "to": "site"},
    }
    graph = {"kind": "graph", "nodes": ["edge", "core", "site"], "links": links}
    document = {"name": "x", "server": {"at": "site"}, "clients": [{"at": "edge"}], "network": graph}
    assert shared_links(resolve(parse(document), mode="sim")) == [
        ("Link wan (edge to core)", "forward 1Mbit/s, delay 5ms, jitter 1ms normal; backward 8Mbit/s, delay 5ms")
    ]


DROPPED = "were longer than the MTU of a link and were dropped, because their headers forbid fragments"


@pytest.mark.parametrize(
    ("fates", "burst", "noted"),
    [
        ({}, 100, []),
        ({"too big": 0, "fragmented": 0}, 0, []),
        (
            {"too big": 600, "fragmented": 1_000},
            100,
            [
                f"1,200 packets {DROPPED}; routers tell their senders",
                "2,000 packets were longer than the MTU of a link; fragments took their place",
            ],
        ),
        (
            {"too big": 6},
            0,
            [
                f"12 packets {DROPPED}; routers send no errors (network.icmp.burst=0), so that the senders do not "
                "learn it"
            ],
        ),
    ],
)
def test_packets_that_were_too_long_for_a_link_are_noted(fates: dict[str, int], burst: int, noted: list[str]) -> None:
    runs = [summary(9.0, run).model_copy(update={"fates": fates}) for run in range(2)]
    assert notes_of_mtus({"network": {"icmp": {"rate": "1000/s", "burst": burst}}}, runs) == noted


def with_ecn(connections: int, agreed: int, marked: int, reduced: int) -> RunEcn:
    return RunEcn(connections=connections, agreed=agreed, marked=marked, reduced=reduced)


REFUSED = "clients asked for ECN, and the server agreed on no connection: "
NO_QUEUE = "clients use ECN, and no queue marks packets: fq-codel marks unless its ecn is false, "
DROPPED = "clients use ECN, and 6 packets were dropped and none was marked"


@pytest.mark.parametrize(
    ("queue", "agreed", "marked", "dropped", "noted"),
    [
        ("fq-codel", 5, 7, 1, []),
        ("fq-codel", 5, 0, 0, []),
        ({"up": {"kind": "pie", "ecn": True}}, 5, 0, 3, [DROPPED]),
        ("codel", 5, 0, 3, [NO_QUEUE]),
        ({"kind": "fq-codel", "ecn": False}, 5, 0, 0, [NO_QUEUE]),
        ("64KiB", 5, 0, 3, [NO_QUEUE]),
        ("fq-codel", 0, 0, 3, [REFUSED + "a modelled server refuses if server.tcp.ecn is false, "]),
    ],
)
def test_that_ecn_had_no_effect_is_noted(queue: Any, agreed: int, marked: int, dropped: int, noted: list[str]) -> None:
    group = {"bandwidth": "1Mbit/s", "queue": queue, "tcp": {"ecn": True}}
    scenario = described(resolve(parse({"name": "x", "clients": [group]}), mode="sim"))
    run = summary(9.0, 0)
    up, down = (way.model_copy(update={"dropped": 0, "marked": 0}) for way in (run.network.up, run.network.down))
    down = down.model_copy(update={"dropped": dropped, "marked": marked})
    network = run.network.model_copy(update={"up": up, "down": down})
    runs = [run.model_copy(update={"ecn": with_ecn(5, agreed, 0, 0), "network": network})] * 2
    notes = notes_of_ecn(scenario, runs, "sim")
    assert len(notes) == len(noted)
    assert all(note.startswith(start) for note, start in zip(notes, noted, strict=True))


def test_ecn_is_summed_over_the_runs_of_clients_that_ask() -> None:
    silent, first = summary(9.0, 0), summary(9.0, 1).model_copy(update={"ecn": with_ecn(4, 3, 2000, 1)})
    assert ecn_of([silent]) is None
    assert notes_of_ecn({}, [silent], "sim") == []
    assert ecn_of([silent, first, first]) == with_ecn(8, 6, 4000, 2)
    assert ecn_text(with_ecn(8000, 6, 4000, 2)) == "agreed on 6 of 8,000 connections of the whole run"


def test_the_refusal_of_a_real_server_is_explained_by_its_kernel() -> None:
    run = summary(9.0, 0).model_copy(update={"ecn": with_ecn(4, 0, 0, 0)})
    assert notes_of_ecn({}, [run], "live") == [REFUSED + "the setting net.ipv4.tcp_ecn of its kernel decides that"]


ON_SHARED = {"link": "shared", "direction": "down", "packet": "1000B", "flows": 1}
OTHERS = {"name": "others", **ON_SHARED, "rate": "6Mbit/s", "model": {"kind": "poisson"}}


def test_cross_traffic_is_told_by_its_name_and_link() -> None:
    lengths = {"on": {"model": "constant", "value": "1s"}, "off": {"model": "none"}}
    bursts = {"name": "bursts", **ON_SHARED, "rate": "1Mbit/s", "model": {"kind": "on-off", **lengths}}
    silent = {"name": "silent", **ON_SHARED, "model": {"kind": "constant"}}
    assert cross_traffic({"cross_traffic": [OTHERS, bursts, silent]}) == [
        ("Cross traffic others on shared down", "6Mbit/s poisson, packets of 1000B"),
        ("Cross traffic bursts on shared down", "1Mbit/s on-off (on 1s, off none), packets of 1000B"),
        ("Cross traffic silent on shared down", "none"),
    ]
    assert cross_traffic({}) == []


def test_a_heading_tells_a_few_sources_and_counts_many() -> None:
    def heading(count: int) -> str:
        told = {"measure": {"duration": "9s", "warmup": "1s"}, "network": {"cross_traffic": [OTHERS] * count}}
        return heading_of(result([5.0]).model_copy(update={"scenario": told}))

    assert ", cross traffic others on shared down: 6Mbit/s poisson, packets of 1000B. " in heading(1)
    assert ", cross traffic from 4 sources. " in heading(4)


def test_what_became_of_cross_traffic_is_told_in_shares() -> None:
    counts = {"packets": 1_000, "lost": 5, "dropped": 20, "dropped_early": 3}
    told = {"name": "others", "link": "shared", "direction": "down", "links": 2, "offered_bps": 6e6, **counts}
    runs = [summary(9.0, run).model_copy(update={"cross_traffic": [RunCrossTraffic(**told)]}) for run in range(2)]
    [found] = combine(runs, [populations_of_a_run(run) for run in runs], name="x", mode="sim", seed=1).cross_traffic
    assert (found.packets, found.dropped_early, found.offered_bps.mean) == (2_000, 6, 6e6)
    shares = "10 lost (0.50 %), 40 dropped (6 of them early) (2.00 %)"
    assert carried(found) == f"others on shared down: 3 Mbit/s offered on each of 2 links, 2,000 packets, {shares}"
    few = found.model_copy(update={"links": 1, "lost": 0, "dropped_early": 0})
    assert carried(few) == "others on shared down: 6 Mbit/s offered, 2,000 packets, 40 dropped (2.00 %)"
    # They came before the interval.
    assert carried(found.model_copy(update={"packets": 0})) == "others on shared down: no packets"
