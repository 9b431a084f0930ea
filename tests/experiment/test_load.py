"""Reading files, and setting fields by path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from waspbench.errors import InputError
from waspbench.experiment import apply
from waspbench.experiment.load import load

FILE = """
name = "two-groups"
[[clients]]
name = "homes"
loss = "3%"
[[clients]]
name = "offices"
rtt = "20ms"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "experiment.toml"
    path.write_text(FILE)
    return path


def test_a_path_below_clients_means_all_groups(file: Path) -> None:
    experiment = load(file, ["clients.rtt=50ms", "clients.count = 8"])
    assert [(group.rtt, group.count) for group in experiment.clients] == [("50ms", 8), ("50ms", 8)]


def test_a_path_below_a_group_means_that_group(file: Path) -> None:
    assert [group.rtt for group in load(file, ["clients.offices.rtt=50ms"]).clients] == ["100ms", "50ms"]


@pytest.mark.parametrize("path", ["clients.2.rtt", "clients[2].rtt"])
def test_a_number_counts_groups(path: str, file: Path) -> None:
    assert [group.rtt for group in load(file, [f"{path}=50ms"]).clients] == ["100ms", "50ms"]


def test_a_group_without_a_name_has_the_default_one() -> None:
    document = {"clients": [{"rtt": "20ms"}, {"name": "2"}]}
    assert apply(document, ["clients.clients.rtt=50ms"])["clients"][0] == {"rtt": "50ms"}
    assert apply(document, ["clients.1.rtt=50ms"])["clients"][0] == {"rtt": "50ms"}
    assert apply(document, ["clients.2.rtt=50ms"])["clients"][1] == {"name": "2", "rtt": "50ms"}


@pytest.mark.parametrize("number", ["0", "3", "99999999999999999999", "-1"])
def test_a_number_of_no_group_is_named(number: str, file: Path) -> None:
    with pytest.raises(InputError, match=f"^clients.{number}: neither a group nor a field of one; valid here: homes, "):
        load(file, [f"clients.{number}.rtt=50ms"])


def test_a_loss_in_short_form_can_be_refined(file: Path) -> None:
    loss = load(file, ["clients.homes.loss.burst=50%"]).clients[0].loss
    assert loss is not None
    assert loss.model_dump(exclude_unset=True) == {"rate": "3%", "burst": "50%"}


def test_tables_on_the_way_are_made(file: Path) -> None:
    experiment = load(file, ["measure.runs=7", "clients.http.requests_per_connection=8", 'server.kind="nginx"'])
    assert experiment.measure.runs == 7
    assert [group.http.requests_per_connection for group in experiment.clients] == [8, 8]
    assert experiment.server.kind == "nginx"


def test_the_document_itself_is_left_alone() -> None:
    document: dict[str, Any] = {"clients": [{"http": {}}]}
    apply(document, ["clients.http.timeout=5s"])
    assert document == {"clients": [{"http": {}}]}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("clients.rtt", 'settings: "clients.rtt": must be path=value, such as clients.rtt=50ms'),
        ("=5", 'settings: "=5": must be path=value, such as clients.rtt=50ms'),
        ("clients.homes=5", 'settings: "clients.homes": names a group; name one of its fields too'),
        ("name.x=5", 'settings: "name.x": name is not a table but "two-groups"'),
        (
            "measure.run=5",
            "measure.run: unknown field; did you mean runs? "
            "valid here: warmup, duration, runs, until, max_errors, percentiles, time_limit, order",
        ),
        ("clients.homes.rtt=5", 'clients.homes.rtt: 5: must be text with a unit, such as "100ms"'),
        (
            "clients.hotels.rtt=5ms",
            "clients.hotels: neither a group nor a field of one; "
            "valid here: homes, offices, name, count, background, observe, at, profile, rtt, loss, bandwidth, trace, "
            "queue, jitter, reorder, duplicate, corrupt, mtu, workload, http, think, start, arrivals, tcp",
        ),
    ],
)
def test_a_wrong_setting_is_named(file: Path, setting: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        load(file, [setting])
    assert str(raised.value) == message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.toml: cannot be read: No such file or directory"):
        load(tmp_path / "no.toml")


def test_a_file_that_is_no_toml(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("name = \n")
    with pytest.raises(InputError, match=r"bad\.toml: not valid TOML: Invalid value \(at line 1, column 8\)"):
        load(path)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"bad\.toml: cannot be read: not UTF-8 text"):
        load(path)
