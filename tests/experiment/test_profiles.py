"""Access profiles: what they set, what wins over them, and that each has a source."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from waspbench.cli.app import invoke
from waspbench.errors import InputError
from waspbench.experiment import PROFILES, Clients, parse


def group(**fields: Any) -> Clients:
    return parse({"name": "x", "clients": [fields]}).clients[0]


def test_a_profile_sets_path_and_queue() -> None:
    cable = group(profile="cable").resolve()
    assert (cable["rtt"], cable["bandwidth"]) == ("28ms", {"up": "1Mbit/s", "down": "5Mbit/s"})
    # One round-trip time at 5 Mbit/s is 17,500 B; at 1 Mbit/s it is less than ten packets.
    assert cable["queue"] == {"up": "15000B", "down": "17500B"}
    assert cable["loss"] == {"up": None, "down": None, "scope": "direction"}


def test_delays_of_each_direction_add_up_to_the_round_trip_time() -> None:
    good = group(profile="atc-3g-good").resolve()
    assert good["rtt"] == "190ms"  # 90 ms down and 100 ms up


def test_a_profile_with_loss_loses_in_each_direction_independently() -> None:
    lossy = group(profile="atc-edge-lossy").resolve()["loss"]
    assert lossy["up"] == lossy["down"] == {"model": "independent", "rate": "1%"}


def test_what_is_given_wins_and_queues_follow_it() -> None:
    changed = group(profile="cable", rtt="100ms", bandwidth={"down": "10Mbit/s"}, loss="3%").resolve()
    assert (changed["rtt"], changed["bandwidth"]) == ("100ms", {"up": "1Mbit/s", "down": "10Mbit/s"})
    assert changed["queue"] == {"up": "15000B", "down": "125000B"}
    assert changed["loss"]["up"]["model"] == "two-state"
    assert group(profile="cable", queue="64KiB").resolve()["queue"] == {"up": "64KiB", "down": "64KiB"}


@pytest.mark.parametrize(
    ("trace", "left"),
    [({"down": "lte.down"}, {"up": "1Mbit/s"}), ("lte", {}), ({"down": {"file": "lte.down"}}, {"up": "1Mbit/s"})],
)
def test_a_trace_takes_the_place_of_rate_and_queue(trace: Any, left: dict[str, str]) -> None:
    recorded = group(profile="cable", trace=trace).resolve()
    assert recorded["rtt"] == "28ms"
    assert recorded["bandwidth"] == {"up": None, "down": None} | left
    assert recorded["queue"] == {"up": "15000B" if left else None, "down": None}


def test_an_experiment_that_was_written_down_means_the_same() -> None:
    experiment = parse({"name": "x", "clients": [{"profile": "dsl"}]})
    again = parse(experiment.model_dump(exclude_none=True, by_alias=True))
    assert [again.clients[0].resolve()] == [group(profile="dsl").resolve()]


def test_an_invalid_field_beside_a_profile_is_what_is_told() -> None:
    with pytest.raises(InputError, match=r'^clients\.bandwidth\.down: "fast": '):
        group(profile="cable", bandwidth={"down": "fast"})


@pytest.mark.parametrize("mtu", [[1], "abc", None, {}])
def test_an_mtu_that_is_no_number_is_told_beside_a_profile(mtu: Any) -> None:
    with pytest.raises(InputError, match=r"^clients\.mtu: [^:]*: must be a whole number$"):
        group(profile="cable", mtu=mtu)


def test_every_profile_is_valid_and_has_a_source() -> None:
    for name, profile in PROFILES.items():
        assert group(profile=name).resolve()["rtt"] == profile.rtt
        assert re.search(r"github\.com/[\w-]+/[\w-]+", profile.source), name
        assert profile.entry, name


def test_the_command_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["profiles"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert ["cable", "5Mbit/s", "1Mbit/s", "28ms", "none"] in [line.split() for line in lines]
    assert max(map(len, lines)) <= 80
    assert invoke(["profiles", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed.keys() == PROFILES.keys()
    assert listed["edge"]["rtt"] == "840ms"
