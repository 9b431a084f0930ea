"""What was asked for, in words and as it came out."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fake_core import FakeEngine
from waspbench import run
from waspbench.cli.app import invoke
from waspbench.results.differences import differences, facts
from waspbench.results.result import LogReading, Site
from waspbench.results.store import load_manifest
from waspbench.results.workload import (
    arrival_text,
    asked_by_group,
    asked_for,
    asked_text,
    site_text,
    workload_lines,
    workload_text,
    workloads_text,
)

EXPERIMENT: dict[str, Any] = {"name": "x", "mode": "sim", "clients": [{"count": 4}], "measure": {"runs": 2}}
FILES = {"files": [{"size": "1KiB"}, {"size": "2KiB"}]}


def write(directory: Path, run: int, files: list[int], outcome: str = "ok", groups: list[int] | None = None) -> None:
    folder = directory / "transactions"
    folder.mkdir(parents=True, exist_ok=True)
    rows = {
        "file": pl.Series(files, dtype=pl.UInt32),
        "group": pl.Series(groups or [0] * len(files), dtype=pl.UInt16),
        "measured": [True] * len(files),
        "outcome": [outcome] * len(files),
        "bytes": pl.Series([1000 * (file + 1) for file in files], dtype=pl.UInt64),
    }
    pl.DataFrame(rows).write_parquet(folder / f"run-{run}.parquet")


@pytest.mark.parametrize(
    ("workload", "text"),
    [
        ({"kind": "single", "path": "/1024", "size": "1KiB"}, "/1024, 1KiB"),
        ({"kind": "single", "files": [{}, {}], "deal": "modulo"}, "2 files by weight, dealt by modulo"),
        ({"kind": "surge", "preset": "surge98"}, "surge, preset surge98"),
        ({"kind": "prowgen", "preset": "ip-tne", "objects": 9, "seed": 3}, "prowgen, preset ip-tne with other objects"),
        ({"kind": "replay", "log": "a.log"}, "replay of a.log"),
    ],
)
def test_a_workload_in_words(workload: dict[str, Any], text: str) -> None:
    assert workload_text(workload) == text


@pytest.mark.parametrize(
    ("workload", "label"),
    [
        ("--workload surge", "pages"),
        ("--workload prowgen", "requests"),
        ("--file-size 1KiB", "requests"),
    ],
)
def test_the_table_says_what_an_open_loop_offers(
    workload: str, label: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = f"--mode sim {workload} --rate 50/s --arrivals constant --clients 10 --rtt 1ms --runs 1 --warmup 1s"
    assert invoke(["bench", *flags.split(), "--duration", "4s", "-o", "out"]) == 0
    printed = capsys.readouterr().out
    assert re.search(rf"^{label} +50\.0 /s offered, of which \d+\.\d /s began", printed, re.MULTILINE), printed
    rows = pl.read_parquet(here / "out" / "transactions").filter("measured")
    # A page is several requests.
    assert (len(rows) > 1.2 * 50 * 4) is (label == "pages")


def test_surge_without_embedded_files_has_no_pages() -> None:
    def told(**embedded: Any) -> str:
        return arrival_text({"workload": {"kind": "surge", "embedded": embedded}, "clients": [{"arrivals": {}}]})

    assert told(model="none") == "requests"
    assert told(model="constant", value=3) == "pages"


def test_what_arrives_is_said_of_the_open_loops() -> None:
    pages, file = {"kind": "surge"}, {"kind": "single"}
    opened = {"arrivals": {"rate": "9/s"}}
    beside: dict[str, Any] = {"workload": file, "background": True, **opened}
    assert arrival_text({"workload": pages, "clients": [opened, beside, {"workload": file}]}) == "pages"
    assert arrival_text({"workload": pages, "clients": [opened, {"workload": file, **opened}]}) == "arrivals"


OWN: dict[str, Any] = {
    "clients": [
        {"name": "homes", "count": 2},
        {"name": "far", "count": 1, "workload": FILES},
        {"name": "robots", "count": 1},
        {"name": "near", "count": 1, "workload": {"size": "1MB"}},
    ],
    "workload": FILES,
}


def test_each_workload_is_told_with_the_groups_that_ask_for_it(engine: FakeEngine) -> None:
    result = run(EXPERIMENT | OWN)
    assert workload_lines(result.scenario, result.site) == [
        "homes, robots: 2 files by weight: 2 files of 3,072 B together",
        "far: 2 files by weight: 2 files of 3,072 B together",
        "near: /1000000, 1MB",
    ]
    assert workloads_text(result.scenario) == "3 workloads"
    assert result.site is not None
    assert (result.site.files, result.site.bytes) == (3, 1_003_072), "the two lists are one on the server"
    assert {name: site.files for name, site in (result.site.groups or {}).items()} == {
        "homes": 2,
        "far": 2,
        "robots": 2,
        "near": 1,
    }


def test_a_result_says_that_its_figures_mix_workloads(engine: FakeEngine) -> None:
    told = "groups have different workloads, and figures of all clients mix them; each group has figures of its own"
    assert told in run(EXPERIMENT | OWN).notes
    alike = [{"name": name, "workload": FILES} for name in ("one", "two")]
    beside = [{"name": "one"}, {"name": "two", "background": True, "workload": FILES}]
    for clients in (alike, beside):
        assert told not in run(EXPERIMENT | {"clients": clients}).notes


SWEPT = """
name = "x"
mode = "sim"
workload = { kind = "prowgen", objects = 50 }
clients = [
    { name = "homes", count = 5, rtt = "10ms" },
    { name = "far", count = 2, rtt = "20ms", workload = { size = "1KB" } },
]
[measure]
warmup = "1s"
duration = "3s"
runs = 1
[sweep]
"clients.far.workload.size" = ["1KB", "30KB"]
"""


def test_results_keep_the_workloads_of_groups(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "x.toml").write_text(SWEPT)
    assert invoke(["run", "x.toml", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert (
        "workloads at clients.far.workload.size=1KB:\n  homes: prowgen, preset ip-tne with other objects\n" in printed
    )
    assert "\n  far: /1000, 1KB\n2 points, 1 runs each:\n" in printed
    assert invoke(["run", "x.toml", "-o", "out"]) in (0, 5)
    assert invoke(["resume", "out"]) in (0, 5)
    capsys.readouterr()
    assert invoke(["show", "out", "--json"]) in (0, 5)
    told = json.loads(capsys.readouterr().out)
    results = [point["result"] for point in told["points"]]
    assert [each["site"]["groups"]["far"] for each in results] == [
        {"files": 1, "bytes": size, "log": None} for size in (1_000, 30_000)
    ]
    assert all(each["asked_by_group"].keys() == {"homes"} and each["asked"] is None for each in results)
    goodput = [group["goodput_bps"]["mean"] for each in results for group in each["groups"]]
    near, far, near_beside_larger, larger = goodput
    assert larger > 10 * far
    assert near_beside_larger == pytest.approx(near, rel=0.05)
    manifest = load_manifest(here / "out" / "points" / "0001")
    assert manifest.experiment["clients"][1]["workload"]["size"] == "30KB"
    one, two = (str(here / "out" / "points" / name) for name in ("0000", "0001"))
    assert {"clients.far.workload.size"} == {each.field for each in differences(facts(Path(one)), facts(Path(two)), [])}


def test_popularity_is_told_by_group_where_a_group_has_its_own_workload(engine: FakeEngine, tmp_path: Path) -> None:
    result = run(EXPERIMENT | OWN).model_copy(update={"results": str(tmp_path)})
    write(tmp_path, 0, [0, 0, 1, 0, 0], groups=[0, 0, 0, 1, 3])
    assert asked_for(result) is None
    asked = asked_by_group(result)
    assert asked is not None
    assert {name: (each.requests, each.files) for name, each in asked.items()} == {"homes": (3, 2), "far": (1, 1)}


def test_a_site_in_words() -> None:
    log = LogReading(
        lines=101, requests=97, other_methods=3, other_statuses=0, bad=1, first_bad=["line 7: ..."], unknown_sizes=0
    )
    assert site_text(Site(files=1, bytes=1024)) == ""
    assert site_text(Site(files=2000, bytes=128_400_000)) == ": 2,000 files of 128.4 MB together"
    assert site_text(Site(files=3, bytes=500, log=log)) == (
        ": 3 files of 500 B together; 97 of 101 lines are replayed; 3 not GET, 1 make no sense (the first: line 7: ...)"
    )


def test_popularity_is_that_of_all_runs_together(engine: FakeEngine, tmp_path: Path) -> None:
    result = run(EXPERIMENT | {"workload": FILES}).model_copy(update={"results": str(tmp_path)})
    write(tmp_path, 0, [0, 0, 0, 1])
    write(tmp_path, 1, [0, 1], outcome="reset")
    asked = asked_for(result)
    assert asked is not None
    assert (asked.requests, asked.files, asked.slope) == (6, 2, None)
    assert asked.top_share == pytest.approx(4 / 6)
    assert asked.mean_bytes == pytest.approx((3 * 1000 + 2000) / 4)
    assert asked_text(asked) == "6 requests for 2 files, 66.7 % of them for one, mean body 1,250 B"


def test_zipfs_law_has_its_slope(engine: FakeEngine, tmp_path: Path) -> None:
    result = run(EXPERIMENT | {"workload": FILES}).model_copy(update={"results": str(tmp_path)})
    write(tmp_path, 0, [rank for rank in range(1, 101) for _ in range(round(10_000 / rank))])
    asked = asked_for(result)
    assert asked is not None
    assert asked.slope == pytest.approx(-1, abs=0.01)


def test_a_single_file_is_not_looked_at(engine: FakeEngine, tmp_path: Path) -> None:
    result = run(EXPERIMENT).model_copy(update={"results": str(tmp_path)})
    write(tmp_path, 0, [0])
    assert asked_for(result) is None


def test_show_tells_what_a_simulated_run_asked_for(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = "--mode sim --workload prowgen --clients 8 --rtt 10ms --runs 1 --warmup 1s --duration 2s -o out"
    assert invoke(["bench", *flags.split()]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "workload prowgen, preset ip-tne: 3,000 files of 29.9 MB together throughput" in printed
    assert invoke(["show", "out"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert " files, " in printed.partition("asked for")[2].partition("throughput")[0]
