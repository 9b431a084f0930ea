"""Figures drawn by matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import pytest

from figure_results import SIM, all_errors, loads, points, simulated, untrusted
from measured_runs import result
from waspbench import CannotRunError, InputError, extras, load_study
from waspbench.figures.figure import Axis, Figure, Panel, Trace
from waspbench.figures.kinds import available, figure
from waspbench.figures.matplotlib import draw, save

STORED = Path(__file__).parents[1] / "results" / "stored"

EVERYTHING = Figure(
    "everything",
    "Everything <script>alert(1)</script> at once",
    (
        Panel(
            Axis("x (ms)", log=True),
            Axis("y (%)"),
            (
                Trace("line", (1.0, 10.0, 100.0), (1.0, None, 3.0), (0.5, None, None), (2.0, None, None)),
                Trace("<b>marked</b>", (1.0, 10.0), (2.0, 3.0), invalid=(False, True)),
                Trace("steps", (1.0, 5.0, 50.0), (0.0, 1.0, 2.0), kind="steps", invalid=(True,) * 3),
                Trace("model", (1.0, 100.0), (1.0, 3.0), kind="reference"),
            ),
            title="one",
        ),
        Panel(
            Axis("server", categories=("nginx", "$a$ & b")),
            Axis("ok/s", log=True),
            (Trace("a", (0.0, 1.0), (99.0, 1.0), (98.0, 0.5), (99.5, 2.0)),),
        ),
    ),
    ("not to be trusted " * 10,),
    ("a note " * 60, "another"),
)

BEGINNINGS = {"pdf": b"%PDF-1.", "svg": b"<?xml", "png": b"\x89PNG"}


def test_a_file_of_each_format_is_the_same_each_time(tmp_path: Path) -> None:
    for suffix, beginning in BEGINNINGS.items():
        paths = [tmp_path / f"{number}.{suffix}" for number in (1, 2)]
        for path in paths:
            save(EVERYTHING, path)
        one, two = (path.read_bytes() for path in paths)
        assert one == two
        assert one.startswith(beginning)
        assert len(one) < 500_000
        assert b"CreationDate" not in one
        assert b"<dc:date>" not in one


def test_svg_has_its_texts_as_texts(tmp_path: Path) -> None:
    save(EVERYTHING, tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    for said in ("x (ms)", "y (%)", "another", "not to be trusted", "model", "$a$ &amp; b", "&lt;script&gt;"):
        assert said in text, said
    assert "<script>" not in text


def test_a_bare_figure_says_only_what_speaks_against_it(tmp_path: Path) -> None:
    save(EVERYTHING, tmp_path / "a.svg", bare=True)
    text = (tmp_path / "a.svg").read_text()
    assert "not to be trusted" in text
    assert "a note" not in text
    assert "Everything" not in text


def test_a_figure_is_as_wide_as_is_asked_for() -> None:
    assert draw(EVERYTHING).get_size_inches()[0] == 10.0
    narrow = draw(EVERYTHING, width=3.3)
    assert narrow.get_size_inches()[0] == 3.3
    assert draw(EVERYTHING, width=3.3, bare=True).get_size_inches()[1] < narrow.get_size_inches()[1]
    for width in (2.9, 41.0, float("nan")):
        with pytest.raises(InputError, match=r"width: .*: must be from 3 to 40 inches"):
            draw(EVERYTHING, width=width)


def test_the_house_style_is_that_of_no_user(tmp_path: Path) -> None:
    save(EVERYTHING, tmp_path / "house.png")
    with matplotlib.rc_context({"axes.facecolor": "black", "text.usetex": True, "figure.dpi": 30}):
        save(EVERYTHING, tmp_path / "user.png")
        assert matplotlib.rcParams["axes.facecolor"] == "black"
    assert (tmp_path / "house.png").read_bytes() == (tmp_path / "user.png").read_bytes()


def test_values_that_have_names_are_not_joined() -> None:
    lines = tuple(Trace(name, (0.0, 1.0), (1.0, 2.0)) for name in "ab")
    drawn = draw(Figure("f", "F", (Panel(Axis("server", categories=("nginx", "apache")), Axis("y"), lines),)))
    marked = [line for line in drawn.axes[0].get_lines() if len(line.get_xdata())]  # type: ignore[arg-type]
    assert {line.get_linestyle() for line in marked} == {"None"}
    assert [list(line.get_xdata()) for line in marked] == [[-0.125, 0.875], [0.125, 1.125]]  # type: ignore[arg-type]


def test_nothing_of_a_narrow_figure_is_cut(tmp_path: Path) -> None:
    names = [f"clients {clients}, loss {loss}% (NOT VALID)" for clients in (8, 512) for loss in range(6)]
    lines = tuple(Trace(name, (1.0, 2.0), (1.0, 2.0), kind="steps") for name in names)
    panels = tuple(
        Panel(Axis("response time (ms)"), Axis(f"response time {name} (ms)"), lines) for name in ("mean", "p99")
    )
    drawn = draw(Figure("f", "F " * 60, panels, ("a warning " * 20,)), width=3.0)
    drawn.savefig(tmp_path / "a.png")
    upper, lower = drawn.axes
    boxes = [axes.get_tightbbox() for axes in (upper, lower)]
    assert all(box is not None and box.x0 >= 0 for box in boxes)
    assert all(axes.get_position().height * drawn.get_size_inches()[1] > 1 for axes in (upper, lower))
    legend = drawn.legends[0].get_window_extent()
    assert legend.x0 >= 0
    assert legend.x1 <= drawn.bbox.x1
    assert boxes[1] is not None
    assert legend.y1 <= boxes[1].y0
    assert legend.y0 >= max(
        text.get_window_extent().y1 for text in drawn.texts if text.get_text().strip().startswith("a ")
    )


def test_panels_below_each_other_share_the_axis_along_them() -> None:
    panels = tuple(
        Panel(Axis("time (s)"), Axis(f"{name} (1/s)"), (Trace("a", (0.0, 1.0), (1.0, 2.0)),)) for name in "xyz"
    )
    upper, middle, lower = draw(Figure("f", "F", panels, across=1)).axes
    assert [axes.get_xlabel() for axes in (upper, middle, lower)] == ["", "", "time (s)"]
    assert upper.get_position().y0 > middle.get_position().y0 > lower.get_position().y0
    beside = draw(Figure("f", "F", panels)).axes
    assert [axes.get_xlabel() for axes in beside] == ["time (s)"] * 3


@pytest.mark.parametrize("path", ["figure.jpg", "figure", "figure.SVGZ"])
def test_an_unknown_suffix_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.pdf, \.svg or \.png"):
        save(EVERYTHING, tmp_path / path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"output: .*cannot be written: No such file or directory"):
        save(EVERYTHING, tmp_path / "nowhere" / "a.svg")


MIXED = (({"clients.count": 1}, result([5.0, 6.0])), ({"clients.count": 2}, untrusted([9.0, 8.0])))


def test_what_must_not_be_trusted_is_hollow() -> None:
    drawn = draw(figure(points(*MIXED), "throughput-vs-load"))
    marked = [line for line in drawn.axes[0].get_lines() if line.get_marker() == "o"]
    assert [(list(line.get_xdata()), line.get_markerfacecolor()) for line in marked] == [  # type: ignore[arg-type]
        ([1.0], "#0072b2"),
        ([2.0], "white"),
    ]
    [warning, *_] = reversed(drawn.texts)
    assert (warning.get_text(), warning.get_color()) == (
        "NOT TO BE TRUSTED (hollow), 1 of 2: clients 2 [lag]",
        "#a00000",
    )


def test_twelve_lines_are_told_apart_without_colour() -> None:
    lines = tuple(Trace(f"t{number}", (1.0, 2.0), (1.0, float(number))) for number in range(12))
    legend = draw(Figure("f", "F", (Panel(Axis("x"), Axis("y"), lines),))).legends[0]  # beside the axes
    handles = legend.get_lines()
    assert len({(line.get_linestyle(), line.get_marker()) for line in handles}) == 12
    few = draw(Figure("f", "F", (Panel(Axis("x"), Axis("y"), lines[:6]),)))
    assert few.legends == []
    assert few.axes[0].get_legend() is not None


def test_a_band_is_drawn_behind_its_steps() -> None:
    steps = Trace("a", (1.0, 2.0, 3.0), (0.0, 0.5, 1.0), (0.0, 0.4, 1.0), (0.0, 0.7, 1.0), "steps")
    [band] = draw(Figure("f", "F", (Panel(Axis("x"), Axis("y"), (steps,)),))).axes[0].collections
    assert band.get_alpha() == 0.2


def test_a_model_lies_below_the_curve_that_it_may_be_one_with() -> None:
    curve = Trace("a", (1.0, 2.0), (1.0, 2.0))
    model = Trace("limit", (1.0, 2.0), (1.0, 2.0), kind="reference")
    drawn = draw(Figure("f", "F", (Panel(Axis("x"), Axis("y"), (curve, model)),)))
    lines = [line for line in drawn.axes[0].get_lines() if line.get_linestyle() != "None"]
    assert lines[1].get_zorder() < lines[0].get_zorder()
    assert lines[1].get_linewidth() > 1.5 * lines[0].get_linewidth()


@pytest.mark.slow
def test_every_figure_of_simulated_results_is_drawn(tmp_path: Path) -> None:
    swept = simulated(tmp_path / "swept", sweep={"clients.count": [2, 8], "clients.loss.rate": ["0%", "5%"]})
    groups = [{"name": f"g{number}", "count": 1, "rtt": "20ms", "loss": "5%"} for number in range(10)]
    ten = simulated(tmp_path / "ten", clients=groups, measure={**SIM["measure"], "runs": 5})
    kinds = simulated(tmp_path / "kinds", sweep={"server.kind": ["builtin", "nginx"]})
    for results in (swept, ten, kinds):
        for kind, why in available(results):
            if why is None:
                save(figure(results, kind.name), tmp_path / f"{kind.name}.svg")
    save(figure(swept, "throughput-vs-load", log="xy"), tmp_path / "log.svg")


@pytest.mark.parametrize(
    "results",
    [
        points(({"clients.count": 1}, result([5.0])), ({"clients.count": 20}, None)),
        points(*(({"clients.count": n}, untrusted([n, n + 1.0])) for n in (1, 2, 400))),
        points(({"clients.count": 1}, all_errors()), ({"clients.count": 2}, all_errors())),
        loads(*([n, n + 1.0] for n in range(1, 60))),
    ],
    ids=["one point", "all invalid", "all errors", "many points"],
)
def test_results_of_every_kind_are_drawn(results: Any, tmp_path: Path) -> None:
    there = [kind.name for kind, why in available(results) if why is None]
    assert there
    for name in there:
        save(figure(results, name), tmp_path / f"{name}.svg")


@pytest.mark.parametrize(
    "old",
    sorted(path for path in STORED.glob("*/*") if path.is_dir() and path.name != "capacity"),
    ids=lambda p: p.name,
)
def test_results_of_older_formats_are_drawn(old: Path, tmp_path: Path) -> None:
    found = load_study(old)
    for kind, why in available(found):
        if why is None:
            save(figure(found, kind.name), tmp_path / f"{kind.name}.svg")


def test_a_library_that_is_not_there_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(extras, "import_module", missing)
    with pytest.raises(CannotRunError, match=r"matplotlib is not installed.*: pip install 'waspbench\[plots\]'"):
        draw(EVERYTHING)
