"""What the figures of `./run perf` are held to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import bars
import duel
import perf
import repeats
import wan
from bars import Bar
from waspbench import RunFailedError


def row(what: str, **changes: Any) -> dict[str, Any]:
    return {
        "what": what, "cost": 0.5, "steal": 0.0, "lag_p50_us": 40.0, "lag_p99_us": 200.0, "complaints": [],
    } | changes  # fmt: skip


def report(**changes: Any) -> dict[str, Any]:
    exact = row("RTT 100 ms, no loss", **changes)
    rows = [row("RTT 0, keep-alive"), row("RTT 100 ms, 3 % loss"), exact]
    return {"wan": {"rows": rows, "bulk_bps": 2e9, "bulk_complaints": []}}


@pytest.mark.parametrize(
    ("bar", "verdict"),
    [
        (Bar("x", 1.0, 1.0, least=True), "met"),
        (Bar("x", 0.99, 1.0, least=True), "missed"),
        (Bar("x", 0.99, 1.0), "met"),
        (Bar("x", 1.01, 1.0), "missed"),
        (Bar("x", None, 1.0), "not judged"),
        (Bar("x", float("nan"), 1.0), "not judged"),
        (Bar("x", 0.5, 1.0, doubt="steal"), "not judged"),
    ],
)
def test_a_bar_is_met_missed_or_not_judged(bar: Bar, verdict: str) -> None:
    assert bar.verdict == verdict
    assert str(bar).startswith(f"  {verdict}")


@pytest.mark.parametrize(
    ("changes", "verdicts"),
    [
        ({}, ["met", "met"]),
        ({"lag_p99_us": 301.0}, ["met", "missed"]),
        ({"lag_p99_us": None}, ["met", "not judged"]),
        ({"steal": 0.02}, ["not judged", "not judged"]),
        ({"steal": None}, ["not judged", "not judged"]),
        ({"complaints": ["the rate is off"]}, ["not judged", "not judged"]),
    ],
)
def test_accuracy_is_judged_where_it_was_measured(changes: dict[str, Any], verdicts: list[str]) -> None:
    found = [bar for bar in bars.bars(report(**changes)) if "leave late" in bar.what]
    assert [bar.verdict for bar in found] == verdicts


def test_a_server_that_is_not_busy_or_an_emulator_that_is_misses() -> None:
    side = {"server_busy": 0.94, "generator_busy": 0.91, "complaints": []}
    comparison = {
        "workload": "keep-alive",
        "goal": 1.0,
        "ratio": {"median": 1.1},
        "pairs": [{"counts": True, "wasp": side, "wrk": side}],
    }
    assert [bar.verdict for bar in bars.bars({"live": {"comparisons": [comparison]}})] == ["met", "missed", "missed"]


def test_a_part_that_fails_keeps_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def part(name: str, *_: Any) -> Any:
        if name == "scale":
            raise RunFailedError("gone")
        return [] if name == "sim" else report(lag_p99_us=400.0)["wan"]

    monkeypatch.setattr(perf, "part_report", part)
    monkeypatch.setattr(wan, "readable", lambda found: ["rows"])
    assert perf.main(["wan", "scale", "sim"]) == 4
    shown = capsys.readouterr().out
    assert "scale: failed: gone" in shown
    assert "missed" in shown
    assert perf.main(["wan"]) == 1
    monkeypatch.setattr(perf, "part_report", lambda *_: report()["wan"])
    assert perf.main(["wan"]) == 0


def test_a_rate_that_is_still_off_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = iter([500.0, 800.0, 500.0, 1000.0])
    figures: dict[str, Any] = dict.fromkeys(
        ("server_busy", "server_us", "emulator_busy", "emulator_us", "lag_p50_us", "lag_p99_us", "steal")
    )

    def run(self: Any, what: str, clients: int, **more: Any) -> wan.Row:
        return wan.Row(what, clients, next(rates), ok=1, not_ok=0, complaints=(), **figures)

    monkeypatch.setattr(wan.Wan, "once", run)
    far = wan.Wan(None, 1, 1)  # type: ignore[arg-type]
    assert far.at_rate("x", 1000.0)[0].complaints == ("800 requests/s are not the 1,000 that were wanted",)
    assert far.at_rate("x", 1000.0)[0].complaints == ()


def test_a_rate_beyond_reach_gives_way_to_one_within(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    figures: dict[str, Any] = dict.fromkeys(
        ("server_us", "emulator_busy", "emulator_us", "lag_p50_us", "lag_p99_us", "steal")
    )

    def run(self: Any, what: str, clients: int, **more: Any) -> wan.Row:
        asked.append(clients)
        rate = min(10 * clients, 60_000)
        return wan.Row(what, clients, rate, server_busy=rate / 60_000, ok=1, not_ok=0, complaints=(), **figures)

    monkeypatch.setattr(wan.Wan, "once", run)
    row, rate = wan.Wan(None, 1, 1).at_rate("x", 100_000.0)  # type: ignore[arg-type]
    assert (asked, row.beyond_reach, row.complaints, rate) == ([10_500, 4_410], 100_000.0, (), 42_000.0)


@pytest.mark.parametrize(
    ("runs", "best", "faster", "made"),
    [
        # Clients wait, then the emulator is the limit, and once more.
        ([(34, True), (51, True), (70, False), (71, False)], 51, [70, 71], [4_096, 6_144, 9_216, 9_216]),
        # What a neighbour disturbed is made again.
        ([(34, False), (34, True), (34, True)], 34, [], [4_096, 4_096, 6_144]),
        ([(34, False), (33, False)], 34, [], [4_096, 4_096]),
    ],
)
def test_the_highest_rate_is_that_of_a_valid_run(
    monkeypatch: pytest.MonkeyPatch, runs: list[tuple[int, bool]], best: int, faster: list[int], made: list[int]
) -> None:
    coming, asked = iter(runs), []
    figures: dict[str, Any] = dict.fromkeys(
        ("server_busy", "server_us", "emulator_busy", "emulator_us", "lag_p50_us", "lag_p99_us", "steal")
    )

    def run(self: Any, what: str, clients: int, **more: Any) -> wan.Row:
        asked.append(clients)
        rate, valid = next(coming)
        return wan.Row(what, clients, rate, ok=1, not_ok=0, complaints=() if valid else ("unread",), **figures)

    monkeypatch.setattr(wan.Wan, "once", run)
    row = wan.Wan(None, 1, 1).highest(lambda _: None)  # type: ignore[arg-type]
    assert (row.requests_per_s, [other.requests_per_s for other in row.faster], asked) == (best, faster, made)


def test_missing_figures_are_dashes_and_not_zero() -> None:
    found = wan.Row("x", 1, 10.0, None, None, None, None, None, None, None, 1, 0, ()).as_dict()
    assert (found["cost"], found["limit"]) == (None, "not known")
    assert wan.row_line(found).split() == ["x", "1", "10", *"-" * 9, "not", "known"]


def row_of_cost(cost: float | None, *complaints: str) -> wan.Row:
    emulator_us = None if cost is None else 10.0 * cost
    return wan.Row("x", 1, 10.0, 1.0, 10.0, 0.5, emulator_us, 1.0, 2.0, 0.0, 1, 0, complaints)


def test_the_cost_is_the_median_of_the_valid_runs_and_the_others_are_told() -> None:
    rows = [row_of_cost(cost) for cost in (0.5, 0.75, 0.25)] + [row_of_cost(0.125, "late"), row_of_cost(1.0)]
    found = wan.median_of(rows)
    assert (found.cost, found.complaints, [run.cost for run in found.runs]) == (0.75, (), [0.5, 0.75, 0.25, 0.125, 1.0])
    assert [line.strip() for line in wan.repeat_lines(found.as_dict())] == [
        "the run of median cost of 4 (0.25 to 1.00)",
        "not counted, cost 0.12: late",
    ]


@pytest.mark.parametrize(
    ("rows", "complaints"),
    [
        ([row_of_cost(0.5, "late"), row_of_cost(0.5, "late", "busy"), row_of_cost(0.25)], ("late", "busy")),
        ([row_of_cost(0.5), row_of_cost(None), row_of_cost(None), row_of_cost(None), row_of_cost(0.5)], ()),
    ],
)
def test_too_few_valid_runs_are_not_trusted(rows: list[wan.Row], complaints: tuple[str, ...]) -> None:
    few, *others = wan.median_of(rows).complaints
    assert few.startswith("only ")
    assert tuple(others) == complaints


def test_one_run_is_its_own_median() -> None:
    assert wan.median_of([row_of_cost(0.5)]).complaints == ()


def far_at(
    rates: Callable[[int], float], asked: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> list[wan.Row]:
    """The rows of a server that does so many requests/s for so many clients, at most 60,000."""

    def run(self: Any, what: str, clients: int, **more: Any) -> wan.Row:
        asked.append((what, clients))
        rate = rates(clients)
        return wan.Row(what, clients, rate, rate / 60_000, 10.0, 0.5, 5.0, 1.0, 2.0, 0.0, 1, 0, ())

    monkeypatch.setattr(wan.Wan, "once", run)
    return list(wan.Wan(None, 1, 1).far_rows(row_of_cost(0.5), 100_000.0, lambda text: None))  # type: ignore[arg-type]


def test_runs_are_held_to_the_rate_that_was_wanted_and_not_to_the_one_that_was_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, int]] = []
    _, lossy, exact, _ = far_at(lambda clients: min(10 * clients, 60_000), asked, monkeypatch)
    assert (lossy.beyond_reach, lossy.complaints, exact.complaints) == (100_000.0, (), ())
    assert {count for what, count in asked if what == lossy.what} == {10_500, 4_410}
    _, lossy, exact, _ = far_at(lambda clients: 60_000 if clients > 10_000 else 20_000, asked, monkeypatch)
    assert "20,000 requests/s are not the 42,000 that were wanted" in lossy.complaints
    _, lossy, exact, _ = far_at(lambda clients: 60_000 if clients > 10_000 else 0, asked, monkeypatch)
    assert "0 requests/s are not the 42,000 that were wanted" in lossy.complaints


def test_what_does_not_count_is_made_again() -> None:
    asked: list[int] = []

    def measure(number: int) -> bool:
        asked.append(number)
        return number not in (1, 2)

    assert sum(repeats.repeated(5, measure, bool)) == 5
    assert asked == list(range(7))
    assert len(repeats.repeated(5, lambda number: False, bool)) == 5 + repeats.RETRIES
    found = iter([0, 0, 7, 8])
    assert repeats.first_that_counts(lambda: next(found), bool) == 7


def test_a_ratio_is_that_of_the_pairs_that_count() -> None:
    def pair(ratio: float, *complaints: str) -> duel.Pair:
        wasp, other = (duel.Side(rate, 1.0, 1.0, 0.5, 1.0, 0.0, None, complaints) for rate in (ratio, 1.0))
        return duel.Pair(wasp, other, 0.0)

    pairs = (pair(1.5), pair(9.0, "stolen"), pair(1.25), pair(2.0))
    assert duel.Comparison(duel.KEEP_ALIVE, pairs).ratio == (1.5, 1.25, 2.0)
    shown = perf.comparison_report(duel.Comparison(duel.KEEP_ALIVE, pairs))
    assert [bar.verdict for bar in bars.bars({"live": {"comparisons": [shown]}})] == ["met", "met", "met"]
    shown = perf.comparison_report(duel.Comparison(duel.KEEP_ALIVE, pairs[:2]))
    assert [bar.doubt for bar in bars.bars({"live": {"comparisons": [shown]}})] == [
        "only 1 of 2 measurements count"
    ] * 3


def test_a_drift_of_the_rate_speaks_against_the_rate_and_not_against_the_cost() -> None:
    drifting = replace(row_of_cost(0.5), unsettled=("slower and slower",))
    found = wan.median_of([drifting] * 3)
    assert (found.cost, found.complaints) == (0.5, ())
    scale = {**found.as_dict(), "bytes_per_connection": 1024.0}
    assert [bar.verdict for bar in bars.bars({"scale": scale})] == ["missed", "met"]
