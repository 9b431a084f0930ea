"""What the engine is told."""

from __future__ import annotations

import pytest

from defaults import DEFAULT_HTTP
from waspbench.errors import InputError
from waspbench.experiment import Experiment, accept, apply, parse
from waspbench.experiment.resolve import resolve


def experiment() -> Experiment:
    return parse(
        {
            "name": "x",
            "seed": 7,
            "server": {"tcp": {"preset": "bsd1999"}, "model": {"per_request": "50us"}},
            "workload": {"size": "20KB"},
            "clients": [
                {
                    "name": "homes",
                    "count": 4,
                    "rtt": "50ms",
                    "bandwidth": {"down": "10Mbit/s"},
                    "queue": "64KiB",
                    "tcp": {"mss": 536, "sack": False},
                    "http": {"requests_per_connection": 1},
                }
            ],
        }
    )


OF_A_MACHINE = (
    "concurrency",
    "workers",
    "processes",
    "syn_queue",
    "fin_with_data",
    "wakeup_latency",
    "interrupt_interval",
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
    "per_runnable",
    "per_tick",
)
UNIMPAIRED = dict.fromkeys(("trace", "jitter", "reorder", "duplicate", "corrupt"))
UNLIMITED = {"rate": None, "queue": None, "delay": "0ms", "mtu": None, "loss": None, **UNIMPAIRED}


def test_a_simulated_run_is_told_everything() -> None:
    assert resolve(experiment(), 2, mode="sim") == {
        "seed": 7,
        "run": 2,
        "mode": "sim",
        "server": {
            "address": "198.18.0.1",
            "port": 80,
            "tcp": {"preset": "bsd1999"},
            "model": {
                "cores": 1,
                "per_connection": "20us",
                "per_request": "50us",
                "per_kib": "1us",
                "per_packet": "0ms",
                "requests_per_connection": None,
                "accept_queue": None,
                **dict.fromkeys(OF_A_MACHINE),
            },
        },
        "network": {
            "prefix": "198.18.0.0/17",
            "shared": {"up": UNLIMITED, "down": UNLIMITED},
            "icmp": {"rate": "1000/s", "burst": 100},
            "traces": {},
        },
        "workload": {"kind": "single", "deal": "own", "path": "/20000", "size": "20KB"},
        "clients": [
            {
                "name": "homes",
                "count": 4,
                "background": False,
                "observe": False,
                "rtt": "50ms",
                "loss": {"up": None, "down": None, "scope": "direction"},
                "bandwidth": {"up": None, "down": "10Mbit/s"},
                "queue": {"up": None, "down": "64KiB"},
                **{option: {"up": None, "down": None} for option in UNIMPAIRED},
                "mtu": 1500,
                "http": DEFAULT_HTTP | {"requests_per_connection": 1},
                "think": None,
                "start": "equilibrium",
                "arrivals": None,
                "tcp": {"preset": "linux", "mss": 536, "sack": False},
            }
        ],
        "measure": {"warmup": "5s", "duration": "10s", "max_errors": "10%"},
    }


def test_a_live_run_is_told_nothing_of_the_modelled_server() -> None:
    simulated, live = (resolve(experiment(), mode=mode) for mode in ("sim", "live"))
    assert live["server"] == {"address": "198.18.0.1", "port": 80, "congestion": "cubic"}
    assert live | {"mode": "sim", "server": simulated["server"]} == simulated


def test_the_congestion_control_towards_a_server_that_runs_already_is_that_of_the_route() -> None:
    there = {"kind": "url", "url": "http://127.0.0.1:8080/", "congestion": "bbr"}
    resolved = resolve(parse({"name": "x", "server": there, "clients": [{}]}), mode="live")
    assert resolved["server"]["congestion"] == "bbr"


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_version_needs_no_quotes(version: str) -> None:
    asked = parse(apply({"name": "x", "clients": [{}]}, [f"clients.http.version={version}"]))
    assert asked.clients[0].resolve()["http"]["version"] == version


def test_a_group_without_a_name_is_not_named_in_what_the_engine_tells() -> None:
    for name, where in (({}, "clients"), ({"name": "homes"}, "clients.homes")):
        asked = parse({"name": "x", "clients": [name | {"http": {"headers": {"Host": "x"}}}]})
        with pytest.raises(InputError, match=rf"^{where}\.http\.headers: header Host: is set by the client itself$"):
            accept(asked, "sim")
