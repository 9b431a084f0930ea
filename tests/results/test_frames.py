"""Frames of results: their rows, their columns, and what is null."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from capacity_results import load as load_line
from capacity_results import point as found_point
from capacity_results import reading, searched
from comparison_results import compared
from comparison_results import point as compared_point
from measured_runs import study_of
from waspbench import (
    InputError,
    Result,
    StudyProgress,
    StudyResult,
    capacity,
    compare_results,
    load,
    load_capacity,
    load_study,
    resume,
    run,
    study,
)
from waspbench.experiment.metrics import PERCENTILES, Metric
from waspbench.experiment.search import Search
from waspbench.results import errors
from waspbench.results.checks import estimate
from waspbench.results.columns import no_line
from waspbench.results.frames import comparisons, runs, searches
from waspbench.results.frames.columns import FrameColumn, column_name, metrics
from waspbench.results.study import StudyPoint
from waspbench.results.study import study_of as one_point
from waspbench.results.tables import SINCE, TABLES

STORED = Path(__file__).with_name("stored")
BENCHES = sorted(STORED.glob("*/bench"))
SWEEPS = sorted(STORED.glob("*/sweep"))
SEARCHES = sorted(STORED.glob("*/capacity"))

EXPERIMENT: dict[str, Any] = {
    "name": "two",
    "mode": "sim",
    "seed": 3,
    "clients": [
        {"name": "near", "count": 4, "rtt": "20ms"},
        {"name": "far", "count": 2, "rtt": "100ms", "loss": {"model": "independent", "rate": "1%"}},
    ],
    "measure": {"runs": 2, "warmup": "1s", "duration": "4s"},
}
SWEPT = {**EXPERIMENT, "sweep": {"clients.far.rtt": ["100ms", "0.2s"], "clients.near.count": [2, 4]}}


def types(columns: list[FrameColumn]) -> dict[str, Any]:
    return {column.name: getattr(pl, column.kind) for column in columns}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Two simulated runs of two groups."""
    return run(EXPERIMENT, output=tmp_path_factory.mktemp("frames") / "two")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    """A simulated sweep of four points."""
    return study(SWEPT, output=tmp_path_factory.mktemp("frames") / "swept", jobs=1)


def test_a_result_has_a_row_for_each_run(made: Result) -> None:
    frame = made.to_frame()
    assert dict(frame.schema) == types(runs.run_columns(PERCENTILES))
    assert frame["run"].to_list() == [0, 1]
    assert frame["throughput"].to_list() == [each.throughput for each in made.runs]
    assert frame["throughput"].mean() == pytest.approx(made.throughput.mean)
    assert frame["goodput_bps"].to_list() == [each.goodput_bps for each in made.runs]
    assert frame["mean_ms"].to_list() == [each.response_time_ms.mean for each in made.runs]
    assert frame["p90_ms"].to_list() == [each.response_time_ms.p90 for each in made.runs]
    assert frame["p99.9_ms"].null_count() == 2  # it takes 2,995 transactions
    assert frame["ok"].sum() == made.outcomes["ok"]
    assert frame["server_cpu"].mean() == pytest.approx(made.server_cpu.busy)
    assert frame["interval_s"].to_list() == [4.0, 4.0]
    assert frame["client_count"].to_list() == [6, 6]
    assert frame["lag_p99_us"].null_count() == 2  # there is no emulator to be late in simulation
    assert frame["lost_down"].to_list() == [each.network.down.loss_rate for each in made.runs]


def test_groups_have_rows_of_their_own(made: Result) -> None:
    frame = made.to_frame(by_group=True)
    assert dict(frame.schema) == types(runs.run_columns(PERCENTILES, by_group=True))
    assert frame["group"].to_list() == [None, "near", "far"] * 2
    groups = frame.filter(pl.col("group").is_not_null())
    assert groups["ok"].sum() == made.outcomes["ok"]
    assert groups["client_count"].to_list() == [4, 2] * 2
    assert groups["server_cpu"].null_count() == groups["lost_up"].null_count() == 4
    assert groups["goodput_bps"].sum() == pytest.approx(frame["goodput_bps"].sum() / 2)
    near, far = groups.filter(group="near"), groups.filter(group="far")
    assert near["mean_ms"].to_list() == pytest.approx([20.0, 20.0], rel=0.1)
    assert far["mean_ms"].null_count() == 2  # of less than a hundred transactions it says nothing
    assert far["throughput"].to_list() == [each.by_group[1].throughput for each in made.runs if each.by_group]


