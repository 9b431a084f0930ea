"""The figures of whole sessions, in simulation: results, tables, conditions, sweeps, searches, figures and reports."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from waspbench import CapacityResult, InputError, Result, Search, StudyResult, capacity, load, load_study, study
from waspbench.cli.app import invoke
from waspbench.experiment.conditions import condition
from waspbench.experiment.metrics import metric
from waspbench.results.checks import LONGER, estimate, judge, lacking, needs_more, run_value
from waspbench.results.few import LEAST
from waspbench.results.lines import line_of
from waspbench.results.parts import WHOLE_SESSIONS, RequestKey

STEPS: list[dict[str, Any]] = [
    {"name": "sign-in", "path": "/sign-in", "once": True},
    {"name": "list", "path": "/items", "size": "20KiB", "think": "120ms"},
    {"name": "order", "method": "POST", "path": "/orders", "body": {"size": "2KiB"}, "expect": {"contains": "made"}},
]
SHOP: dict[str, Any] = {
    "name": "shop",
    "mode": "sim",
    "workload": {"kind": "requests", "order": "session", "requests": STEPS},
    "clients": [{"count": 8, "rtt": "20ms"}],
    "measure": {"warmup": "1s", "duration": "8s", "runs": 3},
}
GROUPS: dict[str, Any] = {
    **SHOP,
    "clients": [
        {"name": "homes", "count": 8, "rtt": "20ms"},
        {"name": "phones", "count": 4, "rtt": "90ms"},
        {
            "name": "robots",
            "count": 2,
            "rtt": "10ms",
            "workload": {"kind": "requests", "requests": [{"name": "list", "path": "/all"}]},
        },
        {"name": "aside", "count": 2, "rtt": "10ms", "background": True},
    ],
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shop") / "results"
    study(SHOP, output=path)
    return path


@pytest.fixture(scope="module")
def shop(directory: Path) -> Result:
    return load(directory)


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Result:
    path = tmp_path_factory.mktemp("groups") / "results"
    study(GROUPS, output=path)
    return load(path)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, StudyResult]:
    path = tmp_path_factory.mktemp("sweep") / "results"
    measure = {"warmup": "1s", "duration": "4s", "runs": 2}
    study({**SHOP, "measure": measure, "sweep": {"clients.rtt": ["20ms", "80ms"]}}, output=path)
    return path, load_study(path)


def test_whole_sessions_have_figures_of_their_own(shop: Result) -> None:
    sessions = shop.sessions
    assert sessions is not None
    _, listed, ordered = shop.requests
    # Each session that ended has ended with an order.
    assert sessions.outcomes["ok"] == ordered.outcomes["ok"]
    assert sessions.throughput == ordered.throughput
    assert (sessions.errors, sessions.failed_at) == (0.0, {})
    assert sessions.outcomes["unfinished"] == 3 * 8
    steps = sum(step.response_time_ms.mean or 0 for step in (listed, ordered))
    assert sessions.response_time_ms.mean == pytest.approx(steps, rel=0.02)
    # The pause is in how long a session lasts, and not in its response time.
    assert sessions.duration_s is not None
    pause = 1e3 * sessions.duration_s.mean - (sessions.response_time_ms.mean or 0)
    assert pause == pytest.approx(120, rel=0.03)
    assert sessions.response_time_ms.p99 is not None
    assert shop.groups[0].sessions == sessions
    counts = shop.histogram().filter(population="ok sessions").group_by("group").agg(pl.col("count").sum())
    assert dict(counts.iter_rows()) == {None: sessions.outcomes["ok"], "clients": sessions.outcomes["ok"]}


def test_conditions_are_of_whole_sessions(shop: Result) -> None:
    sessions = shop.sessions
    assert sessions is not None
    times = sessions.response_time_ms
    assert estimate(shop, metric("sessions.p90")) == (times.p90, times.p90_ci90)
    assert estimate(shop, metric("clients.sessions.all.p90"))[0] == times.p90
    assert estimate(shop, metric("sessions.throughput"))[0] == pytest.approx(sessions.throughput.mean)
    assert estimate(shop, metric("sessions.errors"))[0] == 0
    assert estimate(shop, metric("sessions.goodput"))[0] == pytest.approx(sessions.goodput_bps.mean)
    run = shop.runs[0]
    assert run.sessions is not None
    assert run_value(run, metric("sessions.p95")) == run.sessions.response_time_ms.at("p95")
    ok = run.sessions.outcomes["ok"]
    assert lacking(run, metric("sessions.p99.9")) == (f"sessions.p99.9 needs 2,995 ok sessions, and there are {ok}")
    assert line_of(shop, metric("sessions.p90")).outcomes == sessions.outcomes


def test_groups_have_sessions_of_their_own(groups: Result) -> None:
    homes, phones, robots, aside = groups.groups
    assert (robots.sessions, groups.requests[1].name) == (None, "list")
    assert groups.sessions is not None
    assert homes.sessions is not None
    assert phones.sessions is not None
    assert aside.sessions is not None
    together = [homes.sessions, phones.sessions]
    assert groups.sessions.outcomes["ok"] == sum(each.outcomes["ok"] for each in together)
    longer = [each.response_time_ms.mean or 0 for each in (homes.sessions, groups.sessions, phones.sessions)]
    assert longer == sorted(longer)
    rows = [(row["group"], row["request"], row["background"]) for row in groups.listing_by_request.rows]
    steps = ["sign-in", "list", "order", WHOLE_SESSIONS]
    assert rows == [
        *((None, name, False) for name in steps),
        *(("homes", name, False) for name in steps),
        *(("phones", name, False) for name in steps),
        ("robots", "list", False),
        *(("aside", name, True) for name in steps),
    ]
    frame = groups.to_frame(by_group=True, by_request=True).filter(run=0, request=WHOLE_SESSIONS)
    assert frame["group"].to_list() == [None, "homes", "phones", "aside"]
    assert frame["ok"].to_list()[1] == (groups.runs[0].by_group or [])[0].sessions.outcomes["ok"]  # type: ignore[union-attr]
    with pytest.raises(InputError, match=r"the clients of robots make no sessions here; leave out `sessions\.`"):
        study({**GROUPS, "assert": {"robots.sessions.p99": "< 1s"}})


def test_commands_tell_whole_sessions(directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["show", str(directory)]) == 0
    shown = capsys.readouterr().out
    [row] = [line for line in shown.splitlines() if line.startswith(WHOLE_SESSIONS)]
    assert re.search(r"whole sessions: 1\d\d ms long on average, pauses included\n", shown)
    assert f"{load(directory).sessions.throughput.mean:,.1f}" in row  # type: ignore[union-attr]
    assert invoke(["show", str(directory), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["sessions"]
    assert (told["errors"], told["failed_at"]) == (0.0, {})
    assert invoke(["report", str(directory), "-o", str(tmp_path / "page.md")]) == 0
    page = (tmp_path / "page.md").read_text()
    assert f"| {WHOLE_SESSIONS} |" in page
    assert " ms long on average, pauses included" in page
    capsys.readouterr()
    assert invoke(["compare", str(directory), str(directory), "--metric", "sessions.mean"]) == 0
    assert "sessions.mean" in capsys.readouterr().out


def test_sessions_that_fail_are_told_by_their_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The list is longer than clients read.
    clients = [{"count": 8, "rtt": "20ms", "http": {"abort": {"bytes": "2KiB"}}}]
    study({**SHOP, "clients": clients}, output=tmp_path / "r")
    found = load(tmp_path / "r")
    assert found.sessions is not None
    assert found.sessions.outcomes["ok"] == 0
    assert found.sessions.errors == 1.0
    assert found.sessions.duration_s is None
    assert found.sessions.failed_at == {"list": found.sessions.outcomes["aborted"]}
    capsys.readouterr()
    assert invoke(["show", str(tmp_path / "r")]) == 5
    ended = f"{found.sessions.outcomes['aborted']:,}"
    assert f"whole sessions: {ended} of {ended} failed: {ended} at list" in " ".join(capsys.readouterr().out.split())


def test_a_sweep_has_a_table_by_request(
    sweep: tuple[Path, StudyResult], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, found = sweep
    rows = found.listing_by_request.rows
    assert [(row["point"], row["request"]) for row in rows] == [
        (index, name) for index in (0, 1) for name in ("sign-in", "list", "order", WHOLE_SESSIONS)
    ]
    assert invoke(["show", str(path)]) == 0
    shown = capsys.readouterr().out
    assert re.search(rf"20ms +{WHOLE_SESSIONS} .*\n *80ms +sign-in ", shown)
    frame = found.to_frame(by_request=True)
    assert frame["request"].to_list() == [None, "sign-in", "list", "order", WHOLE_SESSIONS] * 2
    whole = frame.filter(request=WHOLE_SESSIONS)
    assert whole["throughput_low"].is_not_null().all()
    assert whole["server_cpu"].is_null().all()
    assert "request" not in found.to_frame().columns
    assert invoke(["report", str(path), "-o", str(tmp_path / "page.md")]) == 0
    page = (tmp_path / "page.md").read_text()
    assert f"| 80ms | {WHOLE_SESSIONS} |" in page
    assert "rtt=80ms: whole sessions: 2" in page
    capsys.readouterr()
    plot = ["plot", str(path), "-o", str(tmp_path / "x.svg"), "--figure"]
    assert invoke([*plot, "sessions.p90"]) == 0
    assert "hole sessions: " in capsys.readouterr().out


def test_a_search_tells_requests_at_its_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measure = {"warmup": "1s", "duration": "4s", "runs": 2}
    slow = {"model": {"cores": 1, "per_request": "10ms"}}
    found = capacity(
        {**SHOP, "server": slow, "measure": measure},
        search=Search(find="clients", high=64, objectives=("sessions.mean < 200ms",)),
        output=tmp_path / "search",
    )
    assert isinstance(found, CapacityResult)
    [point] = found.points
    assert point.outcome == "found"
    assert point.sessions is not None
    assert [request.name for request in point.requests] == ["sign-in", "list", "order"]
    mean = point.sessions.response_time_ms.mean
    assert mean is not None
    assert 60 < mean < 200
    [judged] = [load for load in point.loads if load.load == point.load and (load.fresh or not point.confirmed)]
    assert judged.judged["sessions.mean"] == pytest.approx(mean, rel=1e-6)
    capsys.readouterr()
    assert invoke(["show", str(tmp_path / "search")]) == 0
    shown = capsys.readouterr().out
    assert f"each request at {point.load} clients:" in shown
    assert f"    {WHOLE_SESSIONS}  " in shown


def test_what_is_lacking_is_a_note(tmp_path: Path) -> None:
    few = {**SHOP, "clients": [{"count": 1, "rtt": "20ms"}], "measure": {"warmup": "1s", "duration": "3s"}}
    study(few, output=tmp_path / "few")
    found = load(tmp_path / "few")
    assert found.sessions is not None
    assert 10 < found.sessions.outcomes["ok"] < LEAST
    # One group: a mean of few sessions is told, and percentiles are not.
    assert found.sessions.response_time_ms.mean is not None
    assert any(note.startswith("whole sessions: ") and note.endswith("ok sessions") for note in found.notes)
    long = [{**STEPS[1], "think": "60s"}, STEPS[2]]
    study({**few, "workload": {**SHOP["workload"], "requests": long}}, output=tmp_path / "long")
    noted = "whole sessions: none ended in the measured interval, and so they have no figures; measure for longer"
    assert noted in load(tmp_path / "long").notes


def test_parts_have_names() -> None:
    assert [RequestKey(None, "a").said, RequestKey("homes", "a").said, RequestKey("homes", None).said] == [
        "a",
        "a of homes",
        "whole sessions of homes",
    ]
    assert str(RequestKey("homes", None).metric(metric("all.p99"))) == "homes.sessions.all.p99"


def test_objectives_count_a_failed_session_as_longer_than_any(tmp_path: Path) -> None:
    # Of the requests of a client, the second one is given up where loss makes it long.
    lossy = {"count": 8, "rtt": "20ms", "loss": "5%", "http": {"abort": {"after": "100ms"}}}
    study({**SHOP, "clients": [lossy]}, output=tmp_path / "lossy")
    found = load(tmp_path / "lossy")
    sessions = found.sessions
    assert sessions is not None
    assert sessions.errors is not None
    assert 0.02 < sessions.errors < 0.6
    assert sessions.response_time_ms.p50 is not None
    assert sessions.response_time_ms.p50 < 200
    [share] = [note for note in found.notes if " failed, as a session does" in note]
    assert share.startswith(f"whole sessions: {100 * sessions.errors:.2f} % of ")
    highest = 100 * (1 - sessions.errors)
    above, below = (sessions.all_response_time_ms.at(name) for name in ("p99", "p50"))
    assert highest < 99
    assert above is not None
    assert above > 3.59e6
    assert below is None or (below < 1e3) == (highest > 50)
    assert sessions.all_response_time_ms.mean is None
    check = estimate(found, metric("sessions.errors"))
    assert check[1] is not None
    assert check[1][0] < sessions.errors < check[1][1]


def test_a_run_without_sessions_is_too_short_for_their_figures(tmp_path: Path) -> None:
    long = [{**STEPS[1], "think": "60s"}, STEPS[2]]
    brief = {**SHOP, "measure": {"warmup": "1s", "duration": "2s", "runs": 1}}
    study({**brief, "workload": {**SHOP["workload"], "requests": long}}, output=tmp_path / "long")
    [run] = load(tmp_path / "long").runs
    for name in ("sessions.p90", "sessions.mean", "sessions.errors", "sessions.throughput"):
        assert lacking(run, metric(name)) == f"{name} needs sessions that end in the measured interval, and none did"
        assert needs_more(run, metric(name)) == LONGER
    assert needs_more(run, metric("request:order.p90")) is None
    found = load_study(tmp_path / "long")
    assert estimate(load(tmp_path / "long"), metric("sessions.throughput")) == (None, None)
    for frame in (found.to_frame(by_request=True), found.to_frame("runs", by_request=True)):
        assert frame.filter(request=WHOLE_SESSIONS)["throughput"].to_list() == [None]
    [check] = judge(found, [condition("sessions.throughput > 1", "--assert")])
    assert (check.passed, check.why) == (None, lacking(run, metric("sessions.throughput")))


def test_a_search_lengthens_runs_in_which_no_session_ends(tmp_path: Path) -> None:
    # The second step is in the interval, and the third is not.
    steps = [{**STEPS[1], "think": "1500ms"}, {"name": "look", "path": "/b", "think": "1500ms"}, STEPS[2]]
    found = capacity(
        {
            **SHOP,
            "workload": {**SHOP["workload"], "requests": steps},
            "server": {"model": {"cores": 1, "per_request": "10ms"}},
            "measure": {"warmup": "1s", "duration": "1s", "runs": 1},
        },
        search=Search(find="clients", low=4, high=16, objectives=("sessions.p50 < 300ms",)),
        output=tmp_path / "search",
    )
    [point] = found.points
    assert point.load == 16
    intervals = [reading.interval_s for reading in point.readings if not reading.confirming]
    assert all(interval is not None and interval > 2 for interval in intervals[1:])


def test_a_search_pools_the_response_times_of_a_request(tmp_path: Path) -> None:
    slow = {"model": {"cores": 1, "per_request": "10ms"}}
    found = capacity(
        {**SHOP, "server": slow, "measure": {"warmup": "1s", "duration": "4s", "runs": 2}},
        search=Search(find="clients", high=32, objectives=("request:list.p50 < 150ms", "sessions.p50 < 300ms")),
        output=tmp_path / "search",
    )
    [point] = found.points
    [fresh] = [each for each in point.loads if each.fresh and each.load == point.load]
    [listed] = [request for request in point.requests if request.name == "list"]
    assert point.sessions is not None
    assert fresh.runs > 1
    assert fresh.judged["request:list.all.p50"] == pytest.approx(listed.response_time_ms.p50, rel=1e-6)
    assert fresh.judged["sessions.all.p50"] == pytest.approx(point.sessions.response_time_ms.p50, rel=1e-6)
    assert fresh.percentiles_ms["p50"] != pytest.approx(listed.response_time_ms.p50, rel=1e-2)
