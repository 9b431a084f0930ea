"""Measured: how often intervals cover, how often tests err, and how often the capacity search is right.

Each figure follows from a fixed seed over 10,000 synthetic experiments (standard error of 90 %: 0.3 percentage points).
``docs/statistics.md`` states the same figures; a test here holds the two together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import measured
import measured_objective
from waspbench.stats.levels import ALPHA

STANDARD_ERROR = math.sqrt(0.05 * 0.95 / measured.EXPERIMENTS)


@pytest.mark.parametrize("runs", [3, 5, 10])
def test_student_t_covers_what_it_says(runs: int) -> None:
    assert measured.student_t(runs) == pytest.approx(0.90, abs=0.01)


@pytest.mark.parametrize(("runs", "covered"), [(3, 0.67), (5, 0.78), (10, 0.85), (20, 0.87)])
def test_the_bootstrap_of_few_runs_covers_less_than_it_says(runs: int, covered: float) -> None:
    assert measured.bootstrap_of_mean(runs, "BCa") == pytest.approx(covered, abs=0.015)


def test_the_percentile_bootstrap_of_three_runs_is_worse_still() -> None:
    assert measured.bootstrap_of_mean(3, "percentile") < measured.bootstrap_of_mean(3, "BCa")


@pytest.mark.parametrize(
    ("times", "runs", "transactions", "fraction"),
    [
        (measured.log_normal, 3, 1000, 0.99),
        (measured.log_normal, 5, 1000, 0.5),
        (measured.with_timeouts, 3, 1000, 0.99),
        (measured.in_bursts, 5, 1000, 0.99),
    ],
)
def test_the_interval_of_a_percentile_over_runs_covers_what_it_says(
    times: Callable[[int, np.random.Generator], measured.Times], runs: int, transactions: int, fraction: float
) -> None:
    assert 0.90 - 3 * 0.003 <= measured.percentile(times, runs, transactions, fraction) <= 0.99


def test_the_interval_of_a_percentile_does_not_widen_with_what_varies_elsewhere() -> None:
    """Where a bucket holds much of all, the share below it has nothing to do with p99."""
    found = list(measured.percentile_intervals(measured.round_trips, 3, 12_000, 0.99, own=False))
    assert sum(high >= 700e6 for _, _, high in found) <= 0.05 * len(found)


def test_the_mean_of_the_runs_own_percentiles_is_no_percentile_of_all() -> None:
    assert measured.percentile(measured.with_timeouts, 10, 1000, 0.99, own=True) < 0.6


def test_batch_means_of_long_batches_nearly_cover_what_they_say() -> None:
    assert measured.batch_means_of(300, 0.5).covered == pytest.approx(0.88, abs=0.015)


def test_batch_means_of_short_batches_cover_less() -> None:
    assert measured.batch_means_of(60, 0.5).covered == pytest.approx(0.80, abs=0.015)


@pytest.mark.parametrize(("noise", "covered"), [(0.02, 0.90), (0.05, 0.87), (0.10, 0.83)])
def test_stopping_when_it_suits_costs_coverage(noise: float, covered: float) -> None:
    assert measured.until(noise).covered == pytest.approx(covered, abs=0.015)


@pytest.mark.parametrize("runs", [3, 5, 10])
def test_the_interval_of_a_ratio_covers_what_it_says(runs: int) -> None:
    assert measured.ratio(runs) == pytest.approx(0.90, abs=0.015)


@pytest.mark.parametrize("runs", [3, 4, 5, 8, 10])
@pytest.mark.parametrize("draw", ["normal", "exponential"])
def test_equal_servers_are_called_different_no_more_often_than_the_level_says(runs: int, draw: str) -> None:
    assert measured.differences(runs, 0.0, draw) <= ALPHA + 3 * STANDARD_ERROR


def test_three_runs_never_show_a_difference() -> None:
    assert measured.differences(3, 100.0) == 0.0


@pytest.mark.parametrize(
    ("runs", "deviations", "power"), [(5, 1, 0.27), (5, 2, 0.78), (5, 3, 0.98), (10, 1, 0.51), (10, 2, 0.98)]
)
def test_the_power_of_a_comparison(runs: int, deviations: float, power: float) -> None:
    assert measured.differences(runs, deviations) == pytest.approx(power, abs=0.02)


@pytest.mark.parametrize(("runs", "power"), [(3, 0.077), (5, 0.16), (10, 0.46), (36, 0.99)])
def test_normality_cannot_be_judged_from_few_runs(runs: int, power: float) -> None:
    assert measured.shapiro_rejects(runs, "exponential") == pytest.approx(power, abs=0.03)
    assert measured.shapiro_rejects(runs, "normal") == pytest.approx(0.05, abs=0.02)


def test_a_settled_run_raises_no_alarm_and_one_that_rises_throughout_does() -> None:
    assert measured.warmup_alarms(0.0) <= 0.001
    assert measured.warmup_alarms(0.5) >= 0.8


def test_the_capacity_search_finds_the_height_of_the_peak() -> None:
    searches = measured.capacity_searches()
    assert len(searches) == 1000
    assert set(Counter(search.kind for search in searches)) == set(measured.KINDS)
    assert max(search.runs for search in searches) <= 15
    found = sum(abs(search.ratio - 1) <= 0.05 for search in searches)
    assert found >= 950
    # Fresh runs at a fixed load: the interval is as good as any of Student's t.
    assert sum(search.covered for search in searches) / 1000 == pytest.approx(0.90, abs=3 * 0.0095)


def rows(name: str) -> dict[str, list[float]]:
    """A measured table of ``docs/statistics.md``: the figures of each row by its first cell."""
    page = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")
    text = page.partition(f"<!-- measured: {name} -->\n")[2].partition("<!-- end -->")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]
    return {row[0]: [float(cell.removesuffix(" %")) for cell in row[1:]] for row in cells}


def test_the_page_states_what_is_measured() -> None:
    assert rows("intervals")["Student's t"][:3] == pytest.approx(
        [100 * measured.student_t(runs) for runs in (3, 5, 10)], abs=0.11
    )
    assert rows("comparison")["5 and 5"] == pytest.approx(
        [
            100 * measured.differences(5, size, draw)
            for size, draw in ((0, "normal"), (0, "exponential"), (1, "normal"), (2, "normal"), (3, "normal"))
        ],
        abs=0.11,
    )
    gap = rows("percentiles")["p99, one in 100 meets a timeout, 1,000"]
    assert gap[1] == pytest.approx(100 * measured.percentile(measured.with_timeouts, 3, 1000, 0.99), abs=0.11)
    independent, *_ = rows("clumps")["1,000"]
    assert independent == pytest.approx(100 * measured.missed_percentile(1000, 1), abs=0.11)
    stopped = measured.until(0.05)
    assert rows("until")["5 %"] == pytest.approx([100 * stopped.covered, stopped.runs], abs=0.11)
    assert rows("batches")["300"][1] == pytest.approx(100 * measured.batch_means_of(300, 0.8).covered, abs=0.11)
    made = measured_objective.searches("clients", 0.05)
    covered, confirmed, _, runs, *_ = rows("objective")["clients, 5 %"]
    assert covered == pytest.approx(100 * sum(search.covered for search in made) / len(made), abs=0.11)
    assert confirmed == pytest.approx(100 * sum(search.found.confirmed for search in made) / len(made), abs=0.11)
    assert runs == pytest.approx(sum(search.found.runs for search in made) / len(made), abs=0.11)
    rejected = [measured.shapiro_rejects(10, draw) for draw in ("normal", "exponential")]
    assert rows("normality")["10"] == pytest.approx([100 * share for share in rejected], abs=0.11)
    assert rows("warmup")["20 % of the run"] == pytest.approx([100 * measured.warmup_alarms(0.2)], abs=0.11)
    searches = measured.capacity_searches()
    hit = sum(abs(search.ratio - 1) <= 0.05 for search in searches) / len(searches)
    assert rows("capacity")["all"][:2] == pytest.approx([len(searches), 100 * hit], abs=0.11)
    assert rows("capacity")["all"][4] == pytest.approx(100 * sum(s.covered for s in searches) / len(searches), abs=0.11)


@pytest.mark.parametrize("runs", [5, 10])
def test_a_slowdown_at_the_limit_passes_or_fails_once_in_twenty(runs: int) -> None:
    passed, failed = measured.regressions(runs, 0.03, 0.05)
    assert passed == pytest.approx(0.05, abs=3 * STANDARD_ERROR)
    assert failed == pytest.approx(0.05, abs=3 * STANDARD_ERROR)
