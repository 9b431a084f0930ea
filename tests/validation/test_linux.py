"""What is judged of a point of the comparison with the kernel, from results made up."""

from typing import Any

import pytest

from measured_runs import result, summary
from waspbench.cli.app import invoke
from waspbench.cli.status import Status
from waspbench.results import Result, RunSummary
from waspbench.results.result import Reason
from waspbench.validation import linux, tcp
from waspbench.validation.page import Table


def altered(run: RunSummary, **fields: Any) -> RunSummary:
    return run.model_copy(update=fields)


def fair(throughput: float = 100.0, transactions: int = linux.TRANSACTIONS) -> Result:
    """Three valid live runs with enough transactions and a server half busy."""
    whole = result([throughput] * linux.RUNS)
    counts = [{"ok": transactions}, {"ok": 0}, {}]
    runs = [altered(run, outcomes=count) for run, count in zip(whole.runs, counts, strict=True)]
    return whole.model_copy(update={"runs": runs})


def with_busy(busy: float | None) -> Result:
    whole = fair()
    load = whole.runs[0].server_cpu.model_copy(update={"busy": busy})
    return whole.model_copy(update={"runs": [altered(whole.runs[0], server_cpu=load), *whole.runs[1:]]})


def without_times() -> Result:
    whole = fair()
    times = whole.runs[0].response_time_ms
    none = times.model_copy(update=dict.fromkeys(("mean", "p50", "p90", "p99", "max")))
    return whole.model_copy(update={"runs": [altered(run, response_time_ms=none) for run in whole.runs]})


def compared(monkeypatch: pytest.MonkeyPatch, live: Result) -> Table:
    monkeypatch.setattr(linux, "simulate", lambda document, run=0: summary(100.0, run))
    monkeypatch.setattr(linux, "run", lambda document, mode: live)
    return linux.compare()


@pytest.mark.parametrize(("throughput", "met"), [(100.0, True), (110.0, True), (120.0, False)])
def test_a_fair_point_is_judged(throughput: float, met: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    table = compared(monkeypatch, fair(throughput))
    assert table.judged == [met] * 12
    assert table.unjudged == 0


@pytest.mark.parametrize(
    ("live", "reason"),
    [
        (with_busy(None), "server CPU unknown"),
        (with_busy(linux.BUSIEST), "server CPU too busy"),
        (without_times(), "a run without response times"),
        (fair(transactions=linux.TRANSACTIONS - 1), "too few transactions"),
        (
            fair().model_copy(update={"valid": False, "invalid_reasons": [Reason(code="lag", message="x", run=0)]}),
            "lag",
        ),
        (fair().model_copy(update={"valid": False}), "not valid"),
    ],
)
def test_what_is_not_fair_is_not_judged_and_says_why(
    live: Result, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = compared(monkeypatch, live)
    assert {row.unjudged for row in table.rows} == {reason}
    assert table.summary == "0 of 12 (12 not judged)"
    assert f"| not judged: {reason} |" in table.markdown()


def test_the_command_says_that_nothing_was_judged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = compared(monkeypatch, with_busy(None))
    monkeypatch.setattr(tcp, "SIMULATED", ())
    monkeypatch.setattr(tcp, "LIVE", (lambda: table,))
    monkeypatch.setattr(linux, "require", lambda: None)
    assert invoke(["validate", "tcp", "--live"]) == Status.INVALID
    assert "| The simulated server against the kernel | 0 of 12 (12 not judged) |" in capsys.readouterr().out


def test_the_page_records_what_was_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    live = fair().model_copy(update={"server": {"name": "nginx", "version": "1.2.3"}})
    assert "nginx 1.2.3 on Linux " in compared(monkeypatch, live).what
