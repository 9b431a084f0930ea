"""Figures for programs and notebooks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from capacity_results import load as load_line
from capacity_results import point as found_point
from capacity_results import searched
from comparison_results import compared
from comparison_results import point as compared_point
from figure_results import simulated
from measured_runs import result, study_of
from waspbench import InputError, Result, StudyResult, plot, run
from waspbench.figures.kinds import figure
from waspbench.results.study import StudyResult as Study

PNG = b"\x89PNG\r\n"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    return simulated(tmp_path_factory.mktemp("plots") / "swept", sweep={"clients.rtt": ["20ms", "50ms"]})


def test_results_plot_a_figure_by_its_name(swept: StudyResult) -> None:
    made = swept.plot("p90-vs-rtt", log="x")
    assert made.figure == figure(swept, "p90-vs-rtt", log="x")
    assert repr(made) == f"<Plot 'p90-vs-rtt': {made.figure.title}>"


def test_the_first_figure_is_the_default(swept: StudyResult) -> None:
    assert swept.plot().figure.name == "throughput-vs-rtt"
    assert result([640.0, 650.0]).plot().figure.name == "outcomes"
    assert searched([found_point(loads=[load_line(500, 400.0)])]).plot().figure.name == "load-search"
    assert compared(compared_point([1.0, 2.0], [3.0, 4.0])).plot().figure.name == "comparison"
    with pytest.raises(InputError, match="results: these have no figure: no run of them is finished"):
        study_of([({}, [])]).plot()


def test_options_without_a_name_are_of_the_first_figure(swept: StudyResult) -> None:
    assert swept.plot(log="xy").figure == swept.plot("throughput-vs-rtt", log="xy").figure
    with pytest.raises(InputError, match="throughput-vs-rtt cannot be drawn against"):
        swept.plot(x="clients.count")


def test_several_results_have_the_names_that_are_given(swept: StudyResult) -> None:
    first, second = (point.result for point in swept.points)
    assert isinstance(first, Result)
    assert isinstance(second, Result)
    made = plot({"near": first, "far": second}, "response-time-cdf").figure
    assert [trace.name for trace in made.panels[0].traces] == ["near", "far"]
    assert plot({"near": first, "far": second}, "comparison").figure.title.startswith(
        "Change of throughput: far against near"
    )
    unnamed = plot([first, second], "response-time-cdf").figure
    assert [trace.name for trace in unnamed.panels[0].traces] == ["sim (1)", "sim (2)"]


def test_what_is_none_is_refused(swept: StudyResult) -> None:
    for given in (3, None, swept.points[0], [swept, 3]):
        with pytest.raises(InputError, match=r"^results: .*: must be results, a directory of them"):
            plot(given)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="results: missing"):
        plot([])
    with pytest.raises(InputError, match=r"^figure: .*: must be the name of a figure"):
        swept.plot(5)  # type: ignore[arg-type]
    first, second = (point.result for point in swept.points)
    assert first is not None
    assert second is not None
    made = plot({20: first, 50: second}, "response-time-cdf")  # type: ignore[dict-item]
    assert [trace.name for trace in made.figure.panels[0].traces] == ["20", "50"]


def test_directories_are_loaded_with_what_the_figure_needs(swept: StudyResult) -> None:
    made = plot(swept.results, "p97.5-vs-rtt").figure
    assert None not in made.panels[0].traces[0].y
    assert len(plot(f"{swept.results}@clients.rtt=20ms", "response-time-cdf").figure.panels[0].traces) == 1
    assert plot(Path(swept.results)).figure == Study.plot(swept).figure


def test_results_without_a_directory_have_every_figure() -> None:
    found = run({"name": "x", "mode": "sim", "clients": [{"count": 2}], "measure": {"warmup": "1s", "duration": "2s"}})
    assert found.plot("response-time-cdf").figure.panels[0].traces
    assert found.plot("series").figure.panels


def test_a_plot_is_saved_drawn_and_shown(swept: StudyResult, tmp_path: Path) -> None:
    made = swept.plot()
    made.save(tmp_path / "x.png", width=3.3, bare=True)
    assert (tmp_path / "x.png").read_bytes().startswith(PNG)
    assert len(made.draw().axes) == 1
    image, size = made._repr_png_()
    assert image.startswith(PNG)
    assert size["width"] == 660
    assert 250 < size["height"] < 600
    with pytest.raises(InputError, match=r"must end in \.pdf, \.svg or \.png"):
        made.save("x.gif")


def test_a_plot_says_whether_to_trust_it() -> None:
    found = study_of([({"clients.count": 1}, [1.0, 2.0]), ({"clients.count": 2}, [2.0, 3.0])])
    points = [
        point.model_copy(update={"result": point.result and point.result.model_copy(update={"valid": False})})
        for point in found.points
    ]
    made = found.model_copy(update={"points": points, "valid": False}).plot("throughput-vs-load")
    assert not made.valid
    assert repr(made).endswith(", NOT VALID>")


def test_importing_results_imports_no_figures() -> None:
    code = (
        "import sys, waspbench; waspbench.Result, waspbench.load; "
        "print({'matplotlib', 'waspbench.figures.kinds', 'waspbench.results.glance'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
