"""What the CPUs of a modelled server did, by kind of work: from the run to tables and reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from waspbench import study
from waspbench.cli.app import invoke
from waspbench.report import report_of
from waspbench.results.server_work import KINDS, listing, server_work
from waspbench.results.study import StudyResult

MACHINE: dict[str, Any] = {
    "name": "machine",
    "mode": "sim",
    "server": {
        "model": {
            "concurrency": "event",
            "per_data": "30us",
            "per_ack": "20us",
            "per_segment": "40us",
            "per_connection": "100us",
            "per_request": "300us",
        }
    },
    "workload": {"size": "8KiB"},
    "clients": [{"count": 8, "rtt": "20ms"}],
    "measure": {"runs": 2, "warmup": "1s", "duration": "4s"},
    "sweep": {"clients.loss": ["0%", "5%"]},
}


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    return study(MACHINE, output=tmp_path_factory.mktemp("machine") / "out", jobs=1)


def test_every_kind_has_a_name_and_the_costs_are_the_fields_of_the_model(swept: StudyResult) -> None:
    result = swept.points[0].result
    assert result is not None
    work = result.runs[0].server_work
    assert work is not None
    assert {each.kind for each in work} == set(KINDS)
    model = result.scenario["server"]["model"]
    costs = {field.removeprefix("per_") for field in model if field.startswith("per_")}
    assert set(KINDS) - {"byte"} == costs - {"kib", "packet"}


def test_the_work_of_runs_adds_up_to_their_busy_time(swept: StudyResult) -> None:
    for point in swept.points:
        assert point.result is not None
        for run in point.result.runs:
            busy = run.server_cpu.busy
            assert busy is not None
            spent = sum(work.cpu_s for work in server_work([run]).values())
            # Jobs that began in the interval and jobs that were done in it differ by one at each end.
            assert spent == pytest.approx(busy * run.interval_s, abs=0.002)
        assert server_work(point.result.runs)["request"].number == sum(
            work.number for run in point.result.runs for work in run.server_work or () if work.kind == "request"
        )


def test_loss_costs_cpu_time(swept: StudyResult) -> None:
    table = listing(swept)
    assert table is not None
    none, some = table.rows
    assert some["all"] > 1.02 * none["all"]
    assert some["segment"] > none["segment"]
    assert none["duplicate_ack"] == 0.0 < some["duplicate_ack"]
    assert table.heads[:3] == ["loss", "server CPU us per ok", "of it data"]
    assert "frames" not in table.heads, "frames cost nothing here"


def test_commands_and_reports_have_the_table(
    swept: StudyResult, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    invoke(["show", str(swept.results)])
    assert "server CPU us per ok" in capsys.readouterr().out
    invoke(["show", str(Path(str(swept.results)) / "points" / "0001")])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("segments sent", "all  "))]
    assert [line.split()[0] for line in lines] == ["segments", "segments", "all"]
    assert lines[-1].endswith("100.0")
    invoke(["show", str(swept.results), "--json"])
    runs = json.loads(capsys.readouterr().out)["points"][1]["result"]["runs"]
    assert {work["kind"]: work["number"] for work in runs[0]["server_work"]}["retransmission"] > 0
    [table] = [
        block
        for section in report_of(swept).sections
        for block in section.blocks
        if block.kind == "table" and block.title == "Work of the server"
    ]
    assert [row[0].text for row in table.rows] == ["0%", "5%"]


def test_a_server_without_a_machine_tells_of_no_work(tmp_path: Path) -> None:
    flat = study({**MACHINE, "server": {}, "sweep": {}}, output=tmp_path / "flat", jobs=1)
    [point] = flat.points
    assert point.result is not None
    assert point.result.runs[0].server_work is None
    assert server_work(point.result.runs) == {}
    assert listing(flat) is None
