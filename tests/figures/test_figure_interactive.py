"""Figures as values.js draws them, checked by plotly's own declaration of what it takes."""

from __future__ import annotations

import json
import math
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from capacity_results import load, searched
from capacity_results import point as capacity_point
from comparison_results import compared
from comparison_results import point as compared_point
from figure_results import points, simulated, untrusted
from measured_runs import result
from waspbench.figures import style
from waspbench.figures.figure import Axis, Figure, Panel, Trace
from waspbench.figures.kinds import available, figure
from waspbench.figures.plotly import panels
from waspbench.figures.plotly.axes import CELL_WIDTH, least_width
from waspbench.figures.plotly.steps import GRID, MARKERS_A_TRACE
from waspbench.figures.plotly.values import DARK, INK, MUTED, PAPER, RULE, Plotly, shown
from waspbench.figures.thin import MOST_POINTS, thinned, thinned_trace

graphs = import_module("plotly.graph_objects")

EVIL = "<b>x</b> %{y} & <script>alert(1)</script>"


def one(*traces: Trace, x: Axis | None = None, y: Axis | None = None) -> Figure:
    return Figure("f", "F", (Panel(x or Axis("x (ms)"), y or Axis("y (%)"), traces),))


def drawn(made: Figure, panel: int = 0) -> Plotly:
    """A panel, which plotly takes."""
    found = panels.drawn(made, made.panels[panel])
    graphs.Figure(found)
    json.dumps(found, allow_nan=False)
    return found


def test_plotly_takes_every_figure_of_every_kind_of_results(tmp_path: Path) -> None:
    sweep = {"clients.loss.rate": ["0%", "4%"], "clients.count": [4, 8]}
    runs = {"warmup": "500ms", "duration": "3s", "runs": 3}
    found: list[Any] = [
        simulated(tmp_path / "one", measure=runs),
        simulated(tmp_path / "swept", sweep=sweep),
        searched([capacity_point(loads=[load(64, 90.0, 12.0), load(500, 500.0, 20.0)])]),
        compared(compared_point([1.0, 2.0], [2.0, 3.0])),
    ]
    seen = set()
    for results in found:
        for kind, why in available(results):
            if why is None:
                seen.add(kind.name.partition("-vs-")[0])
                made = figure(results, kind.name)
                for panel in range(len(made.panels)):
                    drawn(made, panel)
    assert {"throughput", "response-time-cdf", "series", "matrix", "load-search", "comparison"} <= seen


def test_values_intervals_and_validity_are_those_of_the_figure() -> None:
    loaded = points(({"clients.count": 1}, result([8.0, 9.0])), ({"clients.count": 2}, untrusted([5.0, 7.0])))
    made = figure(loaded, "throughput")
    trace = made.panels[0].traces[0]
    values = drawn(made)["data"][0]
    assert (values["x"], values["y"]) == (list(trace.x), list(trace.y))
    for name, sign, ends in (("arrayminus", -1, trace.low), ("array", 1, trace.high)):
        told = [(y or 0) + sign * part for y, part in zip(trace.y, values["error_y"][name], strict=True)]
        assert told == pytest.approx(ends, rel=1e-4)
    assert values["marker"]["color"] == [style.COLOURS[0], PAPER]
    assert "NOT VALID" not in values["text"][0]
    assert values["text"][1].endswith("NOT VALID")
    assert f"90 %: {shown(trace.low[0])} to {shown(trace.high[0])}" in values["text"][0]


def test_names_are_text() -> None:
    line = Trace(EVIL, (1.0, 2.0), (1.0, 2.0))
    steps = Trace(EVIL + "2", (1.0, 2.0), (1.0, 2.0), (0.5, 1.5), (1.5, 2.5), kind="steps")
    mark = Trace(EVIL + "3", (1.0, 2.0), (1.0, 1.0), kind="reference")
    found = drawn(one(line, steps, mark, x=Axis(EVIL), y=Axis(EVIL)))
    texts = [found["layout"][axis]["title"]["text"] for axis in ("xaxis", "yaxis")]
    for trace in found["data"]:
        texts += [trace.get("name", ""), *trace.get("text", ()), *trace.get("meta", ())]
        assert "alert" not in trace.get("hovertemplate", "")  # what it says would be a template
    assert len([text for text in texts if "alert" in text]) >= 8
    for text in texts:
        assert "<script" not in text
        assert "<b>" not in text


