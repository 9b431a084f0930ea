"""The figures of named requests, in simulation: results, tables, conditions, comparisons, figures and reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from waspbench import InputError, Result, load, load_study, study
from waspbench.cli.app import invoke
from waspbench.experiment.metrics import metric
from waspbench.results.checks import estimate, lacking, needs_more, run_value
from waspbench.results.errors import notes, text
from waspbench.results.few import LEAST

ORDER: dict[str, Any] = {
    "name": "order",
    "method": "POST",
    "path": "/orders",
    "body": {"size": "5KiB"},
    "expect": {"status": [201, 202], "contains": "accepted"},
    "size": "2KiB",
}
SHOP: dict[str, Any] = {
    "name": "shop",
    "mode": "sim",
    "workload": {
        "kind": "requests",
        "requests": [{"name": "list", "path": "/items?page=1", "weight": 6, "size": "8KiB"}, ORDER],
    },
    "clients": [
        {"name": "homes", "count": 6, "rtt": "10ms", "think": "50ms"},
        {
            "name": "robots",
            "count": 3,
            "rtt": "40ms",
            "think": "50ms",
            "workload": {
                "kind": "requests",
                "requests": [{"name": "list", "path": "/all"}, {"name": "rare", "path": "/r", "weight": 0.1}],
            },
        },
        {"name": "files", "count": 2, "rtt": "10ms", "think": "50ms", "workload": {"size": "20KB"}},
    ],
    "measure": {"warmup": "1s", "duration": "8s", "runs": 3},
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shop") / "results"
    study(SHOP, output=path)
    return path


@pytest.fixture(scope="module")
def shop(directory: Path) -> Result:
    return load(directory)


def by_name(result: Result, group: str | None = None) -> dict[str, int]:
    parts = result.requests if group is None else next(each for each in result.groups if each.name == group).requests
    return {request.name: request.outcomes["ok"] for request in parts}


def test_requests_have_figures_of_their_own(shop: Result) -> None:
    homes, robots = by_name(shop, "homes"), by_name(shop, "robots")
    assert (list(homes), list(robots), by_name(shop, "files")) == (["list", "order"], ["list", "rare"], {})
    assert by_name(shop) == {
        "list": homes["list"] + robots["list"],
        "order": homes["order"],
        "rare": robots["rare"],
    }
    lists, order, rare = shop.requests
    assert order.statuses == {"201": homes["order"]}
    assert (lists.errors, order.errors) == (0.0, 0.0)
    assert order.throughput.mean == pytest.approx(homes["order"] / 3 / 8)
    assert order.goodput_bps.mean == pytest.approx(order.throughput.mean * 2048 * 8)
    assert order.throughput.ci90 is not None
    of_homes = shop.groups[0].requests[1].response_time_ms
    assert order.response_time_ms == of_homes
    assert 10 < (of_homes.p50 or 0) < 30
    assert rare.outcomes["ok"] < LEAST
    assert rare.response_time_ms.mean is None
    said = f"fewer than {LEAST} ok transactions, whose response times are left out"
    assert f"request rare of robots: {said}" in shop.notes
    together = shop.requests[0].response_time_ms
    apart = [group.requests[0].response_time_ms for group in shop.groups[:2]]
    near, both, far = (each.mean or 0 for each in (apart[0], together, apart[1]))
    assert 0 < near < both < far
    assert together.max == max(each.max or 0 for each in apart)


def test_tables_name_the_requests(shop: Result, directory: Path) -> None:
    rows = shop.transactions().filter(pl.col("measured") & (pl.col("outcome") == "ok"))
    counted = dict(rows.filter(pl.col("request_name").is_not_null()).group_by("request_name").len().iter_rows())
    assert counted == by_name(shop)
    assert rows.filter(group="files")["request_name"].is_null().all()
    histogram = pl.read_parquet(directory / "histogram").filter(population="ok")
    named = histogram.filter(pl.col("request_name").is_not_null())
    whole = named.filter(pl.col("group").is_null()).group_by("request_name").agg(pl.col("count").sum())
    assert dict(whole.iter_rows()) == by_name(shop)
    of_groups = named.filter(pl.col("group").is_not_null()).group_by("group", "request_name").agg(pl.col("count").sum())
    found = {(group, name): count for group, name, count in of_groups.iter_rows()}
    expected = {
        (index, name): count
        for index, group in enumerate(("homes", "robots"))
        for name, count in by_name(shop, group).items()
    }
    assert found == expected
    unnamed = histogram.filter(pl.col("request_name").is_null() & pl.col("group").is_null())
    assert unnamed["count"].sum() == shop.outcomes["ok"]


def test_figures_of_conditions_are_those_of_results(shop: Result) -> None:
    order = shop.requests[1]
    assert estimate(shop, metric("request:order.p90")) == (order.response_time_ms.p90, order.response_time_ms.p90_ci90)
    assert estimate(shop, metric("homes.request:order.throughput"))[0] == pytest.approx(order.throughput.mean)
    assert estimate(shop, metric("request:order.errors"))[0] == 0
    assert estimate(shop, metric("files.request:order.p90")) == (None, None)
    run = shop.runs[0]
    [of_run] = [request for request in run.requests or () if request.name == "order"]
    assert run_value(run, metric("request:order.mean")) == of_run.response_time_ms.mean
    assert run_value(run, metric("homes.request:order.p95")) == of_run.response_time_ms.at("p95")
    count = of_run.outcomes["ok"]
    assert lacking(run, metric("request:order.p99")) == (
        f"request:order.p99 needs 299 ok transactions, and there are {count}"
    )
    [rare] = [request.outcomes["ok"] for request in run.requests or () if request.name == "rare"]
    said = "needs 100 ok transactions, as any response time of one of several groups or requests, and there are"
    assert lacking(run, metric("request:rare.mean")) == f"request:rare.mean {said} {rare}"
    assert needs_more(run, metric("request:order.p99")) == pytest.approx(299 / count)


def test_commands_tell_requests(directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["show", str(directory)]) == 0
    shown = capsys.readouterr().out
    assert "workload        homes: named requests list, order\n" in shown
    assert "robots: named requests list, rare\n" in shown
    [head] = [line for line in shown.splitlines() if line.startswith("group        request ")]
    below = shown.partition(head)[2].splitlines()[1:6]
    assert [line.split("  ")[0] for line in below] == ["all clients", "homes", "homes", "robots", "robots"]
    assert [line[13:].split()[0] for line in below] == ["list", "list", "order", "list", "rare"]
    assert invoke(["show", str(directory), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [request["name"] for request in told["requests"]] == ["list", "order", "rare"]
    assert invoke(["report", str(directory), "-o", str(tmp_path / "page.md")]) == 0
    page = (tmp_path / "page.md").read_text()
    assert "## Named requests" in page
    assert "| homes | order |" in page
    capsys.readouterr()
    assert invoke(["compare", str(directory), str(directory), "--metric", "homes.request:order.mean"]) == 0
    assert "homes.request:order.mean" in capsys.readouterr().out
    assert invoke(["compare", str(directory), str(directory), "--metric", "request:ordr.mean"]) == 2
    assert "no request is called ordr; did you mean order? valid here: list, order, rare" in capsys.readouterr().err


def test_a_sweep_has_figures_of_requests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    swept = {
        **SHOP,
        "clients": SHOP["clients"][:1],
        "measure": {"warmup": "1s", "duration": "4s", "runs": 2},
        "sweep": {"workload.requests.order.weight": [6, 24]},
    }
    study(swept, output=tmp_path / "sweep")
    found = [point.result for point in load_study(tmp_path / "sweep").points]
    shares = [result.requests[1].throughput.mean / result.throughput.mean for result in found if result is not None]
    assert shares == pytest.approx([0.5, 0.8], abs=0.06)
    plot = ["plot", str(tmp_path / "sweep"), "-o", str(tmp_path / "x.svg"), "--figure"]
    assert invoke([*plot, "request:order.throughput"]) == 0
    assert "Request order: throughput against order.weight" in capsys.readouterr().out
    assert invoke([*plot, "request:ordr.mean", "--force"]) == 2
    assert "is of a request that is not there; did you mean order? valid here: list, order" in capsys.readouterr().err


def test_wrong_responses_are_told_with_the_codes_of_all() -> None:
    outcomes = {"ok": 90, "http_error": 2, "wrong": 8, "unfinished": 1}
    assert text(outcomes, {"200": 95, "302": 3, "503": 2}) == (
        "ok 90, http_error 2 (503), wrong 8, unfinished 1; status 200 95, 302 3, 503 2"
    )
    assert text({"ok": 1, "wrong": 1}, {"200": 2}) == "ok 1, wrong 1; status 200"
    # A request that expects an error has ok transactions with its code.
    assert (
        text({"ok": 9, "http_error": 1}, {"200": 5, "404": 4, "500": 1})
        == "ok 9, http_error 1; status 200 5, 404 4, 500 1"
    )
    assert text({"ok": 9, "timed_out": 1}, {"404": 9}, only_failed=True) == "timed_out 1"
    scenario = {"clients": [{}], "workload": {"kind": "requests"}}
    assert notes({"ok": 0, "wrong": 100}, {"200": 100}, scenario, "command", judged=True) == [
        "no response was as its request expects it: the figures of each request say which; is what expect says of "
        "status, contains and length right?"
    ]
    assert notes({"ok": 50, "http_error": 50}, {"200": 50, "404": 50}, scenario, "url", judged=True) == [
        "all errors are responses 404: what requests name was asked for; the figures of each request say which"
    ]
    assert notes({"ok": 60, "http_error": 40}, {"404": 60, "500": 40}, scenario, "url", judged=True) == [
        "all errors are responses with a status of 400 or above: the figures of each request say which"
    ]


def test_results_without_names_have_no_requests() -> None:
    plain = {**SHOP, "workload": {}, "clients": [{"count": 2}], "measure": {"warmup": "100ms", "duration": "1s"}}
    with pytest.raises(InputError, match=r"no request has a name here; leave request:list out"):
        study({**plain, "assert": {"request:list.p99": "< 1s"}})
