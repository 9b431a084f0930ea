"""The figures of reports: which there are, what the page and JSON have of them, and what has no room."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from html_pages import Page
from reported import bench, search, sweep
from waspbench import InputError, load, load_capacity, load_study
from waspbench.cli.app import invoke
from waspbench.figures.figure import Axis, Figure, Panel, Trace
from waspbench.figures.kinds import KINDS
from waspbench.figures.style import MARKERS
from waspbench.figures.thin import MOST_POINTS
from waspbench.report import Report, html, report_of, to_html, to_markdown
from waspbench.report.content import Code, Drawn, Items, Section
from waspbench.report.figures import AS_FILES, LEFT_OUT, OF_POINT, OF_SEARCH, OF_SIDES, OF_SWEEP, UNREAD
from waspbench.report.plots import plots_of
from waspbench.report.swatches import HEIGHT, WIDTH, marker, swatches


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("made")
    names = ("one-run", "one-group", "ten-groups", "all-errors")
    found = {name: bench(name, place / name) for name in names}
    return found | {"sweep": sweep(place / "sweep"), "search": search(place / "search")}


def figures(report: Report) -> list[Figure]:
    return [block.figure for each in report.sections for block in each.blocks if isinstance(block, Drawn)]


def section(report: Report) -> Section:
    return next(each for each in report.sections if each.name == "figures")


def left_out(report: Report) -> list[str]:
    return [text for block in section(report).blocks if isinstance(block, Items) for text in block.items]


@pytest.mark.parametrize(
    ("names", "drawn", "missing"),
    [
        (
            ["one-group"],
            ["response-time-cdf", "response-time-ccdf", "series", "queues", "normal-probability"],
            ["outcomes", "waiting"],
        ),
        (
            ["all-errors"],
            ["response-time-cdf", "response-time-ccdf", "series", "outcomes"],
            ["queues", "waiting", "normal-probability"],
        ),
        (
            ["sweep"],
            [name for name in OF_SWEEP if name not in ("capacity", "errors", "outcomes")],
            ["capacity", "errors", "outcomes"],
        ),
        (["search"], ["load-search"], ["capacity"]),
        (["one-group", "all-errors"], ["comparison", "response-time-cdf", "response-time-ccdf", "outcomes"], []),
        (["search", "search"], ["comparison"], []),
    ],
)
def test_each_kind_of_results_has_its_figures(
    made: dict[str, Path], names: list[str], drawn: list[str], missing: list[str]
) -> None:
    report = report_of([str(made[name]) for name in names])
    assert [each.name for each in figures(report)] == drawn
    assert [text.split()[0] for text in left_out(report)] == missing


def test_every_figure_is_in_some_report() -> None:
    told = {*OF_POINT, *OF_SWEEP, *OF_SEARCH, *OF_SIDES, "comparison"}
    assert told == {name for name in KINDS if "-vs-" not in name}


def test_a_comparison_of_another_metric_draws_that(made: dict[str, Path]) -> None:
    names = [str(made[name]) for name in ("one-group", "ten-groups")]
    first = figures(report_of(names, metric="p50"))[0]
    assert first.name == "p50-comparison"
    assert first.panels[0].y.label == "change of response time p50 (%)"


def test_sides_are_called_by_their_letters(made: dict[str, Path]) -> None:
    names = [str(made[name]) for name in ("one-run", "ten-groups")]
    report = report_of(names)
    tail = next(each for each in figures(report) if each.name == "response-time-ccdf")
    assert [trace.name for trace in tail.panels[0].traces] == ["A, one-run", "B, ten-groups"]


def test_the_page_has_every_figure_with_what_speaks_against_it(made: dict[str, Path]) -> None:
    for name in ("sweep", "all-errors", "ten-groups"):
        report = report_of([str(made[name])])
        page = Page(to_html(report))
        seen = set(page.words)
        drawn = figures(report)
        assert page.tags.count("figure") == len(drawn) >= 3
        for each in drawn:
            said = (each.title, *each.warnings, *each.notes, *(trace.name for trace in swatched(each)))
            assert {" ".join(text.split()) for text in said} <= {" ".join(text.split()) for text in seen}
        plots = [json.loads(script) for script in page.scripts[: len(drawn)]]
        assert [len(panels) for panels in plots] == [len(each.panels) for each in drawn]


def swatched(made: Figure) -> list[Trace]:
    """The traces that a legend names."""
    names = {each.name for each in swatches(made)}
    return [trace for panel in made.panels for trace in panel.traces if trace.name in names]


def test_the_legend_switches_what_the_plots_have(made: dict[str, Path]) -> None:
    seen = 0
    for number, drawn in enumerate(figures(report_of([str(made["sweep"])]))):
        each = plots_of(number, drawn)
        traces = [trace for panel in json.loads(each.data) for trace in panel["data"]]
        groups = {trace["legendgroup"] for trace in traces if "legendgroup" in trace}
        switches = [swatch.group for swatch in each.legend]
        assert len(switches) == len(set(switches))
        assert not switches or set(switches) == groups
        seen += len(switches)
    assert seen >= 10


def test_the_commands_make_the_figures(made: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for names in (["sweep"], ["one-group"], ["search"], ["one-run", "ten-groups"]):
        report = report_of([str(made[name]) for name in names], metric="p50" if len(names) > 1 else None)
        block = next(each for each in section(report).blocks if isinstance(each, Code))
        assert (block.title, block.folded) == (AS_FILES, True)
        lines = block.text.splitlines()
        assert len(lines) == len(figures(report))
        for line in (lines[0], lines[-1]):
            program, *arguments = shlex.split(line)
            assert program == "wasp"
            assert invoke([*arguments, "--force"]) in (0, 5)
            assert Path(arguments[-1]).stat().st_size > 1000


def test_json_has_figures_as_data_and_markdown_the_commands(made: dict[str, Path]) -> None:
    report = report_of([str(made["one-group"])])
    loaded = json.loads(report.to_json())
    [found] = [each for each in loaded["sections"] if each["name"] == "figures"]
    first = found["blocks"][0]
    assert (first["kind"], first["figure"]["name"]) == ("figure", "response-time-cdf")
    trace = first["figure"]["panels"][0]["traces"][0]
    assert 10 < len(trace["x"]) == len(trace["y"]) <= MOST_POINTS
    assert Report.model_validate(loaded) == report
    markdown = to_markdown(report)
    assert f"{AS_FILES}:" in markdown
    assert f"{LEFT_OUT}:" in markdown
    assert first["figure"]["title"] not in markdown


def test_figures_without_room_are_left_out_from_the_last_and_named(
    made: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    report = report_of([str(made["sweep"])])
    whole = to_html(report)
    assert len(whole.encode()) < html.BUDGET
    monkeypatch.setattr(html, "BUDGET", len(whole.encode()) - 60_000)
    page = Page(to_html(report))
    drawn = figures(report)
    kept = page.tags.count("figure")
    assert 1 <= kept < len(drawn)
    assert [each.title for each in drawn if f"{each.title}: left out, because" in page.text] == [
        each.title for each in drawn[kept:]
    ]


def test_a_report_of_results_in_memory_is_that_of_their_directory(made: dict[str, Path], tmp_path: Path) -> None:
    one, swept, searched = load(made["one-run"]), load_study(made["sweep"]), load_capacity(made["search"])
    for found, name in ((one, "one-run"), (swept, "sweep"), (searched, "search")):
        assert found.report() == report_of(str(made[name])) == report_of(made[name])
        assert found.report().directories == [str(made[name])]
    many = load(made["ten-groups"])
    both = report_of([one, many])
    assert both == report_of([made["one-run"], made["ten-groups"]])
    point = swept.at(swept.points[1].varied)
    assert point.report().directories == [f"{made['sweep']}@clients.loss.rate=0%,clients.rtt=60ms"]
    assert point.report() == report_of(point.report().directories[0])
    points = report_of([swept.at(each.varied) for each in swept.points[:2]])
    assert (points.kind, len(points.points)) == ("comparison", 1)
    one.report().save(tmp_path / "x.md")
    assert (tmp_path / "x.md").read_text() == to_markdown(one.report()) == one.report()._repr_markdown_()
    one.report().save(tmp_path / "x.txt", "json")
    assert json.loads((tmp_path / "x.txt").read_text())["kind"] == "bench"
    assert repr(one.report()) == str(one.report()) == "<Report on 'one-run', bench, sim>"


def test_mistakes_in_python_are_named(made: dict[str, Path], tmp_path: Path) -> None:
    swept = load_study(made["sweep"])
    with pytest.raises(InputError, match="is a part of the results in its directory"):
        swept.model_copy(update={"points": swept.points[:2]}).report()
    assert swept.at(swept.points[1].varied).report().kind == "bench"
    with pytest.raises(InputError, match="missing; give at least one result"):
        report_of([])
    with pytest.raises(InputError, match="must be results, or a text"):
        report_of(5)  # type: ignore[arg-type]
    report = report_of(made["one-run"])
    with pytest.raises(InputError, match="says no format"):
        report.save(tmp_path / "x.pdf")
    wrong: Any = "pdf"
    with pytest.raises(InputError, match="must be one of html, markdown, json, csv"):
        report.save(tmp_path / "x.txt", wrong)
    with pytest.raises(InputError, match=r"contradicts the name of .*x\.md, which says markdown"):
        report.save(tmp_path / "x.md", "json")
    with pytest.raises(InputError, match="cannot be written"):
        report.save(tmp_path / "none" / "x.md")


def test_a_table_that_cannot_be_read_is_told_and_takes_nothing_with_it(made: dict[str, Path], tmp_path: Path) -> None:
    broken = shutil.copytree(made["one-group"], tmp_path / "broken")
    table = next((broken / "series").iterdir())
    table.write_bytes(b"junk")
    report = report_of(broken)
    first = section(report).blocks[0]
    assert isinstance(first, Items)
    assert (first.title, first.tone) == (UNREAD, "bad")
    [said] = first.items
    assert said.startswith(f"series: {table}: ")
    assert [each.name for each in figures(report)] == [
        each.name for each in figures(report_of(made["one-group"])) if each.name != "series"
    ]


def test_nothing_but_zeros_is_no_figure(made: dict[str, Path]) -> None:
    assert "errors would show nothing: all its values are 0" in left_out(report_of(made["sweep"]))


def test_too_few_runs_are_told_at_the_top(made: dict[str, Path]) -> None:
    report = report_of([made["one-group"], made["all-errors"]])
    [few] = [alert for alert in report.alerts if alert.title == "Too few runs to show a difference"]
    assert few.items == ["B and A: 3 and 3 runs are too few to show any difference at 5 %: at least 4 and 4 are needed"]
    assert few.tone == "doubt"


def test_without_room_for_any_figure_there_is_no_script(made: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "BUDGET", 100_000)
    report = report_of(made["one-run"])
    page = Page(to_html(report))
    assert "script" not in page.tags
    assert page.text.count("left out, because the page would be larger than 0.1 MB") == len(figures(report))


def test_a_figure_that_stands_twice_has_two_numbers(made: dict[str, Path]) -> None:
    report = report_of(made["one-run"])
    twice = [*section(report).blocks[:1], *section(report).blocks]
    changed = [
        each if each.name != "figures" else each.model_copy(update={"blocks": twice}) for each in report.sections
    ]
    page = Page(to_html(report.model_copy(update={"sections": changed})))
    assert page.problems == []
    assert page.tags.count("figure") == len(figures(report)) + 1


@pytest.mark.parametrize("name", MARKERS)
def test_a_marker_of_a_legend_is_within_its_swatch(name: str) -> None:
    path = marker(name)
    assert path.startswith("M")
    assert path.endswith("Z")
    assert len({marker(each) for each in MARKERS}) == len(MARKERS)
    if name == "circle":
        return
    for corner in path[1:-1].split("L"):
        x, y = map(float, corner.split(","))
        assert 0 <= x <= WIDTH
        assert 0 <= y <= HEIGHT


def test_a_swatch_shows_the_line_and_the_marker() -> None:
    line = Trace("a", (1.0, 2.0), (1.0, 2.0), invalid=(True, True))
    marks = Trace("b", (1.0,), (1.0,), kind="points")
    limit = Trace("limit", (1.0, 2.0), (1.0, 2.0), kind="reference")
    found = swatches(Figure("f", "F", (Panel(Axis("x"), Axis("y"), (line, marks, limit)),)))
    assert [(each.dashes, bool(each.marker), each.hollow) for each in found] == [
        ("none", True, True),
        ("", True, False),
        ("7 4", False, False),
    ]
