"""What a report says of every kind of result, and in which order."""

from __future__ import annotations

import csv
import io
import json
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from capacity_results import point as capacity_point
from capacity_results import reading, searched
from figure_results import points
from html_pages import Page
from measured_runs import result
from reported import EXPERIMENTS, SEARCH, SEARCHED, SWEEP, VALID, bench, search, sweep
from waspbench import InputError, capacity, load, load_capacity, load_study, run
from waspbench.cli.app import invoke
from waspbench.experiment import Clients
from waspbench.experiment.sweep import Point
from waspbench.experiment.sweep import points as sweep_of
from waspbench.report import Report, report_of, study_words, to_csv, to_html, to_markdown
from waspbench.report.content import Block, Code, Drawn, Items, Table, Words
from waspbench.report.searches import search_report
from waspbench.report.setting import clients_table
from waspbench.report.sources import Origin, SearchSource, StudySource
from waspbench.results.capacity import PointCapacity
from waspbench.results.store import MANIFEST
from waspbench.results.study import STUDY

ORDER = ["finding", "trust", "setting", "tables", "figures", "groups", "server", "again"]
STORED = Path(__file__).parents[1] / "results" / "stored"
OLD = sorted(path for path in STORED.glob("*/*") if path.is_dir())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Results of every sort, by name."""
    place = tmp_path_factory.mktemp("made")
    found = {name: bench(name, place / name) for name in EXPERIMENTS}
    return found | {"sweep": sweep(place / "sweep"), "search": search(place / "search")}


def section(report: Report, name: str) -> list[Block]:
    return next(each.blocks for each in report.sections if each.name == name)


def words(blocks: list[Block]) -> str:
    """All sentences of some blocks."""
    said = [block.text for block in blocks if isinstance(block, Words)]
    return "\n".join([*said, *(item for block in blocks if isinstance(block, Items) for item in block.items)])


def tables(blocks: list[Block]) -> dict[str, Table]:
    return {block.title: block for block in blocks if isinstance(block, Table)}


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def commands(report: Report) -> str:
    return next(block.text for block in section(report, "again") if isinstance(block, Code))


def one_line(text: str) -> str:
    return " ".join(text.split())


def sensible(report: Report) -> None:
    """Every format of a report can be made, and they say the same."""
    page, markdown = Page(to_html(report)), to_markdown(report)
    assert page.problems == []
    assert page.requests == []
    seen = {"", *map(one_line, page.words)}
    assert [each.name for each in report.sections] == [name for name in ORDER if name in _names(report)]
    for each in report.sections:
        assert (f"## {each.title}" in markdown) is bool(each.blocks)
        for block in each.blocks:
            if isinstance(block, Table):
                assert one_line(block.title) in page.text
                assert {one_line(cell.text) for row in block.rows for cell in row} <= seen
            elif isinstance(block, (Words, Code)):
                assert one_line(block.text) in page.text
            elif isinstance(block, Drawn):
                assert {one_line(text) for text in (block.figure.title, *block.figure.notes)} <= seen
            else:
                assert {one_line(item) for item in block.items} <= seen
    for alert in report.alerts:
        assert page.text.index(alert.title) < page.text.rindex(report.sections[0].title)
        assert f"> **{alert.title}**" in markdown
    loaded = json.loads(report.to_json())
    assert (loaded["kind"], loaded["valid"], len(loaded["points"])) == (report.kind, report.valid, len(report.points))
    assert Report.model_validate(loaded) == report
    assert len(to_csv(report).splitlines()) == len(report.points) + 1


def _names(report: Report) -> list[str]:
    return [each.name for each in report.sections]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_bench_has_a_sensible_report(made: dict[str, Path], name: str) -> None:
    report = report_of([str(made[name])])
    assert (report.kind, report.title, report.mode) == ("bench", name, "sim")
    assert report.valid is VALID[name], report.alerts
    assert bool(report.alerts) is (not report.valid or name == "some-errors")
    sensible(report)


@pytest.mark.parametrize("name", ["sweep", "search"])
def test_a_sweep_and_a_search_have_sensible_reports(made: dict[str, Path], name: str) -> None:
    report = report_of([str(made[name])])
    assert report.kind == {"sweep": "sweep", "search": "capacity"}[name]
    sensible(report)


@pytest.mark.parametrize("old", OLD, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_results_of_every_earlier_format_have_a_report(old: Path) -> None:
    sensible(report_of([str(old)]))
    if old.name != "capacity":
        sensible(report_of([str(old), str(STORED / "1-last" / old.name)]))


def test_the_answer_comes_first_and_agrees_with_the_table(made: dict[str, Path]) -> None:
    report = report_of([str(made["one-group"])])
    result = load(made["one-group"])
    assert result.throughput.ci90 is not None
    mean, low, high = (f"{value:,.1f}" for value in (result.throughput.mean, *result.throughput.ci90))
    said = words(section(report, "finding"))
    assert said.startswith("These figures are a prediction")
    assert f"Throughput is {mean} ok/s (90 %: {low} to {high})." in said
    assert "No transaction failed: all" in said
    [table] = tables(section(report, "tables")).values()
    cells = {row[0]: row[1:] for row in texts(table)}
    assert cells["throughput (ok/s)"] == [mean, f"{low} to {high}"]
    assert cells["valid"] == ["yes", ""]
    p99 = cells["response time p99 (ms)"]
    assert f"99 of 100 took at most {p99[0]} ms (90 %: {p99[1]})." in said


def test_one_run_has_no_interval_and_says_so(made: dict[str, Path]) -> None:
    report = report_of([str(made["one-run"])])
    assert "ok/s (one run)." in words(section(report, "finding"))
    [table] = tables(section(report, "tables")).values()
    assert table.title == "All clients, one run"
    cells = {row[0]: row[1:] for row in texts(table)}
    assert cells["throughput (ok/s)"][1] == cells["response time mean (ms)"][1] == "one run"


def test_every_mean_of_a_sweep_has_an_interval_or_says_why_not(made: dict[str, Path], tmp_path: Path) -> None:
    for directory in (made["sweep"], sweep(tmp_path / "once", measure=SWEEP["measure"] | {"runs": 1})):
        points = tables(section(report_of([str(directory)]), "tables"))["A line for each point"]
        heads = [head.text for head in points.heads]
        for row in points.rows:
            intervals = {head: cell.interval for head, cell in zip(heads, row, strict=True)}
            for head in ("ok/s", "mean ms", "CPU %", "p50 ms"):
                assert " to " in intervals[head] if directory == made["sweep"] else intervals[head] == "one run"


def test_what_is_not_valid_stands_above_everything(made: dict[str, Path]) -> None:
    report = report_of([str(made["too-few"])])
    first = report.alerts[0]
    assert (first.title, first.tone) == ("Do not trust these figures", "bad")
    assert first.items[0].startswith("run 1: ") or len(report_of([str(made["too-few"])]).alerts[0].items) == 1
    page = to_html(report)
    assert page.index('<div class="box bad alert">') < page.index('<section id="finding"')
    assert '<td class="number bad">NO</td>' in page
    markdown = to_markdown(report)
    assert markdown.index("> **Do not trust these figures**") < markdown.index("## What was found")
    assert "**NO**" in markdown


def test_many_reasons_are_told_by_code_with_their_points(made: dict[str, Path], tmp_path: Path) -> None:
    directory = Path(shutil.copytree(made["sweep"], tmp_path / "late"))
    for index, file in enumerate(sorted(directory.rglob(MANIFEST))):
        manifest = json.loads(file.read_text())
        late = {"code": "lag", "message": f"packets were {index} ms late"}
        for each in manifest["runs"]:
            each["invalid"] = [late | dict.fromkeys(("group", "enough_warmup_s", "enough_s"))]
        if index == 3:
            stolen = late | {"code": "steal", "message": "3 % steal"}
            manifest["runs"][0]["invalid"].append(stolen | manifest["runs"][0]["invalid"][0] | stolen)
        file.write_text(json.dumps(manifest))
    report = report_of([str(directory)])
    places = [f"loss {loss}, RTT {rtt}" for loss in ("0%", "3%") for rtt in ("20ms", "60ms")]
    assert report.alerts[0].items == [
        f"12 times at 4 points ({'; '.join(places[:3])}; and 1 more), "
        f"first at {places[0]}, run 1: packets were 0 ms late [lag]",
        f"{places[3]}, run 1: 3 % steal [steal]",
    ]


def test_errors_stand_above_everything_with_their_groups(made: dict[str, Path]) -> None:
    report = report_of([str(made["some-errors"])])
    [alert] = report.alerts
    assert alert.title == "More than 1 % of the transactions were not ok"
    assert [item.partition(":")[0] for item in alert.items] == ["all clients", "lossy"]
    assert "timed_out" in alert.items[1]
    figures = next(iter(tables(section(report, "tables")).values()))
    labels = [row[0] for row in texts(figures)]
    assert "response time p99 of all that ended (ms)" in labels
    assert figures.rows[labels.index("errors (%)")][1].alarm


def test_all_errors_leave_no_time_to_tell(made: dict[str, Path]) -> None:
    said = words(section(report_of([str(made["all-errors"])]), "finding"))
    assert "Response times cannot be told: 0 transactions were ok." in said
    assert "100.00 %" in said


def test_groups_have_a_table_where_there_are_several(made: dict[str, Path]) -> None:
    report = report_of([str(made["ten-groups"])])
    [table] = section(report, "groups")
    assert isinstance(table, Table)
    assert [row[0] for row in texts(table)] == ["all clients", *(f"group-{index}" for index in range(10))]
    assert all(" to " in row[1].interval for row in table.rows)
    assert "group-9 has the longest median response time" in words(section(report, "finding"))
    assert "groups" not in [each.name for each in report_of([str(made["one-run"])]).sections]


def test_a_sweep_says_what_loss_and_distance_cost(made: dict[str, Path]) -> None:
    report = report_of([str(made["sweep"])])
    said = words(section(report, "finding"))
    assert "All 4 points have results, and all of these are valid." in said
    assert "Throughput is highest at loss 0%, RTT 20ms: 1," in said
    assert "Loss: loss 3%, RTT 20ms, against loss 0%, RTT 20ms: " in said
    assert "Distance: loss 0%, RTT 60ms, against loss 0%, RTT 20ms: " in said
    costs = next(table for title, table in tables(section(report, "tables")).items() if "baseline" in title)
    assert [head.text for head in costs.heads][:5] == ["rate", "rtt", "ok/s", "change", "p50 ms"]
    assert texts(costs)[0][3] == "baseline"
    assert costs.rows[1][3].interval.endswith(" %")
    assert len(costs.rows) == 4


def test_costs_are_not_told_of_points_that_must_not_be_trusted(tmp_path: Path) -> None:
    clients = SWEEP["clients"][0] | {"count": 16, "http": {"timeout": "1s"}}
    directory = sweep(tmp_path / "out", clients=[clients], sweep={"clients.loss.rate": ["0%", "40%"]})
    said = to_markdown(report_of([str(directory)]))
    assert "> **Do not trust 1 of 2 points**" in said
    assert "and 1 of these is valid. What follows of throughput and response times is of that one." in said
    assert "Throughput at loss 0% is " in said
    assert "The largest share of failures is at loss 40%, which is not valid: " in said
    assert "What loss and distance cost cannot be told: " in said
    assert "In part: 1 of 2 points is valid." in said
    [line] = [line for line in said.partition("Each point against")[2].splitlines() if line.startswith("| 40%")]
    assert line.rstrip("| ").endswith("**NO**")


def test_checks_are_judged_again(made: dict[str, Path]) -> None:
    report = report_of([str(made["sweep"])])
    checks = tables(section(report, "trust"))["Checks"]
    assert [row[0] for row in texts(checks)] == ["p50 < 50ms"] * 4
    assert [row[2] for row in texts(checks)] == ["passed", "FAILED", "passed", "FAILED"]
    assert [alert.title for alert in report.alerts] == ["Checks that did not pass"]


def test_a_search_says_what_was_found_and_what_limits_it(made: dict[str, Path]) -> None:
    report = report_of([str(made["search"])])
    said = words(section(report, "finding"))
    assert "bottleneck: server; saturated: server CPU" in said
    assert " /s at " in said
    found, loads = tables(section(report, "tables")).values()
    search = load_capacity(made["search"])
    assert search.points[0].capacity is not None
    assert texts(found)[0][0] == f"{search.points[0].capacity:,.1f} /s"
    assert f"{texts(found)[0][0]} at " in said
    assert f"(90 %: {found.rows[0][0].interval})" in said
    assert len(loads.rows) == len(search.points[0].loads)


def test_points_of_results_have_a_report_of_their_own(made: dict[str, Path]) -> None:
    whole = report_of([f"{made['sweep']}@clients.loss.rate=3%"])
    assert [row["clients.rtt"] for row in whole.points] == ["20ms", "60ms"]
    sensible(whole)
    one = report_of([f"{made['sweep']}@clients.loss.rate=3%,clients.rtt=60ms"])
    assert (one.kind, one.title) == ("bench", "sweep, loss 3%, RTT 60ms")
    sensible(one)
    alone = report_of([str(made["sweep"] / "points" / "0003")])
    assert alone.points[0]["throughput"] == one.points[0]["throughput"]


def test_a_comparison_has_a_sensible_report(made: dict[str, Path]) -> None:
    report = report_of([str(made["one-run"]), str(made["one-group"])])
    assert (report.kind, report.valid, report.complete) == ("comparison", True, True)
    assert report.title == "one-group against one-run"
    sensible(report)
    said = words(section(report, "finding"))
    assert "1 and 3 runs" in said
    shown = tables(section(report, "tables"))
    assert list(shown) == ["throughput, called at 5 %", "A: all clients, one run", "B: all clients, 3 runs"]
    assert len(shown["throughput, called at 5 %"].rows) == len(report.points) == 1
    differences = tables(section(report, "setting"))["In what A and B differ besides what both sweep"]
    assert "clients.far.loss" in {row[0].rpartition(".")[0] for row in texts(differences)}
    assert commands(report) == (
        "wasp run a.toml --mode sim -o again-a\nwasp run b.toml --mode sim -o again-b\nwasp compare again-a again-b\n"
    )


def test_a_comparison_names_its_metric_and_the_unit(made: dict[str, Path]) -> None:
    names = [str(made["one-run"]), str(made["one-group"])]
    for metric, asked, unit in (("throughput", None, "/s"), ("p99", "p99", "ms"), ("far.all.p50", "far.all.p50", "ms")):
        report = report_of(names, metric=asked)
        assert (report.metric, report.unit) == (metric, unit)
        assert {(row["metric"], row["unit"]) for row in report.points} == {(metric, unit)}
        assert commands(report).endswith(f"again-b --metric {metric}\n" if asked else "again-b\n")
        assert (f"--metric {metric}" in to_html(report)) is bool(asked)
    with pytest.raises(InputError, match='metric: "p99": is for a comparison'):
        report_of([names[0]], metric="p99")
    searched = report_of([str(made["search"])] * 2)
    assert searched.metric == "capacity"
    sensible(searched)


def test_several_results_are_each_held_against_the_first(made: dict[str, Path]) -> None:
    names = [str(made[name]) for name in ("one-group", "one-run", "too-few", "some-errors")]
    report = report_of(names)
    assert (report.kind, report.valid) == ("comparison", False)
    assert report.title == "one-run, too-few and some-errors against one-group"
    sensible(report)
    titles = [block.title for block in section(report, "finding") if isinstance(block, Items)]
    for side, name in zip("BCD", names[1:], strict=True):
        assert f"throughput of {side}, {name}, against A, {names[0]}" in titles
    verdicts = tables(section(report, "tables"))["throughput, called at 5 %"]
    assert [row[0] for row in texts(verdicts)] == ["B", "C", "D"]
    assert [(row["side"], row["results"]) for row in report.points] == list(zip("BCD", names[1:], strict=True))
    trusted, few, failing = report.alerts
    assert {item.split(":")[0] for item in trusted.items} == {"C"}
    assert {item.split(":")[0] for item in few.items} == {"B and A", "C and A", "D and A"}
    assert {item.split(":")[0].split(",")[0] for item in failing.items} == {"D"}
    assert commands(report).endswith("\nwasp report again-a again-b again-c again-d\n")
    with pytest.raises(InputError, match="13 results are too many; at most 11 are held against one"):
        report_of([str(made["one-run"])] * 13)


def test_many_points_of_a_comparison_are_counted_and_the_largest_changes_told(
    made: dict[str, Path], tmp_path: Path
) -> None:
    other = sweep(tmp_path / "other", seed=8)
    report = report_of([str(made["sweep"]), str(other)])
    sensible(report)
    assert "no difference shown at 4 of 4 points" in words(section(report, "finding"))
    [verdicts, *_] = tables(section(report, "tables")).values()
    assert verdicts.title == "throughput, called at 5 %, Holm over all points"
    near = sweep(tmp_path / "near", sweep=SWEEP["sweep"] | {"clients.rtt": ["20ms"]})
    again = report_of([str(made["sweep"]), str(near)])
    alone = next(alert for alert in again.alerts if alert.title == "Points that are not compared")
    assert alone.items == [f"in A, and not in B: clients.loss.rate={loss} clients.rtt=60ms" for loss in ("0%", "3%")]


def test_a_search_and_a_sweep_are_not_compared(made: dict[str, Path]) -> None:
    with pytest.raises(InputError, match="one of the two is a search for capacity, and the other is not"):
        report_of([str(made["search"]), str(made["sweep"])])


def test_the_experiment_is_there_to_be_made_again(made: dict[str, Path], here: Path) -> None:
    for name, command in (
        ("sweep", "wasp run sweep.toml --mode sim -o again\n"),
        (
            "search",
            "wasp capacity search.toml --find throughput --low 4 --high 128 --max-runs 8 --confirm 2 --mode sim "
            "-o again\n",
        ),
    ):
        report = report_of([str(made[name])])
        assert commands(report) == command
        _, file, *more = (block for block in section(report, "again") if isinstance(block, Code))
        assert tomllib.loads(file.text)["clients"][0]["name"] == "far"
        assert [block.folded for block in (file, *more)] == ([False, True] if name == "sweep" else [False])
        (here / f"{name}.toml").write_text(file.text)
        assert invoke(command.split()[1:]) in (0, 1)
        assert report_of(["again"]).points == report.points
        shutil.rmtree(here / "again")


def test_the_same_results_give_the_same_report(made: dict[str, Path]) -> None:
    for name in ("sweep", "search", "one-group"):
        first, again = (to_html(report_of([str(made[name])])) for _ in range(2))
        assert first == again


def test_an_unfinished_sweep_says_what_is_missing(made: dict[str, Path], tmp_path: Path) -> None:
    directory = Path(shutil.copytree(made["sweep"], tmp_path / "part"))
    (directory / "points" / "0002" / MANIFEST).unlink()
    report = report_of([str(directory)])
    assert (report.complete, report.valid) == (False, False)
    alert = next(each for each in report.alerts if each.title == "Not complete: runs are missing")
    assert alert.items == [
        "loss 3%, RTT 20ms: no run",
        f"wasp resume {directory} makes the rest",
    ]
    assert "3 of 4 points have results" in words(section(report, "finding"))
    row = report.points[2]
    assert (row["clients.rtt"], row["runs"], row["valid"]) == ("20ms", 0, False)
    sensible(report)


def test_what_has_no_results_is_an_error(made: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such directory"):
        report_of([str(tmp_path / "none")])
    begun = Path(shutil.copytree(made["sweep"], tmp_path / "begun"))
    for manifest in begun.rglob(MANIFEST):
        manifest.unlink()
    with pytest.raises(InputError, match=r"no run is finished; wasp resume .*begun makes the rest"):
        report_of([str(begun)])
    searched = Path(shutil.copytree(made["search"], tmp_path / "searched"))
    (searched / "capacity.json").unlink()
    with pytest.raises(InputError, match=r"this search has found nothing yet; wasp resume .*searched goes on with it"):
        report_of([str(searched)])


def test_the_csv_is_the_data_frame_unrounded(made: dict[str, Path]) -> None:
    for name in ("sweep", "ten-groups"):
        frame = load_study(made[name]).to_frame(by_group=name == "ten-groups")
        report = report_of([str(made[name])])
        assert report.points == frame.to_dicts()
        head, *lines = csv.reader(io.StringIO(to_csv(report)))
        assert head == frame.columns
        assert [float(line[head.index("p50_ms")]) for line in lines] == frame["p50_ms"].to_list()
        assert {line[head.index("valid")] for line in lines} == {"true"}


def test_transactions_are_never_read(made: dict[str, Path], tmp_path: Path) -> None:
    directory = Path(shutil.copytree(made["sweep"], tmp_path / "sweep"))
    for table in ("transactions", "connections"):
        for folder in directory.rglob(table):
            shutil.rmtree(folder)
    with_all, without = (report_of([str(each)]) for each in (made["sweep"], directory))
    assert without.points == with_all.points
    assert section(without, "tables") == section(with_all, "tables")


def test_a_live_server_is_shown_with_its_configuration_and_kernel_settings(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(STORED / "1-last" / "bench", tmp_path / "live"))
    file = directory / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["mode"] = "live"
    manifest["server"] = {
        "kind": "nginx",
        "version": "1.22.1",
        "argv": ["/usr/sbin/nginx", "-c", "a file"],
        "files": {"nginx.conf": "worker_processes 1;\n"},
        "cpus": [0],
    }
    manifest["testbed"] = {
        "device": {"name": "wasp0", "mtu": 1500},
        "sysctl": {"net.ipv4.tcp_sack": "0"},
        "labels": ["server and emulator share CPU 0"],
    }
    manifest["machine"]["settings"] = {"net.core.rmem_max": "4194304", "net.core.wmem_max": None}
    file.write_text(json.dumps(manifest))
    report = report_of([str(directory)])
    shown = {title: texts(table) for title, table in tables(section(report, "server")).items()}
    assert ["command", "/usr/sbin/nginx -c 'a file'"] in shown["Server"]
    assert ["device name", "wasp0"] in shown["Testbed"]
    assert shown["Kernel settings of the server's network namespace"] == [["net.ipv4.tcp_sack", "0"]]
    assert shown["Settings of the machine's kernel"] == [["net.core.rmem_max", "4194304"]]
    files = [(block.title, block.text) for block in section(report, "server") if isinstance(block, Code)]
    assert files == [("nginx.conf", "worker_processes 1;\n")]
    assert "server and emulator share CPU 0" in words(section(report, "trust"))
    assert "nginx 1.22.1, 5 clients at 50ms" in report.summary
    assert words(section(report, "finding")).startswith("These figures are a measurement")
    assert "times vary" in words(section(report, "again"))


def test_points_of_one_sweep_are_made_again_once(made: dict[str, Path], here: Path) -> None:
    report = report_of([f"{made['sweep']}@clients.rtt={rtt}" for rtt in ("20ms", "60ms")])
    assert commands(report) == (
        "wasp run a.toml --mode sim -o again-a\nwasp compare again-a@clients.rtt=20ms again-a@clients.rtt=60ms\n"
    )
    [differ] = tables(section(report, "setting")).values()
    assert texts(differ) == [["clients.rtt", "20ms", "60ms"]]
    alone = report_of([f"{made['sweep']}@clients.rtt=20ms"])
    assert commands(alone).endswith("\nwasp report again@clients.rtt=20ms\n")
    varies = next(block for block in section(alone, "setting") if isinstance(block, Items) and "varies" in block.title)
    assert (varies.title, varies.items) == (
        "What varies over 2 points",
        ["clients.loss.rate: 0%, 3%", "2 of 4 points were chosen"],
    )


def test_a_baseline_that_is_missing_is_not_replaced_by_another_point(made: dict[str, Path], tmp_path: Path) -> None:
    directory = Path(shutil.copytree(made["sweep"], tmp_path / "part"))
    (directory / "points" / "0000" / MANIFEST).unlink()
    report = report_of([str(directory)])
    assert "What loss and distance cost cannot be told: " in words(section(report, "finding"))
    costs = next(table for title, table in tables(section(report, "tables")).items() if "baseline" in title)
    assert [[row[3].text, row[-1].text] for row in costs.rows] == [["\N{EN DASH}", "NO"]] * 3


@pytest.mark.parametrize(
    ("percentiles", "said"),
    [([10, 50], None), ([50, 90, 95], "95 of 100"), ([50, 99.9], "99.9 of 100"), ([1], None)],
)
def test_the_tail_is_a_percentile_above_the_median(percentiles: list[float], said: str | None, tmp_path: Path) -> None:
    measure = EXPERIMENTS["one-group"]["measure"] | {"percentiles": percentiles}
    document = {"name": "x", "mode": "sim", **EXPERIMENTS["one-group"], "measure": measure}
    run(document, output=tmp_path / "out")
    found = words(section(report_of([str(tmp_path / "out")]), "finding"))
    assert "The median response time" in found
    assert (f"{said} took at most" in found) if said else ("took at most" not in found)


def test_a_background_group_is_marked_and_not_held_against_the_others(tmp_path: Path) -> None:
    near, far = ({"name": name, "count": 20, "rtt": rtt} for name, rtt in (("near", "20ms"), ("far", "200ms")))
    document = {"name": "x", "mode": "sim", "measure": EXPERIMENTS["one-run"]["measure"]}
    run(document | {"clients": [near, far | {"background": True}]}, output=tmp_path / "out")
    report = report_of([str(tmp_path / "out")])
    assert "longest median" not in words(section(report, "finding"))
    groups = tables(section(report, "setting"))["Groups of clients"]
    assert [row[0] for row in texts(groups)] == ["near", "far (background)"]


def test_an_open_loop_tells_times_with_the_wait_and_without(made: dict[str, Path]) -> None:
    report = report_of([str(made["open-loop"])])
    assert "Response times count from the arrival" in words(section(report, "finding"))
    [figures] = tables(section(report, "tables")).values()
    cells = {row[0]: row[1:] for row in texts(figures)}
    result = load(made["open-loop"])
    assert result.open_loop is not None
    assert cells["requests that arrived (/s)"][0] == f"{result.open_loop.arrivals.mean:,.1f}"
    assert cells["response time from the actual start p50 (ms)"][0] == f"{result.open_loop.from_start_ms.p50:,.1f}"


def test_few_failures_are_counted_and_never_nothing() -> None:
    found = result([1.0, 1.0]).model_copy(update={"outcomes": {"ok": 539_753, "reset": 17}, "errors": 17 / 539_770})
    assert study_words.failures(found).startswith("17 (less than 0.01 %) of the 539,770 transactions that ended")


def test_what_is_equal_at_every_point_has_no_best() -> None:
    study = points(*(({"clients.count": load}, result([320.0, 320.0])) for load in (1, 2)))
    said = study_words.sweep(StudySource(study, origin()))
    assert "Throughput is the same at every point: 320.0 ok/s (90 %: 320.0 to 320.0)." in said
    assert not any("highest" in text or "lowest" in text for text in said)


def origin() -> Origin:
    """How results in memory were made, of which nothing is known."""
    return Origin("x", "x", "sim", 1, "", None, {}, {}, {}, {}, [], [])


def searched_report(*points: PointCapacity) -> Report:
    """The report on a search that found this at the points of a sweep of loss."""
    document = {"name": "x", "clients": [{}], "sweep": {"clients.loss.rate": ["0%", "3%"]}}
    swept = [
        Point(point.index, point.varied, found.experiment)
        for point, found in zip(points, sweep_of(document), strict=True)
    ]
    return search_report(SearchSource(searched(points), replace(origin(), points=swept)))


def bounded(index: int, loss: str, capacity: float, **more: Any) -> PointCapacity:
    return capacity_point(index=index, varied={"clients.loss.rate": loss}, capacity=capacity, load=capacity, **more)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("found", "found", "-50.0 %"),
        ("not reached", "found", "at most -50.0 %"),
        ("found", "not reached", "at least -50.0 %"),
        ("not reached", "not reached", "\N{EN DASH}"),
    ],
)
def test_lower_bounds_are_not_subtracted(first: str, second: str, said: str) -> None:
    report = searched_report(bounded(0, "0%", 500, outcome=first), bounded(1, "3%", 250, outcome=second))
    costs = next(table for title, table in tables(section(report, "tables")).items() if "baseline" in title)
    assert costs.rows[1][2].text == said
    told = words(section(report, "finding"))
    assert f"({said})" in told or (said == "\N{EN DASH}" and "cannot be told: both are lower bounds" in told)
    boxes = [alert.title for alert in report.alerts]
    count = [first, second].count("not reached")
    assert boxes == ([f"Only a lower bound was found at {count} of 2 points"] if count else [])


def test_costs_of_a_search_are_not_told_of_what_must_not_be_trusted() -> None:
    readings = [reading(250, valid=False)]
    report = searched_report(bounded(0, "0%", 500), bounded(1, "3%", 250, valid=False, readings=readings))
    assert "cannot be told" in words(section(report, "finding"))
    assert [(alert.title, alert.items) for alert in report.alerts] == [
        ("Do not trust these figures", ["clients.loss.rate=3%: run 1 is not valid: lag"])
    ]


def test_a_search_that_found_nothing_says_so_and_not_that_figures_are_wrong() -> None:
    none = {"capacity": None, "ci90": None, "load": None, "outcome": "none", "valid": False, "why": "8 clients miss it"}
    report = search_report(SearchSource(searched([capacity_point(**none)]), origin()))
    assert [(alert.title, alert.items) for alert in report.alerts] == [("No load was found", ["8 clients miss it"])]
    assert "There is no figure to trust: no load was found." in words(section(report, "trust"))


def test_sides_are_called_by_their_letters_and_nothing_else_is(made: dict[str, Path], tmp_path: Path) -> None:
    group = SWEEP["clients"][0] | {"name": "B"}
    measure = SWEEP["measure"] | {"runs": 1}
    for name, counts in (("b1", [10, 20]), ("b2", [10, 20]), ("b3", [20, 40])):
        sweep(tmp_path / name, clients=[group], measure=measure, sweep={"clients.B.count": counts})
    report = report_of([str(tmp_path / name) for name in ("b1", "b2", "b3")])
    alone = next(alert for alert in report.alerts if alert.title == "Points that are not compared")
    assert alone.items == ["in A, and not in C: clients.B.count=10", "in C, and not in A: clients.B.count=40"]


def test_sides_that_were_measured_and_simulated_are_told_apart(made: dict[str, Path], tmp_path: Path) -> None:
    live = Path(shutil.copytree(made["one-group"], tmp_path / "live"))
    for file in (live / MANIFEST, live / STUDY):
        file.write_text(json.dumps(json.loads(file.read_text()) | {"mode": "live"}))
    report = report_of([str(live), str(made["one-run"]), str(made["one-group"])])
    assert report.mode == "live and sim"
    assert words(section(report, "finding")).startswith("A was measured; B and C were simulated.")


def test_searches_that_looked_for_different_things_say_in_what(made: dict[str, Path], tmp_path: Path) -> None:
    other = tmp_path / "other"
    capacity(SEARCHED, output=other, search=replace(SEARCH, high=64, objectives=["p99 < 1s"]))
    report = report_of([str(made["search"]), str(other)])
    assert report.alerts[0].title == "Not comparable"
    assert "not comparable: objectives differ: none and all.p99 < 1s" in words(section(report, "finding"))
    [differ] = tables(section(report, "setting")).values()
    assert ["search.high", "128", "64"] in texts(differ)


def test_validity_that_old_results_do_not_tell_is_not_known() -> None:
    old = str(STORED / "1-second" / "capacity")
    assert "Not known: these results are of an older version" in words(section(report_of([old]), "trust"))
    [alert] = report_of([old, str(STORED / "2-last" / "capacity")]).alerts
    assert alert.items == ["A: these results are of an older version, which does not say whether its runs are valid"]


def test_the_table_of_clients_tells_recorded_rates_in_the_place_of_constant_ones() -> None:
    group = Clients.model_validate({"bandwidth": {"up": "1Mbit/s"}, "trace": {"down": "lte.down"}}).resolve()
    table = clients_table("Clients", [group])
    assert [row for row in texts(table) if "trace lte.down" in row and "1Mbit/s" in row]
