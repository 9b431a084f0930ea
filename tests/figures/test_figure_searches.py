"""Figures of searches for capacity, and of capacity over swept fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from capacity_results import found, load, point, searched
from figure_results import points, untrusted
from measured_runs import result
from waspbench import CapacityResult, capacity
from waspbench.experiment.search import Search
from waspbench.figures.figure import Figure, Trace
from waspbench.figures.kinds import available, figure
from waspbench.figures.matplotlib import save
from waspbench.figures.sources import NoFigureError, load_source
from waspbench.results.capacity import load_capacity

STORED = Path(__file__).parents[1] / "results" / "stored"


def traces(made: Figure, panel: int = 0) -> dict[str, Trace]:
    return {trace.name: trace for trace in made.panels[panel].traces}


NOTHING: dict[str, Any] = {
    "capacity": None,
    "load": None,
    "ci90": None,
    "outcome": "none",
    "valid": False,
    "why": "too slow",
}
"""What a search says of a point at which it found nothing."""


def by_rtt(*points: dict[str, Any], **about: Any) -> CapacityResult:
    """A search at an RTT of 10, 20, ... ms, of which each found what ``points`` say."""
    made = [point(index=i, varied={"clients.rtt": f"{10 * i + 10}ms"}, **each) for i, each in enumerate(points)]
    return searched(made, **about)


def test_the_capacity_at_each_point_is_that_of_the_search() -> None:
    made = figure(by_rtt({}, {"capacity": 300, "ci90": (290, 310), "load": 300}), "capacity-vs-rtt")
    [trace] = made.panels[0].traces
    assert (trace.x, trace.y, trace.low, trace.high) == ((10, 20), (500, 300), (490, 290), (520, 310))
    assert made.panels[0].y.label == "most clients"
    assert made.title == "Most clients under all.p99 < 1s against RTT: e (simulated)"
    assert made.warnings == ()
    assert made.notes == (
        "bars: the loads between which the objective ceases to be met (90 %)",
        "bottleneck: server",
    )


def test_a_lower_bound_has_no_upper_end() -> None:
    bound = {"outcome": "not reached", "ci90": (500, None)}
    alone = {"outcome": "emulator", "ci90": None}
    made = figure(by_rtt({}, bound, alone), "capacity")
    [trace] = made.panels[0].traces
    assert (trace.low, trace.high) == ((490, 500, 500), (520, None, None))
    assert "arrows: at least so much; more was not tried: RTT 20ms; the emulator was the limit: RTT 30ms" in made.notes
    assert "arrows: at least so much; more was not tried" in figure(by_rtt(bound, bound), "capacity").notes
    older = {"outcome": None, "bottleneck": "clients", "ci90": (500, 510)}
    made = figure(by_rtt(older, {}), "capacity")
    assert made.panels[0].traces[0].high == (None, 520)
    assert "arrows: at least so much; no load was too much for the server: RTT 10ms" in made.notes


def test_what_limits_is_told_where_it_differs() -> None:
    made = figure(by_rtt({}, {"bottleneck": "network"}, {"bottleneck": "network"}), "capacity")
    assert "bottleneck: server at RTT 10ms; network at RTT 20ms; RTT 30ms" in made.notes


def test_capacities_that_must_not_be_trusted_and_missing_ones_are_told() -> None:
    unconfirmed = {"confirmed": False, "valid": False}
    unfinished = {"capacity": None, "load": None, "ci90": None, "outcome": None, "valid": False}
    made = figure(by_rtt({}, unconfirmed, NOTHING, unfinished, complete=False), "capacity-vs-rtt")
    [trace] = made.panels[0].traces
    assert (trace.y, trace.invalid[:2]) == ((500, 500, None, None), (False, True))
    assert made.warnings == (
        "the search is not over at 1 of 4 points: RTT 40ms",
        "nothing found: RTT 30ms: too slow",
        "NOT TO BE TRUSTED (hollow), 1 of 2: RTT 20ms: not confirmed",
    )
    with pytest.raises(NoFigureError, match="capacity would show nothing: nothing found: RTT 10ms: too slow;"):
        figure(by_rtt(NOTHING, NOTHING), "capacity")


def test_a_search_of_one_point_has_no_capacity_over_anything() -> None:
    with pytest.raises(NoFigureError, match="needs a search at the points of a sweep, and this one has one point"):
        figure(found(), "capacity-vs-rtt")


def swept(*rows: tuple[int, str, Any]) -> Any:
    return points(*(({"clients.count": count, "clients.rtt": rtt}, made) for count, rtt, made in rows))


def test_the_capacity_of_a_sweep_is_its_largest_throughput() -> None:
    made = figure(
        swept(
            (8, "10ms", result([50.0, 52.0])),
            (64, "10ms", result([90.0, 92.0])),
            (512, "10ms", result([70.0, 72.0])),
            (8, "99ms", result([5.0, 6.0])),
            (64, "99ms", result([7.0, 8.0])),
            (512, "99ms", untrusted([8.0, 9.0])),
        ),
        "capacity-vs-rtt",
    )
    [trace] = made.panels[0].traces
    assert (trace.x, trace.y, trace.invalid) == ((10, 99), (91.0, 8.5), (False, True))
    assert trace.high[0] is not None
    assert trace.high[1] is None
    assert made.warnings == ("NOT TO BE TRUSTED (hollow), 1 of 2: RTT 99ms [lag]",)
    assert "arrows: at least so much; no higher load was tried: RTT 99ms" in made.notes


def test_more_load_brings_no_more_to_a_server_that_is_saturated() -> None:
    full = result([9.0])
    busy = full.model_copy(update={"server_cpu": full.server_cpu.model_copy(update={"busy": 0.97})})
    made = figure(
        swept((1, "1ms", result([5.0])), (2, "1ms", busy), (1, "2ms", result([5.0])), (2, "2ms", busy)), "capacity"
    )
    [trace] = made.panels[0].traces
    assert (trace.y, trace.low) == ((9.0, 9.0), ())


def test_clients_that_can_ask_for_no_more_leave_capacity_open() -> None:
    def made(rtt: str, throughput: float) -> Any:
        http = {"connections": 1, "pipeline": 1, "requests_per_connection": None}
        group = {"name": "a", "count": 8, "rtt": rtt, "http": http, "think": None, "arrivals": None}
        scenario = {"workload": {"kind": "single", "size": "1KiB"}, "network": {}}
        return result([throughput]).model_copy(update={"clients": [group], "scenario": scenario})

    rates = {"10ms": (500.0, 795.0, 700.0), "20ms": (200.0, 300.0, 250.0)}
    rows = [
        ({"clients.arrivals.rate": f"{load}/s", "clients.rtt": rtt}, made(rtt, rate))
        for rtt, found_there in rates.items()
        for load, rate in zip((500, 900, 3000), found_there, strict=True)
    ]
    drawn = figure(points(*rows), "capacity")
    [trace] = drawn.panels[0].traces
    assert (trace.y, trace.low, trace.high) == ((795.0, 300.0), (795.0, None), ()) or trace.high == (None, None)
    assert "arrows: at least so much; clients could not ask for more: RTT 10ms" in drawn.notes


def test_the_load_of_a_background_group_is_none_to_choose_from() -> None:
    groups = [{"name": "users", "background": False}, {"name": "crawlers", "background": True}]
    made = result([5.0]).model_copy(update={"clients": groups})
    grid = [(count, rtt) for count in (1, 2) for rtt in ("1ms", "2ms")]
    swept = points(*(({"clients.crawlers.count": count, "clients.users.rtt": rtt}, made) for count, rtt in grid))
    with pytest.raises(NoFigureError, match="needs a search for capacity, or a sweep of a load"):
        figure(swept, "capacity")


def test_loads_that_have_no_run_yet_are_told_of() -> None:
    made = figure(
        swept(
            (8, "1ms", result([5.0])), (9, "1ms", None), (8, "2ms", None), (9, "2ms", None), (8, "3ms", result([3.0]))
        ),
        "capacity",
    )
    assert made.panels[0].traces[0].y == (5.0, None, 3.0)
    assert made.panels[0].traces[0].high == (None, None, None)
    assert made.panels[0].traces[0].low == (5.0, None, 3.0)
    assert made.warnings == (
        "no finished run at 1 of 3 points: RTT 2ms",
        "no finished run at 1 of 2 loads at RTT 1ms",
    )


@pytest.mark.parametrize(
    ("sweep", "name", "message"),
    [
        ([{"clients.count": 1}, {"clients.count": 2}], "capacity", "needs a search for capacity, or a sweep of a load"),
        ([{"clients.rtt": "1ms"}, {"clients.rtt": "2ms"}], "capacity", "needs a search for capacity, or a sweep"),
        (
            [{"clients.count": 1, "clients.rtt": "1ms"}, {"clients.count": 2, "clients.rtt": "2ms"}],
            "capacity",
            "needs a search for capacity, or a sweep of a load .* and of another field besides, each with each",
        ),
        (
            [{"clients.count": count, "clients.rtt": rtt} for count in (1, 2) for rtt in ("1ms", "2ms")],
            "capacity-vs-load",
            "is of a search for capacity; over the loads of a sweep there is one capacity",
        ),
    ],
)
def test_sweeps_that_have_no_capacity(sweep: list[dict[str, Any]], name: str, message: str) -> None:
    with pytest.raises(NoFigureError, match=message):
        figure(points(*((varied, result([1.0])) for varied in sweep)), name)


LOADS = [
    load(100, 20.0, 141.0),
    load(300, 60.0, 170.0),
    load(500, 90.0, 800.0),
    load(500, 91.0, 810.0, fresh=True, throughput_ci90=(90.0, 92.0)),
    load(520, 60.0, 9000.0, counts="objective"),
    load(900, 10.0, 30000.0, counts="failed", valid=False),
]


def test_a_search_shows_what_became_of_each_load() -> None:
    made = figure(found(loads=LOADS), "load-search")
    assert [panel.y.label for panel in made.panels] == ["throughput (ok/s)", "response time p99 of all that ended (ms)"]
    assert [panel.x.label for panel in made.panels] == ["clients", "clients"]
    assert (made.panels[0].x.log, made.panels[0].y.log, made.panels[1].y.log) == (True, False, True)
    rates, tails = traces(made), traces(made, 1)
    assert (rates["meets all.p99 < 1s"].x, rates["meets all.p99 < 1s"].y) == ((100, 300, 500), (20, 60, 90))
    assert (rates["misses all.p99 < 1s"].y, tails["misses all.p99 < 1s"].y) == ((60,), (9000,))
    assert (rates["failed"].x, rates["failed"].invalid) == ((900,), (True,))
    fresh = rates["fresh runs"]
    assert (fresh.kind, fresh.x, fresh.low, fresh.high, fresh.invalid) == ("points", (500,), (90.0,), (92.0,), ())
    assert rates["found"].x == (500, 500)
    ends = [trace.x[0] for trace in made.panels[0].traces if trace.name == "90 % interval"]
    assert ends == [490, 520]
    limit = tails["all.p99 < 1s"]
    assert (limit.kind, limit.x, limit.y) == ("reference", (100, 900), (1000, 1000))
    assert "all.p99 < 1s" not in rates
    assert made.notes[0] == "500 clients with all.p99 < 1s   (90 %: 490 to 520)"
    assert made.valid
    assert made.warnings == ()


def test_what_was_not_confirmed_is_told() -> None:
    elsewhere = load(480, 70.0, 1100.0, fresh=True, counts="objective")
    made = figure(found(loads=[*LOADS, elsewhere], confirmed=False, valid=False), "load-search")
    assert traces(made)["fresh runs"].invalid == ()
    missed = traces(made)["misses all.p99 < 1s, fresh runs"]
    assert (missed.kind, missed.x) == ("points", (480,))
    assert made.warnings == ("NOT TO BE TRUSTED (what was found): not confirmed",)
    assert not made.valid


def test_a_search_that_found_nothing_shows_what_it_tried() -> None:
    made = figure(found(loads=[load(8, 2.0, 5000.0, counts="objective")], **NOTHING), "load-search")
    assert list(traces(made)) == ["misses all.p99 < 1s"]
    assert made.warnings == ("nothing found: too slow",)
    assert not made.valid
    [tried, limit] = made.panels[1].traces
    assert (tried.y, limit.y) == ((5000,), (1000, 1000))
    assert limit.x[0] < 8 < limit.x[1]


def test_without_objectives_loads_count_or_do_not() -> None:
    loads = [load(8, 20.0), load(64, 90.0), load(512, 80.0, counts="emulator"), load(64, 91.0, fresh=True)]
    made = figure(
        searched([point(loads=loads, load=64, capacity=91.0)], find="throughput", objectives=[]), "load-search"
    )
    [panel] = made.panels
    assert [trace.name for trace in panel.traces] == ["counts", "emulator at its limit", "fresh runs", "found"]


def test_the_searches_of_a_sweep_have_a_curve_each() -> None:
    made = figure(by_rtt({"loads": LOADS}, {"loads": LOADS, "outcome": "not reached"}), "load-search")
    rates = traces(made)
    assert list(rates) == ["RTT 10ms", "RTT 20ms", "found", "found, at least"]
    assert (rates["RTT 10ms"].x, rates["RTT 10ms"].invalid) == ((100, 300, 500, 520, 900), (False,) * 4 + (True,))
    assert (rates["found"].x, rates["found"].y, rates["found, at least"].y) == ((500,), (91.0,), (91.0,))
    assert list(traces(made, 1)) == ["RTT 10ms", "RTT 20ms", "found", "found, at least", "all.p99 < 1s"]
    assert made.valid
    assert not figure(by_rtt({"loads": LOADS}, {"loads": LOADS, "valid": False}), "load-search").valid


def test_a_search_without_a_run_has_no_figure() -> None:
    with pytest.raises(NoFigureError, match="needs a search with a finished run, and there is none"):
        figure(found(loads=[]), "load-search")


@pytest.fixture(scope="module")
def searched_twice(tmp_path_factory: pytest.TempPathFactory) -> CapacityResult:
    document = {
        "name": "twice",
        "mode": "sim",
        "clients": [{"rtt": "20ms"}],
        "measure": {"warmup": "200ms", "duration": "2s"},
        "sweep": {"clients.rtt": ["20ms", "50ms"]},
    }
    return capacity(
        document, output=tmp_path_factory.mktemp("searched") / "twice", search=Search(high=32, most=6, confirm=2)
    )


def test_points_of_a_search_are_chosen_by_their_fields(searched_twice: CapacityResult) -> None:
    source = load_source(f"{searched_twice.results}@clients.rtt=50ms")
    made = figure(source, "load-search")
    assert made.title == "Search for capacity: twice, RTT 50ms (simulated)"
    assert "found, at least" in traces(made)
    values = figure(searched_twice, "capacity-vs-rtt").panels[0].traces[0].y
    assert values == tuple(each.capacity for each in searched_twice.points)
    with pytest.raises(NoFigureError, match="throughput-vs-rtt is of runs, and twice is a search for capacity"):
        figure(searched_twice, "throughput-vs-rtt")
    with pytest.raises(NoFigureError, match="load-search is of a search for capacity"):
        figure(points(({"clients.count": 1}, result([1.0]))), "load-search")


@pytest.mark.parametrize("old", sorted(STORED.glob("*/capacity")), ids=lambda path: path.parent.name)
def test_searches_of_older_formats_are_drawn(old: Path, tmp_path: Path) -> None:
    there = [kind.name for kind, why in available(load_capacity(old)) if why is None]
    assert "load-search" in there
    for name in there:
        save(figure(load_source(str(old)), name), tmp_path / f"{name}.svg")


def test_every_figure_of_searches_is_drawn(searched_twice: CapacityResult, tmp_path: Path) -> None:
    bound = {"outcome": "not reached", "ci90": (500, None), "loads": LOADS}
    for made in (searched_twice, by_rtt(bound, {"loads": LOADS}), found(loads=LOADS, confirmed=False, valid=False)):
        there = [kind.name for kind, why in available(made) if why is None]
        assert there
        for name in there:
            save(figure(made, name), tmp_path / f"{name}.svg")