def test_what_speaks_against_a_run_or_a_group_is_told_apart(made: Result) -> None:
    reasons = [
        {"run": 0, "group": "far", "code": "errors", "message": "many"},
        {"run": 1, "group": None, "code": "lag", "message": "late"},
        {"run": None, "group": "far", "code": "censored", "message": "short"},
        {"run": None, "group": None, "code": "interrupted", "message": "2 of 3"},
    ]
    told = Result.model_validate({**made.model_dump(), "invalid_reasons": reasons, "valid": False})
    # That a run is missing does not speak against those that are there.
    assert told.to_frame()["reasons"].to_list() == ["errors, censored", "lag, censored"]
    frame = told.to_frame(by_group=True)
    assert frame.filter(group="near")["reasons"].to_list() == ["", "lag"]
    assert frame.filter(group="far")["reasons"].to_list() == ["errors, censored", "lag, censored"]
    assert frame.filter(group="near")["valid"].to_list() == [True, False]
    assert one_point(told).to_frame()["reasons"].to_list() == ["errors, lag, censored, interrupted"]


def test_background_groups_are_told_apart(made: Result) -> None:
    with_background = run({**EXPERIMENT, "clients": [{"name": "a", "count": 2}, {"name": "b", "background": True}]})
    for frame in (with_background.to_frame(by_group=True), one_point(with_background).to_frame(by_group=True)):
        assert frame["background"].to_list()[:3] == [None, False, True]
        assert frame["ok"].to_list()[0] == frame["ok"].to_list()[1]
        assert frame["client_count"].to_list()[:2] == [2, 2]
    assert "background" not in made.to_frame().columns


def test_percentiles_are_those_that_the_result_shows(made: Result) -> None:
    assert made.results is not None
    shown = load(made.results, percentiles=["p25", "p99.9"])
    frame = shown.to_frame()
    assert [name for name in frame.columns if name.startswith("p")] == ["p25_ms", "p99.9_ms"]
    assert "all.p25_ms" in frame.columns
    assert frame["p25_ms"].null_count() == 0
    assert "p25_ms_low" in one_point(shown).to_frame().columns


def test_a_study_has_a_row_for_each_point(swept: StudyResult) -> None:
    frame = swept.to_frame()
    assert frame.columns[:5] == ["point", "clients.far.rtt", "clients.far.rtt_ms", "clients.near.count", "client_count"]
    assert frame["clients.far.rtt"].to_list() == ["100ms", "100ms", "0.2s", "0.2s"]
    assert frame["clients.far.rtt_ms"].to_list() == [100.0, 100.0, 200.0, 200.0]
    assert frame["clients.near.count"].to_list() == [2, 4, 2, 4]
    assert frame["client_count"].to_list() == [4, 6, 4, 6]
    assert frame["runs"].to_list() == [2] * 4
    assert frame["valid"].to_list() == [point.result is not None and point.result.valid for point in swept.points]


def test_figures_and_intervals_are_those_of_checks(swept: StudyResult) -> None:
    for row, point in zip(swept.to_frame(by_group=True).iter_rows(named=True), _parts(swept), strict=True):
        group, found = point
        for of in metrics(PERCENTILES):
            if group is not None and of.name == "server_cpu":
                assert row["server_cpu"] is None
                continue
            value, ends = estimate(found, Metric(of.name, group, all=of.all))
            name = column_name(of)
            assert row[name] == value
            if of.name != "max":
                assert (row[f"{name}_low"], row[f"{name}_high"]) == (ends or (None, None))


def _parts(swept: StudyResult) -> list[tuple[str | None, Result]]:
    return [(group, each.result) for each in swept.points if each.result for group in (None, "near", "far")]


