"""Figures as data: what is made of results, whatever they are."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from figure_results import SIM, all_errors, loads, only, points, simulated, untrusted
from measured_runs import result
from waspbench import InputError, StudyResult, load_study
from waspbench.experiment.metrics import Metric
from waspbench.figures.distributions import Sample, curve
from waspbench.figures.figure import Figure, Trace
from waspbench.figures.kinds import KINDS, available, figure, kind_named
from waspbench.figures.references import limit
from waspbench.figures.sources import NoFigureError, load_source
from waspbench.figures.values import Part
from waspbench.results.checks import estimate
from waspbench.results.reasons import Reason
from waspbench.results.shape import series
from waspbench.stats import Histogram, binomial_interval, mean_interval

STORED = Path(__file__).parents[1] / "results" / "stored"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    sweep = {"clients.count": [4, 64], "clients.loss.rate": ["0%", "5%"]}
    return simulated(tmp_path_factory.mktemp("figures") / "swept", sweep=sweep)


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    clients = [
        {"name": "homes", "count": 4, "rtt": "20ms"},
        {"name": "phones", "count": 8, "rtt": "50ms", "loss": "5%"},
        {"name": "crowd", "count": 2, "rtt": "20ms", "background": True},
    ]
    return simulated(
        tmp_path_factory.mktemp("figures") / "groups", clients=clients, sweep={"clients.phones.rtt": ["50ms", "80ms"]}
    )


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    clients = [{"count": 8, "rtt": "50ms", "loss": "5%"}]
    return simulated(tmp_path_factory.mktemp("figures") / "single", clients=clients)


def traces(made: Figure, panel: int = 0) -> dict[str, Trace]:
    return {trace.name: trace for trace in made.panels[panel].traces}


def test_the_values_of_a_sweep_are_those_of_its_tables(swept: StudyResult) -> None:
    made = figure(swept, "throughput-vs-load")
    found = traces(made)
    assert list(found) == ["loss 0%", "loss 5%", "limit"]
    assert (made.panels[0].x.label, made.panels[0].x.log) == ("clients", True)
    assert made.panels[0].y.label == "throughput (ok/s)"
    for loss in ("0%", "5%"):
        own = [point.result for point in swept.points if point.varied["clients.loss.rate"] == loss]
        trace = found[f"loss {loss}"]
        assert trace.x == (4, 64)
        assert trace.y == tuple(each.throughput.mean for each in own if each)
        assert list(zip(trace.low, trace.high, strict=True)) == [each.throughput.ci90 for each in own if each]
    assert found["limit"].y == pytest.approx((80, 1280))
    assert found["limit"].kind == "reference"
    assert "bars: 90 % intervals over 2 runs" in made.notes
    assert made.title == "Throughput against load: sim (simulated)"


def test_response_times_are_their_mean_and_their_tail(swept: StudyResult) -> None:
    made = figure(swept, "response-time-vs-loss")
    assert [panel.y.label for panel in made.panels] == ["response time mean (ms)", "response time p99 (ms)"]
    assert made.panels[0].x.label == "packet loss (%)"
    own = [point.result for point in swept.points if point.varied["clients.count"] == 64]
    means, tails = (traces(made, panel)["clients 64"] for panel in (0, 1))
    assert means.x == tails.x == (0, 5)
    assert means.y == pytest.approx([each.response_time_ms.mean for each in own if each])
    assert tails.y == tuple(each.response_time_ms.p99 for each in own if each)
    assert list(zip(tails.low, tails.high, strict=True)) == [each.response_time_ms.p99_ci90 for each in own if each]


@pytest.mark.parametrize(("name", "label"), [("server-cpu", "server CPU busy (%)"), ("errors", "errors (%)")])
def test_shares_are_in_per_cent(swept: StudyResult, name: str, label: str) -> None:
    made = figure(swept, f"{name}-vs-load")
    assert made.panels[0].y.label == label
    for trace in made.panels[0].traces:
        for y, low, high in zip(trace.y, trace.low, trace.high, strict=True):
            assert y is not None
            assert low is not None
            assert high is not None
            assert 0 <= low <= y <= high <= 100


def test_errors_are_the_share_that_tables_have() -> None:
    made = result([5.0, 6.0])
    counts = ({"ok": 900, "reset": 100}, {"ok": 90, "reset": 0})
    runs = [run.model_copy(update={"outcomes": each}) for run, each in zip(made.runs, counts, strict=True)]
    assert estimate(made.model_copy(update={"runs": runs}), Metric("errors"))[0] == 100 / 1090


def test_anything_that_conditions_name_can_be_drawn(swept: StudyResult, groups: StudyResult) -> None:
    made = figure(swept, "p99.9-vs-load")
    assert (made.name, made.title) == ("p99.9-vs-load", "Response time p99.9 against load: sim (simulated)")
    assert made.panels[0].y.label == "response time p99.9 (ms)"
    made = figure(groups, "phones.all.mean")
    assert made.panels[0].y.label == "phones: response time mean of all that ended (ms)"
    [trace] = made.panels[0].traces
    phones = [each.result.groups[1] for each in groups.points if each.result]
    assert trace.y == pytest.approx([each.all_response_time_ms.mean for each in phones])
    with pytest.raises(NoFigureError, match=r"phone.mean is of a group that is not there; did you mean phones\?"):
        figure(groups, "phone.mean")
    with pytest.raises(
        InputError, match=r"unknown figure; did you mean p99-vs-load\? valid here: throughput-vs-load, .*, and what"
    ):
        figure(groups, "p99-vs-lod")


def test_groups_have_curves_of_their_own(groups: StudyResult) -> None:
    made = figure(groups, "throughput-vs-rtt", by="group")
    found = traces(made)
    assert list(found) == ["homes", "phones", "crowd", "limit, homes", "limit, phones", "limit, crowd"]
    results = [point.result for point in groups.points if point.result]
    assert found["phones"].y == tuple(each.groups[1].throughput.mean for each in results)
    assert found["limit, phones"].y == pytest.approx((8 / 0.05, 8 / 0.08))
    # All together leave the background out.
    [_, together] = figure(groups, "throughput-vs-rtt").panels[0].traces
    assert together.y == pytest.approx((4 / 0.02 + 8 / 0.05, 4 / 0.02 + 8 / 0.08))
    for name in ("server-cpu", "phones.p99"):
        with pytest.raises(NoFigureError, match="and has no curves for each group"):
            figure(groups, name, by=["group"])


def test_fields_that_make_no_curves_make_panels_for_each_group(groups: StudyResult) -> None:
    swept = [({**point.varied, "seed": seed}, point.result) for point in groups.points for seed in (1, 2)]
    made = figure(points(*swept), "throughput-vs-rtt", by=["group"])
    assert [panel.title for panel in made.panels] == ["seed 1", "seed 2"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, 160.0),
        ({"http": {"connections": 1, "pipeline": 1, "requests_per_connection": 1}}, 80.0),
        ({"http": {"connections": 1, "pipeline": 1, "requests_per_connection": 4}}, 128.0),
        ({"http": {"connections": 2, "pipeline": 1, "requests_per_connection": None}}, None),
        ({"think": {"model": "exponential", "mean": "50ms"}}, 80.0),
        ({"think": {"model": "constant", "value": "150ms"}}, 40.0),
        ({"think": {"model": "none"}}, 160.0),
        ({"think": {"model": "pareto", "shape": 1.5, "scale": "1s"}}, None),
        ({"arrivals": {"model": "poisson", "rate": "90/s"}}, 90.0),
        ({"arrivals": {"model": "poisson", "rate": "500/s"}}, 160.0),
        ({"arrivals": {"model": "poisson", "rate": "500/s"}, "http": {"connections": 4, "pipeline": 1}}, 500.0),
        ({"http": {"connections": 1, "pipeline": 1, "requests_per_connection": 1, "next_after": "close"}}, 8 / 0.15),
        ({"http": {"connections": 1, "pipeline": 1, "next_after": "close"}}, 160.0),
        ({"http": {"connections": 1, "pipeline": 1, "read_rate": "1Mbit/s"}}, None),
        ({"http": {"connections": 1, "pipeline": 1, "body": "20KB"}}, None),
        ({"http": {"connections": 1, "pipeline": 1, "body": "1KB"}}, 160.0),
        ({"background": True}, None),
    ],
)
def test_the_limit_is_that_of_the_behaviour(change: dict[str, Any], expected: float | None) -> None:
    http = {"connections": 1, "pipeline": 1, "requests_per_connection": None}
    group = {"name": "a", "count": 8, "rtt": "50ms", "http": http, "think": None, "arrivals": None, **change}
    scenario = {"workload": {"kind": "single", "size": "1KiB"}, "network": {"shared": {"up": {"delay": "0ms"}}}}
    made = result([1.0]).model_copy(update={"clients": [group], "scenario": scenario})
    assert limit(Part("", made)) == (None if expected is None else pytest.approx(expected))
    assert limit(Part("", result([1.0]))) is None
    for several in ({"kind": "surge"}, {"kind": "single", "files": [{"size": "1KiB"}, {"size": "2KiB"}]}):
        other = made.model_copy(update={"scenario": {**scenario, "workload": several}})
        assert limit(Part("", other)) is None


def test_the_limit_knows_the_shared_link_and_leaves_long_answers_out() -> None:
    http = {"connections": 1, "pipeline": 1, "requests_per_connection": None}
    group = {"name": "a", "count": 8, "rtt": "50ms", "http": http, "think": None, "arrivals": None}
    scenario = {"workload": {"kind": "single", "size": "1KiB"}, "network": {"shared": {"up": {"delay": "50ms"}}}}
    made = result([1.0]).model_copy(update={"clients": [group], "scenario": scenario})
    assert limit(Part("", made)) == pytest.approx(80)
    long = made.model_copy(update={"scenario": {**scenario, "workload": {"kind": "single", "size": "15KB"}}})
    assert limit(Part("", long)) is None


def test_an_axis_of_throughput_is_logarithmic_where_its_growth_is_a_line() -> None:
    def axes(*values: float) -> tuple[bool, bool]:
        made = points(*(({"clients.count": 10**place}, result([value])) for place, value in enumerate(values)))
        [panel] = figure(made, "throughput-vs-load").panels
        return panel.x.log, panel.y.log

    assert axes(1.0, 10.0, 100.0) == (True, True)
    assert axes(10.0, 11.0, 12.0) == (True, False)
    assert axes(1.0, 100.0) == (False, False)
    [mean, _] = figure(loads(*([value] for value in (1.0, *range(2, 40)))), "response-time-vs-load").panels
    assert (mean.x.log, mean.y.log) == (True, False)


def test_one_run_has_no_interval_and_says_so() -> None:
    made = figure(loads([5.0], [9.0]), "throughput-vs-load")
    [trace] = made.panels[0].traces
    assert (trace.low, trace.high) == ((), ())
    assert "one run: no intervals" in made.notes
    made = figure(loads([5.0], [9.0, 10.0]), "throughput-vs-load")
    assert made.panels[0].traces[0].low[0] is None
    assert "bars: 90 % intervals over 2 runs; one run, and so no interval, at clients 1" in made.notes


def test_a_value_that_must_not_be_trusted_is_marked_and_explained() -> None:
    study = points(({"clients.count": 1}, result([5.0, 6.0])), ({"clients.count": 2}, untrusted([9.0, 8.0])))
    made = figure(study, "throughput-vs-load")
    assert made.panels[0].traces[0].invalid == (False, True)
    assert made.warnings == ("NOT TO BE TRUSTED (hollow), 1 of 2: clients 2 [lag]",)
    every = points(*(({"clients.count": load}, untrusted([5.0])) for load in range(1, 6)))
    made = figure(every, "throughput-vs-load")
    assert made.panels[0].traces[0].invalid == (True,) * 5
    assert made.warnings == (
        "NOT TO BE TRUSTED (hollow), every value: clients 1 [lag]; clients 2 [lag]; clients 3 [lag]; and 2 more",
    )


def test_one_group_that_must_not_be_trusted_is_hollow_alone(groups: StudyResult) -> None:
    results = []
    for point, valid in zip(groups.points, (False, True), strict=True):
        assert point.result is not None
        own = [each.model_copy(update={"valid": valid or each.name != "phones"}) for each in point.result.groups]
        results.append((point.varied, point.result.model_copy(update={"groups": own, "valid": valid})))
    made = figure(points(*results), "throughput-vs-rtt", by=["group"])
    found = traces(made)
    assert (found["homes"].invalid, found["phones"].invalid) == ((), (True, False))
    assert made.warnings[0].startswith("NOT TO BE TRUSTED (hollow), 1 of 6: RTT of phones 50ms, phones [")


def test_points_without_a_finished_run_are_named() -> None:
    study = points(({"clients.count": 1}, result([5.0])), ({"clients.count": 2}, None), ({}, None))
    made = figure(study, "throughput-vs-load")
    assert made.panels[0].traces[0].y == (5.0, None)
    assert made.warnings == ("no finished run at 1 of 2 points: clients 2", "1 of 3 points were not begun")


def test_results_without_an_ok_transaction_have_figures_that_say_so() -> None:
    study = points(({"clients.count": 1}, all_errors()), ({"clients.count": 2}, all_errors()))
    failed = "transactions that were not ok: clients 1: 100.0 % of 1,000; clients 2: 100.0 % of 1,000"
    with pytest.raises(NoFigureError, match=f"response-time-vs-load would show nothing: .*{failed}"):
        figure(study, "response-time-vs-load")
    made = figure(study, "errors-vs-load")
    assert failed in made.warnings
    assert traces(made)["errors"].y == (100.0, 100.0)


def test_a_distribution_is_that_of_the_histogram() -> None:
    times = Histogram.of([10_000_000, 20_000_000, 90_000_000], [11_000_000, 21_000_000, 99_000_000], [50, 49, 1])
    sample = Sample("a", (times, times), 95.0, valid=True)
    up = curve(sample, above=False, banded=True)
    assert up.x == (10.0, 11.0, 21.0, 95.0)
    assert up.y == pytest.approx((0, 0.5, 0.99, 1.0))
    above = curve(sample, above=True, banded=False)
    assert above.y == pytest.approx((1, 0.5, 0.01, 0.005))
    assert (above.low, above.invalid) == ((), ())
    wrong = curve(Sample("a", (times,), None, valid=False), above=True, banded=True)
    assert (wrong.name, wrong.invalid, wrong.low) == ("a (NOT VALID)", (True,) * 4, ())


def test_the_band_of_a_distribution_is_that_of_the_shares_of_its_runs() -> None:
    def band(*counts: tuple[int, int], above: bool) -> tuple[Any, Any]:
        runs = tuple(Histogram.of([1_000_000, 5_000_000], [2_000_000, 6_000_000], each) for each in counts)
        made = curve(Sample("a", runs, None, valid=True), above=above, banded=True)
        assert made.y[1] == pytest.approx(0.2 if above else 0.8)
        return made.low[1], made.high[1]

    for above in (False, True):
        varying = [(80, 20), (90, 10), (70, 30)]
        assert band(*varying, above=above) == pytest.approx(
            mean_interval([each[1 if above else 0] / 100 for each in varying])
        )
        # Runs that do not vary tell the share no better than their transactions do.
        assert band((80, 20), (80, 20), above=above) == pytest.approx(binomial_interval(40 if above else 160, 200))
    runs = (Histogram.of([1_000_000], [2_000_000], [5]),)
    alone = curve(Sample("a", runs, None, valid=True), above=False, banded=True)
    assert alone.low == ()


def test_a_band_contains_its_curve_and_stays_within_the_shares() -> None:
    random = np.random.default_rng(3)
    for _ in range(50):
        edges = np.arange(1, 9) * 1_000_000
        runs = tuple(Histogram.of(edges, edges + 10, random.integers(0, 5, 8)) for _ in range(3))
        if not all(run.total for run in runs):
            continue
        for above in (False, True):
            made = curve(Sample("a", runs, None, valid=True), above=above, banded=True)
            for low, y, high in zip(made.low, made.y, made.high, strict=True):
                assert low is not None
                assert y is not None
                assert high is not None
                assert 0 <= low <= y <= high <= 1


def test_the_parts_of_a_point_are_its_groups(groups: StudyResult, single: StudyResult) -> None:
    point = load_source(f"{groups.results}@clients.phones.rtt=50ms")
    made = figure(point, "response-time-cdf")
    assert [name.removesuffix(" (NOT VALID)") for name in traces(made)] == ["all clients", "homes", "phones", "crowd"]
    assert (made.panels[0].x.log, made.panels[0].y.log) == (True, False)
    assert made.title == "Response times: sim, RTT of phones 50ms (simulated)"
    drawn = figure(single, "response-time-ccdf")
    [trace] = drawn.panels[0].traces
    assert (drawn.panels[0].x.log, drawn.panels[0].y.log) == (True, True)
    ok = only(single).outcomes["ok"]
    assert trace.y[-1] == pytest.approx(1 / ok)
    assert f"transactions of all runs: ok transactions: {ok:,d}" in drawn.notes
    assert any(note.startswith("bands: 90 % intervals of the share at each response time") for note in drawn.notes)


def test_points_of_a_distribution_without_a_finished_run_are_named(swept: StudyResult) -> None:
    def without(*places: int) -> Figure:
        found = [
            point.model_copy(update={"result": None}) if point.index in places else point for point in swept.points
        ]
        return figure(swept.model_copy(update={"points": found}), "response-time-cdf")

    assert "no finished run at 1 of 4 points: clients 4, loss 5%" in without(1).warnings
    one = without(1, 2, 3)
    assert [name.removesuffix(" (NOT VALID)") for name in traces(one)] == ["clients 4, loss 0%"]
    assert one.warnings[0].startswith("no finished run at 3 of 4 points: clients 4, loss 5%; ")


def test_the_fields_that_vary_together_make_one_axis(tmp_path: Path) -> None:
    clients = [{"name": "homes", "count": 1, "rtt": "20ms"}, {"name": "phones", "count": 1, "rtt": "50ms"}]
    mix = {"zip": {"clients.homes.count": [2, 8, 14], "clients.phones.count": [14, 8, 2]}}
    made = simulated(tmp_path / "mix", clients=clients, sweep=mix)
    whole = figure(made, "throughput")
    assert whole.panels[0].traces[0].x == (2, 8, 14)
    assert whole.title == "Throughput against clients of homes: sim (simulated)"
    [first, *others] = made.points
    cut = figure(made.model_copy(update={"points": [first.model_copy(update={"result": None}), *others]}), "throughput")
    assert (cut.panels[0].x, cut.panels[0].traces[0].x) == (whole.panels[0].x, (2, 8, 14))


def test_a_limit_is_told_by_the_fields_that_it_depends_on(tmp_path: Path) -> None:
    sweep = {"clients.count": [2, 4], "clients.rtt": ["20ms", "50ms"], "clients.loss.rate": ["0%", "5%"]}
    made = figure(simulated(tmp_path / "three", sweep=sweep), "throughput-vs-load")
    assert [name for name in traces(made) if "limit" in name] == ["limit, RTT 20ms", "limit, RTT 50ms"]


def test_bars_are_told_of_where_there_are_some() -> None:
    assert "no intervals" in figure(loads([5.0, 6.0], [9.0, 8.0]), "max-vs-load").notes


def test_warnings_are_of_the_curves_that_are_drawn() -> None:
    made = points(
        *(
            ({"clients.count": n, "seed": seed}, untrusted([n]) if seed == 7 else result([n]))
            for n in (1, 2)
            for seed in range(30)
        )
    )
    drawn = figure(made, "goodput-vs-load")
    assert "seed 7" not in traces(drawn)
    assert drawn.warnings == ()
    assert drawn.valid


def test_every_reason_of_a_point_is_told(single: StudyResult) -> None:
    reasons = [{"run": None, "code": code, "message": f"it was {code}"} for code in ("warmup", "censored")]
    [point] = single.points
    made = only(single).model_copy(update={"invalid_reasons": [Reason.model_validate(each) for each in reasons]})
    wrong = single.model_copy(
        update={"points": [point.model_copy(update={"result": made.model_copy(update={"valid": False})})]}
    )
    assert figure(wrong, "series").warnings == (
        "NOT TO BE TRUSTED (hollow): it was warmup [warmup]; it was censored [censored]",
    )


def test_a_group_may_be_called_as_a_figure_against_something() -> None:
    assert kind_named("a-vs-b.p95").metrics == (Metric("p95", "a-vs-b"),)
    assert kind_named("a-vs-b.p95-vs-load").name == "a-vs-b.p95-vs-load"


def test_several_results_are_laid_over_each_other(swept: StudyResult, single: StudyResult) -> None:
    with_loss = load_source(f"{swept.results}@clients.loss.rate=5%,clients.count=64")
    made = figure([with_loss, single], "response-time-cdf")
    assert [name.removesuffix(" (NOT VALID)") for name in traces(made)] == ["swept, loss 5%, clients 64", "sim"]
    for name in ("throughput-vs-load", "series"):
        with pytest.raises(NoFigureError, match=f"{name} is of one result, and 2 are given; of several are"):
            figure([swept, single], name)
    twice = figure([single, single], "response-time-cdf")
    assert [name.removesuffix(" (NOT VALID)") for name in traces(twice)] == ["sim (1)", "sim (2)"]


def test_the_points_of_a_sweep_are_laid_over_each_other(swept: StudyResult) -> None:
    made = figure(swept, "response-time-ccdf")
    named = [name.removesuffix(" (NOT VALID)") for name in traces(made)]
    assert named == [f"clients {count}, loss {loss}" for count, loss in itertools.product((4, 64), ("0%", "5%"))]


def test_of_many_curves_twelve_are_drawn() -> None:
    made = points(*(({"clients.count": n, "seed": seed}, result([n])) for n in (1, 2) for seed in range(30)))
    drawn = figure(made, "goodput-vs-load")
    assert len(drawn.panels[0].traces) == 12
    assert any(note.startswith("12 of 30 curves are shown: ") for note in drawn.notes)


def test_the_series_are_those_of_the_tables(single: StudyResult) -> None:
    made = figure(single, "series")
    assert "no transaction failed" in made.notes
    assert [panel.y.label for panel in made.panels] == [
        "throughput (ok/s)",
        "in flight (transactions)",
        "server CPU busy (%)",
    ]
    tables = series(only(single))
    assert tables is not None
    for panel, (column, scale) in enumerate((("ok", 1), ("in_flight", 1), ("server_busy", 100))):
        found = list(made.panels[panel].traces)
        for trace, table in zip(found, tables, strict=False):
            assert trace.x == (0, 1, 2, 3, 4)
            values = [scale * value for value in table[column]][:4]
            assert trace.y == pytest.approx((*values, values[-1]))
        assert found[-1].name == "end of warm-up"
        assert found[-1].x == (0.5, 0.5)
    assert made.across == 1


def test_a_second_that_no_run_filled_is_left_out(tmp_path: Path) -> None:
    cut = simulated(tmp_path / "cut", measure={"warmup": "500ms", "duration": "1700ms", "runs": 1})
    assert figure(cut, "series").panels[0].traces[0].x == (0, 1, 2)


def test_a_run_shorter_than_a_second_has_no_series(tmp_path: Path) -> None:
    short = simulated(tmp_path / "short", measure={"warmup": "100ms", "duration": "300ms", "runs": 1})
    with pytest.raises(NoFigureError, match="series needs a run of a second at least"):
        figure(short, "series")


def test_results_without_tables_have_no_figures_of_them() -> None:
    for name, table in (("series", "series"), ("response-time-cdf", "histogram")):
        with pytest.raises(NoFigureError, match=rf"{name} is made of the tables of runs \({table}\), which these"):
            figure(result([1.0]), name)


def test_results_say_which_figures_they_have(swept: StudyResult, single: StudyResult) -> None:
    def names(results: StudyResult) -> set[str]:
        found = available(results)
        assert [kind.name for kind, _ in found] == list(KINDS)
        return {kind.name for kind, why in found if why is None}

    assert names(single) == {"response-time-cdf", "response-time-ccdf", "series", "queues"}
    rtt = {name for name in KINDS if name.endswith("-vs-rtt")}
    of_others = {
        "series",
        "queues",
        "waiting",
        "normal-probability",
        "comparison",
        "load-search",
        "capacity-vs-load",
        "outcomes",
    }
    assert names(swept) == set(KINDS) - rtt - of_others
    reasons = {kind.name: why for kind, why in available(swept)}
    assert reasons["throughput-vs-rtt"] == (
        "needs a sweep of a round-trip time (clients.rtt); what varies here: clients.count, clients.loss.rate"
    )
    assert str(reasons["series"]).startswith("is of one point, and these results have 4; choose one (DIR@path=value")


def test_points_are_chosen_by_what_was_swept(swept: StudyResult) -> None:
    chosen = load_source(f"{swept.results}@clients.loss.rate=5%")
    assert chosen.label == "swept, loss 5%"
    assert [point.varied for point in chosen.found.points] == [{"clients.count": 4}, {"clients.count": 64}]
    for asked, message in (
        (
            "clients.rtt=1ms",
            r"clients.rtt is not swept there; did you mean clients.count\? valid here: clients.count, clients.loss",
        ),
        ("clients.count=5", "has no point with clients.count=5"),
    ):
        with pytest.raises(InputError, match=message):
            load_source(f"{swept.results}@{asked}")


def test_a_default_directory_is_called_without_its_time(tmp_path: Path) -> None:
    made = simulated(tmp_path / "20261128T065603Z-short", measure={**SIM["measure"], "runs": 1})
    assert load_source(made.results).label == "short"


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ("x", r'log: "x": the x axis \(packet loss \(%\)\) has the value 0, and only values above 0 have a place'),
        ("z", 'log: "z": must be one of x, y, xy, none'),
    ],
)
def test_a_logarithmic_axis_needs_numbers_above_zero(swept: StudyResult, log: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        figure(swept, "throughput-vs-loss", log=log)


def test_axes_are_logarithmic_where_that_is_asked_for(swept: StudyResult) -> None:
    for log, expected in (("xy", (True, True)), ("y", (False, True)), ("none", (False, False))):
        [panel] = figure(swept, "throughput-vs-load", log=log).panels  # type: ignore[arg-type]
        assert (panel.x.log, panel.y.log) == expected
    kinds = points(*(({"server.kind": kind}, result([1.0])) for kind in ("nginx", "apache")))
    with pytest.raises(InputError, match="the x axis has names, not numbers: nginx, apache"):
        figure(kinds, "throughput", log="x")


def test_options_are_only_of_figures_that_have_them(swept: StudyResult) -> None:
    with pytest.raises(
        InputError, match=r"x: .*is for figures against a swept field, such as throughput-vs-load; series is none"
    ):
        figure(swept, "series", x="clients.count")
    with pytest.raises(InputError, match="results: missing; give at least one result"):
        figure([], "series")
    with pytest.raises(InputError, match=r'figure: "serie": unknown figure; did you mean series\? valid here: thr'):
        figure(swept, "serie")


@pytest.mark.parametrize(
    "old",
    sorted(path for path in STORED.glob("*/*") if path.is_dir() and path.name != "capacity"),
    ids=lambda path: path.name,
)
def test_results_of_older_formats_have_figures(old: Path) -> None:
    found = load_study(old)
    there = [kind.name for kind, why in available(found) if why is None]
    assert {"response-time-cdf", "response-time-ccdf"} <= set(there)
    for name in there:
        assert figure(found, name).panels
