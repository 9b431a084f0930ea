"""Tables: what the terminal, Markdown and JSON show of one declaration."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from waspbench import capacity, run, study, tabular
from waspbench.cli import science_text
from waspbench.experiment import Experiment
from waspbench.experiment.metrics import PERCENTILES
from waspbench.experiment.search import Search
from waspbench.results.capacity import CapacityResult
from waspbench.results.columns import no_line, shown
from waspbench.results.comparing import ComparisonResult, compare_results
from waspbench.results.result import Result
from waspbench.results.study import StudyResult, load_study
from waspbench.tabular import Column, Listing, aligned, decimals

Results = Result | StudyResult | CapacityResult | ComparisonResult

TABLE = Listing(
    {"name": Column("name", left=True), "rate": Column("ok/s", decimals())},
    [{"name": "a|b", "rate": 1234.5, "more": 1}, {"name": "long\nname", "rate": None}],
)

FIELDS: dict[str, Any] = {
    "name": "x",
    "mode": "sim",
    "clients": [{"name": "near", "count": 4, "rtt": "20ms"}, {"name": "far", "count": 2, "rtt": "60ms"}],
    "server": {"model": {"per_request": "1ms"}},
    "measure": {"runs": 2, "warmup": "1s", "duration": "8s"},
}


def test_words_stand_to_the_left_and_numbers_to_the_right() -> None:
    assert TABLE.terminal() == ["name     ok/s", "a|b   1,234.5", "long        \N{EN DASH}", "name"]


def test_a_cell_of_markdown_is_one_line_and_ends_where_it_should() -> None:
    assert TABLE.markdown() == [
        "| name | ok/s |",
        "| --- | ---: |",
        "| a\\|b | 1,234.5 |",
        "| long name | \N{EN DASH} |",
    ]


def test_square_brackets_and_names_of_colours_are_words() -> None:
    assert aligned(["[red]a"], [[":smile: [b]x[/b]"]], [True]) == ["[red]a", ":smile: [b]x[/b]"]


def test_wide_letters_take_two_places() -> None:
    assert aligned(["group", "n"], [["電話", "1"], ["near", "22"]], [True, False]) == [
        "group   n",
        "電話    1",
        "near   22",
    ]


HEADS = ["group", "ok/s", "90 % interval", "outcomes and status codes"]
LINE = ["all clients", "1,234,567.8", "1,234,567.0 to 1,234,568.0", "ok 4,000 (200), http_error 3 (404 2, 503 1)"]


@pytest.mark.parametrize(("room", "heads"), [(30, 3), (60, 2), (85, 1), (95, 1), (200, 1)])
def test_a_narrow_terminal_breaks_lines_between_words_and_columns(room: int, heads: int) -> None:
    whole = aligned(HEADS, [LINE], WORDS)
    assert len(whole) == 2
    lines = aligned(HEADS, [LINE], WORDS, room=room)
    assert max(map(cell_len, lines)) <= room
    assert (lines == whole) is (room == 200)
    assert all(any(figure in line for line in lines) for figure in LINE[:3])
    assert sorted(" ".join(lines).split()) == sorted(" ".join(whole).split())
    assert sum(any(head in line for head in HEADS) for line in lines) == heads
    assert all(line.startswith("    ") for line in lines[1:heads])


WORDS = [True, False, False, True]


def test_outcomes_are_broken_after_commas_and_names_not_at_all() -> None:
    assert aligned(["n", "w"], [["1", "ok 97,742 (200), timed_out 563, unfinished 597"]], [False, True], room=30) == [
        "n  w",
        "1  ok 97,742 (200),",
        "   timed_out 563,",
        "   unfinished 597",
    ]
    path = "/results/an-experiment-with-a-long-name"
    assert aligned(["id", "directory"], [["1", path]], [True, True], room=20) == [
        "id",
        "    directory",
        "1",
        f"    {path}",
    ]


def test_a_table_is_as_wide_as_the_terminal_that_it_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabular, "terminal_width", lambda: 60)
    assert aligned(HEADS, [LINE], WORDS) == aligned(HEADS, [LINE], WORDS, room=60)
    assert max(map(cell_len, aligned(HEADS, [LINE], WORDS, indent=4))) <= 60


def test_characters_that_steer_a_terminal_are_left_out() -> None:
    assert aligned(["a", "b"], [["x\ty\x1b[31m\r\u2028z", "1"]], [True, False])[1] == "x y [31m  z  1"


@given(
    st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=3, max_size=3), max_size=5),
    st.sampled_from([1, 10, 30, 80, None]),
)
def test_a_table_of_any_words_has_all_of_them(rows: list[list[str]], room: int | None) -> None:
    lines = aligned(["one", "two", "three"], rows, [True, False, True], room=room)
    told = re.sub("[\\x00-\\x1f\\x7f-\\x9f]", "", "onetwothree" + "".join(map("".join, rows)))
    assert Counter("".join("".join(lines).split())) == Counter("".join(told.split()))


def a_result(directory: str) -> Result:
    return run(FIELDS, output=directory)


def a_sweep(directory: str) -> StudyResult:
    return study(FIELDS | {"sweep": {"clients.near.rtt": ["20ms", "40ms"]}}, output=directory)


def a_search(directory: str) -> CapacityResult:
    return capacity(FIELDS, output=directory, search=Search(low=2, high=32, most=8, confirm=2))


def a_comparison(directory: str) -> ComparisonResult:
    a_sweep(directory)
    return compare_results(f"{directory}@clients.near.rtt=20ms", f"{directory}@clients.near.rtt=40ms")


@pytest.fixture(scope="module", params=[a_result, a_sweep, a_search, a_comparison])
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Results of every kind."""
    make: Callable[[str], Results] = request.param
    return make(str(tmp_path_factory.mktemp("table") / "out"))