def test_a_study_has_a_row_for_each_run_in_another_frame(swept: StudyResult) -> None:
    frame = swept.to_frame("runs")
    assert frame["run"].to_list() == [0, 1] * 4
    assert frame["point"].to_list() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert frame["clients.near.count"].to_list() == [2, 2, 4, 4] * 2
    means = frame.group_by("point", maintain_order=True).agg(pl.col("throughput").mean())
    assert means["throughput"].to_list() == pytest.approx(swept.to_frame()["throughput"].to_list())
    assert swept.to_frame("runs", by_group=True).height == 24
    with pytest.raises(InputError, match='rows: "run": must be one of points, runs'):
        swept.to_frame("run")  # type: ignore[arg-type]


def test_what_is_missing_is_null() -> None:
    frame = study_of([({"x": 1}, [640.0, 650.0]), ({"x": 2}, []), ({"x": 3}, [600.0])]).to_frame()
    assert frame["runs"].to_list() == [2, 0, 1]
    assert frame["throughput"].to_list() == [645.0, None, 600.0]
    assert frame["throughput_low"].is_null().to_list() == [False, True, True]  # one run gives no interval
    assert frame["ok"].is_null().to_list() == [False, True, False]
    assert frame["valid"].to_list() == [True, False, True]
    assert frame["reasons"].to_list() == ["", "interrupted", ""]
    failed = [StudyPoint(index=0, varied={}, result=None, failure="no server")]
    broken = StudyResult(name="x", mode="sim", seed=1, complete=True, valid=False, points=failed)
    assert broken.to_frame()["reasons"].to_list() == ["failed"]
    nothing = StudyResult(name="x", mode="sim", seed=1, complete=False, valid=False)
    assert nothing.to_frame().height == nothing.to_frame("runs").height == 0
    assert nothing.to_frame().schema["throughput"] == pl.Float64


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["20ms", "1s"], {"x": ["20ms", "1s"], "x_ms": [20.0, 1000.0]}),
        (["10Mbit/s", "64kbit/s"], {"x": ["10Mbit/s", "64kbit/s"], "x_bps": [1e7, 64e3]}),
        (["64KiB", "1KB"], {"x": ["64KiB", "1KB"], "x_bytes": [65536.0, 1000.0]}),
        (["50/s", "30/min"], {"x": ["50/s", "30/min"], "x_per_s": [50.0, 0.5]}),
        (["3%", "0%"], {"x": ["3%", "0%"], "x_share": [0.03, 0.0]}),
        ([0, "3%"], {"x": ["0", "3%"], "x_share": [0.0, 0.03]}),
        (["3%", "20ms"], {"x": ["3%", "20ms"]}),
        (["nginx", "apache"], {"x": ["nginx", "apache"]}),
        ([1, 8], {"x": [1, 8]}),
        ([1, 0.5], {"x": [1.0, 0.5]}),
        ([True, False], {"x": [True, False]}),
        ([8, "auto"], {"x": ["8", "auto"]}),
        ([{"model": "two-state", "rate": "3%"}], {"x": ["model=two-state rate=3%"]}),
        ([["a", "b"]], {"x": ["a; b"]}),
        ([None, 1], {"x": [None, 1]}),
    ],
)
def test_swept_values_are_columns(values: list[Any], expected: dict[str, list[Any]]) -> None:
    points = [StudyPoint(index=index, varied={"x": value}, result=None) for index, value in enumerate(values)]
    found = StudyResult(name="x", mode="sim", seed=1, complete=False, valid=False, points=points).to_frame()
    given = found.columns[1 : found.columns.index("client_count")]
    assert {name: found[name].to_list() for name in given} == expected


def test_a_search_has_a_row_for_each_point() -> None:
    line = no_line().model_copy(update={"throughput": 99.0, "throughput_ci90": (90.0, 108.0), "valid": True})
    frame = searched(
        [found_point(varied={"clients.rtt": "20ms"}, line=line), found_point(index=1, capacity=None, ci90=None)],
        find="clients",
    ).to_frame()
    assert frame["clients.rtt_ms"].to_list() == [20.0, None]
    assert frame["capacity"].to_list() == [500.0, None]
    assert (frame["capacity_low"].to_list(), frame["capacity_high"].to_list()) == ([490.0, None], [520.0, None])
    assert (frame["throughput"][0], frame["throughput_low"][0], frame["throughput_high"][0]) == (99.0, 90.0, 108.0)
    assert (frame["bottleneck"][0], frame["outcome"][0], frame["is_lower_bound"][0]) == ("server", "found", False)


