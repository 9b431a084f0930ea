"""Swept fields as axes and families of curves."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from waspbench.figures.arrange import arrange
from waspbench.figures.choice import choose, left_out
from waspbench.figures.fields import axis_of, kind_of, setting
from waspbench.figures.sources import NoFigureError


@pytest.mark.parametrize(
    ("path", "values", "label", "places"),
    [
        ("clients.count", [8, 16], "clients", [8, 16]),
        ("clients.homes.count", [8, 16], "clients of homes", [8, 16]),
        ("clients.rtt", ["20ms", "0.1s"], "round-trip time (ms)", [20, 100]),
        ("clients.homes.rtt", ["20ms"], "round-trip time of homes (ms)", [20]),
        ("clients.loss", ["0%", "3%"], "packet loss (%)", [0, 3]),
        ("clients.loss.rate", [0.03, "0.06"], "packet loss (%)", [3, 6]),
        ("clients.loss.down.rate", ["0.5%"], "packet loss down (%)", [0.5]),
        ("clients.bandwidth.down", ["1Mbit/s", "500kbit/s"], "bandwidth down (Mbit/s)", [1, 0.5]),
        ("network.cross_traffic.a.rate", [0, "3Mbit/s"], "rate of cross traffic a (Mbit/s)", [0, 3]),
        ("network.cross_traffic.a.packet", ["1KB"], "packet length of cross traffic a (KB)", [1]),
        ("clients.arrivals.rate", ["100/s", "60/min"], "arrivals (1/s)", [100, 1]),
        ("workload.size", ["1KiB", "1MiB"], "file size (KiB)", [1, 1024]),
        ("workload.size", ["1KB", "1MB"], "file size (KB)", [1, 1000]),
        ("clients.far.workload.size", ["1KB", "1MB"], "file size of far (KB)", [1, 1000]),
        ("clients.far.workload.files", [50, 100], "workload.files of far", [50, 100]),
        ("clients.a.b.workload.embedded.cap", [5, 9], "embedded.cap of a.b", [5, 9]),
        ("clients.far.start", [5, 9], "start of far", [5, 9]),
        ("clients.http.connections", [1, 2], "http.connections", [1, 2]),
        ("workload.size", ["2MB", "1.5MB"], "file size (MB)", [2, 1.5]),
        ("workload.size", [0, "1MB"], "file size (MB)", [0, 1]),
        ("workload.size", ["100B", "1KB"], "file size (B)", [100, 1000]),
        ("clients.queue.down", ["1MiB", "3MiB"], "queue down (MiB)", [1, 3]),
        ("network.shared.down.loss", [0.01, "2%"], "shared link's loss down (%)", [1, 2]),
        ("clients.tcp.mss", [536, 1460], "tcp.mss", [536, 1460]),
    ],
)
def test_a_field_of_numbers_has_one_unit(path: str, values: list[Any], label: str, places: list[float]) -> None:
    axis, found = axis_of(path, values)
    assert (axis.label, axis.categories) == (label, ())
    assert found == pytest.approx(places)


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["nginx", "apache", "nginx"], ("nginx", "apache")),
        (["20ms", "3%"], ("20ms", "3%")),
        ([True, False], ("true", "false")),
        ([{"rate": "3%", "burst": 0.2}], ("rate=3% burst=0.2",)),
        (["1ms", None], ("1ms", "–")),  # noqa: RUF001
    ],
)
def test_a_field_of_anything_else_has_names(values: list[Any], names: tuple[str, ...]) -> None:
    axis, places = axis_of("server.kind", values)
    assert axis.categories == names
    assert places == [names.index(name) for name in (["nginx", "apache", "nginx"] if len(values) == 3 else names)]


def test_traces_are_named_on_axes_and_in_legends() -> None:
    axis, _ = axis_of("clients.phones.trace.down", ["lte.down", "edge.down"])
    assert (axis.label, axis.categories) == ("rate trace down of phones", ("lte.down", "edge.down"))
    assert setting("network.shared.down.trace", "lte.down") == "shared link's trace down lte.down"


def test_an_axis_of_numbers_far_apart_is_logarithmic() -> None:
    assert axis_of("clients.count", [8, 128])[0].log
    assert not axis_of("clients.count", [8, 127])[0].log
    assert not axis_of("clients.loss.rate", ["0%", "50%"])[0].log


def test_a_field_is_called_by_what_it_is() -> None:
    assert setting("clients.loss.rate", "3%") == "loss 3%"
    assert setting("clients.homes.rtt", "50ms") == "RTT of homes 50ms"
    assert setting("server.model.cores", 2) == "model.cores 2"
    assert setting("group", "phones") == "phones"
    assert (setting("clients.loss.rate", 0.01), setting("server.kind", "nginx")) == ("loss 1%", "server nginx")
    assert [kind_of(path) for path in ("clients.count", "clients.a.rtt", "clients.loss.up", "server.kind")] == [
        "load",
        "rtt",
        "loss",
        "other",
    ]


GRID = [{"clients.count": count, "clients.loss.rate": loss} for count in (16, 8) for loss in ("0%", "3%")]


def test_the_other_fields_are_families_of_curves() -> None:
    laid = arrange(GRID)
    assert (laid.path, laid.axis.label, laid.places) == ("clients.count", "clients", (16, 16, 8, 8))
    [(title, curves)] = laid.panels
    assert title == ""
    assert {curve.name: curve.points for curve in curves} == {"loss 0%": (2, 0), "loss 3%": (3, 1)}
    [(_, curves)] = arrange(GRID, kind="loss").panels
    assert {curve.name: curve.points for curve in curves} == {"clients 16": (0, 1), "clients 8": (2, 3)}
    [(_, curves)] = arrange(GRID, x="clients.loss.rate").panels
    assert [curve.name for curve in curves] == ["clients 16", "clients 8"]


def test_fields_that_make_no_curves_make_panels() -> None:
    points = [{**point, "server.kind": kind} for point in GRID for kind in ("nginx", "apache")]
    laid = arrange(points, by=["clients.loss.rate"])
    assert [(title, [curve.name for curve in curves]) for title, curves in laid.panels] == [
        ("server nginx", ["loss 0%", "loss 3%"]),
        ("server apache", ["loss 0%", "loss 3%"]),
    ]
    assert sorted(place for _, curves in laid.panels for curve in curves for place in curve.points) == list(range(8))


def test_a_field_that_follows_the_axis_makes_no_curves() -> None:
    points = [{"server.kind": kind, "measure.duration": length} for kind, length in (("nginx", "1s"), ("apache", "2s"))]
    [(_, [curve])] = arrange(points, x="server.kind").panels
    assert (curve.name, curve.points) == ("", (0, 1))


def test_a_field_of_one_value_does_not_vary() -> None:
    [(_, [curve])] = arrange([{**point, "clients.rtt": "5ms"} for point in GRID[::2]]).panels
    assert curve.name == ""


def test_fields_that_vary_together_stand_on_the_axis_of_the_first() -> None:
    mix = [{"clients.homes.count": homes, "clients.phones.count": 16 - homes} for homes in (2, 8, 14)]
    laid = arrange(mix)
    assert (laid.axis.label, laid.places) == ("clients of homes", (2, 8, 14))
    assert arrange(mix, x="clients.phones.count").places == (14, 8, 2)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"x": "clients.rtt"},
            "cannot be drawn against clients.rtt, which does not vary here; what does: clients.count, "
            "clients.loss.rate",
        ),
        (
            {"x": "clients.count", "kind": "rtt"},
            "cannot be drawn against clients.count, which is no round-trip time; without -vs-rtt it can",
        ),
        (
            {"kind": "rtt"},
            "needs a sweep of a round-trip time (clients.rtt); what varies here: clients.count, clients.loss.rate",
        ),
        ({"by": ["clients.rtt"]}, "has no curves for clients.rtt; valid here: clients.loss.rate"),
        (
            {"by": ["clients.count"]},
            "has clients.count along its axis; choose another axis (x), or curves of other fields",
        ),
    ],
)
def test_what_cannot_be_arranged(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(NoFigureError) as caught:
        arrange(GRID, **asked)
    assert caught.value.problems[0].message == message


def test_there_are_not_too_many_panels() -> None:
    points = [{**point, "seed": seed} for point in GRID for seed in range(7)]
    with pytest.raises(NoFigureError, match="would have 7 panels for seed, and at most 6 are drawn"):
        arrange(points, by=["clients.loss.rate"])


def test_of_many_curves_the_telling_ones_are_chosen() -> None:
    worth: list[float | None] = [10.0] * 40
    worth[17], worth[23], worth[5] = 99.0, 1.0, None
    kept = choose(worth)
    assert len(kept) == 12
    assert kept == sorted(set(kept))
    assert {0, 17, 23, 39} <= set(kept)
    gaps = [later - earlier for earlier, later in pairwise(kept)]
    assert max(gaps) <= 8  # evenly spread
    assert choose([None] * 12) == list(range(12))
    assert len(choose([None] * 13)) == 12
    assert left_out(40, 12, "points") == [
        "12 of 40 points are shown: first, last, highest and lowest, the others evenly spread"
    ]
    assert left_out(12, 12, "points") == []