def test_an_end_that_is_not_known_is_an_arrow() -> None:
    found = drawn(one(Trace("a", (1.0, 2.0, 3.0), (5.0, 6.0, 7.0), (4.0, 6.0, None), (6.0, None, 7.0))))
    arrows = [trace for trace in found["data"] if trace.get("marker", {}).get("angle") is not None]
    assert [(each["x"], each["y"], each["marker"]["angle"]) for each in arrows] == [
        ([2.0], [6.0], 180),
        ([3.0], [7.0], 0),
    ]
    assert {each["legendgroup"] for each in found["data"]} == {"0"}
    assert [text.split("<br>")[-1] for text in found["data"][0]["text"]] == [
        "90 %: 4 to 6",
        "at least this",
        "at most this",
    ]


def test_steps_have_a_band_and_markers_along_them() -> None:
    x = tuple(float(value) for value in range(1, 1001))
    y = tuple(value / 1000 for value in x)
    with_band = Trace("a", x, y, y, y, kind="steps")
    without = Trace("b", x, y, kind="steps", invalid=(True,) * 1000)
    made = one(with_band, without, x=Axis("x", log=True))
    low, high, steps, markers, bare, hollow = drawn(made)["data"]
    assert (low["line"]["width"], high["fill"], steps["line"]["shape"]) == (0, "tonexty", "hv")
    assert steps["customdata"] == [[value, value] for value in steps["y"]]
    assert "customdata" not in bare
    assert (markers["marker"]["color"], hollow["marker"]["color"]) == (style.COLOURS[0], PAPER)
    for each in (markers, hollow):
        assert len(each["x"]) == MARKERS_A_TRACE
        assert each["mode"] == "markers"
    places = [math.log10(value) / 3 + value / 1000 for value in markers["x"]]
    gaps = [after - before for before, after in pairwise(places)]
    assert max(gaps) < 2 * min(gaps)
    assert set(markers["x"]) != set(hollow["x"])


def test_nothing_known_is_drawn_as_nothing() -> None:
    found = drawn(one(Trace("a", (1.0, 2.0), (None, None), kind="steps"), Trace("b", (1.0, 2.0), (1.0, None))))
    assert found["data"][1]["x"] == []
    assert found["data"][2]["y"] == [1.0, None]


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (40.0, 1_100.0, [50.0, 100.0, 200.0, 500.0, 1_000.0]),
        (0.9, 200.0, [1.0, 10.0, 100.0]),
        (1e-9, 1.0, [1e-8, 1e-6, 1e-4, 1e-2, 1.0]),
    ],
)
def test_round_values_stand_beside_a_logarithmic_axis(low: float, high: float, told: list[float]) -> None:
    made = one(Trace("a", (low, high), (low, high), kind="steps"), x=Axis("x", log=True), y=Axis("y", log=True))
    axes = drawn(made)["layout"]
    ticks = [value for value in axes["xaxis"]["tickvals"] if low <= value <= high]
    assert ticks == pytest.approx(told)
    assert axes["xaxis"]["ticktext"][-1] == style.number(axes["xaxis"]["tickvals"][-1])
    first, last = axes["xaxis"]["range"]
    assert first <= math.log10(low) < math.log10(high) <= last
    ends = [10**end for end in axes["yaxis"]["range"]]
    assert ends[0] < low
    assert ends[1] == pytest.approx(1.3 * high)


def test_a_matrix_says_its_values_in_its_cells() -> None:
    rows = (
        Trace(EVIL, (0.0, 1.0), (1.0, 1000.0), (0.9, 990.0), (1.1, 1010.0), kind="cells", invalid=(False, True)),
        Trace("b", (0.0, 1.0), (None, 10.0), kind="cells"),
    )
    made = one(*rows, x=Axis("loss", categories=("0%", "<3%")), y=Axis("ok/s", log=True))
    found = drawn(made)
    cells, written = found["data"]
    assert cells["z"] == [[0.0, 1.0], [None, pytest.approx(1 / 3, rel=1e-5)]]
    assert written["text"] == ["1.00<br>± 0.10", "1,000 (!)<br>± 10", "10.0"]
    assert written["textfont"]["color"] == ["#fff", "#000", "#fff"]
    assert cells["text"][0][1].endswith("loss: &lt;3%<br>ok/s: 1,000.0<br>90 %: 990.0 to 1,010.0<br>NOT VALID")
    assert found["layout"]["xaxis"]["ticktext"] == ["0%", "&lt;3%"]
    assert "<b>" not in json.dumps(found)
    assert least_width(made.panels[0]) > 2 * CELL_WIDTH
    assert least_width(one(Trace("a", (1.0,), (1.0,))).panels[0]) == 0


def test_curves_of_names_stand_beside_each_other() -> None:
    axis = Axis("server", categories=("nginx", "apache"))
    found = drawn(one(*(Trace(name, (0.0, 1.0), (1.0, 2.0)) for name in "ab"), x=axis))
    first, second = found["data"]
    assert {each["mode"] for each in found["data"]} == {"markers"}
    assert first["x"] == [-0.125, 0.875]
    assert second["x"] == [0.125, 1.125]
    assert first["text"][1] == "a<br>server: apache<br>y (%): 2"