def test_a_capacity_that_is_a_lower_bound_has_no_upper_end() -> None:
    point = found_point(outcome="not reached")
    assert searched([point], find="clients").to_frame()["capacity_high"].to_list() == [None]
    # The largest throughput has the interval of its runs, which says nothing of other loads.
    assert searched([point], find="throughput").to_frame()["capacity_high"].to_list() == [520.0]


def test_a_search_has_a_row_for_each_load_and_run_in_other_frames() -> None:
    readings = [
        reading(500, judged={"all.p99": 800.0}, outcomes={"ok": 90, "reset": 10}, notes=["a", "b"]),
        reading(900, run=1, counts=False, failed=True, meets=None, outcomes=None),
    ]
    loads = [load_line(500, 400.0, p99=800.0), load_line(900, 0.0, p99=None, counts="failed")]
    found = searched([found_point(readings=readings, loads=loads)], find="clients")
    by_load = found.to_frame("loads")
    assert (by_load["load"].to_list(), by_load["counts"].to_list()) == ([500.0, 900.0], ["yes", "failed"])
    assert by_load["all.p99_ms"].to_list() == [800.0, None]
    by_run = found.to_frame("runs")
    assert by_run["throughput"].to_list() == [1.0, None]  # the second was not made
    assert by_run["all.p99_ms"].to_list() == [800.0, None]
    assert (by_run["ok"].to_list(), by_run["timed_out"].to_list()) == ([90, None], [0, None])
    assert by_run["notes"].to_list()[0] == "a; b"
    with pytest.raises(InputError, match='rows: "x": must be one of points, loads, runs'):
        found.to_frame("x")  # type: ignore[arg-type]


def test_an_objective_of_a_figure_that_is_shown_has_one_column() -> None:
    loads = [load_line(500, 400.0).model_copy(update={"judged": {"throughput": 400.0, "p95": 7.0}})]
    columns = searched([found_point(loads=loads)]).to_frame("loads").columns
    assert len(columns) == len(set(columns))


def test_a_comparison_has_a_row_for_each_point(swept: StudyResult) -> None:
    frame = compare_results(
        f"{swept.results}@clients.far.rtt=100ms", f"{swept.results}@clients.far.rtt=0.2s"
    ).to_frame()
    assert frame["clients.near.count"].to_list() == [2, 4]
    assert (frame["mean_b"] < frame["mean_a"]).all()
    assert (frame["ratio_low"] <= frame["ratio"]).all()
    assert set(frame["test"]) == {"permutation"}
    assert frame["note"].str.contains("too few").all()


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        ("throughput", "/s"),
        ("goodput", "bit/s"),
        ("phones.p95", "ms"),
        ("clients", "clients"),
        ("rate", "arrivals/s"),
        ("capacity", "/s"),
    ],
)
def test_a_comparison_names_its_unit(metric: str, unit: str) -> None:
    frame = compared(compared_point([1.0, 2.0], [3.0, 4.0]), metric=metric).to_frame()
    assert dict(frame.schema) == types(comparisons.comparison_columns())
    assert (frame["metric"].to_list(), frame["unit"].to_list()) == ([metric], [unit])
    assert (frame["mean_a"].to_list(), frame["mean_b"].to_list()) == ([1.5], [3.5])


def test_tables_are_of_all_runs(made: Result) -> None:
    for table, (_, columns) in TABLES.items():
        frame = getattr(made, table)()
        kinds = {name: "String" if name == "group" else kind for name, kind, _ in columns}
        assert {name: str(kind) for name, kind in frame.schema.items()} == kinds
        # No link of these results keeps packets waiting.
        assert set(frame["run"]) == (set() if table == "link_waits" else {0, 1})
    measured = made.transactions().filter("measured", outcome="ok")
    assert measured.height == made.outcomes["ok"]
    assert dict(measured.group_by("group").len().iter_rows()) == {
        group.name: group.outcomes["ok"] for group in made.groups
    }
    assert made.histogram()["group"].null_count() > 0  # of all clients


