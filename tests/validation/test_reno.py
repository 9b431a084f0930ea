"""What is judged of a point of the comparison with the kernel's Reno, from results made up."""

from collections.abc import Sequence
from typing import Any

import pytest

from measured_runs import result, summary
from waspbench.results import Result
from waspbench.results.result import Reason
from waspbench.validation import reno
from waspbench.validation.page import Table


def live(scale: float = 1.0, spread: float = 0.001, transactions: int = reno.TRANSACTIONS) -> Result:
    """Five live runs with a throughput of 100/s times a scale, and such a spread."""
    whole = result([100.0 * scale * part for part in parts(spread)])
    runs = [run.model_copy(update={"outcomes": {"ok": transactions // reno.RUNS}}) for run in whole.runs]
    return whole.model_copy(update={"runs": runs})


def parts(spread: float) -> Sequence[float]:
    return [1 + spread * step for step in (-1, 0.5, 0, -0.5, 1)]


def compared(monkeypatch: pytest.MonkeyPatch, kernel: Result, spread: float = 0.001) -> Table:
    monkeypatch.setattr(reno, "simulate", lambda document, run=0: summary(100.0 * parts(spread)[run], run))
    monkeypatch.setattr(reno, "run", lambda document, mode: kernel)
    return reno.compare()


def test_both_sides_have_reno_and_acknowledge_every_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(reno, "simulate", lambda document, run=0: summary(100.0, run))

    def run(document: dict[str, Any], mode: str) -> Result:
        assert mode == "live"
        asked.append(document)
        return live()

    monkeypatch.setattr(reno, "run", run)
    reno.compare()
    assert [(one["server"]["congestion"], one["server"]["tcp"]["congestion"]) for one in asked] == [
        ("reno", "reno")
    ] * 4
    assert {one["clients"][0]["tcp"]["delayed_ack"] for one in asked} == {"0ms"}
    assert {tuple(one["clients"][0]["loss"]) for one in asked} == {("down",)}


@pytest.mark.parametrize(("scale", "met"), [(1.0, True), (1.025, True), (0.975, True), (1.04, False), (0.96, False)])
def test_the_model_must_be_within_three_percent(scale: float, met: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    table = compared(monkeypatch, live(scale))
    assert table.judged == [met] * len(reno.POINTS)


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (live(spread=0.03), "interval too wide"),
        (live(transactions=reno.TRANSACTIONS - reno.RUNS), "too few transactions"),
        (
            live().model_copy(update={"valid": False, "invalid_reasons": [Reason(code="lag", message="x", run=0)]}),
            "lag",
        ),
    ],
)
def test_what_says_too_little_is_not_judged(kernel: Result, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = compared(monkeypatch, kernel)
    assert {row.unjudged for row in table.rows} == {reason}