def test_every_table_shows_the_same_figures_in_the_same_order(measured: Results) -> None:
    listing = measured.listing
    columns = list(shown(PERCENTILES))
    assert list(listing.columns)[-len(columns) :] == columns
    times = "mean ms, p50 ms, p90 ms, p95 ms, p99 ms, p99.9 ms"
    heads = f"ok/s, 90 % interval, {times}, errors %, CPU %, runs, valid, outcomes and status codes"
    assert ", ".join(listing.heads).endswith(heads)
    assert listing.terminal()[0].split() == " ".join(listing.heads).split()
    assert [head.strip() for head in listing.markdown()[0].strip("|").split("|")] == listing.heads


def test_json_has_a_row_for_each_line_and_what_it_shows(measured: Results) -> None:
    listing = measured.listing
    rows = json.loads(measured.to_json())["table"]
    lines = listing.cells
    assert len(rows) == len(lines) > 1
    names = list(listing.columns)
    for row, line in zip(rows, lines, strict=True):
        assert row.keys() >= no_line().figures.keys() | listing.columns.keys()
        for name in ("throughput", "mean_ms", "p50_ms", "p99_ms"):
            assert line[names.index(name)] == (f"{row[name]:,.1f}" if row[name] is not None else tabular.NONE)
        assert line[names.index("valid")] == ("yes" if row["valid"] else "NO")
        assert line[names.index("outcomes")].startswith(f"ok {row['outcomes']['ok']:,d} (200)")
    frame = pl.DataFrame([{name: row[name] for name in row if name not in ("outcomes", "statuses")} for row in rows])
    assert frame.height == len(rows)


def test_a_sweep_over_values_of_several_kinds_is_one_column(tmp_path: Path) -> None:
    loss = {"model": "two-state", "p": "1%", "r": "60%"}
    found = study(FIELDS | {"sweep": {"clients.near.loss": ["0%", loss]}}, output=tmp_path / "out")
    rows = json.loads(found.to_json())["table"]
    told = ["0%", "model=two-state p=1% r=60%"]
    assert [row["clients.near.loss"] for row in rows if row["group"] is None] == told
    assert [point.varied["clients.near.loss"] for point in found.points] == ["0%", loss]
    assert [cells[0] for cells in found.listing.cells[::3]] == told


def test_a_point_without_a_run_has_its_values_and_no_figures(tmp_path: Path) -> None:
    sweep = {"clients.near.rtt": ["20ms", "40ms"]}
    found = study(FIELDS | {"sweep": sweep}, output=tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "points" / "0001")
    again = load_study(tmp_path / "out")
    assert [point.varied for point in again.points] == [point.varied for point in found.points]
    *_, row = json.loads(again.to_json())["table"]
    assert (row["clients.near.rtt"], row["group"], row["throughput"], row["runs"]) == ("40ms", None, None, 0)
    assert again.listing.cells[-1] == ["40ms", "all clients", *[tabular.NONE] * 10, "0", "NO", tabular.NONE]


def test_the_names_of_figures_are_no_fields_of_experiments() -> None:
    # Swept fields stand beside them in the rows of a table, by their path.
    assert (
        not (no_line().figures.keys() | {"point", "group", "side", "load", "fresh", "counts"})
        & Experiment.model_fields.keys()
    )


def test_the_loads_of_a_search_have_percentiles_of_all_their_runs(tmp_path: Path) -> None:
    found = a_search(str(tmp_path / "out"))
    [point] = found.points
    *_, best = [load for load in point.loads if load.load == point.load]
    assert best.fresh
    assert (best.throughput, best.throughput_ci90) == (point.capacity, point.ci90)
    assert (best.runs, best.counts, best.valid) == (2, "yes", True)
    directory = tmp_path / "out" / f"load-{best.load}"
    fresh = [reading.run for reading in point.readings if reading.confirming]
    frame = pl.concat([pl.read_parquet(directory / "transactions" / f"run-{run}.parquet") for run in fresh])
    ended = frame.filter(pl.col("outcome") == "ok", "measured")
    times = (ended["end_ns"] - ended["start_ns"]).sort() / 1e6
    for name, part in (("p50", 0.5), ("p90", 0.9)):
        assert best.percentiles_ms[name] == pytest.approx(times[math.ceil(part * len(times)) - 1], rel=0.01)
    assert sum(load.runs for load in point.loads) == point.runs
    text = science_text.capacity(found)
    assert re.search(rf"^ +{best.load} +yes +yes +{best.throughput:,.1f} +[\d,.]+ to ", text, re.MULTILINE)


def test_an_answer_has_numbers_to_the_right_and_all_else_to_the_left() -> None:
    rows = [[1, True, "a", None], [20, False, "bc", Decimal("2.5")]]
    assert science_text.table(["n", "yes", "text", "d"], rows).splitlines() == [
        " n  yes    text    d",
        " 1  True   a       \N{EN DASH}",
        "20  False  bc    2.5",
    ]
    assert science_text.table(["n"], []) == "n\n"