def test_frames_fit_together(made: Result, swept: StudyResult) -> None:
    counted = made.transactions().filter("measured", outcome="ok").group_by("run", "group").len()
    joined = made.to_frame(by_group=True).join(counted, on=["run", "group"])
    assert joined.height == 4
    assert joined["ok"].to_list() == joined["len"].to_list()
    others = run({**EXPERIMENT, "clients": [{"name": "others", "count": 2}]})
    both = pl.concat([made.transactions(), others.transactions()])
    assert set(both["group"]) == {"near", "far", "others"}
    points = swept.transactions().join(swept.to_frame("runs"), on=["point", "run"])
    assert points["clients.far.rtt_ms"].null_count() == 0


def test_an_index_without_a_group_is_an_error(made: Result) -> None:
    with pytest.raises(pl.exceptions.PolarsError):
        made.model_copy(update={"clients": made.clients[:1]}).transactions()


def test_the_tables_of_a_study_have_the_point(swept: StudyResult) -> None:
    for table in TABLES:
        frame = getattr(swept, table)()
        assert frame.columns[0] == "point"
        assert set(frame["point"]) == (set() if table == "link_waits" else {0, 1, 2, 3})
    with pytest.raises(InputError, match="series: no run is finished"):
        study_of([({"x": 1}, [])]).series()


def test_a_table_that_is_missing_is_named(made: Result, tmp_path: Path) -> None:
    moved = made.model_copy(update={"results": str(tmp_path)})
    with pytest.raises(InputError, match=r"series/run-0\.parquet: cannot be read"):
        moved.series()
    assert moved.to_frame().equals(made.to_frame())  # which needs no table


def test_results_without_a_directory_have_files_for_as_long_as_they_are_there() -> None:
    found = run(EXPERIMENT)
    assert (found.results, found.directory is not None) == (None, True)
    assert found.directory is not None
    folder = found.directory
    assert found.transactions().height > 0
    copies = [found.model_copy(), copy.deepcopy(found), one_point(found)]
    del found
    gc.collect()
    assert all(each.series().height > 0 for each in copies)
    del copies
    gc.collect()
    assert not folder.exists()


def test_a_study_and_a_search_without_a_directory_have_files_too() -> None:
    found = study(SWEPT, jobs=1)
    first = found.points[0].result
    assert first is not None
    assert found.results == ""
    assert found.directory is not None
    folder = found.directory
    assert found.transactions()["point"].n_unique() == 4
    del found
    gc.collect()
    assert first.transactions().height > 0  # a point keeps the files of all
    del first
    gc.collect()
    assert not folder.exists()
    search = capacity(EXPERIMENT, search=Search(low=8, high=16, most=6, confirm=2))
    assert search.results is None
    assert search.directory is not None
    assert (search.directory / "capacity.json").exists()


def test_who_reads_temporary_results_has_their_files(tmp_path: Path) -> None:
    found = run(EXPERIMENT)
    assert found.directory is not None
    again = load(found.directory, percentiles=["p25"])
    folder = found.directory
    del found
    gc.collect()
    assert again.results is None
    assert again.series().height > 0
    studied = study(SWEPT, jobs=1)
    studied = resume(studied.directory or "", jobs=1)  # type: ignore[assignment]
    gc.collect()
    assert (studied.results, studied.transactions()["point"].n_unique()) == ("", 4)
    assert studied.points[0].result is not None
    assert studied.points[0].result.results is None
    searched = capacity(EXPERIMENT, search=Search(low=8, high=16, most=6, confirm=2))
    searched = load_capacity(searched.directory or "")
    gc.collect()
    assert (searched.directory or tmp_path / "x").exists()
    del again, studied, searched
    gc.collect()
    assert not folder.exists()


def test_results_in_a_named_directory_are_found_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = run(EXPERIMENT, output="x")
    again = load("x")
    searched = capacity(EXPERIMENT, output="y", search=Search(low=8, high=16, most=6, confirm=2))
    monkeypatch.chdir("/")
    assert found.results == again.results == "x"
    assert found.series().equals(again.series())
    assert searched.directory == tmp_path / "y"


def test_results_that_are_sent_elsewhere_go_without_files(made: Result) -> None:
    found = run(EXPERIMENT)
    sent = pickle.loads(pickle.dumps(found))
    assert sent == found
    assert sent.to_frame().equals(found.to_frame())
    assert sent.directory is None
    with pytest.raises(InputError, match="links: these results have no files here"):
        sent.links()
    with pytest.raises(InputError, match='first: "two": these results have no files, from which'):
        compare_results(sent, made)
    named = pickle.loads(pickle.dumps(made))
    assert named.links().equals(made.links())


