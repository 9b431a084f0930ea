"""Comparisons: exact tests, corrections, effects, verdicts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from waspbench.stats.comparison import (
    compare,
    hodges_lehmann,
    holm,
    least_p,
    p_value,
    permutation,
    ratio_interval,
    runs_needed,
)
from waspbench.stats.comparison import test_for as the_test_for


def test_the_permutation_test_is_scipys() -> None:
    rng = np.random.default_rng(1)
    for first, second in ((3, 3), (4, 6), (5, 5), (2, 7)):
        one, two = rng.normal(0, 1, first), rng.normal(0.8, 1, second)
        reference = stats.permutation_test(
            (one, two), lambda x, y, axis: np.abs(np.mean(x, axis) - np.mean(y, axis)), n_resamples=10_000,
            alternative="greater", vectorized=True,
        )  # fmt: skip
        assert permutation(one[None], two[None])[0] == pytest.approx(float(reference.pvalue))


@pytest.mark.parametrize(("runs", "p"), [(3, 0.1), (4, 0.0286), (5, 0.0079)])
def test_the_least_p_of_few_runs(runs: int, p: float) -> None:
    assert least_p(runs, runs) == pytest.approx(p, abs=5e-5)
    assert p_value(range(runs), range(100, 100 + runs)) == pytest.approx(least_p(runs, runs))


def test_unequal_sets_have_one_most_extreme_division() -> None:
    assert least_p(3, 4) == pytest.approx(1 / 35)
    assert p_value([1, 2, 3], [100, 101, 102, 103]) == pytest.approx(1 / 35)


def test_four_runs_are_needed_at_five_percent_and_more_for_many_points() -> None:
    assert runs_needed() == 4
    assert runs_needed(comparisons=10) == 6


def test_equal_values_are_no_difference() -> None:
    assert p_value([5.0] * 5, [5.0] * 5) == 1.0
    assert p_value([5.0] * 12, [5.0] * 12) == pytest.approx(1.0)


def test_many_runs_are_compared_by_their_ranks() -> None:
    rng = np.random.default_rng(2)
    one, two = rng.normal(0, 1, 12), rng.normal(1, 1, 12)
    assert (the_test_for(8, 8), the_test_for(12, 12)) == ("permutation", "Mann-Whitney")
    assert p_value(one.tolist(), two.tolist()) == pytest.approx(
        float(stats.mannwhitneyu(one, two, method="exact").pvalue)
    )
    assert p_value(range(10), range(100, 110)) == pytest.approx(least_p(10, 10))


def test_holms_correction() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_the_shift_is_the_median_of_all_differences() -> None:
    assert hodges_lehmann([1, 2, 3], [11, 12, 1000]) == pytest.approx(10)


def test_the_interval_of_a_ratio_is_fiellers() -> None:
    one, two = [10.0, 11.0, 9.0, 10.0], [20.0, 21.0, 19.0, 20.0]
    low, high = ratio_interval(one, two) or (0.0, 0.0)
    assert low < 2 < high
    # At either end the difference two - end * one is just as large as t standard errors.
    error = (np.var(one, ddof=1) / 4, np.var(two, ddof=1) / 4)
    degrees = (4 * error[0] + error[1]) ** 2 / ((4 * error[0]) ** 2 / 3 + error[1] ** 2 / 3)
    for end in (low, high):
        distance = abs(20 - end * 10) / math.sqrt(error[1] + end**2 * error[0])
        assert distance == pytest.approx(float(stats.t.ppf(0.95, degrees)))


def test_where_a_ratio_has_no_interval() -> None:
    assert ratio_interval([1.0], [2.0, 3.0]) is None
    assert ratio_interval([-5.0, 5.1], [2.0, 3.0]) is None
    assert ratio_interval([0.0, 0.0], [2.0, 3.0]) is None
    assert ratio_interval([2.0, 2.0], [3.0, 3.0]) == (1.5, 1.5)


def test_verdicts() -> None:
    slow, fast = [100.0, 101.0, 99.0, 100.5, 99.5], [120.0, 121.0, 119.0, 120.5, 119.5]
    more, less, same = compare([(slow, fast), (fast, slow), (slow, slow)])
    assert (more.verdict, less.verdict, same.verdict) == ("faster", "slower", "no difference shown")
    assert more.ratio == pytest.approx(1.2)
    assert more.p_holm == pytest.approx(3 * 0.0079, abs=1e-3)
    assert more.able
    [time] = compare([(slow, fast)], larger_is_faster=False)
    assert time.verdict == "slower"


def test_too_few_runs_show_nothing_and_it_is_said() -> None:
    [found] = compare([([1.0, 2.0, 3.0], [100.0, 101.0, 102.0])])
    assert (found.verdict, found.able, found.first, found.second) == ("no difference shown", False, 3, 3)


def test_a_side_without_runs_is_refused() -> None:
    with pytest.raises(ValueError, match="no runs"):
        compare([([], [1.0])])
