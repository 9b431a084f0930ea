"""Figures of what the tables of points have besides: outcomes, queues, matrices, probability plots, models of TCP."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from figure_results import SIM, all_errors, only, points, simulated, untrusted
from measured_runs import result
from waspbench import InputError, StudyResult
from waspbench.experiment.metrics import Metric
from waspbench.figures.figure import Figure, Trace
from waspbench.figures.kinds import figure
from waspbench.figures.matplotlib import draw, save
from waspbench.figures.references import chance, mathis, modelled
from waspbench.figures.sources import NoFigureError
from waspbench.figures.style import cell
from waspbench.figures.values import Part
from waspbench.results.checks import share_of_runs
from waspbench.results.normal import judge_normality
from waspbench.results.shape import links
from waspbench.stats import binomial_interval, mean_interval, theory


def traces(made: Figure, panel: int = 0) -> dict[str, Trace]:
    return {trace.name: trace for trace in made.panels[panel].traces}


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    """Two groups, of which one has losses, a queue and a time limit, and so errors."""
    clients = [
        {"name": "homes", "count": 8, "rtt": "20ms", "bandwidth": "5Mbit/s"},
        {
            "name": "phones",
            "count": 16,
            "rtt": "50ms",
            "loss": "10%",
            "bandwidth": "1Mbit/s",
            "http": {"timeout": "500ms"},
        },
    ]
    measure = {**SIM["measure"], "max_errors": "100%"}
    return simulated(tmp_path_factory.mktemp("points") / "groups", clients=clients, measure=measure)


def test_outcomes_are_shares_of_what_ended(groups: StudyResult) -> None:
    made = figure(groups, "outcomes")
    assert made.panels[0].x.categories == ("ok", "timed_out")
    found = traces(made)
    assert list(found) == ["all clients", "homes", "phones"]
    counts = only(groups).groups[1].outcomes
    ended = counts["ok"] + counts["timed_out"]
    assert found["phones"].y == pytest.approx((100 * counts["ok"] / ended, 100 * counts["timed_out"] / ended))
    assert made.panels[0].y.log
    assert found["homes"].y == (100, None)
    assert "no marker: no such transaction" in made.notes
    assert all(trace.kind == "points" for trace in made.panels[0].traces)
    assert any(note.endswith("more were in progress when the runs ended") for note in made.notes)


def test_responses_of_errors_are_told_by_their_status() -> None:
    made = result([1.0])
    counts = {"ok": 90, "http_error": 10, "reset": 2}
    run = made.runs[0].model_copy(update={"outcomes": counts, "statuses": {"200": 90, "404": 3, "503": 7}})
    of = made.model_copy(update={"runs": [run], "outcomes": counts, "statuses": run.statuses})
    [panel] = figure(of, "outcomes").panels
    assert panel.x.categories == ("ok", "reset", "http_error 404", "http_error 503")
    assert panel.traces[0].y == pytest.approx([100 * count / 102 for count in (90, 2, 3, 7)])
    unknown = run.model_copy(update={"statuses": None})
    untold = of.model_copy(update={"runs": [run, unknown], "statuses": None})
    [panel] = figure([untold, of], "outcomes").panels
    assert panel.x.categories == ("ok", "http_error", "reset")
    for trace in panel.traces:
        assert trace.y == pytest.approx([100 * count / 102 for count in (90, 10, 2)])


def test_outcomes_of_points_and_of_several_results() -> None:
    study = points(
        ({"clients.count": 1}, result([5.0])), ({"clients.count": 2}, all_errors()), ({"clients.count": 3}, None)
    )
    made = figure(study, "outcomes")
    assert list(traces(made)) == ["clients 1", "clients 2"]
    assert made.panels[0].x.categories == ("ok", "reset", "refused")
    assert traces(made)["clients 2"].y == (None, None, 100)  # 0 has no place on a logarithmic axis
    assert made.warnings[0] == "no finished run at 1 of 3 points: clients 3"
    both = figure([study, untrusted([3.0])], "outcomes")
    assert list(traces(both)) == ["s, clients 1", "s, clients 2", "x"]
    assert traces(both)["x"].invalid == (True,) * 3
    with pytest.raises(NoFigureError, match="needs a finished run, and there is none"):
        figure(points(({"clients.count": 1}, None)), "outcomes")


def test_transactions_that_were_all_ok_have_no_figure() -> None:
    of = result([1.0])
    run = of.runs[0].model_copy(update={"outcomes": {"ok": 5}, "statuses": {"200": 5}})
    with pytest.raises(NoFigureError, match="outcomes would show nothing: every transaction that ended was ok"):
        figure(of.model_copy(update={"runs": [run]}), "outcomes")


def test_the_interval_of_a_share_is_the_wider_one() -> None:
    assert share_of_runs([(0, 0)]) == (None, None)
    assert share_of_runs([(1, 100)]) == (0.01, binomial_interval(1, 100))
    assert share_of_runs([(1, 100), (1, 100)]) == (0.01, binomial_interval(2, 200))
    share, interval = share_of_runs([(0, 1000), (400, 1000)])
    assert share == 0.2
    assert interval == (0.0, 1.0)


def test_queues_are_those_of_the_links(groups: StudyResult) -> None:
    made = figure(groups, "queues")
    assert made.panels[0].x.categories == ("homes up", "homes down", "phones up", "phones down")
    assert "no packet waited, was lost or dropped at shared up; shared down" in made.notes
    tables = links(only(groups))
    assert tables is not None
    down = [
        table.filter(table["link"].str.starts_with("phones/") & (table["direction"] == "down")).to_dicts()
        for table in tables
    ]
    waiting, missing = traces(made), traces(made, 1)
    assert waiting["most"].y[3] == max(row["max_queue_bytes"] for rows in down for row in rows) / 1024
    means = [sum(row["mean_queue_bytes"] for row in rows) / len(rows) / 1024 for rows in down]
    assert waiting["mean"].y[3] == pytest.approx(sum(means) / 2)
    assert (waiting["mean"].low[3], waiting["mean"].high[3]) == pytest.approx(mean_interval(means))
    lost = [100 * sum(row["lost"] for row in rows) / sum(row["packets"] for row in rows) for rows in down]
    assert missing["lost"].y[3] == pytest.approx(sum(lost) / 2)
    assert missing["lost"].y[:2] == (0, 0)


def test_links_before_which_nothing_waits_have_no_figure(tmp_path: Any) -> None:
    with pytest.raises(NoFigureError, match="queues would show nothing: no packet waited, was lost or dropped"):
        figure(simulated(tmp_path / "free"), "queues")
    with pytest.raises(
        NoFigureError, match=r"is made of the tables of runs \(links\), which these results do not have"
    ):
        figure(result([1.0]), "queues")


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    """Clients behind a shared link that is too narrow for them."""
    parts = {
        "clients": [{"name": "homes", "count": 4, "rtt": "20ms", "bandwidth": "2Mbit/s", "observe": True}],
        "workload": {"size": "60KB"},
        "network": {"shared": {"down": {"rate": "4Mbit/s", "queue": "codel"}}},
        "measure": {"warmup": "1s", "duration": "3s", "runs": 2, "max_errors": "100%"},
    }
    return simulated(tmp_path_factory.mktemp("points") / "narrow", **parts)


def test_waiting_is_that_of_observed_links_by_second(narrow: StudyResult) -> None:
    made = figure(narrow, "waiting")
    assert [panel.y.label for panel in made.panels] == [
        "waiting (KiB)",
        "carried (Mbit/s)",
        "dropped or marked (packets/s)",
        "share of packets that waited longer",
    ]
    assert "no packet waited or was dropped at shared up" in made.notes
    assert "a group's values are means over the links of its clients" in made.notes
    waiting, carried, longer = traces(made), traces(made, 1), traces(made, 3)
    assert list(longer) == ["shared down", "homes up", "homes down"]
    rows = only(narrow).link_series()
    down = rows.filter((pl.col("link") == "shared") & (pl.col("direction") == "down"))
    second = down.filter(pl.col("second") == 2)
    assert waiting["shared down"].x == (0, 1, 2, 3, 4)
    assert waiting["shared down"].y[2] == pytest.approx(second["mean_queue_bytes"].to_numpy().mean() / 1024)
    assert carried["shared down"].y[2] == pytest.approx(8 * second["carried_bytes"].to_numpy().sum() / 2 / 1e6)
    homes = rows.filter(pl.col("link").str.starts_with("homes/") & (pl.col("direction") == "down"))
    of_second = homes.filter(pl.col("second") == 2)
    assert carried["homes down"].y[2] == pytest.approx(8 * of_second["carried_bytes"].to_numpy().mean() / 1e6)
    assert (waiting["end of warm-up"].kind, waiting["end of warm-up"].x) == ("reference", (1, 1))
    curve = longer["shared down"]
    waits = only(narrow).link_waits().filter((pl.col("link") == "shared") & (pl.col("direction") == "down"))
    assert curve.y[0] == 1
    assert curve.y[-1] == pytest.approx(1 / waits["count"].sum())
    assert list(curve.y) == sorted((y for y in curve.y if y is not None), reverse=True)
    assert curve.x[-1] == waits["upper_ns"].to_numpy().max() / 1e6


def test_values_of_an_invalid_result_are_marked(narrow: StudyResult) -> None:
    result = only(narrow).model_copy(update={"valid": False})
    made = figure(result, "waiting")
    assert all(all(trace.invalid) for panel in made.panels for trace in panel.traces if trace.kind == "steps")


def test_links_at_which_nothing_waits_have_no_figure_of_waiting(tmp_path: Any, groups: StudyResult) -> None:
    with pytest.raises(NoFigureError, match="waiting would show nothing: at no observed link a packet waited"):
        figure(groups, "waiting")
    with pytest.raises(NoFigureError, match=r"waiting is made of the tables of runs \(link_series\), which these"):
        figure(result([1.0]), "waiting")


GRID = [
    ({"clients.count": count, "clients.loss": loss}, result([float(count), count + 2.0]))
    for count in (8, 1)
    for loss in ("0%", "3%")
]


def test_a_matrix_has_a_cell_for_each_point() -> None:
    made = figure(points(*GRID[:-1]), "matrix")
    assert [panel.title for panel in made.panels] == ["throughput (ok/s)", "response time p99 (ms)"]
    assert made.panels[0].x.categories == ("1", "8")
    found = traces(made)
    assert {name: trace.y for name, trace in found.items()} == {"loss 0%": (2.0, 9.0), "loss 3%": (None, 9.0)}
    assert all(trace.kind == "cells" for trace in found.values())
    assert made.notes == ("shades: the higher, the lighter; grey: none", "below the values: 90 % intervals over 2 runs")
    other = figure(points(*GRID), "mean-matrix", x="clients.loss")
    assert (other.panels[0].x.categories, list(traces(other))) == (("0%", "3%"), ["clients 8", "clients 1"])


def test_cells_tell_their_intervals_and_what_must_not_be_trusted() -> None:
    values = (1234.5, 20.0, 0.0, None)
    row = Trace("a", (0.0, 1.0, 2.0, 3.0), values, (1200.0, 19.9, 0.0, None), (1270.0, 20.4, 0.046, None), "cells")
    assert [cell(row, place) for place in range(4)] == ["1,234\n± 35", "20.0\n+0.4 -0.1", "0.000\n0.000 to 0.046", ""]
    sharp = Trace("a", (0.0, 1.0), (1234.5, 0.0), (1234.4, 0.0), (1234.6, 0.0001), "cells")
    assert [cell(sharp, place) for place in range(2)] == ["1,234\n± <1", "0.000\n± <0.001"]
    share = Trace("a", (0.0,), (0.002,), (0.0001,), (0.005,), "cells")
    assert cell(share, 0) == "0.002\n+0.003 -0.002"
    marked = Trace("a", (0.0,), (1.0,), kind="cells", invalid=(True,))
    assert cell(marked, 0) == "1.00 (!)"
    wrong = points(*GRID[:3], ({"clients.count": 1, "clients.loss": "3%"}, untrusted([1.0])))
    assert figure(wrong, "matrix").warnings == ("NOT TO BE TRUSTED (!), 1 of 4: clients 1, loss 3% [lag]",)


@pytest.mark.parametrize(
    ("swept", "options", "message"),
    [
        ([({"clients.count": n}, result([1.0])) for n in (1, 2)], {}, "needs a sweep of two fields or more"),
        (
            [({**varied, "seed": seed}, made) for varied, made in GRID for seed in (1, 2)],
            {"by": "seed"},
            "has a row for each value of what --by names; name all fields besides the axis",
        ),
    ],
)
def test_sweeps_that_have_no_matrix(swept: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(NoFigureError, match=message):
        figure(points(*swept), "matrix", **options)


def test_a_matrix_is_drawn_with_its_values(tmp_path: Any) -> None:
    save(figure(points(*GRID[:-1]), "matrix"), tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    for said in ("loss 3%", "throughput (ok/s)", "9.00", "clients"):
        assert f">{said}<" in text, said
    drawn = draw(figure(points(*GRID), "throughput-matrix", log="y"))
    assert drawn.axes[0].get_legend() is None
    with pytest.raises(InputError, match="the x axis has names, not numbers: 1, 8"):
        figure(points(*GRID), "matrix", log="x")
    same = points(*(({"clients.count": n, "seed": seed}, result([5.0])) for n in (1, 2) for seed in (1, 2)))
    save(figure(same, "matrix"), tmp_path / "same.svg")


VALUES = [5.0, 9.0, 7.0, 8.0, 1.0]


def test_a_probability_plot_is_that_of_the_test() -> None:
    of = result(VALUES)
    for name, metric in (("normal-probability", "throughput"), ("p99-normal-probability", "p99")):
        found = judge_normality(of, Metric(metric))
        made = figure(of, name)
        assert made.name == name
        runs, normal = made.panels[0].traces
        assert (runs.kind, runs.x, runs.y) == ("points", tuple(found.normal_quantiles), tuple(found.values))
        assert (normal.kind, normal.x) == ("reference", normal.y)
        assert made.notes[0].startswith(f"Shapiro and Wilk: W = {found.w:.4f}, p = {found.p:.3g}: normality is ")
    with pytest.raises(NoFigureError, match="needs at least 3 runs, and there are 2"):
        figure(result([1.0, 2.0]), "normal-probability")
    with pytest.raises(NoFigureError, match="needs at least 3 runs, and there is one"):
        figure(result([1.0]), "normal-probability")
    with pytest.raises(NoFigureError, match="cannot be made of the throughput of these runs: all are equal"):
        figure(result([1.0] * 5), "normal-probability")


def test_a_run_that_must_not_be_trusted_is_hollow_at_its_place() -> None:
    of = result(VALUES)
    wrong = untrusted([9.0]).runs[0].model_copy(update={"run": 1})
    runs = [of.runs[0], wrong, *of.runs[2:]]
    made = figure(of.model_copy(update={"runs": runs, "valid": False}), "normal-probability")
    assert made.panels[0].traces[0].invalid == (False, False, False, False, True)


LOSS = {"model": "two-state", "p": "1%", "r": "50%", "start": "good"}
BULK: dict[str, Any] = {
    "name": "a",
    "count": 8,
    "rtt": "50ms",
    "loss": {"up": None, "down": LOSS},
    "bandwidth": {"up": "1Mbit/s", "down": None},
    "http": {"connections": 1, "pipeline": 1, "requests_per_connection": None},
    "think": None,
    "arrivals": None,
}


@pytest.mark.parametrize(
    ("change", "size", "applies"),
    [
        ({}, "1MB", True),
        ({}, "100KB", False),
        ({"loss": None}, "1MB", False),
        ({"bandwidth": {"up": None, "down": "1Mbit/s"}}, "1MB", False),
        ({"trace": {"up": None, "down": {"file": "lte.down"}}}, "1MB", False),
        ({"trace": {"up": {"file": "lte.up"}, "down": None}}, "1MB", True),
        ({"think": {"model": "constant", "value": "1s"}}, "1MB", False),
        ({"arrivals": {"model": "poisson", "rate": "1/s"}}, "1MB", False),
        ({"http": {"connections": 2, "pipeline": 1}}, "1MB", False),
        ({"tcp": {"preset": "linux", "congestion": "reno"}}, "1MB", True),
        ({"tcp": {"preset": "bsd1999"}}, "1MB", False),
        ({"tcp": {"preset": "linux", "receive_buffer": "64KiB"}}, "1MB", False),
        ({"http": {"connections": 1, "pipeline": 1, "requests_per_connection": 1}}, "1MB", False),
    ],
)
def test_models_of_tcp_are_of_endless_transfers(change: dict[str, Any], size: str, applies: bool) -> None:
    scenario = {"workload": {"kind": "single", "size": size}, "network": {"shared": {"down": {"delay": "50ms"}}}}
    made = result([1.0]).model_copy(update={"clients": [BULK | change], "scenario": scenario})
    found = modelled(mathis)(Part("", made))
    # MSS / RTT sqrt(3 / (2 b p)) with b = 1, p = 1 % and an RTT of 100 ms, of 8 clients
    expected = 8 * 1460 * 8 / 0.1 * 150**0.5 / 1e6
    assert found == (pytest.approx(expected) if applies else None)
    assert modelled(mathis)(Part("", None)) is None


def test_the_chance_of_a_loss_is_that_after_a_packet_that_was_not_lost() -> None:
    assert chance(LOSS) == 0.01
    assert chance({"model": "independent", "rate": "2%"}) == 0.02
    assert chance({"model": "periodic", "every": 50}) == 0.02
    assert chance({"model": "trace"}) is None
    assert chance(None) is None


def test_models_of_tcp_stand_beside_goodput(tmp_path: Any) -> None:
    sweep = {"clients.loss": ["1%", "4%"], "clients.rtt": ["20ms", "50ms"]}
    made = simulated(tmp_path / "bulk", sweep=sweep, workload={"size": "1MB"}, clients=[{"count": 2}])
    drawn = figure(made, "goodput-vs-loss")
    names = [trace.name for trace in drawn.panels[0].traces]
    assert names == ["RTT 20ms", "RTT 50ms", "PFTK, RTT 20ms", "PFTK, RTT 50ms", "Mathis, RTT 20ms", "Mathis, RTT 50ms"]
    # p = 0.65 % after a packet that was not lost, an RTT of 20 ms, a first timeout of 220 ms, b = 1, of 2 clients
    [first, *_] = [point.result for point in made.points if point.result]
    assert chance(first.clients[0]["loss"]["down"]) == pytest.approx(0.00657, abs=0.0001)
    expected = 2 * 1460 * 8 / 1e6 * theory.pftk_throughput(theory.Path(0.00657, 0.02, 0.22, 1))
    assert traces(drawn)["PFTK, RTT 20ms"].y[0] == pytest.approx(expected, rel=0.01)
    expected = 2 * 1460 * 8 / 1e6 / 0.02 * (1.5 / 0.00657) ** 0.5
    assert traces(drawn)["Mathis, RTT 20ms"].y[0] == pytest.approx(expected, rel=0.01)
    assert len([note for note in drawn.notes if note.startswith("PFTK (Padhye")]) == 1