def test_results_are_compared_as_their_directories_are(swept: StudyResult, made: Result) -> None:
    assert compare_results(swept, swept) == compare_results(swept.results, Path(swept.results))
    assert made.results is not None
    assert compare_results(made, run(EXPERIMENT)).points == compare_results(made.results, made).points
    with pytest.raises(InputError, match=r"^second: .*: must be results, or a text or path"):
        compare_results(made, 3)  # type: ignore[arg-type]


def test_what_results_in_memory_leave_out_is_not_compared(swept: StudyResult) -> None:
    part = swept.model_copy(update={"points": swept.points[:1]})
    assert len(compare_results(part, swept).points) == 1
    assert compare_results(load_study(swept.results, percentiles=["p25"]), swept).percentiles == ["p25"]


def test_a_directory_with_other_results_is_noticed(tmp_path: Path) -> None:
    found = study(SWEPT, output=tmp_path / "x", jobs=1)
    shutil.rmtree(tmp_path / "x")
    for sweep in ({"clients.near.count": [1, 2, 3, 4]}, {"clients.near.count": [2]}):
        study({**SWEPT, "sweep": sweep}, output=tmp_path / "x", jobs=1)
        with pytest.raises(InputError, match="its directory has other results now"):
            compare_results(found, found)
        shutil.rmtree(tmp_path / "x")


def test_parts_of_one_study_are_not_the_same(swept: StudyResult) -> None:
    part = swept.model_copy(update={"points": swept.points[1:]})
    assert compare_results(swept, part, fail_on="slower:5%").unmatched == [
        "A: clients.far.rtt=100ms clients.near.count=2"
    ]
    for same in (swept, swept.results):
        with pytest.raises(InputError, match="is the same as A, so that it cannot be slower"):
            compare_results(swept, same, fail_on="slower:5%")


def test_a_temporary_directory_stays_while_its_runs_are_made() -> None:
    held = [study({**SWEPT, "mode": "sim"}, jobs=1)]
    folder = held[0].directory
    assert folder is not None
    shutil.rmtree(folder / "points" / "0003")

    def forget(_: StudyProgress) -> None:
        held.clear()
        gc.collect()

    found = resume(folder, jobs=1, on_progress=forget)
    assert isinstance(found, StudyResult)
    assert found.complete
    assert found.to_frame()["runs"].to_list() == [2] * 4
    del found
    gc.collect()
    assert not folder.exists()


def test_a_study_has_the_result_of_a_point(swept: StudyResult) -> None:
    found = swept.at({"clients.far.rtt": "0.2s", "clients.near.count": 2})
    assert found is swept.points[2].result
    with pytest.raises(InputError, match="2 points have these values"):
        swept.at({"clients.far.rtt": "0.2s"})
    with pytest.raises(InputError, match="no point has these values"):
        swept.at({"clients.far.rtt": "1s"})
    with pytest.raises(InputError, match=r"clients\.near is not swept there; did you mean"):
        swept.at({"clients.near": 2})
    with pytest.raises(InputError, match="no run of this point is finished"):
        study_of([({"x": 1}, []), ({"x": 2}, [1.0])]).at({"x": 1})


def test_what_holds_something_else_is_refused_by_name(swept: StudyResult, tmp_path: Path) -> None:
    capacity(EXPERIMENT, output=tmp_path / "search", search=Search(low=8, high=16, most=6, confirm=2))
    with pytest.raises(InputError, match="holds a search for capacity, which load_capacity reads"):
        load_study(tmp_path / "search")
    with pytest.raises(InputError, match="holds a sweep, which load_study reads"):
        load_capacity(swept.results)
    for read in (load, load_study, load_capacity):
        with pytest.raises(InputError, match="nowhere: there is no such directory"):
            read(tmp_path / "nowhere")
    for there in (tmp_path / "search", Path(swept.results)):
        with pytest.raises(InputError, match=r"holds a (sweep|search for capacity), which load_(study|capacity) reads"):
            load(there)