def test_panels_below_each_other_say_once_what_is_along_them() -> None:
    panel = one(Trace("a", (1.0, 2.0), (1.0, 2.0))).panels[0]
    made = Figure("f", "F", (panel, Panel(panel.x, Axis("z"), panel.traces)), across=1)
    labels = [drawn(made, place)["layout"]["xaxis"]["title"]["text"] for place in range(2)]
    assert labels == ["", "x (ms)"]


def test_every_colour_of_axes_and_marks_has_one_on_dark_paper() -> None:
    own = {PAPER, INK, MUTED, RULE, *style.REFERENCES}
    assert own <= set(DARK) <= {*own, *style.COLOURS}


def test_a_trace_is_thinned_to_its_extremes() -> None:
    count = 10_000
    y = tuple(math.sin(place / 50) + 9.0 * (place == 7_777) for place in range(count))
    low, high = (tuple(value + side * (1 + 9 * (place == 4_321)) for place, value in enumerate(y)) for side in (-1, 1))
    trace = Trace("a", tuple(map(float, range(count))), y, low, high)
    thin = thinned_trace(trace)
    assert MOST_POINTS / 4 < len(thin.x) <= MOST_POINTS
    assert len({len(part) for part in (thin.x, thin.y, thin.low, thin.high)}) == 1
    assert (thin.x[0], thin.x[-1]) == (0.0, count - 1.0)
    assert list(thin.x) == sorted(set(thin.x))
    assert all(thin.y[place] == y[int(at)] for place, at in enumerate(thin.x))
    for part, whole in ((thin.y, y), (thin.low, low), (thin.high, high)):
        known = [value for value in part if value is not None]
        assert (min(known), max(known)) == (min(whole), max(whole))
    assert thinned_trace(thin) == thin
    assert thinned(one(trace)).panels[0].traces == (thin,)
    cells = Trace("a", trace.x, y, kind="cells")
    assert thinned_trace(cells) == cells


def test_a_gap_stays_a_gap_and_what_must_not_be_trusted_stays_there() -> None:
    count = 36_000
    y: tuple[float | None, ...] = tuple(None if 20_001 <= place < 20_003 else 1.0 for place in range(count))
    invalid = tuple(place == 11_111 for place in range(count))
    thin = thinned_trace(Trace("a", tuple(map(float, range(count))), y, invalid=invalid))
    assert len(thin.x) <= MOST_POINTS
    assert [at for at, value in zip(thin.x, thin.y, strict=True) if value is None] == [20_001.0]
    assert [at for at, wrong in zip(thin.x, thin.invalid, strict=True) if wrong] == [11_111.0]


def test_steps_answer_all_along_their_level_parts() -> None:
    made = one(
        Trace("a", (1.0, 10.0, 1000.0), (0.5, 0.2, 0.1), (0.4, 0.1, 0.0), (0.6, 0.3, 0.2), kind="steps"),
        x=Axis("x", log=True),
    )
    low, high, steps, _ = drawn(made)["data"]
    assert len(steps["x"]) > GRID * 0.8
    gaps = [math.log10(after / before) for before, after in pairwise(steps["x"])]
    assert max(gaps) < 3 * 1.1 / GRID
    assert steps["x"] == low["x"] == high["x"]
    for x, y, (least, most) in zip(steps["x"], steps["y"], steps["customdata"], strict=True):
        assert y == (0.5 if x < 10 else 0.2 if x < 1000 else 0.1)
        assert (least, most) == pytest.approx((y - 0.1, y + 0.1))


def test_what_has_no_place_on_an_axis_is_left_out() -> None:
    logs = {"x": Axis("x", log=True), "y": Axis("y", log=True)}
    steps = Trace("a", (0.0, 1.0, 2.0), (1.0, 0.5, 0.0), kind="steps")
    [_, markers] = drawn(one(steps, **logs))["data"]
    assert set(markers["x"]) == {1.0}


@pytest.mark.parametrize(
    ("values", "log"), [((55.0, 60.0), True), ((1e-9, 1.0), True), ((-3.0, 4.0), False), ((2.0, 2.0), False)]
)
def test_both_ends_of_every_axis_are_told(values: tuple[float, float], log: bool) -> None:
    made = one(Trace("a", (1.0, 2.0), values), y=Axis("y", log=log, from_zero=False))
    axes = drawn(made)["layout"]
    for name in ("xaxis", "yaxis"):
        low, high = axes[name]["range"]
        assert low < high
    low, high = axes["yaxis"]["range"]
    placed = [math.log10(value) if log else value for value in values]
    assert low < min(placed)
    assert high > max(placed)
