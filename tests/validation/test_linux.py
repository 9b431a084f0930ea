"""What is judged of a configuration of the comparison with the kernel, from runs made up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from measured_runs import summary
from waspbench.cli.app import invoke
from waspbench.cli.status import Status
from waspbench.experiment import parse
from waspbench.results import RunSummary
from waspbench.results.summary import ServerTcp
from waspbench.runner.batch import Simulated
from waspbench.stats import Histogram
from waspbench.validation import counts, kept, linux, sides
from waspbench.validation.cases import CASES, RUNS, WARMUP, Case
from waspbench.validation.kept import Measured
from waspbench.validation.machine import Constants
from waspbench.validation.page import Table
from waspbench.validation.sides import Side

TIMES = np.arange(100)
KERNEL = Constants(250, 576)
"""A hundred equally frequent response times; the 90th percentile is the ninetieth."""


def times(shift: int = 0) -> Histogram:
    return Histogram.of(TIMES + shift, TIMES + shift, np.ones(100))


def ran(run: int, mean: float = 100.0, responses: int = 2_000, busy: float | None = 0.5, **counted: int) -> RunSummary:
    """A run with this mean response time, give or take a little; counters are those of either side."""
    one = summary(100.0, run, busy=0.5)
    again, expired = counted.get("again", 200), counted.get("expired", 100)
    return one.model_copy(
        update={
            "outcomes": {"ok": responses, "timed_out": counted.get("failed", 0)},
            "response_time_ms": one.response_time_ms.model_copy(update={"mean": mean + run % 3 - 1}),
            "server_cpu": one.server_cpu.model_copy(update={"busy": busy}),
            "tcpext": {"RetransSegs": again + run % 2, "TCPTimeouts": expired + run % 2},
            "server_tcp": ServerTcp(
                connections=responses,
                segments_sent=10 * responses,
                fast_retransmits=0,
                first_timeouts=0,
                first_timeouts_ms=0,
                retransmitted=again + run % 2,
                timeouts=expired + run % 2,
            ),
        }
    )


def side(runs: int = RUNS, shift: int = 0, **figures: Any) -> Side:
    return Side([ran(number, **figures) for number in range(runs)], times(shift))


def measured(kernel: Side, refused: Sequence[str] = ()) -> Measured:
    return Measured(kernel, refused, frozenset({"nginx 1.2.3 on Linux 6.1"}), frozenset({"2026-01-02", "2026-01-01"}))


def compared(kernel: Side, model: Side, monkeypatch: pytest.MonkeyPatch, refused: Sequence[str] = ()) -> Table:
    monkeypatch.setattr(linux, "simulated", lambda cases, kernel, lengths: [(case, 20.0, model) for case in cases])
    monkeypatch.setattr(linux, "measured", lambda case, duration, results: measured(kernel, refused))
    return linux.compare(Path("nowhere"), CASES[:1])


@pytest.mark.parametrize(
    ("model", "missed"),
    [
        ({}, ""),
        ({"mean": 104.0}, ""),
        ({"mean": 94.0}, "mean"),
        ({"shift": 2}, ""),
        ({"shift": -4}, "90th percentile"),
        ({"shift": 4}, "90th percentile"),
        ({"again": 215}, "segments sent again"),
        ({"expired": 85}, "timeouts"),
        ({"mean": 106.0, "expired": 115}, "mean, timeouts"),
    ],
)
def test_a_configuration_is_judged_by_four_figures(
    model: dict[str, Any], missed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = compared(side(), side(sides.TWINS, **model), monkeypatch)
    assert [row.met for row in table.rows] == [not missed]
    assert table.rows[0].missed == missed
    assert f"| {f'**no**: {missed}' if missed else 'yes'} |" in table.markdown()


def test_many_equal_times_may_be_a_little_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(later: int) -> Side:
        at = np.array([100_000, 150_000, 200_000]) + later
        return replace(side(sides.TWINS), times=Histogram.of(at, at, np.array([70, 25, 5])))

    for later, met in ((500, True), (-500, True), (1_000, False), (-1_000, False)):
        row = compared(steps(later), steps(0), monkeypatch).rows[0]
        assert row.met is met, later
    assert row.cells[7] == "70.0 to 70.0"


def test_a_known_reason_stands_beside_what_is_missed() -> None:
    known = replace(CASES[0], short="send buffer")
    found = [linux.row(known, measured(side()), side(sides.TWINS, mean=mean))[0].missed for mean in (100.0, 94.0)]
    assert found == ["", "mean (send buffer)"]


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (side(RUNS - 1), f"only {RUNS - 1} of {RUNS} runs count (lag)"),
        (side(busy=None), "server CPU unknown"),
        (side(busy=linux.BUSIEST), "server CPU too busy"),
        (side(responses=sides.RESPONSES // RUNS - 1), "too few responses"),
        (side(failed=21), "more than 1 % errors"),
        (Side([ran(number, 100.0 + 10 * number) for number in range(RUNS)], times()), "interval too wide"),
        (
            Side([], Histogram.of([], [], [])),
            "only 0 of 6 runs count (lag), server CPU unknown, too few responses, inter",
        ),
    ],
)
def test_what_is_not_fair_is_not_judged_and_says_why(
    kernel: Side, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = compared(kernel, side(sides.TWINS), monkeypatch, ["lag", "lag"])
    assert table.rows[0].unjudged.startswith(reason)
    assert table.summary == "0 of 1 (1 not judged)"


@pytest.mark.parametrize(
    ("kernel", "model", "met"),
    [
        ([400] * 6, [400] * 24, True),
        ([390, 410, 395, 405, 400, 400], [420] * 24, True),
        ([390, 410, 395, 405, 400, 400], [437] * 24, False),
        ([0] * 6, [0] * 24, True),
        ([0] * 6, [1] + [0] * 23, True),
        ([0] * 6, [1] * 24, False),
        ([0, 1, 0, 0, 0, 0], [0, 1] * 12, True),
        ([3, 5, 4, 4, 2, 6], [3, 5] * 12, True),
        ([3, 5, 4, 4, 2, 6], [7, 8] * 12, False),
    ],
)
def test_many_must_be_close_and_few_must_not_differ(kernel: list[int], model: list[int], met: bool) -> None:
    assert counted(kernel, model).met is met


def test_a_count_that_is_not_precise_enough_is_not_said_to_differ() -> None:
    vague = counted([300, 500, 350, 450, 250, 550], [400] * 24)
    assert not vague.met
    assert vague.doubt == " (interval too wide)"
    assert counted([400, 401] * 3, [500] * 24).doubt == ""


def counted(kernel: list[int], model: list[int]) -> counts.Counts:
    return counts.Counts([(count, 400) for count in kernel], [(count, 400) for count in model])


@pytest.mark.parametrize(
    ("spread", "throughput", "seconds"),
    [(0, 100.0, sides.SHORTEST), (4, 100.0, 36), (80, 100.0, sides.LONGEST), (0, 50.0, 26), (0, 0.0, sides.LONGEST)],
)
def test_runs_are_as_long_as_their_rate_and_their_variance_ask_for(
    spread: int, throughput: float, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def simulate(documents: Sequence[dict[str, Any]], runs: int) -> Iterator[list[Simulated]]:
        for document in documents:
            asked.append(document["measure"]["duration"])
            means = [1_000.0 + spread * 10 * (number // 3 % 2) for number in range(runs)]
            made = [ran(number, mean) for number, mean in enumerate(means)]
            yield [Simulated(run.model_copy(update={"throughput": throughput}), times()) for run in made]

    monkeypatch.setattr(sides, "simulate", simulate)
    case = CASES[0]
    [(of, duration, model)] = sides.simulated([case], KERNEL, {case.name: None})
    assert (of, duration) == (case, seconds)
    assert asked == (["20s"] if seconds == sides.SHORTEST else ["20s", f"{seconds:.0f}s"])
    assert len(model.runs) == sides.TWINS
    [(_, kept, _)] = sides.simulated([case], KERNEL, {case.name: 33.0})
    assert (kept, asked[-1]) == (33.0, "33s")


def test_each_configuration_can_be_parsed_and_has_a_name_of_its_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES) == 24
    for case in CASES:
        experiment = parse(case.document(20.0, KERNEL.tcp))
        assert experiment.measure.warmup == WARMUP
        assert experiment.server.tcp.timer_granularity == "4000us"
        assert experiment.server.tcp.send_buffer_overhead == "576B"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--only", "new-20k"], "new-20k-1, new-20k-3, "),
        (["--only", "new-20k-1", "-o", "docs"], "leave --output out"),
    ],
)
def test_the_command_refuses_what_makes_no_page(
    asked: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["validate", "kernel", *asked]) == Status.BAD_INPUT
    assert said in capsys.readouterr().err


def test_the_command_says_that_nothing_was_judged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = compared(side(busy=None), side(sides.TWINS), monkeypatch, ["lag"])
    asked: list[str] = []
    monkeypatch.setattr(kept, "require", lambda: None)

    def compare(_results: Path, cases: Sequence[Case], _say: Any) -> Table:
        asked.extend(case.name for case in cases)
        return table

    monkeypatch.setattr(linux, "compare", compare)
    assert invoke(["validate", "kernel", "--only", "far-64k-1", "--only", "queue-64k-1"]) == Status.INVALID
    assert asked == ["far-64k-1", "queue-64k-1"]
    assert "| not judged: server CPU unknown |" in capsys.readouterr().out


def test_the_page_records_what_was_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    table = compared(side(), side(sides.TWINS), monkeypatch)
    assert "nginx 1.2.3 on Linux 6.1 with " in table.what
    assert ", 2026-01-01 to 2026-01-02." in table.what
    assert "| new-20k-1 | 96 | 50ms | 20KB | 1% | one a request | none |  | cubic |" in table.what