def test_points_of_one_study_are_compared_by_themselves(swept: StudyResult) -> None:
    one, two = swept.points[0].result, swept.points[3].result
    assert one is not None
    assert two is not None
    found = compare_results(one, two)
    assert (found.a, found.b) == (one.results, two.results)
    assert found.points[0].means == (one.throughput.mean, two.throughput.mean)
    unnamed = compare_results(run(EXPERIMENT), run({**EXPERIMENT, "seed": 4}))
    assert (unnamed.a, unnamed.b) == ("two (A)", "two (B)")


def test_results_of_every_format_are_stored() -> None:
    assert (len(BENCHES), len(SWEEPS), len(SEARCHES)) == (4, 4, 4)


@pytest.mark.parametrize("old", BENCHES, ids=lambda path: str(path.parent.name))
def test_an_older_result_has_frames(old: Path) -> None:
    found = load(old)
    frame = found.to_frame(by_group=True)
    assert dict(frame.schema) == types(runs.run_columns(PERCENTILES, by_group=True))
    assert frame["throughput"].to_list()[0] == found.runs[0].throughput
    for table in TABLES.keys() - SINCE.keys():
        rows = getattr(found, table)()
        assert rows.columns == [name for name, *_ in TABLES[table][1]]
        assert rows.height > 0
    for table, since in SINCE.items():
        with pytest.raises(InputError, match=f"{table}: results of formats before {since} do not have this table"):
            getattr(found, table)()


@pytest.mark.parametrize("old", SWEEPS, ids=lambda path: str(path.parent.name))
def test_an_older_sweep_has_frames(old: Path) -> None:
    found = load_study(old)
    frame = found.to_frame(by_group=True)
    assert frame["throughput"].null_count() == 0
    assert all(name in frame.columns for point in found.points for name in point.varied)


@pytest.mark.parametrize("old", SEARCHES, ids=lambda path: str(path.parent.name))
def test_an_older_search_has_frames(old: Path) -> None:
    found = load_capacity(old)
    assert found.to_frame().height == len(found.points)
    assert found.to_frame("loads").height == sum(len(point.loads) for point in found.points)
    assert found.to_frame("runs")["throughput"].null_count() == 0


def test_every_column_says_what_it_is() -> None:
    every = [
        *runs.run_columns(PERCENTILES, by_group=True),
        *runs.point_columns(PERCENTILES, by_group=True),
        *searches.point_columns(PERCENTILES),
        *searches.load_columns(PERCENTILES, ["all.p99"]),
        *searches.run_columns(["all.p99"]),
        *comparisons.comparison_columns(),
    ]
    for column in every:
        assert column.meaning.endswith((".", ")")), column.name
        assert "None" not in column.meaning, column.name
        assert "\n" not in column.meaning, column.name


def test_columns_have_the_type_of_their_values() -> None:
    columns = [
        *searches.point_columns(["p50"]),
        *searches.load_columns(["p50"]),
        *searches.run_columns(),
        *comparisons.comparison_columns(),
    ]
    of_kind = {kind: {each.name for each in columns if each.kind == kind} for kind in ("String", "Boolean", "UInt32")}
    assert of_kind == {
        "String": {
            *("find", "outcome", "more", "bottleneck", "why", "counts", "notes"),
            *("metric", "unit", "test", "verdict", "note"),
        },
        "Boolean": {
            *("is_lower_bound", "refined", "saturated", "confirmed", "valid", "fresh", "confirming", "counts"),
            *("meets", "misses", "failed", "at_least_a", "at_least_b"),
        },
        "UInt32": {"point", "runs", "run", "attempts", "runs_a", "runs_b"},
    }


def test_the_outcomes_are_those_of_the_engine(made: Result) -> None:
    assert set(made.runs[0].outcomes) == set(errors.OUTCOMES)
    assert math.isclose(made.to_frame().select(errors.OUTCOMES).sum_horizontal().sum(), sum(made.outcomes.values()))


def test_frames_can_be_written_as_csv(made: Result, swept: StudyResult, tmp_path: Path) -> None:
    for frame in (made.to_frame(by_group=True), swept.to_frame(), swept.to_frame("runs"), made.transactions()):
        frame.write_csv(tmp_path / "x.csv")
        assert (tmp_path / "x.csv").read_text().count("\n") == frame.height + 1
